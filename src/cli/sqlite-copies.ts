/** Copies of a SQLite file: made while others write it, checked, and put in its place. */

import { Database } from 'bun:sqlite';
import { existsSync, renameSync, rmSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { StartFault } from '../app/deployment.ts';
import { statementProcess } from '../app/self.ts';
import { isBusy } from '../storage/sqlite/opening.ts';
import { StatementProcess } from '../storage/sqlite/process.ts';
import type { Row } from '../storage/statements.ts';
import { sync } from './backups.ts';

export const SQLITE_HEAD = 'SQLite format 3\0';
const LOOK_MS = 100;

/** One snapshot of everything that is committed; nobody waits for it. `reached` hears how many bytes there are by now. */
export async function copySqlite(
  path: string,
  copy: string,
  reached: (bytes: number, all: number) => void,
): Promise<void> {
  if (!existsSync(path)) throw new StartFault(`there is no ${path} to back up. DATABASE_URL names another`);
  const size = (file: string) => (existsSync(file) ? statSync(file).size : 0);
  const looking = setInterval(() => reached(size(copy), size(path) + size(`${path}-wal`)), LOOK_MS);
  try {
    await asked(path, 'VACUUM INTO ?1', [copy]);
  } finally {
    clearInterval(looking);
  }
}

/** Reads all of it; fails where it is not what SQLite has written. */
export async function checkSqlite(path: string): Promise<void> {
  const found = await asked(path, 'PRAGMA integrity_check').catch((error) => [
    { integrity_check: error.message },
  ]);
  const [first] = found;
  if (first?.['integrity_check'] !== 'ok')
    throw new StartFault(`${path} is damaged (${first?.['integrity_check']})`);
}

/** In a process of its own: a long statement would let this one see and say nothing. */
async function asked(path: string, sql: string, parameters: readonly unknown[] = []): Promise<Row[]> {
  const command = statementProcess(false) ?? [];
  const reader = new StatementProcess({ command, path: resolve(path) }, 'reader', () => {});
  try {
    const [rows = []] = await reader.ask([{ sql, parameters }]);
    return rows;
  } finally {
    reader.end(new Error('the work is done'));
  }
}

/** From now on `path` is what `fresh` was: at once, and for good. */
export function putInPlace(fresh: string, path: string): void {
  if (existsSync(path)) refuseInUse(path);
  sync(fresh);
  // Of the old file: the new one would be read with them.
  for (const rest of ['-wal', '-shm']) rmSync(path + rest, { force: true });
  renameSync(fresh, path);
  sync(dirname(resolve(path)));
}

/** Only whoever is alone with a file can take its log away. */
function refuseInUse(path: string): void {
  try {
    using database = new Database(path, { readwrite: true, create: false });
    database.run('PRAGMA busy_timeout = 0');
    database.run('PRAGMA journal_mode = DELETE');
  } catch (error) {
    if (isBusy(error)) throw new StartFault(`${path} is in use. Stop the service first`);
    // What is too damaged to be opened is not in use.
  }
}
