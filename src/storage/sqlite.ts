/** SQLite through `bun:sqlite`: one connection, synchronous, durable. */

import { Database, type Statement as Prepared, SQLiteError, type SQLQueryBindings } from 'bun:sqlite';
import { DuetError, pointer } from '../errors.ts';
import type { Column, Model, Resource } from '../schema/model.ts';
import { isScalar } from '../schema/values.ts';
import { compile, type Dialect } from './compile.ts';
import { indexes, META, tables } from './sqlite-tables.ts';
import type { Program, Row, Statement, Storage } from './storage.ts';

/** Statements beyond this many are prepared anew; a deployment has a few for each resource and document. */
const KEPT_STATEMENTS = 1000;
const BUSY_TIMEOUT_MS = 2000;

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
  among: (column, parameter) => `${column} IN (SELECT value FROM json_each(${parameter}))`,
  list: (values) => JSON.stringify(values),
  encode(column, value) {
    const codec = codecOf(column);
    if (codec === 'json') return JSON.stringify(value);
    return codec === 'boolean' ? Number(value) : value;
  },
};

export class SqliteStorage implements Storage {
  readonly #database: Database;
  readonly #model: Model;
  readonly #trace: ((sql: string) => void) | undefined;
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

  read<T>(program: () => Program<T>): T {
    return this.#transaction('BEGIN', program);
  }

  async write<T>(program: () => Program<T>): Promise<T> {
    // IMMEDIATE: a transaction that begins by reading could not become the writer while another process is.
    return this.#transaction('BEGIN IMMEDIATE', program);
  }

  async establish(load: () => Program<void>): Promise<void> {
    this.#transaction('BEGIN IMMEDIATE', () => this.#create(load));
  }

  async ping(): Promise<void> {
    this.#prepare('SELECT 1').get();
  }

  async close(): Promise<void> {
    for (const statement of this.#prepared.values()) statement.finalize();
    this.#prepared.clear();
    this.#database.close();
  }

  *#create(load: () => Program<void>): Program<void> {
    const definition = [...tables(this.#model), ...indexes(this.#model)].join(';\n');
    const known = this.#database
      .query<{ name: string }, [string]>(
        'SELECT "name" FROM "sqlite_schema" WHERE "type" = \'table\' AND "name" = ?',
      )
      .get(META);
    if (known) {
      const before = this.#database
        .query<{ value: string }, []>(`SELECT "value" FROM "${META}" WHERE "name" = 'tables'`)
        .get();
      if (before?.value !== definition)
        throw new Error(
          'the database was made from another schema file, and this one needs other tables. Restore that schema, or name a new database in DATABASE_URL',
        );
      return;
    }
    this.#database.run(definition);
    this.#database.run(`INSERT INTO "${META}" ("name", "value") VALUES ('tables', ?)`, [definition]);
    // Records may point to later ones; the commit checks them all.
    this.#database.run('PRAGMA defer_foreign_keys = ON');
    yield* load();
  }

  /** Begins, runs the program without ever yielding to the event loop, and commits: nothing else can interleave. */
  #transaction<T>(begin: string, program: () => Program<T>): T {
    try {
      this.#prepare(begin).run();
      try {
        const running = program();
        let step = running.next();
        while (!step.done) step = running.next(step.value.map((statement) => this.#execute(statement)));
        this.#prepare('COMMIT').run();
        return step.value;
      } catch (error) {
        // SQLite has already rolled back by itself after some errors, such as a full disk.
        if (this.#database.inTransaction) this.#prepare('ROLLBACK').run();
        throw error;
      }
    } catch (error) {
      throw error instanceof SQLiteError ? this.#explained(error) : error;
    }
  }

  #execute(statement: Statement): Row[] {
    const { sql, parameters, columns } = compile(statement, dialect);
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

  #explained(error: SQLiteError): Error {
    switch (error.code) {
      case 'SQLITE_CONSTRAINT_UNIQUE':
      case 'SQLITE_CONSTRAINT_PRIMARYKEY':
        return notUnique(this.#model, error.message);
      case 'SQLITE_CONSTRAINT_FOREIGNKEY':
        return new DuetError(
          'CONFLICT',
          'A record that this one refers to, or that refers to it, stands in the way.',
        );
      case 'SQLITE_CONSTRAINT_CHECK':
        // The only CHECK that Duet declares is on serial keys.
        return new DuetError('KEYS_EXHAUSTED', 'This collection has assigned its last id.');
      case 'SQLITE_BUSY':
        return new DuetError('UNAVAILABLE', 'The database is busy.', { headers: { 'Retry-After': '1' } });
      default:
        return error;
    }
  }
}

/** SQLite names what collided as `UNIQUE constraint failed: User.email, User.name`. */
function notUnique(model: Model, message: string): Error {
  const stored = message.replace(/^.*failed: /, '').split(', ');
  const find = (resource: Resource) =>
    [...resource.columns].filter((column) => stored.includes(`${resource.table}.${column.stored}`));
  const columns = model.resources.map(find).find((found) => found.length > 0) ?? [];
  const names = columns.map(({ name }) => name);
  const what = names.length > 1 ? `The combination of ${names.join(', ')}` : (names[0] ?? 'A value');
  return new DuetError('CONFLICT', `${what} is taken by another record.`, {
    errors: names.map((name) => ({
      pointer: pointer(name),
      code: 'NOT_UNIQUE',
      detail: `${what} is taken by another record`,
    })),
  });
}
