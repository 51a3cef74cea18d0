/** Opens the database that a URL names. */

import type { Model } from '../schema/model.ts';
import type { Evolvable } from './evolve/database.ts';
import type { Hosts } from './postgres/hosts.ts';
import { ReplicatedStorage } from './postgres/replicated.ts';
import { type PostgresOptions, PostgresStorage } from './postgres/storage.ts';
import type { OtherWriters } from './sqlite/other-writers.ts';
import { SqliteStorage } from './sqlite/storage.ts';
import type { Storage } from './storage.ts';
import type { Trace } from './trace.ts';

export type Database = Storage & Evolvable;

export interface DatabaseOptions {
  readonly database:
    | { readonly kind: 'sqlite'; readonly path: string }
    | { readonly kind: 'postgres'; readonly hosts: Hosts };
  /** Replicas of PostgreSQL. */
  readonly databaseRead: Hosts | null;
  /** Milliseconds. */
  readonly databaseReadStale: number | null;
  readonly databasePooler: 'none' | 'transaction';
  readonly databaseConnections: number;
  readonly databaseConnectTimeout: number;
  readonly databaseStatementTimeout: number;
  readonly databaseLockTimeout: number;
  readonly limitWriteHold: number;
}

/** `readOnly`: only to look; a database that does not exist stays so. `comment` is of PostgresOptions, the others of SqliteOptions. */
interface Opening {
  readonly readOnly?: boolean;
  readonly apart?: readonly string[] | undefined;
  readonly others?: OtherWriters | undefined;
  readonly slowMs?: number | undefined;
  readonly sync?: ((file: number) => Promise<void>) | undefined;
  readonly comment?: (() => string) | undefined;
}

export function openDatabase(
  options: DatabaseOptions,
  model: Model,
  trace?: Trace,
  { comment, ...ofSqlite }: Opening = {},
): Database {
  const { database, limitWriteHold: holdMs } = options;
  if (database.kind === 'sqlite')
    return new SqliteStorage({ path: database.path, model, trace, holdMs, ...ofSqlite });
  const postgres = {
    hosts: database.hosts,
    pooler: options.databasePooler,
    connections: options.databaseConnections,
    connectMs: options.databaseConnectTimeout,
    statementMs: options.databaseStatementTimeout,
    lockMs: options.databaseLockTimeout,
    model,
    trace,
    comment,
  };
  const { databaseRead: read, databaseReadStale: staleMs } = options;
  if (!read) return new PostgresStorage(postgres);
  // Roles change hands: whoever names all servers means those that follow another.
  const { urls, wanted = 'standby' } = read;
  const replicas = urls.map((url): PostgresOptions => ({ ...postgres, hosts: { urls: [url], wanted } }));
  return new ReplicatedStorage({ ...postgres, replicas, staleMs });
}
