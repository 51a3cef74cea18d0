/** SQLite through `bun:sqlite`: one connection, synchronous, durable. */

import { Database, type Statement as Prepared, SQLiteError, type SQLQueryBindings } from 'bun:sqlite';
import { DuetError } from '../errors.ts';
import type { Column, Model, Resource } from '../schema/model.ts';
import { isScalar } from '../schema/values.ts';
import { Compiler, type Dialect } from './compile.ts';
import type { Evolvable, Session } from './evolve/database.ts';
import { ownTables } from './evolve/tables.ts';
import { sqliteDdl } from './sqlite-ddl.ts';
import {
  Dangling,
  NotUnique,
  type Program,
  type Row,
  type Statement,
  type Steps,
  type Storage,
} from './storage.ts';

/** Statements beyond this many are prepared anew; a deployment has a few for each resource and document. */
const KEPT_STATEMENTS = 1000;
const BUSY_TIMEOUT_MS = 2000;
/** Another node may be changing tables, which takes as long as it takes. */
const EVOLUTION_TIMEOUT_MS = 600_000;

export interface SqliteOptions {
  /** A file path, or `:memory:`. */
  readonly path: string;
  readonly model: Model;
  /** Told the text of every statement that a program runs. */
  readonly trace?: ((sql: string) => void) | undefined;
}

type Codec = 'boolean' | 'json' | undefined;

function codecOf({ list, type }: Column): Codec {
  if (list) return 'json';
  const kept = isScalar(type) ? type.stored : 'text';
  return kept === 'boolean' || kept === 'json' ? kept : undefined;
}

const dialect: Dialect = {
  parameter: (position) => `?${position}`,
  among: (column, position) => `${column} IN (SELECT value FROM json_each(?${position}))`,
  list: (values) => JSON.stringify(values),
  encode(column, value) {
    const codec = codecOf(column);
    if (codec === 'json') return JSON.stringify(value);
    return codec === 'boolean' ? Number(value) : value;
  },
  read: (_, quoted) => quoted,
  position: 'instr',
  order: (quoted, _, descending) => (descending ? `${quoted} DESC` : quoted),
  count: (quoted) => `COUNT(${quoted})`,
  // As integers the sum could overflow, and then it fails.
  sum: (quoted) => `SUM(CAST(${quoted} AS REAL))`,
  extreme: (of, quoted) => `${of}(${quoted})`,
  // The list has one column, under a name that no table has: json_each has many, and ordinary ones. No stored name
  // begins with `_`.
  perValue: ({ columns, table, key, position, near, condition, order, limit, most }) =>
    `SELECT ${columns} FROM (SELECT value AS "_per" FROM json_each(?${position})) JOIN ${table} ON ${table}.${key} IN (SELECT "_i".${key} FROM ${table} AS "_i" WHERE ${near('"_i"')} = "_per"${condition('"_i"')} ORDER BY ${order('"_i"')} LIMIT ${limit}) ORDER BY ${order(table)}${most}`,
  // A writer has the whole database to itself.
  lock: '',
};

export class SqliteStorage implements Storage, Evolvable {
  readonly ddl = sqliteDdl;
  readonly #database: Database;
  readonly #model: Model;
  readonly #trace: ((sql: string) => void) | undefined;
  readonly #compiler = new Compiler(dialect);
  readonly #prepared = new Map<string, Prepared>();

  constructor({ path, model, trace }: SqliteOptions) {
    this.#model = model;
    this.#trace = trace;
    this.#database = new Database(path, { create: true, strict: true });
    this.#database.run(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`);
    this.#database.run('PRAGMA journal_mode = WAL');
    this.#database.run('PRAGMA synchronous = FULL');
    this.#database.run('PRAGMA foreign_keys = ON');
  }

  read<T>(program: () => Program<T>, steps: Steps): T {
    return steps === 'one'
      ? this.#explaining(() => this.#drive(program()))
      : this.#transaction('BEGIN', program);
  }

  async write<T>(program: () => Program<T>, steps: Steps): Promise<T> {
    if (steps === 'one') return this.#explaining(() => this.#drive(program()));
    // IMMEDIATE: a transaction that begins by reading could not become the writer while another process is.
    return this.#transaction('BEGIN IMMEDIATE', program);
  }

