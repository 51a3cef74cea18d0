/** How many bytes of text the rows of a SQLite table have, and how much of it a statement looks at. */

import type { Database } from 'bun:sqlite';
import { type Condition, conditionsOn, FieldOperand, type Filter } from '../../query/filter.ts';
import { isResult } from '../../query/results.ts';
import type { Column } from '../../schema/model.ts';
import { comparedBy, keptAs, keptColumns } from '../../schema/values.ts';
import { quote } from '../sql/dialect.ts';
import { widthOf } from '../sql/long-answers.ts';
import type { Row, Table } from '../statements.ts';

/** A look at so many bytes costs no more than a look at a number, and so many in a row no more than the row. */
const SHORT = 100;
const LIGHT = 500;
/** What is not known to be shorter: as much as the body of a request brings. */
export const ASSUMED = 1024 * 1024;

/** What it costs to look at a byte, where it is 1 to look for a short text. That is held against every place: a longer one costs more. */
const PART = 100;
const LISTED = 16;
const COUNTED = 2;
/** Most of a text need not be looked at; but it is read, each time if another one was in between. */
export const COMPARED = 1 / 8;
/** To sort texts, or to tell them apart, holds each against many. */
export const SORTED = 2;
/** To carry texts along while their rows are put in order. */
export const CARRIED = 1;
/** To read a row, whatever is looked at. */
const READ = 1 / 25;

/** Stands for whole rows in the place of a stored name, of which none is empty. */
const ROW = '';

/** All that is looked at of a column, or of rows. */
export interface Look {
  readonly table: Table;
  readonly stored: string;
  /** How many bytes there are in a row at the most that count, as far as the schema says. */
  readonly most: number;
  /** Whether another row leads there: then it may be the same one again and again. */
  readonly isReached: boolean;
  readonly weight: number;
  /** Each row of this table leads there once, at the most. */
  readonly from?: Table | undefined;
}

/** Of the rows of a table, or of some of them: the bytes beyond what counts as short, by stored names. */
export interface Held {
  readonly rows: number;
  /** Whether there are any at all. */
  hasLong: boolean;
  readonly texts: ReadonlyMap<string, Length>;
}

interface Length {
  all: number;
  longest: number;
}

const none: Readonly<Length> = { all: 0, longest: 0 };

/** What a filter costs for each byte, of all columns together. Nothing is made on the way: every read comes by here. */
export function weightOf(filter: Filter): number {
  switch (filter.is) {
    case 'all':
    case 'any': {
      let weight = 0;
      for (const each of filter.of) weight += weightOf(each);
      return weight;
    }
    case 'not':
      return weightOf(filter.of);
    case 'related':
    case 'some':
      return weightOf(filter.where);
    default:
      return weightOfOne(filter);
  }
}

function weightOfOne(condition: Condition): number {
  switch (condition.is) {
    case 'contains':
      return 1 + String(condition.value).length / PART;
    case 'endsWith':
      return 1;
    case 'hasSome':
    case 'hasEvery':
      return LISTED;
    case 'empty':
      return COUNTED;
    case 'null':
    case 'search':
      return 0;
    default:
      return COMPARED;
  }
}

/** What a filter looks at. */
export function looksOf(filter: Filter, table: Table, isReached = false): Look[] {
  return conditionsOn(filter).flatMap((each) => {
    if ('where' in each) return looksOf(each.where, each.field.target, true);
    if (!('column' in each)) return [];
    const columns = [each.column];
    if ('value' in each && each.value instanceof FieldOperand) columns.push(each.value.column);
    const weight = weightOfOne(each);
    return columns.flatMap((column) => lookAt(table, column, weight, isReached));
  });
}

/** None where its values cannot be long. */
export function lookAt(table: Table, asked: Column, weight: number, isReached = false): Look[] {
  const from = isResult(asked) ? asked.from : asked;
  const column = from && comparedBy(from);
  if (!column || !isText(column)) return [];
  const bytes = Math.min(widthOf(column), column.indexed ?? ASSUMED, ASSUMED);
  return [{ table, stored: column.stored, most: Math.max(0, bytes - SHORT), weight, isReached }];
}

