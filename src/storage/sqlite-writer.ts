/** Writes whose statements another process carries out: what takes too long is ended there, and stops nobody here. */

import { DuetError } from '../errors.ts';
import type { Model } from '../schema/model.ts';
import type { Allowance, Bounds } from './sqlite-bounds.ts';
import { explained, toldToPrograms } from './sqlite-errors.ts';
import type { Pace } from './sqlite-pace.ts';
import { type Launch, ProcessFault, rowsOf, StatementProcess, unavailable } from './sqlite-process.ts';
import { type Asking, asking, type Recorded } from './sqlite-runner.ts';
import type { Answered, Asked } from './statement-process.ts';
import { deadlineExceeded, type Program, type Row, type Statement } from './storage.ts';
import { isResult, type Outcome, type Waiting } from './write-queue.ts';

const IDLE_MS = 30_000;
/** How long nobody relies on a process that could not be started. */
const MISTRUST_MS = 10_000;
/** What the writes that share a transaction may take together: longer ones go alone. */
const TOGETHER = { tests: 1_000_000, ms: 100 };
/** How often one that has held the file for long enough looks whether others wait. */
const LOOK_MS = 25;

function control(sql: string): Asked {
  return { sql, parameters: [] };
}

// IMMEDIATE: a transaction that begins by reading could not become the writer while another process is.
const BEGIN = control('BEGIN IMMEDIATE');
// Another one when somebody else has committed since this connection last asked.
const VERSION = control('PRAGMA data_version');
const COMMIT = control('COMMIT');
const ROLLBACK = control('ROLLBACK');
const SAVEPOINT = control('SAVEPOINT "write"');
const RELEASE = control('RELEASE "write"');
const UNDO = [control('ROLLBACK TO "write"'), RELEASE];

/** How a batch went in the serving process, in a transaction that was rolled back: it then need not wait for each answer. */
export interface Rehearsal {
  readonly outcomes: readonly Outcome[];
  readonly writes: readonly Recorded[];
}

export interface WriterOptions {
  readonly launch: Launch;
  readonly model: Model;
  readonly bounds: Bounds;
  readonly pace: Pace;
  /** For how long one transaction may keep all other writers waiting. */
  readonly holdMs: number;
  readonly trace: ((sql: string) => void) | undefined;
}

export class ProcessWriter {
  readonly #options: WriterOptions;
  /** Started when it is needed, ended when nobody has needed it for a while. */
  #process: StatementProcess | undefined;
  #idle: Timer | undefined;
  #mistrustedUntil = 0;

  constructor(options: WriterOptions) {
    this.#options = options;
  }

  /** Whether it can be relied on for what another process need not do. */
  get isTrusted(): boolean {
    return performance.now() >= this.#mistrustedUntil;
  }

  /** Whether a rehearsal is likely to be of use. */
  get isAmongItself(): boolean {
    return this.#process?.isAmongItself === true;
  }

  /** Undefined when another process is writing. Alone, a write may take as long as its deadline and the hold allow. */
  async commit(
    batch: readonly Waiting[],
    isWanted: () => boolean,
    rehearsal: Rehearsal | 'alone' | undefined,
  ): Promise<readonly Outcome[] | undefined> {
    clearTimeout(this.#idle);
    let process: StatementProcess | undefined;
    try {
      process = this.#started();
      return await new Transaction(this.#options, process, batch, isWanted).commit(rehearsal);
    } catch (error) {
      // Whatever its connection is left in, nobody has to find out.
      process?.end(unavailable('The writing process was ended after a failure.'));
      await process?.exited;
      throw error instanceof ProcessFault ? explained(error) : error;
    } finally {
      if (!process?.isProven) this.#mistrustedUntil = performance.now() + MISTRUST_MS;
      this.#idle = setTimeout(() => this.close(), IDLE_MS).unref();
    }
  }

  close(): void {
    clearTimeout(this.#idle);
    this.#process?.end(unavailable('The database is closed.'));
  }

  #started(): StatementProcess {
    this.#process ??= new StatementProcess(this.#options.launch, 'writer', () => {
      this.#process = undefined;
    });
    return this.#process;
  }
}

