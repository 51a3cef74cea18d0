/** Turns: what keeps this thread busy for many stops after a while, so that requests are answered in between. */

const TURN_MS = 4;

export class Turns {
  #begun = 0;
  #last = Promise.resolve();

  /** Whether others have waited for long enough. */
  get isOver(): boolean {
    return performance.now() - this.#begun > TURN_MS;
  }

  async letOthers(): Promise<void> {
    await new Promise(setImmediate);
    this.#begun = performance.now();
  }

  /** One after another: those who wait come back one by one, not all of them when the turn of others is over. */
  next(): Promise<void> {
    this.#last = this.#last.then(() => (this.isOver ? this.letOthers() : undefined));
    return this.#last;
  }
}
