/** Model → the OpenAPI 3.1 document at `/openapi.json`. */

import type { Code } from '../../base/errors.ts';
import type { Action, Model, Resource } from '../../schema/model.ts';
import type { JsonSchema } from '../../schema/scalars.ts';
import { ACTIONS, actionPaths, actionSchemas } from './actions.ts';
import { CHANGES_TAG, changesPaths, changesSchemas } from './changes.ts';
import { introduction } from './introduction.ts';
import { documented } from './json-schema.ts';
import { type Context, deprecatedWithin, pathsOf, recordParameters, recordResponses } from './operations.ts';
import { SharedParameters, sortSchema } from './parameters.ts';
import { positioned, positionedAll, positionHeaders, positionParameters } from './positions.ts';
import { requestsOf } from './requests.ts';
import { errorSchemas, Failures, headers } from './responses.ts';
import { Schemas } from './schemas.ts';
import { anybody } from './security.ts';
import { SERVICE, servicePaths, serviceSchemas } from './service.ts';
import { transaction } from './transaction.ts';
import { webhookSchemas, webhooksOf } from './webhooks.ts';

export interface Served {
  /** The longest page. */
  readonly most: number;
  /** How many operations a transaction may have. */
  readonly operations: number;
  /** Whether there is a GraphQL door. */
  readonly graphql: boolean;
  /** Whether GraphQL documents can be named, and whether they must be. */
  readonly trusted: 'no' | 'too' | 'only';
  /** What the anonymous may do with some records at least; undefined where callers cannot be known. */
  readonly open: ((resource: Resource) => readonly Action[]) | undefined;
  /** Whether there are rate limits. */
  readonly limited: boolean;
  /** Whether replicas answer reads, so that positions tell what they must show. */
  readonly replicas: boolean;
}

/** `client`: plain records alone, without what changes the shape of an answer, for code that is generated. */
export type Profile = 'whole' | 'client';

/**
 * The text of the document, in pieces: of hundreds of types it is long, and whoever puts it together can let others have
 * their turn in between.
 */
export function* openapi(model: Model, served: Served, profile: Profile): Generator<string> {
  const { most, operations, graphql, trusted, open, limited, replicas } = served;
  const isPlain = profile === 'client';
  const schemas = new Schemas(model, isPlain);
  const guard: Code[] = ['UNAVAILABLE'];
  if (open) guard.push('UNAUTHENTICATED', 'FORBIDDEN');
  if (limited) guard.push('RATE_LIMITED');
  const failures = new Failures(schemas, guard);
  const parameters = new SharedParameters({ ...recordParameters, ...(replicas && positionParameters) });
  const resources = model.resources.filter(({ rest }) => rest);
  const answers: Record<string, JsonSchema> = { ...recordResponses };
  const context: Context = {
    schemas,
    parameters,
    most,
    requests: requestsOf(resources),
    deprecated: deprecatedWithin(resources),
    answers,
    open,
  };
  const hasActions = model.actions.length > 0;
  const head = {
    openapi: '3.1.1',
    info: { title: 'Duet', version: model.fingerprint, description: introduction(resources) },
    servers: [{ url: '/' }],
    // What no rule allows to the anonymous says so itself.
    ...(open && { security: anybody }),
    tags: [
      ...resources.map((resource) => ({ name: resource.name, ...told(resource) })),
      ...(hasActions ? [{ name: ACTIONS, description: 'What this deployment does.' }] : []),
      ...(resources.some(({ journal }) => journal)
        ? [{ name: CHANGES_TAG, description: 'What has happened to records.' }]
        : []),
      { name: SERVICE, description: 'What there is beside the resources.' },
    ],
  };
  function* paths(): Generator<[string, JsonSchema]> {
    for (const resource of resources) yield* pathsOf(context, resource);
    yield* Object.entries(actionPaths(model.actions, open !== undefined));
    yield* Object.entries(changesPaths(model, context, failures));
    yield ['/transaction', { post: transaction(resources, failures, operations, hasActions) }];
    if (!isPlain)
      yield* Object.entries(servicePaths(schemas, failures, graphql, trusted, open !== undefined));
  }
  function* described(): Generator<[string, JsonSchema]> {
    const all = {
      ...actionSchemas(model.actions),
      ...changesSchemas(model, schemas),
      ...webhookSchemas(schemas),
      ...errorSchemas(schemas),
      ...serviceSchemas(schemas, trusted),
    };
    yield* Object.entries(all);
    yield [schemas.name('Sort'), sortSchema(context.requests)];
    // The last ones: they have what columns of the others have in common.
    yield* schemas.all();
  }
  const used = new Used();
  yield `${JSON.stringify(head).slice(0, -1)},"paths":{`;
  let separator = '';
  for (const [path, item] of paths()) {
    const text = JSON.stringify(replicas ? positioned(path, item) : item);
    used.see(text);
    yield `${separator}${JSON.stringify(path)}:${text}`;
    separator = ',';
  }
  const webhooks = JSON.stringify(isPlain ? {} : webhooksOf(model, schemas, parameters));
  used.see(webhooks);
  yield `}${webhooks === '{}' ? '' : `,"webhooks":${webhooks}`}`;
  const shared = JSON.stringify({
    parameters: parameters.all,
    responses: { ...(replicas ? positionedAll(answers) : answers), ...failures.all },
    headers: replicas ? { ...headers, ...positionHeaders } : headers,
    ...(open && { securitySchemes: { bearer } }),
  });
  used.see(shared);
  yield `,"components":${shared.slice(0, -1)},"schemas":{`;
  const texts = new Map<string, string>();
  for (const [name, schema] of described()) {
    texts.set(name, JSON.stringify(schema));
    yield '';
  }
  yield* used.of(texts);
  yield '}}}';
}

/** The schemas that something refers to, directly or through others. */
class Used {
  readonly #names = new Set<string>();

  see(text: string): void {
    for (const [, name = ''] of text.matchAll(/"#\/components\/schemas\/(\w+)"/g)) this.#names.add(name);
  }

  /** Those of the texts, with their names, as members of an object. */
  *of(texts: ReadonlyMap<string, string>): Generator<string> {
    let separator = '';
    // What is seen on the way is looked at too.
    for (const name of this.#names) {
      const text = texts.get(name);
      if (text === undefined) continue;
      this.see(text);
      yield `${separator}${JSON.stringify(name)}:${text}`;
      separator = ',';
    }
  }
}

const bearer = {
  type: 'http',
  scheme: 'bearer',
  description: 'A token of the issuer that this service trusts, or an API key (`duet_…`).',
};

function told(named: Parameters<typeof documented>[0]): JsonSchema {
  const { description } = documented(named);
  return description === undefined ? {} : { description };
}
