/** How far the log of a server has come: asked behind a write, and held against what a read must show. */

import { later, type Position, type Seen, UNKNOWN_POSITION } from '../storage.ts';
import { ROLE, type Role, type SessionAttribute, unfit } from './hosts.ts';
import { type Connection, Unfit } from './pool.ts';

/** Behind the commit: what is flushed is sent to replicas at once. A commit that does not wait for that is somewhere before the end. */
const WRITTEN = `SELECT CASE current_setting('synchronous_commit') WHEN 'off' THEN pg_current_wal_insert_lsn()
  ELSE pg_current_wal_flush_lsn() END::text AS "position"`;

const REPLAYED = `SELECT ${ROLE}, CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn()
  ELSE pg_current_wal_flush_lsn() END::text AS "position"`;

/** `16/B374D848` → `00000016B374D848`. */
function positionOf(lsn: unknown): Position {
  return String(lsn)
    .split('/')
    .map((half) => half.padStart(8, '0'))
    .join('');
}

/** The replica has not replayed what a read must show. */
export class Behind extends Error {
  readonly replayed: Position;

  constructor(replayed: Position) {
    super('the replica is behind');
    this.replayed = replayed;
  }
}

/** Where the log of the primary is now. */
export async function written(connection: Connection): Promise<Position> {
  const [row] = await connection.patiently(connection.send(WRITTEN, []));
  return positionOf(row?.['position']);
}

/**
 * Notes the position behind a write, whatever came of it: also what a write was refused for must be shown to whoever reads
 * next. `work` calls `ended` when it has sent its last statement, so that the question travels along with that; the last call
 * counts. Behind a pooler it would be in one message with the commit, and could fail in its name: there it is asked afterwards.
 */
export function noting<T>(
  connection: Connection,
  seen: Seen | undefined,
  work: (ended?: () => void) => Promise<T>,
): Promise<T> {
  return seen ? noted(connection, seen, work) : work();
}

async function noted<T>(
  connection: Connection,
  seen: Seen,
  work: (ended?: () => void) => Promise<T>,
): Promise<T> {
  const ask = () => written(connection).catch(() => UNKNOWN_POSITION);
  let asked: Promise<Position> | undefined;
  const ended = () => {
    asked = ask();
  };
  try {
    return await work(connection.pooled ? undefined : ended);
  } finally {
    asked ??= connection.lost ? Promise.resolve(UNKNOWN_POSITION) : ask();
    seen.written = later(seen.written, await asked);
  }
}

/**
 * Throws Behind unless the server of this session has replayed so far. What a session has seen holds for as long as it lives:
 * a replica that is started again may begin further back, but ends all sessions before. Behind a pooler nobody knows.
 */
export async function caughtUp(
  connection: Connection,
  since: Position,
  wanted: SessionAttribute | undefined,
): Promise<void> {
  if (connection.replayed >= since) return;
  const [row] = await connection.patiently(connection.send(REPLAYED, []));
  const wrong = wanted === 'standby' && unfit(wanted, row as unknown as Role);
  if (wrong) {
    connection.close();
    throw new Unfit(wrong);
  }
  // Null on a server that has replayed nothing, or does not tell.
  const replayed = row?.['position'] === null ? '' : positionOf(row?.['position']);
  if (!connection.pooled) connection.replayed = replayed;
  if (replayed < since) throw new Behind(replayed);
}
