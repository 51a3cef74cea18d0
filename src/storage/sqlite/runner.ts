/** Runs programs on one connection to SQLite: the dialect, the statements that are kept prepared, and the rows. */

import { type Database, type Statement as Prepared, SQLiteError, type SQLQueryBindings } from 'bun:sqlite';
import { wideFor } from '../../base/one-shape.ts';
import type { Model } from '../../schema/model.ts';
import { storedColumns } from '../../schema/values.ts';
import { isWrite } from '../duties.ts';
import { answerTooLarge, writerOutdated } from '../faults.ts';
import { countOneMore } from '../scopes.ts';
import { type Decoders, decoded } from '../sql/codec.ts';
import { Compiler, parametersOf } from '../sql/compile.ts';
import { heavyOf } from '../sql/long-answers.ts';
import {
  type Delete,
  type Insert,
  lookup,
  type Query,
  type Row,
  type Statement,
  type Update,
} from '../statements.ts';
import { OTHERS_TURN, type Program } from '../storage.ts';
import type { Trace } from '../trace.ts';
import { type Allowance, LONGEST_MS } from './cost.ts';
import { dialect, visiting } from './dialect.ts';
import { toldToPrograms } from './errors.ts';
import { withFewKeys } from './few-keys.ts';
import { countOf } from './given.ts';
import { MOST_ROWS, SMALL_FILE } from './sizes.ts';
import { keptStatements } from './statement-cache.ts';
import { counted } from './statement-process.ts';
import { UNBOUNDED, WATCH, type Watch, watchOf } from './watch.ts';
import { MOST_CHANGED } from './write-cost.ts';

/** What is written meanwhile is not much. */
const REMEASURE_MS = 1000;

export const compiler = new Compiler(dialect);

/** Runs programs on one connection, whose statements it keeps prepared. */
export class Runner {
  readonly #database: Database;
  readonly #model: Model;
  readonly #trace: Trace | undefined;
  readonly #prepared = keptStatements<Prepared>((each) => each.finalize());
  /** The tables that a newer file asks more of than this one knows. */
  outdated: ReadonlySet<string> = new Set();
  /** Whether somebody else has made triggers, which take part in what is written. */
  hasTriggers = false;
  /** What the last statement that failed has failed with, whatever a program has made of it. */
  failed: unknown;
  /** The same statements, where they look at the clock. */
  readonly #visiting = keptStatements<Prepared>((each) => each.finalize());
  /** Undefined until one does. */
  #watch: Watch | undefined;
  #size = 0;
  #measureAgain = 0;

  constructor(database: Database, model: Model, trace: Trace | undefined) {
    this.#database = database;
    this.#model = model;
    this.#trace = trace;
  }

  close(): void {
    this.#prepared.clear();
    this.#visiting.clear();
    this.#database.close();
  }

  /** With an allowance, throws UNBOUNDED before a statement that it does not admit, and when others have gone without their turn for long. */
  drive<T>(running: Program<T>, allowance?: Allowance): T {
    let step = running.next();
    let turns = 0;
    while (!step.done) {
      if (step.value === OTHERS_TURN) {
        // Nobody can have one while this goes on.
        if (allowance && ++turns > allowance.mostTurns) throw UNBOUNDED;
        step = running.next([]);
        continue;
      }
      const rows: Row[][] = [];
      try {
        for (const statement of step.value) rows.push(this.execute(statement, allowance));
      } catch (error) {
        // It is run again elsewhere: nothing in it may take this for the end of the statement.
        if (error === UNBOUNDED) throw error;
        this.failed = error;
        step = running.throw(
          error instanceof SQLiteError ? toldToPrograms(this.#model, error, this.hasTriggers) : error,
        );
        continue;
      }
      step = running.next(rows);
    }
    return step.value;
  }

  execute(statement: Statement, allowance: Allowance | undefined): Row[] {
    if (this.outdated.size > 0) refuseOutdated(this.outdated, statement);
    if (statement.do === 'update' || statement.do === 'delete') {
      const key = keyIn(statement);
      if (key !== undefined)
        return statement.do === 'update'
          ? this.#changed(statement, key, allowance)
          : this.#deleted(statement, key, allowance);
    }
    const compiled = compiler.compile(statement);
    const { sql, parameters, decoders } = compiled;
    const until = untilWhen(statement, sql, parameters, allowance);
    const few =
      statement.do === 'filled' && until === ENDLESS
        ? withFewKeys(statement, compiled, compiler.template(statement.select))
        : undefined;
    const prepared = this.#timed(few?.sql ?? sql, until, allowance);
    const bindings = (few?.parameters ?? parameters) as SQLQueryBindings[];
    const ended = this.#trace?.(sql);
    const rows = this.#rows(statement, sql, prepared, bindings, decoders, until, allowance);
    ended?.();
    return rows;
  }

  /** RETURNING would gather the row in a table of its own: to read it takes a third of that, where it is not known anyway. */
  #changed(update: Update, key: unknown, allowance: Allowance | undefined): Row[] {
    if (this.#changes({ ...update, isSilent: true }, allowance) === 0) return [];
    const { resource, next: [row] = [], counts } = update;
    const { version } = resource;
    if (!row || !version) {
      countOneMore();
      return this.execute(lookup(resource, resource.key, key), allowance);
    }
    return [{ ...row, [version.name]: Number(row[version.name]) + (counts ? 1 : 0) }];
  }

  /** The same of what is known already. */
  #deleted({ resource, where }: Delete, key: unknown, allowance: Allowance | undefined): Row[] {
    const isGone = this.#changes({ do: 'delete', resource, where }, allowance) > 0;
    return isGone ? [{ [resource.key.name]: key }] : [];
  }

