/** Programs that read a SQLite file through another process, which lets everybody else go on here. */

import type { Deadline, Program, Snapshot, Steps } from '../storage.ts';
import { ended, type Trace } from '../trace.ts';
import { asking, control, meant } from './asking.ts';
import { explained } from './errors.ts';
import { type Launch, ProcessFault, type StatementProcess } from './process.ts';
import { Readers } from './readers.ts';
import { compiler } from './runner.ts';

const BEGIN = control('BEGIN');
const COMMIT = control('COMMIT');

export class ProcessReader {
  readonly #readers: Readers;
  readonly #trace: Trace | undefined;
  #look: () => void;

  /** `look` finds out what another process has given up. */
  constructor(launch: Launch, trace: Trace | undefined, look: () => void, logLength: () => number) {
    this.#readers = new Readers(launch, logLength);
    this.#trace = trace;
    this.#look = look;
  }

  read<T>(program: () => Program<T>, steps: Steps, deadline: Deadline): Promise<T> {
    return this.#readers.lend(deadline, async (reader) => {
      if (steps === 'one') return this.#run(reader, program);
      await reader.ask([BEGIN]);
      try {
        return await this.#run(reader, program);
      } finally {
        // What SQLite has ended by itself fails here, and not for whoever comes next.
        await reader.ask([COMMIT]).catch((error) => reader.end(error));
      }
    });
  }

  async snapshot(): Promise<Snapshot> {
    const reader = this.#readers.startApart();
    await reader.ask([BEGIN]);
    return {
      run: (program) => this.#run(reader, program),
      close: async () => reader.end(new Error('the snapshot is closed')),
    };
  }

  get state(): Readers['state'] {
    return this.#readers.state;
  }

  close(): void {
    this.#look = () => {};
    this.#readers.close();
  }

  /** Begun anew where its statements relied on what was given up before they came to be read: the process may have been starting. */
  async #run<T>(reader: StatementProcess, program: () => Program<T>): Promise<T> {
    const { forgotten } = compiler;
    const [outcome] = await Promise.allSettled([this.#drive(reader, program())]);
    this.#look();
    if (forgotten !== compiler.forgotten) return this.#run(reader, program);
    if (outcome.status === 'rejected') throw outcome.reason;
    return outcome.value;
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
