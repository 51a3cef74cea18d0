/** The GraphQL door: GraphQL over HTTP, from the envelope to the status of the answer. */

import {
  type ExecutionResult,
  GraphQLError,
  getOperationAST,
  type OperationDefinitionNode,
  type ValidatedExecutionArgs,
  validateExecutionArgs,
} from 'graphql';
import { inTurnOfLong } from '../base/batch.ts';
import { DuetError } from '../base/errors.ts';
import type { Metrics } from '../base/metrics.ts';
import type { Observe } from '../base/observe.ts';
import { jsonOf } from '../base/passed.ts';
import { type Soon, then } from '../base/soon.ts';
import { LONG_BYTES } from '../engine/budget.ts';
import type { Engine } from '../engine/engine.ts';
import { preferredType } from '../http/accept.ts';
import { answer, common, JSON_TYPE } from '../http/answer.ts';
import { type BodyLimits, parseJsonObject, readBody } from '../http/body.ts';
import { compressed } from '../http/compress.ts';
import { type Exchange, goneOf, type Route } from '../http/exchange.ts';
import { costOfAnswer, WRITE_COST } from '../http/guard/rate-limits.ts';
import { idempotencyOf } from '../http/idempotency.ts';
import { EVENT_TYPE, type Streams } from '../http/streams.ts';
import { deadlineExceeded } from '../storage/faults.ts';
import type { CompiledQuery, Outcome } from './compiled/compiled.ts';
import type { Context } from './context.ts';
import { isMarked, Live } from './directives.ts';
import { type CheckedDocument, Documents } from './documents.ts';
import { type Envelope, envelopeInUrl, readEnvelope } from './envelope.ts';
import { formatted, formattedAlone } from './errors.ts';
import { execute, type Performed, refusedFor } from './execute.ts';
import { describes, onlyDescribes, written } from './introspection.ts';
import type { DocumentLimits } from './limits.ts';
import type { Door } from './schema.ts';
import { openSocket, type SocketOptions, wantsSocket } from './socket.ts';
import { kept, streamedOnce, subscribed } from './subscriptions.ts';
import { type Trusted, textOf } from './trusted.ts';
import { declaredIn } from './variables.ts';

/** Each of them quotes the whole variable, which may be as long as a body: of a long one, the first is enough. */
const MOST_COERCION_ERRORS = 10;
const LONG_BODY = 64 * 1024;

const GRAPHQL_TYPE = 'application/graphql-response+json';
const mediaTypes = [JSON_TYPE, GRAPHQL_TYPE] as const;
type MediaType = (typeof mediaTypes)[number];
/** With `EVENT_TYPE`, what is wrong with a request is told as JSON. */
const offered = [...mediaTypes, EVENT_TYPE] as const;
type Offered = (typeof offered)[number];

const headers: Readonly<Record<MediaType, Headers>> = {
  [JSON_TYPE]: common({ 'Content-Type': JSON_TYPE }),
  [GRAPHQL_TYPE]: common({ 'Content-Type': GRAPHQL_TYPE }),
};

export interface GraphqlOptions {
  readonly door: Door;
  readonly engine: Engine;
  readonly limits: BodyLimits & { readonly document: DocumentLimits };
  readonly introspection: boolean;
  /** Documents that clients can name instead of sending them. */
  readonly trusted: Trusted | undefined;
  readonly observe: Observe;
  readonly metrics: Metrics;
  readonly streams: Streams;
  /** Undefined where there is nothing to follow. */
  readonly sockets?: SocketOptions | undefined;
  /** Set where only queries are carried out: how many records their lists have that do not say how many. */
  readonly page?: number | undefined;
}

export function graphqlRoute(options: GraphqlOptions): Route {
  const { door, introspection, limits, engine, page, sockets } = options;
  const documents = new Documents(door, introspection, limits.document, engine.limits.objects, page);
  options.metrics.addCache(page === undefined ? 'documents' : 'agent_documents', documents.cache);
  return {
    template: '/graphql',
    methods: new Map([
      [
        'GET',
        (exchange) =>
          sockets && wantsSocket(exchange.request)
            ? openSocket(sockets, limits, exchange)
            : handle(options, documents, exchange, ofUrl),
      ],
      ['POST', (exchange) => handle(options, documents, exchange, ofBody)],
    ]),
    allow: ALLOW,
    failed: (error, exchange) => {
      const type = preferredType(exchange.request.headers.get('Accept'), mediaTypes) ?? JSON_TYPE;
      const response = respond(error.status, type, { errors: [formattedAlone(error, exchange.requestId)] });
      for (const [name, value] of Object.entries(error.headers ?? {})) response.headers.set(name, value);
      return response;
    },
  };
}

