/** Runs programs on one connection to SQLite: the dialect, the statements that are kept prepared, and the rows. */

import { type Database, type Statement as Prepared, SQLiteError, type SQLQueryBindings } from 'bun:sqlite';
import type { Column, Model } from '../../schema/model.ts';
import { keptAs } from '../../schema/values.ts';
import { answerTooLarge } from '../faults.ts';
import { Compiler, parametersOf } from '../sql/compile.ts';
import { type Dialect, literal, quote } from '../sql/dialect.ts';
import { heavyOf } from '../sql/heavy.ts';
import type { Insert, Row, Select, Statement } from '../statements.ts';
import type { Program } from '../storage.ts';
import type { Allowance } from './bounds.ts';
import { sqliteDdl } from './ddl.ts';
import { toldToPrograms } from './errors.ts';
import { type Asked, type Bound, counted } from './statement-process.ts';

/** Statements beyond this many are prepared anew; a deployment has a few for each resource and document. */
const KEPT_STATEMENTS = 1000;
/** What is written meanwhile is not much. */
const REMEASURE_MS = 1000;

type Codec = 'boolean' | 'json' | undefined;

function codecOf(column: Column): Codec {
  const kept = keptAs(column);
  return kept === 'boolean' || kept === 'json' ? kept : undefined;
}

/** Where a statement that may turn out to be long is made to look at the clock. */
const VISIT = '/*visit*/';
/** How long it may take here, and how many rows it visits between two looks. */
const WATCH_MS = 10;
const BETWEEN_LOOKS = 64;

