/** Finds records that will be twins: once letter case does not count, or once a function has made what they have in a column. */

import { equal } from '../../query/filter.ts';
import type { Place } from '../../query/order.ts';
import { computedValue } from '../../schema/computing.ts';
import { folded } from '../../schema/folding.ts';
import type { Column, Computed, Resource } from '../../schema/model.ts';
import { type Row, select } from '../statements.ts';
import { type Program, run } from '../storage.ts';

const PAGE = 1000;
/** Bits of a hash that a number holds. */
const SAFE = 2n ** 53n - 1n;
/** As many as anybody needs to see what is wrong. */
export const SHOWN = 10;

/** Why not all records can be given what a function makes, which is unique: the database has refused one. */
export function* whyNotUnique(resource: Resource, made: Computed): Program<string> {
  const { column } = made;
  const twins: string[] = [];
  for (const { columns } of resource.uniques)
    if (columns.includes(column)) twins.push(...(yield* foreseenTwins(resource, columns, made)));
  const name = `${resource.name}.${column.name}`;
  return twins.length > 0
    ? `${name} is unique, but its function gives records the same value: ${twins.join(', ')}. Change what it is made of in such records, or the function; or drop the @unique.`
    : `${name} is unique, and its function gives records values that others have until they are given theirs. Start once as before without the @unique, then so, and then with it again.`;
}

/**
 * Reads all records and remembers a number for each; the keys of the first that are twins, two by two, in words. `made`: what a
 * function will have made of them by then.
 */
export function* foreseenTwins(
  resource: Resource,
  columns: readonly Column[],
  made?: Computed,
): Program<readonly string[]> {
  const { key } = resource;
  const read = [...new Set([key, ...columns, ...(made?.from ?? [])])];
  const later = (row: Row) => (made ? { ...row, [made.column.name]: computedValue(made, row) } : row);
  const seen = new Map<number, unknown>();
  const found: string[] = [];
  for (let after: Place | undefined; found.length < SHOWN; ) {
    const rows = yield* run(select(resource, read, undefined, { after, limit: PAGE }));
    for (const row of rows) {
      const text = textOf(columns, later(row));
      if (text === undefined || found.length >= SHOWN) continue;
      const number = Number(Bun.hash.wyhash(text) & SAFE);
      const earlier = seen.get(number);
      if (earlier === undefined) seen.set(number, row[key.name]);
      else {
        const [other] = yield* run(select(resource, read, equal(key, earlier)));
        if (other && textOf(columns, later(other)) === text) found.push(`${earlier} and ${row[key.name]}`);
      }
    }
    if (rows.length < PAGE) break;
    after = [rows.at(-1)?.[key.name]];
  }
  return found;
}

/** Equal for twins; undefined for what has none, because a value is missing. */
function textOf(columns: readonly Column[], row: Row): string | undefined {
  const values = columns.map((column) => {
    const value = row[column.name];
    return column.folded && typeof value === 'string' ? folded(value) : value;
  });
  return values.includes(null) ? undefined : JSON.stringify(values);
}
