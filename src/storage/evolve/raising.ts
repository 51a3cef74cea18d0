/** Holds whoever writes a table to what a file keeps true, and tells what the database holds them to by now. */

import type { Model } from '../../schema/model.ts';
import { type Derived, derivedOf } from '../derived.ts';
import { dutiesOf, LOOK } from '../duties.ts';
import { duties } from '../own.ts';
import { quote } from '../sql/dialect.ts';
import type { Row } from '../statements.ts';
import type { Ddl, Session } from './database.ts';

export interface Duty {
  readonly table: string;
  readonly duty: string;
}

export interface Duties {
  /** What a file keeps true that writers are not held to yet. */
  readonly added: readonly Duty[];
  /** What they are held to although it no longer does. */
  readonly gone: readonly Duty[];
  /** What records have beside them that is not known to be up to date in all. */
  readonly unmended: readonly Derived[];
}

/** Stands before the name of a table, in the place of one: what is noted there is still to be brought up to date. No table begins so. */
const UNMENDED = '_unmended ';

/** `rows`: those of `LOOK`. */
export function compareDuties(rows: readonly Row[], { resources }: Model): Duties {
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
    unmended: resources
      .flatMap(derivedOf)
      .filter((derived) => !isStored(dutyOf(derived)) || isStored(unmended(derived))),
  };
}

function dutyOf({ resource, duty }: Derived): Duty {
  return { table: resource.table, duty };
}

function unmended({ resource, duty }: Derived): Duty {
  return { table: `${UNMENDED}${resource.table}`, duty };
}

/** Waits for the writes that are under way: whoever comes after them is held to it. */
export async function add(session: Session, ddl: Ddl, { added, unmended: left }: Duties): Promise<void> {
  const stored = await session.query(LOOK);
  for (const sql of ddl.emptying(duties.table)) await session.query(sql);
  for (const { table, duty } of [...stored, ...added, ...left.map(unmended)])
    await session.query(
      `INSERT INTO ${quote(duties.table)} ("table", "duty") VALUES ($1, $2) ON CONFLICT ("table", "duty") DO NOTHING`,
      [table, duty],
    );
}

/** All records have it. */
export function settle(session: Session, mended: readonly Derived[]): Promise<void> {
  return release(session, mended.map(unmended));
}

export async function release(session: Session, gone: readonly Duty[]): Promise<void> {
  for (const { table, duty } of gone)
    await session.query(`DELETE FROM ${quote(duties.table)} WHERE "table" = $1 AND "duty" = $2`, [
      table,
      duty,
    ]);
}
