/** `/changes`, `/changes/books` and `/changes/books/1`: what has happened to records, in the order of commits. */

import type { Engine } from '../engine/engine.ts';
import type { ChangesRead } from '../engine/journal/asked.ts';
import type { ChangesPage } from '../engine/journal/reading.ts';
import { answer } from '../http/answer.ts';
import type { Exchange, Found, Handler, Route } from '../http/exchange.ts';
import { costOfAnswer } from '../http/guard/rate-limits.ts';
import { problem } from '../http/problem.ts';
import { journaled } from '../schema/journal.ts';
import { readKey } from '../schema/keys.ts';
import type { Model, Resource } from '../schema/model.ts';
import { CHANGES_PATH } from '../schema/names.ts';
import { linkTo } from './links.ts';
import { readPath } from './paths.ts';
import { readChangesRequest } from './query.ts';

/** Where to go on from. */
export const CHANGES_POSITION_HEADER = 'Changes-Position';

/** Paths come without a trailing slash. */
export function changesRoutes(model: Model, engine: Engine): (path: string) => Found | undefined {
  const resources = journaled(model, 'rest');
  if (resources.length === 0) return () => undefined;
  const all = routeOf(`/${CHANGES_PATH}`, feed(engine, resources, undefined));
  const byPath = new Map(
    resources.map((resource) => {
      const path = `/${CHANGES_PATH}/${resource.path}`;
      const list = routeOf(path, feed(engine, [resource], resource));
      const one = routeOf(`${path}/{${resource.key.name}}`, feed(engine, [resource], resource, true));
      return [resource.path, { list, one }];
    }),
  );
  return (path) => {
    if (path === all.template) return { route: all, key: '' };
    if (!path.startsWith(`${all.template}/`)) return undefined;
    const found = readPath(path.slice(all.template.length));
    const routes = found && byPath.get(found.segment);
    if (!routes) return undefined;
    return { route: found.key === undefined ? routes.list : routes.one, key: found.key ?? '' };
  };
}

function routeOf(template: string, handler: Handler): Route {
  return { template, failed: problem, methods: new Map([['GET', handler]]) };
}

const whole = { before: 1, after: 1 };

/** `of`: the type that all of them are of. */
function feed(
  engine: Engine,
  resources: readonly Resource[],
  of: Resource | undefined,
  isOne = false,
): Handler {
  return async (exchange) => {
    if (of) engine.admit(exchange.caller, of, 'READ');
    const { after, limit, where } = readChangesRequest(of, exchange.query);
    const record = isOne && of ? { key: readKey(of.key, exchange.key) } : undefined;
    const at = { parameter: 'after' };
    const operation: ChangesRead = {
      do: 'changes',
      resources,
      record,
      where,
      after,
      at,
      limit,
      times: whole,
    };
    const page = await engine.changes(exchange.caller, operation);
    exchange.spend?.(costOfAnswer(page.changes));
    return shown(exchange, page);
  };
}

function shown({ request, query }: Exchange, { changes, position, more }: ChangesPage): Response {
  const { pathname } = new URL(request.url);
  const link = { Link: `<${pathname}?${linkTo('next', false, query)}${position}>; rel="next"` };
  return answer(200, JSON.stringify(changes), {
    'Cache-Control': 'no-store',
    [CHANGES_POSITION_HEADER]: position,
    ...(more && link),
  });
}
