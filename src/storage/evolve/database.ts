/** What evolution asks of a database: a session for statements of its own, a lock, and the names of things. */

import type { Column, Reference, Resource } from '../../schema/model.ts';
import type { Codecs } from '../sql/codec.ts';
import type { Row, Table } from '../statements.ts';
import type { Program } from '../storage.ts';
import { isLong, isOfWords } from '../words.ts';

export interface Session {
  query(sql: string, parameters?: readonly unknown[]): Promise<Row[]>;
  transaction<T>(work: () => Promise<T>): Promise<T>;
  /** Runs a program inside the transaction that is open. */
  load(program: () => Program<void>): Promise<void>;
}

export interface Evolvable {
  readonly ddl: Ddl;
  /** Waits for a database that is not there yet; `tell` hears of what the operator is to know. */
  reach?(waitMs: number, tell: (message: string) => void): Promise<void>;
  /** Runs the work while no other node can run its own; throws ReadOnly where nothing can be written. */
  exclusively<T>(work: (session: Session) => Promise<T>): Promise<T>;
  /** Runs the work on one snapshot, in which nothing can be changed; nobody waits for it. */
  looking<T>(work: (session: Session) => Promise<T>): Promise<T>;
}

/** The database can be read but not written: it is a standby, or the role may do no more. */
export class ReadOnly extends Error {
  constructor() {
    super('the database is read-only. Do this where it can be written');
  }
}

/** How a database writes its tables down, and how it tells what it has. */
export interface Ddl {
  /** Their types are spelt as `shapes` reports them. */
  readonly codecs: Codecs;
  /** A column within an index, in the order that lists have: nulls are the lowest. */
  indexed(column: Column): string;
  /** The definition of a key that the server counts up. */
  serialKey(resource: Table): string;
  /** What makes a column the key. */
  primaryKey(resource: Table): string;
  /** What follows a column that refers to another table, where that can be said at once. */
  inlineReference(reference: Reference): string;
  /** The statements that say it afterwards, where that is better. */
  addReference(reference: Reference): string[];
  /** Follows the closing bracket of a table's definition. */
  tableOptions(resource: Resource): string;
  /** The statements that drop tables, whichever of them refer to each other. */
  dropTables(tables: readonly string[]): string[];
  /** Whether an exact number is kept in units of its last digit, which hang on its scale. */
  readonly keepsUnits: boolean;
  /** Gives the numbers of a column a wider type. */
  widen(session: Session, step: Widening): Promise<void>;
  shapes(session: Session): Promise<Shapes>;
  /** What else has a name that a table could not have then, with what it is: `["sales", "view"]`. */
  otherNames(session: Session): Promise<ReadonlyMap<string, string>>;
  /** Whether there is a table of this name; Duet's own are missing until a file was applied. */
  has(session: Session, table: string): Promise<boolean>;
  /** The statements that keep everybody else from a table until the transaction ends, and empty it, where others can be at it. */
  emptying(table: string): string[];
  /** The statements that have a table keep the words of its records from then on. */
  keepWords(resource: Resource): string[];
  /** Those that drop what keeps them, by its name. */
  dropWords(table: string, words: string): string[];
  /** The column that an index finds them by, where there is one. */
  columnOfWords(resource: Resource): Column | undefined;
  /** The milliseconds since 1970. */
  readonly clock: string;
  /**
   * Notes the keys of records in the table WRITTEN that are written from then on, whoever writes them, until that time in
   * milliseconds since 1970; false where the server or the role does not allow it. Waits for the writes that are under way.
   */
  beginWriteLog(session: Session, resources: readonly Resource[], until: number): Promise<boolean>;
  /** Ends that, whoever began it; false where others keep it from dropping all of it. */
  endWriteLog(session: Session): Promise<boolean>;
  /** Whether the positions of changes are given after their commits: several can write at once here. */
  readonly stampsPositions: boolean;
  /** Whether nobody else can write anything while somebody works exclusively. */
  readonly keepsWritersOut: boolean;
  /** Whether an index of a table in use is built outside of the transaction, without keeping writers out. */
  readonly buildsIndexesConcurrently: boolean;
}

/** Gives stored numbers a wider type, which rewrites the table. */
export interface Widening {
  readonly do: 'widen';
  readonly resource: Resource;
  readonly column: Column;
  readonly from: Column;
  /** Whether the column forbids null, which it goes on to do. */
  readonly required: boolean;
}

/** What a database has, by table. */
export type Shapes = ReadonlyMap<string, Shape>;

export interface Shape {
  readonly columns: ReadonlyMap<string, StoredColumn>;
  /** By name; that of the key is not among them. */
  readonly indexes: ReadonlyMap<string, Index>;
  /** The names of what keeps the words of its records. */
  readonly words: ReadonlySet<string>;
}

/** An index as a value: one that differs in any of this from what the file asks for is not the one it asks for. */
export interface Index {
  /** What rows are found by, in this order: columns, as `quote` spells them, or expressions. */
  readonly parts: readonly string[];
  readonly unique: boolean;
  /** `partial`: only some rows are in it. `broken`: its building was broken off. Otherwise the method, as `btree`. */
  readonly kind: string;
}

interface StoredColumn {
  readonly type: string;
  readonly required: boolean;
  readonly filled: boolean;
  /** Whether records are stored under it. */
  readonly primary: boolean;
}

/**
 * Rows of columns (`table`, `column`, `type`, `required`, `filled`, `primary`) and of indexes (`table`, `index`, `parts` as
 * JSON, `unique`, `kind`) → the shapes of their tables. What keeps words counts as a column.
 */
export function shapesOf(columns: readonly Row[], indexes: readonly Row[]): Shapes {
  const shapes = new Map<
    string,
    { columns: Map<string, StoredColumn>; indexes: Map<string, Index>; words: Set<string> }
  >();
  // SQLite has no booleans.
  const is = (value: unknown) => value === true || value === 1;
  for (const { table, column, type, required, filled, primary } of columns) {
    const shape = shapes.get(String(table)) ?? { columns: new Map(), indexes: new Map(), words: new Set() };
    shapes.set(String(table), shape);
    if (isOfWords(String(column))) {
      if (!isLong(String(column))) shape.words.add(String(column));
      continue;
    }
    const stored = { type: String(type), required: is(required), filled: is(filled), primary: is(primary) };
    shape.columns.set(String(column), stored);
  }
  for (const { table, index, parts, unique, kind } of indexes) {
    const found = { parts: JSON.parse(String(parts)), unique: is(unique), kind: String(kind) };
    shapes.get(String(table))?.indexes.set(String(index), found);
  }
  return shapes;
}
