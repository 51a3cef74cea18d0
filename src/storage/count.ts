/** Counts the statements that a request takes, for those requests that ask for it. */

import { AsyncLocalStorage } from 'node:async_hooks';
import type { Program, Storage } from './storage.ts';

interface Count {
  statements: number;
}

export class StatementCount {
  /** Does as the storage that it stands before, and counts where somebody asked for it. */
  readonly storage: Storage;
  readonly #counts = new AsyncLocalStorage<Count>();

  constructor(storage: Storage) {
    this.storage = {
      ask: (statement, deadline) => {
        const count = this.#counts.getStore();
        if (count) count.statements++;
        return storage.ask(statement, deadline);
      },
      read: (program, steps, deadline) => storage.read(this.#counted(program), steps, deadline),
      write: (program, steps, deadline) => storage.write(this.#counted(program), steps, deadline),
      delays: (select) => storage.delays(select),
      snapshot: () => storage.snapshot(),
      ping: (deadline) => storage.ping(deadline),
      close: () => storage.close(),
    };
  }

  /** Whether somebody has asked for it. */
  get isOn(): boolean {
    return this.#counts.getStore() !== undefined;
  }

  async during<T>(work: () => Promise<T>): Promise<{ result: T; statements: number }> {
    const count: Count = { statements: 0 };
    const result = await this.#counts.run(count, work);
    return { result, statements: count.statements };
  }

  /**
   * Whose program it is, is known when it is handed in: it may run later, in a batch with those of others. A program
   * that is run again counts again, because that is what it took.
   */
  #counted<T>(program: () => Program<T>): () => Program<T> {
    const count = this.#counts.getStore();
    return count ? () => counting(program(), count) : program;
  }
}

function* counting<T>(running: Program<T>, count: Count): Program<T> {
  let step = running.next();
  while (!step.done) {
    count.statements += step.value.length;
    try {
      const rows = yield step.value;
      step = running.next(rows);
    } catch (error) {
      step = running.throw(error);
    }
  }
  return step.value;
}
