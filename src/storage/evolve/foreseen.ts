/** Finds records that will be twins once letter case does not count, while there is no column yet that could be asked. */

import { equal } from '../../query/filter.ts';
import type { Place } from '../../query/order.ts';
import { folded } from '../../schema/folding.ts';
import type { Column, Resource } from '../../schema/model.ts';
import { type Row, select } from '../statements.ts';
import { type Program, run } from '../storage.ts';

const PAGE = 1000;
/** Bits of a hash that a number holds. */
const SAFE = 2n ** 53n - 1n;

/** Reads all records and remembers a number for each; the keys of the first `most` that are twins, two by two, in words. */
export function* foreseenTwins(
  resource: Resource,
  columns: readonly Column[],
  most: number,
): Program<readonly string[]> {
  const { key } = resource;
  const read = [...new Set([key, ...columns])];
  const seen = new Map<number, unknown>();
  const found: string[] = [];
  for (let after: Place | undefined; found.length < most; ) {
    const rows = yield* run(select(resource, read, undefined, { after, limit: PAGE }));
    for (const row of rows) {
      const text = textOf(columns, row);
      if (text === undefined || found.length >= most) continue;
      const number = Number(Bun.hash.wyhash(text) & SAFE);
      const earlier = seen.get(number);
      if (earlier === undefined) seen.set(number, row[key.name]);
      else {
        const [other] = yield* run(select(resource, read, equal(key, earlier)));
        if (other && textOf(columns, other) === text) found.push(`${earlier} and ${row[key.name]}`);
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
