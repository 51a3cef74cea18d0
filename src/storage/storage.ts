/** The narrow interface to a database: statements as values in, rows out. */

import { DuetError, pointer } from '../base/errors.ts';
import type { Measure } from '../query/aggregates.ts';
import type { Filter } from '../query/filter.ts';
import type { Order, Place } from '../query/order.ts';
import type { Column, Reference, Resource } from '../schema/model.ts';

/** A record by field name, in the values that the scalars' checks return. */
export type Row = Record<string, unknown>;

export type Statement =
  | Select
  | Filled
  | Match
  | Aggregate
  | Insert
  | Upsert
  | Update
  | Delete
  | Bury
  | LastId
  | RaiseLastId;

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
  /** The rows whose column has one of these values; the limit then holds for each of them. */
  readonly per: { readonly column: Column; readonly values: readonly unknown[] } | undefined;
  /** How many rows there may be in all. */
  readonly most: number | undefined;
  /** How many bytes of text there may be in all; a statement that would answer with more fails with ANSWER_TOO_LARGE. */
  readonly bytes: number | undefined;
  /** Columns whose text does not count: what fails by it would tell how long it is. */
  readonly uncounted: readonly Column[];
  /** Keeps the rows from being changed by others until the transaction ends. */
  readonly lock: boolean;
  /** What the program will ask for next, unless it fails: a database that is far away can answer it along with this. */
  readonly below: readonly Below[];
}

/** A Select that is open for the values of a column of the rows above it, or of the first so many of them. */
export interface Below {
  readonly near: Column;
  readonly first: number | undefined;
  readonly select: Select;
}

/** Stands in a Select for a value, or for a list of them, that is known only when it runs. */
export const LATER: readonly unknown[] = Object.freeze([]);

/** A Select with what was left open, if anything; it is compiled once, however often it runs. */
export interface Filled {
  readonly do: 'filled';
  readonly select: Select;
  readonly value: unknown;
}

/** One row for each combination of values in `by`, in their order; without any, one row for all. */
export interface Aggregate {
  readonly do: 'aggregate';
  readonly resource: Resource;
  readonly where: Filter | undefined;
  readonly by: readonly Column[];
  readonly measures: readonly Measure[];
  readonly limit: number | undefined;
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
  readonly where: Filter;
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

/** Answers with `last`: the last serial key that was given, or null. What counts them is no table. */
export interface LastId {
  readonly do: 'last id';
  readonly resource: Resource;
}

/** Serial keys go on after this one, unless they are further already. */
export interface RaiseLastId {
  readonly do: 'raise last id';
  readonly resource: Resource;
  readonly to: number;
}

/**
 * A unit of work that yields statements and is handed their rows, one list for each.
 * Being a generator, the same program runs without a pause on a synchronous database and pipelined on a remote one;
 * being made by a function, it can be run again when a transaction has to be repeated.
 */
export type Program<T> = Generator<readonly Statement[], T, readonly Row[][]>;

/** Answers that came along with earlier ones: they took no statement of their own. */
export class CameAlong extends Array<Row[]> {}

/**
 * How many steps a program takes at the most: one that takes a single statement needs no transaction around it; nor does
 * one that asks for a tree, on a database that answers with all that its first Select has below.
 */
export type Steps = 'one' | 'tree' | 'many';

/** `serial`: many, and what they read and write must be as if no other write ran beside them that is serial too. */
export type WriteSteps = Steps | 'serial';

export interface Snapshot {
  run<T>(program: () => Program<T>): Promise<T>;
  close(): Promise<void>;
}

/**
 * When whoever asks must have an answer, in the time of `performance.now()`. It ends the work too: what is not done by
 * then fails with DEADLINE_EXCEEDED and has no effect.
 */
export type Deadline = number;

export type Finder = (key: unknown, deadline: Deadline) => Row | null | Promise<Row | null>;

export interface Storage {
  /** Runs one statement that reads: it needs no program around it. */
  ask(statement: Statement, deadline: Deadline): Row[] | Promise<Row[]>;
  /** The same for a Select by a key that is left open: what can be known before the key is, is found out once. */
  finder(select: Select): Finder;
  /** Runs all statements of the program on one snapshot. */
  read<T>(program: () => Program<T>, steps: Steps, deadline: Deadline): T | Promise<T>;
  /** Runs the program in one transaction; when the promise fulfils, its effects are durable. */
  write<T>(program: () => Program<T>, steps: WriteSteps, deadline: Deadline): Promise<T>;
  /** Whether others would have to wait while a write looks for its records so: then a read is to find them before. */
  delays(looking: Select): boolean;
  /** A moment that can be read from again and again, however long that takes. */
  snapshot(): Promise<Snapshot>;
  /** Fails when the database cannot be reached. */
  ping(deadline: Deadline): Promise<void>;
  close(): Promise<void>;
}

export function deadlineExceeded(): DuetError {
  return new DuetError(
    'DEADLINE_EXCEEDED',
    'The request took longer than it may, and was ended. Ask for less, or by an indexed field.',
    { headers: { 'Retry-After': '1' } },
  );
}

/** A newer file, which is being rolled out, has made a column required for which this node gives no value. */
export function requiredByNewer(resource: Resource | undefined, stored: string): DuetError {
  const name = resource?.columns.find((column) => column.stored === stored)?.name ?? stored;
  const detail = `${name} is required by a newer schema than that of this node`;
  const cure = 'Give it a value, or send the request to a node of the newer schema.';
  return new DuetError('CONFLICT', `${detail}. ${cure}`, {
    errors: [{ pointer: pointer(name), code: 'REQUIRED', detail }],
  });
}

/** A constraint or trigger that somebody else made; what it says may be meant for nobody but the operator. */
export function refusedByDatabase(cause: unknown): DuetError {
  const error = new DuetError(
    'CONFLICT',
    'The database has a rule of its own that does not admit this write.',
  );
  error.cause = cause;
  return error;
}

/** A newer file has dropped what this node asks for. */
export function schemaOutdated(): DuetError {
  return new DuetError(
    'SCHEMA_OUTDATED',
    'The schema of this node names a table or column that the database no longer has. Start it with the newer schema.',
    { headers: { 'Retry-After': '1' } },
  );
}

export function answerTooLarge(): DuetError {
  return new DuetError(
    'ANSWER_TOO_LARGE',
    'The answer would be longer than LIMIT_BYTES allows. Ask for pages of it, or for fewer fields.',
  );
}

/** Thrown into a program at the statement that broke a unique constraint. */
export class NotUnique extends Error {
  readonly resource: Resource;
  readonly columns: readonly Column[];

  constructor(resource: Resource, columns: readonly Column[]) {
    super(`${resource.name}: ${columns.map(({ name }) => name).join(', ')} not unique`);
    this.resource = resource;
    this.columns = columns;
  }
}

/** Thrown into a program at the statement that waited for somebody else for too long. */
export class LockTimeout extends Error {}

/** Thrown into a program at the statement that left a reference without its target. */
export class Dangling extends Error {
  /** Undefined where the database does not tell. */
  readonly reference: Reference | undefined;

  constructor(reference: Reference | undefined) {
    super('a reference would point to nothing');
    this.reference = reference;
  }
}

/** Runs one statement of a program. */
export function* run(statement: Statement): Program<Row[]> {
  const [rows = []] = yield [statement];
  return rows;
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
    per: undefined,
    most: undefined,
    bytes: undefined,
    uncounted: [],
    lock: false,
    below: [],
  };
  return { do: 'select', resource, columns, where, ...rest, ...more };
}
