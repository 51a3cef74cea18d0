/** Statement → SQL text and parameters, for any dialect. */

import type { Filter } from '../query/filter.ts';
import type { Column, Resource } from '../schema/model.ts';
import { storedColumns } from '../schema/values.ts';
import type { Row, Select, Statement } from './storage.ts';

/** The few things that databases disagree on. */
export interface Dialect {
  /** The text of the nth parameter, counted from 1. */
  parameter(position: number): string;
  /** A condition that holds when the column is one of the values of a list parameter. */
  among(column: string, parameter: string): string;
  /** The list parameter itself. */
  list(values: readonly unknown[], column: Column): unknown;
  /** A value on its way into a column. */
  encode(column: Column, value: unknown): unknown;
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

export function compile(statement: Statement, dialect: Dialect): Compiled {
  const writer = new Writer(dialect);
  return { sql: writer.write(statement), parameters: writer.parameters, columns: answers(statement) };
}

function answers(statement: Statement): readonly Column[] {
  if (statement.do === 'select') return statement.columns;
  return statement.do === 'insert' || statement.do === 'update' ? storedColumns(statement.resource) : [];
}

class Writer {
  readonly parameters: unknown[] = [];
  readonly #dialect: Dialect;

  constructor(dialect: Dialect) {
    this.#dialect = dialect;
  }

  write(statement: Statement): string {
    const { resource } = statement;
    const table = quote(resource.table);
    switch (statement.do) {
      case 'select':
        return this.#select(statement, table);
      case 'insert':
        return this.#insert(resource, table, statement.values);
      case 'update': {
        const version = quote(resource.version.stored);
        const set = this.#assignments(resource, statement.set);
        const where = this.#condition(statement.where);
        const guard =
          statement.ifVersion === undefined
            ? ''
            : ` AND ${version} = ${this.#parameter(resource.version, statement.ifVersion)}`;
        return `UPDATE ${table} SET ${[...set, `${version} = ${version} + 1`].join(', ')} WHERE ${where}${guard} RETURNING ${columnList(storedColumns(resource))}`;
      }
      case 'delete':
        return `DELETE FROM ${table} WHERE ${this.#condition(statement.where)}`;
      case 'bury':
        return `INSERT INTO ${quote(BURIED)} ("table", "key", "version") SELECT ${this.#text(resource.table)}, ${quote(resource.key.stored)}, ${quote(resource.version.stored)} FROM ${table} WHERE ${this.#condition(statement.where)} ON CONFLICT ("table", "key") DO UPDATE SET "version" = excluded."version"`;
    }
  }

  #select({ columns, resource, where, limit }: Select, table: string): string {
    const condition = where ? ` WHERE ${this.#condition(where)}` : '';
    const most = limit === undefined ? '' : ` LIMIT ${limit}`;
    const single = where?.is === 'equal' && where.column === resource.key;
    // Qualified: a bare name would mean another column whose answer has been given this name.
    const order = single ? '' : ` ORDER BY ${table}.${quote(resource.key.stored)}`;
    return `SELECT ${columnList(columns)} FROM ${table}${condition}${order}${most}`;
  }

  #insert(resource: Resource, table: string, values: Row): string {
    const given = resource.columns.filter(({ name }) => Object.hasOwn(values, name));
    const names = [...given, resource.version].map(({ stored }) => quote(stored));
    const parameters = given.map((column) => this.#parameter(column, values[column.name]));
    const version =
      resource.key.origin.by === 'client'
        ? `COALESCE((SELECT "version" FROM ${quote(BURIED)} WHERE "table" = ${this.#text(resource.table)} AND "key" = ${this.#parameter(resource.key, values[resource.key.name])}), 0) + 1`
        : '1';
    return `INSERT INTO ${table} (${names.join(', ')}) VALUES (${[...parameters, version].join(', ')}) RETURNING ${columnList(storedColumns(resource))}`;
  }

  #assignments(resource: Resource, values: Row): string[] {
    return resource.columns
      .filter(({ name }) => Object.hasOwn(values, name))
      .map((column) => `${quote(column.stored)} = ${this.#parameter(column, values[column.name])}`);
  }

  #condition(filter: Filter): string {
    const column = quote(filter.column.stored);
    if (filter.is === 'equal') return `${column} = ${this.#parameter(filter.column, filter.value)}`;
    this.parameters.push(this.#dialect.list(filter.values, filter.column));
    return this.#dialect.among(column, this.#dialect.parameter(this.parameters.length));
  }

  #parameter(column: Column, value: unknown): string {
    this.parameters.push(value === null ? null : this.#dialect.encode(column, value));
    return this.#dialect.parameter(this.parameters.length);
  }

  #text(value: string): string {
    this.parameters.push(value);
    return this.#dialect.parameter(this.parameters.length);
  }
}

const lists = new WeakMap<readonly Column[], string>();

function columnList(columns: readonly Column[]): string {
  let text = lists.get(columns);
  if (text === undefined) {
    text = columns
      .map(({ stored, name }) => (stored === name ? quote(stored) : `${quote(stored)} AS ${quote(name)}`))
      .join(', ');
    lists.set(columns, text);
  }
  return text;
}
