/** Records that are looked for by their keys in the same turn of the event loop are found by one statement. */

import { afterBatch } from '../../base/batch.ts';
import { among, type Filter } from '../../query/filter.ts';
import { currentScope, within } from '../scopes.ts';
import { PLACEHOLDER, type Row, type Select } from '../statements.ts';
import type { Deadline, Prepared, Seen } from '../storage.ts';

interface Waiting {
  readonly key: unknown;
  readonly deadline: Deadline;
  readonly seen: Seen | undefined;
  readonly resolve: (rows: Row[]) => void;
  readonly reject: (error: unknown) => void;
}

/** `select` is by a key that is left open; every request sees what was committed when it came, or later. */
export function batchedFinder(select: Select, prepare: (select: Select) => Prepared): Prepared {
  const [findOne, findMany] = [prepare(select), prepare(ofMany(select))];
  const { name } = select.resource.key;
  let batch: Waiting[] = [];

  const look = async (waiting: readonly Waiting[]): Promise<void> => {
    const keys = new Set(waiting.map(({ key }) => key));
    const deadline = Math.min(...waiting.map((each) => each.deadline));
    const seen = mostOf(waiting);
    const found = new Map<unknown, Row>();
    if (keys.size > 1) {
      const rows = await findMany([...keys], deadline, seen);
      for (const row of rows) found.set(row[name], row);
    } else
      for (const key of keys) {
        const [row] = await findOne(key, deadline, seen);
        if (row) found.set(key, row);
      }
    for (const { key, resolve } of waiting) {
      const row = found.get(key);
      // Whoever is given a row may change it.
      resolve(row ? [waiting.length > keys.size ? { ...row } : row] : []);
    }
  };

  return (key, deadline, seen) =>
    new Promise((resolve, reject) => {
      if (batch.push({ key, deadline, seen, resolve, reject }) > 1) return;
      // The statement of all of them is told of as the first one's.
      const scope = currentScope();
      afterBatch(() => {
        const waiting = batch;
        batch = [];
        within(scope, () => look(waiting)).catch((error) => {
          for (const each of waiting) each.reject(error);
        });
      });
    });
}

/** What must be shown to all of them. */
function mostOf(waiting: readonly Waiting[]): Seen | undefined {
  let most: Seen | undefined;
  for (const { seen } of waiting) if (seen && (most?.position ?? '') <= (seen.position ?? '')) most = seen;
  return most;
}

/** The same by any number of keys, which tell the rows apart. */
function ofMany(select: Select): Select {
  const { resource, columns, where } = select;
  const open = (filter: Filter): Filter =>
    filter.is === 'eq' && filter.value === PLACEHOLDER ? among(filter.column, PLACEHOLDER) : filter;
  return {
    ...select,
    columns: columns.includes(resource.key) ? columns : [...columns, resource.key],
    where: where?.is === 'all' ? { is: 'all', of: where.of.map(open) } : where && open(where),
  };
}
