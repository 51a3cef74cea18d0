/** Fields that only some records may show: the database is asked which ones those are, and for what they show. */

import { all, among, type Filter, isNothing } from '../../query/filter.ts';
import type { Column, Resource } from '../../schema/model.ts';
import { type Row, select } from '../../storage/statements.ts';
import type { Program } from '../../storage/storage.ts';

export interface Guard {
  readonly resource: Resource;
  /** The records that may show it. */
  readonly where: Filter;
  /** What is read of those records alone: a value that is hidden never leaves the database, and so nothing counts it. */
  readonly column: Column | undefined;
  /** Where a record keeps it: the column, and relations that follow from it. */
  readonly properties: readonly string[];
  /** A forbidden field is not there at all; a reference to what one may not see is null. */
  readonly instead: undefined | null;
  /** Whether a record that was changed shows it all the same, where it was seen before. */
  readonly unlessSeen?: boolean;
}

/** Of records that were changed and may have left sight: the required references to what the caller saw before, or has given. */
const seenBefore = new WeakMap<object, ReadonlySet<string>>();

export function noteSeen({ references }: Resource, changed: Row, before: Row, given: Row): void {
  const seen = references.filter(({ required, column: { name } }) => {
    const value = changed[name];
    return required && (value === before[name] || value === given[name]);
  });
  seenBefore.set(changed, new Set(seen.map(({ column }) => column.name)));
}

function isKnown({ unlessSeen, column }: Guard, row: Row): boolean {
  return unlessSeen === true && column !== undefined && seenBefore.get(row)?.has(column.name) === true;
}

export interface Guarded {
  readonly guards: readonly Guard[];
  readonly rows: readonly Row[];
  /** Whether JSON among what is read of them is passed on. */
  readonly passes?: boolean;
}

/**
 * Adds to the rows what their guards let through, and takes from them what they do not: rows that were written have it
 * already. `bytes`: how much text one statement may answer with.
 */
export function* hide(guarded: readonly Guarded[], bytes?: number): Program<void> {
  const tasks = guarded.flatMap(({ guards, rows, passes = false }) => {
    const [first] = rows;
    if (!first) return [];
    return guards.map((guard) => {
      const { column } = guard;
      return { guard, rows, passes, missing: column && !(column.name in first) ? column : undefined };
    });
  });
  const asked = tasks.filter(({ guard }) => !isNothing(guard.where));
  const answers =
    asked.length > 0
      ? yield asked.map(({ guard: { resource, where }, rows, passes, missing }) => {
          const keys = [...new Set(rows.map((row) => row[resource.key.name]))];
          const shown = all([among(resource.key, keys), where]);
          return missing
            ? select(resource, [resource.key, missing], shown, { bytes, passes })
            : select(resource, [resource.key], shown);
        })
      : [];
  for (const task of tasks) {
    const { resource, properties, instead } = task.guard;
    const { name } = resource.key;
    const shown = new Map(answers[asked.indexOf(task)]?.map((row) => [row[name], row]));
    for (const row of task.rows) {
      if (isKnown(task.guard, row)) continue;
      const own = shown.get(row[name]);
      if (!own) for (const property of properties) row[property] = instead;
      else if (task.missing) row[task.missing.name] = own[task.missing.name];
    }
  }
}
