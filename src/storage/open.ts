/** Opens the database that a URL names. */

import type { Model } from '../schema/model.ts';
import type { Evolvable } from './evolve/database.ts';
import { PostgresStorage } from './postgres.ts';
import { SqliteStorage } from './sqlite.ts';
import type { Storage } from './storage.ts';

export type Database = Storage & Evolvable;

export interface DatabaseOptions {
  readonly database:
    | { readonly kind: 'sqlite'; readonly path: string }
    | { readonly kind: 'postgres'; readonly url: string };
  readonly databaseConnections: number;
  readonly databaseConnectTimeout: number;
  readonly databaseStatementTimeout: number;
  readonly databaseLockTimeout: number;
}

/** `asItIs`: only to look; a database that does not exist stays so. */
export function openDatabase(
  options: DatabaseOptions,
  model: Model,
  trace?: (sql: string) => void,
  { asItIs = false, reader }: { readonly asItIs?: boolean; readonly reader?: readonly string[] } = {},
): Database {
  const { database } = options;
  if (database.kind === 'sqlite')
    return new SqliteStorage({ path: database.path, model, trace, asItIs, reader });
  return new PostgresStorage({
    url: database.url,
    connections: options.databaseConnections,
    connectMs: options.databaseConnectTimeout,
    statementMs: options.databaseStatementTimeout,
    lockMs: options.databaseLockTimeout,
    model,
    trace,
  });
}
