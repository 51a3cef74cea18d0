/** How a database keeps values: a row for each kind, so that a new scalar is one more row in the table of each database. */

import { atHand } from '../../base/at-hand.ts';
import { passed } from '../../base/passed.ts';
import type { Measure } from '../../query/aggregates.ts';
import { folded } from '../../schema/folding.ts';
import type { Column } from '../../schema/model.ts';
import { decimals, type Scalar } from '../../schema/scalars.ts';
import { keptAs, scaleOf } from '../../schema/values.ts';
import type { Row } from '../statements.ts';
import { weigh } from './weights.ts';

/** Neither way is taken by null; what is left out needs nothing done. */
export interface Codec {
  /** The type of a column, as the database itself spells it. */
  readonly type: string;
  /** The same, with whatever a new column of this type must say besides. */
  readonly definition?: string;
  /** From the value to what the driver is given. */
  readonly encode?: (value: unknown) => unknown;
  /** From what the driver gives back to the value. */
  readonly decode?: (given: unknown) => unknown;
  /** What to select instead of the column, where the driver would not give back all of its value. */
  readonly read?: (quoted: string) => string;
  /** The sum of a column, where it is not added as floats are. */
  readonly sum?: (quoted: string) => string;
  /** From what the driver gives back for that to the value. */
  readonly decodeSum?: (given: unknown) => unknown;
  /** The sum as a number that others can be compared with, where `sum` is none. */
  readonly total?: (quoted: string) => string;
}

/** One row for each kind; a Decimal has one for each scale. */
export type Codecs<Row extends Codec = Codec> = Readonly<
  Record<Exclude<Scalar['stored'], 'decimal'>, Row>
> & {
  readonly decimal: readonly Row[];
};

export function codecOf<Row extends Codec>(codecs: Codecs<Row>, column: Column): Row {
  const kind = keptAs(column);
  return kind === 'decimal' ? (codecs.decimal[scaleOf(column)] as Row) : codecs[kind];
}

/** A row of the table for each scale. */
export function ofEachScale<Row extends Codec>(row: (scale: number) => Row): readonly Row[] {
  return decimals.map(({ scale }) => row(scale));
}

/** Of the columns of an answer that need one. */
export type Decoders = readonly Decoder[];

interface Decoder {
  readonly name: string;
  readonly decode: (given: unknown) => unknown;
  /** What is to be weighed before it is read: of the first that is JSON, the names of all. */
  readonly weighs?: readonly string[];
}

/** The same, where JSON in these columns is weighed before it is read. */
export function weighing(decoders: Decoders, columns: readonly Column[]): Decoders {
  const names = columns.flatMap((column) => (keptAs(column) === 'json' ? [column.name] : []));
  return decoders.map((decoder) => (decoder.name === names[0] ? { ...decoder, weighs: names } : decoder));
}

export function encoded(codecs: Codecs, column: Column, value: unknown): unknown {
  const { encode } = codecOf(codecs, column);
  return encode && value !== null ? encode(value) : value;
}

/** What to select for a value of this column. */
export function readAs(codecs: Codecs, column: Column, quoted: string): string {
  return codecOf(codecs, column).read?.(quoted) ?? quoted;
}

/** What is made of a value that is passed on, where one is. */
export function passing(column: Column): ((given: unknown) => unknown) | undefined {
  return keptAs(column) === 'json' ? (given) => passed(String(given)) : undefined;
}

/** `passes`: as a Select says. */
export function decodersOf(codecs: Codecs, columns: readonly Column[], passes: boolean): Decoders {
  return columns.flatMap((column) => {
    const decode = (passes && passing(column)) || codecOf(codecs, column).decode;
    return decode ? [{ name: column.name, decode }] : [];
  });
}

export function decodersOfSums(codecs: Codecs, measures: readonly Measure[]): Decoders {
  return measures.flatMap(({ as, of, column }) => {
    const decode = of === 'sum' && column ? codecOf(codecs, column).decodeSum : undefined;
    return decode ? [{ name: as, decode }] : [];
  });
}

export function decoded(rows: Row[], decoders: Decoders): Row[] {
  weighed(rows, decoders);
  decode(rows, decoders);
  return rows;
}

/** So many values are decoded before others have their turn; a text counts for as many as it is long. */
const TURN = 50_000;
const LENGTH = 20;

/** The same, with turns for others where there are many. */
export async function decodedInTurns(rows: Row[], decoders: Decoders): Promise<Row[]> {
  weighed(rows, decoders);
  let from = 0;
  let values = 0;
  for (const [at, row] of rows.entries()) {
    for (const { name } of decoders) {
      const value = row[name];
      values += typeof value === 'string' ? 1 + value.length / LENGTH : 1;
    }
    if (values < TURN || at === rows.length - 1) continue;
    decode(rows.slice(from, at + 1), decoders);
    from = at + 1;
    values = 0;
    await new Promise(setImmediate);
  }
  decode(from === 0 ? rows : rows.slice(from), decoders);
  return rows;
}

function weighed(rows: readonly Row[], decoders: Decoders): void {
  for (const { weighs } of decoders) {
    if (!weighs) continue;
    const lists = weighs.map((): unknown[] => []);
    for (const row of rows) for (const [at, name] of weighs.entries()) lists[at]?.push(row[name]);
    weigh(lists);
  }
}

function decode(rows: readonly Row[], decoders: Decoders): void {
  for (const some of atHand(rows, decoders.length))
    for (const { name, decode } of decoders)
      for (const row of some) if (row[name] !== null) row[name] = decode(row[name]);
}

/** Where the length of a text counts, it is that of what it is compared with. */
export function comparedText(column: Column, value: unknown): string {
  return keptAs(column) === 'folded' ? folded(String(value)) : String(value);
}
