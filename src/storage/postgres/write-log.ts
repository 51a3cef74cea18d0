/** How PostgreSQL notes which records are written: triggers, which run with the rights of the role that made them. */

import type { Resource } from '../../schema/model.ts';
import type { Session } from '../evolve/database.ts';
import { WRITTEN } from '../evolve/tables.ts';
import { literal, quote } from '../sql/dialect.ts';
import { isConflictOfTransactions, isLost, stateOf } from './errors.ts';

/** How long those who write a table are waited for, behind whom everybody else would wait, and how often. */
const BEGIN_MS = 500;
const MOST_TRIES = 10;
/** And those who read one, at the end: what is left does no harm. */
const END_MS = 100;

const functionOf = (index: number) => `${WRITTEN}_${index}`;

/** `until`: in milliseconds since 1970. False where the role may not, where the server spreads its tables, which have no triggers, and where others write for too long. */
export async function beginWriteLog(
  session: Session,
  resources: readonly Resource[],
  until: number,
): Promise<boolean> {
  // A server that spreads its tables may take a trigger, which would then run where there is no such table.
  const [found] = await session.query(
    `SELECT quote_ident(current_schema()) AS "schema", EXISTS (SELECT 1 FROM pg_extension WHERE extname = 'citus') AS "spread"`,
  );
  if (found?.['spread'] === true) return false;
  const schema = String(found?.['schema']);
  const isLasting = `clock_timestamp() < to_timestamp(${until / 1000})`;
  const create = [
    `CREATE TABLE ${quote(WRITTEN)} ("id" bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, "table" text NOT NULL, "key" text NOT NULL)`,
    ...resources.flatMap(({ table, key, version }, index) => {
      const values = `${literal(table)}, NEW.${quote(key.stored)}::text`;
      const note = `INSERT INTO ${schema}.${quote(WRITTEN)} ("table", "key") VALUES (${values});`;
      const trigger = (event: 'INSERT' | 'UPDATE', when: string) =>
        `CREATE TRIGGER ${quote(`${WRITTEN}_${event}`)} AFTER ${event} ON ${quote(table)} FOR EACH ROW WHEN (${when}) EXECUTE FUNCTION ${quote(functionOf(index))}()`;
      const [old, fresh] = ['OLD', 'NEW'].map((row) => `${row}.${quote(version.stored)}`);
      return [
        triggerFunction(functionOf(index), note),
        trigger('INSERT', isLasting),
        // What brings records up to date leaves their versions alone, and need not be told of itself.
        trigger('UPDATE', `${old} IS DISTINCT FROM ${fresh} AND ${isLasting}`),
      ];
    }),
  ];
  for (let tries = 0; tries < MOST_TRIES; tries++, await Bun.sleep(BEGIN_MS)) {
    const done = await locked(session, BEGIN_MS, async () => [...(await left(session)).drop, ...create]);
    if (done !== 'too long') return done === 'done';
  }
  return false;
}

/** Also what another node left behind; false where something of it is still there, which notes nothing any more. */
export async function endWriteLog(session: Session): Promise<boolean> {
  const { functions, drop } = await left(session);
  // That needs no table, and ends the noting at once.
  const ended = await locked(session, END_MS, async () => functions.map((name) => triggerFunction(name, '')));
  return ended === 'done' && (await locked(session, END_MS, async () => drop)) === 'done';
}

/** Runs statements in a transaction; `too long`: others did not leave a table in time. */
async function locked(
  session: Session,
  lockMs: number,
  statements: () => Promise<readonly string[]>,
): Promise<'done' | 'too long' | 'refused'> {
  await session.query('BEGIN');
  try {
    await session.query(`SET LOCAL lock_timeout = ${lockMs}`);
    await session.query('SET LOCAL statement_timeout = 0');
    for (const sql of await statements()) await session.query(sql);
    await session.query('COMMIT');
    return 'done';
  } catch (error) {
    await session.query('ROLLBACK').catch(() => {});
    if (stateOf(error) === '' || isLost(error)) throw error;
    return stateOf(error) === '55P03' || isConflictOfTransactions(error) ? 'too long' : 'refused';
  }
}

/** Its rights are those of its owner: whoever writes the table may know nothing of this. */
function triggerFunction(name: string, does: string): string {
  const body = literal(`BEGIN ${does} RETURN NULL; END`);
  return `CREATE OR REPLACE FUNCTION ${quote(name)}() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS ${body}`;
}

/** What there is of it in this schema, and the statements that drop it: triggers first, which closes the tables of records. */
async function left(
  session: Session,
): Promise<{ readonly functions: readonly string[]; readonly drop: readonly string[] }> {
  const like = literal(`${WRITTEN.replaceAll('_', '\\_')}\\_%`);
  const schema = '(SELECT oid FROM pg_namespace WHERE nspname = current_schema())';
  const triggers = await session.query(
    `SELECT t.tgname AS "name", c.relname AS "table" FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid WHERE t.tgname LIKE ${like} AND c.relnamespace = ${schema} ORDER BY c.relname`,
  );
  const found = await session.query(
    `SELECT proname AS "name" FROM pg_proc WHERE proname LIKE ${like} AND pronamespace = ${schema}`,
  );
  const functions = found.map(({ name }) => String(name));
  return {
    functions,
    drop: [
      ...triggers.map(({ name, table }) => `DROP TRIGGER ${quote(String(name))} ON ${quote(String(table))}`),
      ...functions.map((name) => `DROP FUNCTION ${quote(name)}()`),
      `DROP TABLE IF EXISTS ${quote(WRITTEN)}`,
    ],
  };
}
