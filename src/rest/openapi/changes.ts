/** The changes of records, as the API description tells them. */

import { MOST_CHANGES } from '../../engine/journal/reading.ts';
import { JSON_TYPE } from '../../http/answer.ts';
import { EVENT_TYPE } from '../../http/streams.ts';
import { isRestorable, journaled } from '../../schema/journal.ts';
import type { Model, Resource } from '../../schema/model.ts';
import { CHANGES_PATH, journalNames, LIVE_PATH } from '../../schema/names.ts';
import { type JsonSchema, scalars } from '../../schema/scalars.ts';
import { MOST_QUERIES } from '../live-stream.ts';
import { documented, list, object, orNull, typeSchema } from './json-schema.ts';
import { type Context, ifMatch, ifNoneMatch, keyOfWrite, keyParameter, LIVE, one } from './operations.ts';
import { parametersOfOne, whereParameter } from './parameters.ts';
import { always, bodied, FAILURE, type Failures, withHeaders } from './responses.ts';
import type { Schemas } from './schemas.ts';
import { guarded } from './security.ts';

export const CHANGES_TAG = 'Changes';

export function changesPaths(model: Model, context: Context, failures: Failures): Record<string, JsonSchema> {
  const resources = journaled(model, 'rest');
  if (resources.length === 0) return {};
  const { schemas, answers } = context;
  const parameters = Object.entries(ofFeeds).map(([name, parameter]) =>
    context.parameters.share(`changes.${name}`, { name, in: 'query', ...parameter }),
  );
  const feed = (operationId: string, summary: string, answer: JsonSchema, more: readonly JsonSchema[]) => ({
    get: {
      operationId,
      summary,
      tags: [CHANGES_TAG],
      parameters: [...parameters, ...more],
      responses: { 200: answer, default: FAILURE },
    },
  });
  const any = { anyOf: resources.map((resource) => schemas.ref(journalNames.change(resource))) };
  return Object.fromEntries([
    ...(schemas.isPlain ? [] : [[`/${LIVE_PATH}`, { post: shared(failures) }]]),
    [`/${CHANGES_PATH}`, feed('changes', 'What has happened to records', happened(any, schemas), [])],
    ...resources.flatMap((resource): [string, JsonSchema][] => {
      const { path, plural, singular, name, key } = resource;
      const change = journalNames.change(resource);
      answers[change] = happened(schemas.ref(change), schemas);
      const answer = { $ref: `#/components/responses/${change}` };
      const where = whereParameter({ ...context, resource });
      const all = feed(`changesOf${name}`, `What has happened to ${plural}`, answer, [where]);
      const own = feed(`changesOfOne${name}`, `What has happened to one ${singular}`, answer, [where]);
      const parametersOfKey = [keyParameter(context, resource)];
      const open = context.open?.(resource);
      const back = {
        operationId: `restore${name}`,
        summary: `Write one ${singular} as it was`,
        tags: [CHANGES_TAG],
        parameters: [...parametersOfOne({ ...context, resource }), ifMatch, ifNoneMatch, keyOfWrite],
        requestBody: { content: { [JSON_TYPE]: { schema: schemas.ref(RESTORE) } } },
        responses: { 200: one(context, resource), default: FAILURE },
      };
      return [
        ...(isRestorable(resource)
          ? [
              [
                `/${path}/{${key.name}}/restore`,
                { parameters: parametersOfKey, ...guarded({ post: back }, open, ofRestore) },
              ] as [string, JsonSchema],
            ]
          : []),
        [`/${CHANGES_PATH}/${path}`, guarded(all, open)],
        [`/${CHANGES_PATH}/${path}/{${key.name}}`, { parameters: parametersOfKey, ...guarded(own, open) }],
      ];
    }),
  ]);
}

function happened(items: JsonSchema, schemas: Schemas): JsonSchema {
  return {
    description:
      'What has happened, in the order of commits. Without `after`: all that is kept, or nothing without the right to HISTORY.',
    headers: withHeaders(['Changes-Position', 'Vary'], ['Link']),
    content: {
      [JSON_TYPE]: { schema: list(items) },
      [EVENT_TYPE]: { schema: schemas.ref(FEED) },
    },
  };
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

/** It changes a record, or creates it again. */
const ofRestore = { post: ['UPDATE', 'CREATE'] } as const;

const ofFeeds = {
  after: {
    description: 'Only changes after this position, which an earlier change or answer has told.',
    schema: { type: 'string' },
  },
  limit: {
    description: 'How many at the most.',
    schema: { type: 'integer', minimum: 1, maximum: MOST_CHANGES },
    example: 50,
  },
};

const RESTORE = 'Restore';
const FEED = 'ChangeEvents';

export function changesSchemas(model: Model, schemas: Schemas): Record<string, JsonSchema> {
  const own = journaled(model, 'rest').flatMap((resource): [string, JsonSchema][] => {
    const change = journalNames.change(resource);
    // `BookFields`, as GraphQL calls it, is here what records and bodies have in common.
    const image = `${change}Fields`;
    return [
      [schemas.name(change), changeSchema(resource, schemas, schemas.ref(image))],
      [schemas.name(image), imageSchema(resource, schemas)],
    ];
  });
  return {
    [schemas.name(CHANGE)]: anyChange,
    [schemas.name(FEED)]: { ...text, description: 'The same, one by one, as they are committed.' },
    [schemas.name(LIVE)]: {
      ...text,
      description: 'The answer of now, and again, whole, whenever a change has altered it.',
    },
    [schemas.name(RESTORE)]: object([['version', { type: 'integer', minimum: 1 }]]),
    ...Object.fromEntries(own),
  };
}

const text = { type: 'string' };
const textOrNull = { type: ['string', 'null'] };

/** What changes of all types have in common. */
const CHANGE = 'Change';
const anyChange: JsonSchema = {
  description: 'Without the right to HISTORY it has no caller, requestId or before.',
  type: 'object',
  properties: {
    position: { ...text, description: 'Texts that sort; go on after the last one.' },
    at: { ...scalars.get('DateTime')?.jsonSchema },
    kind: { ...text, enum: ['CREATED', 'UPDATED', 'DELETED'] },
    version: { type: 'integer', minimum: 1 },
    caller: { ...textOrNull, description: 'Who did it; null for the anonymous.' },
    requestId: { ...textOrNull, description: 'The `X-Request-Id` of the request.' },
    transaction: { ...text, description: 'Changes that happened together have the same.' },
  },
  required: ['position', 'at', 'kind', 'resource', 'key', 'version', 'transaction', 'after'],
};

function changeSchema({ name, key }: Resource, schemas: Schemas, image: JsonSchema): JsonSchema {
  const properties = {
    resource: { const: name },
    key: typeSchema(key),
    before: orNull(image),
    after: orNull(image),
  };
  return { allOf: [schemas.ref(CHANGE)], properties, unevaluatedProperties: false };
}

/** What was added to the type since is null, and what the caller may not read is left out. */
function imageSchema({ columns, plural }: Resource, schemas: Schemas): JsonSchema {
  const properties = columns.map((column): [string, JsonSchema] => [
    column.name,
    { ...schemas.column({ ...column, required: false }), ...documented(column) },
  ]);
  return { description: `The own fields of ${plural}, as one was.`, ...object(properties) };
}