type Carry = (envelope: Envelope, bytes: Uint8Array) => Soon<Response>;
type Source = (options: GraphqlOptions, exchange: Exchange, carry: Carry) => Soon<Response>;

const ofBody: Source = ({ limits, trusted }, { request }, carry) =>
  readBody(request, limits, (bytes) =>
    carry(readEnvelope(parseJsonObject(request, bytes, limits), trusted), bytes),
  );

/** Many clients ask so by default, and caches can only keep what was asked for so. */
const ofUrl: Source = ({ limits, trusted }, { query }, carry) => {
  const envelope = envelopeInUrl(query, trusted, limits);
  if (!envelope) throw notByGet('A GET needs ?query= with the document');
  return carry(envelope, NOTHING);
};

const NOTHING = new Uint8Array();

/** What takes whatever can be asked here. */
const ALLOW = 'POST, OPTIONS';

function notByGet(why: string): DuetError {
  return new DuetError('METHOD_NOT_ALLOWED', `${why}; ${ALLOW} are answered here too.`, {
    headers: { Allow: ALLOW },
  });
}

function handle(
  options: GraphqlOptions,
  documents: Documents,
  exchange: Exchange,
  source: Source,
): Soon<Response> {
  const { request } = exchange;
  const type = preferredType(request.headers.get('Accept'), offered);
  if (!type)
    throw new DuetError('NOT_ACCEPTABLE', `This endpoint answers with ${GRAPHQL_TYPE} or ${JSON_TYPE}.`);
  return source(options, exchange, (envelope, bytes) =>
    carryOut(options, documents, exchange, type, envelope, bytes),
  );
}

function carryOut(
  options: GraphqlOptions,
  documents: Documents,
  exchange: Exchange,
  wanted: Offered,
  envelope: Envelope,
  bytes: Uint8Array,
): Soon<Response> {
  const { trusted } = options;
  const isStream = wanted === EVENT_TYPE;
  const type: MediaType = isStream ? GRAPHQL_TYPE : wanted;
  const text = textOf(envelope, trusted);
  if (typeof text !== 'string') return refused(exchange, type, [new GraphQLError(text.message)], text.code);
  const checked = documents.check(text);
  if (checked.errors) return refused(exchange, type, checked.errors, checked.code);
  const { document } = checked;
  const excess = document.excess(envelope.operationName, envelope.variables, bytes.length);
  if (excess) return refused(exchange, type, [excess], 'BAD_USER_INPUT');
  const started = performance.now();
  const given = { options, text, document, envelope, exchange, type, bytes, started, isStream };
  if (!document.isLong) return carriedOut(given);
  return inTurnOfLong(() => {
    // Who has waited is admitted anew.
    options.limits.load.admit(started);
    return carriedOut(given);
  });
}

function carriedOut(given: Given): Soon<Response> {
  const { options, document, envelope, exchange, started, isStream } = given;
  const { engine } = options;
  const query = document.query(envelope.operationName);
  if (!query || isStream) return byExecutor(given, undefined);
  const outcome = query.run(engine, exchange.caller, engine.deadline(started), envelope.variables);
  return then(outcome, (made) => answered(given, query, made));
}

interface Given {
  readonly options: GraphqlOptions;
  readonly text: string;
  readonly document: CheckedDocument;
  readonly envelope: Envelope;
  readonly exchange: Exchange;
  readonly type: MediaType;
  readonly bytes: Uint8Array;
  readonly started: number;
  /** Whether the client wants events. */
  readonly isStream: boolean;
}

function answered(given: Given, query: CompiledQuery, outcome: Outcome | undefined): Soon<Response> {
  if (!outcome?.data) return byExecutor(given, outcome?.performed);
  finished(given, query.operation, outcome);
  return respond(200, given.type, outcome, given.document);
}

/** A request error has no data; only the newer media type lets the status say so. */
function refused(
  { requestId }: Exchange,
  type: MediaType,
  errors: readonly GraphQLError[],
  code: Parameters<typeof formatted>[1],
): Response {
  return respond(type === GRAPHQL_TYPE ? 400 : 200, type, {
    errors: errors.map((error) => formatted(error, code, requestId)),
  });
}

function finished(
  { options, exchange, started }: Given,
  { name, operation }: OperationDefinitionNode,
  { data, errors }: ExecutionResult,
  units?: number,
): void {
  const { requestId } = exchange;
  const ms = performance.now() - started;
  const outcome = errors ? 'error' : 'ok';
  options.observe({ event: 'operation', requestId, name: name?.value, type: operation, outcome, ms });
  exchange.spend?.(costOf(operation, data, units));
}

