/** The GraphQL door: GraphQL over HTTP, from the envelope to the status of the answer. */

import { type GraphQLError, getOperationAST, validateExecutionArgs } from 'graphql';
import type { Engine } from '../engine/execute.ts';
import { DuetError } from '../errors.ts';
import { preferredType } from '../http/accept.ts';
import { type BodyLimits, parseJsonObject, readBody } from '../http/body.ts';
import { type Exchange, JSON_TYPE, type Route } from '../http/exchange.ts';
import { idempotencyOf } from '../http/idempotency.ts';
import { Documents } from './documents.ts';
import { formatted, formattedAlone } from './errors.ts';
import { execute } from './execute.ts';
import type { DocumentLimits } from './limits.ts';
import type { Door } from './schema.ts';

const GRAPHQL_TYPE = 'application/graphql-response+json';
const mediaTypes = [JSON_TYPE, GRAPHQL_TYPE] as const;
type MediaType = (typeof mediaTypes)[number];

export interface GraphqlOptions {
  readonly door: Door;
  readonly engine: Engine;
  readonly limits: BodyLimits & { readonly document: DocumentLimits };
  readonly introspection: boolean;
}

export function graphqlRoute(options: GraphqlOptions): Route {
  const documents = new Documents(options.door.schema, options.introspection, options.limits.document);
  return {
    methods: { POST: (exchange) => answer(options, documents, exchange) },
    failed: (error, exchange) => {
      const type = preferredType(exchange.request.headers.get('Accept'), mediaTypes) ?? JSON_TYPE;
      const response = respond(error.status, type, { errors: [formattedAlone(error, exchange.requestId)] });
      for (const [name, value] of Object.entries(error.headers ?? {})) response.headers.set(name, value);
      return response;
    },
  };
}

async function answer(options: GraphqlOptions, documents: Documents, exchange: Exchange): Promise<Response> {
  const { request, requestId, caller, failed } = exchange;
  const { door, engine, introspection } = options;
  const type = preferredType(request.headers.get('Accept'), mediaTypes);
  if (!type)
    throw new DuetError('NOT_ACCEPTABLE', `This endpoint answers with ${GRAPHQL_TYPE} or ${JSON_TYPE}.`);
  const bytes = await readBody(request, options.limits);
  const envelope = readEnvelope(parseJsonObject(request, bytes, options.limits));
  const refused = (errors: readonly GraphQLError[], code: Parameters<typeof formatted>[1]) =>
    // A request error has no data; only the newer media type lets the status say so.
    respond(type === GRAPHQL_TYPE ? 400 : 200, type, {
      errors: errors.map((error) => formatted(error, code, requestId)),
    });

  const checked = documents.check(envelope.query);
  if (checked.errors) return refused(checked.errors, checked.code);
  const { document } = checked;
  const { operationName, variables: variableValues } = envelope;
  const valid = validateExecutionArgs({
    schema: door.schema,
    document,
    operationName,
    variableValues,
    hideSuggestions: !introspection,
  });
  if (!('operation' in valid)) {
    const known = getOperationAST(document, operationName);
    return refused(valid, known ? 'BAD_USER_INPUT' : 'OPERATION_RESOLUTION_FAILURE');
  }
  const idempotency = idempotencyOf(exchange, 'graphql', bytes);
  const { bindings } = door;
  const deadline = engine.deadline();
  const result = await execute(valid, { engine, caller, deadline, bindings, failed, idempotency });
  const errors = result.errors?.map((error) => formatted(error, 'BAD_USER_INPUT', requestId));
  return respond(200, type, errors ? { errors, data: result.data } : { data: result.data });
}

interface Envelope {
  readonly query: string;
  readonly variables: Record<string, unknown> | undefined;
  readonly operationName: string | undefined;
}

function readEnvelope(body: Record<string, unknown>): Envelope {
  const { query, variables, operationName, extensions } = body;
  if (typeof query !== 'string') throw malformed('"query" must be a string with the operation');
  if (!isObjectOrAbsent(variables)) throw malformed('"variables" must be an object');
  if (!isObjectOrAbsent(extensions)) throw malformed('"extensions" must be an object');
  if (operationName != null && typeof operationName !== 'string')
    throw malformed('"operationName" must be a string');
  return {
    query,
    variables: variables ? bare(variables) : undefined,
    operationName: operationName ?? undefined,
  };
}

function isObjectOrAbsent(value: unknown): value is Record<string, unknown> | null | undefined {
  return value == null || (typeof value === 'object' && !Array.isArray(value));
}

/** Without what every object inherits, which would be taken for the value of a field named `constructor`. */
function bare<T>(value: T): T {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(bare) as T;
  const copy = Object.create(null);
  for (const [name, inner] of Object.entries(value)) copy[name] = bare(inner);
  return copy;
}

function malformed(detail: string): DuetError {
  return new DuetError('MALFORMED_BODY', `In the body, ${detail}.`);
}

function respond(status: number, type: MediaType, body: unknown): Response {
  return new Response(JSON.stringify(body), { status, headers: { 'Content-Type': type } });
}