  async ping(): Promise<void> {
    this.#prepare('SELECT 1').get();
  }

  async close(): Promise<void> {
    for (const statement of this.#prepared.values()) statement.finalize();
    this.#prepared.clear();
    this.#database.close();
  }

  /** All of the work is one transaction: it keeps other writers out, and a failure leaves everything as it was. */
  async exclusively<T>(work: (session: Session) => Promise<T>): Promise<T> {
    const session: Session = {
      query: async (sql, parameters = []) =>
        this.#database.query(sql).all(...(parameters as SQLQueryBindings[])) as Row[],
      transaction: (inner) => inner(),
      load: async (program) => this.#drive(program()),
    };
    this.#database.run(`PRAGMA busy_timeout = ${EVOLUTION_TIMEOUT_MS}`);
    try {
      this.#database.run('BEGIN IMMEDIATE');
      for (const sql of ownTables()) this.#database.run(sql);
      const result = await work(session);
      this.#database.run('COMMIT');
      return result;
    } finally {
      if (this.#database.inTransaction) this.#database.run('ROLLBACK');
      this.#database.run(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`);
    }
  }

  /** Begins, runs the program without ever yielding to the event loop, and commits: nothing else can interleave. */
  #transaction<T>(begin: string, program: () => Program<T>): T {
    return this.#explaining(() => {
      this.#prepare(begin).run();
      try {
        const result = this.#drive(program());
        this.#prepare('COMMIT').run();
        return result;
      } catch (error) {
        // SQLite has already rolled back by itself after some errors, such as a full disk.
        if (this.#database.inTransaction) this.#prepare('ROLLBACK').run();
        throw error;
      }
    });
  }

  #drive<T>(running: Program<T>): T {
    let step = running.next();
    while (!step.done) {
      let rows: Row[][];
      try {
        rows = step.value.map((statement) => this.#execute(statement));
      } catch (error) {
        step = running.throw(error instanceof SQLiteError ? this.#toldToPrograms(error) : error);
        continue;
      }
      step = running.next(rows);
    }
    return step.value;
  }

  #execute(statement: Statement): Row[] {
    const { sql, parameters, columns } = this.#compiler.compile(statement);
    this.#trace?.(sql);
    const rows = this.#prepare(sql).all(...(parameters as SQLQueryBindings[])) as Row[];
    for (const column of columns) {
      const codec = codecOf(column);
      if (codec === undefined) continue;
      for (const row of rows) {
        const value = row[column.name];
        if (value === null) continue;
        row[column.name] = codec === 'boolean' ? value !== 0 : JSON.parse(String(value));
      }
    }
    return rows;
  }

  #prepare(sql: string): Prepared {
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

  #toldToPrograms(error: SQLiteError): Error {
    switch (error.code) {
      case 'SQLITE_CONSTRAINT_UNIQUE':
      case 'SQLITE_CONSTRAINT_PRIMARYKEY':
        return notUnique(this.#model, error) ?? error;
      case 'SQLITE_CONSTRAINT_FOREIGNKEY':
        return new Dangling(undefined);
      default:
        return error;
    }
  }

  #explaining<T>(work: () => T): T {
    try {
      return work();
    } catch (error) {
      if (!(error instanceof SQLiteError)) throw error;
      // The only CHECK that Duet declares is on serial keys.
      if (error.code === 'SQLITE_CONSTRAINT_CHECK')
        throw new DuetError('KEYS_EXHAUSTED', 'This collection has assigned its last id.');
      if (error.code === 'SQLITE_BUSY')
        throw new DuetError('UNAVAILABLE', 'The database is busy.', { headers: { 'Retry-After': '1' } });
      throw error;
    }
  }
}

/** SQLite names what collided as `UNIQUE constraint failed: User.email, User.name`. */
function notUnique(model: Model, { message }: SQLiteError): NotUnique | undefined {
  const stored = message.replace(/^.*failed: /, '').split(', ');
  const find = (resource: Resource) =>
    resource.columns.filter((column) => stored.includes(`${resource.table}.${column.stored}`));
  for (const resource of model.resources) {
    const columns = find(resource);
    if (columns.length > 0) return new NotUnique(resource, columns);
  }
  return undefined;
}
