/** Lists of many, of which the executor would complete all in one piece: millions of fields take a second. Others have their turn in between. */

import { Turns } from '../base/turns.ts';

interface Waiting {
  readonly value: unknown;
  readonly resolve: (value: unknown) => void;
}

/** Those of one answer. */
export class LongLists {
  readonly #turns = new Turns();
  readonly #isRefused: () => boolean;
  readonly #refused = Promise.withResolvers<void>();
  /** In the order in which they are asked for. */
  #waiting: Waiting[] = [];

  /** `isRefused`: whether there is to be no answer; asked for each of them. */
  constructor(isRefused: () => boolean) {
    this.#isRefused = isRefused;
  }

  /** When that is so: nothing waits any more for what is left, as to fail each of thousands would take seconds. */
  get refused(): Promise<void> {
    return this.#refused.promise;
  }

  /** Whether others have waited for a turn by now. */
  get isOver(): boolean {
    return this.#turns.isOver;
  }

  inTurns(values: readonly unknown[]): readonly Promise<unknown>[] {
    return values.map((value) => {
      const { promise, resolve } = Promise.withResolvers();
      if (this.#waiting.push({ value, resolve }) === 1) void this.#keep();
      return promise;
    });
  }

  async #keep(): Promise<void> {
    for (const { value, resolve } of this.#waiting) {
      const wait = this.#turns.next();
      if (wait) await wait;
      if (this.#isRefused()) return this.#refused.resolve();
      resolve(value);
      // The executor completes it before this goes on.
      await undefined;
    }
    this.#waiting = [];
  }
}
