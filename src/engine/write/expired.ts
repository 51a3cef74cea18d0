/** Kept answers that have expired are thrown away: now and then, after the answer to a request with a key, so that nobody waits for it. */

import type { Filter } from '../../query/filter.ts';
import { answers } from '../../storage/own.ts';
import { select } from '../../storage/statements.ts';
import { run, type Storage } from '../../storage/storage.ts';

/** How long an answer is kept. */
const KEPT_MS = 24 * 60 * 60 * 1000;
/** One in so many requests with a key throws away what has expired; the first of all does, however soon it was the last. */
const SWEEP_EVERY = 256;
/** More than have come since the last time. */
const SWEPT = 4 * SWEEP_EVERY;
/**
 * What goes in one transaction, for which other writers wait: answers may be long, and one that took longer than they have to wait
 * would be ended, each time.
 */
const PORTION = 256;
const PORTION_BYTES = 1024 * 1024;
const PATIENCE_MS = 10_000;

const { at, answer } = answers.column;
const OLDEST = [{ column: at, descending: false }];

export function isExpired(now: number): Filter {
  return { is: 'lt', column: at, value: new Date(now - KEPT_MS).toISOString() };
}

/** Those of one application: each sweeps its own database. */
export class Expired {
  readonly #storage: Storage;
  #answered = 0;
  #isUnderWay = false;

  constructor(storage: Storage) {
    this.#storage = storage;
  }

  /** A request with a key was answered. What fails now is tried again. */
  answered(): void {
    if (this.#answered++ % SWEEP_EVERY !== 0 || this.#isUnderWay) return;
    this.#isUnderWay = true;
    this.#sweep()
      .catch(() => {})
      .finally(() => {
        this.#isUnderWay = false;
      });
  }

  async #sweep(): Promise<void> {
    const where = isExpired(Date.now());
    // Looked for in a read: mostly there is nothing to write, and what there is must not be more than one transaction may take.
    const next = select(answers, [at, answer], where, {
      order: OLDEST,
      limit: PORTION,
      bytes: PORTION_BYTES,
      cuts: true,
    });
    for (let swept = 0; swept < SWEPT; ) {
      const deadline = performance.now() + PATIENCE_MS;
      const { length } = await this.#storage.read(() => run(next), 'one', deadline);
      if (length === 0) return;
      const first = { order: OLDEST, limit: length };
      await this.#storage.write(
        () => run({ do: 'delete', resource: answers, where, first }),
        'one',
        deadline,
      );
      swept += length;
    }
  }
}
