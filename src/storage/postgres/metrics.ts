/** What metrics tell of the connections to PostgreSQL, and of what is stored there. */

import type { Metrics } from '../../base/metrics.ts';
import type { Pool } from './pool.ts';

interface Figures {
  readonly pool: () => Pool['state'];
  readonly retries: () => number;
  readonly bytes: () => number;
}

/** `connections`: how many there may be. */
export function tellOf(metrics: Metrics, connections: number, { pool, retries, bytes }: Figures): void {
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
  metrics.add('gauge', 'duet_database_bytes', 'The size of the database.', bytes);
}
