/** Columns that functions make of others: whatever writes one of those makes them anew. */

import { among } from '../../query/filter.ts';
import type { Place } from '../../query/order.ts';
import { computedValue } from '../../schema/computing.ts';
import type { Column, Computed, Resource } from '../../schema/model.ts';
import { storedColumns } from '../../schema/values.ts';
import { type Row, select } from '../../storage/statements.ts';
import { type Program, run } from '../../storage/storage.ts';
import { inTurns } from '../in-turns.ts';
import type { Change } from './changes.ts';
import { broken } from './holds.ts';

/** Of a record that is new, with all of its values. */
export function computeAll({ recomputed }: Resource, values: Row): void {
  for (const each of recomputed) values[each.column.name] = computedValue(each, values);
}

/** Those that are made of something that is changed. */
function touchedBy({ recomputed }: Resource, changes: Row): readonly Computed[] {
  if (recomputed.length === 0) return recomputed;
  return recomputed.filter(({ from }) => from.some(({ name }) => Object.hasOwn(changes, name)));
}

/** Whether a change must know the whole record. */
export function isMadeOf({ recomputed }: Resource, isChanged: (name: string) => boolean): boolean {
  return recomputed.some(({ from }) => from.some(({ name }) => isChanged(name)));
}

/** Makes them anew in records as they will be, and answers with their columns. */
export function* recompute(
  resource: Resource,
  changes: Row,
  next: readonly Row[],
): Program<readonly Column[]> {
  const computed = touchedBy(resource, changes);
  if (computed.length > 0)
    yield* inTurns(next, (row) => {
      for (const each of computed) row[each.column.name] = computedValue(each, row);
    });
  return computed.map(({ column }) => column);
}

/** Few enough to be locked for a moment, many enough to make statements rare. */
const PAGE = 500;

export interface Recomputed {
  /** Where the next page begins; undefined where there is none. */
  readonly after: Place | undefined;
  readonly read: number;
  readonly changed: number;
}

/**
 * Makes a column anew in one page of records: those that had another value have another version then. `record`: where that is
 * noted, if anywhere.
 */
export function* recomputePage(
  resource: Resource,
  made: Computed,
  after: Place | undefined,
  record: ((changes: readonly Change[]) => Program<void>) | undefined,
): Program<Recomputed> {
  const { key, version } = resource;
  const { column, from } = made;
  const columns = [...new Set([key, ...from, column])];
  const isStale = (row: Row) => !Bun.deepEquals(row[column.name], computedValue(made, row));
  const rows = yield* run(select(resource, columns, undefined, { after, limit: PAGE }));
  const stale = rows.filter(isStale).map((row) => row[key.name]);
  const lock = { lock: 'change' } as const;
  // Others may have changed them since.
  const found =
    stale.length === 0 ? [] : yield* run(select(resource, storedColumns(resource), among(key, stale), lock));
  const before = found.filter(isStale);
  const next = before.map((row) => ({
    ...row,
    [column.name]: computedValue(made, row),
    [version.name]: Number(row[version.name]) + 1,
  }));
  const [first] = yield* broken(resource, next);
  if (first) throw new Error(`${resource.singular} ${next[first.place]?.[key.name]}: ${first.check.message}`);
  if (next.length > 0) {
    const where = among(
      key,
      next.map((row) => row[key.name]),
    );
    yield* run({ do: 'update', resource, set: {}, where, next, own: [column], counts: true, isSilent: true });
    const updated = (row: Row, index: number): Change => {
      const now = next[index] as Row;
      return {
        resource,
        kind: 'UPDATED',
        before: row,
        after: now,
        version: Number(now[version.name]),
        path: [],
      };
    };
    if (record) yield* record(before.map(updated));
  }
  const isLast = rows.length < PAGE;
  return { after: isLast ? undefined : [rows.at(-1)?.[key.name]], read: rows.length, changed: next.length };
}
