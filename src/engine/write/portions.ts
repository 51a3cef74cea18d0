/** Records of which there may be any number, some at a time: all that point to one would stop the process while they are read. */

import type { Filter } from '../../query/filter.ts';
import type { Column, Resource } from '../../schema/model.ts';
import { type Row, select } from '../../storage/statements.ts';
import { type Program, run } from '../../storage/storage.ts';

/** How many one statement names, or answers with. */
export const PORTION = 10_000;

export function* portions(keys: Iterable<unknown>): Generator<unknown[]> {
  let portion: unknown[] = [];
  for (const key of keys) {
    if (portion.push(key) < PORTION) continue;
    yield portion;
    portion = [];
  }
  if (portion.length > 0) yield portion;
}

/** Hands over the rows that match, in the order of their keys, until that is enough; the columns include the key. */
export function* eachOf(
  resource: Resource,
  columns: readonly Column[],
  where: Filter,
  lock: boolean,
  take: (row: Row) => boolean,
): Program<void> {
  const { key } = resource;
  let rows: readonly Row[];
  let after: readonly unknown[] | undefined;
  do {
    const more = { ...(after && { after }), limit: PORTION, lock };
    rows = yield* run(select(resource, columns, where, more));
    for (const row of rows) if (take(row)) return;
    after = [rows.at(-1)?.[key.name]];
  } while (rows.length === PORTION);
}
