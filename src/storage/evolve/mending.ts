/** Gives records that were there before what is kept beside them, page by page, while others go on reading and writing. */

import type { Place } from '../../query/order.ts';
import { type Derived, mendPage } from '../derived.ts';
import type { Evolvable, Session } from './database.ts';

/** For how long others wait at a time where only one can write, and how long they then have. */
const TURN_MS = 50;

/** Whoever waits for the lock has its turn in between. What older nodes write meanwhile is found by another look. */
export async function mendInTurns(database: Evolvable, derived: Derived): Promise<void> {
  const { keepsWritersOut } = database.ddl;
  for (let after: Place | undefined; ; ) {
    const until = keepsWritersOut ? performance.now() + TURN_MS : Number.POSITIVE_INFINITY;
    after = await database.exclusively((session) => mend(session, derived, after, until));
    if (!after) return;
    await Bun.sleep(TURN_MS);
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
  do {
    let next: Place | undefined;
    await session.transaction(() =>
      session.load(function* () {
        next = yield* mendPage(derived, after);
      }),
    );
    after = next;
    // SQLite never waits for anything, and the process may have others to answer.
    await Bun.sleep(0);
  } while (after && performance.now() < until);
  return after;
}
