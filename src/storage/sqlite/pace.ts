/** Whether the disk is so slow that commits should be waited for in the background. */

/** A commit that takes longer is a slow one: meanwhile nothing is read here. */
const SLOW_MS = 2;
/** A slow one weighs as much as this many quick ones: one in three makes the disk a slow one, and seldom ones do not. */
const WEIGHT = 2;
/** Three slow ones in a row are noticed, */
const NOTICED = 3 * WEIGHT;
/** and a single one of a length that nobody would want twice. */
const AWFUL_MS = 50;
/** For so many quick ones in a row a disk must have been quick before it counts as one. */
const TRUSTED = 200;

export class Pace {
  readonly #slowMs: number;
  #isSlow: boolean;
  /** More with each slow commit, less with each quick one. */
  #slowness = 0;

  constructor(slowMs = SLOW_MS) {
    this.#slowMs = slowMs;
    this.#isSlow = slowMs === 0;
  }

  get isSlow(): boolean {
    return this.#isSlow;
  }

  /** Told how long each commit took, wherever it was. */
  committed(ms: number): void {
    const weight = ms >= this.#slowMs ? WEIGHT : -1;
    const most = this.#isSlow ? TRUSTED : NOTICED;
    this.#slowness = Math.max(0, Math.min(most, this.#slowness + weight));
    if (this.#isSlow) this.#isSlow = this.#slowness > 0;
    else if (this.#slowness === NOTICED || ms >= AWFUL_MS) {
      this.#slowness = TRUSTED;
      this.#isSlow = true;
    }
  }
}
