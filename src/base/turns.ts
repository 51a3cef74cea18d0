/** Work that takes long, done in slices: whatever else has to be done has its turn in between. */

/** How long others wait at most for one: a fraction of what a request takes that does much. */
const SLICE_MS = 5;

export class Turns {
  #began = performance.now();

  /** Whether the time of this slice is used up. */
  get isOver(): boolean {
    return performance.now() - this.#began >= SLICE_MS;
  }

  /** What to wait for before the work goes on; undefined while there is time left. */
  next(): Promise<void> | undefined {
    return this.isOver ? this.anew() : undefined;
  }

  /** Whatever time is left. */
  anew(): Promise<void> {
    return new Promise((resolve) =>
      setImmediate(() => {
        this.#began = performance.now();
        resolve();
      }),
    );
  }
}

/** The same for many who come at any time: those who wait come back one by one, not all of them when the turn of others is over. */
export class SharedTurns {
  readonly #turns = new Turns();
  #last = Promise.resolve();

  next(): Promise<void> {
    this.#last = this.#last.then(() => this.#turns.next());
    return this.#last;
  }

  /** With a slice of its own: what is done before it waits again is done before anybody else goes on. */
  anew(): Promise<void> {
    this.#last = this.#last.then(() => this.#turns.anew());
    return this.#last;
  }
}
