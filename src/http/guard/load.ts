/** How much is under way, and whether more can be taken on: who is turned away at once can go elsewhere at once. */

import { DuetError } from '../../base/errors.ts';
import type { Metrics } from '../../base/metrics.ts';
import type { Connections } from './address.ts';

const TICK_MS = 100;
/**
 * In how much of the time that they may wait requests are worked on while there are too many: the sooner the others are
 * told, the less do those who are served wait, in queues of the system that nobody sees from here.
 */
const SHARE = 0.1;
/**
 * How long what arrives together is worked on as it is read: nobody else is heard meanwhile, a probe neither. What an ordinary
 * number of clients asks for takes less, so that its long answers are sent as fast as they can be.
 */
const AT_ONCE_MS = 50;

/** One for all: to turn somebody away must cost next to nothing, and nobody looks at where it was thrown. */
const turnedAway = new DuetError('UNAVAILABLE', 'The service is overloaded; retry in 1 s.', {
  headers: { 'Retry-After': '1' },
});

/** So many answers of the greatest length may wait for clients that do not read them. */
const UNSENT_ANSWERS = 8;

const unread = new DuetError(
  'UNAVAILABLE',
  'Too many long answers wait for clients that do not read them; retry in 1 s, or ask for less.',
  { headers: { 'Retry-After': '1' } },
);

/** So many bodies of the greatest length may be on their way at once. */
const ARRIVING_BODIES = 256;

/** Every socket may send so much at once, however many there may be. */
const LEAST_LONGEST = 64 * 1024;

/**
 * How many bytes a message over a socket may have. What has come of one that is not whole yet waits in the runtime, which tells
 * nobody of it, for as long as its client likes: all sockets together have the room of as many bodies as may be on their way.
 */
export function longestMessage({
  limitBody,
  limitStreams,
}: {
  readonly limitBody: number;
  readonly limitStreams: number;
}): number {
  const share = Math.floor((ARRIVING_BODIES * limitBody) / limitStreams);
  return Math.min(limitBody, Math.max(share, LEAST_LONGEST));
}

const crowdedOut = new DuetError(
  'UNAVAILABLE',
  'Too many bodies are on their way, and this one for the longest; retry in 1 s, and send all of it at once.',
  // What is still to come of the body must not be taken for the next request.
  { headers: { 'Retry-After': '1', Connection: 'close' } },
);

/** A long answer that was handed to the runtime, which keeps it until the client has taken it. */
interface Unsent {
  readonly request: Request;
  readonly connections: Connections;
  readonly bytes: number;
}

export class Load {
  readonly #most: number;
  readonly #mostLag: number;
  readonly #mostUnsent: number;
  readonly #mostArriving: number;
  #shed = 0;
  #unsent: Unsent[] = [];
  #unsentBytes = 0;
  /** Bytes of long answers that are still being written, and wait for their clients in between. */
  #held = 0;
  /** Whether there was more to do than could be done in time, two turns in a row; then nobody is put into a batch. */
  isOver = false;
  /** Requests that are being worked on. */
  inFlight = 0;
  /** Bytes of bodies that are being waited for, or that wait until their client reads. */
  arriving = 0;

  /** The lag is in milliseconds, the lengths of an answer and of a body in bytes. */
  constructor(most: number, mostLag: number, longest: number, longestBody: number) {
    this.#most = most;
    this.#mostLag = mostLag;
    this.#mostUnsent = UNSENT_ANSWERS * longest;
    this.#mostArriving = ARRIVING_BODIES * longestBody;
  }

  /** Told of every request, and when it came; it may be a moment before it is worked on. */
  arrive(now: number): void {
    if (loop.turn === 0) beginTurn(now);
  }

  /** Whether what arrives now may be worked on at once: the rest of what arrives in this turn is for a batch. */
  hasTime(now: number): boolean {
    return loop.turn === 0 || now - loop.turn < AT_ONCE_MS;
  }

