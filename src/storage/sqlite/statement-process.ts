/** The process that carries out statements on a SQLite file for another: what cannot be interrupted can be ended. */

import { type Changes, type Database, SQLiteError, type SQLQueryBindings } from 'bun:sqlite';
import { rewritten } from '../../base/rewritten.ts';
import type { Row } from '../statements.ts';
import { openToRead, openToWrite } from './opening.ts';
import { packed, type Sent } from './wide-rows.ts';

/** What a process may do with the file: the command that starts it. */
export type Right = 'reader' | 'writer';

export interface Asked {
  readonly sql: string;
  readonly parameters: readonly unknown[];
  readonly bound?: Bound | undefined;
  /** Its rows are not wanted: it answers with the id that was last inserted, `[{ id }]`. */
  readonly isSilent?: boolean;
}

/** How many bytes of text there may be in the rows, under these names. */
export interface Bound {
  readonly bytes: number;
  /** Whether the row with which there are more is the last, instead of one too many. */
  readonly cuts: boolean;
  readonly names: readonly string[];
}

/** The first rows of a statement, before those of the answer: what reads a message of many stops everything else for as long. */
export interface Part<Rows = Row[]> {
  readonly part: Rows;
  readonly of: number;
}

/** So many rows, or characters of their texts, are sent at once. */
const PART = 2_000;
const PART_TEXT = 128 * 1024;

/** The rows of each statement of a group, or what is left of them; or why one of them failed, so that those after it were left out. */
export type Answered<Rows = Row[]> =
  | { readonly rows: readonly Rows[]; readonly fault?: never }
  | { readonly rows?: never; readonly fault: Fault };

export interface Fault {
  readonly code: string;
  readonly message: string;
  /** Which statement of its group. */
  readonly at: number;
  /** Whether the transaction around it is still open: some errors, such as a full disk, end it. */
  readonly inTransaction: boolean;
}

/** What the process is told: first who started it, then groups of statements. */
export type Told = { readonly parent: number } | readonly Asked[];

/** Answers groups of statements, in their order, for as long as whoever started it lives. */
export function serveStatements(path: string, right: Right): void {
  // A terminal sends its signals to all: whoever asks decides when there is nothing left to do.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {});
  const database = right === 'reader' ? openToRead(path) : openToWrite(path);
  let before = Promise.resolve();
  process.on('message', (told: Told) => {
    before =
      'parent' in told
        ? endingWith(told.parent)
        : before.then(() => {
            const answered = answer(database, told);
            const rows = answered.rows && restOf(answered.rows, (part) => process.send?.(sendable(part)));
            process.send?.(sendable(rows ? { rows } : answered));
          });
  });
}

/** Sends what is much in parts, and answers with the rows of each statement that are left. */
export function restOf(answered: readonly Row[][], send: (part: Part) => void): Row[][] {
  let left = 0;
  return answered.map((rows, of) => {
    let from = 0;
    let text = 0;
    const sendUpTo = (end: number) => {
      send({ part: rows.slice(from, end), of });
      from = end;
      text = 0;
    };
    for (const [at, row] of rows.entries()) {
      text += textIn(row);
      if (at + 1 - from === PART || text > PART_TEXT) sendUpTo(at + 1);
    }
    // Those of many statements are much, too.
    if (left + text > PART_TEXT) sendUpTo(rows.length);
    left += text;
    return from === 0 ? rows : rows.slice(from);
  });
}

function textIn(row: Row): number {
  let length = 0;
  for (const name in row) {
    const value = row[name];
    if (typeof value === 'string') length += value.length;
  }
  return length;
}

/**
 * Ends this process with another: a thread of its own sees to it, because a long statement lets this one see nothing.
 * The other is named, since it may have ended before anybody could look.
 */
function endingWith(parent: number): Promise<void> {
  const code = `
    setInterval(() => process.ppid === ${parent} || process.kill(process.pid, 'SIGKILL'), 250);
    postMessage('watching');
  `;
  const watch = new Worker(URL.createObjectURL(new Blob([code], { type: 'application/javascript' })));
  return new Promise((resolve) => {
    watch.onmessage = () => resolve();
  });
}

const UNCOUNTED: Bound = { bytes: Number.POSITIVE_INFINITY, cuts: false, names: [] };

/** The code of a fault that SQLite does not know. */
export const TOO_LARGE = 'DUET_ANSWER_TOO_LARGE';

/**
 * Row by row, until there is more text than there may be, and then undefined: all of them at once may be more than fits
 * into memory. `each` may end it, too.
 */
export function counted(
  rows: Iterable<Row>,
  { bytes: most, cuts, names }: Bound = UNCOUNTED,
  each?: () => void,
): Row[] | undefined {
  const found: Row[] = [];
  let bytes = 0;
  for (const row of rows) {
    each?.();
    for (const name of names) {
      const value = row[name];
      if (typeof value === 'string') bytes += value.length;
    }
    if (bytes > most && !cuts) return undefined;
    found.push(row);
    if (bytes > most) break;
  }
  return found;
}

/** A trigger may have left it out; then the last row is another. */
function inserted({ changes, lastInsertRowid }: Changes): Row[] {
  return changes === 0 ? [] : [{ id: lastInsertRowid }];
}

function answer(database: Database, group: readonly Asked[]): Answered {
  const rows: Row[][] = [];
  try {
    for (const { sql, parameters, bound, isSilent } of group) {
      const statement = database.query(sql);
      const bindings = parameters as SQLQueryBindings[];
      const answer = isSilent
        ? inserted(statement.run(...bindings))
        : bound === undefined
          ? (statement.all(...bindings) as Row[])
          : counted(statement.iterate(...bindings) as Iterable<Row>, bound);
      if (!answer) return { fault: { code: TOO_LARGE, message: '', at: rows.length, inTransaction: true } };
      rows.push(answer);
    }
    return { rows };
  } catch (error) {
    if (!(error instanceof SQLiteError)) throw error;
    const { code = '', message } = error;
    return { fault: { code, message, at: rows.length, inTransaction: database.inTransaction } };
  }
}

/** Travels as JSON, which knows no infinite number, as a sum can be, unless it is written here. */
function sendable(answered: Answered | Part): Answered<Sent> | Part<Sent> | string {
  const isInfinite = (row: Row) =>
    Object.values(row).some(
      (value) => value === Number.POSITIVE_INFINITY || value === Number.NEGATIVE_INFINITY,
    );
  const groups = 'part' in answered ? [answered.part] : answered.rows;
  const sent =
    'part' in answered
      ? { ...answered, part: packed(answered.part) }
      : answered.rows
        ? { rows: answered.rows.map(packed) }
        : answered;
  return groups?.some((each) => each.some(isInfinite)) ? rewritten(sent) : sent;
}
