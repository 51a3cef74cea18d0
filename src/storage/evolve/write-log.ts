/** Which records others write while a newer file is applied: triggers note their keys, so that only these are looked at again. */

import type { Resource } from '../../schema/model.ts';
import { duties } from '../own.ts';
import { quote } from '../sql/dialect.ts';
import type { Row } from '../statements.ts';
import type { Ddl, Evolvable, Session } from './database.ts';
import { WRITTEN } from './tables.ts';

/** Stands among the duties in the place of a table, so that every start sees it without asking. No table begins so. */
const LOG = '_write log';
/** So that what a node leaves behind that died costs nothing for ever. */
const LASTS_MS = 24 * 60 * 60 * 1000;
/** Of it, what is left is not relied on: clocks are read before what they decide is committed. */
const MARGIN_MS = 60 * 60 * 1000;
/** Whoever keeps one says so each time when others can have their turn, and comes back at once. */
const ABANDONED_MS = 3000;

/** The keys of records, by table. */
export type Written = ReadonlyMap<string, readonly unknown[]>;

/** Another node took it for abandoned, or it lasted too long: what was written meanwhile is not known. */
export class WriteLogLost extends Error {}

export class WriteLog {
  readonly #ddl: Ddl;
  readonly #resources: ReadonlyMap<string, Resource>;
  readonly #token = crypto.randomUUID();
  #until = 0;

  private constructor(ddl: Ddl, resources: readonly Resource[]) {
    this.#ddl = ddl;
    this.#resources = new Map(resources.map((resource) => [resource.table, resource]));
  }

  /** Notes whatever is written to these from now on; undefined where the server, or the role, does not allow that. */
  static async begin(
    session: Session,
    ddl: Ddl,
    resources: readonly Resource[],
  ): Promise<WriteLog | undefined> {
    const log = new WriteLog(ddl, resources);
    const now = await clockOf(session, ddl);
    log.#until = now + LASTS_MS;
    await session.transaction(async () => {
      await forget(session);
      const note = `INSERT INTO ${quote(duties.table)} ("table", "duty") VALUES ($1, $2)`;
      await session.query(note, [LOG, `${log.#token} ${now}`]);
    });
    if (await ddl.beginWriteLog(session, resources, log.#until)) return log;
    await session.transaction(() => forget(session));
    return undefined;
  }

  /** To be said before others have their turn, and when all that was written since it began must be known. */
  async keep(session: Session): Promise<void> {
    const now = await clockOf(session, this.#ddl);
    const kept = await session.query(
      `UPDATE ${quote(duties.table)} SET "duty" = $1 WHERE "table" = $2 AND "duty" LIKE $3 RETURNING "duty"`,
      [`${this.#token} ${now}`, LOG, `${this.#token} %`],
    );
    if (kept.length === 0 || now > this.#until - MARGIN_MS) throw new WriteLogLost();
  }

  /** The keys of some that were written, which are noted no more; inside a transaction, so that they still are if it fails. */
  async take(session: Session, limit: number): Promise<Written> {
    const some = `SELECT "id" FROM ${quote(WRITTEN)} ORDER BY "id" LIMIT ${limit}`;
    const rows = await session.query(
      `DELETE FROM ${quote(WRITTEN)} WHERE "id" IN (${some}) RETURNING "table", "key"`,
    );
    const keys = new Map<string, unknown[]>();
    for (const { table, key } of rows) {
      const isCounted = this.#resources.get(String(table))?.key.origin.by === 'serial';
      const noted = keys.get(String(table)) ?? [];
      noted.push(isCounted ? Number(key) : key);
      keys.set(String(table), noted);
    }
    return keys;
  }

  end(session: Session): Promise<void> {
    return endLog(session, this.#ddl);
  }

  /** After a failure, where nobody has its turn; what cannot be ended is left to others. */
  async abandon(database: Evolvable): Promise<void> {
    await database
      .exclusively(async (session) => {
        await this.keep(session);
        await this.end(session);
      })
      .catch(() => {});
  }
}

/** As `LOOK` finds it among the duties: where some node keeps one, or has left one behind. */
export function logAmong(rows: readonly Row[]): string | undefined {
  const row = rows.find(({ table }) => table === LOG);
  return row && String(row['duty']);
}

export async function isAbandoned(session: Session, ddl: Ddl, log: string): Promise<boolean> {
  return (await clockOf(session, ddl)) - Number(log.split(' ')[1]) > ABANDONED_MS;
}

/** Whoever comes next tries again where others are in the way. */
export async function endLog(session: Session, ddl: Ddl): Promise<void> {
  if (await ddl.endWriteLog(session)) await session.transaction(() => forget(session));
}

async function forget(session: Session): Promise<void> {
  await session.query(`DELETE FROM ${quote(duties.table)} WHERE "table" = $1`, [LOG]);
}

/** That of the database: several nodes have several. */
async function clockOf(session: Session, { clock }: Ddl): Promise<number> {
  const [row] = await session.query(`SELECT ${clock} AS "now"`);
  return Number(row?.['now']);
}
