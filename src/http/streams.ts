/** Answers that go on: events for as long as somebody listens, `text/event-stream` (HTML Standard, section 9.2). */

import { DuetError } from '../base/errors.ts';
import type { Metrics } from '../base/metrics.ts';
import { type LongText, PART } from '../base/parts.ts';
import { SharedTurns } from '../base/turns.ts';
import type { Caller } from '../engine/caller.ts';
import type { Seat } from '../engine/journal/live.ts';
import { answer, answerWithoutBody } from './answer.ts';
import type { Exchange } from './exchange.ts';
import type { Authenticate } from './guard/authenticate.ts';
import { type Event, Rest, Untaken } from './untaken.ts';

export const EVENT_TYPE = 'text/event-stream';

/** Proxies and clients take a connection for dead on which nothing happens. */
const COMMENT_MS = 15_000;
const COMMENT = ':\n\n';
/** Who takes nothing for so long is gone, or might as well be. */
export const STALLED_MS = 30_000;
/** How often it is asked whether callers are still who they were; the guard keeps what it knows of them for a while itself. */
const CHECK_MS = 1_000;
/**
 * Bytes of its request that each stream may keep, where all that may be open do: what is asked for again and again stays in memory,
 * and values that were read take about ten times as much as the body that they came in.
 */
const KEPT_BYTES = 16 * 1024;
/** The same of an event that was begun to be sent; but there is always room for so much. */
const UNTAKEN_BYTES = 64 * 1024;
const LEAST_UNTAKEN = 16 * 1024 * 1024;

const fields = {
  'Content-Type': EVENT_TYPE,
  'Cache-Control': 'no-store',
  'X-Accel-Buffering': 'no',
} as const;

/** Events that are all there: such an answer ends by itself, so it takes no stream's place. */
export function answerEvents(text: string): Response {
  return answer(200, text, fields);
}

/**
 * Events that are there together are sent together, up to so many characters: each time something is sent takes long. What is
 * longer is sent in parts: the runtime copies what it is given, and keeps the copy for as long as the client takes nothing. So none
 * is made before it is asked for.
 */
export async function* joined<T extends string | LongText>(
  events: Iterable<T | Promise<T>>,
): AsyncGenerator<string | LongText> {
  let text = '';
  for await (const event of events) {
    if (text !== '' && (typeof event !== 'string' || text.length > PART)) {
      yield text;
      text = '';
    }
    if (typeof event === 'string') text += event;
    else yield event;
  }
  if (text !== '') yield text;
}

/** Makes events, as text or as it is sent, until it is told to stop. It says whether nothing goes on in it for now. */
export type Events = (stopped: AbortSignal, rest: (isIdle: boolean) => void) => AsyncGenerator<Event>;

/** All that are open in one application. */
export class Streams {
  readonly #most: number;
  readonly #authenticate: Authenticate | undefined;
  /** With the credentials that each was opened with. */
  readonly #open = new Map<AbortController, string | null>();
  /** Those in which nothing goes on, the longest so first. */
  readonly #idle = new Set<AbortController>();
  /** Bytes of requests that they keep. */
  #kept = 0;
  readonly #untaken: Untaken;
  /** Of long messages over sockets, which are put together one after the other. */
  readonly unread: Untaken;
  #whole: Promise<unknown> = Promise.resolve();
  #hasEnded = false;
  #check: Timer | undefined;
  /** Of those who have much to send, and of sockets that ask for much. */
  readonly turns = new SharedTurns();

