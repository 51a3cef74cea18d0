/** Writes that arrive together, waiting to be committed together. */

import { DuetError } from '../errors.ts';
import { afterStretch } from '../turn.ts';
import { type Deadline, deadlineExceeded, type Program, type Steps } from './storage.ts';

/** More than can be served within any patience; whoever comes then is told at once. */
export const MOST_WAITING = 10_000;
/** Few enough that reads do not wait long behind them. */
const MOST_TOGETHER = 200;

export interface Waiting {
  readonly program: () => Program<unknown>;
  readonly steps: Steps;
}

/** What became of one write: its result, or why it failed. */
export type Outcome = { readonly result: unknown } | { readonly error: unknown };

interface Entry extends Waiting {
  readonly deadline: Deadline;
  readonly settle: (outcome: Outcome) => void;
}

export function tooManyWaiting(): DuetError {
  return new DuetError('UNAVAILABLE', 'Too many writes are waiting.', { headers: { 'Retry-After': '1' } });
}

export class WriteQueue {
  /** Runs and commits all of them; fails only when none of them is committed. */
  readonly #commit: (batch: readonly Waiting[]) => readonly Outcome[];
  #entries: Entry[] = [];

  constructor(commit: (batch: readonly Waiting[]) => readonly Outcome[]) {
    this.#commit = commit;
  }

  add<T>(program: () => Program<T>, steps: Steps, deadline: Deadline): Promise<T> {
    return new Promise((resolve, reject) => {
      if (this.#entries.length >= MOST_WAITING) return reject(tooManyWaiting());
      const settle = (outcome: Outcome) =>
        'error' in outcome ? reject(outcome.error) : resolve(outcome.result as T);
      this.#entries.push({ program, steps, deadline, settle });
      // After all requests that have arrived by now: those are the ones that go together.
      if (this.#entries.length === 1) afterStretch(() => this.flush());
    });
  }

  /** Nobody is told of success before the commit. */
  flush(): void {
    const now = performance.now();
    const next = this.#entries.splice(0, MOST_TOGETHER);
    if (this.#entries.length > 0) setImmediate(() => this.flush());
    // What has waited for too long is not begun: nobody may be told of a failure that then succeeds.
    for (const { deadline, settle } of next) if (deadline < now) settle({ error: deadlineExceeded() });
    const batch = next.filter(({ deadline }) => deadline >= now);
    if (batch.length === 0) return;
    let outcomes: readonly Outcome[];
    try {
      outcomes = this.#commit(batch);
    } catch (error) {
      for (const { settle } of batch) settle({ error });
      return;
    }
    batch.forEach(({ settle }, index) => {
      settle(outcomes[index] ?? { error: new Error('a write was forgotten') });
    });
  }
}
