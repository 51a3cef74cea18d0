/** Which operations of a WebSocket are asked for: a few at a time, in their order, and none while its client does not read. */

import type { DuetError } from '../base/errors.ts';
import type { BodyLimits } from '../http/body.ts';

/** Short answers count nowhere until they are sent. */
const ASKED_TOGETHER = 4;

/** Tells that an answer is sent, or goes on. */
type Leave = () => void;

export class SocketQueue {
  readonly #limits: BodyLimits;
  readonly #close: () => void;
  readonly #waiting = new Set<() => void>();
  #isPaused = false;
  #asked = 0;
  /** Bytes of bodies that wait. */
  #held = 0;

  /** `close` ends the socket for what waits. */
  constructor(limits: BodyLimits, close: () => void) {
    this.#limits = limits;
    this.#close = close;
  }

  pause(): void {
    this.#isPaused = true;
  }

  resume(): void {
    this.#isPaused = false;
    this.#next();
  }

  /** Undefined where it has to wait. */
  enter(): Leave | undefined {
    return this.#isOpen ? this.#begin() : undefined;
  }

  /**
   * For its turn, or until it is over. Meanwhile the body counts as one that is still arriving: a client that asks and does not
   * read must not fill the memory.
   */
  async wait(body: string, over: AbortSignal): Promise<Leave> {
    const limits = this.#limits;
    const { waits } = limits;
    const bytes = Buffer.byteLength(body);
    const { promise, resolve } = Promise.withResolvers<Leave>();
    const give = () => resolve(this.#begin());
    this.#waiting.add(give);
    const end = () => {
      if (this.#waiting.delete(give)) give();
    };
    over.addEventListener('abort', end, { once: true });
    const begin = () => ({
      limits,
      bytes,
      until: performance.now() + limits.bodyTime,
      end: ({ code }: DuetError) => {
        waits.delete(wait);
        if (code !== 'BODY_TOO_SLOW' || this.#isPaused) {
          this.#close();
          return;
        }
        // Who reads waits for operations of its own, each of which has a deadline.
        wait = begin();
        waits.add(wait);
      },
    });
    let wait = begin();
    this.#held += bytes;
    waits.add(wait);
    if (this.#isPaused && this.#held > limits.body) this.#close();
    const leave = await promise;
    this.#held -= bytes;
    waits.delete(wait);
    return leave;
  }

  get #isOpen(): boolean {
    return !this.#isPaused && this.#asked < ASKED_TOGETHER;
  }

  #begin(): Leave {
    this.#asked++;
    let isHere = true;
    return () => {
      if (!isHere) return;
      isHere = false;
      this.#asked--;
      this.#next();
    };
  }

  #next(): void {
    for (const give of this.#waiting) {
      if (!this.#isOpen) return;
      this.#waiting.delete(give);
      give();
    }
  }
}
