/** The operations on the records of a resource, as the API description tells them. */

import { JSON_TYPE } from '../../http/answer.ts';
import { EVENT_TYPE } from '../../http/streams.ts';
import { exampleCreate, exampleOf, exampleUpdate } from '../../schema/examples.ts';
import type { Action, OperationKind, Resource } from '../../schema/model.ts';
import type { JsonSchema } from '../../schema/scalars.ts';
import { upsertKeys } from '../../schema/upserts.ts';
import { CSV_TYPE, NDJSON_TYPE } from '../export.ts';
import { visible } from '../shape.ts';
import { documented, list, reference, typeSchema } from './json-schema.ts';
import {
  parametersOfCreate,
  parametersOfList,
  parametersOfOne,
  type SharedParameters,
} from './parameters.ts';
import type { Requests } from './requests.ts';
import { FAILURE, idempotencyKey, withHeaders } from './responses.ts';
import type { Schemas } from './schemas.ts';
import { guarded } from './security.ts';

type Operation = JsonSchema;

export interface Context {
  readonly schemas: Schemas;
  readonly parameters: SharedParameters;
  /** The longest page. */
  readonly most: number;
  readonly requests: Requests;
  /** Those of which a read can answer something that is deprecated. */
  readonly deprecated: ReadonlySet<Resource>;
  /** What several operations answer. */
  readonly answers: Record<string, JsonSchema>;
  /** What the anonymous may do; undefined where callers cannot be known. */
  readonly open: ((resource: Resource) => readonly Action[]) | undefined;
}

export function pathsOf(context: Context, resource: Resource): [string, JsonSchema][] {
  const offered = (table: Record<string, [OperationKind, () => Operation]>) =>
    Object.entries(table).flatMap(([method, [kind, describe]]) =>
      resource.operations.has(kind) ? [[method, describe()] as const] : [],
    );
  const all = offered({
    get: ['LIST', () => listing(context, resource)],
    post: ['CREATE', () => creation(context, resource)],
  });
  const one = offered({
    get: ['GET', () => getting(context, resource)],
    put: ['UPDATE', () => update(context, resource)],
    delete: ['DELETE', () => deletion(resource)],
  });
  const { path, key } = resource;
  const found: [string, JsonSchema][] = [];
  const open = context.open?.(resource);
  if (all.length > 0) {
    const parameters = parametersOfOne({ ...context, resource });
    const operations = guarded(Object.fromEntries(all), open);
    found.push([`/${path}`, { ...(parameters.length > 0 && { parameters }), ...operations }]);
  }
  if (one.length > 0) {
    const parameters = [keyParameter(context, resource), ifNoneMatch];
    found.push([`/${path}/{${key.name}}`, { parameters, ...guarded(Object.fromEntries(one), open) }]);
  }
  return found;
}

/** Which record, in the path. */
export function keyParameter({ parameters }: Context, { key }: Resource): JsonSchema {
  return parameters.share(`path.${key.name}`, {
    name: key.name,
    in: 'path',
    required: true,
    ...described(key),
    schema: typeSchema(key),
    ...(exampleOf(key) !== undefined && { example: exampleOf(key) }),
  });
}

function operation(resource: Resource, verb: string, summary: string, rest: Operation): Operation {
  const { name, deprecated } = resource;
  // A verb before the name of a type: no two are alike.
  const operationId = `${verb}${name}`;
  return {
    operationId,
    summary,
    tags: [name],
    ...(deprecated !== undefined && { deprecated: true }),
    ...rest,
  };
}

function listing(context: Context, resource: Resource): Operation {
  const { schemas } = context;
  const plain = { [JSON_TYPE]: { schema: list(reference(resource.name)) } };
  const shaped = {
    [JSON_TYPE]: { schema: list({ anyOf: [reference(resource.name), schemas.ref('Aggregate')] }) },
    [CSV_TYPE]: {},
    [NDJSON_TYPE]: {},
    ...live(schemas, resource),
  };
  return operation(resource, 'list', `List ${resource.plural}`, {
    parameters: parametersOfList({ ...context, resource }),
    responses: {
      200: {
        description: `The ${resource.plural}.`,
        headers: withHeaders(['Vary'], [...deprecation(context, resource), 'Link', 'X-Total-Count']),
        content: schemas.isPlain ? plain : shaped,
      },
      default: FAILURE,
    },
  });
}

function getting(context: Context, resource: Resource): Operation {
  return operation(resource, 'get', `Get one ${resource.singular}`, {
    parameters: parametersOfOne({ ...context, resource }),
    responses: {
      200: one(context, resource, live(context.schemas, resource)),
      304: NOT_MODIFIED,
      default: FAILURE,
    },
  });
}

