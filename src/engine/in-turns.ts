/** Work of a program on many records, such as what they become, or what functions of the deployment make of them: others have their turn in between. */

import { Turns } from '../base/turns.ts';
import { OTHERS_TURN, type Program } from '../storage/storage.ts';

/** After so many the time is looked at, which takes as long as a short function. */
const LOOK = 16;

/** What is done for one of them may be a program, of as many again. */
export function* inTurns<T>(
  all: readonly T[],
  work: (each: T, index: number) => Program<void> | undefined | void,
): Program<void> {
  let turns = new Turns();
  let count = 0;
  for (const each of all) {
    const program = work(each, count);
    if (program) yield* program;
    if (++count % LOOK > 0 || !turns.isOver) continue;
    yield OTHERS_TURN;
    turns = new Turns();
  }
}