  /** Fails before anything is done for a request, there since then, that would only make the others wait. */
  admit(since: number): void {
    if (this.inFlight <= this.#most && !this.#isLate(since)) return;
    this.#shed++;
    throw turnedAway;
  }

  get isCrowded(): boolean {
    return this.arriving > this.#mostArriving;
  }

  /** What somebody is told who has to make room. */
  crowdOut(): DuetError {
    this.#shed++;
    return crowdedOut;
  }

  /** Fails while an answer is made that is too long for the room that others, who do not read theirs, have left. */
  readonly admitLong = (bytes: number): void => {
    const most = this.#mostUnsent - this.#held - bytes;
    if (this.#unsentBytes <= most) return;
    this.#settle();
    if (this.#unsentBytes <= most) return;
    this.#shed++;
    throw unread;
  };

  /** Told of each long part of an answer that is still being written; answers what is called when it is sent. */
  readonly holdLong = (bytes: number): (() => void) => {
    this.#held += bytes;
    return () => {
      this.#held -= bytes;
    };
  };

  /** Told of every long answer. */
  hand(unsent: Unsent): void {
    this.#unsent.push(unsent);
    this.#unsentBytes += unsent.bytes;
    if (this.#unsentBytes > this.#mostUnsent) this.#settle();
  }

  /** The runtime does not tell when an answer is sent; but it knows no address any more once a request is over. */
  #settle(): void {
    this.#unsent = this.#unsent.filter(({ request, connections }) => connections.requestIP(request) !== null);
    this.#unsentBytes = this.#unsent.reduce((sum, { bytes }) => sum + bytes, 0);
  }

  /** What is read in one turn of the event loop was there when the turn began, and has waited since; or for its batch. */
  #isLate(since: number): boolean {
    if (loop.watchers === 0) return false;
    const waited = performance.now() - (loop.turn === 0 ? since : Math.min(loop.turn, since));
    if (waited > loop.longest) loop.longest = waited;
    const served = this.#mostLag * SHARE;
    // A turn can last for as long as requests keep coming: then there is none before it to compare it with.
    if (waited > 2 * this.#mostLag) this.isOver = true;
    else if (this.isOver) this.isOver = Math.max(loop.before, loop.longest) > served;
    else this.isOver = waited > this.#mostLag && loop.before > this.#mostLag;
    return this.isOver && waited > served;
  }

  tell(metrics: Metrics): void {
    metrics.add('gauge', 'duet_requests_in_flight', 'Requests being worked on.', () => this.inFlight);
    metrics.add('gauge', 'duet_unsent_bytes', 'Bytes of long answers that clients have yet to read.', () => {
      this.#settle();
      return this.#unsentBytes + this.#held;
    });
    metrics.add(
      'gauge',
      'duet_arriving_bytes',
      'Bytes of bodies that clients have yet to send in full, or whose turn comes when they read.',
      () => this.arriving,
    );
    metrics.add('counter', 'duet_requests_shed_total', 'Requests turned away for load.', () => this.#shed);
    metrics.add(
      'gauge',
      'duet_event_loop_lag_seconds',
      'How late the event loop was last.',
      () => loop.lag / 1000,
    );
  }
}

/** One for the process, as there is one event loop; milliseconds. */
const loop = {
  watchers: 0,
  /** How late it was last. */
  lag: 0,
  /** When the turn began in which requests are being worked on; 0 when there is none. */
  turn: 0,
  /**
   * How long the turn before took, or somebody had waited in it who was left to it by those before: one long step is no
   * overload, and is over when it is noticed.
   */
  before: 0,
  ended: 0,
  /** How long whoever waited longest has waited, of those in this turn. */
  longest: 0,
};

function beginTurn(now: number): void {
  if (loop.watchers === 0) return;
  // Whoever comes after a pause finds nobody waiting.
  if (now - loop.ended > TICK_MS) loop.before = 0;
  loop.turn = now;
  setImmediate(() => {
    loop.ended = performance.now();
    loop.before = Math.max(loop.ended - loop.turn, loop.longest);
    loop.turn = 0;
    loop.longest = 0;
  });
}

let clock: Timer | undefined;

/** From now on the lag of this process is known, until the last who wants to know it calls what this returns. */
export function watchLag(): () => void {
  if (loop.watchers++ === 0) clock = startClock();
  return () => {
    if (--loop.watchers === 0) clearInterval(clock);
  };
}

function startClock(): Timer {
  let due = performance.now() + TICK_MS;
  return setInterval(() => {
    const now = performance.now();
    loop.lag = Math.max(0, now - due);
    due = now + TICK_MS;
  }, TICK_MS).unref();
}
