/** When messages of a WebSocket are read, and operations asked for: a few at a time, in their order, none while its client does not read. */

import { inBatch } from '../base/batch.ts';
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
  /** Bytes of bodies and messages that wait. */
  #held = 0;
  /** Messages that wait to be read. */
  #unread = 0;

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

  /** Whether what comes now has to be read behind others. */
  get isBehind(): boolean {
    return this.#unread > 0;
  }

  /** Reads a message in its batch: to parse a long one takes as long as many requests do, and there can be hundreds in a turn. */
  later(text: string, read: () => void): void {
    this.#unread++;
    const release = this.#hold(text);
    inBatch(() => {
      this.#unread--;
      release();
      read();
    });
  }

  /** Undefined where it has to wait. */
  enter(): Leave | undefined {
    return this.#isOpen ? this.#begin() : undefined;
  }

  /** For its turn, or until it is over. */
  async wait(body: string, over: AbortSignal): Promise<Leave> {
    const { promise, resolve } = Promise.withResolvers<Leave>();
    const give = () => resolve(this.#begin());
    this.#waiting.add(give);
    const end = () => {
      if (this.#waiting.delete(give)) give();
    };
    over.addEventListener('abort', end, { once: true });
    const release = this.#hold(body);
    const leave = await promise;
    release();
    return leave;
  }

  /**
   * What waits counts as a body that is still arriving, until the answer is called: a client that asks and does not read must not
   * fill the memory.
   */
  #hold(text: string): () => void {
    const limits = this.#limits;
    const { waits } = limits;
    const bytes = Buffer.byteLength(text);
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
    return () => {
      this.#held -= bytes;
      waits.delete(wait);
    };
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
