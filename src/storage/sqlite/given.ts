/** What a statement brings along itself, and what that costs, whatever is stored. */

import { atHand } from '../../base/at-hand.ts';
import { conditionsIn, ownColumns } from '../../query/filter.ts';
import type { Column, Resource } from '../../schema/model.ts';
import type { Match, Row, Statement, Table } from '../statements.ts';
import { lengthsOf, splitBy } from '../words.ts';
import type { Reading } from './plan.ts';
import { bytesOf, weightOf } from './texts.ts';

/** How many bytes that are looked at, or written, cost as much as a test. */
export const BYTES = 20;

/** How many values were given, in a list or alone. */
export function countOf(values: unknown): number {
  return Array.isArray(values) ? Math.max(1, values.length) : 1;
}

/** So many values of a list are sought in no time, as long as they are short. */
export const FEW_SOUGHT = 1_000;
const SHORT_TEXT = 64;
/** What it takes to seek one, and so many characters of it. */
const SEEK = 4;
const CHARACTERS = 4;

/** What it takes to seek all of the values, such as the keys of records, whether there is one or not: nothing is visited where none is found. */
export function soughtOf(values: unknown): number {
  if (!Array.isArray(values)) return 0;
  const isMany = values.length > FEW_SOUGHT;
  let characters = 0;
  for (const each of values)
    if (typeof each === 'string') characters += isMany ? each.length : Math.max(0, each.length - SHORT_TEXT);
  return (isMany ? SEEK * values.length : 0) + characters / CHARACTERS;
}

/** What it takes to find the words of the records that are written: of each character as much as a test. */
export function splittingOf(statement: Statement): number {
  const rows = splitBy(statement);
  return rows.length > 0 ? lengthsOf((statement as { resource: Table }).resource as Resource, rows) : 0;
}

/** What it takes to hold the values that it is given against the conditions. */
export function givenTo({ resource, rows, where }: Match): number {
  const used = [...ownColumns(where, resource)];
  const conditions = conditionsIn(where).length;
  const bytes = bytesOfAll(used, rows);
  const compared = (Math.max(conditions, weightOf(where)) * bytes) / BYTES;
  return conditions * rows.length + compared + takenApart(used, rows);
}

/** What a number counts for beside texts. */
const NUMBER = 5;

/** What it takes to read rows of values that are given as JSON: for each value SQLite goes through all of its row. */
export function takenApart(columns: readonly Column[], rows: readonly Row[]): number {
  return (columns.length * (bytesOfAll(columns, rows) + NUMBER * columns.length * rows.length)) / BYTES;
}

function bytesOfAll(columns: readonly Column[], rows: readonly Row[]): number {
  let bytes = 0;
  for (const some of atHand(rows, columns.length))
    for (const { name } of columns) for (const row of some) bytes += bytesOf(row[name]);
  return bytes;
}

export function bytesIn(set: Row): number {
  let bytes = 0;
  for (const name in set) bytes += bytesOf(set[name]);
  return bytes;
}

/** How many are answered of so many lists, where that is limited for each. */
export function answeredOf(statement: Reading, given: number): number {
  return statement.do === 'select' && statement.per && statement.limit !== undefined
    ? given * statement.limit
    : 0;
}
