/** Follows the journal for webhooks: what they are to be told of becomes jobs, which are run here, beside all other nodes. */

import type { Metrics } from '../../base/metrics.ts';
import type { Observe } from '../../base/observe.ts';
import type { Model } from '../../schema/model.ts';
import { counted } from '../jobs/counted.ts';
import { JobRunner } from '../jobs/runner.ts';
import type { Journal } from '../journal/journal.ts';
import { eventIn } from './events.ts';
import { discardLeft } from './left.ts';
import { type Receiver, send, Undelivered } from './sending.ts';
import { allKnown, countWaiting, follow, isBehind, note } from './stored.ts';

/** Whoever commits looks at once: this is for what a node that died has left, and for the webhooks themselves. */
const LOOK_MS = 1_000;
/** While there are none. */
const IDLE_MS = 3_000;
const PATIENCE_MS = 30_000;
/** How many deliveries one receiver gets at a time from one process. */
const EACH = 16;

const [SECOND, MINUTE, HOUR] = [1_000, 60_000, 3_600_000];
const PAUSES = [
  ...[5 * SECOND, 5 * MINUTE, 30 * MINUTE],
  ...[2, 5, 10, 14, 20, 24].map((hours) => hours * HOUR),
];

/** Never before the receiver wants it, and not all at the same moment that failed together. */
export function pauseAfter(attempt: number, why: unknown): number | undefined {
  const given = why instanceof Undelivered ? why : undefined;
  const pause = PAUSES[attempt - 1];
  if (pause === undefined || given?.isGone) return undefined;
  return Math.max(pause, given?.retryAfter ?? 0) * (1 + 0.2 * Math.random());
}

interface Options {
  readonly journal: Journal;
  readonly model: Model;
  /** How many milliseconds one attempt may take. */
  readonly timeout: number;
  readonly observe: Observe;
}

export class Webhooks {
  readonly #options: Options;
  readonly #receivers = new Map<string, Receiver & { readonly timeout: number }>();
  readonly #runner: JobRunner<Receiver & { readonly timeout: number }>;
  #isStopped = false;
  /** What was known of them when they were last looked at. */
  #states = '';
  /** Whether deliveries may wait that nobody is to be told of any more: a node that died may have left some. */
  #mayBeLeft = true;
  #discarding: Promise<void> | undefined;
  /** The webhook that was come to last, of those that something was to be told to. */
  #last: string | undefined;
  #isWoken = false;
  #wake: () => void = () => {};
  #loop: Promise<void> | undefined;

  constructor(options: Options) {
    this.#options = options;
    this.#runner = new JobRunner({
      storage: options.journal.storage,
      hooks: this.#receivers,
      each: EACH,
      retries: { most: PAUSES.length + 1, pauseAfter },
      run: (receiver, { hook, given }, { attempt, signal }) =>
        send(receiver, eventIn(given), attempt, signal).catch((error) => {
          // It wants no more: what waits is not sent until that is noted.
          if (error instanceof Undelivered && error.isGone) this.#receivers.delete(hook);
          throw error;
        }),
      note,
      observe: options.observe,
    });
  }

  start(): void {
    this.#options.journal.onCommit = () => {
      if (this.#receivers.size === 0) return;
      this.#isWoken = true;
      this.#wake();
    };
    this.#loop ??= this.#work();
    this.#runner.start();
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#wake();
    await this.#loop;
    await this.#discarding;
    await this.#runner.stop();
  }

  tell(metrics: Metrics): void {
    const { storage } = this.#options.journal;
    const waiting = counted(storage, () => countWaiting([...this.#receivers.keys()]), {
      count: 0,
      since: null,
    });
    metrics.add(
      'gauge',
      'duet_webhook_deliveries_waiting',
      'Deliveries of webhooks that are to be made, by all nodes.',
      () => waiting().count,
    );
    metrics.add('gauge', 'duet_webhook_lag_seconds', 'For how long the oldest of them waits.', () => {
      const { since } = waiting();
      return since === null ? 0 : Math.max(0, Date.now() - since) / 1000;
    });
    const { outcomes } = this.#runner;
    metrics.addEach(
      'counter',
      'duet_webhook_deliveries_total',
      'Attempts at deliveries of webhooks: done, to be tried again, or failed for good.',
      'outcome',
      () => outcomes,
    );
  }

  async #work(): Promise<void> {
    while (!this.#isStopped) {
      this.#isWoken = false;
      try {
        await this.#look();
      } catch (error) {
        if (!this.#isStopped) this.#options.observe({ event: 'failure', cause: error });
        await this.#pause(LOOK_MS);
      }
      if (!this.#isStopped && !this.#isWoken) await this.#pause(this.#receivers.size > 0 ? LOOK_MS : IDLE_MS);
    }
  }

  async #look(): Promise<void> {
    const { journal, model, timeout, observe } = this.#options;
    const { storage, positions } = journal;
    const { receivers, replayed, states } = await storage.read(allKnown, 'many', patience());
    if (states !== this.#states) this.#mayBeLeft = true;
    this.#states = states;
    for (const hook of this.#receivers.keys()) if (!receivers.has(hook)) this.#receivers.delete(hook);
    for (const [hook, receiver] of receivers) this.#receivers.set(hook, { ...receiver, timeout });
    if (this.#mayBeLeft) this.#discarding ??= this.#discard(replayed);
    if (receivers.size === 0) return;
    await positions.ready();
    const isLate = () => storage.read(() => isBehind(model, positions), 'many', patience());
    let mayMove = true;
    while (mayMove && !this.#isStopped && (await isLate())) {
      const next = () => follow(model, positions, this.#last);
      const { hasMoved, lost, last } = await storage.write(next, 'many', patience());
      this.#last = last;
      mayMove = hasMoved;
      for (const name of lost)
        observe({
          event: 'notice',
          message: `the webhook ${name} was behind for so long that changes are no longer kept: it is not told of them`,
        });
      this.#runner.wake();
    }
  }

  /** Beside all else: there may be many, and the others are told meanwhile. */
  async #discard(replayed: ReadonlyMap<string, number>): Promise<void> {
    this.#mayBeLeft = false;
    try {
      await discardLeft(this.#options.journal.storage, replayed, () => this.#isStopped);
    } catch (error) {
      this.#mayBeLeft = true;
      if (!this.#isStopped) this.#options.observe({ event: 'failure', cause: error });
    }
    this.#discarding = undefined;
    if (replayed.size === 0) return;
    // They are in use now.
    this.#isWoken = true;
    this.#wake();
  }

  /** Until somebody wakes it, at the latest after so long. */
  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      timer.unref();
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}

function patience(): number {
  return performance.now() + PATIENCE_MS;
}
