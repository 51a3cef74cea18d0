/** A writer before whose transactions somebody else commits: what stands in the file beside the database, once. */

import { Database } from 'bun:sqlite';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { serveStatements, type Told } from '../../src/storage/statement-process.ts';

const [, , right = '', path = ''] = process.argv;
const intrusion = `${path}.intrusion`;

function intrude(told: Told): void {
  if (!('replay' in told) || !existsSync(intrusion)) return;
  using database = new Database(path);
  database.run(readFileSync(intrusion, 'utf8'));
  rmSync(intrusion);
}

const on = process.on.bind(process);
process.on = ((event: string, listener: (told: Told) => void) =>
  on(event as 'message', (told: Told) => {
    if (event === 'message') intrude(told);
    listener(told);
  })) as typeof process.on;
serveStatements(path, right === 'writer' ? 'writer' : 'reader');
