/** A process that carries out statements on a SQLite file for this one, and is ended when they take too long. */

import type { Subprocess } from 'bun';
import { unavailable } from '../faults.ts';
import type { Row } from '../statements.ts';
import type { Answered, Asked, Fault, Part, Right, Told } from './statement-process.ts';
import { type Sent, unpacked } from './wide-rows.ts';

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

  /** Whether somebody else is writing. */
  get isBusy(): boolean {
    return this.code.startsWith('SQLITE_BUSY');
  }
}

/** How to start one: the command, without the right and the file that follow it. */
export interface Launch {
  readonly command: readonly string[];
  readonly path: string;
}

interface Asker {
  readonly resolve: (rows: readonly Row[][]) => void;
  readonly reject: (why: Error) => void;
  /** What has come so far. */
  readonly parts: Part[];
}

/** One process, which answers in the order that it is asked in. */
export class StatementProcess {
  readonly #process: Subprocess;
  readonly #whenEnded: (ended: StatementProcess) => void;
  readonly #waiting: Asker[] = [];
  /** Why nobody is answered any more once it has ended by itself. */
  readonly #gone: Error;
  #ended: Error | undefined;

  constructor({ command, path }: Launch, right: Right, whenEnded: (ended: StatementProcess) => void) {
    this.#whenEnded = whenEnded;
    this.#gone = unavailable(`The process that is the database's ${right} has ended.`);
    try {
      this.#process = Bun.spawn([...command, right, path], {
        stdio: ['ignore', 'inherit', 'inherit'],
        serialization: 'json',
        ipc: (sent: Answered<Sent> | Part<Sent> | string) => this.#heard(sent),
        onExit: () => this.end(this.#gone),
      });
    } catch (cause) {
      // The system has no room for another process.
      throw unavailable(`The process that is the database's ${right} cannot be started.`, cause);
    }
    this.#tell({ parent: process.pid });
  }

  get ended(): boolean {
    return this.#ended !== undefined;
  }

  /** When the system has taken back what it held, its locks too. */
  get exited(): Promise<unknown> {
    return this.#process.exited;
  }

  /** The rows of each statement; one that fails leaves out those behind it. */
  ask(group: readonly Asked[]): Promise<readonly Row[][]> {
    if (this.#ended) return Promise.reject(this.#ended);
    return new Promise((resolve, reject) => {
      this.#waiting.push({ resolve, reject, parts: [] });
      try {
        this.#tell(group);
      } catch {
        // That it has ended is known to the runtime before it is told.
        this.end(this.#gone);
      }
    });
  }

  /** A transaction that is open is rolled back. */
  end(why: Error): void {
    if (this.#ended) return;
    this.#ended = why;
    this.#process.kill('SIGKILL');
    for (const { reject } of this.#waiting.splice(0)) reject(why);
    this.#whenEnded(this);
  }

  #heard(sent: Answered<Sent> | Part<Sent> | string): void {
    const heard: Answered<Sent> | Part<Sent> = typeof sent === 'string' ? JSON.parse(sent) : sent;
    if ('part' in heard) {
      this.#waiting[0]?.parts.push({ ...heard, part: unpacked(heard.part) });
      return;
    }
    const { rows, fault } = heard;
    const asker = this.#waiting.shift();
    if (rows) asker?.resolve(whole(asker.parts, rows.map(unpacked)));
    else asker?.reject(new ProcessFault(fault));
  }

  #tell(told: Told): void {
    this.#process.send(told);
  }
}

function whole(parts: readonly Part[], rows: readonly Row[][]): readonly Row[][] {
  if (parts.length === 0) return rows;
  return rows.map((rest, at) => [...parts.flatMap(({ part, of }) => (of === at ? part : [])), ...rest]);
}
