/** Filters and places in an order → conditions of SQL, and the parameters that they need. */

import { type Comparison, FieldOperand, type Filter, isEverything } from '../../query/filter.ts';
import type { Order, Place } from '../../query/order.ts';
import { isTimePart } from '../../query/parts.ts';
import { isReferred } from '../../query/referred.ts';
import { isResult, type Result } from '../../query/results.ts';
import { isRelevance } from '../../query/search.ts';
import type { Column, Resource } from '../../schema/model.ts';
import { comparedBy, keptAs } from '../../schema/values.ts';
import { ByCodePoint } from '../own.ts';
import { PLACEHOLDER, type Row } from '../statements.ts';
import { comparedText, encoded } from './codec.ts';
import { type Dialect, quote } from './dialect.ts';
import { columnOf, joinedAs } from './joined.ts';
import { everywhere, isSole, type Leads, leadingBeside, nowhere } from './leading.ts';
import { widthOf } from './long-answers.ts';
import { comparisonsIn, plannedOf } from './planned.ts';
import { Relevances } from './relevances.ts';
import { balanced, successor } from './text.ts';

/** Up to so many bytes, a text is looked through in no time. */
const SHORT = 10_000;
/** How many characters are held against every place of a long text, of all conditions together, before a statement can be ended: a second of a megabyte. */
const MOST_HELD = 1000;
/**
 * What it takes to have a long text at all, in such characters: PostgreSQL unpacks it anew for each condition that looks through it,
 * and keeps all of these until the row is done, unless the condition is a SELECT of its own.
 */
const UNPACKING = 16;

/** So many relations are the database's to join as it likes; further ones are looked up for each row. */
const MOST_JOINED = 16;

/** So many conditions on lists end with the first value that is found; PostgreSQL keeps what was not read until the statement ends. */
const MOST_ENDED = 16;

/** Writes the conditions of one statement; what it counts, it counts for the whole of it. */
export class Conditions {
  readonly parameters: unknown[] = [];
  /** Which parameter is given later, and how it is written. */
  openAt: number | undefined;
  encode: (given: unknown) => unknown = (given) => given;
  #aliases = 0;
  /** Conditions on the values of lists. */
  #lists = 0;
  /** Characters that are held against long texts. */
  #held = 0;
  readonly #dialect: Dialect;
  readonly relevances: Relevances;

  constructor(dialect: Dialect) {
    this.#dialect = dialect;
    this.relevances = new Relevances(dialect.words, this.given);
  }

  /** `around`: how many comparisons must hold beside it. `leads`: where what is looked up may. */
  condition(filter: Filter, table: string, around = 0, leads = nowhere): string {
    switch (filter.is) {
      case 'all':
        return filter.of.length === 0 ? 'TRUE' : `(${this.#all(filter.of, table, around, leads)})`;
      case 'any': {
        const parts = filter.of.map((each) => this.condition(each, table, around));
        return parts.length === 0 ? 'FALSE' : `(${balanced(parts, ' OR ')})`;
      }
      case 'not':
        // Not NOT: the opposite of "unknown" is to be true.
        return `((${this.condition(filter.of, table)}) IS NOT TRUE)`;
      case 'related': {
        const { column, target } = filter.field;
        return this.#related(filter.where, target, target.key, column, table, around, leads);
      }
      case 'some': {
        const { reference, target } = filter.field;
        const { key } = reference.target;
        return this.#related(filter.where, target, reference.column, key, table, around, leads);
      }
      case 'search':
        return this.#dialect.words.match(filter, table, this.given);
      default: {
        const of = filter.is === 'null' ? filter.column : comparedBy(filter.column);
        return this.#comparison(filter, of, this.value(of, table), table);
      }
    }
  }

  #all(filters: readonly Filter[], table: string, around: number, leads: Leads): string {
    const { planned, others, comparisons } = plannedOf(filters, around);
    const parts = planned.map((each) =>
      this.condition(each, table, comparisons - comparisonsIn(each), leads),
    );
    if (others.length > 0) {
      const rest = others.map((each) => this.condition(each, table));
      parts.push(this.#dialect.unplanned(`(${balanced(rest, ' AND ')})`));
    }
    return balanced(parts, ' AND ');
  }

  /** A column of a table, or of what is joined to it; of groups of its rows, a part of a time, or what is computed. */
  value(column: Column, table: string): string {
    if (isResult(column)) return this.#result(column, table);
    if (isRelevance(column)) return this.relevances.of(column.searched, table);
    const quoted = columnOf(column, table);
    return isTimePart(column) ? `(${this.#dialect.part(quoted, column)})` : quoted;
  }

