/** Transactions of PostgreSQL that are as if they ran alone, and lose whenever they would not be. */

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
const LONGEST_WAIT_MS = 200;
const MOST_PAUSE_MS = 200;

/** At random, or those who met now would meet again. */
export function pause(tries: number): Promise<void> {
  return Bun.sleep(Math.random() * Math.min(PAUSE_MS * 2 ** tries, MOST_PAUSE_MS));
}

/**
 * How many of those that have lost run side by side: where they meet each other again, about as many as win, since whoever loses
 * has used the server for nothing. Whoever comes new does not wait, and nobody waits for long: those who are slow, or lose on
 * purpose, hold up nobody else.
 */
export class RetryQueue {
  #most = Number.POSITIVE_INFINITY;
  #running = 0;
  readonly #waiting: (() => void)[] = [];

  /** Resolves when it is this one's turn, or when it has waited for long enough. */
  enter(): Promise<void> | undefined {
    if (this.#running + 1 <= this.#most) {
      this.#running++;
      return undefined;
    }
    return new Promise((resolve) => {
      const begin = () => {
        clearTimeout(timer);
        this.#running++;
        resolve();
      };
      const timer = setTimeout(() => {
        this.#waiting.splice(this.#waiting.indexOf(begin), 1);
        begin();
      }, LONGEST_WAIT_MS);
      this.#waiting.push(begin);
    });
  }

  leave(hasLost: boolean): void {
    this.#most = hasLost ? Math.max(1, Math.min(this.#most, this.#running) * LOST) : this.#most * WON;
    this.#running--;
    while (this.#running + 1 <= this.#most && this.#waiting.length > 0) this.#waiting.shift()?.();
  }
}
