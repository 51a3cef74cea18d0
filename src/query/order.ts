/** In which order rows come, and the places in it. */

import type { Column, Resource } from '../schema/model.ts';

export interface OrderBy {
  /** Its own, or one of a record that references lead to (`Referred`). */
  readonly column: Column;
  readonly descending: boolean;
}

/** Never empty; the key is the last, so that no two rows are equal. */
export type Order = readonly OrderBy[];

export function totalOrder(resource: Resource, wanted: Order): Order {
  const order: OrderBy[] = [];
  for (const each of wanted) {
    // A column that has decided already decides nothing, nor does whatever comes after the key.
    if (order.some(({ column }) => column.name === each.column.name)) continue;
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
