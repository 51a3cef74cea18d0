/** What can be asked of a database: statements as values. */

import type { Measure } from '../query/aggregates.ts';
import { equal, type Filter } from '../query/filter.ts';
import type { Order, Place } from '../query/order.ts';
import type { Column, Resource } from '../schema/model.ts';
import { storedColumns } from '../schema/values.ts';

/** A record by field name, in the values that the scalars' checks return. */
export type Row = Record<string, unknown>;

/** How many characters of text a row has that is to be stored as it is. */
export function textIn(row: Row): number {
  let length = 0;
  for (const name in row) {
    const value = row[name];
    if (typeof value === 'string') length += value.length;
  }
  return length;
}

export type Statement =
  | Select
  | Filled
  | Match
  | Aggregate
  | Insert
  | InsertEach
  | UpdateEach
  | InsertAll
  | UpdateAll
  | Upsert
  | Update
  | Delete
  | Bury
  | StaleWords
  | LastId
  | RaiseLastId
  | Clock;

/** What statements are about: a resource, or a table of Duet's own. */
export interface Table {
  readonly name: string;
  readonly table: string;
  readonly key: Column;
  /** The columns of the key, where it has several. */
  readonly primary?: readonly Column[];
  readonly columns: readonly Column[];
  /** Duet's own tables have none. */
  readonly version: Column | undefined;
}

export interface Select {
  readonly do: 'select';
  readonly resource: Table;
  readonly columns: readonly Column[];
  readonly where: Filter | undefined;
  /** By key, where nothing is said. */
  readonly order: Order | undefined;
  /** Only rows that come after, or before, this place in the order. */
  readonly after: Place | undefined;
  readonly before: Place | undefined;
  readonly limit: number | undefined;
  /** How many rows are left out at the beginning; only where there is a limit, or a most. */
  readonly offset: number;
  /** The rows whose column has one of these values; the limit then holds for each of them, and the offset. */
  readonly per: Per | undefined;
  /** How many rows there may be in all. */
  readonly most: number | undefined;
  /** How many bytes of text there may be in all; a statement that would answer with more fails with ANSWER_TOO_LARGE. */
  readonly bytes: number | undefined;
  /** Whether it leaves out what comes after the row with which there are more, instead of failing. */
  readonly cuts: boolean;
  /** Columns whose text does not count: what fails by it would tell how long it is. */
  readonly uncounted: readonly Column[];
  /** Whether JSON is answered as PassedJson: nobody looks inside. */
  readonly passes: boolean;
  /**
   * Keeps the rows from being changed by others until the transaction ends. Where they are only to be changed themselves,
   * others may go on to refer to them: two that are changed, each to be linked with the other, do not wait for each other.
   */
  readonly lock: boolean | 'change';
  /** What the program will ask for next, unless it fails: a database that is far away can answer it along with this. */
  readonly prefetch: readonly Prefetch[];
}

export interface Per {
  readonly column: Column;
  readonly values: readonly unknown[];
  /**
   * Where the column is that of another table, whose rows lead to these: a row is answered once for each of the values that
   * lead to it, which `PARENT` tells.
   */
  readonly through?: Links | undefined;
}

/** The rows of a join table. */
export interface Links {
  readonly resource: Resource;
  /** Has the key of the row that it leads to. */
  readonly far: Column;
  readonly where: Filter | undefined;
}

/** The name of the column that has the value by which a row was found. No field begins with `_`. */
export const PARENT = '_parent';

const parents = new WeakMap<Column, Column>();

/** The column that has the value by which a row was found, where `column` is what it was found in. */
export function parentOf(column: Column): Column {
  let parent = parents.get(column);
  if (!parent) {
    parent = { ...column, name: PARENT, stored: PARENT };
    parents.set(column, parent);
  }
  return parent;
}

/** A Select that is open for the values of a column of the rows above it, or of the first so many of them. */
export interface Prefetch {
  readonly near: Column;
  readonly first: number | undefined;
  readonly select: Select;
}