  /** How many rows were changed. */
  #changes(silent: Update | Delete, allowance: Allowance | undefined): number {
    const { sql, parameters } = compiler.compile(silent);
    const prepared = this.#timed(sql, untilWhen(silent, sql, parameters, allowance), allowance);
    const ended = this.#trace?.(sql);
    const { changes } = prepared.run(...(parameters as SQLQueryBindings[]));
    ended?.();
    return changes;
  }

  #rows(
    statement: Statement,
    sql: string,
    prepared: Prepared,
    bindings: SQLQueryBindings[],
    decoders: Decoders,
    until: number,
    allowance: Allowance | undefined,
  ): Row[] {
    if (statement.do === 'insert') {
      const { changes, lastInsertRowid } = prepared.run(...bindings);
      // A trigger may have left it out; then the last row is another.
      return changes === 0 ? [] : [stored(statement, lastInsertRowid)];
    }
    if (statement.do === 'insert all' && !statement.claims) {
      // To ask for rows where there are none would take a fifth longer.
      prepared.run(...bindings);
      return [];
    }
    return decoded(this.#all(statement, sql, prepared, bindings, until, allowance), decoders);
  }

  /** The same for a read that is left open for a value: all else is found out once. */
  reader(read: Query, allowance: Allowance | undefined): (value: unknown) => Row[] {
    let { forgotten } = compiler;
    let template = compiler.template(read);
    const { decoders, findsOne } = template;
    // What is found by its key alone is always within bounds.
    const bounds = findsOne && read.where?.is === 'eq' ? undefined : allowance;
    return (value) => {
      if (forgotten !== compiler.forgotten) {
        ({ forgotten } = compiler);
        template = compiler.template(read);
      }
      const { sql } = template;
      const bindings = parametersOf(template, value) as SQLQueryBindings[];
      const until = untilWhen(read, sql, bindings, bounds);
      const prepared = this.#timed(sql, until, bounds);
      const ended = this.#trace?.(sql);
      const rows = findsOne
        ? one(prepared, bindings)
        : this.#all(read, sql, prepared, bindings, until, bounds);
      ended?.();
      return decoded(rows, decoders);
    };
  }

  #all(
    statement: Statement,
    sql: string,
    prepared: Prepared,
    bindings: SQLQueryBindings[],
    until: number,
    allowance: Allowance | undefined,
  ): Row[] {
    const heavy = heavyOf(statement);
    const isHeavy = heavy && this.#holdsMoreThan(heavy.bytes);
    // Each row is answered once: few rows of a small file take no longer than they may.
    const isSeen = allowance && (isMany(statement) || this.#holdsMoreThan(SMALL_FILE));
    const late = isSeen ? () => allowance.wasLong(sql) : undefined;
    if (!isHeavy && !late) {
      const all = prepared.all(...bindings) as Row[];
      if (all.length > MOST_ROWS) allowance?.hadMany(sql);
      return all;
    }
    const rows = prepared.iterate(...bindings) as Iterable<Row>;
    const found = counted(
      rows,
      isHeavy ? heavy : undefined,
      late && endingLate(Math.min(until, performance.now() + LONGEST_MS), late, statement),
    );
    if (!found) throw answerTooLarge();
    if (found.length > MOST_ROWS) allowance?.hadMany(sql);
    return found;
  }

  /** The bytes of the database. */
  measure(): number {
    const sizes = ['page_count', 'page_size'].map((name) => this.prepare(`PRAGMA ${name}`).values()[0]?.[0]);
    return Number(sizes[0]) * Number(sizes[1]);
  }

  /** What is kept prepared. */
  get cache(): { readonly size: number; readonly misses: number } {
    return this.#prepared;
  }

  /** No statement answers with more text than there is, and most databases are small; it is looked at now and then. */
  #holdsMoreThan(bytes: number): boolean {
    if (performance.now() > this.#measureAgain) {
      this.#size = this.measure();
      this.#measureAgain = performance.now() + REMEASURE_MS;
    }
    return this.#size > bytes;
  }

  /** Where it may not run endlessly, UNBOUNDED is thrown out of it when its time is over. */
  #timed(sql: string, until: number, allowance: Allowance | undefined): Prepared {
    if (until === ENDLESS || !allowance) return this.prepare(sql);
    this.#watch ??= watchOf(this.#database);
    this.#watch.begin(until, sql, allowance);
    let prepared = this.#visiting.get(sql);
    if (prepared) return prepared;
    prepared = this.#database.prepare(visiting(sql, WATCH));
    this.#visiting.set(sql, prepared);
    return prepared;
  }

  prepare(sql: string): Prepared {
    let prepared = this.#prepared.get(sql);
    if (prepared) return prepared;
    prepared = this.#database.prepare(sql);
    this.#prepared.set(sql, prepared);
    return prepared;
  }
}