  #result({ computed, from }: Result, table: string): string {
    if (!from) return 'COUNT(*)';
    const quoted = `${table}.${quote(from.stored)}`;
    const shown = (number: string) => (keptAs(from) === 'float' ? this.#dialect.significant(number) : number);
    switch (computed) {
      case 'count':
        return `COUNT(${quoted})`;
      case 'countDistinct':
        return `COUNT(DISTINCT ${table}.${quote(comparedBy(from).stored)})`;
      case 'sum':
        return shown(this.#dialect.total(quoted, from));
      case 'avg':
        return shown(`(${this.#dialect.sum(quoted, from)} / COUNT(${quoted}))`);
      default:
        return this.#dialect.compared(this.#dialect.extreme(computed, quoted, from), from);
    }
  }

  /** A record of the target matches that has in `far` what the table has in `near`. */
  #related(
    where: Filter,
    target: Resource,
    far: Column,
    near: Column,
    table: string,
    around: number,
    leads: Leads,
  ): string {
    // No stored name begins with `_`.
    const alias = `"_${++this.#aliases}"`;
    const from = `FROM ${quote(target.table)} AS ${alias} WHERE`;
    const theirs = `${alias}.${quote(far.stored)}`;
    const own = `${table}.${quote(near.stored)}`;
    if (this.#dialect.looksUpOnce && isSole(where, target)) {
      // What is unique leads to one row, and all else to any number.
      const inner = this.condition(where, alias, around + 1, everywhere);
      const same = `${own} = (SELECT ${theirs} ${from} ${inner})`;
      return leads(near) ? same : this.#dialect.unplanned(`(${same})`);
    }
    const alone = this.#aliases > MOST_JOINED ? this.#dialect.unjoined : '';
    const inner = this.condition(where, alias, around + 1, leadingBeside(far, where, target));
    // Before the rest: where an index has all that is asked, SQLite comes to what stands behind only for rows that match it.
    const visit = this.#dialect.visit(`${alias}.${quote(target.key.stored)}`);
    return `EXISTS (SELECT 1 ${from} ${theirs} = ${own} AND ${visit}${inner}${alone})`;
  }

  /** All that is asked of rows, each of which is visited, behind WHERE or AND. */
  ofRows(before: ' WHERE ' | ' AND ', conditions: readonly string[], table: string, key: string): string {
    const visited = `${table}.${quote(key)}`;
    if (conditions.length === 0) return this.#dialect.visit(visited, before);
    return `${before}${this.#dialect.visit(visited)}${conditions.join(' AND ')}`;
  }

