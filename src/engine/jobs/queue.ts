/** The jobs of a deployment as programs: stored, taken by one node at a time, held, ended, listed. */

import { jsonOf, PassedJson } from '../../base/passed.ts';
import { all, among, equal, type Filter } from '../../query/filter.ts';
import { jobs, lightJobs, schedules } from '../../storage/own.ts';
import { type Row, type Statement, select } from '../../storage/statements.ts';
import { insertAll, type Program, run } from '../../storage/storage.ts';

/** For how long a job is its holder's, unless that renews it: a node that was killed is replaced by then. */
export const LEASE_MS = 5_000;
/** Of a job that has failed for good. */
export const NEVER = Number.MAX_SAFE_INTEGER;
/** At once: only the database knows what time it is. */
export const NOW = 0;
export const MOST_ATTEMPTS = 25;
const LONGEST_ERROR = 2_000;

const { id, hook, lane, version, due, holder } = jobs.column;

export interface Job {
  readonly id: string;
  readonly hook: string;
  /** Jobs of one lane run one after the other. */
  readonly lane: string;
  /** What the function is given of what was written: an object. */
  readonly given: PassedJson;
  /** The functions that have led to it, its own the last. */
  readonly path: readonly string[];
  /** Counted from 1. */
  readonly attempt: number;
}

export interface NewJob extends Omit<Job, 'id' | 'attempt' | 'given'> {
  readonly given: Row;
  /** Its place in its lane. */
  readonly version: number;
}

export function* enqueue(added: readonly NewJob[]): Program<void> {
  const at = new Date().toISOString();
  const rowOf = (job: NewJob) => ({
    ...job,
    id: Bun.randomUUIDv7(),
    given: jsonOf(job.given),
    path: JSON.stringify(job.path),
    attempt: 0,
    due: NOW,
    holder: null,
    error: null,
    at,
  });
  yield* insertAll(jobs, added, rowOf);
}

export function* databaseTime(): Program<number> {
  const [row] = yield* run({ do: 'clock', resource: jobs });
  return Number(row?.['now']);
}

/** A job that somebody has run, and how it went. */
export interface Ended {
  readonly job: Job;
  /** Undefined where all went well. */
  readonly error?: string;
  /** After how many milliseconds it is to be tried again; undefined where it is not. */
  readonly pause?: number | undefined;
  /** Whether it was given up for no fault of its own: then this attempt does not count. */
  readonly isReturned?: true;
  /** What its function has answered, or thrown. */
  readonly outcome?: unknown;
}

/** What can be taken. */
export interface Room {
  /** How many jobs of each hook. */
  readonly each: ReadonlyMap<string, number>;
  /** How many in all. */
  readonly jobs: number;
  /** How many characters they are given, and those of the one with which there are more. */
  readonly given: number;
}

/** Ends jobs of this holder, and takes others that are due: as many as there is room for, and only such as it has functions for. */
export function* turn(by: string, ended: readonly Ended[], room: Room): Program<Job[]> {
  const now = yield* databaseTime();
  if (ended.length > 0) yield* end(by, ended, now);
  return room.jobs > 0 && room.each.size > 0 ? yield* take(by, room, now) : [];
}

/** When the first is due of those that are until a moment. */
export function* firstDue(hooks: readonly string[], moment: number): Program<number | undefined> {
  const order = [{ column: due, descending: false }];
  const where = all([until(moment), among(hook, hooks)]);
  const [row] = yield* run(select(jobs, [due], where, { order, limit: 1 }));
  return row && Number(row['due']);
}

function until(moment: number): Filter {
  return { is: 'lte', column: due, value: moment };
}

function* end(by: string, ended: readonly Ended[], now: number): Program<void> {
  const isMine = equal(holder, by);
  const done = ended.filter(({ error }) => error === undefined).map(({ job }) => job.id);
  const statements: Statement[] = [];
  if (done.length > 0)
    statements.push({ do: 'delete', resource: jobs, where: all([among(id, done), isMine]) });
  for (const { job, error, pause, isReturned } of ended)
    if (error !== undefined)
      statements.push({
        do: 'update',
        resource: jobs,
        set: {
          due: pause === undefined ? NEVER : now + Math.round(pause),
          holder: null,
          error: storable(error),
          attempt: isReturned ? job.attempt - 1 : job.attempt,
        },
        where: all([equal(id, job.id), isMine]),
        counts: false,
        isSilent: true,
      });
  yield statements;
  const lanes = ended.flatMap(({ job, pause }) => (pause === undefined ? [job.lane] : []));
  // Those that waited for them need wait no longer; only the first of a lane, since the others now wait for that.
  const next = (yield* heads(lanes)).filter((row) => Number(row['due']) > now && row['holder'] === null);
  if (next.length > 0) yield* setDue(among(id, keysOf(next)), NOW);
}

/** Whatever it says: a message that cannot be stored would keep all others from being ended. */
function storable(error: string): string {
  return error.slice(0, LONGEST_ERROR).replaceAll('\0', '').toWellFormed();
}

/** The first job of each lane that has not failed for good: it alone may run. */
export function* heads(lanes: readonly string[]): Program<Row[]> {
  if (lanes.length === 0) return [];
  const order = [version, id].map((column) => ({ column, descending: false }));
  const isAlive: Filter = { is: 'lt', column: due, value: NEVER };
  return yield* run(
    select(jobs, [id, lane, due, holder], isAlive, {
      per: { column: lane, values: [...new Set(lanes)] },
      limit: 1,
      order,
    }),
  );
}

