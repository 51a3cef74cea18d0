/** Gives records that were there before what is kept beside them, page by page, while others go on reading and writing. */

import type { Place } from '../../query/order.ts';
import { type Derived, mendKeys, mendPage } from '../derived.ts';
import { NotUnique } from '../faults.ts';
import { select } from '../statements.ts';
import { type Program, run } from '../storage.ts';
import type { Evolvable, Session } from './database.ts';
import { whyNotUnique } from './foreseen.ts';
import { Versions } from './versions.ts';
import type { WriteLog, Written } from './write-log.ts';

/** For how long others wait at a time where only one can write. */
const ALONE_MS = 50;
/** And elsewhere, where only nodes that start wait. */
const TURN_MS = 1000;
/** Records of one page: few enough to be locked for a moment, and for all of them to be as long as a body. */
const FIRST_PAGE = 8;
const LONGEST_PAGE = 500;
/** Of the texts that are read at once, as far as those before tell how long they are. */
const MOST_CHARACTERS = 1_000_000;
/** Longer than anybody who waits goes without asking again. */
const PAUSE_MS = 60;
/** Keys and versions that are read at once. */
const LOOK_PAGE = 20_000;
/** So few are left to the last look, while which older nodes may not write; or what this many looks have left. */
const FEW = 100;
const MOST_LOOKS = 5;
const MOST_TURNS = 1000;

/**
 * Brings all records up to date. Whoever waits has its turn in between. Older nodes write meanwhile, so it looks again until
 * they are hardly ahead: at what the log tells, or where there is none, at the versions of all, which it answers with then.
 */
export async function mendAll(
  database: Evolvable,
  unmended: readonly Derived[],
  log: WriteLog | undefined,
): Promise<ReadonlyMap<Derived, Versions>> {
  const seen = new Map(log ? [] : unmended.map((derived) => [derived, new Versions()]));
  for (const derived of unmended) {
    const versions = seen.get(derived);
    await inTurns(database, log, (session, after, until) => mend(session, derived, versions, after, until));
    if (versions) await untilFew(() => look(database, derived, versions));
  }
  if (log) await catchUpInTurns(database, unmended, log);
  return seen;
}

/** Others may write faster than that: what is left then is left to the last look. */
async function catchUpInTurns(
  database: Evolvable,
  unmended: readonly Derived[],
  log: WriteLog,
): Promise<void> {
  let turns = 0;
  await inTurns(database, log, async (session, _, until) => {
    const { isWhole } = await catchUpByLog(session, unmended, log, until);
    return isWhole || ++turns === MOST_TURNS ? undefined : [];
  });
}

/** Runs it until it finds hardly anything. */
export async function untilFew(find: () => Promise<number>): Promise<void> {
  for (let looks = 0; looks < MOST_LOOKS; looks++) if ((await find()) < FEW) return;
}

async function look(database: Evolvable, derived: Derived, seen: Versions): Promise<number> {
  let all = 0;
  await inTurns(database, undefined, async (session, from, until) => {
    const { after, found } = await catchUp(session, derived, seen, from, until);
    all += found;
    return after;
  });
  return all;
}

type Turn = (session: Session, after: Place | undefined, until: number) => Promise<Place | undefined>;

async function inTurns(database: Evolvable, log: WriteLog | undefined, turn: Turn): Promise<void> {
  const turnMs = database.ddl.keepsWritersOut ? ALONE_MS : TURN_MS;
  for (let after: Place | undefined; ; await Bun.sleep(PAUSE_MS)) {
    after = await database.exclusively(async (session) => {
      const next = await turn(session, after, performance.now() + turnMs);
      await log?.keep(session);
      return next;
    });
    if (!after) return;
  }
}

