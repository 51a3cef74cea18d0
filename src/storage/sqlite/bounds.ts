/** Whether an index, a limit or the size of the tables bounds what a SQLite statement visits, and the texts that it looks at. */

import type { Database } from 'bun:sqlite';
import type { Filter } from '../../query/filter.ts';
import type { Resource } from '../../schema/model.ts';
import { indexesOf } from '../evolve/tables.ts';
import { quote } from '../sql/dialect.ts';
import { type Delete, type Select, type Statement, type Table, textIn } from '../statements.ts';
import { BYTES, bytesIn, countOf, givenTo, relationsIn, splittingOf } from './given.ts';
import { keyIn, keysOf, named, seeksIn, valuesIn } from './keyed.ts';
import { looksAt, type Plan, planOf, type Reading } from './plan.ts';
import { costOfSearch } from './search-cost.ts';
import { MOST_ROWS, Sizes } from './sizes.ts';
import { keptStatements } from './statement-cache.ts';
import { ASSUMED, held, type Look, lengthIn, type Part, read, weightOf } from './texts.ts';

/** What one read may cost here, in conditions that are tested: some ten milliseconds. */
const MOST_TESTS = 100_000;
/** What it costs to change a row; and, in a large file, a page that has it or an index of it. */
const CHANGE = 50;
const CHANGED_PAGE = 150;
/** What it costs to come to a row, beside testing it. */
const VISIT = 4;
/** Of rows that could all meet each other, at most one in so many does. */
const SELDOM = 12;
/** In a large file a row may have a page of its own. */
const PAGE = 4;
/** In a smaller file all texts together are short. */
const SHORT_FILE = BYTES * MOST_TESTS;
/** What is looked at for each byte counts from here on: a few values that are compared are in most rules. */
const FEW_LOOKS = 1;
/** To plan more than so many joins may take longer than to carry them out. */
const MOST_RELATIONS = 16;
/** How long one program may keep this process from everything else; on a busy machine a short one takes long, too. */
export const LONGEST_MS = 100;
/** How long a statement that took long is not tried here again. */
const LONG_MS = 5_000;

interface Kept {
  readonly plan: Plan;
  /** Until when it is not relied on that it looks few up, after it has taken long. */
  longUntil: number;
}