  constructor(most: number, metrics: Metrics, authenticate: Authenticate | undefined) {
    this.#most = most;
    this.#authenticate = authenticate;
    const room = Math.max(LEAST_UNTAKEN, most * UNTAKEN_BYTES);
    this.#untaken = new Untaken(room);
    this.unread = new Untaken(room);
    metrics.add('gauge', 'duet_streams', 'Streams that are open.', () => this.#open.size);
  }

  /** Ends all of them: their clients go on elsewhere, from where they are. */
  end(): void {
    this.#hasEnded = true;
    for (const stream of this.#open.keys()) stream.abort();
  }

  /** Takes a place, until it is stopped; `sent`: how many bytes the body of its request has. */
  open(stopped: AbortController, caller: Caller, credentials: string | null, sent = 0): void {
    if (this.#open.size >= this.#most) this.#makeRoom();
    if (this.#hasEnded || this.#open.size >= this.#most)
      throw full(`This process has ${this.#most} streams open. Try again later.`);
    if (sent > 0 && this.#kept + sent > this.#most * KEPT_BYTES)
      throw full(
        'The requests of open streams take all the memory that they may. Send fewer values, or try again later.',
      );
    this.#kept += sent;
    const leave = () => {
      this.#open.delete(stopped);
      this.#idle.delete(stopped);
      this.#kept -= sent;
    };
    stopped.signal.addEventListener('abort', leave, { once: true });
    this.belong(stopped, caller, credentials);
  }

  /** It lasts no longer than these credentials do. */
  belong(stopped: AbortController, { claims }: Caller, credentials: string | null): void {
    this.#open.set(stopped, credentials);
    this.#checkSoon();
    const timer = lasting(claims['exp'], stopped);
    if (timer) stopped.signal.addEventListener('abort', () => clearTimeout(timer), { once: true });
  }

  /** Whether nothing goes on in it for now, as in a socket that asks for nothing. */
  rest(stopped: AbortController, isIdle: boolean): void {
    this.#idle.delete(stopped);
    if (isIdle && this.#open.has(stopped)) this.#idle.add(stopped);
  }

  /** Nobody needs an account to open sockets and to ask for nothing: these must not keep others from being told. */
  #makeRoom(): void {
    const [longest] = this.#idle;
    longest?.abort();
  }

  answer({ request, caller, failed }: Exchange, events: Events, sent?: number): Response {
    if (request.method === 'HEAD') return answerWithoutBody(200, fields);
    const stopped = new AbortController();
    this.open(stopped, caller, request.headers.get('Authorization'), sent);
    const made = events(stopped.signal, (isIdle) => this.rest(stopped, isIdle));
    const body = bodyOf(made, stopped, failed, this.turns, this.#untaken);
    // Whoever has gone while the answer was made would not be heard to go.
    if (request.signal.aborted) stopped.abort();
    request.signal.addEventListener('abort', () => stopped.abort(), { once: true });
    return answer(200, body, fields);
  }

  /** An answer that is kept up to date. Whatever becomes of the stream, the seat is left. */
  answerLive(exchange: Exchange, seat: Seat, sent?: number): Response {
    exchange.spend?.(seat.units);
    if (exchange.request.method === 'HEAD') seat.leave();
    try {
      const events: Events = (stopped) => {
        stopped.addEventListener('abort', seat.leave, { once: true });
        return seat.follow(stopped);
      };
      return this.answer(exchange, events, sent);
    } catch (error) {
      seat.leave();
      throw error;
    }
  }

  /** One after the other, and when there is room for what it makes; answers what is called when it is sent. */
  async whole(): Promise<() => void> {
    const before = this.#whole;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#whole = promise;
    await before;
    await this.unread.room();
    return resolve;
  }

  #checkSoon(): void {
    const authenticate = this.#authenticate;
    if (!authenticate || this.#check || this.#open.size === 0) return;
    this.#check = setTimeout(async () => {
      await this.#endRefused(authenticate);
      this.#check = undefined;
      this.#checkSoon();
    }, CHECK_MS);
    this.#check.unref();
  }

  /** Whoever would no longer be let in, by a key that was revoked, does not stay either. */
  async #endRefused(authenticate: Authenticate): Promise<void> {
    for (const [credentials, streams] of Map.groupBy(this.#open, ([, given]) => given)) {
      if (credentials === null) continue;
      try {
        await authenticate({ headers: new Headers({ Authorization: credentials }) });
      } catch (error) {
        // A database that is away says nothing about them.
        if (!(error instanceof DuetError) || error.code !== 'UNAUTHENTICATED') continue;
        for (const [stream] of streams) stream.abort(REFUSED);
      }
    }
  }
}

function full(detail: string): DuetError {
  return new DuetError('UNAVAILABLE', detail, { headers: { 'Retry-After': '5' } });
}

/** Why a stream has ended whose caller would no longer be let in. */
const REFUSED = Symbol();

export function isRefused({ reason }: AbortSignal): boolean {
  return reason === REFUSED;
}

/** A stream is no longer good than the token that it was opened with. */
function lasting(expires: unknown, stopped: AbortController): Timer | undefined {
  if (typeof expires !== 'number') return undefined;
  // Beyond 2^31 milliseconds a timer would end at once.
  const ms = Math.min(expires * 1000 - Date.now(), 2 ** 31 - 1);
  const timer = setTimeout(() => stopped.abort(REFUSED), Math.max(0, ms));
  timer.unref();
  return timer;
}

function bodyOf(
  events: AsyncGenerator<Event>,
  stopped: AbortController,
  failed: (cause: unknown) => void,
  turns: SharedTurns,
  untaken: Untaken,
): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  const ended = new Promise<'ended'>((resolve) => {
    const end = () => {
      resolve('ended');
      // However it ends, and wherever amid its events: what waits to be asked for the next one would wait, and listen, for ever.
      events.return(undefined).catch(failed);
    };
    stopped.signal.addEventListener('abort', end, { once: true });
  });
  let next: Promise<IteratorResult<Event>> | undefined;
  /** What is still to be sent of the last. */
  let rest: Rest | undefined;
  let breakOff = () => {};
  let stalled: Timer | undefined;
  let isFirst = true;
  let isCancelled = false;
  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        breakOff = () => {
          clearTimeout(stalled);
          rest = undefined;
          untaken.set(breakOff, 0);
          isCancelled = true;
          stopped.abort();
          controller.error(new Error('the client takes nothing'));
        };
      },
      async pull(controller) {
        clearTimeout(stalled);
        try {
          if (rest) await turns.next();
          let part = rest?.next();
          if (part === undefined) {
            rest = undefined;
            // The head of an answer is sent with its first bytes.
            if (!isFirst) next ??= events.next();
            isFirst = false;
            const event = next ? await oneOf(next, ended) : COMMENT;
            if (event === 'ended' || (typeof event === 'object' && event.done)) {
              // Nobody may be there any more who could be told, not even that it is over.
              if (isCancelled) return;
              stopped.abort();
              controller.close();
              return;
            }
            if (typeof event === 'object') next = undefined;
            rest = new Rest(typeof event === 'object' ? event.value : event);
            part = rest.next();
          }
          if (isCancelled || part === undefined) return;
          untaken.set(breakOff, rest?.held ?? 0);
          // A text is encoded as it is taken: it may be one that others have, too, and few of them take all of it.
          if (typeof part === 'string') part = encoder.encode(part);
          controller.enqueue(part);
          stalled = setTimeout(breakOff, STALLED_MS);
          stalled.unref();
        } catch (error) {
          failed(error);
          untaken.set(breakOff, 0);
          stopped.abort();
          controller.error(error);
        }
      },
      cancel() {
        isCancelled = true;
        clearTimeout(stalled);
        untaken.set(breakOff, 0);
        stopped.abort();
      },
    },
    { highWaterMark: 0 },
  );
}

/** The next event, or a comment where there is none for a while. */
async function oneOf(
  next: Promise<IteratorResult<Event>>,
  ended: Promise<'ended'>,
): Promise<IteratorResult<Event> | 'ended' | typeof COMMENT> {
  let timer: Timer | undefined;
  const quiet = new Promise<typeof COMMENT>((resolve) => {
    timer = setTimeout(() => resolve(COMMENT), COMMENT_MS);
  });
  try {
    return await Promise.race([next, ended, quiet]);
  } finally {
    clearTimeout(timer);
  }
}
