/** The composition root: everything that happens to a request, in order, and everything a server is made of. */

import { inBatch } from '../base/batch.ts';
import { DuetError } from '../base/errors.ts';
import { Metrics } from '../base/metrics.ts';
import type { Observation } from '../base/observe.ts';
import { Recent } from '../base/recent.ts';
import { type Soon, then } from '../base/soon.ts';
import type { SpanContext } from '../base/tracer.ts';
import { answerLimits, hasAuthentication } from '../config/config.ts';
import { LONG_BYTES } from '../engine/budget.ts';
import { anonymous, type Caller } from '../engine/caller.ts';
import { Engine } from '../engine/engine.ts';
import { jobsOf } from '../engine/jobs/jobs.ts';
import { Journal } from '../engine/journal/journal.ts';
import { apiOf } from '../engine/logic/api.ts';
import { Functions, mayAsk } from '../engine/logic/functions.ts';
import { Operator } from '../engine/operator.ts';
import { Policy } from '../engine/policy/policy.ts';
import { Webhooks } from '../engine/webhooks/webhooks.ts';
import { Watchers } from '../engine/write/changes.ts';
import { takeLong } from '../http/answer.ts';
import { discardBody } from '../http/body.ts';
import { codingsOf, compressed } from '../http/compress.ts';
import {
  type Exchange,
  type Found,
  type Handler,
  handlerOf,
  type Route,
  withoutBody,
} from '../http/exchange.ts';
import { addressReader, type Connections, grouped } from '../http/guard/address.ts';
import { challenge } from '../http/guard/challenge.ts';
import { cors } from '../http/guard/cors.ts';
import { Load } from '../http/guard/load.ts';
import type { Bill } from '../http/guard/rate-limits.ts';
import { announcesTrailers, closes, refuseUnsound } from '../http/message.ts';
import { POSITION, positionOf } from '../http/position.ts';
import { problem } from '../http/problem.ts';
import { requestIdOf, split } from '../http/request.ts';
import { Streams } from '../http/streams.ts';
import { MCP_HEADERS } from '../mcp/message.ts';
import { admitUrl } from '../rest/links.ts';
import type { Resource } from '../schema/model.ts';
import { type Scope, Scopes } from '../storage/scopes.ts';
import { authentication, costOf, rateLimits } from './guards.ts';
import type { AppOptions } from './options.ts';
import { router } from './routes.ts';
import { endOperation, endRequest } from './spans.ts';

export interface App {
  /** `connections` tells where a request comes from; without it, all come from one place. */
  readonly fetch: (request: Request, connections?: Connections) => Soon<Response>;
  /** From now on `/readyz` says no and connections are not kept. */
  readonly drain: () => void;
  /** Whether somebody still waits for an answer, or for the rest of one. */
  readonly isBusy: () => boolean;
  /** Runs what functions of the deployment are to do by themselves, from now on. */
  readonly start: () => void;
  /** Lets go of what it asks others for, and of what it does by itself. */
  readonly close: () => Promise<void>;
}

