/** Writes of SQLite that are carried out in this process: those that came together share one transaction. */

import { type Database, SQLiteError } from 'bun:sqlite';
import type { Model } from '../../schema/model.ts';
import { LOOK, outdatedOf } from '../duties.ts';
import { refusedByDatabase } from '../faults.ts';
import type { Row } from '../statements.ts';
import type { Bounds } from './bounds.ts';
import { LONGEST_MS } from './cost.ts';
import { explained, explaining } from './errors.ts';
import { BUSY_TIMEOUT_MS, isBusy } from './opening.ts';
import type { Runner } from './runner.ts';
import { UNBOUNDED } from './watch.ts';
import type { Outcome, Waiting } from './write-queue.ts';

/** After so long, the rest of a batch lets others go first. */
const TOGETHER_MS = 20;
/** How long one may take at first beside others: each of those that come behind many would wait for all of what they may take alone. */
const FIRST_MS = 10;

/** Thrown out of a batch of which one has waited for too long: it is told so, and the others are run again. */
const LATE = new Error('a deadline has passed');

/** Of somebody else: they may fail with anything, and so that what was done stays (FAIL), goes with all before it (ROLLBACK), or not before COMMIT. */
export const TRIGGERS = `SELECT 1 FROM sqlite_schema WHERE type = 'trigger' AND substr(name, 1, 5) <> '_duet' LIMIT 1`;

/** Thrown out of a transaction that the database has refused as a whole, for one of its writes. */
class Undone extends Error {
  readonly reason: unknown;

  constructor(reason: unknown) {
    super('a transaction was refused');
    this.reason = reason;
  }
}

export class LocalWriter {
  readonly #database: Database;
  readonly #runner: Runner;
  /** What is not within them goes to another process; undefined where there is none. */
  readonly #bounds: Bounds | undefined;
  readonly #model: Model;
  /** Which state of the file was looked at for what writers keep true; another process may have changed it since. */
  #looked: unknown;

  constructor(database: Database, model: Model, runner: Runner, bounds: Bounds | undefined) {
    this.#model = model;
    this.#database = database;
    this.#runner = runner;
    this.#bounds = bounds;
  }

  /** False when another process is writing: to wait for it inside SQLite would stop the whole process. */
  begin(): boolean {
    // Prepared as all others: each of both would take as long to read as the shortest write takes.
    this.#runner.prepare('PRAGMA busy_timeout = 0').run();
    try {
      // IMMEDIATE: a transaction that begins by reading could not become the writer while another process is.
      this.#runner.prepare('BEGIN IMMEDIATE').run();
      return true;
    } catch (error) {
      if (isBusy(error)) return false;
      throw error;
    } finally {
      this.#runner.prepare(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`).run();
    }
  }

  /** Looks what writers keep true, if somebody else has written since; `anew` after this connection may have changed it. */
  look(anew = false): void {
    const [[version] = []] = this.#runner.prepare('PRAGMA data_version').values();
    if (version === this.#looked && !anew) return;
    this.#bounds?.look();
    this.#runner.outdated = outdatedOf(this.#model, this.#runner.prepare(LOOK).all() as Row[]);
    this.#runner.hasTriggers = this.#runner.prepare(TRIGGERS).values().length > 0;
    this.#looked = version;
  }

  /**
   * One transaction, and so one wait for the disk, for the whole batch; each write in a savepoint of its own, so that
   * one that fails does so alone. Undefined when another process is writing.
   */
  commit(batch: readonly Waiting[], beforeCommit: () => void): readonly Outcome[] | undefined {
    try {
      return explaining(() => {
        if (!this.begin()) return undefined;
        return this.transaction(() => {
          this.look();
          const [only] = batch;
          const done =
            only && batch.length === 1
              ? [{ result: this.#drive(only, LONGEST_MS) }]
              : inTime(batch, (each) => this.#inSavepoint(each, each.isSlow ? LONGEST_MS : FIRST_MS));
          const now = performance.now();
          // Nobody may be told of a failure that then succeeds.
          if (batch.some(({ deadline }) => deadline < now)) throw LATE;
          beforeCommit();
          return done;
        });
      });
    } catch (error) {
      if (error === LATE) return [];
      if (error === UNBOUNDED) return ['alone'];
      if (!(error instanceof Undone)) throw error;
      if (batch.length === 1) throw error.reason;
      return inTime(batch, (each) => this.#alone(each, beforeCommit));
    }
  }

  /** In a transaction of its own: of those that it was in with others, nobody knows which one was refused. */
  #alone(waiting: Waiting, beforeCommit: () => void): Outcome {
    try {
      return this.commit([waiting], beforeCommit)?.[0] ?? 'again';
    } catch (error) {
      return { error };
    }
  }

  /** Works without ever yielding to the event loop, and commits: nothing else can interleave. */
  transaction<T>(work: () => T): T {
    try {
      const result = work();
      this.#end();
      return result;
    } catch (error) {
      if (this.#database.inTransaction) this.#runner.prepare('ROLLBACK').run();
      throw error;
    }
  }

  #end(): void {
    try {
      this.#runner.prepare('COMMIT').run();
    } catch (error) {
      throw isConstraint(error) ? new Undone(refusedByDatabase(error)) : error;
    }
  }

  /** A single statement is judged alone: there is nothing to sum up. */
  #drive({ program, steps }: Waiting, mostMs: number): unknown {
    const isAll = steps === 'one';
    return this.#runner.drive(program(), isAll ? this.#bounds : this.#bounds?.allowance('all of it', mostMs));
  }

  #inSavepoint(waiting: Waiting, mostMs: number): Outcome {
    // A single statement that fails undoes itself, unless a trigger takes part in it.
    const needsOne = waiting.steps !== 'one' || this.#runner.hasTriggers;
    if (needsOne) this.#runner.prepare('SAVEPOINT "write"').run();
    const begun = performance.now();
    try {
      const result = this.#drive(waiting, mostMs);
      if (needsOne) this.#runner.prepare('RELEASE "write"').run();
      return { result };
    } catch (thrown) {
      const error = thrown instanceof SQLiteError ? explained(thrown) : thrown;
      const { inTransaction } = this.#database;
      // After some errors, such as a full disk, SQLite has rolled everything back by itself: then all have failed.
      if (!inTransaction) throw isConstraint(this.#runner.failed) ? new Undone(error) : error;
      if (needsOne) {
        this.#runner.prepare('ROLLBACK TO "write"').run();
        this.#runner.prepare('RELEASE "write"').run();
      }
      if (error !== UNBOUNDED) return { error };
      return mostMs < LONGEST_MS && performance.now() - begun >= mostMs ? 'slow' : 'alone';
    }
  }
}

/** Those that there is no time for are left for the next batch. */
function inTime(batch: readonly Waiting[], run: (waiting: Waiting) => Outcome): Outcome[] {
  const until = performance.now() + TOGETHER_MS;
  const outcomes: Outcome[] = [];
  for (const waiting of batch) {
    outcomes.push(run(waiting));
    if (performance.now() > until) break;
  }
  return outcomes;
}

function isConstraint(error: unknown): boolean {
  return error instanceof SQLiteError && error.code?.startsWith('SQLITE_CONSTRAINT') === true;
}
