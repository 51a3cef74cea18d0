/** Everything that the server answers, by path. */

import { adminRoutes } from '../admin/routes.ts';
import { DuetError, validationFailed } from '../base/errors.ts';
import { METRICS_TYPE, type Metrics, render } from '../base/metrics.ts';
import { type Recent, together } from '../base/recent.ts';
import { clientFault, clientPieces } from '../client/client.ts';
import { documentLimits, hasAuthentication } from '../config/config.ts';
import { consoleRoutes, FILE_STATE } from '../console/routes.ts';
import { anonymous, requireRole } from '../engine/caller.ts';
import type { Engine } from '../engine/engine.ts';
import type { Journal } from '../engine/journal/journal.ts';
import type { Api } from '../engine/logic/api.ts';
import type { Operator } from '../engine/operator.ts';
import { graphqlRoute } from '../graphql/handler.ts';
import { printedPieces } from '../graphql/printed.ts';
import type { SocketOptions } from '../graphql/socket.ts';
import { accessOf } from '../http/access-json.ts';
import { answer, JSON_TYPE } from '../http/answer.ts';
import { BodyWaits } from '../http/body.ts';
import type { Exchange, Found, Handler, Route } from '../http/exchange.ts';
import type { Load } from '../http/guard/load.ts';
import { tokenSigner } from '../http/guard/tokens.ts';
import { problem } from '../http/problem.ts';
import type { Streams } from '../http/streams.ts';
import { PAGE } from '../mcp/tools.ts';
import { actionRoutes } from '../rest/actions.ts';
import { changesRoutes } from '../rest/changes.ts';
import { openapi, type Profile, type Served } from '../rest/openapi/openapi.ts';
import { restRoutes } from '../rest/routes.ts';
import { agentRoutes } from './agents.ts';
import { Description } from './description.ts';
import type { AppOptions } from './options.ts';
import { hookRoutes } from './own-routes.ts';
import { fileRoute } from './waiting.ts';

/** Who may read the metrics, where callers are known at all: they tell much of what is done here, and by how many. */
const METRICS_ROLE = 'metrics';

const TEXT_TYPE = 'text/plain; charset=utf-8';

/** Which paths there are; those of resources are the last that are looked for. */
export function router(
  given: AppOptions & { readonly recent: Recent; readonly journal: Journal | undefined },
  engine: Engine,
  operator: Operator,
  api: (path: readonly string[]) => Api,
  metrics: Metrics,
  load: Load,
  state: { readonly draining: boolean },
  streams: Streams,
  sockets: SocketOptions | undefined,
): (path: string) => Found | undefined {
  const {
    model,
    door,
    storage,
    config,
    observe,
    deprecatedSince,
    peers,
    trusted,
    dev,
    logic,
    recent,
    journal,
  } = given;
  const { limitBody: body, limitBodyTime: bodyTime, limitJsonDepth: jsonDepth } = config;
  const limits = { body, bodyTime, jsonDepth, load, waits: new BodyWaits() };
  const introspection = config.introspection === 'on';
  const fixed = new Map<string, Route>();
  const add = (template: string, handler: Handler, more?: Pick<Route, 'open' | 'spared'>) =>
    fixed.set(template, { template, methods: new Map([['GET', handler]]), failed: problem, ...more });
  const agents = config.mcp !== 'off';
  let queries: Route | undefined;
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
      streams,
    };
    fixed.set('/graphql', graphqlRoute({ ...options, sockets }));
    if (agents && !trusted?.only) queries = graphqlRoute({ ...options, page: PAGE });
  }
  if (door && introspection) {
    const sdl = new Description(() => printedPieces(door.schema), TEXT_TYPE);
    add('/schema.graphql', (exchange) => sdl.answer(exchange));
  }
  const authentication = hasAuthentication(config);
  if (introspection) {
    add('/access.json', accessOf(model, engine));
    const { objects: most, operations } = engine.limits;
    const limited = config.rateLimitAddress !== null || config.rateLimitCaller !== null;
    const trusting = trusted ? (trusted.only ? 'only' : 'too') : 'no';
    const served: Served = {
      most,
      operations,
      graphql: door !== undefined,
      trusted: trusting,
      open: authentication ? (resource) => engine.actions(anonymous, resource) : undefined,
      limited,
      replicas: storage.replicas !== undefined,
    };
    const profiles = {
      whole: new Description(() => openapi(model, served, 'whole'), JSON_TYPE),
      client: new Description(() => openapi(model, served, 'client'), JSON_TYPE),
    };
    add('/openapi.json', (exchange) => profiles[profileOf(exchange)].answer(exchange));
    const client = new Description(() => clientPieces(model), TEXT_TYPE);
    const clientless = clientFault(model);
    add('/client.ts', (exchange) => {
      if (clientless !== undefined) throw new DuetError('NOT_FOUND', clientless);
      return client.answer(exchange);
    });
  }
  if (introspection) fixed.set(FILE_STATE, fileRoute(config, dev));
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
    const told = peers ? await peers.collect('metrics') : new Map([[undefined, metrics.snapshot()]]);
    return text(render(told), METRICS_TYPE);
  });
  const actions = new Map(actionRoutes(model, engine, limits).map((route) => [route.template, route]));
  for (const route of actions.values()) fixed.set(route.template, route);
  for (const route of hookRoutes(logic?.routes ?? [], api, limits, config.limitDeadline))
    fixed.set(route.template, route);
  const reading = { ...limits, depth: config.limitDepth, url: config.limitUrl };
  const rest = restRoutes(model, engine, streams, reading, deprecatedSince);
  const changes = changesRoutes(model, engine, streams);
  const transaction = rest('/transaction')?.route;
  if (agents && transaction)
    for (const route of agentRoutes({
      model,
      engine,
      config,
      limits,
      graphql: queries,
      transaction,
      actions,
    }))
      fixed.set(route.template, route);
  const admin = adminRoutes({
    model,
    operator,
    limits,
    observe,
    webhooks: journal && { journal, timeout: Math.min(config.webhookTimeout, config.limitDeadline) },
    authentication,
    sign:
      config.authSecret === null
        ? undefined
        : tokenSigner(config.authSecret, { issuer: config.authIssuer, audience: config.authAudience }),
    recent: async () => together(peers ? [...(await peers.collect('recent')).values()] : [recent.tell()]),
    slow: config.logSlow,
  });
  const pages = consoleRoutes(model);
  return (path) => {
    const route = fixed.get(path);
    const found = route ? { route, key: '' } : (changes(path) ?? rest(path) ?? admin(path));
    if (found || !introspection) return found;
    const page = pages(path);
    return page && { route: page, key: '' };
  };
}

/** Who asks for a profile that there is not would take the other description for it. */
function profileOf({ query }: Exchange): Profile {
  const profile = new URLSearchParams(query).get('profile');
  if (profile === null) return 'whole';
  if (profile === 'client') return profile;
  const detail = 'profile must be client; without it, the description is whole';
  throw validationFailed([{ parameter: 'profile', code: 'ENUM', detail }]);
}

function text(body: string, type: string): Response {
  return answer(200, body, { 'Content-Type': type });
}