/** One transaction of the process, for all writes of a batch: each is in a savepoint of its own. */
class Transaction {
  readonly #options: WriterOptions;
  readonly #process: StatementProcess;
  readonly #batch: readonly Waiting[];
  readonly #outcomes: Outcome[];
  /** What has to be done before the next statement; it travels along with it. */
  #ahead: readonly Asked[] = [];
  /** Which write is being carried out, and so holds the file; those of a single statement do not take turns. */
  #current = -1;
  readonly #isWanted: () => boolean;
  /**
   * Whether what was rehearsed has been done. It counts while nobody else has committed since this process last did: then
   * all that was read in the rehearsal is so, and the same ids are given.
   */
  #isReplayed = false;
  readonly #timers: Timer[] = [];
  #endedBy: DuetError | undefined;

  constructor(
    options: WriterOptions,
    process: StatementProcess,
    batch: readonly Waiting[],
    isWanted: () => boolean,
  ) {
    this.#options = options;
    this.#isWanted = isWanted;
    this.#process = process;
    this.#batch = batch;
    this.#outcomes = batch.map(() => 'again');
  }

  async commit(rehearsal: Rehearsal | 'alone' | undefined): Promise<readonly Outcome[] | undefined> {
    const first = Math.min(...this.#batch.map(({ deadline }) => deadline));
    this.#endAfter(first - performance.now(), deadlineExceeded());
    try {
      if (!(await this.#begin(rehearsal === 'alone' ? undefined : rehearsal?.writes))) return undefined;
      this.#endWhenWanted();
      if (rehearsal === 'alone') await this.#alone();
      else if (rehearsal && this.#isReplayed)
        this.#outcomes.splice(0, rehearsal.outcomes.length, ...rehearsal.outcomes);
      else await this.#together();
    } catch (error) {
      if (!this.#endedBy || error !== this.#endedBy) throw error;
      // The system has let go of the file when it is gone.
      await this.#process.exited;
      return this.#given(this.#endedBy);
    } finally {
      for (const timer of this.#timers) clearTimeout(timer);
    }
    // From here on nothing is ended, and so the deadlines are judged before.
    if (performance.now() > first) return this.#givenUp();
    if (this.#outcomes.some(isResult)) await this.#commit();
    else await this.#process.ask([ROLLBACK]);
    return this.#outcomes;
  }

  #endAfter(ms: number, why: DuetError): void {
    this.#timers.push(setTimeout(() => this.#end(why), Math.max(0, ms)));
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

  /** False when somebody else is writing. What was rehearsed travels along. */
  async #begin(writes: readonly Recorded[] | undefined): Promise<boolean> {
    const replay = writes ? [SAVEPOINT, ...writes] : [];
    const [answered] = await this.#process.askAll([[BEGIN, VERSION, ...replay]]);
    if (answered?.fault?.at === 0 && answered.fault.code.startsWith('SQLITE_BUSY')) return false;
    // Something that went well in the rehearsal does not go well now: it is no longer as it was.
    if (answered?.fault?.inTransaction && answered.fault.at > 1) {
      this.#ahead = UNDO;
      return true;
    }
    const [, [row] = [], , ...done] = rowsOf(answered);
    const isAsLeft = this.#process.leftAt(row?.['data_version']);
    if (!writes) return true;
    const isSame = writes.every(({ id }, index) => id === undefined || done[index]?.[0]?.['id'] === id);
    this.#isReplayed = isAsLeft && isSame;
    this.#ahead = this.#isReplayed ? [RELEASE] : UNDO;
    return true;
  }

  async #commit(): Promise<void> {
    const begun = performance.now();
    try {
      await this.#process.ask([...this.#ahead, COMMIT]);
    } catch (error) {
      if (error instanceof ProcessFault) throw error;
      const detail = 'The writing process ended during the commit. Read before writing again.';
      throw Object.assign(new DuetError('OUTCOME_UNKNOWN', detail), { cause: error });
    }
    this.#options.pace.committed(performance.now() - begun);
  }

  /** Nothing has happened: who is late is told so, and the others are run again. */
  async #givenUp(): Promise<readonly Outcome[]> {
    await this.#process.ask([ROLLBACK]);
    return this.#batch.map(() => 'again');
  }

  /** Only the one that was being carried out has held the file for too long. */
  #given(why: DuetError): readonly Outcome[] {
    const isBlamed = (index: number) => why.code !== 'DEADLINE_EXCEEDED' && index === this.#current;
    return this.#batch.map((_, index) => (isBlamed(index) ? { error: why } : 'again'));
  }

  async #alone(): Promise<void> {
    const [only] = this.#batch;
    this.#current = 0;
    if (only) this.#outcomes[0] = await this.#outcomeOf(only, undefined);
  }

  /** Those of a single statement travel together; each of the others waits for its answers. */
  async #together(): Promise<void> {
    // Well before one of them could be blamed for the time that others took.
    const until = performance.now() + Math.min(TOGETHER.ms, this.#options.holdMs / 4);
    if (this.#ahead.length > 0) await this.#process.ask(this.#ahead);
    this.#ahead = [];
    await this.#singles();
    for (const [index, waiting] of this.#batch.entries()) {
      if (waiting.steps === 'one') continue;
      if (performance.now() > until) return;
      this.#current = index;
      this.#ahead = [...this.#ahead, SAVEPOINT];
      const outcome = await this.#outcomeOf(waiting, this.#options.bounds.allowance(TOGETHER));
      this.#ahead = isResult(outcome) ? [...this.#ahead, RELEASE] : [...this.#ahead, ...UNDO];
      this.#outcomes[index] = outcome;
    }
  }

  /** A single statement that fails undoes itself. */
  async #singles(): Promise<void> {
    const singles = this.#batch.flatMap(({ program, steps }, index) => {
      if (steps !== 'one') return [];
      const running = begun(program);
      const taken = taking(() => running.next());
      if ('statements' in taken) return [{ index, running, asked: this.#compiled(taken.statements) ?? [] }];
      this.#outcomes[index] = taken.outcome;
      return [];
    });
    if (singles.length === 0) return;
    const answers = await this.#process.askAll(singles.map(({ asked }) => asked));
    for (const [position, { index, running, asked }] of singles.entries()) {
      const taken = taking(() => this.#answered(running, asked, answers[position]));
      if ('outcome' in taken) this.#outcomes[index] = taken.outcome;
    }
  }

  async #outcomeOf({ program }: Waiting, allowance: Allowance | undefined): Promise<Outcome> {
    const running = begun(program);
    let taken = taking(() => running.next());
    while ('statements' in taken) {
      const asked = this.#compiled(taken.statements, allowance);
      if (!asked) return 'alone';
      const ahead = this.#ahead;
      this.#ahead = [];
      const [answered] = await this.#process.askAll([[...ahead, ...asked]]);
      const own = answered?.rows ? { rows: answered.rows.slice(ahead.length) } : answered;
      taken = taking(() => this.#answered(running, asked, own));
    }
    return taken.outcome;
  }

  /** Undefined when they may take too long. */
  #compiled(statements: readonly Statement[], allowance?: Allowance): Asking[] | undefined {
    const asked: Asking[] = [];
    for (const statement of statements) {
      const compiled = asking(statement);
      if (allowance && !allowance.admits(statement, compiled.sql, compiled.parameters)) return undefined;
      asked.push(compiled);
    }
    for (const { sql } of asked) this.#options.trace?.(sql);
    return asked;
  }

  /** Hands a program its rows, or what went wrong. */
  #answered(running: Program<unknown>, asked: readonly Asking[], answered: Answered | undefined): Step {
    let rows: readonly Row[][];
    try {
      rows = rowsOf(answered);
    } catch (error) {
      if (!(error instanceof ProcessFault)) throw error;
      return running.throw(toldToPrograms(this.#options.model, error));
    }
    return running.next(asked.map(({ decode }, index) => decode(rows[index] ?? [])));
  }
}

/** Some programs fail before their first step: that is their failure too, and nobody else's. */
function* begun<T>(program: () => Program<T>): Program<T> {
  return yield* program();
}

type Step = ReturnType<Program<unknown>['next']>;

/** What a program asks for next, or what came of it. */
function taking(
  next: () => Step,
): { readonly statements: readonly Statement[] } | { readonly outcome: Outcome } {
  try {
    const step = next();
    return step.done ? { outcome: { result: step.value } } : { statements: step.value };
  } catch (error) {
    if (!(error instanceof ProcessFault)) return { outcome: { error } };
    // After some errors, such as a full disk, SQLite has rolled everything back by itself: then all have failed.
    if (!error.inTransaction) throw error;
    return { outcome: { error: explained(error) } };
  }
}

function heldTooLong(holdMs: number): DuetError {
  return new DuetError(
    'WRITE_HOLD_EXCEEDED',
    `The write kept all others waiting for ${holdMs} ms, and was ended. Write less at once, or by an indexed field.`,
    { headers: { 'Retry-After': '1' } },
  );
}
