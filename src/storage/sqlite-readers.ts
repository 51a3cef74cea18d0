/** Processes that read for this one, a few at a time: started when they are needed, ended at a deadline. */

import type { Subprocess } from 'bun';
import { DuetError } from '../errors.ts';
import type { Answered, Asked, Told } from './reader-process.ts';
import { type Deadline, deadlineExceeded, type Row } from './storage.ts';

/** More would only take turns on the same disk and the same processors. */
const MOST_READERS = 2;
/** More than can be served within any deadline; whoever comes then is told at once. */
const MOST_WAITING = 64;
const IDLE_MS = 30_000;
/** Those that are read from for as long as somebody takes an export. */
const MOST_APART = 10;

/** What SQLite said in the other process. */
export class ReaderFault extends Error {
  readonly code: string;

  constructor({ code, message }: { readonly code: string; readonly message: string }) {
    super(message);
    this.code = code;
  }
}

/** One process, which answers in the order that it is asked in. */
export class Reader {
  readonly #process: Subprocess;
  readonly #whenEnded: (reader: Reader) => void;
  readonly #waiting: { resolve: (rows: readonly Row[][]) => void; reject: (why: Error) => void }[] = [];
  #ended: Error | undefined;

  /** `command` runs a process that calls serveReads. */
  constructor(command: readonly string[], whenEnded: (reader: Reader) => void) {
    this.#whenEnded = whenEnded;
    this.#process = Bun.spawn([...command], {
      stdio: ['ignore', 'inherit', 'inherit'],
      ipc: (text: string) => this.#answered(JSON.parse(text)),
      onExit: () => this.end(unavailable('The process that reads the database has ended.')),
    });
    this.#tell({ parent: process.pid });
  }

  get ended(): boolean {
    return this.#ended !== undefined;
  }

  ask(asked: readonly Asked[]): Promise<readonly Row[][]> {
    if (this.#ended) return Promise.reject(this.#ended);
    return new Promise((resolve, reject) => {
      this.#waiting.push({ resolve, reject });
      this.#tell(asked);
    });
  }

  #tell(told: Told): void {
    this.#process.send(told);
  }

  /** It only reads, so it can be killed at any point. */
  end(why: Error): void {
    if (this.#ended) return;
    this.#ended = why;
    this.#process.kill('SIGKILL');
    for (const { reject } of this.#waiting.splice(0)) reject(why);
    this.#whenEnded(this);
  }

  #answered({ rows, fault }: Answered): void {
    const first = this.#waiting.shift();
    if (rows) first?.resolve(rows);
    else first?.reject(new ReaderFault(fault));
  }
}

export class Readers {
  readonly #command: readonly string[];
  readonly #all = new Set<Reader>();
  /** Those that nobody uses, each with the timer that will end it. */
  readonly #idle = new Map<Reader, Timer>();
  readonly #waiting: ((reader: Reader) => void)[] = [];
  readonly #apart = new Set<Reader>();

  constructor(command: readonly string[]) {
    this.#command = command;
  }

  /** Lends a reader for as long as the work takes, but not beyond the deadline: then it is ended. */
  async lend<T>(deadline: Deadline, work: (reader: Reader) => Promise<T>): Promise<T> {
    const reader = this.#free() ?? (await this.#freed(deadline));
    const timer = setTimeout(() => reader.end(deadlineExceeded()), deadline - performance.now());
    try {
      return await work(reader);
    } finally {
      clearTimeout(timer);
      this.#giveBack(reader);
    }
  }

  /** A reader for work whose length others decide; whoever starts it ends it. */
  startApart(): Reader {
    if (this.#apart.size >= MOST_APART) throw unavailable('Too many exports are under way.');
    const reader = new Reader(this.#command, () => this.#apart.delete(reader));
    this.#apart.add(reader);
    return reader;
  }

  close(): void {
    for (const reader of [...this.#all, ...this.#apart]) reader.end(unavailable('The database is closed.'));
  }

  /** An idle one, or a new one where there is a place for it. */
  #free(): Reader | undefined {
    const [idle] = this.#idle;
    if (!idle) return this.#all.size < MOST_READERS ? this.#start() : undefined;
    clearTimeout(idle[1]);
    this.#idle.delete(idle[0]);
    return idle[0];
  }

  #start(): Reader {
    const reader = new Reader(this.#command, () => {
      this.#all.delete(reader);
      clearTimeout(this.#idle.get(reader));
      this.#idle.delete(reader);
    });
    this.#all.add(reader);
    return reader;
  }

  #giveBack(reader: Reader): void {
    const next = this.#waiting.shift();
    if (next) next(reader.ended ? this.#start() : reader);
    else if (!reader.ended) {
      const timer = setTimeout(() => reader.end(unavailable('The reader was idle.')), IDLE_MS);
      this.#idle.set(reader, timer.unref());
    }
  }

  #freed(deadline: Deadline): Promise<Reader> {
    if (this.#waiting.length >= MOST_WAITING) throw unavailable('Too many long reads are waiting.');
    return new Promise((resolve, reject) => {
      const give = (reader: Reader) => {
        clearTimeout(timer);
        resolve(reader);
      };
      const timer = setTimeout(() => {
        this.#waiting.splice(this.#waiting.indexOf(give), 1);
        reject(deadlineExceeded());
      }, deadline - performance.now());
      this.#waiting.push(give);
    });
  }
}

function unavailable(why: string): DuetError {
  return new DuetError('UNAVAILABLE', why, { headers: { 'Retry-After': '1' } });
}
