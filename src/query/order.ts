/** In which order rows come, and the cursors that name a place in it. */

import type { Column, Resource } from '../schema/model.ts';
import { isScalar } from '../schema/values.ts';
import { canonical, type Filter } from './filter.ts';

export interface OrderBy {
  readonly column: Column;
  readonly descending: boolean;
}

/** Never empty; the key is the last, so that no two rows are equal. */
export type Order = readonly OrderBy[];

export function totalOrder(resource: Resource, wanted: Order): Order {
  const order: OrderBy[] = [];
  for (const each of wanted) {
    // A column that has decided already decides nothing, nor does whatever comes after the key.
    if (order.some(({ column }) => column === each.column)) continue;
    order.push(each);
    if (each.column === resource.key) return order;
  }
  return [...order, { column: resource.key, descending: false }];
}

export function reversed(order: Order): Order {
  return order.map(({ column, descending }) => ({ column, descending: !descending }));
}

/** The values of a row in the columns of an order. */
export type Place = readonly unknown[];

export function placeIn(order: Order, row: Readonly<Record<string, unknown>>): Place {
  return order.map(({ column }) => row[column.name]);
}

/** Opaque to clients: where a row stands, and in which query. */
export function cursorTo(query: string, place: Place): string {
  return Buffer.from(JSON.stringify([query, ...place])).toString('base64url');
}

/** Undefined for text that is not a cursor of this query. */
export function placeOf(query: string, order: Order, cursor: string): Place | undefined {
  let parsed: unknown;
  try {
    parsed = JSON.parse(Buffer.from(cursor, 'base64url').toString());
  } catch {
    return undefined;
  }
  if (!Array.isArray(parsed) || parsed.length !== order.length + 1 || parsed[0] !== query) return undefined;
  const place = parsed.slice(1);
  // Clients can write cursors too: each value must be one that the column could have.
  const sound = order.every(({ column }, index) => admits(column, place[index]));
  return sound ? place : undefined;
}

/** What a cursor belongs to: it means nothing under another filter or order. */
export function queryName(resource: Resource, where: Filter, order: Order): string {
  const text = [
    resource.name,
    canonical(where),
    ...order.map(({ column, descending }) => `${descending ? '-' : ''}${column.name}`),
  ].join('\n');
  return Bun.hash(text).toString(36);
}

function admits({ type, required }: Column, value: unknown): boolean {
  if (value === null) return !required;
  if (!isScalar(type)) return typeof value === 'string';
  let fine = true;
  const checked = type.check(value, () => {
    fine = false;
  });
  return fine && checked === value;
}
