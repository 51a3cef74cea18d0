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

/** What answers and requests refer to. */
export const positionParameters = { [POSITION]: parameter };
export const positionHeaders = { [POSITION]: header };

/** GraphQL answers reads and writes at one path, so either goes with it. */
export function positioned(path: string, methods: JsonSchema): JsonSchema {
  const isGraphql = path === '/graphql';
  return each(methods, (operation, method) => {
    if (method === 'parameters' || (!isGraphql && isOfService(operation, path))) return operation;
    const { responses } = operation;
    const parameters = (operation['parameters'] ?? []) as readonly JsonSchema[];
    const sent = { $ref: `#/components/parameters/${POSITION}` };
    return {
      ...operation,
      ...((isGraphql || method === 'get') && { parameters: [...parameters, sent] }),
      ...(method !== 'get' && { responses: each(responses, answered) }),
    };
  });
}

function isOfService({ tags }: JsonSchema, path: string): boolean {
  return (tags as readonly string[]).includes(SERVICE) && path !== '/transaction';
}

/** What answers refer to, where they answer writes too. */
export function positionedAll(responses: Readonly<Record<string, JsonSchema>>) {
  return each(responses, (response) => answered(response, '200'));
}

function answered(response: JsonSchema, status: string): JsonSchema {
  if (!status.startsWith('2') || '$ref' in response) return response;
  const told = { $ref: `#/components/headers/${POSITION}` };
  return { ...response, headers: { ...(response['headers'] as JsonSchema), [POSITION]: told } };
}

function each(of: unknown, change: (value: JsonSchema, key: string) => JsonSchema) {
  const entries = Object.entries(of as Readonly<Record<string, JsonSchema>>);
  return Object.fromEntries(entries.map(([key, value]) => [key, change(value, key)]));
}
