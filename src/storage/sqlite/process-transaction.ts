/** One write in the process for long writes, alone in its transaction: until that is committed, it can be ended. */

import { DuetError } from '../../base/errors.ts';
import type { Model, Resource } from '../../schema/model.ts';
import { LOOK, outdatedOf } from '../duties.ts';
import { deadlineExceeded, passing, refusedByDatabase } from '../faults.ts';
import type { Row, Statement } from '../statements.ts';
import type { Program } from '../storage.ts';
import { ended, type Trace } from '../trace.ts';
import { asking, control, meant } from './asking.ts';
import { explained, toldToPrograms } from './errors.ts';
import { TRIGGERS } from './local-writer.ts';
import { ProcessFault, type StatementProcess } from './process.ts';
import { refuseOutdated } from './runner.ts';
import { changesWords, mergingOf } from './words.ts';
import { isResult, type Outcome, type Waiting } from './write-queue.ts';

/** How often one that has held the file for long enough looks whether others wait. */
const LOOK_MS = 25;

// IMMEDIATE: a transaction that begins by reading could not become the writer while another process is.
const BEGIN = control('BEGIN IMMEDIATE');
const DUTIES = control(LOOK);
const OTHERS = control(TRIGGERS);
// FTS5 writes the words of a transaction when that is committed, or here, where it can still be ended.
const WRITE_WORDS = [control('SAVEPOINT words'), control('RELEASE words')];
const COMMIT = control('COMMIT');
const ROLLBACK = control('ROLLBACK');

/** Thrown out of a write that would leave more to merge, where there is too much already. */
const BEHIND = new Error('words are to be merged before');

export interface TransactionOptions {
  readonly model: Model;
  /** For how long one transaction may keep all other writers waiting. */
  readonly holdMs: number;
  readonly trace: Trace | undefined;
  /** Called when nobody else can write any more, before statements are made. */
  readonly look: () => void;
}

export class Transaction {
  readonly #options: TransactionOptions;
  readonly #process: StatementProcess;
  readonly #write: Waiting;
  readonly #isWanted: () => boolean;
  readonly #isBehind: (resource: Resource) => boolean;
  readonly #timers: Timer[] = [];
  #endedBy: DuetError | undefined;
  /** SQLite has rolled it back by itself, such as for a trigger that has raised ROLLBACK. */
  #isUndone = false;
  #hasTriggers = false;
  #outdated: ReadonlySet<string> = new Set();
  /** Those whose words are not merged meanwhile, and in how many segments they are by its end. */
  readonly unmerged = new Map<Resource, number>();
  /** Those that it would have left more of, where there is too much already. */
  behind: Resource | undefined;

  constructor(
    options: TransactionOptions,
    process: StatementProcess,
    write: Waiting,
    isWanted: () => boolean,
    isBehind: (resource: Resource) => boolean,
  ) {
    this.#isBehind = isBehind;
    this.#options = options;
    this.#process = process;
    this.#write = write;
    this.#isWanted = isWanted;
  }

