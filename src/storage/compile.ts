/** Statement → SQL text and parameters, for any dialect. */

import type { Filter } from '../query/filter.ts';
import { type Order, type Place, reversed } from '../query/order.ts';
import type { Column, Resource } from '../schema/model.ts';
import { storedColumns } from '../schema/values.ts';
import type { Aggregate, OnAnswers, OnResource, Row, Select, Statement } from './storage.ts';
import { balanced, successor } from './text.ts';

/** The few things that databases disagree on. */
export interface Dialect {
  /** The text of the nth parameter, counted from 1, on its way into or beside a column. */
  parameter(position: number, column: Column | 'text'): string;
  /** A condition that holds when the column is one of the values of a list parameter. */
  among(column: string, position: number, of: Column): string;
  /** The list parameter itself. */
  list(values: readonly unknown[], of: Column): unknown;
  /** A value on its way into a column. */
  encode(column: Column, value: unknown): unknown;
  /** What to select for a column, given its quoted name. */
  read(column: Column, quoted: string): string;
  /** Where in a text another begins, or 0. */
  readonly position: string;
  /** Nulls are the lowest values. */
  order(quoted: string, column: Column, descending: boolean): string;
  count(quoted: string): string;
  sum(quoted: string): string;
  /** The least or the greatest value, for every column that rows can be ordered by. */
  extreme(of: 'min' | 'max', quoted: string, column: Column): string;
  /** Limits the rows of each value of a list parameter. */
  perValue(parts: PerValue): string;
  /** Ends a SELECT whose rows are to be kept from others. */
  readonly lock: string;
}

/** A SELECT whose limit holds for each value of a list, in parts. */
export interface PerValue {
  readonly columns: string;
  readonly table: string;
  readonly key: string;
  /** The list parameter, and the column that has its values. */
  readonly position: number;
  readonly of: Column;
  /** That column, of the table under this name. */
  readonly near: (alias: string) => string;
  readonly condition: (alias: string) => string;
  readonly order: (alias: string) => string;
  readonly limit: number;
  /** Ends the whole. */
  readonly most: string;
}

export interface Compiled {
  readonly sql: string;
  readonly parameters: readonly unknown[];
  /** The columns of the rows that come back, if any do. */
  readonly columns: readonly Column[];
}

/** Remembers the last version of natural keys that were deleted. */
export const BURIED = '_duet_buried';
/** The answers to requests that carry a key, so that they can be given again. */
export const ANSWERS = '_duet_answers';

export function quote(identifier: string): string {
  return `"${identifier.replaceAll('"', '""')}"`;
}

export class Compiler {
  readonly #dialect: Dialect;
  readonly #lists = new WeakMap<readonly Column[], string>();

  constructor(dialect: Dialect) {
    this.#dialect = dialect;
  }

  compile(statement: Statement): Compiled {
    const writer = new Writer(this.#dialect, (columns) => this.#columnList(columns));
    return { sql: writer.write(statement), parameters: writer.parameters, columns: answers(statement) };
  }

  #columnList(columns: readonly Column[]): string {
    let text = this.#lists.get(columns);
    if (text === undefined) {
      text = columns
        .map((column) => {
          const quoted = quote(column.stored);
          const read = this.#dialect.read(column, quoted);
          return column.stored === column.name && read === quoted
            ? quoted
            : `${read} AS ${quote(column.name)}`;
        })
        .join(', ');
      this.#lists.set(columns, text);
    }
    return text;
  }
}

function answers(statement: Statement): readonly Column[] {
  if (statement.do === 'select') return statement.columns;
  if (statement.do === 'aggregate')
    return [
      ...statement.by,
      // Counts and sums are numbers whatever they count; the others are values of their column.
      ...statement.measures.flatMap(({ as, of, column }) =>
        column && of !== 'count' ? [{ ...column, name: as }] : [],
      ),
    ];
  return statement.do === 'insert' || statement.do === 'update' ? storedColumns(statement.resource) : [];
}