const dialect: Dialect = {
  parameter: (position) => `?${position}`,
  among: (column, list) => `${column} IN (SELECT value FROM json_each(${list}))`,
  listed: (position) => `?${position}`,
  list: (values) => JSON.stringify(values),
  encode(column, value) {
    const codec = codecOf(column);
    if (codec === 'json') return JSON.stringify(value);
    return codec === 'boolean' ? Number(value) : value;
  },
  // In double quotes, the name of a column that is no longer there would be taken for a text, and read as such.
  read: ({ stored }, quoted) => (quoted === quote(stored) ? `\`${stored.replaceAll('`', '``')}\`` : quoted),
  position: 'instr',
  order: (quoted, _, descending) => (descending ? `${quoted} DESC` : quoted),
  count: (quoted) => `COUNT(${quoted})`,
  // As integers the sum could overflow, and then it fails.
  sum: (quoted) => `SUM(CAST(${quoted} AS REAL))`,
  extreme: (of, quoted) => `${of}(${quoted})`,
  // All of them are one parameter. A cast gives a column the affinity that a stored one has, and a whole number among
  // fractions the value that it would be kept as.
  values: (columns, rows, given) => {
    const lists = rows.map((row) =>
      columns.map((column) => {
        const value = row[column.name];
        return value == null ? null : dialect.encode(column, value);
      }),
    );
    const list = `?${given(JSON.stringify(lists))}`;
    const cast = columns.map(
      (column, index) => `CAST(value ->> ${index} AS ${sqliteDdl.type(column)}) AS ${quote(column.stored)}`,
    );
    return `(SELECT ${cast.join(', ')}, key + 1 AS "_row" FROM json_each(${list}))`;
  },
  // The list has one column, under a name that no table has: json_each has many, and ordinary ones. No stored name
  // begins with `_`.
  perValue: ({ columns, table, key, list, near, condition, order, limit, most }) =>
    `SELECT ${columns} FROM (SELECT value AS "_per" FROM json_each(${list})) JOIN ${table} ON ${table}.${key} IN (SELECT "_i".${key} FROM ${table} AS "_i" WHERE ${near('"_i"')} = "_per"${condition('"_i"')} ORDER BY ${order('"_i"')} LIMIT ${limit}) ORDER BY ${order(table)}${most}`,
  visit: VISIT,
  byCodePoint: '',
  lastId: ({ table }) => `SELECT "seq" AS "last" FROM "sqlite_sequence" WHERE "name" = ${literal(table)}`,
  // A table has no row there before its first insert, and nothing keeps it from having two.
  raiseLastId: ({ table }, parameter) =>
    `INSERT OR REPLACE INTO "sqlite_sequence" (rowid, "name", "seq") SELECT MAX(rowid), ${literal(table)}, ${parameter} FROM "sqlite_sequence" WHERE "name" = ${literal(table)} HAVING ${parameter} > COALESCE(MAX("seq"), 0)`,
  // RETURNING would gather the rows in a table of its own: it takes twice as long as the insert.
  answersInserts: false,
  // A writer has the whole database to itself.
  lock: '',
};

export const compiler = new Compiler(dialect);

/** Thrown out of a program at the statement that may take too long to let everybody else wait. */
export const UNBOUNDED = new Error('the statement is not bounded');

/** A statement as another process is asked it, and what its rows mean here. */
export interface Asking extends Asked {
  readonly decode: (rows: Row[]) => Row[];
}

export function asking(statement: Statement): Asking {
  const { sql, parameters, columns } = compiler.compile(statement);
  if (statement.do !== 'insert') {
    const heavy = heavyOf(statement);
    return {
      sql,
      parameters,
      bound: heavy && { bytes: heavy.bytes, names: heavy.names },
      decode: (rows) => decoded(rows, columns),
    };
  }
  return { sql, parameters, isSilent: true, decode: ([row]) => [stored(statement, row?.['id'])] };
}

/** Runs programs on one connection, whose statements it keeps prepared. */
export class Runner {
  readonly #database: Database;
  readonly #model: Model;
  readonly #trace: ((sql: string) => void) | undefined;
  readonly #prepared = new Map<string, Prepared>();
  /** Undefined until a statement is watched. */
  #watch: Watch | undefined;
  #size = 0;
  #measureAgain = 0;

  constructor(database: Database, model: Model, trace: ((sql: string) => void) | undefined) {
    this.#database = database;
    this.#model = model;
    this.#trace = trace;
  }

  close(): void {
    for (const statement of this.#prepared.values()) statement.finalize();
    this.#prepared.clear();
    this.#database.close();
  }

  /** With an allowance, throws UNBOUNDED before a statement that it does not admit. */
  drive<T>(running: Program<T>, allowance?: Allowance): T {
    let step = running.next();
    while (!step.done) {
      let rows: Row[][];
      try {
        rows = step.value.map((statement) => this.execute(statement, allowance));
      } catch (error) {
        step = running.throw(error instanceof SQLiteError ? toldToPrograms(this.#model, error) : error);
        continue;
      }
      step = running.next(rows);
    }
    return step.value;
  }

  execute(statement: Statement, allowance: Allowance | undefined): Row[] {
    const { sql, parameters, columns } = compiler.compile(statement);
    const admission = allowance?.admits(statement, sql, parameters) ?? true;
    if (!admission) throw UNBOUNDED;
    if (statement.do === 'insert') {
      this.#trace?.(sql);
      const { lastInsertRowid } = this.prepare(sql).run(...(parameters as SQLQueryBindings[]));
      return [stored(statement, lastInsertRowid)];
    }
    this.#trace?.(sql);
    const heavy = heavyOf(statement);
    const prepared = admission === 'watched' ? this.#watched(sql, allowance) : this.prepare(sql);
    const rows =
      heavy && this.#holdsMoreThan(heavy.bytes)
        ? within(heavy, prepared.iterate(...(parameters as SQLQueryBindings[])) as Iterable<Row>)
        : (prepared.all(...(parameters as SQLQueryBindings[])) as Row[]);
    return decoded(rows, columns);
  }

  /** No statement answers with more text than there is, and most databases are small; it is looked at now and then. */
  #holdsMoreThan(bytes: number): boolean {
    if (performance.now() > this.#measureAgain) {
      const sizes = ['page_count', 'page_size'].map(
        (name) => this.prepare(`PRAGMA ${name}`).values()[0]?.[0],
      );
      this.#size = Number(sizes[0]) * Number(sizes[1]);
      this.#measureAgain = performance.now() + REMEASURE_MS;
    }
    return this.#size > bytes;
  }

  finder(select: Select, allowance: Allowance | undefined): (key: unknown) => Row | null {
    const template = compiler.template(select);
    const { sql, columns } = template;
    const isCoded = codedAmong(columns).length > 0;
    return (key) => {
      const parameters = parametersOf(template, key);
      const admission = allowance?.admits(select, sql, parameters) ?? true;
      if (!admission) throw UNBOUNDED;
      this.#trace?.(sql);
      const prepared = admission === 'watched' ? this.#watched(sql, allowance) : this.prepare(sql);
      const row = prepared.get(...(parameters as SQLQueryBindings[])) as Row | null;
      if (row && isCoded) decoded([row], columns);
      return row;
    };
  }

  /** Throws UNBOUNDED out of the statement when it has taken too long. */
  #watched(sql: string, allowance: Allowance | undefined): Prepared {
    this.#watch ??= watchOf(this.#database);
    this.#watch.begin(() => allowance?.wasLong(sql));
    return this.prepare(sql.replaceAll(VISIT, ` AND ${WATCH}()`));
  }

  prepare(sql: string): Prepared {
    let prepared = this.#prepared.get(sql);
    if (prepared) return prepared;
    const [oldest] = this.#prepared;
    if (oldest && this.#prepared.size >= KEPT_STATEMENTS) {
      oldest[1].finalize();
      this.#prepared.delete(oldest[0]);
    }
    prepared = this.#database.prepare(sql);
    this.#prepared.set(sql, prepared);
    return prepared;
  }
}

function within(bound: Bound, rows: Iterable<Row>): Row[] {
  const found = counted(rows, bound);
  if (!found) throw answerTooLarge();
  return found;
}

const WATCH = '"_duet_watch"';

interface Watch {
  /** A statement begins now; `late` is told when it has taken too long. */
  readonly begin: (late: () => void) => void;
}

/** A function of SQL that ends the statement which calls it for each row: SQLite offers no other way to interrupt one. */
function watchOf(database: Database): Watch {
  let until = 0;
  let visits = 0;
  let late = () => {};
  database.function(WATCH.slice(1, -1), () => {
    if (++visits % BETWEEN_LOOKS === 0 && performance.now() > until) {
      late();
      throw UNBOUNDED;
    }
    return 1;
  });
  return {
    begin: (told) => {
      until = performance.now() + WATCH_MS;
      late = told;
    },
  };
}

/** The whole new row, as it would be read: every column has a value, and SQLite keeps values as they are. */
function stored({ resource, values, version }: Insert, rowId: unknown): Row {
  const row: Row = {};
  for (const { name } of resource.columns) row[name] = values[name];
  if (resource.key.origin.by === 'serial') row[resource.key.name] = rowId;
  row[resource.version.name] = version;
  return row;
}

const coded = new WeakMap<readonly Column[], readonly Column[]>();

/** Those whose values are not what SQLite gives back; lists of columns are made once, and mostly none is among them. */
function codedAmong(columns: readonly Column[]): readonly Column[] {
  let some = coded.get(columns);
  if (!some) {
    some = columns.filter((column) => codecOf(column) !== undefined);
    coded.set(columns, some);
  }
  return some;
}

export function decoded(rows: Row[], columns: readonly Column[]): Row[] {
  for (const column of codedAmong(columns))
    for (const row of rows) {
      const value = row[column.name];
      if (value === null) continue;
      row[column.name] = codecOf(column) === 'boolean' ? value !== 0 : JSON.parse(String(value));
    }
  return rows;
}
