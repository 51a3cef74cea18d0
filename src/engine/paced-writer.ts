/** Writes here while the disk is quick, and in a thread of its own while everybody else would wait for the disk. */

import type { Deadline } from '../storage/storage.ts';
import type { Caller } from './caller.ts';
import type { Idempotency } from './idempotency.ts';
import type { Write } from './operation.ts';
import type { NamedWrite, Written } from './transaction.ts';
import type { Writer } from './writer.ts';

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

export class PacedWriter implements Writer {
  readonly #here: Writer;
  readonly #slowMs: number;
  readonly #open: (committed: (ms: number) => void) => Writer;
  /** Opened when it is first needed. */
  #thread: Writer | undefined;
  #isSlow: boolean;
  /** More with each slow commit, less with each quick one. */
  #slowness = 0;

  /** `open`: makes the writer in the thread, which tells how long its commits take. */
  constructor(here: Writer, open: (committed: (ms: number) => void) => Writer, slowMs = SLOW_MS) {
    this.#here = here;
    this.#open = open;
    this.#slowMs = slowMs;
    this.#isSlow = slowMs === 0;
    if (this.#isSlow) this.#apart();
  }

  /** Told how long a commit took that happened here. */
  committed(ms: number): void {
    this.#weigh(ms, NOTICED);
    if (this.#isSlow || (this.#slowness < NOTICED && ms < AWFUL_MS)) return;
    this.#slowness = TRUSTED;
    this.#isSlow = true;
    this.#apart();
  }

  write(
    caller: Caller,
    operation: Write,
    idempotency: Idempotency | undefined,
    deadline: Deadline,
  ): Promise<Written> {
    return this.#writer().write(caller, operation, idempotency, deadline);
  }

  transact(
    caller: Caller,
    writes: readonly NamedWrite[],
    idempotency: Idempotency | undefined,
    deadline: Deadline,
  ): Promise<Written[]> {
    return this.#writer().transact(caller, writes, idempotency, deadline);
  }

  async close(): Promise<void> {
    await this.#thread?.close();
    await this.#here.close();
  }

  #writer(): Writer {
    return this.#isSlow ? this.#apart() : this.#here;
  }

  #apart(): Writer {
    this.#thread ??= this.#open((ms) => {
      this.#weigh(ms, TRUSTED);
      if (this.#slowness === 0) this.#isSlow = false;
    });
    return this.#thread;
  }

  #weigh(ms: number, most: number): void {
    const weight = ms >= this.#slowMs ? WEIGHT : -1;
    this.#slowness = Math.max(0, Math.min(most, this.#slowness + weight));
  }
}
