/** Transactions of PostgreSQL that are as if they ran alone, and lose whenever they would not be. */

import { Dangling, NotUnique, unavailable } from '../faults.ts';
import type { Deadline, Program } from '../storage.ts';
import { Surprise } from './errors.ts';

export const SERIALIZABLE = 'BEGIN ISOLATION LEVEL SERIALIZABLE';

/**
 * How often one is run that keeps losing. The server notes what was read by pages of an index, or by whole tables while they
 * are small, so most that lose do so by chance.
 */
export const SERIAL_TRIES = 30;
const PAUSE_MS = 4;
/** One that loses weighs as much as four that win: where they meet, one of five loses, and hardly any work is for nothing. */
const WON = 1.02;
const LOST = 1 / WON ** 4;
const MOST_PAUSE_MS = 200;

/** At random, or those who met now would meet again. */
export function pause(tries: number): Promise<void> {
  return Bun.sleep(Math.random() * Math.min(PAUSE_MS * 2 ** tries, MOST_PAUSE_MS));
}

/**
 * How many run side by side: as many as there are, where they do not meet; where they do, about as many as win, since whoever
 * loses has used the server for nothing. Thirty-two writers that all met got a fortieth done of what one after the other did.
 */
export class Pace {
  #most = Number.POSITIVE_INFINITY;
  #running = 0;
  readonly #waiting: (() => void)[] = [];

  /** Resolves when it is this one's turn, and fails when that does not come in time. */
  enter(deadline: Deadline): Promise<void> | undefined {
    if (this.#running + 1 <= this.#most) {
      this.#running++;
      return undefined;
    }
    return new Promise((resolve, reject) => {
      const begin = () => {
        clearTimeout(timer);
        resolve();
      };
      const giveUp = () => {
        this.#waiting.splice(this.#waiting.indexOf(begin), 1);
        reject(unavailable('Others keep changing the same records.'));
      };
      const timer = setTimeout(giveUp, Math.max(0, deadline - performance.now()));
      this.#waiting.push(begin);
    });
  }

  leave(hasLost: boolean): void {
    this.#most = hasLost ? Math.max(1, Math.min(this.#most, this.#running) * LOST) : this.#most * WON;
    this.#running--;
    while (this.#running + 1 <= this.#most) {
      const next = this.#waiting.shift();
      if (!next) return;
      this.#running++;
      next();
    }
  }
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