/** Whether a program reads all that it is about, or a page of it. */
type Reach = 'all of it' | 'each page';

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
  readonly #plans = keptStatements<Kept>();
  readonly #sizes: Sizes;

  constructor(database: Database) {
    this.#database = database;
    this.#sizes = new Sizes(database);
  }

  /**
   * For one program: what its statements cost together is what others wait for. However short each is, many are long. With 'each
   * page', it is the first of many that ask the same of other records, which may be more, and lead to more.
   */
  allowance(of: Reach = 'all of it'): Allowance {
    let left = MOST_TESTS;
    const until = performance.now() + LONGEST_MS;
    return {
      admits: (statement, sql, parameters) => {
        const cost = this.#cost(statement, sql, parameters, left, of);
        if (cost !== 'watched') left -= cost;
        return left >= 0 && performance.now() <= until && (cost !== 'watched' || cost);
      },
      wasLong: this.wasLong,
    };
  }

  /** A statement that is all of a program. */
  admits(statement: Statement, sql: string, parameters: readonly unknown[]): Admission {
    const cost = this.#cost(statement, sql, parameters, MOST_TESTS);
    return cost === 'watched' ? cost : cost <= MOST_TESTS;
  }

  /** After others have written, nobody knows how much. */
  recount(): void {
    this.#sizes.outdate();
  }

  readonly wasLong = (sql: string) => {
    const kept = this.#plans.get(sql);
    if (kept) kept.longUntil = performance.now() + LONG_MS;
  };

  /** `left`: what it may cost. What may cost more is looked at closer. */
  #cost(
    statement: Statement,
    sql: string,
    parameters: readonly unknown[],
    left: number,
    of: Reach = 'all of it',
  ): number | 'watched' {
    if (statement.do !== 'filled' && !statement.resource.version) {
      if (statement.do === 'insert all')
        return statement.rows.reduce((sum, row) => sum + textIn(row), 0) / BYTES;
      if (statement.do === 'delete' && this.#sizes.isLarge) return this.#costOfSweep(statement);
      if (statement.do === 'update' && !keyIn(statement.where, statement.resource.key))
        return CHANGE * this.#sizes.rowsOf(statement.resource.table);
      return statement.do === 'select' ? this.#costOfOwn(statement, parameters) : 0;
    }
    switch (statement.do) {
      case 'select':
      case 'aggregate':
        return this.#costOfReading(statement, sql, parameters, left, of);
      case 'match': {
        // What its filter looks at besides, it looks at for each of them; and at what is given, whatever it comes to.
        const own = givenTo(statement);
        if (own > left) return own;
        const cost = this.#costOfReading(statement, sql, parameters, left / statement.rows.length, of);
        return cost === 'watched' ? cost : cost * statement.rows.length + own;
      }
      case 'filled':
        return this.#costOfReading(statement.select, sql, parameters, left, of, countOf(statement.value));
      case 'update': {
        const { resource, set, where } = statement;
        const keys = keysOf(where);
        this.#sizes.grew(resource, 0, set, keys);
        const row = keys === 1 ? CHANGE : this.#costOfRow(resource, (name) => Object.hasOwn(set, name));
        return keys * (row + bytesIn(set) / BYTES) + this.#changed(resource, where) + splittingOf(statement);
      }
      case 'insert':
      case 'upsert':
        this.#sizes.grew(statement.resource, 1, statement.values);
        return splittingOf(statement);
      case 'insert all':
        for (const row of statement.rows) this.#sizes.grew(statement.resource, 1, row);
        return splittingOf(statement);
      case 'mend words':
        return splittingOf(statement);
      case 'delete':
      case 'bury':
        return this.#costOfDelete(statement);
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
      const there = this.#sizes.rowsOf(resource.table);
      return VISIT * (there > MOST_ROWS ? rows : Math.min(rows, there));
    }
    if (bytes === undefined || where?.is !== 'in') return 0;
    // To ask how long they are reads none of the texts.
    const found = `${quote(where.column.stored)} IN (SELECT value FROM json_each(?1))`;
    const sizes = columns.map(({ stored }) => `COALESCE(octet_length(${quote(stored)}), 0)`);
    const sum = `COALESCE(SUM(${sizes.join(' + ')}), 0)`;
    const there = this.#sizes.number(`SELECT ${sum} FROM ${quote(resource.table)} WHERE ${found}`, [
      parameters[0],
    ]);
    return VISIT * where.values.length + Math.min(bytes, there) / BYTES;
  }

  /** What is outdated may be any number of long texts. */
  #costOfSweep({ resource, where }: Delete): number {
    return keysOf(where) === Number.POSITIVE_INFINITY
      ? Number.POSITIVE_INFINITY
      : this.#changed(resource, where);
  }

  #costOfReading(
    statement: Reading,
    sql: string,
    parameters: readonly unknown[],
    left: number,
    of: Reach,
    given = 'per' in statement && statement.per ? countOf(statement.per.values) : 1,
  ): number | 'watched' {
    const { where, resource } = statement;
    if (where?.is === 'eq' && where.column === resource.key) return 0;
    // Lists are laid out before anything is looked for.
    const having = statement.do === 'aggregate' ? statement.having : undefined;
    const listed = (where ? valuesIn(where) : 0) + (having ? valuesIn(having) : 0);
    let kept = this.#plans.get(sql);
    if (!kept) {
      if (relationsIn(where) + relationsIn(having) > MOST_RELATIONS) return Number.POSITIVE_INFINITY;
      kept = { plan: planOf(this.#database, statement, sql), longUntil: 0 };
      this.#plans.set(sql, kept);
    }
    if (performance.now() < kept.longUntil) return Number.POSITIVE_INFINITY;
    const { plan } = kept;
    const { loops, conditions } = plan;
    // What is left out is visited too.
    const offset = statement.do === 'select' ? statement.offset : 0;
    const weight = plan.weight + (where ? weightOf(where) : 0) + (having ? weightOf(having) : 0);
    // Any number of rows may lead to the same long text, and a single comparison reads it for each.
    const leadsOn = plan.leadsTo.length > 0;
    const isOne = statement.do === 'match' || keyIn(where, resource.key)?.is === 'eq';
    // What each row that is visited seeks among others, and that for each place where rows are sought themselves.
    const inner = where ? seeksIn(where, resource, false) : 1;
    const seeks = given * (isOne || !where ? inner : seeksIn(where, resource));
    const isMany = seeks > 1 || (leadsOn && statement.do === 'match' && statement.rows.length > 1);
    // Mostly nothing is asked of the rows of a list but that they are in it.
    const isLight = weight < FEW_LOOKS && (!isMany || (conditions <= 1 && !leadsOn));
    const sought = seeks > given ? Math.max(listed, seeks) : listed;
    const isPage = of === 'each page';
    const part =
      plan.where === undefined || isPage ? undefined : { where: plan.where, parameters: [parameters[0]] };
    // In a small file all that there is to carry is little.
    const carried =
      plan.sorted.length > 0 && this.#sizes.isLarge
        ? this.#costOfSorting(statement, plan, given, part ?? named(statement, parameters), left)
        : 0;
    if (loops === 0 && offset === 0) {
      if (isLight) return sought + carried;
      const cost = (weight * ASSUMED) / BYTES + carried;
      if (!isMany && cost <= left) return cost;
    }
    // It is looked at the clock between two rows, and not within one; nor for groups, when no row is visited any more.
    const mayWatch = plan.isWatchable && !having && !isPage;
    const looks =
      (!isLight || leadsOn) && this.#sizes.mayHoldLong(plan.tables) ? looksAt(statement, plan) : none;
    if (loops === 0) {
      // Their texts are not read, but each may be on a page of its own.
      const passed = offset * VISIT * (this.#sizes.isLarge ? PAGE : 1);
      const bare = sought + seeks * conditions + passed + carried;
      const cost = bare + this.#costOfLooks(looks, seeks, named(statement, parameters), left - bare);
      if (cost <= left || bare > left || !mayWatch || this.#sizes.know(plan.leadsTo)) return cost;
      return this.#costOfLooks(looks, 1) > MOST_TESTS ? cost : 'watched';
    }
    const isWhole = statement.do === 'select' && statement.limit === undefined && statement.per !== undefined;
    // Of a whole list of related records all that is visited is answered, and so counted as objects.
    const isAnswered = isWhole && conditions === 0;
    // Links lead to a record as often as there are links, and its texts are read each time, to be sorted.
    const isLinked = statement.do === 'select' && statement.per?.through !== undefined;
    if (isAnswered && isPage && !isLinked) return sought;
    const visits = this.#visits(plan, isPage ? undefined : parameters);
    const each = VISIT + conditions + (inner > 1 ? inner : 0);
    const tests = isAnswered && visits <= MOST_ROWS ? 0 : visits * each;
    const rest = left - sought - tests;
    const bare =
      sought +
      carried +
      tests +
      (plan.isSearch && rest >= 0 ? costOfSearch(this.#database, this.#sizes, statement, rest) : 0);
    const isLong = isLinked || this.#sizes.bytes > SHORT_FILE;
    const all = isLong && statement.do !== 'match' ? [...looks, read(resource)] : looks;
    const cost = bare <= left ? bare + this.#costOfLooks(all, visits, part, left - bare, isLinked) : bare;
    if (cost <= MOST_TESTS || !mayWatch || !plan.looksUp || sought > MOST_TESTS || inner > MOST_TESTS)
      return cost;
    return this.#costOfLooks(looks, 1) > MOST_TESTS ? cost : 'watched';
  }

  #costOfSorting(
    statement: Reading,
    { sorted }: Plan,
    given: number,
    part: Part | undefined,
    left: number,
  ): number {
    if (statement.do !== 'select') return 0;
    const { limit = Number.POSITIVE_INFINITY, most = Number.POSITIVE_INFINITY, per } = statement;
    const rows = Math.min(
      this.#sizes.rowsOf(statement.resource.table),
      per ? given * limit : Math.min(limit, most),
    );
    return this.#costOfLooks(sorted, rows, part, left);
  }

  /** What it costs to look at texts of so many rows; `part` has those that no other rows lead to. `repeats`: any of them, any often. */
  #costOfLooks(
    looks: readonly Look[],
    rows: number,
    part?: Part,
    left = Number.POSITIVE_INFINITY,
    repeats = false,
  ): number {
    const cost = costOf(looks, (look) => this.#bytesIn(look, rows, repeats));
    const own = cost > left && part ? looks.find(({ isReached }) => !isReached) : undefined;
    if (!own) return cost;
    const found = held(this.#database, own.table, MOST_ROWS, part);
    return costOf(looks, (look) => {
      if (look.isReached) return this.#bytesIn(look, rows, repeats);
      const { all, longest } = lengthIn(found, look);
      return repeats ? rows * longest : all;
    });
  }

  /** As many as there can be in so many rows. */
  #bytesIn(look: Look, visited: number, repeats: boolean): number {
    const rows = look.from ? Math.min(visited, this.#sizes.rowsOf(look.from.table)) : visited;
    const all = this.#sizes.heldBy(look.table);
    if (!all)
      return Math.min(
        rows * look.most,
        look.isReached || repeats ? Number.POSITIVE_INFINITY : this.#sizes.bytes,
      );
    const length = lengthIn(all, look);
    const most = rows * length.longest;
    if (look.isReached || repeats || most === 0) return most;
    return Math.min(most, length.all * Math.max(1, rows / all.rows));
  }

  /** Without parameters, whatever they are. */
  #visits({ loops, tables, rows: ofValues }: Plan, parameters: readonly unknown[] | undefined): number {
    const rows = Math.max(...tables.map(({ table }) => this.#sizes.rowsOf(table)));
    if (rows <= this.#sizes.most) return loops === 1 ? rows : rows ** loops / SELDOM;
    const counted =
      ofValues === undefined || !parameters
        ? Number.POSITIVE_INFINITY
        : this.#sizes.count(ofValues, [parameters[0]]);
    return counted <= MOST_ROWS ? counted : Number.POSITIVE_INFINITY;
  }

  #costOfDelete({ resource, where }: { readonly resource: Table; readonly where: Filter }): number {
    const keys = keysOf(where);
    return keys * (keys === 1 ? CHANGE : this.#costOfRow(resource)) + this.#changed(resource, where);
  }

  /** In a large file each index that has what changes is another page to read and to write. */
  #costOfRow(resource: Table, changes = (_name: string) => true): number {
    const indexes = indexesOf(resource as Resource).filter(({ columns }) =>
      columns.some(({ name }) => changes(name)),
    );
    return this.#sizes.isLarge ? CHANGED_PAGE * (1 + indexes.length) : CHANGE * (1 + indexes.length / 8);
  }

  /** Rows that are changed are written anew, with all of their texts. */
  #changed(resource: Table, where: Filter): number {
    const part = keysOf(where) > 1 && this.#sizes.bytes > SHORT_FILE ? named({ resource, where }) : undefined;
    return part ? lengthIn(held(this.#database, resource, MOST_ROWS, part), read(resource)).all / BYTES : 0;
  }
}

const none: readonly Look[] = [];

function costOf(looks: readonly Look[], bytesIn: (look: Look) => number): number {
  return looks.reduce((sum, look) => sum + (look.weight * bytesIn(look)) / BYTES, 0);
}
