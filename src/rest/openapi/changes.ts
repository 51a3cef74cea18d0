/** The changes of records, as the API description tells them. */

import { MOST_CHANGES } from '../../engine/journal/reading.ts';
import { JSON_TYPE } from '../../http/answer.ts';
import { EVENT_TYPE } from '../../http/streams.ts';
import { isRestorable, journaled } from '../../schema/journal.ts';
import type { Model, Resource } from '../../schema/model.ts';
import { CHANGES_PATH, journalNames, LIVE_PATH } from '../../schema/names.ts';
import { type JsonSchema, scalars } from '../../schema/scalars.ts';
import { MOST_QUERIES } from '../live-stream.ts';
import { columnSchema, documented, list, object, orNull, reference, typeSchema } from './json-schema.ts';
import { ifMatch, ifNoneMatch } from './operations.ts';
import { always, bodied, type Failures, idempotencyKey, stored, withHeaders, written } from './responses.ts';
import type { Schemas } from './schemas.ts';

export const CHANGES_TAG = 'Changes';

export function changesPaths(model: Model, schemas: Schemas, failures: Failures): Record<string, JsonSchema> {
  const resources = journaled(model, 'rest');
  if (resources.length === 0) return {};
  const feed = (operationId: string, summary: string, items: JsonSchema, more: readonly JsonSchema[]) => ({
    get: {
      operationId,
      summary,
      tags: [CHANGES_TAG],
      parameters: [...parameters, ...more],
      responses: {
        200: {
          description:
            'What has happened, in the order of commits. Without `after`: all that is kept, or nothing without the right to HISTORY.',
          headers: withHeaders(['Changes-Position', 'Vary'], ['Link']),
          content: {
            [JSON_TYPE]: { schema: list(items) },
            [EVENT_TYPE]: {
              schema: { type: 'string', description: 'The same, one by one, as they are committed.' },
            },
          },
        },
        ...failures.of(['VALIDATION_FAILED', 'ANSWER_TOO_LARGE', 'POSITION_EXPIRED', ...always, ...stored]),
      },
    },
  });
  const any = { anyOf: resources.map((resource) => schemas.ref(journalNames.change(resource))) };
  return Object.fromEntries([
    ...(schemas.isPlain ? [] : [[`/${LIVE_PATH}`, { post: shared(failures) }]]),
    [`/${CHANGES_PATH}`, feed('changes', 'What has happened to records', any, [])],
    ...resources.flatMap((resource): [string, JsonSchema][] => {
      const { path, plural, singular, name, key } = resource;
      const items = schemas.ref(journalNames.change(resource));
      const where = {
        name: 'where',
        in: 'query',
        description: 'What a record is like before or after, by its own fields.',
        content: { [JSON_TYPE]: { schema: schemas.part(resource, 'Where') } },
      };
      const one = { name: key.name, in: 'path', required: true, schema: typeSchema(key) };
      const all = feed(`changesOf${name}`, `What has happened to ${plural}`, items, [where]);
      const own = feed(`changesOfOne${name}`, `What has happened to one ${singular}`, items, [where]);
      const isDeprecated = resource.columns.some(({ deprecated }) => deprecated !== undefined);
      const deprecation = isDeprecated ? (['Deprecation'] as const) : [];
      const back = {
        operationId: `restore${name}`,
        summary: `Write one ${singular} as it was`,
        tags: [CHANGES_TAG],
        parameters: [ifMatch, ifNoneMatch, idempotencyKey],
        requestBody: {
          required: false,
          content: { [JSON_TYPE]: { schema: object([['version', { type: 'integer', minimum: 1 }]]) } },
        },
        responses: {
          200: {
            description: `The ${singular} as it is now.`,
            headers: withHeaders([], ['ETag', ...deprecation]),
            content: { [JSON_TYPE]: { schema: reference(name) } },
          },
          ...failures.of(['NOT_FOUND', 'CONFLICT', 'VERSION_CONFLICT', ...bodied, ...always, ...written]),
        },
      };
      return [
        ...(isRestorable(resource)
          ? [[`/${path}/{${key.name}}/restore`, { parameters: [one], post: back }] as [string, JsonSchema]]
          : []),
        [`/${CHANGES_PATH}/${path}`, all],
        [`/${CHANGES_PATH}/${path}/{${key.name}}`, { parameters: [one], ...own }],
      ];
    }),
  ]);
}

