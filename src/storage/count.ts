/** Counts the statements that a request takes, for those requests that ask for it. */

import { AsyncLocalStorage } from 'node:async_hooks';
import { Prefetched, type Program, type Storage } from './storage.ts';

interface Count {
  statements: number;
}

export class StatementCount {
  /** Does as the storage that it stands before, and counts where somebody asked for it. */
  readonly storage: Storage;
  readonly #counts = new AsyncLocalStorage<Count>();
  /** How many have asked for it and wait; mostly none, and then nobody need be looked for. */
  #asking = 0;

  constructor(storage: Storage) {
    this.storage = {
      prepare: (statement) => {
        const ask = storage.prepare(statement);
        return (value, deadline) => {
          const count = this.#count();
          if (count) count.statements++;
          return ask(value, deadline);
        };
      },
      read: (program, steps, deadline) => storage.read(this.#counted(program), steps, deadline),
      write: (program, steps, deadline) => storage.write(this.#counted(program), steps, deadline),
      delays: (select) => storage.delays(select),
      snapshot: () => storage.snapshot(),
      ping: (deadline) => storage.ping(deadline),
      close: () => storage.close(),
    };
  }

  async during<T>(work: () => Promise<T>): Promise<{ result: T; statements: number }> {
    const count: Count = { statements: 0 };
    this.#asking++;
    try {
      const result = await this.#counts.run(count, work);
      return { result, statements: count.statements };
    } finally {
      this.#asking--;
    }
  }

  #count(): Count | undefined {
    return this.#asking === 0 ? undefined : this.#counts.getStore();
  }

  /**
   * Whose program it is, is known when it is handed in: it may run later, in a batch with those of others. A program
   * that is run again counts again, because that is what it took.
   */
  #counted<T>(program: () => Program<T>): () => Program<T> {
    const count = this.#count();
    return count ? () => counting(program(), count) : program;
  }
}

function* counting<T>(running: Program<T>, count: Count): Program<T> {
  let step = running.next();
  while (!step.done) {
    count.statements += step.value.length;
    try {
      const rows = yield step.value;
      if (rows instanceof Prefetched) count.statements -= step.value.length;
      step = running.next(rows);
    } catch (error) {
      step = running.throw(error);
    }
  }
  return step.value;
}
