/** How SQLite notes which records are written: triggers, for all processes that write the file. */

import type { Resource } from '../../schema/model.ts';
import type { Session } from '../evolve/database.ts';
import { WRITTEN } from '../evolve/tables.ts';
import { literal, quote } from '../sql/dialect.ts';

/** `until`: in milliseconds since 1970. */
export async function beginWriteLog(
  session: Session,
  resources: readonly Resource[],
  until: number,
): Promise<boolean> {
  await endWriteLog(session);
  await session.query(
    `CREATE TABLE ${quote(WRITTEN)} ("id" INTEGER PRIMARY KEY, "table" TEXT NOT NULL, "key" TEXT NOT NULL) STRICT`,
  );
  const isLasting = `unixepoch() < ${Math.floor(until / 1000)}`;
  for (const { table, key, version } of resources) {
    const values = `${literal(table)}, CAST(new.${quote(key.stored)} AS TEXT)`;
    const trigger = (event: 'insert' | 'update', when: string) =>
      `CREATE TRIGGER ${quote(`${WRITTEN}_${event}_${table}`)} AFTER ${event} ON ${quote(table)} WHEN ${when} BEGIN INSERT INTO ${quote(WRITTEN)} ("table", "key") VALUES (${values}); END`;
    const stored = quote(version.stored);
    await session.query(trigger('insert', isLasting));
    // What brings records up to date leaves their versions alone, and need not be told of itself.
    await session.query(trigger('update', `old.${stored} IS NOT new.${stored} AND ${isLasting}`));
  }
  return true;
}

/** Also what another process left behind. */
export async function endWriteLog(session: Session): Promise<boolean> {
  const triggers = await session.query(
    `SELECT "name" FROM "sqlite_schema" WHERE "type" = 'trigger' AND "name" LIKE ${literal(`${WRITTEN.replaceAll('_', '\\_')}\\_%`)} ESCAPE '\\'`,
  );
  for (const { name } of triggers) await session.query(`DROP TRIGGER ${quote(String(name))}`);
  await session.query(`DROP TABLE IF EXISTS ${quote(WRITTEN)}`);
  return true;
}
