/** What evolution needs of PostgreSQL: a session for its statements, Duet's own tables, and a role that may write them. */

import type { Session } from '../evolve/database.ts';
import { LOCK, OWN, ownTables } from '../evolve/tables.ts';
import { duties } from '../own.ts';
import { literal, quote } from '../sql/dialect.ts';
import type { Program } from '../storage.ts';
import { postgresDdl } from './ddl.ts';
import { isConflictOfTransactions, Spread, stateOf } from './errors.ts';
import type { Connection } from './pool.ts';

/** How long a change of a table waits at first for others to leave it: everybody who comes later waits behind it. */
const TABLE_LOCK_MS = 500;
/** And at last: longer than PostgreSQL takes to send an autovacuum away (deadlock_timeout, a second unless set). */
const MOST_TABLE_LOCK_MS = 2000;

/** `load` runs a program on this connection. */
export function sessionOf(
  connection: Connection,
  load: (program: () => Program<void>) => Promise<void>,
): Session {
  return {
    query: (sql, parameters) => connection.send(sql, parameters),
    transaction: async (work) => {
      for (let tries = 1; ; tries++) {
        const lockMs = Math.min(tries * TABLE_LOCK_MS, MOST_TABLE_LOCK_MS);
        await connection.send('BEGIN');
        await connection.send(`SET LOCAL lock_timeout = ${lockMs}`);
        await connection.send('SET LOCAL statement_timeout = 0');
        try {
          const result = await work();
          await connection.send('COMMIT');
          return result;
        } catch (error) {
          await connection.send('ROLLBACK').catch(() => {});
          if (error instanceof Spread) continue;
          if (stateOf(error) !== '55P03' && !isConflictOfTransactions(error)) throw error;
          await Bun.sleep(TABLE_LOCK_MS);
        }
      }
    },
    load,
  };
}

/** A row, so that whoever finds none knows that its snapshot is too old to tell what writers are held to. No table begins so. */
const ALWAYS_THERE = `INSERT INTO ${quote(duties.table)} ("table", "duty") VALUES ('_always there', '') ON CONFLICT ("table", "duty") DO NOTHING`;

/** A role that may not change tables is good enough to serve from those that there are. */
export function mayNot(error: unknown): never {
  if (stateOf(error) !== '42501') throw error;
  const { message } = error as Error;
  throw new Error(`${message}. Run \`duet migrate\` as a role that may change the tables, then start again`, {
    cause: error,
  });
}

/** A table where tables are made: others on the search path may have one of the same name. */
function own(table: string): string {
  return `to_regclass(quote_ident(current_schema()) || ${literal(`.${quote(table)}`)})`;
}

export async function isReadOnly(connection: Connection): Promise<boolean> {
  // Null where there is no such table yet.
  const lock = `has_table_privilege(${own(LOCK)}::oid, 'UPDATE')`;
  const look = `SELECT current_setting('transaction_read_only') = 'on' OR ${lock} IS FALSE AS "readOnly"`;
  const [row] = await connection.send(look);
  return row?.['readOnly'] === true;
}

/**
 * A role that may make no tables can do with those that there are, so nothing is made in vain. Two nodes may make the same
 * table at the same moment; the second is told so by an error that means no harm.
 */
export async function makeOwnTables(connection: Connection): Promise<void> {
  const missing = OWN.map((table) => `${own(table)} IS NULL`).join(' OR ');
  const [found] = await connection.send(`SELECT ${missing} AS "missing"`);
  const isThere = found?.['missing'] === false;
  const whole = `SELECT 1 FROM ${quote(LOCK)} WHERE EXISTS (SELECT 1 FROM ${quote(duties.table)})`;
  if (isThere && (await connection.send(whole)).length > 0) return;
  for (const sql of [...ownTables(postgresDdl), ALWAYS_THERE])
    await connection.send(sql).catch((error) => {
      if (!['23505', '42P07', '42710', '40001'].includes(stateOf(error))) throw error;
    });
}
