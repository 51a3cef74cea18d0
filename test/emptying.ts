/** Takes everything out of a database that an application has open, and leaves its tables. */

import { Database } from 'bun:sqlite';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface Emptied {
  readonly url: string;
  readonly empty: () => Promise<void>;
  readonly close: () => Promise<void>;
}

/** What Duet must find again after a database was emptied. */
const KEPT = /_duet_(lock|history|duties|search_)/;

/** Row by row, as there are few: `TRUNCATE` makes new files for each table and each of its indexes, which takes ten times as long. */
export function emptyPostgres(url: string): Emptied {
  const admin = new Bun.SQL(url, { max: 1 });
  const empty = async () => {
    const tables = await admin.unsafe(
      "SELECT quote_ident(tablename) AS name FROM pg_tables WHERE schemaname = 'public'",
    );
    const emptied = tables
      .map((row: { name: string }) => row.name)
      .filter((name: string) => !KEPT.test(name));
    const steps = [
      // No table is asked what it refers to.
      'SET LOCAL session_replication_role = replica',
      ...emptied.map((name: string) => `DELETE FROM ${name}`),
      'SELECT setval(seqrelid, seqstart, false) FROM pg_sequence',
    ];
    await admin.unsafe(`BEGIN; ${steps.join('; ')}; COMMIT`);
  };
  return { url, empty, close: () => admin.close() };
}

/** A file, as deployments have it: its writes go another way than those of a database in memory. */
export function emptyFile(): Emptied {
  const folder = mkdtempSync(join(tmpdir(), 'duet-'));
  const path = join(folder, 'duet.db');
  const empty = async () => {
    using admin = new Database(path);
    const tables = admin.query("SELECT name FROM sqlite_schema WHERE type = 'table'").all() as {
      name: string;
    }[];
    const emptied = tables.filter(({ name }) => !KEPT.test(name));
    admin.run('PRAGMA busy_timeout = 2000');
    admin.run('PRAGMA foreign_keys = OFF');
    admin.transaction(() => {
      for (const { name } of emptied) admin.run(`DELETE FROM "${name}"`);
    })();
  };
  return { url: `sqlite:${path}`, empty, close: async () => rmSync(folder, { recursive: true }) };
}
