/** An answer that is kept up to date, and those who look at it. */

import { type DuetError, isPassing } from '../../base/errors.ts';
import type { Resource } from '../../schema/model.ts';
import type { Ask, Read } from '../operation.ts';
import type { Permitted } from '../policy/permitted.ts';
import type { ChangesRead } from './changes-operation.ts';
import type { Change } from './showing.ts';
import { Sources } from './sources.ts';
import { Waiting } from './waiting.ts';

export interface Made {
  /** As it is told. */
  readonly text: string;
  /** What it costs beyond the request for it. */
  readonly units: number;
}

type Readable = Read | Ask | ChangesRead;

/** An answer that somebody wants to be kept up to date. */
export interface Watched {
  /** Makes it as a plain request would get it now, and tells what is read for it, and what was asked for. */
  readonly make: (noteRead: (permitted: Permitted<Readable>, asked: Readable) => void) => Promise<Made>;
  /** What is told when it can no longer be made. */
  readonly failed: (error: unknown) => string;
}

interface Failure {
  readonly error: unknown;
}

/** What is told where types keep no changes; the caller has asked for those that are named. */
export type Refuse = (unkept: readonly Resource[], named: readonly Resource[]) => DuetError;

/** Bytes that an answer takes in memory beside its own, and each who looks at it: what is asked for, and whoever waits. */
export const BESIDE_ANSWER = 4096;

const encoder = new TextEncoder();

/** An answer and those who look at it. */
export class View {
  readonly name: string;
  /** Who has asked for it first, and waits for its turn with what else it has asked for. */
  readonly owner: unknown;
  readonly #watched: Watched;
  readonly #resources: readonly Resource[];
  readonly #refuse: Refuse;
  readonly waiting = new Waiting();
  seats = 0;
  /** What it was last counted with. */
  counted = 0;
  /** As it is sent: encoded once, and shared by all to whom it is. */
  sent: Uint8Array = new Uint8Array();
  /** What it has cost. */
  units = 0;
  /** Grows when the answer is another. */
  version = 0;
  /** How often it was made, or was tried to be. */
  runs = 0;
  state: 'resting' | 'waiting' | 'running' = 'resting';
  /** Whether a change has come since it was begun to be made. */
  isStale = false;
  /** Why there is none, and will be none. */
  failure: Failure | undefined;
  /** Why there is none now; those who look at it have been told. */
  problem: Failure | undefined;
  hasEnded = false;
  /** When it was its turn last, and how long it is not its turn again; milliseconds. */
  due = Number.NEGATIVE_INFINITY;
  pause = 0;
  timer: Timer | undefined;
  #sources: Sources | undefined;
  /** Whether nothing was read for it, so that it will never be another: such as one that is denied. */
  isFixed = false;

  constructor(
    name: string,
    owner: unknown,
    watched: Watched,
    resources: readonly Resource[],
    refuse: Refuse,
  ) {
    this.name = name;
    this.owner = owner;
    this.#watched = watched;
    this.#resources = resources;
    this.#refuse = refuse;
  }

  /** Bytes that each takes who looks at it, as whoever is slow keeps one that is no longer shared; and so does the answer itself. */
  get share(): number {
    return BESIDE_ANSWER + this.sent.byteLength;
  }

  get bytes(): number {
    return this.share * (1 + this.seats);
  }

  mayBeAlteredBy(change: Change): boolean {
    return this.#sources?.has(change) ?? true;
  }

  /** Answers whether that failed for now only. */
  async make(): Promise<boolean> {
    const sources = new Sources(this.#resources);
    let refusal: DuetError | undefined;
    let isFixed = true;
    try {
      const made = await this.#watched.make((permitted, asked) => {
        isFixed = false;
        sources.add(permitted);
        const { unkept } = sources;
        if (unkept.length === 0) return;
        const named = new Sources(this.#resources);
        // A function looks at what nobody asks for.
        if (asked.do !== 'ask') named.add(asked);
        refusal ??= this.#refuse(unkept, named.unkept);
        throw refusal;
      });
      if (refusal) throw refusal;
      this.#sources = sources;
      this.isFixed = isFixed;
      this.problem = undefined;
      this.#show(made);
    } catch (error) {
      // Whoever waits for the first answer is told by its status.
      if (!this.#sources) this.failure = { error };
      // It says nothing about the answer.
      else if (isPassing(error)) return true;
      else {
        this.problem = { error };
        this.#show({ text: this.#watched.failed(error), units: 0 });
      }
    }
    return false;
  }

  #show({ text, units }: Made): void {
    const sent = encoder.encode(text);
    if (this.version > 0 && Buffer.compare(sent, this.sent) === 0) return;
    this.sent = sent;
    this.units = units;
    this.version++;
  }

  async *follow(stopped: AbortSignal): AsyncGenerator<Uint8Array> {
    let seen = 0;
    const isOver = () => this.hasEnded || this.failure !== undefined;
    while (!stopped.aborted && !isOver()) {
      if (this.version !== seen) {
        seen = this.version;
        yield this.sent;
      } else await this.waiting.until(() => this.version !== seen || isOver(), stopped);
    }
    if (this.failure) throw this.failure.error;
  }
}
