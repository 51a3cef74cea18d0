/** Lists of many, of which the executor would complete all in one piece: millions of fields take a second. Others have their turn in between. */

import { Turns } from '../base/turns.ts';

interface Waiting {
  readonly value: unknown;
  readonly resolve: (value: unknown) => void;
  readonly reject: (why: unknown) => void;
}

/** Those of one answer. */
export class LongLists {
  readonly #turns = new Turns();
  readonly #refusal: () => unknown;
  /** In the order in which they are asked for. */
  #waiting: Waiting[] = [];

  /** `refusal`: why there is to be no answer, once there is a reason; looked at for each of them. */
  constructor(refusal: () => unknown) {
    this.#refusal = refusal;
  }

  /** Whether others have waited for a turn by now. */
  get isOver(): boolean {
    return this.#turns.isOver;
  }

  inTurns(values: readonly unknown[]): readonly Promise<unknown>[] {
    return values.map((value) => {
      const { promise, resolve, reject } = Promise.withResolvers();
      if (this.#waiting.push({ value, resolve, reject }) === 1) void this.#keep();
      return promise;
    });
  }

  async #keep(): Promise<void> {
    for (const { value, resolve, reject } of this.#waiting) {
      const wait = this.#turns.next();
      if (wait) await wait;
      const refusal = this.#refusal();
      if (refusal) reject(refusal);
      else resolve(value);
      // The executor completes it before this goes on.
      await undefined;
    }
    this.#waiting = [];
  }
}
