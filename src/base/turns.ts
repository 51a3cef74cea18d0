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
    if (!this.isOver) return undefined;
    return new Promise((resolve) =>
      setImmediate(() => {
        this.#began = performance.now();
        resolve();
      }),
    );
  }
}
