/** Whether an index, a limit or the size of the tables bounds the rows that a SQLite statement visits. */

import type { Database } from 'bun:sqlite';
import { Lru } from '../../base/lru.ts';
import { conditionsIn, type Filter, ownColumns } from '../../query/filter.ts';
import type { Column, Resource } from '../../schema/model.ts';
import { keptAs } from '../../schema/values.ts';
import { quote } from '../sql/dialect.ts';
import type { Match, Row, Select, Statement, Table } from '../statements.ts';
import { lengthsOf, splitBy } from '../words.ts';
import { type Plan, planOf, type Reading } from './plan.ts';

/** What one read may cost here, in conditions that are tested: some ten milliseconds. */
const MOST_TESTS = 100_000;
/** What it costs to change a row, its indexes too; and how many bytes of what is written cost as much as a test. */
const CHANGE = 50;
const BYTES = 20;
/** A row with more bytes of text costs more. */
const LIGHT = 500;
const LOOKED_AT = 25;
/** What it costs to come to a row, beside testing it. */
const VISIT = 4;
/** Of rows that could all meet each other, at most one in so many does. */
const SELDOM = 12;
/** A table with more rows is large. */
const MOST_ROWS = 20_000;
/** In a larger file the rows may be large themselves. */
const SMALL_FILE = 64 * 1024 * 1024;
const MOST_LARGE_ROWS = 1_000;
/** How long a table counts as small without being looked at again. */
const RECOUNT_MS = 5_000;
/** How long a statement that took long is not tried here again. */
const LONG_MS = 5_000;
const KEPT = 1_000;

interface Kept {
  readonly plan: Plan;
  /** Until when it is not relied on that it looks few up, after it has taken long. */
  longUntil: number;
}

/** Watched: it is most likely short, but only the records can tell. */
export type Admission = boolean | 'watched';

export interface Allowance {
  /** Whether the statement, after those before it, lets nobody wait for long. */
  readonly admits: (statement: Statement, sql: string, parameters: readonly unknown[]) => Admission;
  /** Told of one that was watched, and took long. */
  readonly wasLong: (sql: string) => void;
}

export class Bounds implements Allowance {
  readonly #database: Database;
  readonly #plans = new Lru<string, Kept>(KEPT);
  readonly #rows = new Map<string, number>();
  readonly #weights = new Map<string, number>();
  #most = MOST_ROWS;
  #recount = 0;

  constructor(database: Database) {
    this.#database = database;
  }

  /** For one program: what its statements cost together is what others wait for. However short each is, many are long. */
  allowance({ tests = MOST_TESTS, ms = Number.POSITIVE_INFINITY } = {}): Allowance {
    let left = tests;
    const until = performance.now() + ms;
    return {
      admits: (statement, sql, parameters) => {
        const cost = this.#cost(statement, sql, parameters);
        if (cost !== 'watched') left -= cost;
        return left >= 0 && performance.now() <= until && (cost !== 'watched' || cost);
      },
      wasLong: this.wasLong,
    };
  }

  /** A statement that is all of a program. */
  admits(statement: Statement, sql: string, parameters: readonly unknown[]): Admission {
    const cost = this.#cost(statement, sql, parameters);
    return cost === 'watched' ? cost : cost <= MOST_TESTS;
  }

  readonly wasLong = (sql: string) => {
    const kept = this.#plans.get(sql);
    if (kept) kept.longUntil = performance.now() + LONG_MS;
  };

