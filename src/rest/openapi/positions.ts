/** What replicas add to the API description: the position that writes answer with, and reads send back. */

import { POSITION } from '../../http/position.ts';
import type { JsonSchema } from '../../schema/scalars.ts';
import { SERVICE } from './service.ts';

const schema = { type: 'string', pattern: '^[0-9A-F]{16}$' };

const parameter = {
  name: POSITION,
  in: 'header',
  description:
    'That of the last write whose effect the answer must show: a replica that has replayed as much may answer. Without it, the primary does.',
  schema,
};

const header = {
  description: `How far writes have come: send it with reads, as \`${POSITION}\`. The greater of two texts is the later one.`,
  schema,
};

/** GraphQL answers reads and writes at one path, so either goes with it. */
export function positioned(paths: Readonly<Record<string, JsonSchema>>): Record<string, JsonSchema> {
  return each(paths, (methods, path) => {
    const isGraphql = path === '/graphql';
    return each(methods, (operation, method) => {
      if (method === 'parameters' || (!isGraphql && isOfService(operation, path))) return operation;
      const { responses } = operation;
      const parameters = (operation['parameters'] ?? []) as readonly JsonSchema[];
      return {
        ...operation,
        ...((isGraphql || method === 'get') && { parameters: [...parameters, parameter] }),
        ...(method !== 'get' && { responses: each(responses, answered) }),
      };
    });
  });
}

function isOfService({ tags }: JsonSchema, path: string): boolean {
  return (tags as readonly string[]).includes(SERVICE) && path !== '/transaction';
}

function answered(response: JsonSchema, status: string): JsonSchema {
  if (!status.startsWith('2')) return response;
  return { ...response, headers: { ...(response['headers'] as JsonSchema), [POSITION]: header } };
}

function each(of: unknown, change: (value: JsonSchema, key: string) => JsonSchema) {
  const entries = Object.entries(of as Readonly<Record<string, JsonSchema>>);
  return Object.fromEntries(entries.map(([key, value]) => [key, change(value, key)]));
}
