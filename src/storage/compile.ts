/** Statement → SQL text and parameters, for any dialect. */

import type { Filter } from '../query/filter.ts';
import type { Column, Resource } from '../schema/model.ts';
import { storedColumns } from '../schema/values.ts';
import type { Row, Select, Statement } from './storage.ts';

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
  /** Ends a SELECT whose rows are to be kept from others. */
  readonly lock: string;
}

export interface Compiled {
  readonly sql: string;
  readonly parameters: readonly unknown[];
  /** The columns of the rows that come back, if any do. */
  readonly columns: readonly Column[];
}

/** Remembers the last version of natural keys that were deleted. */
export const BURIED = '_duet_buried';

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
  return statement.do === 'insert' || statement.do === 'update' ? storedColumns(statement.resource) : [];
}

class Writer {
  readonly parameters: unknown[] = [];
  readonly #dialect: Dialect;
  readonly #list: (columns: readonly Column[]) => string;

  constructor(dialect: Dialect, list: (columns: readonly Column[]) => string) {
    this.#dialect = dialect;
    this.#list = list;
  }

  write(statement: Statement): string {
    const { resource } = statement;
    const table = quote(resource.table);
    const returning = () => ` RETURNING ${this.#list(storedColumns(resource))}`;
    switch (statement.do) {
      case 'select':
        return this.#select(statement, table);
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

  #select({ columns, resource, where, limit, lock }: Select, table: string): string {
    const condition = where ? ` WHERE ${this.#condition(where, table)}` : '';
    const most = limit === undefined ? '' : ` LIMIT ${limit}`;
    const single = where?.is === 'equal' && where.column === resource.key;
    // Qualified: a bare name would mean another column whose answer has been given this name.
    const order = single ? '' : ` ORDER BY ${table}.${quote(resource.key.stored)}`;
    return `SELECT ${this.#list(columns)} FROM ${table}${condition}${order}${most}${lock ? this.#dialect.lock : ''}`;
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
    if (filter.is === 'all') return filter.of.map((each) => this.#condition(each, table)).join(' AND ');
    const column = `${table}.${quote(filter.column.stored)}`;
    if (filter.is === 'equal') return `${column} = ${this.#parameter(filter.column, filter.value)}`;
    if (filter.is === 'above') return `${column} > ${this.#parameter(filter.column, filter.value)}`;
    this.parameters.push(this.#dialect.list(filter.values, filter.column));
    return this.#dialect.among(column, this.parameters.length, filter.column);
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
