/** Programs that read a SQLite file through another process, which lets everybody else go on here. */

import type { Deadline, Program, Snapshot, Steps } from '../storage.ts';
import { ended, type Trace } from '../trace.ts';
import { asking, control, meant } from './asking.ts';
import { explained } from './errors.ts';
import { type Launch, ProcessFault, type StatementProcess } from './process.ts';
import { Readers } from './readers.ts';

const BEGIN = control('BEGIN');
const COMMIT = control('COMMIT');

export class ProcessReader {
  readonly #readers: Readers;
  readonly #trace: Trace | undefined;

  constructor(launch: Launch, trace: Trace | undefined) {
    this.#readers = new Readers(launch);
    this.#trace = trace;
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

  get state(): Readers['state'] {
    return this.#readers.state;
  }

  close(): void {
    this.#readers.close();
  }

  async #drive<T>(reader: StatementProcess, running: Program<T>): Promise<T> {
    let step = running.next();
    while (!step.done) {
      const asked = step.value.map(asking);
      const begun = this.#trace && asked.map(({ sql }) => this.#trace?.(sql));
      const answers = await reader
        .ask(asked)
        .catch((error) => {
          throw error instanceof ProcessFault ? explained(error) : error;
        })
        .finally(() => ended(begun));
      step = running.next(await meant(asked, answers));
    }
    return step.value;
  }
}