class Writer {
  readonly parameters: unknown[] = [];
  #aliases = 0;
  readonly #dialect: Dialect;
  readonly #list: (columns: readonly Column[]) => string;

  constructor(dialect: Dialect, list: (columns: readonly Column[]) => string) {
    this.#dialect = dialect;
    this.#list = list;
  }

  write(statement: Statement): string {
    return 'resource' in statement ? this.#onResource(statement) : this.#onAnswers(statement);
  }

  #onAnswers(statement: OnAnswers): string {
    const table = quote(ANSWERS);
    if (statement.do === 'forget answers')
      return `DELETE FROM ${table} WHERE "at" < ${this.#text(statement.expired)}`;
    const one = () => `"caller" = ${this.#text(statement.caller)} AND "key" = ${this.#text(statement.key)}`;
    switch (statement.do) {
      case 'recall answer':
        return `SELECT "request", "answer" FROM ${table} WHERE ${one()}`;
      case 'keep answer':
        return `UPDATE ${table} SET "answer" = ${this.#text(statement.answer)} WHERE ${one()}`;
      case 'claim answer': {
        const { caller, key, request, at, expired } = statement;
        const values = [caller, key, request, at].map((value) => this.#text(value)).join(', ');
        const renewed = '"request" = excluded."request", "answer" = NULL, "at" = excluded."at"';
        return `INSERT INTO ${table} ("caller", "key", "request", "at") VALUES (${values}) ON CONFLICT ("caller", "key") DO UPDATE SET ${renewed} WHERE ${table}."at" < ${this.#text(expired)} RETURNING 1 AS "claimed"`;
      }
    }
  }

