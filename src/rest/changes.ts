/** `/changes`, `/changes/books` and `/changes/books/1`: what has happened to records, in the order of commits. */

import { type LongText, written } from '../base/parts.ts';
import { jsonOf } from '../base/passed.ts';
import type { Engine } from '../engine/engine.ts';
import type { ChangesRead } from '../engine/journal/changes-operation.ts';
import type { Told } from '../engine/journal/feed.ts';
import type { ChangesPage } from '../engine/journal/reading.ts';
import type { Change } from '../engine/journal/showing.ts';
import { whole } from '../engine/journal/sizes.ts';
import { preferredType } from '../http/accept.ts';
import { answer, JSON_TYPE } from '../http/answer.ts';
import type { Exchange, Found, Handler, Route } from '../http/exchange.ts';
import { costOfAnswer } from '../http/guard/rate-limits.ts';
import { problem } from '../http/problem.ts';
import { EVENT_TYPE, joined, type Streams } from '../http/streams.ts';
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
export function changesRoutes(
  model: Model,
  engine: Engine,
  streams: Streams,
): (path: string) => Found | undefined {
  const resources = journaled(model, 'rest');
  if (resources.length === 0) return () => undefined;
  const all = routeOf(`/${CHANGES_PATH}`, feed(engine, streams, resources, undefined));
  const byPath = new Map(
    resources.map((resource) => {
      const path = `/${CHANGES_PATH}/${resource.path}`;
      const list = routeOf(path, feed(engine, streams, [resource], resource));
      const one = routeOf(
        `${path}/{${resource.key.name}}`,
        feed(engine, streams, [resource], resource, true),
      );
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

/** `of`: the type that all of them are of. */
function feed(
  engine: Engine,
  streams: Streams,
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
      telling: whole,
    };
    if (preferredType(exchange.request.headers.get('Accept'), mediaTypes) === EVENT_TYPE)
      return streamed(engine, streams, exchange, operation);
    const page = await engine.changes(exchange.caller, operation);
    exchange.spend?.(costOfAnswer(page.changes));
    return shown(exchange, page);
  };
}

const mediaTypes = [JSON_TYPE, EVENT_TYPE] as const;

/** A position that clients send by themselves when they come back is the later one. */
async function streamed(
  engine: Engine,
  streams: Streams,
  { request, ...exchange }: Exchange,
  asked: ChangesRead,
): Promise<Response> {
  const last = request.headers.get('Last-Event-ID');
  const from = last === null ? asked : { ...asked, after: last, at: { parameter: 'Last-Event-ID' } };
  const follow = await engine.follow(exchange.caller, from);
  return streams.answer({ request, ...exchange }, async function* (stopped) {
    for await (const told of follow(stopped))
      if ('reset' in told) yield `event: reset\nid: ${told.reset}\ndata: {}\n\n`;
      else yield* joined(told.values().map(eventOf));
  });
}

/** Events of changes without their ids, for all who are shown the same. */
const events = new WeakMap<Change, string | LongText>();

/** Who goes on from the middle of a transaction would not know: only its last event has an id. */
function eventOf({ change, isLast }: Told): string | LongText {
  let event = events.get(change);
  if (event === undefined) {
    event = written('data: ', change, '\n\n');
    events.set(change, event);
  }
  if (!isLast) return event;
  const id = `id: ${change.position}\n`;
  return typeof event === 'string' ? id + event : event.behind(id);
}

function shown({ request, query }: Exchange, { changes, position, more }: ChangesPage): Response {
  const { pathname } = new URL(request.url);
  const link = { Link: `<${pathname}?${linkTo('next', false, query)}${position}>; rel="next"` };
  return answer(200, jsonOf(changes), {
    'Cache-Control': 'no-store',
    Vary: 'Accept',
    [CHANGES_POSITION_HEADER]: position,
    ...(more && link),
  });
}
