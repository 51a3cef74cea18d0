/** The REST door: which paths there are, and what their methods do. */

import { type Soon, then } from '../base/soon.ts';
import type { Engine } from '../engine/engine.ts';
import type { List } from '../engine/operation.ts';
import type { Node } from '../engine/read/read.ts';
import { answerWithoutBody } from '../http/answer.ts';
import { type BodyLimits, readBody } from '../http/body.ts';
import { type Exchange, type Found, goneOf, type Handler, type Route } from '../http/exchange.ts';
import { costOfAnswer } from '../http/guard/rate-limits.ts';
import { problem } from '../http/problem.ts';
import { EVENT_TYPE, type Streams } from '../http/streams.ts';
import { isRestorable, journaled } from '../schema/journal.ts';
import type { Action, Model, OperationKind } from '../schema/model.ts';
import { type Aggregation, type Collection, collection, VARY } from './collection.ts';
import { deprecationOf } from './deprecation.ts';
import { contentType, type ExportType, exported, listType } from './export.ts';
import { live, wantsEvents } from './live.ts';
import { liveRoute } from './live-stream.ts';
import {
  parseCreate,
  parseDelete,
  parseExport,
  parseGet,
  parseList,
  parseRestore,
  parseUpdate,
} from './parse.ts';
import { RESTORE, readPath, readRestorePath } from './paths.ts';
import type { ReadLimits } from './query.ts';
import { aggregated, created, deleted, found, foundWhole, listed, updated, upserted } from './respond.ts';
import { transactionRoute } from './transaction.ts';

const actions: Readonly<Record<OperationKind, Action>> = {
  LIST: 'READ',
  GET: 'READ',
  CREATE: 'CREATE',
  UPDATE: 'UPDATE',
  DELETE: 'DELETE',
};

interface Routes {
  readonly list: Route;
  readonly one: Route;
  readonly restore: Route;
}

/** Paths come without a trailing slash. */
export function restRoutes(
  model: Model,
  engine: Engine,
  streams: Streams,
  limits: BodyLimits & Pick<ReadLimits, 'depth'> & { readonly url: number },
  deprecatedSince: ReadonlyMap<string, Date>,
): (path: string) => Found | undefined {
  const collections = new Map<string, Collection>();
  for (const resource of model.resources) {
    const reads = { most: engine.limits.objects, depth: limits.depth };
    if (resource.rest)
      collections.set(
        resource.path,
        collection(resource, model.fingerprint, limits, reads, deprecatedSince, engine.isShaped(resource)),
      );
  }
  const byPath = new Map(
    [...collections].map(([path, from]) => [path, answering(routesOf(from, engine, streams))]),
  );
  const transaction = transactionRoute(engine, collections, model.actions, limits);
  const shared = journaled(model, 'rest').length > 0 ? liveRoute(find, streams, limits) : undefined;

  function find(path: string): Found | undefined {
    if (path === '/transaction') return { route: transaction, key: '' };
    if (path === shared?.template) return { route: shared, key: '' };
    const found = readPath(path);
    if (!found) {
      const restored = readRestorePath(path);
      const route = restored && byPath.get(restored.segment)?.restore;
      return route && { route, key: restored.key };
    }
    const routes = byPath.get(found.segment);
    if (!routes) return undefined;
    const { key = '' } = found;
    const route = found.key === undefined ? routes.list : routes.one;
    return route && { route, key };
  }
  return find;
}

/** A path on which nothing is registered does not exist. */
function answering({ list, one, restore }: Routes): Partial<Routes> {
  const isThere = ({ methods }: Route) => methods.size > 0;
  return {
    ...(isThere(list) && { list }),
    ...(isThere(one) && { one }),
    ...(isThere(restore) && { restore }),
  };
}

