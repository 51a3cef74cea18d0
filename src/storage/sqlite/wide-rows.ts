/** Rows of many columns, as they come from another process: JSON is read into objects that share no shape. */

import { MANY_PROPERTIES, madeOf } from '../../base/one-shape.ts';
import type { Row } from '../statements.ts';

/** Of many columns, the names are told once. */
export type Sent = Row[] | Wide;

interface Wide {
  readonly names: readonly string[];
  readonly values: readonly (readonly unknown[])[];
}

export function packed(rows: Row[]): Sent {
  const [first] = rows;
  const names = first ? Object.keys(first) : [];
  return names.length > MANY_PROPERTIES ? { names, values: rows.map((row) => Object.values(row)) } : rows;
}

export function unpacked(sent: Sent): Row[] {
  return 'names' in sent ? sent.values.map(makerOf(sent.names)) : sent;
}

type Make = (values: readonly unknown[]) => Row;
const makers = new Map<string, Make>();
/** More than the wide types of a deployment, and the ways to ask for them. */
const MOST = 200;

function makerOf(names: readonly string[]): Make {
  const key = names.join();
  let make = makers.get(key);
  if (make) return make;
  if (makers.size >= MOST) makers.clear();
  make = madeOf(names);
  makers.set(key, make);
  return make;
}