/** Stands in a Select for a value, or for a list of them, that is known only when it runs. */
export const PLACEHOLDER: readonly unknown[] = Object.freeze([]);

/** A Select with what was left open, if anything; it is compiled once, however often it runs. */
export interface Filled {
  readonly do: 'filled';
  readonly select: Select;
  readonly value: unknown;
}

/** What reads records, or what they come to. */
export type Query = Select | Aggregate;

/** A query with what it left open, as a statement of a program. */
export function filled(query: Query, value: unknown): Filled | Aggregate {
  return query.do === 'select' ? { do: 'filled', select: query, value } : query;
}

/** One row for each combination of values in `by`; without any, one row for all. */
export interface Aggregate {
  readonly do: 'aggregate';
  readonly resource: Table;
  readonly where: Filter | undefined;
  /** As in a Select: rows for each of the values, told by `PARENT`; the limit and the offset hold for each of them. */
  readonly per?: Per;
  readonly by: readonly Column[];
  readonly measures: readonly Measure[];
  /** Only the rows whose results match. */
  readonly having: Filter | undefined;
  /** By results, and by what is in `by`. */
  readonly order: Order;
  readonly limit: number | undefined;
  /** As in a Select. */
  readonly offset: number;
  /** How many rows there may be in all. */
  readonly most: number | undefined;
  /** As in a Select. */
  readonly bytes: number | undefined;
}

/**
 * Answers with `row`, counted from 1, for each of these rows that matches. They need not be stored: what the filter asks of
 * a row itself is asked of the values that are given here, and what it reaches through relations is read from the tables.
 */
export interface Match {
  readonly do: 'match';
  readonly resource: Resource;
  /** What is left out is null. */
  readonly rows: readonly Row[];
  readonly where: Filter;
}

/** Answers with the whole new row. A serial key may be left out. */
export interface Insert {
  readonly do: 'insert';
  readonly resource: Resource;
  readonly values: Row;
  readonly version: number;
  /**
   * The row of `newChanges` that is inserted along with it, where the storage says that it can do that: of the record as it is
   * stored, or all that does not hang on it.
   */
  readonly change?: (stored?: Row) => Row;
}

/**
 * New records of several who know nothing of each other, with serial keys, in their first versions and with a value for every other
 * column. Answers with the new rows in the order of these; one that was not stored has no key.
 */
export interface InsertEach {
  readonly do: 'insert each';
  readonly resource: Resource;
  readonly rows: readonly Row[];
  /** As of an Insert, one for each row. */
  readonly changes: readonly Row[] | undefined;
  /** Whether the changes are given positions, too, unless somebody else gives some at that moment. */
  readonly stamps: boolean;
}

/** Sets these columns of rows, each by its key, and raises their versions, unless others hold them: each new row in its place, or nulls. */
export interface UpdateEach {
  readonly do: 'update each';
  readonly resource: Resource;
  /** Those that are compared, too. */
  readonly columns: readonly Column[];
  /** The key, which no other has, and a value for each of the columns. */
  readonly rows: readonly Row[];
}

/** Inserts rows of which each has every column, its version too, and answers with nothing. */
export interface InsertAll {
  readonly do: 'insert all';
  readonly resource: Table;
  readonly rows: readonly Row[];
  /** A row that is there already, by its key, stays as it is and is locked; then all of these rows are answered as they are. */
  readonly claims?: true;
}

/** Sets these columns of the rows that have these keys, without raising their versions; answers with nothing. */
export interface UpdateAll {
  readonly do: 'update all';
  readonly resource: Table;
  readonly columns: readonly Column[];
  /** The key, and a value for each of the columns. */
  readonly rows: readonly Row[];
}

/**
 * Inserts a row, or changes the one that has the same values in `conflict`, which a key or a unique index is of. Answers
 * with the whole row, or with nothing where the one that was there stays as it is.
 */
