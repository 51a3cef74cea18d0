/** Records in a file: CSV (RFC 4180, also with semicolons or tabs), JSON or NDJSON, each with the line that it begins at, or its number. */

import type { Column } from './schema/types.ts';
import { readJson, readNumber, Unreadable } from './typed.ts';

export interface FileRecord {
  readonly line: number;
  readonly values: Readonly<Record<string, unknown>>;
}

export interface FileRecords {
  readonly names: readonly string[];
  readonly records: readonly FileRecord[];
  /** Whether values are texts that are to be read by the columns they are for. */
  readonly isText: boolean;
  /** What is counted: nobody knows the lines of a list in JSON. */
  readonly unit: 'line' | 'record';
  /** What could not be read at all. */
  readonly faults: readonly LineFault[];
}

export interface LineFault {
  readonly line: number;
  readonly field?: string;
  readonly why: string;
}

export function readFile(name: string, bytes: ArrayBuffer | Uint8Array): FileRecords {
  let plain: string;
  try {
    plain = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    // As spreadsheets write CSV unless they are told otherwise: their letters beyond ASCII would be lost.
    const why = 'The file is not UTF-8. Save it as UTF-8; spreadsheets offer “CSV UTF-8”.';
    return { ...named([], false), faults: [{ line: 1, why }] };
  }
  const isLines = /\.(ndjson|jsonl)$/i.test(name) || /^\s*\{/.test(plain);
  const read = (/\.json$/i.test(name) ? json : isLines ? lines : csv)(plain);
  if (read.records.length + read.faults.length > 0) return read;
  const why = plain.trim() === '' ? 'The file is empty.' : 'There is no record in the file.';
  return { ...named([], false), faults: [{ line: 1, why }] };
}

function json(text: string): FileRecords {
  const read = readJson(text);
  if (read instanceof Unreadable) return { ...named([], false), faults: [notJson(read, 0)] };
  const all = Array.isArray(read) ? read : [read];
  const records = all.map((values, at) => ({ line: at + 1, values }));
  return { ...named(records, false), unit: 'record' };
}

function lines(text: string): FileRecords {
  const faults: LineFault[] = [];
  const records = text.split('\n').flatMap((line, at): { line: number; values: unknown }[] => {
    if (line.trim() === '') return [];
    const values = readJson(line);
    if (!(values instanceof Unreadable)) return [{ line: at + 1, values }];
    faults.push(notJson(values, at));
    return [];
  });
  const found = named(records, false);
  return { ...found, faults: [...faults, ...found.faults] };
}

/** Browsers tell the line of the text that they were given, which has so many lines of the file before it. */
function notJson({ why }: Unreadable, before: number): LineFault {
  const [told = '', line = 1] = /line (\d+) /.exec(why) ?? [];
  return { line: before + Number(line), why: why.replace(told, '') };
}

function named(all: readonly { line: number; values: unknown }[], isText: boolean): FileRecords {
  const faults: LineFault[] = [];
  const records = all.flatMap(({ line, values }): FileRecord[] => {
    if (typeof values === 'object' && values !== null && !Array.isArray(values))
      return [{ line, values: values as FileRecord['values'] }];
    faults.push({ line, why: 'This is not an object with the fields of a record.' });
    return [];
  });
  const names = [...new Set(records.flatMap(({ values }) => Object.keys(values)))];
  return { names, records, isText, unit: 'line', faults };
}

function csv(text: string): FileRecords {
  const [head = ''] = text.split(END_OF_LINE, 1);
  const mark = [',', ';', '\t'].toSorted(
    (one, other) => head.split(other).length - head.split(one).length,
  )[0];
  const [first, ...rows] = csvRows(text, mark ?? ',');
  const names = first?.cells.map((name) => name.trim()) ?? [];
  const faults: LineFault[] = [];
  const records = rows.flatMap(({ line, cells, isOpen }): FileRecord[] => {
    if (cells.length === 1 && cells[0] === '') return [];
    if (isOpen)
      faults.push({
        line,
        why: 'A value begins with a quote that does not end it; a quote inside is doubled.',
      });
    else if (cells.length !== names.length)
      faults.push({ line, why: `It has ${cells.length} values, and the head has ${names.length} names.` });
    return [{ line, values: Object.fromEntries(names.map((name, at) => [name, cells[at] ?? ''])) }];
  });
  return { names, records, isText: true, unit: 'line', faults };
}

/** A return alone is how spreadsheets of old Macintoshes end lines. */
const END_OF_LINE = /\r\n?|\n/;

interface CsvRow {
  readonly line: number;
  readonly cells: string[];
  /** Quotes in it have no end. */
  readonly isOpen: boolean;
}

function csvRows(text: string, mark: string): CsvRow[] {
  const rows: CsvRow[] = [];
  let [cells, line, began, isOpen]: [string[], number, number, boolean] = [[], 1, 1, false];
  // A value in quotes, with doubled quotes for one, or anything up to the next mark; then what ends it.
  const value = new RegExp(`(?:"((?:[^"]|"")*)"|([^${mark}\\r\\n]*))(${mark}|${END_OF_LINE.source}|$)`, 'y');
  for (let match = value.exec(text); match; match = value.exec(text)) {
    const [whole, quoted, plain = '', end = ''] = match;
    isOpen ||= plain.startsWith('"');
    cells.push(quoted === undefined ? plain : quoted.replaceAll('""', '"'));
    line += whole.split(END_OF_LINE).length - 1;
    if (end !== mark) {
      rows.push({ line: began, cells, isOpen });
      [cells, began, isOpen] = [[], line, false];
    }
    // Behind a mark there is one more value, however empty.
    if (end !== mark && value.lastIndex >= text.length) break;
  }
  return rows;
}

/** A text of a CSV file as a value of the column; an empty one is none. */
export function readCell(column: Column, text: string): unknown {
  if (text === '') return undefined;
  if (column.list && !text.startsWith('[')) {
    const isNumber = column.kind === 'int' || column.kind === 'float';
    return new Unreadable(
      text,
      `A list is written as JSON, such as ${isNumber ? '[1, 2]' : '["one", "two"]'}.`,
    );
  }
  if (column.list || column.kind === 'json') return readJson(text);
  switch (column.kind) {
    case 'id':
    case 'int':
    case 'float':
    case 'bigint':
    case 'decimal':
      return readNumber(column, text);
    case 'boolean':
      if (/^(true|1|yes)$/i.test(text)) return true;
      return /^(false|0|no)$/i.test(text) ? false : new Unreadable(text, 'This is neither true nor false.');
    default:
      return text;
  }
}