  #onResource(statement: OnResource): string {
    const { resource } = statement;
    const table = quote(resource.table);
    const returning = () => ` RETURNING ${this.#list(storedColumns(resource))}`;
    switch (statement.do) {
      case 'select':
        return this.#select(statement, table);
      case 'aggregate':
        return this.#aggregate(statement, table);
      case 'insert':
        return `INSERT INTO ${table} ${this.#values(resource, statement.values, statement.version)}${returning()}`;
      case 'update': {
        const version = quote(resource.version.stored);
        const set = this.#assignments(resource, statement.set);
        if (statement.counts) set.push(`${version} = ${version} + 1`);
        const where = this.#condition(statement.where, table);
        const guard =
          statement.ifVersion === undefined
            ? ''
            : ` AND ${version} = ${this.#parameter(resource.version, statement.ifVersion)}`;
        return `UPDATE ${table} SET ${set.join(', ')} WHERE ${where}${guard}${returning()}`;
      }
      case 'delete':
        return `DELETE FROM ${table} WHERE ${this.#condition(statement.where, table)}`;
      case 'claim': {
        const values = `${this.#text(resource.table)}, ${this.#parameter(resource.key, statement.key)}, 0`;
        const own = `${quote(BURIED)}."version"`;
        return `INSERT INTO ${quote(BURIED)} ("table", "key", "version") VALUES (${values}) ON CONFLICT ("table", "key") DO UPDATE SET "version" = ${own} RETURNING "version"`;
      }
      case 'bury': {
        const key = `${table}.${quote(resource.key.stored)}`;
        const version = `${table}.${quote(resource.version.stored)}`;
        return `INSERT INTO ${quote(BURIED)} ("table", "key", "version") SELECT ${this.#text(resource.table)}, ${key}, ${version} FROM ${table} WHERE ${this.#condition(statement.where, table)} ON CONFLICT ("table", "key") DO UPDATE SET "version" = excluded."version"`;
      }
    }
  }

  #select(statement: Select, table: string): string {
    const { columns, resource, where, limit, lock, per } = statement;
    const order = statement.order ?? [{ column: resource.key, descending: false }];
    const conditions = (alias: string): string[] => [
      ...(where ? [this.#condition(where, alias)] : []),
      ...(statement.after ? [this.#beyond(order, statement.after, alias)] : []),
      ...(statement.before ? [this.#beyond(reversed(order), statement.before, alias)] : []),
    ];
    // Qualified: a bare name would mean another column whose answer has been given this name.
    const ordered = (alias: string) =>
      order
        .map(({ column, descending }) =>
          this.#ordered(`${alias}.${quote(column.stored)}`, column, descending),
        )
        .join(', ');
    if (per && limit !== undefined)
      return this.#dialect.perValue({
        columns: this.#list(columns),
        table,
        key: quote(resource.key.stored),
        position: this.#listed(per.values, per.column),
        of: per.column,
        near: (alias) => `${alias}.${quote(per.column.stored)}`,
        condition: (alias) =>
          conditions(alias)
            .map((each) => ` AND ${each}`)
            .join(''),
        order: ordered,
        limit,
        most: statement.most === undefined ? '' : ` LIMIT ${statement.most}`,
      });
    const all = [...(per ? [this.#condition({ is: 'in', ...per }, table)] : []), ...conditions(table)];
    const condition = all.length > 0 ? ` WHERE ${all.join(' AND ')}` : '';
    const fewest = Math.min(limit ?? Number.POSITIVE_INFINITY, statement.most ?? Number.POSITIVE_INFINITY);
    const most = Number.isFinite(fewest) ? ` LIMIT ${fewest}` : '';
    const single = where?.is === 'eq' && where.column === resource.key;
    const inOrder = single ? '' : ` ORDER BY ${ordered(table)}`;
    return `SELECT ${this.#list(columns)} FROM ${table}${condition}${inOrder}${most}${lock ? this.#dialect.lock : ''}`;
  }

  #ordered(quoted: string, column: Column, descending: boolean): string {
    return this.#dialect.order(quoted, column, descending);
  }

  #aggregate({ resource, where, by, measures, limit }: Aggregate, table: string): string {
    const groups = by.map(({ stored }) => `${table}.${quote(stored)}`);
    const selected = [
      ...(by.length > 0 ? [this.#list(by)] : []),
      ...measures.map(({ as, of, column }) => {
        const quoted = column ? `${table}.${quote(column.stored)}` : '*';
        if (!column || of === 'count') return `${this.#dialect.count(quoted)} AS ${quote(as)}`;
        if (of === 'sum') return `${this.#dialect.sum(quoted)} AS ${quote(as)}`;
        return `${this.#dialect.read(column, this.#dialect.extreme(of, quoted, column))} AS ${quote(as)}`;
      }),
    ];
    const condition = where ? ` WHERE ${this.#condition(where, table)}` : '';
    const order = by.map((column, index) => this.#ordered(groups[index] ?? '', column, false));
    const grouped = by.length > 0 ? ` GROUP BY ${groups.join(', ')} ORDER BY ${order.join(', ')}` : '';
    const most = limit === undefined ? '' : ` LIMIT ${limit}`;
    return `SELECT ${selected.join(', ')} FROM ${quote(resource.table)}${condition}${grouped}${most}`;
  }

  #values(resource: Resource, values: Row, version: number): string {
    const given = resource.columns.filter(({ name }) => Object.hasOwn(values, name));
    const names = [...given, resource.version].map(({ stored }) => quote(stored));
    const parameters = given.map((column) => this.#parameter(column, values[column.name]));
    parameters.push(this.#parameter(resource.version, version));
    return `(${names.join(', ')}) VALUES (${parameters.join(', ')})`;
  }

  #assignments(resource: Resource, values: Row): string[] {
    return resource.columns
      .filter(({ name }) => Object.hasOwn(values, name))
      .map((column) => `${quote(column.stored)} = ${this.#parameter(column, values[column.name])}`);
  }

  #condition(filter: Filter, table: string): string {
    switch (filter.is) {
      case 'all':
      case 'any': {
        if (filter.of.length === 0) return filter.is === 'all' ? 'TRUE' : 'FALSE';
        const parts = filter.of.map((each) => this.#condition(each, table));
        return `(${balanced(parts, filter.is === 'all' ? ' AND ' : ' OR ')})`;
      }
      case 'not':
        // Not NOT: the opposite of "unknown" is to be true.
        return `((${this.#condition(filter.of, table)}) IS NOT TRUE)`;
      case 'related': {
        const { field, where } = filter;
        return this.#exists(field.target, where, (alias) => [
          `${alias}.${quote(field.target.key.stored)}`,
          `${table}.${quote(field.column.stored)}`,
        ]);
      }
      case 'some': {
        const { reference, target } = filter.field;
        return this.#exists(target, filter.where, (alias) => [
          `${alias}.${quote(reference.column.stored)}`,
          `${table}.${quote(reference.target.key.stored)}`,
        ]);
      }
      default:
        return this.#comparison(filter, `${table}.${quote(filter.column.stored)}`);
    }
  }

  #exists(target: Resource, where: Filter, join: (alias: string) => [string, string]): string {
    // No stored name begins with `_`.
    const alias = `"_${++this.#aliases}"`;
    const inner = this.#condition(where, alias);
    return `EXISTS (SELECT 1 FROM ${quote(target.table)} AS ${alias} WHERE ${join(alias).join(' = ')} AND ${inner})`;
  }

  #comparison(filter: Extract<Filter, { column: Column }>, column: string): string {
    switch (filter.is) {
      case 'null':
        return `${column} IS NULL`;
      case 'in':
        return this.#dialect.among(column, this.#listed(filter.values, filter.column), filter.column);
      case 'contains':
        return `${this.#dialect.position}(${column}, ${this.#parameter(filter.column, filter.value)}) > 0`;
      case 'startsWith':
        return this.#startsWith(filter.column, column, String(filter.value));
      case 'ne':
        return `${column} IS DISTINCT FROM ${this.#parameter(filter.column, filter.value)}`;
      default:
        return `${column} ${signs[filter.is]} ${this.#parameter(filter.column, filter.value)}`;
    }
  }

  /** A range, which an index can find: text is ordered by code point on every database. */
  #startsWith(of: Column, column: string, prefix: string): string {
    const from = `${column} >= ${this.#parameter(of, prefix)}`;
    const end = successor(prefix);
    return end === undefined ? from : `(${from} AND ${column} < ${this.#parameter(of, end)})`;
  }

  /** Rows that come after a place in an order. */
  #beyond(order: Order, place: Place, table: string): string {
    const [first] = order;
    const rowWise =
      order.length > 1 &&
      order.every(({ column, descending }) => column.required && descending === first?.descending);
    if (rowWise) {
      const columns = order.map(({ column }) => `${table}.${quote(column.stored)}`).join(', ');
      const values = order.map(({ column }, index) => this.#parameter(column, place[index])).join(', ');
      return `(${columns}) ${first?.descending ? '<' : '>'} (${values})`;
    }
    return this.#beyondStepwise(order, place, table);
  }

  #beyondStepwise([first, ...rest]: Order, [value, ...values]: Place, table: string): string {
    if (!first) return 'FALSE';
    const { column, descending } = first;
    const name = `${table}.${quote(column.stored)}`;
    const parameter = () => this.#parameter(column, value);
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

  #listed(values: readonly unknown[], of: Column): number {
    return this.parameters.push(this.#dialect.list(values, of));
  }

  #parameter(column: Column, value: unknown): string {
    this.parameters.push(value === null ? null : this.#dialect.encode(column, value));
    return this.#dialect.parameter(this.parameters.length, column);
  }

  #text(value: string): string {
    this.parameters.push(value);
    return this.#dialect.parameter(this.parameters.length, 'text');
  }
}

const signs = { eq: '=', gt: '>', gte: '>=', lt: '<', lte: '<=' } as const;
