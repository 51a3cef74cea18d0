/** A real storage that fails, or whose rows are not what the file promises, as a case says. */

import { DuetError } from '../../src/base/errors.ts';
import { filled, type Row } from '../../src/storage/statements.ts';
import { type Program, run, type Storage } from '../../src/storage/storage.ts';
import { Dice } from './generated.ts';

export type Trouble =
  | { readonly is: 'none' }
  /** Every so-many-th row has a value that does not fit, from this one on. */
  | {
      readonly is: 'rows';
      readonly every: number;
      readonly from: number;
      readonly choices: readonly number[];
    }
  /** Every row has this value in this column, if it has the column. */
  | { readonly is: 'column'; readonly name: string; readonly value: unknown }
  /** The read fails at a step. */
  | { readonly is: 'failure'; readonly step: number; readonly error: number };

export const misfits: readonly unknown[] = [
  ...[null, undefined, 'text', '', 1.5, 2 ** 40, Number.NaN, true, {}, [], [null], ['RED', null], [1, 'a']],
  ...['red', -0, { toJSON: 1 }],
];

const failures = [
  () => new Error('a secret of the database'),
  () =>
    Object.assign(new DuetError('UNAVAILABLE', 'The database cannot be reached.'), {
      cause: new Error('refused'),
    }),
  () => new DuetError('DEADLINE_EXCEEDED', 'It took too long.'),
];

export class FaultyStorage implements Storage {
  readonly #storage: Storage;
  readonly #reading = new Set<Promise<unknown>>();
  /** The same for every read until it is changed, so that two that read the same see the same. */
  trouble: Trouble = { is: 'none' };

  constructor(storage: Storage) {
    this.#storage = storage;
  }

  /** When all reads have ended, and whoever waited for them has been told: an answer need not wait for all of its parts. */
  async settled(): Promise<void> {
    await Promise.allSettled(this.#reading);
    await new Promise(setImmediate);
  }

  read: Storage['read'] = (program, steps, deadline) => {
    const answer = this.#storage.read(() => troubled(program(), this.trouble), steps, deadline);
    if (answer instanceof Promise) {
      this.#reading.add(answer);
      const ended = () => this.#reading.delete(answer);
      answer.then(ended, ended);
    }
    return answer;
  };
  write: Storage['write'] = (...of) => this.#storage.write(...of);
  prepare: Storage['prepare'] = (statement) => (value, deadline) =>
    this.read(() => run(filled(statement, value)), 'one', deadline);
  delays: Storage['delays'] = (looking) => this.#storage.delays(looking);
  snapshot: Storage['snapshot'] = () => this.#storage.snapshot();
  ping: Storage['ping'] = (deadline) => this.#storage.ping(deadline);
  close: Storage['close'] = () => this.#storage.close();
}

function* troubled<T>(program: Program<T>, trouble: Trouble): Program<T> {
  const spoil = spoiler(trouble);
  let step = program.next();
  for (let steps = 0; !step.done; steps++) {
    if (trouble.is === 'failure' && trouble.step === steps)
      throw failures[trouble.error % failures.length]?.();
    const answers: readonly Row[][] = yield step.value;
    for (const rows of answers) for (const row of rows) spoil(row);
    step = program.next(answers);
  }
  return step.value;
}

function spoiler(trouble: Trouble): (row: Row) => void {
  if (trouble.is === 'column')
    return (row) => {
      if (trouble.name in row) row[trouble.name] = trouble.value;
    };
  if (trouble.is !== 'rows') return () => {};
  const dice = new Dice(trouble.choices);
  let count = 0;
  return (row) => {
    if (count++ % trouble.every !== trouble.from % trouble.every) return;
    const name = dice.pick(Object.keys(row));
    row[name] = misfits[dice.roll(misfits.length)];
  };
}
