/** The door for agents, put together: its tools lead to the handlers of the other doors, which it does not see. */

import { rewritten } from '../base/rewritten.ts';
import type { Config } from '../config/config.ts';
import { hasAuthentication } from '../config/config.ts';
import type { Engine } from '../engine/engine.ts';
import { JSON_TYPE } from '../http/answer.ts';
import type { BodyLimits } from '../http/body.ts';
import { type Exchange, handlerOf, type Route } from '../http/exchange.ts';
import { WRITE_COST } from '../http/guard/rate-limits.ts';
import { problem } from '../http/problem.ts';
import { mayDo } from '../mcp/describe.ts';
import { MCP_PATH, METADATA_PATH, metadata } from '../mcp/origin.ts';
import { mcpRoute } from '../mcp/route.ts';
import { type Doors, toolsOf } from '../mcp/tools.ts';
import { ask, pathTo } from '../rest/actions.ts';
import type { ActionField, Model } from '../schema/model.ts';

interface Given {
  readonly model: Model;
  readonly engine: Engine;
  readonly config: Config;
  readonly limits: BodyLimits;
  /** For queries alone; undefined where there is no GraphQL, or only of documents that are known. */
  readonly graphql: Route | undefined;
  readonly transaction: Route;
  /** By their paths. */
  readonly actions: ReadonlyMap<string, Route>;
}

export function agentRoutes({
  model,
  engine,
  config,
  limits,
  graphql,
  transaction,
  actions,
}: Given): Route[] {
  const authenticates = hasAuthentication(config);
  const run = (exchange: Exchange, action: ActionField, args: object) => {
    engine.admitAction(exchange.caller, action);
    if (action.root === 'Query') return ask(engine, exchange, action, { ...args });
    const route = actions.get(pathTo(action));
    if (!route) throw new Error(`there is no route to ${action.name}`);
    return write(route, exchange, args);
  };
  const doors: Doors = {
    query: graphql && ((exchange, envelope) => post(graphql, exchange, envelope)),
    transact: (exchange, body, key) => write(transaction, exchange, body, { 'Idempotency-Key': key }),
    run,
  };
  const tools = toolsOf(model, engine, doors, config.mcp === 'write');
  const mcp = mcpRoute({
    tools,
    // Who may do nothing is asked who he is, so that a client begins to log in.
    welcomes: (caller) =>
      !authenticates ||
      caller.subject !== undefined ||
      model.resources.some((resource) => mayDo(engine, caller, resource).length > 0) ||
      model.actions.some((action) => engine.mayRun(caller, action)),
    origins: config.corsOrigins,
    limits,
  });
  if (!authenticates) return [mcp];
  // Clients look below the path of the resource first (RFC 9728, section 3.1).
  const told = [METADATA_PATH, `${METADATA_PATH}${MCP_PATH}`].map((template): Route => {
    const methods = new Map([['GET', metadata(config.authIssuer)]]);
    return { template, methods, failed: problem, open: true };
  });
  return [mcp, ...told];
}

/** What the request costs beyond its first unit is known now. */
function write(route: Route, exchange: Exchange, body: object, headers?: Record<string, string>) {
  exchange.spend?.(WRITE_COST - 1);
  return post(route, exchange, body, headers);
}

/** As if it had been sent there by the same caller. */
function post(route: Route, exchange: Exchange, value: object, headers?: Record<string, string>) {
  const body = rewritten(value);
  const { signal } = exchange.request;
  const request = new Request(`http://localhost${route.template}`, {
    method: 'POST',
    headers: {
      'Content-Type': JSON_TYPE,
      Accept: JSON_TYPE,
      'Content-Length': String(Buffer.byteLength(body)),
      ...headers,
    },
    body,
    signal,
  });
  return handlerOf(route, 'POST')({ ...exchange, request, query: '', key: '' });
}