/** A row that is visited is read. */
export function read(table: Table, isReached = false, from?: Table): Look {
  const most = textsOf(table).reduce((sum, column) => sum + Math.min(widthOf(column), ASSUMED), -LIGHT);
  return { table, stored: ROW, most: Math.max(0, most), weight: READ, isReached, from };
}

/** Each column once. */
export function together(looks: readonly Look[]): readonly Look[] {
  if (looks.length < 2) return looks;
  const columns = Map.groupBy(
    looks,
    ({ table, stored, isReached, from }) => `${isReached} ${from?.table} ${table.table} ${stored}`,
  );
  return Array.from(columns.values(), (same) => ({
    ...(same[0] as Look),
    // A row is read once, whatever is asked of it.
    weight: same[0]?.stored === ROW ? READ : same.reduce((sum, { weight }) => sum + weight, 0),
  }));
}

/** How many values of a row are measured. */
export function measuredOf(table: Table): number {
  return textsOf(table).length + 1;
}

export function lengthIn({ texts }: Held, { stored }: Look): Readonly<Length> {
  return texts.get(stored) ?? none;
}

/** Looks at no text: how long it is stands before it. */
export function held(
  database: Database,
  table: Table,
  most: number,
  { where, parameters }: Part = { where: 'TRUE', parameters: [] },
): Held {
  const columns = textsOf(table);
  const sizes = columns.map(({ stored }) => `COALESCE(octet_length(${quote(stored)}), 0)`);
  const row = ['0', ...sizes].join(' + ');
  const beyond = [...sizes.map((size) => `max(0, ${size} - ${SHORT})`), `max(0, ${row} - ${LIGHT})`];
  const named = beyond.map((bytes, index) => `${bytes} AS "${index}"`);
  const found = beyond.map((_, index) => `TOTAL("${index}"), COALESCE(MAX("${index}"), 0)`);
  const sql = `SELECT COUNT(*), ${found.join(', ')} FROM (SELECT ${named.join(', ')} FROM ${quote(table.table)} WHERE ${where} LIMIT ${most})`;
  const [[rows = 0, ...lengths] = []] = database.query(sql).values(...(parameters as string[])) as number[][];
  const texts = new Map(
    [...columns.map(({ stored }) => stored), ROW].map((stored, index) => [
      stored,
      { all: lengths[2 * index] ?? 0, longest: lengths[2 * index + 1] ?? 0 },
    ]),
  );
  return { rows, hasLong: lengths.some((bytes) => bytes > 0), texts };
}

/** Which rows of a table. */
export interface Part {
  readonly where: string;
  readonly parameters: readonly unknown[];
}

/** After so many rows have been given these values: what they had before may be there still. */
export function grow(all: Held, table: Table, values: Row, times: number): void {
  let row = 0;
  const add = (stored: string, bytes: number) => {
    const length = all.texts.get(stored);
    if (!length || bytes <= 0) return;
    all.hasLong = true;
    length.all += bytes * times;
    length.longest = Math.max(length.longest, bytes);
  };
  for (const column of textsOf(table)) {
    const bytes = bytesOf(values[column.name]);
    row += bytes;
    add(column.stored, bytes - SHORT);
  }
  add(ROW, row - LIGHT);
}

/** Of a value as it is given. */
export function bytesOf(value: unknown): number {
  if (typeof value === 'string') return value.length;
  return typeof value === 'object' && value !== null ? JSON.stringify(value).length : 0;
}

const known = new WeakMap<Table, readonly Column[]>();

function textsOf(table: Table): readonly Column[] {
  let columns = known.get(table);
  if (!columns) {
    columns = keptColumns(table).filter(isText);
    known.set(table, columns);
  }
  return columns;
}

function isText(column: Column): boolean {
  return ['text', 'json', 'folded'].includes(keptAs(column));
}
