/** Programs that read a SQLite file through another process, which lets everybody else go on here. */

import type { Asked } from './reader-process.ts';
import { explained } from './sqlite-errors.ts';
import { type Reader, ReaderFault, Readers } from './sqlite-readers.ts';
import type { Deadline, Program, Row, Snapshot, Statement, Steps } from './storage.ts';

/** A statement as the other process is asked, and what its rows mean here. */
export interface Asking extends Asked {
  readonly decode: (rows: Row[]) => Row[];
}

const BEGIN: Asked = { sql: 'BEGIN', parameters: [] };
const COMMIT: Asked = { sql: 'COMMIT', parameters: [] };

export class Elsewhere {
  readonly #readers: Readers;
  readonly #asking: (statement: Statement) => Asking;

  /** `command` runs a process that calls serveReads. */
  constructor(command: readonly string[], asking: (statement: Statement) => Asking) {
    this.#readers = new Readers(command);
    this.#asking = asking;
  }

  read<T>(program: () => Program<T>, steps: Steps, deadline: Deadline): Promise<T> {
    return this.#readers.lend(deadline, async (reader) => {
      if (steps === 'one') return this.#drive(reader, program());
      await reader.ask([BEGIN]);
      try {
        return await this.#drive(reader, program());
      } finally {
        // Its end is not waited for, only kept in order.
        reader.ask([COMMIT]).catch((error) => reader.end(error));
      }
    });
  }

  async snapshot(): Promise<Snapshot> {
    const reader = this.#readers.startApart();
    await reader.ask([BEGIN]);
    return {
      run: (program) => this.#drive(reader, program()),
      close: async () => reader.end(new Error('the snapshot is closed')),
    };
  }

  close(): void {
    this.#readers.close();
  }

  async #drive<T>(reader: Reader, running: Program<T>): Promise<T> {
    let step = running.next();
    while (!step.done) {
      const asking = step.value.map(this.#asking);
      const asked = asking.map(({ sql, parameters }) => ({ sql, parameters }));
      const answers = await reader.ask(asked).catch((error) => {
        throw error instanceof ReaderFault ? explained(error) : error;
      });
      step = running.next(asking.map(({ decode }, index) => decode(answers[index] ?? [])));
    }
    return step.value;
  }
}
