/** Model → the OpenAPI 3.1 document at `/openapi.json`. */

import type { Code } from '../../base/errors.ts';
import { JSON_TYPE } from '../../http/answer.ts';
import { exampleInput, exampleOf, exampleRecord } from '../../schema/examples.ts';
import type { Model, OperationKind, Reference, Resource } from '../../schema/model.ts';
import type { JsonSchema } from '../../schema/scalars.ts';
import { writtenThrough } from '../../schema/through.ts';
import { staged } from '../../schema/transitions.ts';
import { upsertKeys } from '../../schema/upserts.ts';
import { incrementable, updatable } from '../../schema/values.ts';
import { CSV_TYPE, NDJSON_TYPE } from '../export.ts';
import { visible } from '../shape.ts';
import { ACTIONS, actionPaths, actionSchemas } from './actions.ts';
import { CHANGES_TAG, changesPaths, changesSchemas } from './changes.ts';
import { documented, list, typeSchema } from './json-schema.ts';
import { parametersOfList, parametersOfOne, parametersOfWrite } from './parameters.ts';
import { positioned } from './positions.ts';
import {
  always,
  bodied,
  errorSchemas,
  Failures,
  headers,
  idempotencyKey,
  needsClaim,
  stored,
  withHeaders,
  written,
} from './responses.ts';
import { nestable, Schemas, shownFields } from './schemas.ts';
import { SERVICE, servicePaths, serviceSchemas } from './service.ts';
import { transaction } from './transaction.ts';

export interface Served {
  /** The longest page. */
  readonly most: number;
  /** How many operations a transaction may have. */
  readonly operations: number;
  /** Whether there is a GraphQL door. */
  readonly graphql: boolean;
  /** Whether GraphQL documents can be named, and whether they must be. */
  readonly trusted: 'no' | 'too' | 'only';
  /** Whether callers can be known. */
  readonly authentication: boolean;
  /** Whether there are rate limits. */
  readonly limited: boolean;
  /** Whether replicas answer reads, so that positions tell what they must show. */
  readonly replicas: boolean;
}

type Operation = JsonSchema;

interface Context {
  readonly schemas: Schemas;
  readonly failures: Failures;
  readonly most: number;
}

export function openapi(model: Model, served: Served): JsonSchema {
  const { most, operations, graphql, trusted, authentication, limited, replicas } = served;
  const schemas = new Schemas(model);
  const guard: Code[] = ['UNAVAILABLE'];
  if (authentication) guard.push('UNAUTHENTICATED', 'FORBIDDEN');
  if (limited) guard.push('RATE_LIMITED');
  const context: Context = { schemas, failures: new Failures(schemas, guard), most };
  const resources = model.resources.filter(({ rest }) => rest);
  const ofRecords: Record<string, JsonSchema> = {
    ...Object.fromEntries(resources.flatMap((resource) => pathsOf(context, resource))),
    ...actionPaths(model.actions, context.failures),
    ...changesPaths(model, schemas, context.failures),
    '/transaction': { post: transaction(resources, context.failures, operations, model.actions.length > 0) },
  };
  const ofService = servicePaths(schemas, context.failures, graphql, trusted);
  const paths = replicas ? positioned({ ...ofRecords, ...ofService }) : { ...ofRecords, ...ofService };
  const components = {
    schemas: {
      ...schemas.all,
      ...actionSchemas(model.actions),
      ...changesSchemas(model, schemas),
      ...errorSchemas(schemas),
      ...serviceSchemas(schemas, trusted),
    },
    responses: context.failures.all,
    headers,
    ...(authentication && { securitySchemes: { bearer } }),
  };
  return {
    openapi: '3.1.1',
    info: { title: 'Duet', version: model.fingerprint, description: introduction },
    servers: [{ url: '/' }],
    // Whether the anonymous may do something is told by the rules of the schema, one by one.
    ...(authentication && { security: [{ bearer: [] }, {}] }),
    tags: [
      ...resources.map((resource) => ({ name: resource.name, ...described(resource) })),
      ...(model.actions.length > 0 ? [{ name: ACTIONS, description: 'What this deployment does.' }] : []),
      ...(resources.some(({ journal }) => journal)
        ? [{ name: CHANGES_TAG, description: 'What has happened to records.' }]
        : []),
      { name: SERVICE, description: 'What there is beside the resources.' },
    ],
    paths,
    components: {
      ...components,
      schemas: used(components.schemas, { paths, responses: components.responses }),
    },
  };
}

const bearer = {
  type: 'http',
  scheme: 'bearer',
  description: 'A token of the issuer that this service trusts, or an API key (`duet_…`).',
};

/** The schemas that something refers to, directly or through others. */
function used(schemas: Readonly<Record<string, JsonSchema>>, by: unknown): Record<string, JsonSchema> {
  const kept = new Set<string>();
  const visit = (value: unknown) => {
    for (const [, name = ''] of JSON.stringify(value).matchAll(/"#\/components\/schemas\/(\w+)"/g)) {
      const schema = schemas[name];
      if (!schema || kept.has(name)) continue;
      kept.add(name);
      visit(schema);
    }
  };
  visit(by);
  return Object.fromEntries(Object.entries(schemas).filter(([name]) => kept.has(name)));
}

