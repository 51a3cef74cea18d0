/** Workers that write to one file of SQLite tell each other when it is free: the parent knows who waits, and for how long. */

import type { OtherWriters } from '../storage/sqlite/write-queue.ts';

/** For how long after one of them had to wait the others tell when they have written. */
const WANTED_MS = 1000;

/** What a worker and its parent say to each other about it. */
export type TurnMessage =
  /** From a worker that found the file taken. */
  | { readonly say: 'waits' }
  /** To the others: there is somebody who waits. */
  | { readonly say: 'wanted' }
  /** From one of them: it has let go of the file. */
  | { readonly say: 'wrote' }
  /** To the worker that has waited for longest. */
  | { readonly say: 'go' };

/** The side of the parent; `W` is a worker. */
export class WriteTurns<W> {
  readonly #send: (to: W, message: TurnMessage) => void;
  readonly #waiting = new Set<W>();
  #toldAt = Number.NEGATIVE_INFINITY;

  constructor(send: (to: W, message: TurnMessage) => void) {
    this.#send = send;
  }

  heard(say: 'waits' | 'wrote', from: W, all: Iterable<W>): void {
    if (say === 'wrote') this.#next();
    else {
      this.#waiting.add(from);
      // Again before it is over: whoever writes without a pause is to be heard without one.
      if (performance.now() - this.#toldAt < WANTED_MS / 2) return;
      this.#toldAt = performance.now();
      for (const each of all) this.#send(each, { say: 'wanted' });
    }
  }

  /** It has ended. */
  left(worker: W): void {
    this.#waiting.delete(worker);
  }

  #next(): void {
    const [first] = this.#waiting;
    if (first === undefined) return;
    this.#waiting.delete(first);
    this.#send(first, { say: 'go' });
  }
}

/** The side of a worker. What is lost on the way costs nothing but time: who waits looks by itself, too. */
export class Turn implements OtherWriters {
  readonly #send: (message: TurnMessage) => void;
  readonly #waiting = new Set<() => void>();
  /** Whether the parent knows that this one waits. */
  #isKnown = false;
  #wantedUntil = 0;

  constructor(send: (message: TurnMessage) => void) {
    this.#send = send;
  }

  wait(again: () => void): () => void {
    if (!this.#isKnown) this.#send({ say: 'waits' });
    this.#isKnown = true;
    this.#waiting.add(again);
    return () => this.#waiting.delete(again);
  }

  done(): void {
    if (performance.now() < this.#wantedUntil) this.#send({ say: 'wrote' });
  }

  heard(say: 'wanted' | 'go'): void {
    if (say === 'wanted') {
      this.#wantedUntil = performance.now() + WANTED_MS;
      return;
    }
    this.#isKnown = false;
    // It was quicker by itself: then it is somebody else's turn.
    if (this.#waiting.size === 0) this.#send({ say: 'wrote' });
    for (const again of [...this.#waiting]) again();
  }
}
