/** The composition root: everything that happens to a request, in order, and everything a server is made of. */

import { printSchema } from 'graphql';
import type { Config } from './config.ts';
import { consoleRoute } from './console/routes.ts';
import { anonymous } from './engine/caller.ts';
import { Engine } from './engine/execute.ts';
import { DuetError } from './errors.ts';
import { graphqlRoute } from './graphql/handler.ts';
import { graphqlDoor } from './graphql/schema.ts';
import { acceptsGzip } from './http/accept.ts';
import { dispatch, type Exchange, type Found, JSON_TYPE, type Route, withoutBody } from './http/exchange.ts';
import { problem } from './http/problem.ts';
import type { Observe } from './observe.ts';
import { openapi } from './rest/openapi.ts';
import { restRoutes } from './rest/routes.ts';
import type { Model } from './schema/model.ts';
import { StatementCount } from './storage/count.ts';
import type { Storage } from './storage/storage.ts';

export interface AppOptions {
  readonly model: Model;
  readonly storage: Storage;
  readonly observe: Observe;
  /** When the deprecation of a field was first applied, by `Type.field`. */
  readonly deprecatedSince: ReadonlyMap<string, Date>;
  readonly config: Pick<
    Config,
    'limitObjects' | 'limitOperations' | 'limitBody' | 'limitJsonDepth' | 'limitUrl' | 'introspection'
  >;
}

export interface App {
  readonly fetch: (request: Request) => Promise<Response>;
  /** From now on `/readyz` says no and connections are not kept. */
  readonly drain: () => void;
}

export function createApp(options: AppOptions): App {
  const { observe, config } = options;
  const introspection = config.introspection === 'on';
  const count = new StatementCount(options.storage);
  const engine = new Engine(introspection ? count.storage : options.storage, {
    objects: config.limitObjects,
    operations: config.limitOperations,
  });
  const state = { draining: false };
  const find = router(options, engine, state);

  const answer = async (exchange: Exchange, found: Found | undefined): Promise<Response> => {
    try {
      if (exchange.request.url.length > config.limitUrl)
        throw new DuetError('URL_TOO_LONG', `The URL is longer than ${config.limitUrl} bytes.`);
      if (!found) throw new DuetError('NOT_FOUND', 'There is nothing at this path.');
      return await dispatch(found.route, exchange);
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
    let response =
      introspection && request.headers.get('Duet-Trace') === '1'
        ? await traced(count, () => answer(exchange, found))
        : await answer(exchange, found);
    if (request.method === 'HEAD') response = await withoutBody(response);
    response.headers.set('X-Request-Id', requestId);
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

/** Tells what the answer took: for whoever is learning the API, and asks. */
async function traced(count: StatementCount, work: () => Promise<Response>): Promise<Response> {
  const started = performance.now();
  const { result, statements } = await count.during(work);
  const ms = (performance.now() - started).toFixed(3);
  result.headers.set('Server-Timing', `total;dur=${ms}, db;desc="${statements} statements"`);
  return result;
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
    const { objects: most, operations } = engine.limits;
    const served = { most, operations, graphql: door !== undefined };
    // Long, and seldom asked for: made when somebody does.
    let description: { plain: string; zipped: Uint8Array<ArrayBuffer> } | undefined;
    fixed.set(
      '/openapi.json',
      got(({ request }) => {
        if (!description) {
          const plain = JSON.stringify(openapi(model, served));
          description = { plain, zipped: Bun.gzipSync(plain) };
        }
        const headers = { 'Content-Type': JSON_TYPE, Vary: 'Accept-Encoding' };
        if (!acceptsGzip(request)) return new Response(description.plain, { headers });
        return new Response(description.zipped, { headers: { ...headers, 'Content-Encoding': 'gzip' } });
      }),
    );
  }
  fixed.set(
    '/healthz',
    got(() => text('{"status":"ok"}', JSON_TYPE)),
  );
  fixed.set(
    '/readyz',
    got(async () => {
      if (state.draining) throw new DuetError('UNAVAILABLE', 'The server is stopping.');
      await engine.ready();
      return text('{"status":"ready"}', JSON_TYPE);
    }),
  );
  const rest = restRoutes(model, engine, limits, deprecatedSince);
  return (path) => {
    const route = fixed.get(path) ?? (introspection ? consoleRoute(path) : undefined);
    return route ? { route, key: '' } : rest(path);
  };
}

function got(handler: (exchange: Exchange) => Response | Promise<Response>): Route {
  return { methods: { GET: handler }, failed: problem };
}

function text(body: string, type: string): Response {
  return new Response(body, { headers: { 'Content-Type': type } });
}
