/** `POST /transaction`, as the API description tells it. */

import { JSON_TYPE } from '../../http/answer.ts';
import { exampleInput } from '../../schema/examples.ts';
import type { Resource } from '../../schema/model.ts';
import type { JsonSchema } from '../../schema/scalars.ts';
import { kinds } from '../steps.ts';
import { list, object } from './json-schema.ts';
import {
  always,
  bodied,
  type Failures,
  idempotencyKey,
  needsClaim,
  withHeaders,
  written,
} from './responses.ts';
import { SERVICE } from './service.ts';

export function transaction(
  resources: readonly Resource[],
  failures: Failures,
  most: number,
  hasActions: boolean,
): JsonSchema {
  const text = { type: 'string' };
  const step = object(
    [
      ['method', { enum: Object.keys(kinds) }],
      [
        'path',
        {
          type: 'string',
          description:
            'With `?fields=…`, `?include=…` or `?upsert=…` as for the path itself; or a path that ends with `/restore`.',
        },
      ],
      [
        'body',
        {
          type: ['object', 'array'],
          description:
            'As for the path itself, or a list of new records; `{"$ref": "NAME.FIELD"}` is a value of an earlier result.',
        },
      ],
      [
        'as',
        {
          type: 'string',
          pattern: '^[A-Za-z_]\\w{0,99}$',
          description: 'Names the result for later operations.',
        },
      ],
      ['ifMatch', { type: 'string', description: 'As the header `If-Match`.' }],
      ['where', { type: 'object', description: 'Which records, for a PUT or DELETE on a collection.' }],
      [
        'atMost',
        { type: 'integer', minimum: 1, description: 'The most records that such an operation may touch.' },
      ],
      [
        'atLeast',
        { type: 'integer', minimum: 1, description: 'The fewest records that such an operation must touch.' },
      ],
    ],
    { required: ['method', 'path'] },
  );
  const result = object(
    [
      ['status', { type: 'integer' }],
      [
        'headers',
        object([
          ['Location', text],
          ['ETag', text],
          ['Deprecation', text],
        ]),
      ],
      // An action may answer with any value.
      ['body', hasActions ? {} : { type: ['object', 'array'] }],
    ],
    { required: ['status', 'headers'] },
  );
  const example = exampleOf(resources);
  return {
    operationId: 'transaction',
    summary: 'Several writes, all of them or none',
    tags: [SERVICE],
    parameters: [idempotencyKey],
    requestBody: {
      required: true,
      content: {
        [JSON_TYPE]: {
          schema: object([['operations', { ...list(step), minItems: 1, maxItems: most }]], {
            required: ['operations'],
          }),
          ...(example && { example }),
        },
      },
    },
    responses: {
      200: {
        description: 'What each of them would have answered alone.',
        headers: withHeaders([], ['Deprecation']),
        content: { [JSON_TYPE]: { schema: object([['results', list(result)]], { required: ['results'] }) } },
      },
      ...failures.of([
        ...bodied,
        ...always,
        ...written,
        'TOO_MANY_OPERATIONS',
        'TOO_MANY_OBJECTS',
        'ANSWER_TOO_LARGE',
        'TOO_MANY_MATCHES',
        'TOO_FEW_MATCHES',
        'NOT_FOUND',
        'CONFLICT',
        'VERSION_CONFLICT',
        'KEYS_EXHAUSTED',
        ...(resources.some(needsClaim) ? (['UNAUTHENTICATED'] as const) : []),
      ]),
    },
  };
}

/** A record that can be made in an empty database. */
function exampleOf(resources: readonly Resource[]): JsonSchema | undefined {
  for (const resource of resources) {
    const { path, operations, references } = resource;
    if (!operations.has('CREATE') || needsClaim(resource) || references.some(({ required }) => required))
      continue;
    const body = exampleInput(resource, () => true);
    if (body) return { operations: [{ method: 'POST', path: `/${path}`, body, as: resource.singular }] };
  }
  return undefined;
}
