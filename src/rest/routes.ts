/** The REST door: which paths there are, and what their methods do. */

import type { Engine } from '../engine/execute.ts';
import type { BodyLimits } from '../http/body.ts';
import type { Found, Handler, Route } from '../http/exchange.ts';
import { problem } from '../http/problem.ts';
import type { Model, OperationKind } from '../schema/model.ts';
import {
  type Collection,
  collection,
  parseCreate,
  parseDelete,
  parseGet,
  parseList,
  parseUpdate,
} from './parse.ts';
import { aggregated, created, deleted, found, foundWhole, listed, updated } from './respond.ts';

interface Routes {
  readonly list: Route;
  readonly one: Route;
}

/** Paths come without a trailing slash. */
export function restRoutes(
  model: Model,
  engine: Engine,
  limits: BodyLimits,
  deprecatedSince: ReadonlyMap<string, Date>,
): (path: string) => Found | undefined {
  const byPath = new Map<string, Routes>();
  for (const resource of model.resources)
    if (resource.rest) {
      const from = collection(resource, model.fingerprint, limits, engine.limits.objects, deprecatedSince);
      byPath.set(resource.path, routesOf(from, engine));
    }

  return (path) => {
    const slash = path.indexOf('/', 1);
    const routes = byPath.get(decoded(slash === -1 ? path.slice(1) : path.slice(1, slash)) ?? '');
    if (!routes) return undefined;
    if (slash === -1) return answering(routes.list, '');
    const rest = path.slice(slash + 1);
    if (rest === '' || rest.includes('/')) return undefined;
    // Text that is not percent-encoded UTF-8 still stands where a key does; it just names no record.
    return answering(routes.one, decoded(rest) ?? '\0');
  };
}

/** A path on which nothing is registered does not exist. */
function answering(route: Route, key: string): Found | undefined {
  return Object.keys(route.methods).length > 0 ? { route, key } : undefined;
}

function decoded(segment: string): string | undefined {
  if (!segment.includes('%')) return segment;
  try {
    return decodeURIComponent(segment);
  } catch {
    return undefined;
  }
}

function routesOf(from: Collection, engine: Engine): Routes {
  const { operations } = from.resource;
  const route = (table: Record<string, [OperationKind, Handler]>): Route => {
    const offered = Object.entries(table).filter(([, [kind]]) => operations.has(kind));
    return {
      failed: problem,
      methods: Object.fromEntries(offered.map(([method, [, handler]]) => [method, handler])),
    };
  };
  return {
    list: route({
      GET: [
        'LIST',
        async (exchange) => {
          const operation = parseList(from, exchange);
          if (operation.do === 'aggregate') {
            const [rows] = await engine.read(exchange.caller, [operation]);
            return aggregated(operation, rows);
          }
          const [listing] = await engine.read(exchange.caller, [operation]);
          return listed(from, operation, listing, exchange.query);
        },
      ],
      POST: [
        'CREATE',
        async (exchange) => {
          const operation = await parseCreate(from, exchange);
          return created(from, await engine.write(exchange.caller, operation));
        },
      ],
    }),
    one: route({
      GET: [
        'GET',
        async (exchange) => {
          const operation = parseGet(from, exchange);
          const [node] = await engine.read(exchange.caller, [operation]);
          if (operation.shaped) return found(from, operation.selection, node);
          return foundWhole(from, node, exchange.request.headers.get('If-None-Match'));
        },
      ],
      PUT: [
        'UPDATE',
        async (exchange) => {
          const operation = await parseUpdate(from, exchange);
          return updated(from, await engine.write(exchange.caller, operation));
        },
      ],
      DELETE: [
        'DELETE',
        async (exchange) => {
          const operation = await parseDelete(from, exchange);
          await engine.write(exchange.caller, operation);
          return deleted();
        },
      ],
    }),
  };
}