  async commit(): Promise<readonly Outcome[] | undefined> {
    const { program, deadline } = this.#write;
    this.#timers.push(
      setTimeout(() => this.#end(deadlineExceeded()), Math.max(0, deadline - performance.now())),
    );
    let outcome: Outcome;
    try {
      if (!(await this.#begin())) return undefined;
      this.#endWhenWanted();
      outcome = await this.#drive(program);
      if (isResult(outcome)) await this.#writeWords();
    } catch (error) {
      if (error === BEHIND) {
        await this.#process.ask([ROLLBACK]);
        return ['again'];
      }
      if (!this.#endedBy || error !== this.#endedBy) throw error;
      // The system has let go of the file when it is gone.
      await this.#process.exited;
      return [{ error: this.#endedBy }];
    } finally {
      for (const timer of this.#timers) clearTimeout(timer);
    }
    const isLate = performance.now() > deadline;
    // From here on nothing is ended, and so the deadline is judged before. Who is late is told so by the queue.
    if (isResult(outcome) && !isLate) return [(await this.#commit()) ?? outcome];
    if (!this.#isUndone) await this.#process.ask([ROLLBACK]);
    return isLate ? ['again'] : [outcome];
  }

  /** Who keeps nobody waiting may go on until its deadline. */
  #endWhenWanted(): void {
    const { holdMs } = this.#options;
    const look = () => {
      if (this.#isWanted()) this.#end(heldTooLong(holdMs));
      else this.#timers.push(setTimeout(look, LOOK_MS));
    };
    this.#timers.push(setTimeout(look, holdMs));
  }

  #end(why: DuetError): void {
    this.#endedBy = why;
    this.#process.end(why);
  }

  /** False when somebody else is writing. */
  async #begin(): Promise<boolean> {
    try {
      const [, duties = [], triggers = []] = await this.#process.ask([BEGIN, DUTIES, OTHERS]);
      this.#hasTriggers = triggers.length > 0;
      this.#outdated = outdatedOf(this.#options.model, duties);
      this.#options.look();
      return true;
    } catch (error) {
      if (error instanceof ProcessFault && error.isBusy) return false;
      throw error;
    }
  }

  /** Where a newer file keeps these words no longer, there are none to merge. */
  async #putMergingOff(statements: readonly Statement[]): Promise<void> {
    for (const statement of statements) {
      const resource = changesWords(statement);
      if (!resource || this.unmerged.has(resource)) continue;
      if (this.#isBehind(resource)) {
        this.behind = resource;
        throw BEHIND;
      }
      try {
        await this.#process.ask(mergingOf(resource).putOff.map(control));
        this.unmerged.set(resource, 0);
      } catch (error) {
        if (!(error instanceof ProcessFault) || !error.inTransaction) throw error;
      }
    }
  }

  async #writeWords(): Promise<void> {
    if (!this.#options.model.resources.some(({ searched }) => searched.length > 0)) return;
    await this.#process.ask(WRITE_WORDS);
    for (const resource of this.unmerged.keys()) {
      const [[state] = []] = await this.#process.ask([control(mergingOf(resource).segments)]);
      this.unmerged.set(resource, Number(state?.['segments']));
    }
  }

  /** What a constraint that is looked at only then makes of it. */
  async #commit(): Promise<Outcome | undefined> {
    try {
      await this.#process.ask([COMMIT]);
      return undefined;
    } catch (error) {
      if (error instanceof ProcessFault && error.code.startsWith('SQLITE_CONSTRAINT')) {
        await this.#process.ask([ROLLBACK]);
        return { error: refusedByDatabase(error) };
      }
      if (error instanceof ProcessFault) throw error;
      const detail = 'The writing process ended during the commit. Read before writing again.';
      throw Object.assign(new DuetError('OUTCOME_UNKNOWN', detail), { cause: error });
    }
  }

  async #drive(program: () => Program<unknown>): Promise<Outcome> {
    const running = begun(program);
    let taken = taking(() => running.next());
    while ('statements' in taken) {
      const answered = await this.#ask(taken.statements);
      taken = taking(() => (Array.isArray(answered) ? running.next(answered) : running.throw(answered)));
    }
    return taken.outcome;
  }

  /** The rows of each statement, or what a program is to be told of the one that failed. */
  async #ask(statements: readonly Statement[]): Promise<Row[][] | Error> {
    try {
      for (const each of statements) refuseOutdated(this.#outdated, each);
    } catch (error) {
      return error as Error;
    }
    const asked = statements.map(asking);
    const { trace } = this.#options;
    const begun = trace && asked.map(({ sql }) => trace(sql));
    try {
      await this.#putMergingOff(statements);
      const rows = await this.#process.ask(asked);
      return await meant(asked, rows);
    } catch (error) {
      if (!(error instanceof ProcessFault)) throw error;
      this.#isUndone ||= !error.inTransaction;
      return toldToPrograms(this.#options.model, error, this.#hasTriggers);
    } finally {
      ended(begun);
    }
  }
}

/** Some programs fail before their first step: that is their failure too. */
function* begun<T>(program: () => Program<T>): Program<T> {
  return yield* program();
}

/** What a program asks for next, or what came of it. */
function taking(
  next: () => ReturnType<Program<unknown>['next']>,
): { readonly statements: readonly Statement[] } | { readonly outcome: Outcome } {
  try {
    const step = next();
    return step.done ? { outcome: { result: step.value } } : { statements: step.value };
  } catch (error) {
    if (!(error instanceof ProcessFault)) return { outcome: { error } };
    // After some errors, such as a full disk, SQLite has rolled everything back by itself.
    if (!error.inTransaction) throw error;
    return { outcome: { error: explained(error) } };
  }
}

function heldTooLong(holdMs: number): DuetError {
  return passing(
    'WRITE_HOLD_EXCEEDED',
    `The write kept all others waiting for ${holdMs} ms, and was ended. Write less at once, or by an indexed field.`,
  );
}
