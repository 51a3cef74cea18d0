/** Those who wait for something, each until a time of its own; whoever has waited for too long is told. */

import { whenOver } from '../../base/limit.ts';

export interface Waiting {
  /** In the time of `performance.now()`. */
  readonly until: number;
  readonly reject: (error: unknown) => void;
}

/** One timer for all of them, and mostly for those who come next, too: to set one for each takes longer than most of them wait. */
export class Patience<W extends Waiting> {
  readonly #waiting = new Set<W>();
  readonly #end: (over: readonly W[]) => void;
  #timer: Timer | undefined;
  /** When the timer ends. */
  #watchedUntil = Number.POSITIVE_INFINITY;

  /** `end` is called with those whose time is over; they wait no longer. */
  constructor(end: (over: readonly W[]) => void) {
    this.#end = end;
  }

  get size(): number {
    return this.#waiting.size;
  }

  add(one: W): void {
    this.#waiting.add(one);
    this.#watch(one.until);
  }

  delete(one: W): void {
    this.#waiting.delete(one);
  }

  /** Takes the one who came first. */
  shift(): W | undefined {
    const [first] = this.#waiting;
    if (first) this.#waiting.delete(first);
    return first;
  }

  #watch(until: number): void {
    if (this.#watchedUntil <= until) return;
    this.#watchedUntil = until;
    clearTimeout(this.#timer);
    this.#timer = whenOver(until - performance.now(), () => {
      this.#watchedUntil = Number.POSITIVE_INFINITY;
      const now = performance.now();
      const over = [...this.#waiting].filter((each) => each.until <= now);
      for (const each of over) this.#waiting.delete(each);
      if (over.length > 0) this.#end(over);
      for (const each of this.#waiting) this.#watch(each.until);
    });
    this.#timer.unref();
  }
}