  /** `of`: what rows are compared by. */
  #comparison(
    filter: Extract<Filter, { column: Column }>,
    of: Column,
    column: string,
    table: string,
  ): string {
    if ('value' in filter && filter.value instanceof FieldOperand)
      return this.#between(filter.is, column, `${table}.${quote(comparedBy(filter.value.column).stored)}`);
    switch (filter.is) {
      case 'null':
        return `${column} IS NULL`;
      case 'in':
        return this.#dialect.among(column, this.listed(filter.values, of));
      case 'empty':
        return this.#looking(filter.column, 0, `json_array_length(${column}) = 0`);
      case 'hasSome': {
        const found = this.#among(filter, column);
        return ++this.#lists > MOST_ENDED
          ? `(SELECT COUNT(*) FROM ${found}) > 0`
          : `EXISTS (SELECT 1 FROM ${found})`;
      }
      case 'hasEvery': {
        const wanted = this.rowCount(new Set(filter.values).size);
        return `(${column} IS NOT NULL AND (SELECT COUNT(DISTINCT value) FROM ${this.#among(filter, column)}) = ${wanted})`;
      }
      case 'contains':
        return this.#looking(
          filter.column,
          String(filter.value).length,
          `${this.#dialect.position}(${column}, ${this.parameter(of, filter.value)}) > 0`,
        );
      case 'startsWith':
        return this.#startsWith(of, column, comparedText(of, filter.value));
      case 'endsWith':
        return this.#looking(filter.column, 0, this.#endsWith(of, column, comparedText(of, filter.value)));
      case 'ne':
        return `${column} IS DISTINCT FROM ${this.parameter(of, filter.value)}`;
      default:
        return `${column} ${signs[filter.is]} ${this.parameter(of, filter.value)}`;
    }
  }

  /** A condition that looks through a text, and ends in time where it is one of many that do. */
  #looking(column: Column, characters: number, condition: string): string {
    if (widthOf(column) <= SHORT) return condition;
    this.#held += Math.max(characters, UNPACKING);
    return this.#held > MOST_HELD ? this.#dialect.endable(condition) : condition;
  }

  /** The values of a list that are among these: as JSON has them, so that equal ones are written alike. */
  #among({ values, column: of }: Extract<Filter, { values: unknown }>, column: string): string {
    const listed = this.listed(values, { ...of, list: false, type: ByCodePoint });
    return `${this.#dialect.items(column)} WHERE ${this.#dialect.among('value', listed)}`;
  }

  /** Two fields of one record. Null is not equal to anything, another null included. */
  #between(is: Comparison, column: string, other: string): string {
    if (is === 'ne') return `((${column} = ${other}) IS NOT TRUE)`;
    return `${column} ${signs[is as keyof typeof signs]} ${other}`;
  }

  /** A range, which an index can find: text is ordered by code point on every database. */
  #startsWith(of: Column, column: string, prefix: string): string {
    const from = `${column} >= ${this.parameter(of, prefix)}`;
    const end = successor(prefix);
    // Not folded once more: the mark at its end, which is the next one, could become one character with the letter before.
    const plain = keptAs(of) === 'folded' ? { ...of, type: ByCodePoint } : of;
    return end === undefined ? from : `(${from} AND ${column} < ${this.parameter(plain, end)})`;
  }

  /** Where a text is shorter, databases begin at different places, but what they find is shorter too. */
  #endsWith(of: Column, column: string, end: string): string {
    const length = [...end].length;
    return `substr(${column}, length(${column}) - ${length - 1}) = ${this.parameter(of, end)}`;
  }

  /** A column as rows are ordered by it. */
  inOrder(column: Column, table: string): string {
    const of = comparedBy(column);
    return `${this.value(of, table)}${of.type === ByCodePoint ? this.#dialect.byCodePoint : ''}`;
  }

  /** The records that lead to those of these columns that are not the table's own, each once; nulls where there are none. */
  joined(columns: readonly Column[], table: string): string {
    const joins = new Map<string, string>();
    for (const column of columns) {
      if (!isReferred(column)) continue;
      let near = table;
      column.through.forEach(({ field, where }, index) => {
        const { target } = field;
        const alias = joinedAs(column.through.slice(0, index + 1));
        if (!joins.has(alias)) {
          const same = `${alias}.${quote(target.key.stored)} = ${near}.${quote(field.column.stored)}`;
          const seen = isEverything(where) ? '' : ` AND ${this.condition(where, alias)}`;
          joins.set(alias, ` LEFT JOIN ${quote(target.table)} AS ${alias} ON ${same}${seen}`);
        }
        near = alias;
      });
    }
    return [...joins.values()].join('');
  }

  /** Rows that come after a place in an order. */
  beyond(order: Order, place: Place, table: string): string {
    const [first] = order;
    const rowWise =
      order.length > 1 &&
      order.every(({ column, descending }) => column.required && descending === first?.descending);
    if (rowWise) {
      const columns = order.map(({ column }) => this.inOrder(column, table)).join(', ');
      const values = order.map(({ column }, at) => this.parameter(comparedBy(column), place[at])).join(', ');
      return `(${columns}) ${first?.descending ? '<' : '>'} (${values})`;
    }
    return this.#beyondStepwise(order, place, table);
  }

  #beyondStepwise([first, ...rest]: Order, [value, ...values]: Place, table: string): string {
    if (!first) return 'FALSE';
    const { column, descending } = first;
    const name = this.inOrder(column, table);
    const parameter = () => this.parameter(comparedBy(column), value);
    // Nulls are the lowest: before everything in ascending order, after everything in descending order.
    const ahead =
      value === null
        ? descending
          ? 'FALSE'
          : `${name} IS NOT NULL`
        : descending
          ? `(${name} < ${parameter()}${column.required ? '' : ` OR ${name} IS NULL`})`
          : `${name} > ${parameter()}`;
    if (rest.length === 0) return ahead;
    const same = value === null ? `${name} IS NULL` : `${name} = ${parameter()}`;
    return `(${ahead} OR (${same} AND ${this.#beyondStepwise(rest, values, table)}))`;
  }

  listed(values: readonly unknown[], of: Column): string {
    if (values === PLACEHOLDER) this.#later((given) => this.#dialect.list(given as readonly unknown[], of));
    else this.parameters.push(this.#dialect.list(values, of));
    return this.#dialect.listed(this.parameters.length, of);
  }

  values(columns: readonly Column[], rows: readonly Row[]): string {
    return this.#dialect.values(columns, rows, this.given);
  }

  rows(columns: readonly Column[], rows: readonly Row[]): string {
    return this.#dialect.rows(columns, rows, this.given);
  }

  parameter(column: Column, value: unknown): string {
    const encode = (each: unknown) => encoded(this.#dialect.codecs, column, each);
    if (value === PLACEHOLDER) this.#later(encode);
    else this.parameters.push(encode(value));
    return this.#dialect.parameter(this.parameters.length, column);
  }

  /** Makes a parameter of a value that is as the database takes it. */
  readonly given = (value: unknown): number => this.parameters.push(value);

  /** A number of rows: a parameter, so that the text is the same whichever page is asked for. */
  rowCount(count: number): string {
    return this.#dialect.rowCount(this.parameters.push(count));
  }

  #later(encode: (given: unknown) => unknown): void {
    this.encode = encode;
    this.openAt = this.parameters.push(undefined) - 1;
  }
}

const signs = { eq: '=', gt: '>', gte: '>=', lt: '<', lte: '<=' } as const;
