/** Everything that the server answers, by path. */

import { printSchema } from 'graphql';
import { DuetError } from '../base/errors.ts';
import { METRICS_TYPE, type Metrics, render } from '../base/metrics.ts';
import { documentLimits, hasAuthentication } from '../config/config.ts';
import { consoleRoute, FILE_STATE } from '../console/routes.ts';
import { requireRole } from '../engine/caller.ts';
import type { Engine } from '../engine/engine.ts';
import type { Api } from '../engine/logic/api.ts';
import { graphqlRoute } from '../graphql/handler.ts';
import { acceptsCoding } from '../http/accept.ts';
import { accessOf } from '../http/access.ts';
import { answer, JSON_TYPE } from '../http/answer.ts';
import { BodyWaits } from '../http/body.ts';
import type { Found, Handler, Route } from '../http/exchange.ts';
import type { Load } from '../http/guard/load.ts';
import { problem } from '../http/problem.ts';
import { actionRoutes } from '../rest/actions.ts';
import { changesRoutes } from '../rest/changes.ts';
import { openapi } from '../rest/openapi/openapi.ts';
import { restRoutes } from '../rest/routes.ts';
import { hookRoutes } from './hooks.ts';
import type { AppOptions } from './options.ts';

/** Who may read the metrics, where callers are known at all: they tell much of what is done here, and by how many. */
const METRICS_ROLE = 'metrics';

/** Which paths there are; those of resources are the last that are looked for. */
export function router(
  { model, door, storage, config, observe, deprecatedSince, peers, trusted, dev, logic }: AppOptions,
  engine: Engine,
  api: (path: readonly string[]) => Api,
  metrics: Metrics,
  load: Load,
  state: { readonly draining: boolean },
): (path: string) => Found | undefined {
  const { limitBody: body, limitBodyTime: bodyTime, limitJsonDepth: jsonDepth } = config;
  const limits = { body, bodyTime, jsonDepth, load, waits: new BodyWaits() };
  const introspection = config.introspection === 'on';
  const fixed = new Map<string, Route>();
  const add = (template: string, handler: Handler, more?: Pick<Route, 'open' | 'spared'>) =>
    fixed.set(template, { template, methods: new Map([['GET', handler]]), failed: problem, ...more });
  if (door) {
    const document = documentLimits(config);
    const options = {
      door,
      engine,
      limits: { ...limits, document },
      introspection,
      trusted,
      observe,
      metrics,
    };
    fixed.set('/graphql', graphqlRoute(options));
  }
  if (door && introspection) {
    const sdl = () => `${printSchema(door.schema)}\n`;
    add('/schema.graphql', described(sdl, 'text/plain; charset=utf-8'));
  }
  const authentication = hasAuthentication(config);
  if (introspection) {
    add('/access.json', accessOf(model, engine));
    const { objects: most, operations } = engine.limits;
    const limited = config.rateLimitAddress !== null || config.rateLimitCaller !== null;
    const trusting = trusted ? (trusted.only ? 'only' : 'too') : 'no';
    const served = {
      most,
      operations,
      graphql: door !== undefined,
      trusted: trusting,
      authentication,
      limited,
      replicas: storage.replicas !== undefined,
    } as const;
    add(
      '/openapi.json',
      described(() => JSON.stringify(openapi(model, served)), JSON_TYPE),
    );
  }
  if (introspection)
    // Nobody's secret: there are no faults to tell of but before the developer's own eyes.
    add(FILE_STATE, () => text(JSON.stringify(dev ?? {}), JSON_TYPE), { open: true });
  // Those who watch over the service have no credentials.
  add('/healthz', () => text('{"status":"ok"}', JSON_TYPE), { open: true, spared: true });
  const ready = async () => {
    if (state.draining)
      throw new DuetError('UNAVAILABLE', 'The server is shutting down; send requests to another node.');
    await engine.ready(model.resources);
    return text(JSON.stringify({ status: 'ready', replicas: storage.replicas?.tell() }), JSON_TYPE);
  };
  add('/readyz', ready, { open: true });
  add('/metrics', async ({ caller }) => {
    if (authentication) requireRole(caller, METRICS_ROLE);
    const told = peers ? await peers.collect() : new Map([[undefined, metrics.snapshot()]]);
    return text(render(told), METRICS_TYPE);
  });
  for (const route of actionRoutes(model, engine, limits)) fixed.set(route.template, route);
  for (const route of hookRoutes(logic?.routes ?? [], api, limits, config.limitDeadline))
    fixed.set(route.template, route);
  const rest = restRoutes(model, engine, { ...limits, depth: config.limitDepth }, deprecatedSince);
  const changes = changesRoutes(model, engine);
  return (path) => {
    const route = fixed.get(path);
    const found = route ? { route, key: '' } : (changes(path) ?? rest(path));
    if (found || !introspection) return found;
    const page = consoleRoute(path);
    return page && { route: page, key: '' };
  };
}

/** Long, and seldom asked for: made when somebody does. */
function described(make: () => string, type: string): Handler {
  let description: { plain: string; zipped: Uint8Array<ArrayBuffer> } | undefined;
  return ({ request }) => {
    if (!description) {
      const plain = make();
      description = { plain, zipped: Bun.gzipSync(plain) };
    }
    const fields = { 'Content-Type': type, Vary: 'Accept-Encoding' };
    return acceptsCoding(request, 'gzip')
      ? answer(200, description.zipped, { ...fields, 'Content-Encoding': 'gzip' })
      : answer(200, description.plain, fields);
  };
}

function text(body: string, type: string): Response {
  return answer(200, body, { 'Content-Type': type });
}
