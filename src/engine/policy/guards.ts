/** Fields that only some of the records that were read may show: which ones is asked of the database, and they go. */

import { all, among, type Filter, isNothing } from '../../query/filter.ts';
import type { Resource } from '../../schema/model.ts';
import { type Program, type Row, select } from '../../storage/storage.ts';

export interface Guard {
  readonly resource: Resource;
  /** The records that may show it. */
  readonly where: Filter;
  /** Where a record keeps it: the column, and relations that follow from it. */
  readonly properties: readonly string[];
  /** A forbidden field is not there at all; a reference to what one may not see is null. */
  readonly instead: undefined | null;
}

export interface Guarded {
  readonly guards: readonly Guard[];
  readonly rows: readonly Row[];
}

/** Takes from the rows what their guards do not let through. */
export function* hide(guarded: readonly Guarded[]): Program<void> {
  const tasks = guarded.flatMap(({ guards, rows }) =>
    rows.length > 0 ? guards.map((guard) => ({ guard, rows })) : [],
  );
  const asked = tasks.filter(({ guard }) => !isNothing(guard.where));
  const answers =
    asked.length > 0
      ? yield asked.map(({ guard: { resource, where }, rows }) => {
          const keys = [...new Set(rows.map((row) => row[resource.key.name]))];
          return select(resource, [resource.key], all([among(resource.key, keys), where]));
        })
      : [];
  for (const task of tasks) {
    const { resource, properties, instead } = task.guard;
    const { name } = resource.key;
    const shown = new Set(answers[asked.indexOf(task)]?.map((row) => row[name]));
    for (const row of task.rows)
      if (!shown.has(row[name])) for (const property of properties) row[property] = instead;
  }
}
