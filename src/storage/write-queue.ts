/** Writes that arrive together, waiting to be committed together. */

import { DuetError } from '../errors.ts';
import { afterStretch } from '../turn.ts';
import { busy } from './sqlite-errors.ts';
import { type Deadline, deadlineExceeded, type Program, type Steps } from './storage.ts';

/** More than can be served within any patience; whoever comes then is told at once. */
export const MOST_WAITING = 10_000;
/** Few enough that reads do not wait long behind them. */
const MOST_TOGETHER = 200;
/** How long they wait for another process that writes, and how often they ask whether it is done. */
const PATIENCE_MS = 2000;
const POLL_MS = 1;

export interface Waiting {
  readonly program: () => Program<unknown>;
  readonly steps: Steps;
}

/** What became of one write: its result, or why it failed. */
export type Outcome = { readonly result: unknown } | { readonly error: unknown };

interface Entry extends Waiting {
  readonly deadline: Deadline;
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: unknown) => void;
}

export function tooManyWaiting(): DuetError {
  return new DuetError('UNAVAILABLE', 'Too many writes are waiting.', { headers: { 'Retry-After': '1' } });
}

/** The cause is for the operator, whose other process it may be. */
function tooLongBusy(): DuetError {
  return Object.assign(busy(), {
    cause: new Error(`another process has been writing for ${PATIENCE_MS} ms`),
  });
}

/** Runs and commits all of them, or none: then it fails; or it is undefined, because another process is writing. */
type Commit = (batch: readonly Waiting[]) => readonly Outcome[] | undefined;

export class WriteQueue {
  readonly #commit: Commit;
  #entries: Entry[] = [];
  /** Since when others have been in the way. */
  #busySince: number | undefined;

  constructor(commit: Commit) {
    this.#commit = commit;
  }

  add<T>(program: () => Program<T>, steps: Steps, deadline: Deadline): Promise<T> {
    return new Promise((resolve, reject) => {
      if (this.#entries.length >= MOST_WAITING) return reject(tooManyWaiting());
      this.#entries.push({ program, steps, deadline, resolve: resolve as Entry['resolve'], reject });
      // After all requests that have arrived by now: those are the ones that go together.
      if (this.#entries.length === 1) afterStretch(() => this.flush());
    });
  }

  /** Nobody is told of success before the commit. */
  flush(): void {
    const now = performance.now();
    const next = this.#entries.splice(0, MOST_TOGETHER);
    // What has waited for too long is not begun: nobody may be told of a failure that then succeeds.
    for (const { deadline, reject } of next) if (deadline < now) reject(deadlineExceeded());
    const batch = next.filter(({ deadline }) => deadline >= now);
    if (batch.length > 0 && !this.#settled(batch, now)) {
      // To wait inside SQLite would stop the whole process.
      this.#entries.unshift(...batch);
      setTimeout(() => this.flush(), POLL_MS);
    } else if (this.#entries.length > 0) setImmediate(() => this.flush());
  }

  /** False when they are to be tried again. */
  #settled(batch: readonly Entry[], now: number): boolean {
    let outcomes: readonly Outcome[] | undefined;
    try {
      outcomes = this.#commit(batch);
      if (!outcomes) {
        this.#busySince ??= now;
        if (now - this.#busySince < PATIENCE_MS) return false;
        throw tooLongBusy();
      }
    } catch (error) {
      for (const { reject } of batch) reject(error);
    }
    this.#busySince = undefined;
    outcomes?.forEach((outcome, index) => {
      if ('error' in outcome) batch[index]?.reject(outcome.error);
      else batch[index]?.resolve(outcome.result);
    });
    return true;
  }
}