function routesOf(from: Collection, engine: Engine, streams: Streams): Routes {
  const { resource } = from;
  const { operations, path, key } = resource;
  const admitted =
    (action: Action, handler: Handler): Handler =>
    (exchange) => {
      // Who may never do this is told before the body is read.
      engine.admit(exchange.caller, resource, action);
      return handler(exchange);
    };
  const route = (template: string, table: Record<string, [OperationKind, Handler]>): Route => {
    const offered = Object.entries(table).filter(([, [kind]]) => operations.has(kind));
    const methods = offered.map(([method, [kind, handler]]): [string, Handler] => [
      method,
      admitted(actions[kind], handler),
    ]);
    return { template, failed: problem, methods: new Map(methods) };
  };
  const writing =
    (parse: typeof parseCreate, respond: typeof updated): Handler =>
    (exchange) =>
      readBody(exchange.request, from.limits, (bytes) => {
        const { operation, idempotency, shape } = parse(from, exchange, bytes);
        return engine
          .write(exchange.caller, operation, idempotency, undefined, goneOf(exchange))
          .then((node) =>
            (operation.do === 'upsert' ? upserted : respond)(from, node, shape, exchange.spend),
          );
      });
  return {
    list: route(`/${path}`, {
      GET: [
        'LIST',
        (exchange) => {
          const type = listType(exchange.request.headers.get('Accept'));
          if (type && type !== EVENT_TYPE) return exportList(from, engine, type, exchange);
          const operation = parseList(from, exchange);
          const list = (asking: Exchange) => readList(from, engine, asking, operation);
          return type ? live(engine, streams, resource, exchange, operation, list) : list(exchange);
        },
      ],
      POST: ['CREATE', writing(parseCreate, created)],
    }),
    one: route(`/${path}/{${key.name}}`, {
      GET: [
        'GET',
        (exchange) => {
          const operation = parseGet(from, exchange);
          if (!wantsEvents(exchange)) return readOne(from, engine, exchange, operation);
          const one = (asking: Exchange) => readOne(from, engine, asking, operation, null);
          return live(engine, streams, resource, exchange, operation, one);
        },
      ],
      PUT: ['UPDATE', writing(parseUpdate, updated)],
      DELETE: ['DELETE', writing(parseDelete, deleted)],
    }),
    restore: {
      template: `/${path}/{${key.name}}${RESTORE}`,
      failed: problem,
      methods: isRestorable(resource)
        ? new Map([['POST', admitted('HISTORY', writing(parseRestore, updated))]])
        : new Map(),
    },
  };
}

function readList(
  from: Collection,
  engine: Engine,
  exchange: Exchange,
  operation: List | Aggregation,
): Soon<Response> {
  const { caller, spend } = exchange;
  if (operation.do === 'aggregate')
    return then(engine.read(caller, operation), (rows) => aggregated(from, operation, rows, spend));
  return then(engine.read(caller, operation), (listing) => listed(from, operation, listing, exchange));
}

function readOne(
  from: Collection,
  engine: Engine,
  { caller, spend, request }: Exchange,
  operation: ReturnType<typeof parseGet>,
  ifNoneMatch = request.headers.get('If-None-Match'),
): Soon<Response> {
  return then(engine.read(caller, operation), (node) =>
    operation.shaped ? found(from, operation.selection, node, spend) : foundWhole(from, node, ifNoneMatch),
  );
}

async function exportList(
  from: Collection,
  engine: Engine,
  type: ExportType,
  exchange: Exchange,
): Promise<Response> {
  const operation = engine.permit(exchange.caller, parseExport(from, type, exchange));
  const { resource, deprecatedSince } = from;
  const headers = { ...deprecationOf(resource, operation.selection, deprecatedSince), ...VARY };
  // Of a file that is written while it is read, only the headers are known beforehand.
  if (exchange.request.method === 'HEAD')
    return answerWithoutBody(200, { ...headers, 'Content-Type': contentType(type) });
  const pages = engine.pages(operation);
  return exported(
    exchange.spend ? charged(pages, exchange.spend) : pages,
    operation.selection,
    type,
    headers,
    exchange.failed,
  );
}

/** A file has any length: it is paid for while it is written. */
async function* charged(
  pages: AsyncGenerator<Node[]>,
  spend: (units: number) => void,
): AsyncGenerator<Node[]> {
  for await (const page of pages) {
    spend(costOfAnswer(page));
    yield page;
  }
}
