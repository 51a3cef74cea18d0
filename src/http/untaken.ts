/** What streams have yet to send of events, and how much that may be. */

import { type LongText, PART, slicesOf } from '../base/parts.ts';

/** What is sent as a whole once it was begun to be sent. */
export type Event = string | LongText | Uint8Array;

/** What is still to be sent of an event, in parts. */
export class Rest {
  readonly #parts: Iterator<string | Uint8Array>;
  readonly #isText: boolean;
  /** The memory that it takes for this stream alone, about. */
  held: number;

  constructor(event: Event) {
    this.#isText = typeof event === 'string';
    if (event instanceof Uint8Array) {
      this.#parts = bytesOf(event);
      // Those of all who look at an answer, which counts them.
      this.held = 0;
    } else {
      this.#parts = typeof event === 'string' ? slicesOf(event) : event[Symbol.iterator]();
      this.held = typeof event === 'string' ? event.length : event.held;
    }
  }

  next(): string | Uint8Array | undefined {
    const { done, value } = this.#parts.next();
    if (done) return undefined;
    if (this.#isText) this.held -= value.length;
    return value;
  }
}

function* bytesOf(event: Uint8Array): Generator<Uint8Array> {
  for (let at = 0; at < event.length; at += PART) yield event.subarray(at, at + PART);
}

/** Who takes nothing for so long makes room for others, where there is none; milliseconds. */
const PATIENCE_MS = 250;

interface Behind {
  readonly bytes: number;
  /** When its client has last taken something. */
  readonly since: number;
}

/** What all have yet to send, by what ends each of them: it goes on from where it is when its client comes back. */
export class Untaken {
  readonly #most: number;
  /** In the order in which their clients have taken something. */
  readonly #behind = new Map<() => void, Behind>();
  #bytes = 0;

  constructor(most: number) {
    this.#most = most;
  }

  /** Told whenever its client has taken something. */
  note(end: () => void, bytes: number): void {
    this.#bytes += bytes - (this.#behind.get(end)?.bytes ?? 0);
    this.#behind.delete(end);
    if (bytes > 0) this.#behind.set(end, { bytes, since: performance.now() });
  }

  /** The same; where all have too much, whoever has taken nothing for the longest is ended. */
  set(end: () => void, bytes: number): void {
    this.note(end, bytes);
    for (const each of this.#behind.keys()) {
      if (this.#bytes <= this.#most || each === end) return;
      each();
    }
  }

  /** Waits until there is room, which whoever takes nothing meanwhile makes. */
  async room(): Promise<void> {
    while (this.#bytes > this.#most) {
      const [[end, { since }] = [() => {}, { since: 0 }]] = this.#behind;
      const ms = since + PATIENCE_MS - performance.now();
      if (ms > 0) await Bun.sleep(ms);
      else {
        this.note(end, 0);
        end();
      }
    }
  }
}