const introduction = `Resources as JSON over HTTP.

\`HEAD\` goes with every \`GET\`, and \`OPTIONS\` answers 204 with \`Allow\`. Another method on one of these paths is 405
with \`Allow\`, another path is 404; both have the body of any other error. Unknown or repeated parameters are 400.`;

function pathsOf(context: Context, resource: Resource): [string, JsonSchema][] {
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
    delete: ['DELETE', () => deletion(context, resource)],
  });
  const { path, key } = resource;
  const parameter = {
    name: key.name,
    in: 'path',
    required: true,
    ...described(key),
    schema: typeSchema(key),
    ...(exampleOf(key) !== undefined && { example: exampleOf(key) }),
  };
  const found: [string, JsonSchema][] = [];
  if (all.length > 0) found.push([`/${path}`, Object.fromEntries(all)]);
  if (one.length > 0)
    found.push([`/${path}/{${key.name}}`, { parameters: [parameter], ...Object.fromEntries(one) }]);
  return found;
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

function listing({ schemas, failures, most }: Context, resource: Resource): Operation {
  const record = exampleRecord(resource);
  const arrays = [...schemas.shown(resource), schemas.part(resource, 'Aggregate')].map(list);
  const file = { schema: { type: 'string' } };
  return operation(resource, 'list', `List ${resource.plural}`, {
    parameters: parametersOfList({ resource, schemas, most }),
    responses: {
      200: {
        description: `The ${resource.plural}; with \`aggregate\` or \`groupBy\`, numbers about them.`,
        headers: withHeaders(['Vary'], [...deprecationWithin(resource), 'Link', 'X-Total-Count']),
        content: {
          [JSON_TYPE]: { schema: { anyOf: arrays }, ...(record && { example: [record] }) },
          [CSV_TYPE]: file,
          [NDJSON_TYPE]: file,
        },
      },
      ...failures.of([
        'VALIDATION_FAILED',
        'TOO_MANY_OBJECTS',
        'ANSWER_TOO_LARGE',
        ...(isRelated(resource) ? (['QUERY_TOO_DEEP'] as const) : []),
        ...always,
        ...stored,
      ]),
    },
  });
}

function getting({ schemas, failures, most }: Context, resource: Resource): Operation {
  const ifNoneMatch = tagParameter(
    'If-None-Match',
    'Tags of versions that the client has: 304 for one of them.',
  );
  return operation(resource, 'get', `Get one ${resource.singular}`, {
    parameters: [...parametersOfOne({ resource, schemas, most }), ifNoneMatch],
    responses: {
      200: {
        description: `The ${resource.singular}. With \`fields\` or \`include\` there is no \`ETag\`.`,
        headers: withHeaders([], [...deprecationWithin(resource), 'ETag']),
        content: { [JSON_TYPE]: { schema: { anyOf: schemas.shown(resource) }, ...recordExample(resource) } },
      },
      304: { description: 'Not Modified', headers: withHeaders(['ETag']) },
      ...failures.of([
        'VALIDATION_FAILED',
        'ANSWER_TOO_LARGE',
        ...(isRelated(resource) ? (['TOO_MANY_OBJECTS', 'QUERY_TOO_DEEP'] as const) : []),
        'NOT_FOUND',
        ...always,
        ...stored,
      ]),
    },
  });
}

function creation({ schemas, failures, most }: Context, resource: Resource): Operation {
  const codes: Code[] = ['VERSION_CONFLICT', ...shaping(resource), ...bodied, ...always, ...written];
  const isUpsert = upsertKeys(resource).size > 0;
  for (const [each, known] of createdWith(resource)) codes.push(...ofNew(each, known));
  return operation(resource, 'create', `Create one ${resource.singular}`, {
    parameters: [...parametersOfWrite({ resource, schemas, most }, true), idempotencyKey],
    requestBody: body(
      schemas.part(resource, 'Create'),
      exampleInput(resource, () => true),
    ),
    responses: {
      201: {
        description: `The new ${resource.singular}.`,
        headers:
          resource.key.origin.by === 'client'
            ? withHeaders([], ['ETag', 'Location', ...deprecationWithin(resource)])
            : withHeaders(['Location'], ['ETag', ...deprecationWithin(resource)]),
        content: { [JSON_TYPE]: { schema: { anyOf: schemas.shown(resource) }, ...recordExample(resource) } },
      },
      ...(isUpsert && {
        200: {
          description: `With \`upsert\`, the ${resource.singular} that was there, as it is now.`,
          headers: withHeaders([], ['ETag', ...deprecationWithin(resource)]),
          content: { [JSON_TYPE]: { schema: { anyOf: schemas.shown(resource) } } },
        },
      }),
      ...failures.of(codes),
    },
  });
}