function* take(by: string, room: Room, now: number): Program<Job[]> {
  const found = (yield* dueFor(room.each, now)).slice(0, room.jobs);
  if (found.length === 0) return [];
  // Whatever comes before a job in its lane was committed before it, so a look that comes later than that at the job sees it.
  const first = yield* heads(found.map((row) => String(row['lane'])));
  const free = first.filter((row) => Number(row['due']) <= now).slice(0, room.jobs);
  const givenTo = yield* givenWithin(keysOf(free), room.given);
  const taken =
    givenTo.size > 0
      ? yield* run({
          do: 'update',
          resource: lightJobs,
          set: { due: now + LEASE_MS, holder: by },
          add: { attempt: 1 },
          // Whoever was faster has moved it on by now.
          where: all([among(id, [...givenTo.keys()]), until(now)]),
          counts: false,
        })
      : [];
  if (found.length > taken.length) yield* postpone(found, first, now);
  return taken.map((row) => jobOf(row, String(givenTo.get(row['id']))));
}

/** What the first of these jobs are given, which nothing changes any more, until that is more than so much. */
function* givenWithin(ids: readonly unknown[], bytes: number): Program<Map<unknown, unknown>> {
  if (ids.length === 0) return new Map();
  const order = [due, id].map((column) => ({ column, descending: false }));
  const rows = yield* run(
    select(jobs, [id, jobs.column.given], among(id, ids), { order, bytes, cuts: true }),
  );
  return new Map(rows.map((row) => [row['id'], row['given']]));
}

/** Those that are due, the longest first; no more of a hook than it has room for, so that none is behind all those of another. */
function* dueFor(rooms: Room['each'], now: number): Program<Row[]> {
  const order = [due, id].map((column) => ({ column, descending: false }));
  const per = { column: hook, values: [...rooms.keys()] };
  const limit = Math.max(...rooms.values());
  const rows = yield* run(select(jobs, [id, lane, hook, due], until(now), { order, per, limit }));
  const left = new Map(rooms);
  const fitting = rows.filter((row) => {
    const room = left.get(String(row['hook'])) ?? 0;
    left.set(String(row['hook']), room - 1);
    return room > 0;
  });
  return fitting.sort(
    (one, other) =>
      Number(one['due']) - Number(other['due']) || (String(one['id']) < String(other['id']) ? -1 : 1),
  );
}

/** Those that wait for others must not be in the way of the rest: they are due when the first of their lane may be taken again. */
function* postpone(found: readonly Row[], first: readonly Row[], now: number): Program<void> {
  const leading = new Map(first.map((row) => [row['lane'], row]));
  const moments = new Map<number, unknown[]>();
  for (const row of found) {
    const head = leading.get(row['lane']);
    if (!head || head['id'] === row['id']) continue;
    const moment = Math.max(now + LEASE_MS, Number(head['due']));
    moments.set(moment, [...(moments.get(moment) ?? []), row['id']]);
  }
  for (const [moment, ids] of moments) yield* setDue(all([among(id, ids), until(now)]), moment);
}

function* setDue(where: Filter, moment: number): Program<void> {
  yield* run({ do: 'update', resource: jobs, set: { due: moment }, where, counts: false, isSilent: true });
}

/** Keeps jobs for their holder; answers with the ids of those that are its own still. */
export function* renew(by: string, ids: readonly string[]): Program<ReadonlySet<string>> {
  const now = yield* databaseTime();
  const rows = yield* run({
    do: 'update',
    resource: lightJobs,
    set: { due: now + LEASE_MS },
    where: all([among(id, ids), equal(holder, by)]),
    counts: false,
  });
  return new Set(rows.map((row) => String(row['id'])));
}

function keysOf(rows: readonly Row[]): unknown[] {
  return rows.map((row) => row['id']);
}

function jobOf(row: Row, text: string): Job {
  return {
    id: String(row['id']),
    hook: String(row['hook']),
    lane: String(row['lane']),
    given: new PassedJson(text),
    path: JSON.parse(String(row['path'])),
    attempt: Number(row['attempt']),
  };
}

/** A schedule as the database knows it. */
export interface Slot {
  readonly name: string;
  /** As the file says; where that has changed, what was next no longer counts. */
  readonly cron: string;
  /** The first slot after a moment. */
  readonly after: (moment: number) => number;
}

/** Whether a slot has come, or a schedule is new. */
export function* isSlotDue(slots: readonly Slot[]): Program<boolean> {
  const now = yield* databaseTime();
  const known = yield* run(select(schedules, schedules.columns));
  return slots.some(({ name, cron }) => {
    const row = known.find((each) => each['name'] === name);
    return row?.['cron'] !== cron || Number(row['next']) <= now;
  });
}

/** Stores a job for each schedule whose slot has come, once, however many nodes ask. Those that were missed count as one. */
export function* dueSlots(slots: readonly Slot[]): Program<number> {
  const now = yield* databaseTime();
  const known = yield* run(select(schedules, schedules.columns));
  let stored = 0;
  for (const { name, cron, after } of slots) {
    const row = known.find((each) => each['name'] === name);
    const next = after(now);
    if (row?.['cron'] !== cron) {
      yield* run({
        do: 'upsert',
        resource: schedules,
        values: { name, cron, next },
        conflict: schedules.primary,
        set: [schedules.column.cron, schedules.column.next],
        where: { is: 'ne', column: schedules.column.cron, value: cron },
      });
      continue;
    }
    const slot = Number(row['next']);
    if (slot > now) continue;
    const where = all([equal(schedules.key, name), equal(schedules.column.next, slot)]);
    const mine = yield* run({ do: 'update', resource: schedules, set: { next }, where, counts: false });
    // A run that is under way, or waits to be tried again, stands for this one too.
    if (mine.length === 0 || (yield* heads([name])).length > 0) continue;
    const given = { slot: new Date(slot).toISOString() };
    yield* enqueue([{ hook: name, lane: name, version: slot, given, path: [name] }]);
    stored++;
  }
  return stored;
}