/** The same answer as events, where the type tells when it changes. */
function live(schemas: Schemas, { journal }: Resource): JsonSchema | undefined {
  return journal && { [EVENT_TYPE]: { schema: schemas.ref(LIVE) } };
}

export const LIVE = 'LiveEvents';

function creation(context: Context, resource: Resource): Operation {
  const { schemas } = context;
  const example = schemas.isPlain ? undefined : exampleCreate(resource);
  return operation(resource, 'create', `Create one ${resource.singular}`, {
    parameters: [...parametersOfCreate({ ...context, resource }), keyOfWrite],
    requestBody: body(schemas.part(resource, 'Create'), example),
    responses: {
      201: one(context, resource),
      ...(upsertKeys(resource).size > 0 && { 200: one(context, resource) }),
      default: FAILURE,
    },
  });
}

function update(context: Context, resource: Resource): Operation {
  const { schemas } = context;
  const example = schemas.isPlain ? undefined : exampleUpdate(resource);
  return operation(resource, 'update', `Change one ${resource.singular}`, {
    parameters: [...parametersOfOne({ ...context, resource }), ifMatch, keyOfWrite],
    requestBody: body(schemas.part(resource, 'Update'), example),
    responses: { 200: one(context, resource), default: FAILURE },
  });
}

function deletion(resource: Resource): Operation {
  return operation(resource, 'delete', `Delete one ${resource.singular}`, {
    parameters: [ifMatch, keyOfWrite],
    responses: { 204: NO_CONTENT, default: FAILURE },
  });
}

/** One record as an answer, described once for each type. */
export function one(context: Context, resource: Resource, more?: JsonSchema): JsonSchema {
  const { schemas, answers } = context;
  const others = schemas.isPlain ? undefined : more;
  const name = others ? `${resource.name}.live` : resource.name;
  answers[name] ??= {
    description: `The ${resource.singular}.`,
    headers: withHeaders(others ? ['Vary'] : [], ['ETag', 'Location', ...deprecation(context, resource)]),
    content: { [JSON_TYPE]: { schema: reference(resource.name) }, ...others },
  };
  return { $ref: `#/components/responses/${name}` };
}

function deprecation({ deprecated }: Context, resource: Resource): ['Deprecation'] | [] {
  return deprecated.has(resource) ? ['Deprecation'] : [];
}

/** A read can include whatever can be reached along relations; each relation is looked at once, however many types there are. */
export function deprecatedWithin(resources: readonly Resource[]): ReadonlySet<Resource> {
  const leadingTo = new Map<Resource, Resource[]>();
  for (const resource of resources)
    for (const field of resource.fields) {
      if (field.kind === 'column' || !visible(field)) continue;
      const known = leadingTo.get(field.target);
      if (known) known.push(resource);
      else leadingTo.set(field.target, [resource]);
    }
  const found = new Set(
    resources.filter(({ fields }) => fields.some((field) => field.deprecated !== undefined)),
  );
  for (const each of found) for (const from of leadingTo.get(each) ?? []) found.add(from);
  return found;
}

function tagParameter(name: string, description: string): JsonSchema {
  return { name, in: 'header', description, schema: { type: 'string' }, example: '"1-2gf51tlcjlvq8"' };
}

/** The parameters of writes and reads of one record; they are the same everywhere. */
export const recordParameters = {
  IfNoneMatch: tagParameter(
    'If-None-Match',
    'Tags of versions, or `*` for all of them. When the record has one of them, a read is 304, and a write is 412.',
  ),
  IfMatch: tagParameter(
    'If-Match',
    'Tags of the versions that may be changed, or `*`: 412 when the record has another one.',
  ),
  IdempotencyKey: idempotencyKey,
};

export const [ifNoneMatch, ifMatch, keyOfWrite] = Object.keys(recordParameters).map((name) => ({
  $ref: `#/components/parameters/${name}`,
}));

/** The same for every record. */
export const recordResponses = {
  NotModified: { description: 'Not Modified', headers: withHeaders(['ETag']) },
  NoContent: { description: 'It is gone.' },
};

const [NOT_MODIFIED, NO_CONTENT] = Object.keys(recordResponses).map((name) => ({
  $ref: `#/components/responses/${name}`,
}));

function body(schema: JsonSchema, example?: unknown): JsonSchema {
  return { required: true, content: { [JSON_TYPE]: { schema, ...(example !== undefined && { example }) } } };
}

function described(named: Parameters<typeof documented>[0]): JsonSchema {
  const { description } = documented(named);
  return description === undefined ? {} : { description };
}