export function createApp(given: AppOptions): App {
  const { model, storage, config, peers, tracer } = given;
  const metrics = given.metrics ?? new Metrics();
  metrics.renew();
  const recent = given.recent ?? new Recent();
  const scopes = new Scopes();
  const observe = (observation: Observation) => {
    metrics.observe(observation);
    recent.observe(observation);
    given.observe(observation);
    if (!tracer || observation.event !== 'operation') return;
    const span = scopes.scope?.span;
    if (span) endOperation(tracer, span, observation);
  };
  tracer?.tell(metrics);
  peers?.offer({ metrics: () => metrics.snapshot(), recent: () => recent.tell() });
  const options = { ...given, observe, recent };
  const policy = new Policy(model, hasAuthentication(config), given.logic !== undefined);
  const introspection = config.introspection === 'on';
  const isTimed = config.logSlow !== null;
  const hasReplicas = storage.replicas !== undefined;
  const notice = (message: string) => observe({ event: 'notice', message });
  const load = new Load(config.limitInFlight, config.limitLag, config.limitBytes, config.limitBody);
  load.tell(metrics);
  storage.tell?.(metrics);
  const primary = scopes.around(storage, true);
  const journal = model.resources.some((resource) => resource.journal)
    ? new Journal(storage, model, answerLimits(config), config.liveConcurrency, notice, primary)
    : undefined;
  journal?.live.tell(metrics);
  // Changes tell which request has made them.
  const isScoped = introspection || isTimed || hasReplicas || tracer !== undefined || journal !== undefined;
  const engineLimits = {
    ...answerLimits(config),
    admitLong: load.admitLong,
    holdLong: load.holdLong,
    operations: config.limitOperations,
    deadline: config.limitDeadline,
    ...(journal && { addChanges: journal.addChanges }),
  };
  const functions = given.logic && new Functions(given.logic, model, policy, engineLimits, notice);
  const api = apiOf(model, (asked) => engine.inside(asked));
  const jobs = given.logic && jobsOf(given.logic, storage, api, observe);
  jobs?.runner.tell(metrics);
  const webhooks = journal && new Webhooks({ journal, model, timeout: config.webhookTimeout, observe });
  webhooks?.tell(metrics);
  const watching = [...(jobs ? [jobs.watcher] : []), ...(journal ? [journal] : [])];
  const mayAct = (resource: Resource) => given.logic !== undefined && mayAsk(given.logic, resource);
  const requestId = () => scopes.scope?.requestId;
  const watchers = watching.length > 0 ? new Watchers(model, watching, mayAct, requestId) : undefined;
  const asked = isScoped ? scopes.around(storage) : storage;
  const engine = new Engine(asked, policy, engineLimits, functions, watchers, journal);
  const state = { draining: false };
  const closing = new AbortController();
  const authenticate = authentication(options, closing.signal, metrics);
  const streams = new Streams(config.limitStreams, metrics, authenticate);
  const operator = new Operator(asked, config.limitDeadline);
  const fetchLater: App['fetch'] = (...given) => fetch(...given);
  const sockets = journal && { fetch: fetchLater, authenticate, streams, origins: config.corsOrigins };
  const find = router({ ...options, journal }, engine, operator, api, metrics, load, state, streams, sockets);
  const codings = codingsOf(config.compress);
  const share = config.corsOrigins && cors(config.corsOrigins, config.mcp === 'off' ? [] : MCP_HEADERS);
  journal?.watch(closing.signal);
  const limits = rateLimits(options, closing.signal);
  const addressOf = addressReader(config.trustedProxies ?? []);
  const isLogged = config.logLevel === 'debug' || config.logLevel === 'info';
  // To find it out is a system call, which takes a fifth of what a read by key does: nobody pays for it unasked.
  const knowsAddress =
    limits !== undefined || tracer !== undefined || (isLogged && config.logAddress === 'all');

  /** The routes whose last answer was long: what is asked of them next most likely is too, and is not for a batch. */
  const isLong = new Set<Route>();
  const noteLength = (route: Route, bytes: number | undefined, status: number) => {
    if (bytes !== undefined) isLong.add(route);
    // What is refused tells nothing of what is not.
    else if (isLong.size > 0 && status < 400) isLong.delete(route);
  };

  const failing = (error: unknown, exchange: Arriving): Response => {
    exchange.bill?.settle();
    const failed = exchange.found?.route.failed ?? problem;
    // What has a cause beyond the request is the operator's to know.
    if (!(error instanceof DuetError) || error.cause !== undefined) exchange.failed(error);
    if (error instanceof DuetError) return failed(error, exchange);
    return failed(new DuetError('INTERNAL', 'Internal server error'), exchange);
  };

  /** Who asks, and whether it is too often. */
  const introduced = (exchange: Arriving): Soon<void> =>
    then(authenticate ? authenticate(exchange.request) : anonymous, (caller) => {
      exchange.caller = caller;
      const { bill } = exchange;
      if (!bill) return;
      exchange.spend = bill.spend;
      return limits?.admit(bill, caller.subject);
    });

  /** What the client has seen is known before anything is read for it. */
  const sighted =
    (handler: Handler) =>
    (exchange: Arriving): Soon<Response> => {
      if (exchange.scope) exchange.scope.position = positionOf(exchange.request);
      return handler(exchange);
    };

  const handled = (exchange: Arriving): Soon<Response> => {
    const { request, found } = exchange;
    if (!found?.route.spared) load.admit(exchange.started);
    if (limits && !found?.route.open) {
      exchange.bill = limits.bill(costOf(request, found));
      limits.arrive(exchange.bill, grouped(exchange.address));
    }
    refuseUnsound(request, exchange);
    admitUrl(request.url, config.limitUrl);
    if (!found) throw new DuetError('NOT_FOUND', 'There is nothing at this path.');
    const handler = handlerOf(found.route, exchange.method);
    const handle = hasReplicas && !found.route.open ? sighted(handler) : handler;
    const isGuarded = (authenticate || exchange.bill) && !found.route.open;
    return isGuarded ? then(introduced(exchange), () => handle(exchange)) : handle(exchange);
  };

  const attempted = (exchange: Arriving): Soon<Response> => {
    try {
      return handled(exchange);
    } catch (error) {
      return failing(error, exchange);
    }
  };

  const finished = (response: Response, exchange: Arriving): Soon<Response> => {
    load.inFlight--;
    const bytes = takeLong(response);
    if (exchange.found) noteLength(exchange.found.route, bytes, response.status);
    const { request, connections, bill, requestId, method, path, found, started, closing, span } = exchange;
    const { headers, status } = response;
    const isTold = knowsAddress || !isLogged || status < 400;
    const address = isTold ? exchange.address : addressOf(request, connections);
    headers.set('X-Request-Id', requestId);
    if (status === 401 || status === 403) challenge(response);
    bill?.tell(headers);
    share?.(request, response);
    if (closing || state.draining) headers.set('Connection', 'close');
    const ms = Math.round((performance.now() - started) * 1000) / 1000;
    const route = found?.route.template ?? 'none';
    const caller = exchange.caller.subject;
    const traceId = span?.traceId;
    const observed: Observation = {
      event: 'request',
      requestId,
      method,
      path,
      route,
      status,
      started,
      ms,
      caller,
      address,
      traceId,
    };
    observe(observed);
    if (tracer && span) endRequest(tracer, span, request, started, observed);
    if (bytes !== undefined && bytes > LONG_BYTES && connections && method !== 'HEAD')
      load.hand({ request, connections, bytes });
    const sent = codings && !found?.route.asMade ? compressed(request, response, codings) : response;
    const whole = method === 'HEAD' ? then(sent, withoutBody) : sent;
    return closing && request.body ? discardBody(request, config.limitBodyTime).then(() => whole) : whole;
  };

  const begin = (
    request: Request,
    connections: Connections | undefined,
    { path, query }: ReturnType<typeof split>,
    found: Found | undefined,
    started: number,
    hasTrailers: boolean,
  ): Soon<Response> => {
    load.inFlight++;
    const { method } = request;
    const requestId = requestIdOf(request);
    const exchange: Arriving = {
      request,
      connections,
      method,
      requestId,
      query,
      path,
      started,
      found,
      caller: anonymous,
      address: knowsAddress ? addressOf(request, connections) : '',
      failed: (cause) => observe({ event: 'failure', requestId, cause }),
      key: found?.key ?? '',
      spend: undefined,
      bill: undefined,
      closing: closes(request),
      hasTrailers,
      span: tracer?.begin(request.headers),
      scope: undefined,
    };
    const isCounted = introspection && request.headers.get('Duet-Trace') === '1';
    const writes = journal !== undefined && method !== 'GET' && method !== 'HEAD';
    const isWatched = isCounted || isTimed || hasReplicas || exchange.span !== undefined || writes;
    const response = isWatched ? watched(exchange, isCounted) : attempted(exchange);
    return response instanceof Promise ? finishedLater(response, exchange) : finished(response, exchange);
  };

  /** One promise for both ends: each costs. */
  const finishedLater = (response: Promise<Response>, exchange: Arriving): Promise<Response> =>
    response.then(
      (made) => finished(made, exchange),
      (error) => finished(failing(error, exchange), exchange),
    );

  /** Knows its statements; whoever is learning the API and asks is told what the answer took. */
  const watched = async (exchange: Arriving, isCounted: boolean): Promise<Response> => {
    const { requestId, span, started } = exchange;
    const scope: Scope = { requestId, span, statements: 0, position: undefined, written: undefined };
    exchange.scope = scope;
    const response = await scopes.during(scope, async () => {
      try {
        return await handled(exchange);
      } catch (error) {
        return failing(error, exchange);
      }
    });
    if (scope.written !== undefined) response.headers.set(POSITION, scope.written);
    if (!isCounted) return response;
    const ms = (performance.now() - started).toFixed(3);
    response.headers.set('Server-Timing', `total;dur=${ms}, db;desc="${scope.statements} statements"`);
    return response;
  };

  const fetch = (request: Request, connections?: Connections): Soon<Response> => {
    const started = performance.now();
    const parts = split(request.url);
    const found = find(parts.path);
    const hasTrailers = announcesTrailers(request);
    // By the time a batch begins, the runtime may have answered by itself who sends trailers; and to turn somebody away behind
    // those who are served costs half as much again as to do so at once. What is not for a batch is for one where much of it came.
    const isHasty = found?.route.spared || hasTrailers || load.isOver;
    const isLongLast = found && (() => isLong.has(found.route));
    if (isHasty || ((!isLongLast || isLongLast()) && load.hasTime(started))) {
      load.arrive(started);
      return begin(request, connections, parts, found, started, hasTrailers);
    }
    const response = inBatch(() => begin(request, connections, parts, found, started, false), isLongLast);
    load.arrive(started);
    return response;
  };

  return {
    fetch,
    drain: () => {
      state.draining = true;
      streams.end();
    },
    isBusy: () => load.inFlight + engine.exports > 0,
    start: () => {
      jobs?.start();
      webhooks?.start();
    },
    close: async () => {
      streams.end();
      closing.abort();
      await Promise.all([jobs?.stop(), webhooks?.stop()]);
    },
  };
}

/** Who asks, and what it costs, are found out on the way. */
type Arriving = Exchange & {
  readonly address: string;
  caller: Caller;
  spend: Exchange['spend'];
  bill: Bill | undefined;
  readonly method: string;
  readonly path: string;
  readonly found: Found | undefined;
  readonly started: number;
  /** Whether the connection ends with it. */
  readonly closing: boolean;
  readonly hasTrailers: boolean;
  readonly span: SpanContext | undefined;
  /** Of a request whose statements somebody looks at. */
  scope: Scope | undefined;
};
