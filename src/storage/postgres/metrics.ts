/** What metrics tell of the connections to PostgreSQL, and of what is stored there. */

import type { Metrics } from '../../base/metrics.ts';
import type { Deadline } from '../storage.ts';
import type { Pool, Rows } from './pool.ts';

/** How old the size of the database may be that is told. */
const MEASURE_MS = 10_000;

interface Figures {
  readonly pool: () => Pool['state'];
  readonly retries: () => number;
  readonly read: (deadline: Deadline, text: string) => Promise<Rows>;
}

/** `connections`: how many there may be. */
export function tellOf(metrics: Metrics, connections: number, { pool, retries, read }: Figures): void {
  const states = () => {
    const { idle, busy } = pool();
    return { idle, busy };
  };
  metrics.addEach('gauge', 'duet_database_connections', 'Connections to PostgreSQL.', 'state', states);
  metrics.add(
    'gauge',
    'duet_database_connections_limit',
    'How many there may be (DATABASE_CONNECTIONS).',
    () => connections,
  );
  metrics.add('gauge', 'duet_database_waiting', 'Work that waits for a connection.', () => pool().waiting);
  metrics.add(
    'counter',
    'duet_database_retries_total',
    'Work that was tried again, after others won or a connection was lost.',
    retries,
  );
  metrics.add('gauge', 'duet_database_bytes', 'The size of the database.', sizeOf(read));
}

/** Nobody waits for it: what is told was asked for when somebody looked last. */
function sizeOf(read: Figures['read']): () => number {
  let bytes = 0;
  let again = 0;
  return () => {
    const now = performance.now();
    if (now >= again) {
      again = now + MEASURE_MS;
      read(again, 'SELECT pg_database_size(current_database())::text AS "bytes"').then(
        ([row]) => {
          bytes = Number(row?.['bytes']);
        },
        // Whoever cannot be asked is away, which requests tell of.
        () => {},
      );
    }
    return bytes;
  };
}