/** Answers with where it is to go on, if the time was not enough for all records. */
export async function mend(
  session: Session,
  derived: Derived,
  seen?: Versions,
  from?: Place,
  until = Number.POSITIVE_INFINITY,
): Promise<Place | undefined> {
  let after = from;
  let limit = FIRST_PAGE;
  do {
    const mending = within(session, () => mendPage(derived, after, limit));
    const page = await mending.catch((error) => explain(session, derived, error));
    seen?.add(derived.resource, page.rows);
    after = page.next;
    limit = fitting(limit, page.characters);
    // SQLite never waits for anything, and the process may have others to answer.
    await Bun.sleep(0);
  } while (after && performance.now() < until);
  return after;
}

/** What is unique can be in the way while its values are made anew. */
async function explain(session: Session, { resource, made }: Derived, error: unknown): Promise<never> {
  const computed = resource.recomputed.find(({ column }) => column === made);
  if (!(error instanceof NotUnique) || !computed) throw error;
  let why = '';
  await session.load(function* () {
    why = yield* whyNotUnique(resource, computed);
  });
  throw new Error(why, { cause: error });
}

/** The same for those that were written since they were seen; `found`: how many these are. */
export async function catchUp(
  session: Session,
  derived: Derived,
  seen: Versions,
  from?: Place,
  until = Number.POSITIVE_INFINITY,
): Promise<{ readonly after: Place | undefined; readonly found: number }> {
  const { resource } = derived;
  const { key, version } = resource;
  let after = from;
  let found = 0;
  do {
    const looked = select(resource, [key, version], undefined, { after, limit: LOOK_PAGE });
    const rows = await within(session, () => run(looked));
    const written = rows.filter((row) => !seen.has(resource, row)).map((row) => row[key.name]);
    found += written.length;
    for (let at = 0, limit = FIRST_PAGE; at < written.length; ) {
      const mending = within(session, () => mendKeys(derived, written.slice(at, at + limit)));
      const page = await mending.catch((error) => explain(session, derived, error));
      seen.add(resource, page.rows);
      at += limit;
      limit = fitting(limit, page.characters);
    }
    after = rows.length < LOOK_PAGE ? undefined : [rows.at(-1)?.[key.name]];
    await Bun.sleep(0);
  } while (after && performance.now() < until);
  return { after, found };
}

/** The same for those that the log tells of, with their keys; `isWhole`: whether there was none left. */
export async function catchUpByLog(
  session: Session,
  unmended: readonly Derived[],
  log: WriteLog,
  until = Number.POSITIVE_INFINITY,
): Promise<{ readonly written: Written; readonly found: number; readonly isWhole: boolean }> {
  const written = new Map<string, unknown[]>();
  let found = 0;
  for (let limit = FIRST_PAGE; ; ) {
    let taken: Written = new Map();
    let characters = 0;
    let current: Derived | undefined;
    const mending = session.transaction(async () => {
      taken = await log.take(session, limit);
      for (const derived of unmended) {
        const keys = taken.get(derived.resource.table);
        if (!keys) continue;
        current = derived;
        await session.load(function* () {
          const page = yield* mendKeys(derived, [...new Set(keys)]);
          characters = Math.max(characters, page.characters);
        });
      }
    });
    await mending.catch((error) => {
      if (!current) throw error;
      return explain(session, current, error);
    });
    let count = 0;
    for (const [table, keys] of taken) {
      const all = written.get(table) ?? [];
      all.push(...keys);
      written.set(table, all);
      count += keys.length;
    }
    found += count;
    if (count < limit || performance.now() > until) return { written, found, isWhole: count < limit };
    limit = fitting(limit, characters);
    await Bun.sleep(0);
  }
}

function fitting(limit: number, characters: number): number {
  const fit = Math.floor((limit * MOST_CHARACTERS) / (characters || 1));
  return Math.max(1, Math.min(fit, 2 * limit, LONGEST_PAGE));
}

/** In a transaction of its own. */
async function within<T>(session: Session, program: () => Program<T>): Promise<T> {
  let result: { readonly is: T } | undefined;
  await session.transaction(() =>
    session.load(function* () {
      result = { is: yield* program() };
    }),
  );
  return (result as { readonly is: T }).is;
}