/** Several live answers on one stream. */
function shared(failures: Failures): JsonSchema {
  const path = { type: 'string', description: 'As for the path itself, with its parameters.' };
  const queries = { ...list(path), minItems: 1, maxItems: MOST_QUERIES };
  const description =
    'Events that are named by the places of the queries: `0` is the answer to the first, again whenever it is another, `0.headers` what a plain answer says beside it, `0.problem` why there is none now, `0.refused` why there will be none.';
  return {
    operationId: 'live',
    summary: 'Several lists and records, kept up to date',
    tags: [CHANGES_TAG],
    requestBody: {
      required: true,
      content: { [JSON_TYPE]: { schema: object([['queries', queries]], { required: ['queries'] }) } },
    },
    responses: {
      200: { description, content: { [EVENT_TYPE]: { schema: { type: 'string' } } } },
      ...failures.of([...bodied, ...always]),
    },
  };
}

const parameters: readonly JsonSchema[] = [
  {
    name: 'after',
    in: 'query',
    description: 'Only changes after this position, which an earlier change or answer has told.',
    schema: { type: 'string' },
  },
  {
    name: 'limit',
    in: 'query',
    description: 'How many at the most.',
    schema: { type: 'integer', minimum: 1, maximum: MOST_CHANGES },
  },
];

export function changesSchemas(model: Model, schemas: Schemas): Record<string, JsonSchema> {
  return Object.fromEntries(
    journaled(model, 'rest').flatMap((resource): [string, JsonSchema][] => {
      const change = journalNames.change(resource);
      // `BookFields`, as GraphQL calls it, is here what records and bodies have in common.
      const image = `${change}Fields`;
      return [
        [schemas.name(change), changeSchema(resource, schemas.ref(image))],
        [schemas.name(image), imageSchema(resource)],
      ];
    }),
  );
}

const text = { type: 'string' };
const textOrNull = { type: ['string', 'null'] };

function changeSchema({ name, key }: Resource, image: JsonSchema): JsonSchema {
  const required = ['position', 'at', 'kind', 'resource', 'key', 'version', 'transaction', 'after'];
  return {
    description: `A change of one ${name}; without the right to HISTORY it has no caller, requestId or before.`,
    ...object(
      [
        ['position', { ...text, description: 'Texts that sort; go on after the last one.' }],
        ['at', { ...scalars.get('DateTime')?.jsonSchema }],
        ['kind', { ...text, enum: ['CREATED', 'UPDATED', 'DELETED'] }],
        ['resource', { const: name }],
        ['key', typeSchema(key)],
        ['version', { type: 'integer', minimum: 1 }],
        ['caller', { ...textOrNull, description: 'Who did it; null for the anonymous.' }],
        ['requestId', { ...textOrNull, description: 'The `X-Request-Id` of the request.' }],
        ['transaction', { ...text, description: 'Changes that happened together have the same.' }],
        ['before', orNull(image)],
        ['after', orNull(image)],
      ],
      { required },
    ),
  };
}

/** What was added to the type since is null, and what the caller may not read is left out. */
function imageSchema({ columns, plural }: Resource): JsonSchema {
  const properties = columns.map((column): [string, JsonSchema] => [
    column.name,
    { ...columnSchema({ ...column, required: false }), ...documented(column) },
  ]);
  return { description: `The own fields of ${plural}, as one was.`, ...object(properties) };
}
