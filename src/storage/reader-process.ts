/** The process that reads a SQLite file for another: what cannot be interrupted can at least be ended. */

import { Database, SQLiteError, type SQLQueryBindings } from 'bun:sqlite';
import type { Row } from './storage.ts';

export interface Asked {
  readonly sql: string;
  readonly parameters: readonly unknown[];
}

/** Travels as JSON, which is read several times faster than what structured cloning makes. */
export type Answered =
  | { readonly rows: readonly Row[][]; readonly fault?: never }
  | { readonly rows?: never; readonly fault: { readonly code: string; readonly message: string } };

const BUSY_TIMEOUT_MS = 2000;

/** What the process is told: first who started it, then lists of statements. */
export type Told = { readonly parent: number } | readonly Asked[];

/** Answers lists of statements, in their order, for as long as whoever started it lives. */
export function serveReads(path: string): void {
  // A terminal sends its signals to all: whoever asks decides when there is nothing left to do.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => {});
  const database = new Database(path, { readonly: true, strict: true });
  database.run(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`);
  let turn = Promise.resolve();
  process.on('message', (told: Told) => {
    turn =
      'parent' in told
        ? endingWith(told.parent)
        : turn.then(() => void process.send?.(written(answer(database, told))));
  });
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

function answer(database: Database, asked: readonly Asked[]): Answered {
  try {
    return {
      rows: asked.map(
        ({ sql, parameters }) => database.query(sql).all(...(parameters as SQLQueryBindings[])) as Row[],
      ),
    };
  } catch (error) {
    if (!(error instanceof SQLiteError)) throw error;
    return { fault: { code: error.code ?? '', message: error.message } };
  }
}

/** JSON knows no infinite number, which a sum can be, but reads 1e999 as one. No stored text holds a NUL. */
function written(answered: Answered): string {
  const isInfinite = (row: Row) =>
    Object.values(row).some(
      (value) => value === Number.POSITIVE_INFINITY || value === Number.NEGATIVE_INFINITY,
    );
  if (!answered.rows?.some((rows) => rows.some(isInfinite))) return JSON.stringify(answered);
  return JSON.stringify(answered, (_, value) =>
    value === Number.POSITIVE_INFINITY ? '\0+' : value === Number.NEGATIVE_INFINITY ? '\0-' : value,
  )
    .replaceAll('"\\u0000+"', '1e999')
    .replaceAll('"\\u0000-"', '-1e999');
}
