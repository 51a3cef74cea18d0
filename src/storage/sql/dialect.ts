/** What SQL is made of on every database, and the few things that databases disagree on. */

import type { Searched, SearchedWord } from '../../query/filter.ts';
import type { TimePart } from '../../query/parts.ts';
import type { Column, Resource } from '../../schema/model.ts';
import type { Row, Table } from '../statements.ts';
import type { Codecs, Decoders } from './codec.ts';
import type { Heavy } from './long-answers.ts';

export function quote(identifier: string): string {
  return `"${identifier.includes('"') ? identifier.replaceAll('"', '""') : identifier}"`;
}

/** A text as a literal. */
export function literal(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

/** A statement as a database takes it. */
export interface Compiled {
  readonly sql: string;
  readonly parameters: readonly unknown[];
  readonly decoders: Decoders;
}

/** The few things that databases disagree on. */
export interface Dialect {
  /** The text of the nth parameter, counted from 1, on its way into or beside a column. */
  parameter(position: number, of: Column): string;
  /** The same, where it is a number of rows. */
  rowCount(position: number): string;
  /** A condition that holds when the column is one of the values of a list. */
  among(column: string, list: string): string;
  /** The values of a column that holds a list, as a table to select `value` from. */
  items(column: string): string;
  /** The text of the nth parameter where it is a list. */
  listed(position: number, of: Column): string;
  /** That parameter itself. */
  list(values: readonly unknown[], of: Column): unknown;
  readonly codecs: Codecs;
  readonly words: Words;
  /** The name of a column that is selected. */
  selected(column: Column): string;
  /** Where in a text another begins, or 0. */
  readonly position: string;
  /** Nulls are the lowest values. */
  order(quoted: string, column: Column, descending: boolean): string;
  /** The first day of a part of a time, or the beginning of its hour, in UTC. */
  part(quoted: string, part: TimePart): string;
  /** What rows are grouped by where all of them are read: not by way of an index, which leads to each by itself. */
  scanned(quoted: string): string;
  /** The rows themselves, for the same; where the database knows how many groups there are, except of parts of times. */
  readonly scannedRows?: ((table: string, condition: string) => string) | undefined;
  count(quoted: string): string;
  sum(quoted: string, column: Column): string;
  /** The same where it is compared: as a number, however exact it is. */
  total(quoted: string, column: Column): string;
  /** A float with as many digits as answers have of it; one that is not finite stays what it is. */
  significant(float: string): string;
  /** The least or the greatest value, for every column that rows can be ordered by. */
  extreme(of: 'min' | 'max', quoted: string, column: Column): string;
  /** The text that stands beside the least or the greatest other; of several, itself the least or the greatest. */
  extremeBy(of: 'min' | 'max', compared: string, quoted: string): string;
  /** What is computed of a column, where it is compared as its values are. */
  compared(computed: string, column: Column): string;
  /**
   * Rows that are not stored, as a table to select from: these columns, which compare as stored ones do, and "_row", which
   * counts them from 1. `given` makes a parameter of a value and tells its position.
   */
  values(columns: readonly Column[], rows: readonly Row[], given: (value: unknown) => number): string;
  /** The same rows as an INSERT takes them. */
  rows(columns: readonly Column[], rows: readonly Row[], given: (value: unknown) => number): string;
  /** The same SELECT, which fails when these columns hold more bytes of text, or ends there; undefined where they are counted as rows arrive. */
  readonly within?: (select: string, heavy: Heavy, names: readonly string[]) => string;
  /** The groups that a SELECT answers with, up to so many, of which there are hardly ever more. */
  most(select: string, most: number): string;
  /** Limits the rows of each value of a list. */
  perValue(parts: PerValue): string;
  /** Stands among the conditions of rows that are visited, which have this key: before others, or by itself behind `before`. */
  visit(key: string, before?: string): string;
  /** Whether the one record that a condition can be about is to be looked up once, and not for each row that may lead to it. */
  readonly looksUpOnce: boolean;
  /** Ends the SELECT of an EXISTS that is to be carried out by itself, and not as a join with all others. */
  readonly unjoined: string;
  /** The same condition, where a statement can be ended before it is found out: by itself, no two conditions on one row are told apart. */
  endable(condition: string): string;
  /** The same condition, for which no index is to be chosen. */
  unplanned(condition: string): string;
  /** Follows a text that has the collation of its database, to compare it as all others. */
  readonly byCodePoint: string;
  /** The milliseconds since 1970. */
  readonly clock: string;
  /** Answers with `last`: the last serial key that was given. */
  lastId(resource: Table): string;
  /** Makes the next serial key come after the parameter, if it would not do so by itself. */
  raiseLastId(resource: Resource, parameter: string): string;
  /** The next serial key, where records are given theirs before they are stored. Undefined where no statement asks for it. */
  readonly nextId?: (resource: Resource) => string;
  /** Whether an INSERT answers with the new row; otherwise with its serial key alone, and the rest is what was given. */
  readonly answersInserts: boolean;
  /** The text of a JSON object: these columns of the row under this name, by their stored names. Undefined where no statement asks for it. */
  readonly image?: (columns: readonly Column[], row: string) => string;
  /**
   * A condition that holds while the file of this node knows all that writers of the table keep true, or else ends the
   * statement; undefined where that is looked up once for a whole transaction.
   */
  readonly current?: ((resource: Resource) => string) | undefined;
  /** Ends a SELECT whose rows are to be kept from others, to be deleted or to be changed. */
  readonly lock: string;
  readonly lockToChange: string;
}

/** How a database keeps the words of records, and finds records by them. `given` makes a parameter of a value. */
export interface Words {
  /** A condition that holds where the record under this name has all of them. */
  match(searched: Searched, record: string, given: (value: unknown) => number): string;
  /** The same where it has this one, and the nth field is the first that does. */
  isIn(
    searched: Searched,
    word: SearchedWord,
    field: number,
    record: string,
    given: (value: unknown) => number,
  ): string;
  /** How records come in the order of their keys without a look at all that are found, where that takes another SELECT. */
  inKeyOrder?(searched: Searched, given: (value: unknown) => number): KeyOrder | undefined;
  /** Ends a SELECT, so that what it finds out is not found out again wherever that is asked for; where a word takes long. */
  readonly once?: string;
  /** Whether it only guesses how many records have a word, and chooses by that how to find the first of them. */
  readonly isGuessed?: boolean;
  /** Answers with the keys, in a list, of those records whose words it does not have; where it keeps them beside the records. */
  stale?(resource: Resource, list: string): string;
  /** Has it split these, in a list. */
  mend?(resource: Resource, list: string): string;
  /** The columns that keep them, where the database does not split texts by itself, and what a record has in them. */
  readonly kept?: {
    columns(resource: Table): readonly Column[];
    of(resource: Resource, record: Row): Row;
  };
}

/** The parts of a SELECT. */
export interface KeyOrder {
  readonly from: string;
  /** What records are ordered by. */
  readonly key: string;
}

/** A SELECT whose limit holds for each value of a list, in parts. */
export interface PerValue {
  readonly columns: string;
  readonly table: string;
  readonly key: string;
  readonly list: string;
  /** What is joined to the table under this name. */
  readonly joined: (alias: string) => string;
  /** The condition that a row of the table, under this name, belongs to the value that `PARENT` names. */
  readonly belongs: (alias: string) => string;
  readonly condition: (alias: string) => string;
  readonly order: (alias: string) => string;
  readonly limit: number;
  /** How many are left out before. */
  readonly offset: string | undefined;
  /** Ends the whole. */
  readonly most: string;
}
