/** How many bytes rows take in an answer, told from their values: quickly, one for each character, or as they are written. */

import { atHand } from '../base/at-hand.ts';
import { measuredText, PassedJson } from '../base/passed.ts';
import type { Column } from '../schema/model.ts';
import { keptAs, longestOf } from '../schema/values.ts';
import type { Row } from '../storage/statements.ts';
import { TOGETHER_BYTES } from '../storage/storage.ts';

/** What is answered of rows. */
export interface Measured {
  readonly columns: readonly Column[];
  readonly computed?: readonly { readonly column: Column }[] | undefined;
  readonly relations: readonly { readonly as: string; readonly list: object | undefined }[];
  /** Where that is not each record once, with its fields under their own names. */
  readonly rendered?: Rendered;
}

/** How often each record stands in the answer, and its columns; and the bytes of the names under which they stand there. */
export interface Rendered {
  readonly records: number;
  readonly columns: readonly (readonly [Column, number])[];
  /** Of one record, however often it stands there. */
  readonly names: number;
}

/** `"":,` around a name; `null`, or any short value; braces and a comma around an object; quotation marks, or brackets. */
const AROUND_NAME = 4;
export const VALUE = 4;
export const AROUND_OBJECT = 3;
export const PAIR = 2;

/** `\u0001`. Beyond ASCII, a UTF-16 unit takes three at the most. */
export const MOST_BYTES_OF_CHARACTER = 6;

interface Measure {
  /** What does not hang on the values. */
  readonly fixed: number;
  /** The values that are short. */
  readonly shorts: readonly Value[];
  /** How many those are in the answer. */
  readonly short: number;
  /** The values that can be long. */
  readonly texts: readonly Value[];
  /** Of how many rows it has told so far. */
  seen: number;
}

interface Value {
  readonly name: string;
  /** How often the answer has it. */
  readonly times: number;
  /** A number in a row, and a text in GraphQL; it counts alike everywhere. */
  readonly isKey: boolean;
}

const measures = new WeakMap<Measured, Measure>();

/** How often the answer has each record of a selection. */
export function timesOf({ rendered }: Measured): number {
  return rendered?.records ?? 1;
}

/** With what stands around it. */
export function bytesOfName(name: string): number {
  return name.length + AROUND_NAME;
}

/** Of the names alone, in an answer that has its own for them. */
function namesOf(selection: Measured): number {
  let bytes = 0;
  for (const { name } of answeredColumns(selection)) bytes += bytesOfName(name);
  for (const { as, list } of selection.relations) bytes += bytesOfName(as) + (list ? PAIR : 0);
  return bytes;
}

function measuring(selection: Measured): Measure {
  let measure = measures.get(selection);
  if (!measure) {
    measure = measureOf(selection);
    measures.set(selection, measure);
  }
  return measure;
}

/** No row takes fewer: whatever is short has a byte. */
export function leastBytesOf(selection: Measured): number {
  const { fixed, short } = measuring(selection);
  return fixed + short;
}

/** Of the rows' own columns, as often as the answer has them. */
export function bytesOf(selection: Measured, rows: readonly Row[], isExact = false): number {
  const measure = measuring(selection);
  const count = isExact ? exactly : quickly;
  let bytes = 0;
  for (const some of atHand(rows, measure.shorts.length + measure.texts.length))
    bytes += count(measure, some);
  return bytes;
}

export function mayBeLong(column: Column): boolean {
  return longestOf(column) === Number.POSITIVE_INFINITY;
}

/** From so many rows on, code of its own, which takes a while to compile, pays. */
const MANY = 1000;

function quickly(measure: Measure, rows: readonly Row[]): number {
  const { fixed, short, texts } = measure;
  const isOften = measure.seen > MANY;
  if (!isOften) measure.seen += rows.length;
  let bytes = (fixed + short * VALUE) * rows.length;
  for (let index = 0; index < texts.length; index++) {
    const { name, times } = texts[index] as Value;
    bytes += times * (isOften ? lengthsFor(name) : lengthsOf(name))(rows);
  }
  return bytes;
}

