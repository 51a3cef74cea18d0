/** Processes that read for this one, a few at a time: started when they are needed, ended at a deadline. */

import { deadlineExceeded, tooManyExports, unavailable } from '../faults.ts';
import type { Deadline } from '../storage.ts';
import { Emptying } from './emptying.ts';
import { type Launch, StatementProcess } from './process.ts';

/** More would only take turns on the same disk and the same processors. */
const MOST_READERS = 2;
/** More than can be served within any deadline; whoever comes then is told at once. */
const MOST_WAITING = 64;
const IDLE_MS = 30_000;
/** Those that are read from for as long as somebody takes an export. */
const MOST_APART = 10;
/**
 * How long none is begun, at the most, for the log to be emptied: most of those that are under way have ended by then. Twice as
 * long where it has grown to twice what it may have, and then no longer: somebody may go on for hours, in a process that is not known of.
 */
const PAUSE_MS = 2_000;
const LONGEST_PAUSE_MS = 4_000;
const PAUSE_POLL_MS = 50;
/** Where others keep it from being emptied, they may do so for long. */
const PAUSE_AGAIN_MS = 30_000;

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
  readonly #logLength: () => number;
  #emptying: Emptying | undefined;
  /** Whether those that come wait until the log has been emptied. */
  #isPaused = false;
  #pauseAgain = 0;

  /** `logLength`: of what it may have, which it grows beyond where there is always somebody who reads from it. */
  constructor(launch: Launch, logLength: () => number) {
    this.#launch = launch;
    this.#logLength = logLength;
  }

  /** Lends a reader for as long as the work takes, but not beyond the deadline: then it is ended. */
  async lend<T>(deadline: Deadline, work: (reader: StatementProcess) => Promise<T>): Promise<T> {
    const length = this.#logLength();
    if (length >= 1) void this.#pause(Math.min(PAUSE_MS * length, LONGEST_PAUSE_MS));
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
    const closed = unavailable('The database is closed.');
    // Or they would be given new ones, that nobody ends.
    for (const { fail } of this.#waiting.splice(0)) fail(closed);
    this.#emptying?.end();
    for (const reader of [...this.#all, ...this.#apart]) reader.end(closed);
  }

  /**
   * Two that read for long, one beginning before the other has ended, and the log would never begin from its start again: it would
   * grow by all that is written, until the disk is full.
   */
  async #pause(mostMs: number): Promise<void> {
    const now = performance.now();
    if (this.#emptying || this.#apart.size > 0 || now < this.#pauseAgain) return;
    try {
      this.#emptying = new Emptying(this.#launch);
      await this.#emptying.carryOver();
      this.#isPaused = true;
      const until = performance.now() + mostMs;
      while (this.#all.size > this.#idle.size || !(await this.#emptying.empty())) {
        if (performance.now() > until) throw new Error('somebody goes on reading');
        await Bun.sleep(PAUSE_POLL_MS);
      }
    } catch {
      // Until then there is room for it, or whoever writes is told.
      this.#pauseAgain = performance.now() + PAUSE_AGAIN_MS;
    }
    this.#emptying?.end();
    this.#emptying = undefined;
    this.#isPaused = false;
    this.#goOn();
  }

  #goOn(): void {
    while (this.#waiting.length > 0) {
      let reader: StatementProcess | undefined;
      try {
        reader = this.#free();
      } catch (error) {
        for (const { fail } of this.#waiting.splice(0)) fail(error);
        return;
      }
      const next = reader && this.#waiting.shift();
      if (!reader || !next) return;
      this.#give(next, reader);
    }
  }

  /** An idle one, or a new one where there is a place for it. */
  #free(): StatementProcess | undefined {
    if (this.#isPaused) return undefined;
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
    const next = this.#isPaused ? undefined : this.#waiting.shift();
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
