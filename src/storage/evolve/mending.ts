/** Gives records that were there before what is kept beside them, page by page, while others go on reading and writing. */

import type { Place } from '../../query/order.ts';
import { type Derived, mendPage, type Page } from '../derived.ts';
import { NotUnique } from '../faults.ts';
import type { Evolvable, Session } from './database.ts';
import { whyNotUnique } from './foreseen.ts';

/** For how long others wait at a time where only one can write. */
const ALONE_MS = 50;
/** And elsewhere, where only nodes that start wait. */
const TURN_MS = 1000;
/** Records of one page: few enough to be locked for a moment, and for all of them to be as long as a body. */
const FIRST_PAGE = 8;
const LONGEST_PAGE = 100;
/** Of the texts that are read at once, as far as those before tell how long they are. */
const MOST_CHARACTERS = 1_000_000;
/** Longer than anybody who waits goes without asking again. */
const PAUSE_MS = 60;

/** Whoever waits has its turn in between. What older nodes write meanwhile is found by another look. */
export async function mendInTurns(database: Evolvable, derived: Derived): Promise<void> {
  const turnMs = database.ddl.keepsWritersOut ? ALONE_MS : TURN_MS;
  for (let after: Place | undefined; ; await Bun.sleep(PAUSE_MS)) {
    const until = performance.now() + turnMs;
    after = await database.exclusively((session) => mend(session, derived, after, until));
    if (!after) return;
  }
}

/** Answers with where it is to go on, if the time was not enough for all records. */
export async function mend(
  session: Session,
  derived: Derived,
  from?: Place,
  until = Number.POSITIVE_INFINITY,
): Promise<Place | undefined> {
  let after = from;
  let limit = FIRST_PAGE;
  do {
    let page: Page | undefined;
    const mending = session.transaction(() =>
      session.load(function* () {
        page = yield* mendPage(derived, after, limit);
      }),
    );
    await mending.catch((error) => explain(session, derived, error));
    after = page?.next;
    const fit = Math.floor((limit * MOST_CHARACTERS) / (page?.characters || 1));
    limit = Math.max(1, Math.min(fit, 2 * limit, LONGEST_PAGE));
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
