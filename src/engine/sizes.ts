/** How many bytes rows take in an answer, told from their values: quickly, one for each character, or as they are written. */

import type { Column } from '../schema/model.ts';
import { keptAs } from '../schema/values.ts';
import type { Row } from '../storage/statements.ts';
import type { Selection } from './operation.ts';

/** `"":,` around a name; a short value; braces and a comma around an object. */
const AROUND_NAME = 4;
const VALUE = 4;
const AROUND_OBJECT = 3;
const QUOTES = 2;

/** `\u0001`. Beyond ASCII, a UTF-16 unit takes three at the most. */
export const MOST_BYTES_OF_CHARACTER = 6;

interface Measure {
  /** What does not hang on the values. */
  readonly fixed: number;
  /** The properties that can be long, and how often the answer has each. */
  readonly texts: readonly Text[];
}

interface Text {
  readonly name: string;
  readonly times: number;
}

const measures = new WeakMap<Selection, Measure>();

/** How often the answer has each record of a selection. */
export function timesOf({ repeated }: Selection): number {
  return repeated?.records ?? 1;
}

/** Of the rows' own columns, as often as the answer has them. */
export function bytesOf(selection: Selection, rows: readonly Row[], isExact = false): number {
  let measure = measures.get(selection);
  if (!measure) {
    measure = measureOf(selection);
    measures.set(selection, measure);
  }
  const { fixed, texts } = measure;
  let bytes = fixed * rows.length;
  for (let index = 0; index < texts.length; index++) {
    const { name, times } = texts[index] as Text;
    let length = 0;
    if (isExact) for (const row of rows) length += bytesOfWritten(row[name]);
    else
      for (let at = 0; at < rows.length; at++) {
        const value = (rows[at] as Row)[name];
        length += typeof value === 'string' ? value.length : bytesOfJson(value);
      }
    bytes += times * length;
  }
  return bytes;
}

function measureOf(selection: Selection): Measure {
  const times = new Map<Column, number>(selection.repeated?.columns);
  let fixed = timesOf(selection) * AROUND_OBJECT;
  const texts: Text[] = [];
  for (const column of selection.columns) {
    const often = times.get(column) ?? 1;
    fixed += often * (column.name.length + AROUND_NAME + VALUE);
    if (['text', 'json'].includes(keptAs(column))) texts.push({ name: column.name, times: often });
  }
  return { fixed, texts };
}

/** Of a value that was read as JSON, or of a group. */
export function bytesOfJson(value: unknown): number {
  if (typeof value === 'string') return value.length;
  if (typeof value !== 'object' || value === null) return VALUE;
  let bytes = AROUND_OBJECT;
  if (Array.isArray(value)) for (const each of value) bytes += 1 + bytesOfJson(each);
  else for (const name in value) bytes += name.length + AROUND_NAME + bytesOfJson((value as Row)[name]);
  return bytes;
}

/** The same, as it is sent; the quotation marks of a text are counted elsewhere. */
export function bytesOfWritten(value: unknown): number {
  if (typeof value !== 'string' && (typeof value !== 'object' || value === null)) return VALUE;
  return Buffer.byteLength(JSON.stringify(value)) - (typeof value === 'string' ? QUOTES : 0);
}