  #cost(statement: Statement, sql: string, parameters: readonly unknown[]): number | 'watched' {
    if (statement.do !== 'filled' && !statement.resource.version)
      return statement.do === 'select' ? this.#costOfOwn(statement, parameters) : 0;
    switch (statement.do) {
      case 'select':
      case 'aggregate':
        return this.#costOfReading(statement, sql, parameters);
      case 'match': {
        const cost = this.#costOfReading(statement, sql, parameters);
        // What its filter looks at besides, it looks at for each of them.
        return cost === 'watched' ? cost : cost * statement.rows.length + givenTo(statement);
      }
      case 'filled':
        return this.#costOfReading(statement.select, sql, parameters);
      case 'update': {
        const change = this.#change(statement.resource) + bytesIn(statement.set) / BYTES;
        return keysOf(statement.where) * change + splittingOf(statement);
      }
      case 'insert':
      case 'insert all':
      case 'upsert':
      case 'mend words':
        return splittingOf(statement);
      case 'delete':
      case 'bury':
        return keysOf(statement.where) * this.#change(statement.resource);
      default:
        return 0;
    }
  }

  /** What Duet asks of its own tables, it asks by their keys, or of a few rows at a time; but there may be much in them. */
  #costOfOwn(
    { resource, columns, where, per, limit, bytes }: Select,
    parameters: readonly unknown[],
  ): number {
    if (per && limit !== undefined) {
      const rows = per.values.length * limit;
      this.#recountNowAndThen();
      const held = this.#rowsOf(resource.table);
      return VISIT * (held > MOST_ROWS ? rows : Math.min(rows, held));
    }
    if (bytes === undefined || where?.is !== 'in') return 0;
    // To ask how long they are reads none of the texts.
    const found = `${quote(where.column.stored)} IN (SELECT value FROM json_each(?1))`;
    const sum = `COALESCE(SUM(${bytesOf(columns)}), 0)`;
    const held = this.#count(`SELECT ${sum} AS "rows" FROM ${quote(resource.table)} WHERE ${found}`, [
      parameters[0],
    ]);
    return VISIT * where.values.length + Math.min(bytes, held) / BYTES;
  }

  #costOfReading(statement: Reading, sql: string, parameters: readonly unknown[]): number | 'watched' {
    const { where, resource } = statement;
    if (where?.is === 'eq' && where.column === resource.key) return 0;
    // Lists are laid out before anything is looked for.
    const having = statement.do === 'aggregate' ? statement.having : undefined;
    const listed = (where ? valuesIn(where) : 0) + (having ? valuesIn(having) : 0);
    let kept = this.#plans.get(sql);
    if (!kept) {
      kept = { plan: planOf(this.#database, statement, sql), longUntil: 0 };
      this.#plans.set(sql, kept);
    }
    const { loops, conditions } = kept.plan;
    // What is left out is visited too.
    const offset = statement.do === 'select' ? statement.offset : 0;
    if (loops === 0 && offset === 0) return listed;
    this.#recountNowAndThen();
    if (loops === 0) return listed + offset * VISIT * this.#weightOf(resource);
    const visits = this.#visits(kept.plan, parameters);
    const isWhole = statement.do === 'select' && statement.limit === undefined && statement.per !== undefined;
    // Of a whole list of related records all that is visited is answered, and so counted as objects.
    if (isWhole && conditions === 0 && visits <= MOST_ROWS) return listed;
    const cost = listed + visits * (VISIT + conditions) * this.#weightOf(resource);
    return cost > MOST_TESTS && kept.plan.looksUp && performance.now() > kept.longUntil ? 'watched' : cost;
  }

  #visits({ loops, tables, rows: ofValues }: Plan, parameters: readonly unknown[]): number {
    const rows = Math.max(...tables.map((table) => this.#rowsOf(table)));
    if (rows <= this.#most) return loops === 1 ? rows : rows ** loops / SELDOM;
    const counted =
      ofValues === undefined ? Number.POSITIVE_INFINITY : this.#count(counting(ofValues), [parameters[0]]);
    return counted <= MOST_ROWS ? counted : Number.POSITIVE_INFINITY;
  }

  #change(resource: Table): number {
    this.#recountNowAndThen();
    return CHANGE * this.#weightOf(resource);
  }

  /** How much more it takes to read a row of this resource than a short one, by a look at its first and its last rows. */
  #weightOf({ table, key, columns }: Table): number {
    if (this.#most === MOST_ROWS) return 1;
    let weight = this.#weights.get(table);
    if (weight === undefined) {
      const from = (order: string) =>
        `SELECT AVG(${bytesOf(columns)}) AS "n" FROM (SELECT * FROM ${quote(table)} ORDER BY ${quote(key.stored)} ${order} LIMIT ${LOOKED_AT})`;
      const bytes = this.#count(`SELECT MAX("n") AS "rows" FROM (${from('ASC')} UNION ALL ${from('DESC')})`);
      weight = 1 + (bytes ?? 0) / LIGHT;
      this.#weights.set(table, weight);
    }
    return weight;
  }

  #recountNowAndThen(): void {
    const now = performance.now();
    if (now < this.#recount) return;
    this.#recount = now + RECOUNT_MS;
    this.#rows.clear();
    this.#weights.clear();
    const bytes = this.#count(
      'SELECT page_count * page_size AS "rows" FROM pragma_page_count, pragma_page_size',
    );
    this.#most = bytes <= SMALL_FILE ? MOST_ROWS : MOST_LARGE_ROWS;
  }

  #rowsOf(table: string): number {
    let rows = this.#rows.get(table);
    if (rows === undefined) {
      rows = this.#count(counting(`SELECT 1 FROM ${quote(table)}`));
      this.#rows.set(table, rows);
    }
    return rows;
  }

  #count(sql: string, parameters: readonly unknown[] = []): number {
    const row = this.#database.query(sql).get(...(parameters as string[])) as { rows: number };
    return row.rows;
  }
}

