/** Whether an index, a limit or the size of the tables bounds the rows that a SQLite statement visits. */

import type { Database } from 'bun:sqlite';
import { Lru } from '../../base/lru.ts';
import { conditionsIn, type Filter, reached } from '../../query/filter.ts';
import { keptAs } from '../../schema/values.ts';
import { quote } from '../sql/dialect.ts';
import type { Aggregate, Match, Row, Select, Statement, Table } from '../statements.ts';

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

type Reading = Select | Aggregate | Match;

interface Line {
  readonly id: number;
  readonly parent: number;
  readonly detail: string;
}

/** What the plan of a statement says of it, whatever its parameters are. */
interface Shape {
  /** How many loops that nothing bounds stand inside of each other. */
  readonly loops: number;
  readonly tables: readonly string[];
  /** How many conditions are tested in the innermost of them. */
  readonly conditions: number;
  /** Whether all of these look records up by an index, inside of what bounds them: mostly that finds few. */
  readonly looksUp: boolean;
  /** Until when that is not relied on, after one has taken long. */
  readonly longUntil: number;
  /** Counts the rows that belong to the values of the first parameter, where these are all that is visited. */
  readonly count: string | undefined;
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
  readonly #shapes = new Lru<string, Shape>(KEPT);
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
    const shape = this.#shapes.get(sql);
    if (shape) this.#keep(sql, { ...shape, longUntil: performance.now() + LONG_MS });
  };

  #cost(statement: Statement, sql: string, parameters: readonly unknown[]): number | 'watched' {
    // What Duet asks of its own tables, it asks by their keys, or of a few rows at a time.
    if (statement.do !== 'filled' && !statement.resource.version) return 0;
    switch (statement.do) {
      case 'select':
      case 'aggregate':
        return this.#costOfReading(statement, sql, parameters);
      case 'match': {
        const cost = this.#costOfReading(statement, sql, parameters);
        // What its filter looks at besides, it looks at for each of them.
        return cost === 'watched' ? cost : cost * statement.rows.length;
      }
      case 'filled':
        return this.#costOfReading(statement.select, sql, parameters);
      case 'update':
        return keysOf(statement.where) * (this.#change(statement.resource) + bytesIn(statement.set) / BYTES);
      case 'delete':
      case 'bury':
        return keysOf(statement.where) * this.#change(statement.resource);
      default:
        return 0;
    }
  }

  #costOfReading(statement: Reading, sql: string, parameters: readonly unknown[]): number | 'watched' {
    const { where, resource } = statement;
    if (where?.is === 'eq' && where.column === resource.key) return 0;
    // Lists are laid out before anything is looked for.
    const listed = where ? valuesIn(where) : 0;
    const shape = this.#shapes.get(sql) ?? this.#keep(sql, this.#shapeOf(statement, sql));
    const { loops, conditions } = shape;
    if (loops === 0) return listed;
    this.#recountNowAndThen();
    const visits = this.#visits(shape, parameters);
    const isWhole = statement.do === 'select' && statement.limit === undefined && statement.per !== undefined;
    // Of a whole list of related records all that is visited is answered, and so counted as objects.
    if (isWhole && conditions === 0 && visits <= MOST_ROWS) return listed;
    const cost = listed + visits * (VISIT + conditions) * this.#weightOf(resource);
    return cost > MOST_TESTS && shape.looksUp && performance.now() > shape.longUntil ? 'watched' : cost;
  }

  #visits({ loops, tables, count }: Shape, parameters: readonly unknown[]): number {
    const rows = Math.max(...tables.map((table) => this.#rowsOf(table)));
    if (rows <= this.#most) return loops === 1 ? rows : rows ** loops / SELDOM;
    const counted = count === undefined ? Number.POSITIVE_INFINITY : this.#count(count, [parameters[0]]);
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
      const sizes = columns
        .filter((column) => ['text', 'json'].includes(keptAs(column)))
        .map(({ stored }) => `COALESCE(octet_length(${quote(stored)}), 0)`);
      const from = (order: string) =>
        `SELECT AVG(${['0', ...sizes].join(' + ')}) AS "n" FROM (SELECT * FROM ${quote(table)} ORDER BY ${quote(key.stored)} ${order} LIMIT ${LOOKED_AT})`;
      const bytes = this.#count(`SELECT MAX("n") AS "rows" FROM (${from('ASC')} UNION ALL ${from('DESC')})`);
      weight = 1 + (bytes ?? 0) / LIGHT;
      this.#weights.set(table, weight);
    }
    return weight;
  }

  #keep(sql: string, shape: Shape): Shape {
    this.#shapes.set(sql, shape);
    return shape;
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

  #shapeOf(statement: Reading, sql: string): Shape {
    const plan = this.#database.prepare(`EXPLAIN QUERY PLAN ${sql}`);
    const lines = plan.all() as Line[];
    plan.finalize();
    const loops = this.#loopsWithin(0, lines, statement);
    const { resource, where } = statement;
    const tables = new Set([resource, ...(where ? reached(where) : [])]);
    const per = statement.do === 'select' ? statement.per?.column : undefined;
    const column = per && `${quote(resource.table)}.${quote(per.stored)}`;
    const isByValue = per && lines.some(({ detail }) => detail.includes(`(${per.stored}=?`));
    const asksForNull = where !== undefined && testsNull(where);
    const open = lines.filter(({ detail }) => isLoop(detail) && !this.#isBounded(detail, asksForNull));
    return {
      loops,
      looksUp: open.every(({ detail }) => /^SEARCH _\d+ .*INDEX \S+ \((\w+=\?( AND )?)+\)$/.test(detail)),
      longUntil: 0,
      tables: Array.from(tables, ({ table }) => table),
      conditions: where ? conditionsIn(where).filter((each) => 'column' in each).length : 0,
      count:
        loops === 1 && isByValue
          ? counting(
              `SELECT 1 FROM ${quote(resource.table)} WHERE ${column} IN (SELECT value FROM json_each(?1))`,
            )
          : undefined,
    };
  }

  /** Lines under one parent are loops inside of each other, or whole queries that are asked in the innermost. */
  #loopsWithin(parent: number, lines: readonly Line[], statement: Reading): number {
    const here = lines.filter((line) => line.parent === parent);
    const asksForNull = statement.where !== undefined && testsNull(statement.where);
    const open = here.filter(({ detail }) => isLoop(detail) && !this.#isBounded(detail, asksForNull));
    const inner = here
      .filter(({ detail }) => !isLoop(detail))
      .map(({ id }) => this.#loopsWithin(id, lines, statement));
    const within = Math.max(0, ...inner);
    const [only] = open;
    const isSorted = here.some(({ detail }) => detail.startsWith('USE TEMP B-TREE'));
    // It stops at its limit, having thrown away nothing that it visited.
    if (open.length === 1 && only && within === 0 && !isSorted && keepsAll(statement, only.detail)) return 0;
    return open.length + within;
  }

  /**
   * Whether a loop finds one row at the most, or runs over a list that the statement was given. A unique index may hold
   * any number of nulls, and a plan words a search for them as one for a value.
   */
  #isBounded(detail: string, asksForNull: boolean): boolean {
    if (detail.startsWith('SCAN json_each ')) return true;
    const [, by = '', terms = ''] = / USING (.*) \((.*)\)$/.exec(detail) ?? [];
    const columns = terms.split(' AND ');
    if (!columns.every((term) => term.endsWith('=?'))) return false;
    if (by === 'INTEGER PRIMARY KEY' || by === 'PRIMARY KEY') return true;
    if (asksForNull) return false;
    const unique = this.#database
      .query(
        `SELECT (SELECT COUNT(*) FROM pragma_index_info("l"."name")) AS "columns"
         FROM "sqlite_schema" AS "s", pragma_index_list("s"."name") AS "l"
         WHERE "s"."type" = 'table' AND "l"."unique" = 1 AND "l"."name" = ?1`,
      )
      .get(by.replace(/^(COVERING )?INDEX /, '')) as { columns: number } | null;
    return unique?.columns === columns.length;
  }
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

/** How many values the lists of a filter have. */
function valuesIn(filter: Filter): number {
  return conditionsIn(filter).reduce((sum, each) => sum + (each.is === 'in' ? each.values.length : 0), 0);
}

/** How many records a change is about: those are always found before, and named by their keys. */
function keysOf(where: Filter): number {
  if (where.is === 'in') return where.values.length;
  return where.is === 'eq' ? 1 : Number.POSITIVE_INFINITY;
}

function isLoop(detail: string): boolean {
  return /^(SCAN|SEARCH) /.test(detail);
}

function counting(sql: string): string {
  return `SELECT COUNT(*) AS "rows" FROM (${sql} LIMIT ${MOST_ROWS + 1})`;
}

/** Whether the statement has a limit, and no condition but those that the index itself answers. */
function keepsAll(statement: Reading, detail: string): boolean {
  if (statement.do !== 'select' || (statement.limit ?? statement.most) === undefined) return false;
  const { where, per, order, after, before } = statement;
  // Of a place in an order by several columns the index finds only the first.
  if ((after || before) && order && order.length > 1) return false;
  const answered = / \((.*)\)$/.exec(detail)?.[1]?.split(' AND ').length ?? 0;
  const asked = (where ? terms(where) : 0) + (per ? 1 : 0) + (after ? 1 : 0) + (before ? 1 : 0);
  return asked === answered;
}

/** How many conditions an index could answer; no number where there are others. */
function terms(filter: Filter): number {
  switch (filter.is) {
    case 'all':
      return filter.of.reduce((sum, each) => sum + terms(each), 0);
    case 'eq':
    case 'gt':
    case 'gte':
    case 'lt':
    case 'lte':
    case 'in':
    case 'null':
      return 1;
    case 'startsWith':
      return 2;
    default:
      return Number.NaN;
  }
}

function testsNull(filter: Filter): boolean {
  return conditionsIn(filter).some((each) => each.is === 'null');
}
