/** Changes jobs some at a time: a receiver that was gone for long has a million, and no write may wait for all of these. */

import { isPassing } from '../../base/errors.ts';
import { all, among, everything, type Filter } from '../../query/filter.ts';
import { jobs } from '../../storage/own.ts';
import { select } from '../../storage/statements.ts';
import { type Deadline, type Program, run, type Storage } from '../../storage/storage.ts';

/** How many are found at once: nobody waits for this. */
const FOUND = 20_000;
/** How many are changed at once, however long they are. */
const PORTION = 500;
const PATIENCE_MS = 30_000;

/** How many jobs were changed. */
export interface Changed {
  readonly count: number;
  /** Whether there was no time for all of them. */
  readonly more: boolean;
}

/**
 * Until none is left, or its time is over: `change` has those that it is given match no longer, and answers how many there were, or
 * undefined where the rest is to stay. Their ids name them, and nothing else that there is an index for: SQLite would take that, and
 * go through all jobs for each portion.
 */
export async function inPortions(
  storage: Storage,
  where: Filter,
  change: (some: Filter) => Program<number | undefined>,
  until?: Deadline,
): Promise<Changed> {
  const patience = () => until ?? performance.now() + PATIENCE_MS;
  let count = 0;
  let ids: unknown[];
  try {
    do {
      const find = () => run(select(jobs, [jobs.key], where, { limit: FOUND }));
      ids = (await storage.read(find, 'many', patience())).map((row) => row['id']);
      for (let from = 0; from < ids.length; from += PORTION) {
        const some = among(jobs.key, ids.slice(from, from + PORTION));
        const changed = await storage.write(() => change(some), 'many', patience());
        if (changed === undefined) return { count, more: false };
        count += changed;
      }
    } while (ids.length === FOUND);
  } catch (error) {
    // The error would say that nothing was changed: who waits for an answer is told what was, and asks for the rest.
    if (until === undefined || count === 0 || !isPassing(error)) throw error;
    return { count, more: true };
  }
  return { count, more: false };
}

interface Condition {
  /** What must still hold of each when it goes. */
  readonly still?: Filter;
  /** Asked in each transaction, before any go in it. */
  readonly mayGo?: () => Program<boolean>;
}

export function discard(
  storage: Storage,
  where: Filter,
  { still = everything, mayGo }: Condition = {},
  until?: Deadline,
): Promise<Changed> {
  const go = function* (some: Filter): Program<number | undefined> {
    if (mayGo && !(yield* mayGo())) return undefined;
    return (yield* run({ do: 'delete', resource: jobs, where: all([some, still]), tellsKeys: true })).length;
  };
  return inPortions(storage, where, go, until);
}
