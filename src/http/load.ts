/** How much is under way, and whether more can be taken on: who is turned away at once can go elsewhere at once. */

import { DuetError } from '../errors.ts';
import type { Metrics } from '../metrics.ts';

const TICK_MS = 100;

export class Load {
  readonly #most: number;
  readonly #mostLag: number;
  #shed = 0;
  /** Requests that are being worked on. */
  inFlight = 0;

  /** The lag is in milliseconds. */
  constructor(most: number, mostLag: number) {
    this.#most = most;
    this.#mostLag = mostLag;
  }

  /** Fails before anything is done for a request that would only make the others wait. */
  admit(): void {
    if (this.inFlight <= this.#most && clock.sustained <= this.#mostLag) return;
    this.#shed++;
    throw new DuetError('UNAVAILABLE', 'The service has too much to do.', {
      headers: { 'Retry-After': '1' },
    });
  }

  tell(metrics: Metrics): void {
    metrics.add('gauge', 'duet_requests_in_flight', 'Requests being worked on.', () => this.inFlight);
    metrics.add('counter', 'duet_requests_shed_total', 'Requests turned away for load.', () => this.#shed);
    metrics.add(
      'gauge',
      'duet_event_loop_lag_seconds',
      'How late the event loop was last.',
      () => clock.last / 1000,
    );
  }
}

/** One for the process, as there is one event loop; milliseconds. */
const clock = {
  last: 0,
  /** The lesser of the last two: one long step is no overload, and is over when it is noticed. */
  sustained: 0,
};

/** From now on the lag of this process is known. Only a server's is worth knowing: it turns between requests. */
export function watchLag(): void {
  let due = performance.now() + TICK_MS;
  setInterval(() => {
    const now = performance.now();
    const late = Math.max(0, now - due);
    clock.sustained = Math.min(clock.last, late);
    clock.last = late;
    due = now + TICK_MS;
  }, TICK_MS).unref();
}