export interface Upsert {
  readonly do: 'upsert';
  readonly resource: Table;
  readonly values: Row;
  /** Of a new row; that of an old one is raised. Undefined where rows have none. */
  readonly version?: number;
  readonly conflict: readonly Column[];
  /** What the old row is given of `values`; if nothing, it stays as it is. */
  readonly set: readonly Column[];
  /** What the old row must be like to be changed. */
  readonly where?: Filter;
}

/** Answers with the whole new rows, unless nobody wants them. */
export interface Update {
  readonly do: 'update';
  readonly resource: Table;
  readonly set: Row;
  /** What is added to numbers that each row has; none of the results may be out of range. */
  readonly add?: Row | undefined;
  readonly where: Filter;
  /** The rows as they will be, where their words may change, which hang on all of the fields that are searched, or `own`. */
  readonly next?: readonly Row[];
  /** Columns of which each row has a value of its own in `next`. */
  readonly own?: readonly Column[];
  readonly ifVersion?: number | undefined;
  /** Raises the version of each row; false while records are loaded and not yet seen by anybody, and where there is none. */
  readonly counts: boolean;
  readonly isSilent?: true;
}

export interface Delete {
  readonly do: 'delete';
  readonly resource: Table;
  readonly where: Filter;
  /** Only so many of them, in this order. */
  readonly first?: { readonly order: Order; readonly limit: number };
  /** Answers with the keys of those that are gone. */
  readonly tellsKeys?: true;
}

/**
 * Remembers the versions of rows about to be deleted, unless higher ones are remembered, so that a natural key that comes
 * back does not repeat them. No Upsert, because the rows go from one table to the other without coming here.
 */
export interface Bury {
  readonly do: 'bury';
  readonly resource: Resource;
  readonly where: Filter;
}

/** Answers with the keys of those of these rows whose words are not kept; or keeps them, where nothing else has changed. */
export interface StaleWords {
  readonly do: 'stale words' | 'mend words';
  readonly resource: Resource;
  /** The key, and all that is searched. */
  readonly rows: readonly Row[];
}

/** Answers with `last`: the last serial key that was given, or null. What counts them is no table. */
export interface LastId {
  readonly do: 'last id';
  readonly resource: Table;
}

/** Serial keys go on after this one, unless they are further already. */
export interface RaiseLastId {
  readonly do: 'raise last id';
  readonly resource: Resource;
  readonly to: number;
}

/** Answers with `now`: what the database's clock says, in milliseconds since 1970. Those of nodes may differ. */
export interface Clock {
  readonly do: 'clock';
  /** Of which nothing is asked. */
  readonly resource: Table;
}

export function select(
  resource: Table,
  columns: readonly Column[],
  where?: Filter,
  more: Partial<Omit<Select, 'do' | 'resource' | 'columns' | 'where'>> = {},
): Select {
  const rest = {
    order: undefined,
    after: undefined,
    before: undefined,
    limit: undefined,
    offset: 0,
    per: undefined,
    most: undefined,
    bytes: undefined,
    cuts: false,
    uncounted: [],
    passes: false,
    lock: false,
    prefetch: [],
  };
  return { do: 'select', resource, columns, where, ...rest, ...more };
}

const lookups = new WeakMap<Column, Map<string, Select>>();

/** Finds the rows that have a value in this column, whole or their keys alone. What it fills is made once, and so compiled once. */
export function lookup(
  resource: Table,
  by: Column,
  value: unknown,
  {
    lock = false,
    answers = 'rows',
  }: { readonly lock?: Select['lock']; readonly answers?: 'rows' | 'keys' } = {},
): Filled {
  let known = lookups.get(by);
  if (!known) {
    known = new Map();
    lookups.set(by, known);
  }
  const name = `${answers} ${lock}`;
  let found = known.get(name);
  if (!found) {
    const columns = answers === 'rows' ? storedColumns(resource) : [resource.key];
    found = select(resource, columns, equal(by, PLACEHOLDER), { lock });
    known.set(name, found);
  }
  return { do: 'filled', select: found, value };
}
