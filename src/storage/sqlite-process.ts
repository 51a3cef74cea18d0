/** A process that carries out statements on a SQLite file for this one, and is ended when they take too long. */

import type { Subprocess } from 'bun';
import { DuetError } from '../errors.ts';
import type { Answered, Asked, Fault, Right, Told } from './statement-process.ts';
import type { Row } from './storage.ts';

/** What SQLite said in the other process. */
export class ProcessFault extends Error {
  readonly code: string;
  /** Which statement of its group. */
  readonly at: number;
  readonly inTransaction: boolean;

  constructor({ code, message, at, inTransaction }: Fault) {
    super(message);
    this.code = code;
    this.at = at;
    this.inTransaction = inTransaction;
  }
}

/** How to start one: the command, without the right and the file that follow it. */
export interface Launch {
  readonly command: readonly string[];
  readonly path: string;
}

/** One process, which answers in the order that it is asked in. */
export class StatementProcess {
  readonly #process: Subprocess;
  readonly #whenEnded: (ended: StatementProcess) => void;
  readonly #waiting: { resolve: (answers: readonly Answered[]) => void; reject: (why: Error) => void }[] = [];
  #ended: Error | undefined;
  #isProven = false;
  #version: unknown;
  #isAmongItself = false;

  constructor({ command, path }: Launch, right: Right, whenEnded: (ended: StatementProcess) => void) {
    this.#whenEnded = whenEnded;
    try {
      this.#process = Bun.spawn([...command, right, path], {
        stdio: ['ignore', 'inherit', 'inherit'],
        serialization: 'json',
        ipc: (sent: readonly Answered[] | string) => this.#heard(sent),
        onExit: () => this.end(unavailable(`The process that is the database's ${right} has ended.`)),
      });
    } catch (cause) {
      // The system has no room for another process.
      throw unavailable(`The process that is the database's ${right} cannot be started.`, cause);
    }
    this.#tell({ parent: process.pid });
  }

  /** Whether it has ever answered: one that has not may never do so. */
  get isProven(): boolean {
    return this.#isProven;
  }

  get ended(): boolean {
    return this.#ended !== undefined;
  }

  /** When the system has taken back what it held, its locks too. */
  get exited(): Promise<unknown> {
    return this.#process.exited;
  }

  /** Whether nobody else seems to be writing, as far as this process has seen. */
  get isAmongItself(): boolean {
    return this.#isAmongItself;
  }

  /** Whether the database is in the version that it was in when this was last asked. */
  leftAt(version: unknown): boolean {
    const isSame = version === this.#version;
    this.#isAmongItself = isSame || this.#version === undefined;
    this.#version = version;
    return isSame;
  }

  /** Groups stand for themselves: a statement that fails leaves out those behind it in its own group only. */
  askAll(groups: readonly (readonly Asked[])[]): Promise<readonly Answered[]> {
    if (this.#ended) return Promise.reject(this.#ended);
    return new Promise((resolve, reject) => {
      this.#waiting.push({ resolve, reject });
      this.#tell(groups);
    });
  }

  async ask(group: readonly Asked[]): Promise<readonly Row[][]> {
    const [answered] = await this.askAll([group]);
    return rowsOf(answered);
  }

  /** A transaction that is open is rolled back. */
  end(why: Error): void {
    if (this.#ended) return;
    this.#ended = why;
    this.#process.kill('SIGKILL');
    for (const { reject } of this.#waiting.splice(0)) reject(why);
    this.#whenEnded(this);
  }

  #heard(sent: readonly Answered[] | string): void {
    this.#isProven = true;
    this.#waiting.shift()?.resolve(typeof sent === 'string' ? JSON.parse(sent) : sent);
  }

  #tell(told: Told): void {
    this.#process.send(told);
  }
}

export function rowsOf(answered: Answered | undefined): readonly Row[][] {
  if (answered?.rows) return answered.rows;
  throw answered ? new ProcessFault(answered.fault) : new Error('a group of statements has no answer');
}

/** The cause is for the log. */
export function unavailable(why: string, cause?: unknown): DuetError {
  const error = new DuetError('UNAVAILABLE', why, { headers: { 'Retry-After': '1' } });
  return cause === undefined ? error : Object.assign(error, { cause });
}
