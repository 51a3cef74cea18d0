/** Moments of SQLite that are read from again and again, for downloads of any length. */

import { Database } from 'bun:sqlite';
import { SharedTurns } from '../../base/turns.ts';
import type { Model } from '../../schema/model.ts';
import { tooManyExports, unavailable } from '../faults.ts';
import { OTHERS_TURN, type Program, type Snapshot } from '../storage.ts';
import type { Trace } from '../trace.ts';
import type { Bounds } from './bounds.ts';
import type { Allowance } from './cost.ts';
import { explaining } from './errors.ts';
import { openToRead } from './opening.ts';
import type { ProcessReader } from './process-reader.ts';
import { Runner } from './runner.ts';
import { UNBOUNDED } from './watch.ts';

/** So many exports are under way at once: each holds a page of its own, for as long as its client takes. */
const MOST_SNAPSHOTS = 32;
/** For how long all are read elsewhere after one had to be ended: it may ask for what its first page does not show. */
const APART_MS = 60_000;

/** Each on a connection of its own; of a database in memory, which no other connection can see, a copy. */
export class Snapshots {
  readonly #database: Database;
  readonly #model: Model;
  readonly #trace: Trace | undefined;
  readonly #bounds: Bounds;
  /** For what is not within them; undefined where there is none. */
  readonly #apart: ProcessReader | undefined;
  /** Many at once would each read a page in the same turn, and put all that there is in order for it. */
  readonly #turns = new SharedTurns();
  #open = 0;
  #apartUntil = 0;

  constructor(
    database: Database,
    model: Model,
    trace: Trace | undefined,
    bounds: Bounds,
    apart: ProcessReader | undefined,
  ) {
    this.#database = database;
    this.#model = model;
    this.#trace = trace;
    this.#bounds = bounds;
    this.#apart = apart;
  }

  get areOpen(): boolean {
    return this.#open > 0;
  }

  open(): Snapshot {
    if (this.#open >= MOST_SNAPSHOTS) throw tooManyExports();
    const { filename } = this.#database;
    const isFile = filename !== ':memory:' && filename !== '';
    const copy = isFile
      ? openToRead(filename)
      : Database.deserialize(this.#database.serialize(), { strict: true });
    copy.run('BEGIN');
    const runner = new Runner(copy, this.#model, this.#trace);
    let begun = false;
    let apart: Snapshot | undefined;
    this.#open++;
    return {
      run: async (program) => {
        if (apart) return apart.run(program);
        await this.#turns.next();
        try {
          if (!begun && this.#apart && performance.now() < this.#apartUntil) throw UNBOUNDED;
          this.#bounds.look();
          const allowance = begun
            ? () => this.#bounds.following()
            : () => this.#bounds.allowance('each page');
          return await this.#inTurns(runner, program(), this.#apart && allowance);
        } catch (error) {
          if (error !== UNBOUNDED || !this.#apart) throw error;
          if (begun) {
            // Only what comes first can still be read from another snapshot.
            this.#apartUntil = performance.now() + APART_MS;
            throw unavailable('A page of the export takes too long; retry in 1 s.');
          }
          apart = await this.#apart.snapshot();
          return apart.run(program);
        } finally {
          begun = true;
        }
      },
      close: async () => {
        this.#open--;
        await apart?.close();
        runner.close();
      },
    };
  }

  /** The moment stays as it is, whoever has a turn: nobody waits for this connection, nor is kept from writing. */
  async #inTurns<T>(runner: Runner, running: Program<T>, allowance?: () => Allowance): Promise<T> {
    for (;;) {
      const end = explaining(() => runner.drive(untilTurn(running), allowance?.()));
      if (end) return end.result;
      await this.#turns.anew();
    }
  }
}

/** Goes on with a program until it has ended, or others are to have their turn: then it answers nothing. */
function* untilTurn<T>(running: Program<T>): Program<{ readonly result: T } | undefined> {
  let step = running.next([]);
  while (!step.done) {
    if (step.value === OTHERS_TURN) return undefined;
    try {
      step = running.next(yield step.value);
    } catch (error) {
      step = running.throw(error);
    }
  }
  return { result: step.value };
}