/** Who knows less of a table than the newest file may only read it. */
export function refuseOutdated(outdated: ReadonlySet<string>, statement: Statement): void {
  if (isWrite(statement) && statement.resource.version && outdated.has(statement.resource.table))
    throw writerOutdated();
}

/**
 * The key of the one record that is changed or deleted, where its row or its key is asked for. A table of Duet's own may have
 * several columns in its key.
 */
function keyIn(statement: Update | Delete): unknown {
  const { resource, where } = statement;
  const isSilent = statement.do === 'update' ? statement.isSilent : !statement.tellsKeys;
  if (isSilent || resource.primary) return undefined;
  const [first] = where.is === 'all' ? where.of : [where];
  return first?.is === 'eq' && first.column === resource.key ? first.value : undefined;
}

function one(prepared: Prepared, bindings: SQLQueryBindings[]): Row[] {
  const row = prepared.get(...bindings) as Row | null;
  return row ? [row] : [];
}

const MANY = 2_000;

/** Whether it may answer with many rows, or with those of many others. */
function isMany(statement: Statement): boolean {
  if (statement.do === 'filled') return countOf(statement.value) > MANY || isMany(statement.select);
  if (statement.do !== 'select' && statement.do !== 'aggregate') return false;
  const { per, where, resource, limit = ENDLESS, most = ENDLESS } = statement;
  const isOne =
    statement.do === 'select'
      ? where?.is === 'eq' && where.column === resource.key
      : statement.by.length === 0;
  return per === undefined && !isOne && Math.min(limit, most) > MANY;
}

/**
 * Called for each row: however short it was taken to be to read them, nobody waits for all of them if it is not; nor for more than
 * will be changed here.
 */
function endingLate(until: number, late: () => void, statement: Statement): () => void {
  let left = statement.do === 'select' && statement.lock ? MOST_CHANGED : ENDLESS;
  return () => {
    if (left-- === 0) throw UNBOUNDED;
    if (performance.now() <= until) return;
    late();
    throw UNBOUNDED;
  };
}

const ENDLESS = Number.POSITIVE_INFINITY;

/** Throws UNBOUNDED where it may not run at all. */
function untilWhen(
  statement: Statement,
  sql: string,
  parameters: readonly unknown[],
  allowance: Allowance | undefined,
): number {
  const until = allowance?.admits(statement, sql, parameters) ?? ENDLESS;
  if (until === 0) throw UNBOUNDED;
  return until;
}

/** The whole new row, as it would be read: every column has a value, and SQLite keeps values as they are. */
export function stored({ resource, values, version }: Insert, rowId: unknown): Row {
  const row: Row = wideFor(storedColumns(resource)) ?? {};
  for (const { name } of resource.columns) row[name] = values[name];
  if (resource.key.origin.by === 'serial') row[resource.key.name] = rowId;
  row[resource.version.name] = version;
  return row;
}