type Lengths = (rows: readonly Row[]) => number;

const lengthsOf =
  (name: string): Lengths =>
  (rows) => {
    let length = 0;
    for (let at = 0; at < rows.length; at++) length += lengthOf((rows[at] as Row)[name]);
    return length;
  };

const compiled = new Map<string, Lengths>();

/** The same with its name written into it: a thousand rows take half as long as with one that is told which to read. */
function lengthsFor(name: string): Lengths {
  let lengths = compiled.get(name);
  if (!lengths) {
    const code = `return (rows) => {
      let length = 0;
      for (let at = 0; at < rows.length; at++) length += lengthOf(rows[at][${JSON.stringify(name)}]);
      return length;
    };`;
    lengths = new Function('lengthOf', code)(lengthOf) as Lengths;
    compiled.set(name, lengths);
  }
  return lengths;
}

function lengthOf(value: unknown): number {
  return typeof value === 'string' ? value.length : bytesOfJson(value);
}

function exactly({ fixed, shorts, texts }: Measure, rows: readonly Row[]): number {
  let bytes = fixed * rows.length;
  for (const { name, times, isKey } of shorts)
    for (const row of rows) bytes += times * (bytesOfShort(row[name]) + (isKey ? PAIR : 0));
  for (const { name, times } of texts) for (const row of rows) bytes += times * bytesOfWritten(row[name]);
  return bytes;
}

/** Those that are read, and those that are made of them. */
function answeredColumns({ columns, computed }: Measured): readonly Column[] {
  return computed ? [...columns, ...computed.map(({ column }) => column)] : columns;
}

function measureOf(selection: Measured): Measure {
  const times = new Map<Column, number>(selection.rendered?.columns);
  const fixed = timesOf(selection) * AROUND_OBJECT + (selection.rendered?.names ?? namesOf(selection));
  const shorts: Value[] = [];
  const texts: Value[] = [];
  for (const column of answeredColumns(selection)) {
    const isKey = keptAs(column) === 'serial';
    (mayBeLong(column) ? texts : shorts).push({ name: column.name, times: times.get(column) ?? 1, isKey });
  }
  const short = shorts.reduce((sum, value) => sum + value.times, 0);
  return { fixed, short, shorts, texts, seen: 0 };
}

/** Values in their order, in parts that are made, sent or answered one after the other, and measured no earlier. */
export function* parts<T>(
  values: readonly T[],
  bytesOf: (value: T) => number,
): Generator<readonly T[], void> {
  let part: T[] = [];
  let bytes = 0;
  for (const value of values) {
    const own = bytesOf(value);
    bytes += own;
    if (part.length > 0 && bytes > TOGETHER_BYTES) {
      yield part;
      part = [];
      bytes = own;
    }
    part.push(value);
  }
  if (part.length > 0) yield part;
}

/** The first step that is enough: were it known at which byte something ends, it would tell how long that is which is not shown. */
export function inSteps(bytes: number, least: number, times: number): number {
  let step = least;
  while (step < bytes) step *= times;
  return step;
}

/** Of a value that was read as JSON, or of a group. */
export function bytesOfJson(value: unknown): number {
  if (typeof value === 'string') return value.length;
  if (typeof value !== 'object' || value === null) return VALUE;
  if (value instanceof PassedJson) return value.text.length;
  let bytes = AROUND_OBJECT;
  if (Array.isArray(value)) for (const each of value) bytes += 1 + bytesOfJson(each);
  else for (const name in value) bytes += bytesOfName(name) + bytesOfJson((value as Row)[name]);
  return bytes;
}

/** The same, as it is sent. */
export function bytesOfWritten(value: unknown): number {
  if (typeof value !== 'string' && (typeof value !== 'object' || value === null)) return bytesOfShort(value);
  return Buffer.byteLength(measuredText(value));
}

/** Of a number, a Boolean, or a text that needs no escapes, such as a date; what is hidden is null, or nothing. */
function bytesOfShort(value: unknown): number {
  if (value === null || value === undefined) return VALUE;
  return typeof value === 'string' ? value.length + PAIR : `${value}`.length;
}