/** By the executor: what is no plain query, and what has errors. */
async function byExecutor(given: Given, performed: Performed | undefined): Promise<Response> {
  const { options, text, document, envelope, exchange, type, bytes, started, isStream } = given;
  const { door, engine, introspection, page } = options;
  const { operationName, variables } = envelope;
  const known = getOperationAST(document.ast, operationName);
  // A link, an image or a cache may send it, as often as it likes (GraphQL over HTTP, section 5.3).
  if (known?.operation === 'mutation' && exchange.request.method !== 'POST')
    throw notByGet('A mutation is sent by POST');
  if (known && known.operation !== 'query' && page !== undefined)
    throw new DuetError('METHOD_NOT_ALLOWED', `Only queries are carried out here, no ${known.operation}s.`);
  const valid = validateExecutionArgs({
    schema: door.schema,
    document: document.ast,
    operationName,
    variableValues: known && variables && declaredIn(known, variables),
    hideSuggestions: !introspection,
    options: { maxCoercionErrors: bytes.length > LONG_BODY ? 1 : MOST_COERCION_ERRORS },
  });
  if (!('operation' in valid)) {
    return refused(exchange, type, valid, known ? 'BAD_USER_INPUT' : 'OPERATION_RESOLUTION_FAILURE');
  }
  // To ask for the same twice does no harm.
  const idempotency =
    valid.operation.operation === 'mutation' ? idempotencyOf(exchange, 'graphql', bytes) : undefined;
  if (idempotency?.refusal) throw idempotency.refusal;
  const { caller, failed, requestId } = exchange;
  const gone = goneOf(exchange);
  const deadline = engine.deadline(started);
  const context = { engine, caller, deadline, bindings: door.bindings, failed, gone, idempotency, page };
  const isLive = isMarked(valid.operation, Live);
  if (valid.operation.operation === 'subscription' || isLive) {
    const what = isLive ? 'A query that is marked @live' : 'A subscription';
    if (!isStream)
      throw new DuetError('NOT_ACCEPTABLE', `${what} is answered with ${EVENT_TYPE}: send that as Accept.`);
    const answer = isLive ? kept : subscribed;
    const asked = [text, operationName, variables];
    const stream = await answer(options.streams, exchange, valid, context, asked, bytes.length);
    finished(given, valid.operation, { data: {} });
    return stream;
  }
  const admit = () => options.limits.load.admit(started);
  // What has been written is told, however long that takes.
  const isLong = valid.operation.operation === 'query' && describes(text);
  const carry = () => carried(valid, { ...context, admit }, performed, isLong);
  const shared = () => document.shared(jsonOf([operationName, variables]), carry);
  const isShared = onlyDescribes(valid.operation);
  let { result, long, isLate } = await (isShared ? shared() : carry());
  // Whoever has asked before may have had less time left.
  if (isShared && isLate && performance.now() < deadline) ({ result, long } = await shared());
  // All who have waited for the same would otherwise be sent it in one piece, and admitted before it counts what others were sent.
  if (long) await options.streams.turns.anew();
  const errors = result.errors?.map((error) => formatted(error, 'BAD_USER_INPUT', requestId));
  finished(given, valid.operation, result, long?.units);
  const data = long?.json ?? jsonOf(result.data ?? null);
  const told = `{${errors ? `"errors":${JSON.stringify(errors)},` : ''}"data":${data}}`;
  if (!errors) document.isLong = told.length > LONG_BYTES;
  // Made once for many, it is in memory for each of them until it is sent.
  if (long && told.length > LONG_BYTES) engine.limits.admitLong?.(told.length);
  if (isStream) return streamedOnce(told);
  const response = answer(200, told, undefined, headers[type]);
  return long ? compressed(exchange.request, response, ['gzip']) : response;
}

/** `isLong`: written down in turns, with what it costs. */
async function carried(
  valid: ValidatedExecutionArgs,
  context: Context,
  performed: Performed | undefined,
  isLong: boolean,
) {
  const result = await execute(valid, context, performed);
  if (!isLong) return { result, long: undefined, isLate: false };
  const isLate = result.errors?.some(
    ({ originalError }) => originalError instanceof DuetError && originalError.code === 'DEADLINE_EXCEEDED',
  );
  const long = await written(result.data, context.deadline);
  return long ? { result, long, isLate } : { result: refusedFor(deadlineExceeded()), long, isLate: true };
}

/** As much as the same work costs through REST; the first unit is paid for. */
function costOf(type: string, data: unknown, units = costOfAnswer(data)): number {
  const fields = Math.max(1, Object.keys(data ?? {}).length);
  return fields * (type === 'mutation' ? WRITE_COST : 1) - 1 + units;
}

function respond(status: number, type: MediaType, body: unknown, document?: CheckedDocument): Response {
  const text = jsonOf(body);
  if (document) document.isLong = text.length > LONG_BYTES;
  return answer(status, text, undefined, headers[type]);
}
