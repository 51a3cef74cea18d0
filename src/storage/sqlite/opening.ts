/** How files are opened: by whoever serves them, and by the processes that read and write for it. */

import { Database, SQLiteError } from 'bun:sqlite';
import { existsSync } from 'node:fs';
import { splitsWords } from './words.ts';

export const BUSY_TIMEOUT_MS = 2000;
const POLL_MS = 10;

/** Where it is `readOnly`, nothing is written, not even the file when it is missing. */
export function openToServe(path: string, readOnly: boolean): Database {
  // Not opened as readonly, which would leave the files of the WAL behind that the last to close takes away.
  const database = readOnly
    ? new Database(existsSync(path) ? path : ':memory:', { readwrite: true, create: false, strict: true })
    : new Database(path, { create: true, strict: true });
  waiting(database);
  if (!readOnly) useWal(database);
  durably(database);
  return database;
}

export function openToRead(path: string): Database {
  return waiting(new Database(path, { readonly: true, strict: true }));
}

/** Whoever asks waits for other writers by asking again: it can then be told to stop waiting. */
export function openToWrite(path: string): Database {
  // The file is locked, too, for a moment in which somebody else opens or closes it.
  const database = waiting(new Database(path, { readwrite: true, create: false, strict: true }));
  durably(database);
  // Who writes asks for it when that is told.
  database.run('PRAGMA wal_autocheckpoint = 0');
  database.run('PRAGMA busy_timeout = 0');
  return database;
}

function waiting(database: Database): Database {
  database.run(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`);
  return database;
}

function durably(database: Database): void {
  database.run('PRAGMA synchronous = FULL');
  database.run('PRAGMA foreign_keys = ON');
  splitsWords(database);
}

/** A new file becomes one with a log; where several processes start with it, SQLite refuses one of them without waiting. */
function useWal(database: Database): void {
  const deadline = performance.now() + BUSY_TIMEOUT_MS;
  for (;;)
    try {
      database.run('PRAGMA journal_mode = WAL');
      return;
    } catch (error) {
      if (!isBusy(error) || performance.now() > deadline) throw error;
      Bun.sleepSync(POLL_MS);
    }
}

/** Whether somebody else has the file. */
export function isBusy(error: unknown): boolean {
  return error instanceof SQLiteError && error.code?.startsWith('SQLITE_BUSY') === true;
}
