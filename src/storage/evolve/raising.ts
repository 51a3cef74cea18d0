/** Holds whoever writes a table to what a file keeps true, and tells what the database holds them to by now. */

import type { Model } from '../../schema/model.ts';
import { dutiesOf, LOOK } from '../duties.ts';
import { duties } from '../own.ts';
import { quote } from '../sql/dialect.ts';
import type { Ddl, Session } from './database.ts';

export interface Duty {
  readonly table: string;
  readonly duty: string;
}

/** What a file keeps true that writers are not held to yet, and what they are held to although it no longer does. */
export interface Duties {
  readonly added: readonly Duty[];
  readonly gone: readonly Duty[];
}

export async function compareDuties(session: Session, { resources }: Model): Promise<Duties> {
  const rows = await session.query(LOOK);
  const stored = rows.map(({ table, duty }) => ({ table: String(table), duty: String(duty) }));
  const wanted = resources.flatMap((resource) =>
    dutiesOf(resource).map((duty) => ({ table: resource.table, duty })),
  );
  const isIn = (list: readonly Duty[]) => (one: Duty) =>
    list.some(({ table, duty }) => table === one.table && duty === one.duty);
  const isOurs = ({ table }: Duty) => resources.some((resource) => resource.table === table);
  const isStored = isIn(stored);
  const isWanted = isIn(wanted);
  return {
    added: wanted.filter((each) => !isStored(each)),
    gone: stored.filter((each) => isOurs(each) && !isWanted(each)),
  };
}

/** Waits for the writes that are under way: whoever comes after them is held to it. */
export async function add(session: Session, ddl: Ddl, added: readonly Duty[]): Promise<void> {
  for (const sql of ddl.closing(duties.table)) await session.query(sql);
  for (const { table, duty } of added)
    await session.query(
      `INSERT INTO ${quote(duties.table)} ("table", "duty") VALUES ($1, $2) ON CONFLICT ("table", "duty") DO NOTHING`,
      [table, duty],
    );
}

export async function release(session: Session, gone: readonly Duty[]): Promise<void> {
  for (const { table, duty } of gone)
    await session.query(`DELETE FROM ${quote(duties.table)} WHERE "table" = $1 AND "duty" = $2`, [
      table,
      duty,
    ]);
}
