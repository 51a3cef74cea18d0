/** Processes that read for this one, a few at a time: started when they are needed, ended at a deadline. */

import { deadlineExceeded, tooManyExports, unavailable } from '../faults.ts';
import type { Deadline } from '../storage.ts';
import { type Launch, StatementProcess } from './process.ts';

/** More would only take turns on the same disk and the same processors. */
const MOST_READERS = 2;
/** More than can be served within any deadline; whoever comes then is told at once. */
const MOST_WAITING = 64;
const IDLE_MS = 30_000;
/** Those that are read from for as long as somebody takes an export. */
const MOST_APART = 10;

interface Waiter {
  readonly give: (reader: StatementProcess) => void;
  readonly fail: (why: unknown) => void;
}

export class Readers {
  readonly #launch: Launch;
  readonly #all = new Set<StatementProcess>();
  /** Those that nobody uses, each with the timer that will end it. */
  readonly #idle = new Map<StatementProcess, Timer>();
  readonly #waiting: Waiter[] = [];
  readonly #apart = new Set<StatementProcess>();

  constructor(launch: Launch) {
    this.#launch = launch;
  }

  /** Lends a reader for as long as the work takes, but not beyond the deadline: then it is ended. */
  async lend<T>(deadline: Deadline, work: (reader: StatementProcess) => Promise<T>): Promise<T> {
    const reader = this.#free() ?? (await this.#freed(deadline));
    const timer = setTimeout(() => reader.end(deadlineExceeded()), Math.max(0, deadline - performance.now()));
    try {
      return await work(reader);
    } finally {
      clearTimeout(timer);
      this.#giveBack(reader);
    }
  }

  /** A reader for work whose length others decide; whoever starts it ends it. */
  startApart(): StatementProcess {
    if (this.#apart.size >= MOST_APART) throw tooManyExports();
    const reader = new StatementProcess(this.#launch, 'reader', () => this.#apart.delete(reader));
    this.#apart.add(reader);
    return reader;
  }

  /** Processes by what they do, and reads that wait for one. */
  get state(): { readonly idle: number; readonly busy: number; readonly waiting: number } {
    const idle = this.#idle.size;
    return { idle, busy: this.#all.size + this.#apart.size - idle, waiting: this.#waiting.length };
  }

  close(): void {
    for (const reader of [...this.#all, ...this.#apart]) reader.end(unavailable('The database is closed.'));
  }

  /** An idle one, or a new one where there is a place for it. */
  #free(): StatementProcess | undefined {
    const [idle] = this.#idle;
    if (!idle) return this.#all.size < MOST_READERS ? this.#start() : undefined;
    clearTimeout(idle[1]);
    this.#idle.delete(idle[0]);
    return idle[0];
  }

  #start(): StatementProcess {
    const reader = new StatementProcess(this.#launch, 'reader', () => {
      this.#all.delete(reader);
      clearTimeout(this.#idle.get(reader));
      this.#idle.delete(reader);
    });
    this.#all.add(reader);
    return reader;
  }

  #giveBack(reader: StatementProcess): void {
    const next = this.#waiting.shift();
    if (next) this.#give(next, reader);
    else if (!reader.ended) {
      const timer = setTimeout(() => reader.end(unavailable('The reader was idle.')), IDLE_MS);
      this.#idle.set(reader, timer.unref());
    }
  }

  #give(next: Waiter, reader: StatementProcess): void {
    try {
      next.give(reader.ended ? this.#start() : reader);
    } catch (error) {
      next.fail(error);
      // Without any reader, nobody gives one back.
      if (this.#all.size === 0) for (const { fail } of this.#waiting.splice(0)) fail(error);
    }
  }

  #freed(deadline: Deadline): Promise<StatementProcess> {
    if (this.#waiting.length >= MOST_WAITING)
      throw unavailable('Too many long reads are queued; retry in 1 s.');
    return new Promise((resolve, reject) => {
      const waiter: Waiter = {
        give: (reader) => {
          clearTimeout(timer);
          resolve(reader);
        },
        fail: (why) => {
          clearTimeout(timer);
          reject(why);
        },
      };
      const late = () => {
        this.#waiting.splice(this.#waiting.indexOf(waiter), 1);
        reject(deadlineExceeded());
      };
      const timer = setTimeout(late, Math.max(0, deadline - performance.now()));
      this.#waiting.push(waiter);
    });
  }
}