function update({ schemas, failures, most }: Context, resource: Resource): Operation {
  const changeable = updatable(resource);
  const codes: Code[] = [
    'NOT_FOUND',
    'VERSION_CONFLICT',
    ...shaping(resource),
    ...bodied,
    ...always,
    ...written,
  ];
  if (collides(resource) || incrementable(resource).length > 0) codes.push('CONFLICT');
  for (const { links } of writtenThrough(resource)) codes.push(...ofNew(links.target, links.reference));
  return operation(resource, 'update', `Change one ${resource.singular}`, {
    parameters: [
      ...parametersOfWrite({ resource, schemas, most }, false),
      ifMatch,
      unlessMatch,
      idempotencyKey,
    ],
    requestBody: body(
      schemas.part(resource, 'Update'),
      changeable.length > 0 ? exampleInput(resource, (column) => changeable.includes(column)) : undefined,
    ),
    responses: {
      200: {
        description: `The ${resource.singular} as it is now.`,
        headers: withHeaders([], ['ETag', ...deprecationWithin(resource)]),
        content: { [JSON_TYPE]: { schema: { anyOf: schemas.shown(resource) }, ...recordExample(resource) } },
      },
      ...failures.of(codes),
    },
  });
}

function deletion({ failures }: Context, resource: Resource): Operation {
  const codes: Code[] = [
    'NOT_FOUND',
    'VERSION_CONFLICT',
    'VALIDATION_FAILED',
    'BODY_TOO_LARGE',
    'BODY_TOO_SLOW',
    ...always,
    ...written,
  ];
  if (resource.pointedAtBy.length > 0) codes.push('CONFLICT');
  return operation(resource, 'delete', `Delete one ${resource.singular}`, {
    parameters: [ifMatch, unlessMatch, idempotencyKey],
    responses: { 204: { description: 'It is gone.', headers: withHeaders([]) }, ...failures.of(codes) },
  });
}

/** What can be wrong with what a write is asked to answer. */
function shaping(resource: Resource): Code[] {
  return isRelated(resource) ? ['ANSWER_TOO_LARGE', 'TOO_MANY_OBJECTS', 'QUERY_TOO_DEEP'] : [];
}

/** Whether anything can be included. */
function isRelated(resource: Resource): boolean {
  return shownFields(resource).some(({ kind }) => kind !== 'column');
}

/** What can go wrong with a new record. */
function ofNew(resource: Resource, known: Reference | undefined): Code[] {
  const { key } = resource;
  return [
    ...(needsClaim(resource) ? (['UNAUTHENTICATED'] as const) : []),
    ...(collides(resource, known) || key.origin.by === 'client' ? (['CONFLICT'] as const) : []),
    ...(key.origin.by === 'serial' ? (['KEYS_EXHAUSTED'] as const) : []),
  ];
}

/** What a create can make: the record, and whatever can be nested in it, with the reference that leads back. */
function createdWith(resource: Resource): Map<Resource, Reference | undefined> {
  const made = new Map<Resource, Reference | undefined>([[resource, undefined]]);
  for (const [each] of made)
    for (const { target, reference } of [
      ...nestable(each),
      ...writtenThrough(each).map(({ links }) => links),
    ])
      if (!made.has(target)) made.set(target, reference);
  return made;
}

/** Whether what is stored can be in the way of a write; a reference that is `known` leads somewhere. */
function collides(resource: Resource, known?: Reference): boolean {
  const { references, uniques } = resource;
  const isBound = staged(resource).length > 0;
  return isBound || references.some((reference) => reference !== known) || uniques.length > 0;
}

/** A read can include whatever can be reached along relations. */
function deprecationWithin(resource: Resource): ['Deprecation'] | [] {
  const reached = new Set([resource]);
  for (const each of reached)
    for (const field of each.fields)
      if (field.deprecated !== undefined) return ['Deprecation'];
      else if (field.kind !== 'column' && visible(field)) reached.add(field.target);
  return [];
}

function tagParameter(name: string, description: string): JsonSchema {
  return { name, in: 'header', description, schema: { type: 'string' }, example: '"1-2gf51tlcjlvq8"' };
}

const ifMatch = tagParameter(
  'If-Match',
  'Tags of the versions that may be changed, or `*`: 412 when the record has another one.',
);

const unlessMatch = tagParameter(
  'If-None-Match',
  'Tags of the versions that may not be changed, or `*` for all of them: 412 when the record has one of them.',
);

function body(schema: JsonSchema, example: unknown): JsonSchema {
  return { required: true, content: { [JSON_TYPE]: { schema, ...(example !== undefined && { example }) } } };
}

function recordExample(resource: Resource): JsonSchema {
  const example = exampleRecord(resource);
  return example ? { example } : {};
}

function described(named: Parameters<typeof documented>[0]): JsonSchema {
  const { description } = documented(named);
  return description === undefined ? {} : { description };
}