/** What it takes to find the words of the records that are written: of each character as much as a test. */
function splittingOf(statement: Statement): number {
  const rows = splitBy(statement);
  return rows.length > 0 ? lengthsOf((statement as { resource: Table }).resource as Resource, rows) : 0;
}

/** Of the texts of a row. */
function bytesOf(columns: readonly Column[]): string {
  const sizes = columns
    .filter((column) => ['text', 'json'].includes(keptAs(column)))
    .map(({ stored }) => `COALESCE(octet_length(${quote(stored)}), 0)`);
  return ['0', ...sizes].join(' + ');
}

/** What it takes to hold the values that it is given against the conditions. */
function givenTo({ resource, rows, where }: Match): number {
  const used = ownColumns(where, resource);
  const conditions = conditionsIn(where).length;
  let bytes = 0;
  for (const { name } of used)
    for (const row of rows) {
      const value = row[name];
      if (typeof value === 'string') bytes += value.length;
      else if (Array.isArray(value)) bytes += JSON.stringify(value).length;
    }
  return conditions * (rows.length + bytes / BYTES);
}

function bytesIn(set: Row): number {
  let bytes = 0;
  for (const name in set) {
    const value = set[name];
    if (typeof value === 'string') bytes += value.length;
    else if (typeof value === 'object' && value !== null) bytes += JSON.stringify(value).length;
  }
  return bytes;
}

/** How many values the lists of a filter have. Nothing is made on the way: every read comes by here. */
function valuesIn(filter: Filter): number {
  switch (filter.is) {
    case 'all':
    case 'any': {
      let values = 0;
      for (const each of filter.of) values += valuesIn(each);
      return values;
    }
    case 'not':
      return valuesIn(filter.of);
    case 'in':
    case 'hasSome':
    case 'hasEvery':
      return filter.values.length;
    default:
      return 'where' in filter ? valuesIn(filter.where) : 0;
  }
}

/** How many records a change is about: those are always found before, and named by their keys. */
function keysOf(where: Filter): number {
  if (where.is === 'in') return where.values.length;
  if (where.is === 'all') return Math.min(...where.of.map(keysOf));
  return where.is === 'eq' ? 1 : Number.POSITIVE_INFINITY;
}

function counting(sql: string): string {
  return `SELECT COUNT(*) AS "rows" FROM (${sql} LIMIT ${MOST_ROWS + 1})`;
}
