/** The narrow interface to a database: statements as values in, rows out. */

import type { Filter } from '../query/filter.ts';
import type { Column, Resource } from '../schema/model.ts';

/** A record by field name, in the values that the scalars' checks return. */
export type Row = Record<string, unknown>;

export type Statement = Select | Insert | Update | Delete | Bury;

/** Rows in the order of their keys. */
export interface Select {
  readonly do: 'select';
  readonly resource: Resource;
  readonly columns: readonly Column[];
  readonly where: Filter | undefined;
  readonly limit: number | undefined;
}

/** Answers with the whole new row. A serial key may be left out. */
export interface Insert {
  readonly do: 'insert';
  readonly resource: Resource;
  readonly values: Row;
}

/** Raises the version of each row that it changes, and answers with the whole new rows. */
export interface Update {
  readonly do: 'update';
  readonly resource: Resource;
  readonly set: Row;
  readonly where: Filter;
  readonly ifVersion: number | undefined;
}

export interface Delete {
  readonly do: 'delete';
  readonly resource: Resource;
  readonly where: Filter;
}

/** Remembers the versions of rows about to be deleted, so that a natural key that comes back does not repeat them. */
export interface Bury {
  readonly do: 'bury';
  readonly resource: Resource;
  readonly where: Filter;
}

/**
 * A unit of work that yields statements and is handed their rows, one list for each.
 * Being a generator, the same program runs without a pause on a synchronous database and pipelined on a remote one;
 * being made by a function, it can be run again when a transaction has to be repeated.
 */
export type Program<T> = Generator<readonly Statement[], T, readonly Row[][]>;

export interface Storage {
  /** Runs all statements of the program on one snapshot. */
  read<T>(program: () => Program<T>): T | Promise<T>;
  /** Runs the program in one transaction; when the promise fulfils, its effects are durable. */
  write<T>(program: () => Program<T>): Promise<T>;
  /**
   * Creates the tables in an empty database and runs `load` in the same transaction; on a database that has them
   * already it only checks that they are those of the model.
   */
  establish(load: () => Program<void>): Promise<void>;
  /** Fails when the database cannot be reached. */
  ping(): Promise<void>;
  close(): Promise<void>;
}

/** Runs one statement of a program. */
export function* run(statement: Statement): Program<Row[]> {
  const [rows = []] = yield [statement];
  return rows;
}
