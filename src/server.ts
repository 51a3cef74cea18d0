/** The composition root: everything that happens to a request, in order, and everything a server is made of. */

import { printSchema } from 'graphql';
import { type Config, hasAuthentication } from './config.ts';
import { page } from './console/page.ts';
import { anonymous, type Caller } from './engine/caller.ts';
import { Engine } from './engine/execute.ts';
import { ApiKeys } from './engine/keys.ts';
import { Policy } from './engine/policy/policy.ts';
import { DuetError } from './errors.ts';
import { graphqlRoute } from './graphql/handler.ts';
import { graphqlDoor } from './graphql/schema.ts';
import { type Authenticate, authenticator } from './http/authenticate.ts';
import { challenge } from './http/challenge.ts';
import { type Exchange, type Found, handlerOf, JSON_TYPE, type Route, withoutBody } from './http/exchange.ts';
import { problem } from './http/problem.ts';
import { tokenProver } from './http/tokens.ts';
import type { Observe } from './observe.ts';
import { openapi } from './rest/openapi.ts';
import { restRoutes } from './rest/routes.ts';
import type { Model } from './schema/model.ts';
import type { Storage } from './storage/storage.ts';

export interface AppOptions {
  readonly model: Model;
  readonly storage: Storage;
  readonly observe: Observe;
  /** When the deprecation of a field was first applied, by `Type.field`. */
  readonly deprecatedSince: ReadonlyMap<string, Date>;
  readonly config: Pick<
    Config,
    | 'limitObjects'
    | 'limitOperations'
    | 'limitBody'
    | 'limitJsonDepth'
    | 'limitUrl'
    | 'introspection'
    | 'authJwksUrl'
    | 'authSecret'
    | 'authIssuer'
    | 'authAudience'
    | 'authKeys'
  >;
}

export interface App {
  readonly fetch: (request: Request) => Promise<Response>;
  /** From now on `/readyz` says no and connections are not kept. */
  readonly drain: () => void;
}

export function createApp(options: AppOptions): App {
  const { model, storage, observe, config } = options;
  const policy = new Policy(model, hasAuthentication(config));
  const limits = { objects: config.limitObjects, operations: config.limitOperations };
  const engine = new Engine(storage, policy, limits);
  const state = { draining: false };
  const find = router(options, engine, state);
  const authenticate = authentication(options);

  const answer = async (
    exchange: Exchange & { caller: Caller },
    found: Found | undefined,
  ): Promise<Response> => {
    try {
      if (exchange.request.url.length > config.limitUrl)
        throw new DuetError('URL_TOO_LONG', `The URL is longer than ${config.limitUrl} bytes.`);
      if (!found) throw new DuetError('NOT_FOUND', 'There is nothing at this path.');
      const handle = handlerOf(found.route, exchange.request);
      if (authenticate && !found.route.open) {
        const caller = authenticate(exchange.request);
        exchange.caller = caller instanceof Promise ? await caller : caller;
      }
      return await handle(exchange);
    } catch (error) {
      const failed = found?.route.failed ?? problem;
      // What has a cause beyond the request is the operator's to know.
      if (!(error instanceof DuetError) || error.cause !== undefined) exchange.failed(error);
      if (error instanceof DuetError) return failed(error, exchange);
      return failed(new DuetError('INTERNAL', 'Internal server error'), exchange);
    }
  };

  const fetch = async (request: Request): Promise<Response> => {
    const started = performance.now();
    const { path, query } = split(request.url);
    const requestId = requestIdOf(request);
    const found = find(path);
    const failed = (cause: unknown) => observe({ event: 'failure', requestId, cause });
    const exchange = { request, requestId, query, caller: anonymous, failed, key: found?.key ?? '' };
    let response = await answer(exchange, found);
    if (request.method === 'HEAD') response = await withoutBody(response);
    response.headers.set('X-Request-Id', requestId);
    challenge(response);
    if (state.draining) response.headers.set('Connection', 'close');
    const ms = Math.round((performance.now() - started) * 1000) / 1000;
    observe({ event: 'request', requestId, method: request.method, path, status: response.status, ms });
    return response;
  };

  return {
    fetch,
    drain: () => {
      state.draining = true;
    },
  };
}

