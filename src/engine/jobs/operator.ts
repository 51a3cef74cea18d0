/** What an operator can know of jobs and do about them. */

import { all, among, equal, type Filter } from '../../query/filter.ts';
import { canonicalUuid } from '../../schema/scalars.ts';
import { jobs, lightJobs } from '../../storage/own.ts';
import { type Aggregate, select } from '../../storage/statements.ts';
import { type Deadline, type Program, run, type Storage } from '../../storage/storage.ts';
import { type Changed, discard, inPortions } from './portions.ts';
import { databaseTime, heads, NEVER, NOW } from './queue.ts';

export interface JobEntry {
  readonly id: string;
  /** The hook and the record. */
  readonly of: string;
  readonly state: 'waiting' | 'running' | 'failed';
  /** How often it was begun. */
  readonly attempt: number;
  /** When it was stored. */
  readonly at: string;
  /** When it is begun next, if somebody knows. */
  readonly next: string | undefined;
  /** The job that it waits for: an earlier one of the same hook and record. */
  readonly behind: string | undefined;
  readonly error: string | undefined;
}

const { id, due, at, holder } = jobs.column;

const PATIENCE_MS = 30_000;

const hasFailed = equal(due, NEVER);
const isFree: Filter = { is: 'null', column: holder };

/** The oldest first. */
export function* listJobs(failedOnly: boolean, most: number): Program<JobEntry[]> {
  const now = yield* databaseTime();
  const order = [at, id].map((column) => ({ column, descending: false }));
  const rows = yield* run(
    select(jobs, lightJobs.columns, failedOnly ? hasFailed : undefined, { order, limit: most }),
  );
  const first = new Map(
    (yield* heads(rows.map((row) => String(row['lane'])))).map((row) => [row['lane'], String(row['id'])]),
  );
  return rows.map((row) => {
    const moment = Number(row['due']);
    const isRunning = row['holder'] !== null && moment > now;
    const state = moment === NEVER ? 'failed' : isRunning ? 'running' : 'waiting';
    const key = String(row['id']);
    const head = first.get(row['lane']);
    const behind = state === 'waiting' && head !== key ? head : undefined;
    // When one that waits for another is looked at again says nothing of when it begins.
    const isTimed = state === 'waiting' && behind === undefined && moment > now;
    return {
      id: key,
      of: String(row['lane']),
      state,
      attempt: Number(row['attempt']),
      at: String(row['at']),
      next: isTimed ? new Date(moment).toISOString() : undefined,
      behind,
      error: row['error'] === null ? undefined : String(row['error']),
    };
  });
}

/** How many there are, those that run left out. */
export function* countJobs(): Program<{ readonly waiting: number; readonly failed: number }> {
  const isWaiting: Filter = all([{ is: 'lt', column: due, value: NEVER }, isFree]);
  const [[waiting] = [], [failed] = []] = yield [isWaiting, hasFailed].map(
    (where): Aggregate => ({
      do: 'aggregate',
      resource: jobs,
      where,
      by: [],
      measures: [{ as: 'count', of: 'count', column: undefined }],
      having: undefined,
      order: [],
      limit: undefined,
      offset: 0,
      most: undefined,
      bytes: undefined,
    }),
  );
  return { waiting: Number(waiting?.['count']), failed: Number(failed?.['count']) };
}

/** These, or all that have failed for good. */
export type Chosen = readonly string[] | 'failed';

/**
 * Has them begun at once, with all attempts before them. Those that run go on. `until`: when whoever waits for an answer has it, with
 * what was done by then.
 */
export async function retryJobs(storage: Storage, chosen: Chosen, until?: Deadline): Promise<Changed> {
  const set = { due: NOW, attempt: 0 };
  const retry = function* (where: Filter): Program<number> {
    return (yield* run({ do: 'update', resource: lightJobs, set, where, counts: false })).length;
  };
  const which = all([filterOf(chosen), isFree]);
  if (chosen === 'failed') return inPortions(storage, which, (some) => retry(all([some, which])), until);
  const patience = until ?? performance.now() + PATIENCE_MS;
  return { count: await storage.write(() => retry(which), 'many', patience), more: false };
}

/** Forgets them; whoever runs one is told within seconds that it is nobody's any more. */
export function dropJobs(storage: Storage, chosen: Chosen, until?: Deadline): Promise<Changed> {
  return discard(storage, filterOf(chosen), chosen === 'failed' ? { still: hasFailed } : {}, until);
}

function filterOf(chosen: Chosen): Filter {
  // Others name none; there are texts that no database takes.
  return chosen === 'failed' ? hasFailed : among(id, chosen.filter(canonicalUuid));
}
