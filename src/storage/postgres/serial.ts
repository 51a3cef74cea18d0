/** Transactions of PostgreSQL that are as if they ran alone, and lose whenever they would not be. */

import { Dangling, NotUnique } from '../faults.ts';
import type { Program } from '../storage.ts';
import { Surprise } from './errors.ts';

export const SERIALIZABLE = 'BEGIN ISOLATION LEVEL SERIALIZABLE';

/**
 * How often one is run that keeps losing. The server notes what was read by pages of an index, or by whole tables while they
 * are small, so most that lose do so by chance.
 */
export const SERIAL_TRIES = 30;
const PAUSE_MS = 4;
const MOST_PAUSE_MS = 200;

/** At random, or those who met now would meet again. */
export function pause(tries: number): Promise<void> {
  return Bun.sleep(Math.random() * Math.min(PAUSE_MS * 2 ** tries, MOST_PAUSE_MS));
}

/**
 * The program, unless a constraint stops it: that may be for a record that was stored after its snapshot, in which its rules
 * were asked. They come before what is taken, so they are to be asked again, with that record in sight.
 */
export function* surprised<T>(running: Program<T>): Program<T> {
  let step = running.next();
  while (!step.done) {
    try {
      step = running.next(yield step.value);
    } catch (error) {
      if (error instanceof NotUnique || error instanceof Dangling) throw new Surprise();
      step = running.throw(error);
    }
  }
  return step.value;
}