/** Undefined when there is none: then everybody is anonymous. */
function authentication({ config, storage }: AppOptions): Authenticate | undefined {
  const { authJwksUrl: jwksUrl, authSecret: secret, authIssuer: issuer, authAudience: audience } = config;
  if (!hasAuthentication(config)) return undefined;
  const trust = jwksUrl !== null ? { jwksUrl } : secret !== null && { secret };
  return authenticator(new ApiKeys(storage), trust ? tokenProver({ trust, issuer, audience }) : undefined);
}

/** The path without one trailing slash, and the query; by hand, because URL would also repair what is wrong. */
function split(url: string): { path: string; query: string } {
  // Without a sound Host header (HTTP/1.0 needs none) there is nothing before the path.
  const start = url.startsWith('/') ? 0 : url.indexOf('/', url.indexOf('://') + 3);
  const hash = url.indexOf('#', start);
  const end = hash === -1 ? url.length : hash;
  const mark = url.indexOf('?', start);
  const pathEnd = mark === -1 || mark > end ? end : mark;
  const path = url.slice(start, pathEnd);
  return {
    // `//` is not the root with a trailing slash: it has an empty segment.
    path: path.length > 2 && path.endsWith('/') ? path.slice(0, -1) : path,
    query: url.slice(pathEnd + 1, end),
  };
}

/** A client's own id is kept when it can do no harm in headers and logs. */
function requestIdOf(request: Request): string {
  const given = request.headers.get('X-Request-Id');
  return given !== null && /^[A-Za-z0-9._-]{1,128}$/.test(given) ? given : crypto.randomUUID();
}

function router(
  { model, config, deprecatedSince }: AppOptions,
  engine: Engine,
  state: { readonly draining: boolean },
): (path: string) => Found | undefined {
  const limits = { body: config.limitBody, jsonDepth: config.limitJsonDepth };
  const introspection = config.introspection === 'on';
  const fixed = new Map<string, Route>();
  const door = graphqlDoor(model);
  if (door) fixed.set('/graphql', graphqlRoute({ door, engine, limits, introspection }));
  if (door && introspection) {
    const sdl = `${printSchema(door.schema)}\n`;
    fixed.set(
      '/schema.graphql',
      got(() => text(sdl, 'text/plain; charset=utf-8')),
    );
  }
  if (introspection) {
    fixed.set(
      '/',
      got(({ request }) =>
        text(page(model, URL.parse(request.url)?.origin ?? ''), 'text/html; charset=utf-8'),
      ),
    );
    const { objects: most, operations } = engine.limits;
    const authentication = hasAuthentication(config);
    const served = { most, operations, graphql: door !== undefined, authentication };
    // Long, and seldom asked for: made when somebody does.
    let description: string | undefined;
    fixed.set(
      '/openapi.json',
      got(() => {
        description ??= JSON.stringify(openapi(model, served));
        return text(description, JSON_TYPE);
      }),
    );
  }
  fixed.set(
    '/healthz',
    open(() => text('{"status":"ok"}', JSON_TYPE)),
  );
  fixed.set(
    '/readyz',
    open(async () => {
      if (state.draining) throw new DuetError('UNAVAILABLE', 'The server is stopping.');
      await engine.ready();
      return text('{"status":"ready"}', JSON_TYPE);
    }),
  );
  const rest = restRoutes(model, engine, limits, deprecatedSince);
  return (path) => {
    const route = fixed.get(path);
    return route ? { route, key: '' } : rest(path);
  };
}

function got(handler: (exchange: Exchange) => Response | Promise<Response>): Route {
  return { methods: { GET: handler }, failed: problem };
}

/** For those who watch over the service. */
function open(handler: () => Response | Promise<Response>): Route {
  return { ...got(handler), open: true };
}

function text(body: string, type: string): Response {
  return new Response(body, { headers: { 'Content-Type': type } });
}
