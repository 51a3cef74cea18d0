/** Names of indexes and constraints: readable, never alike, and short enough for every database. */

import type { Column, Resource } from '../../schema/model.ts';

/** PostgreSQL cuts names at 63 bytes, and two names that are cut alike are one. */
const LONGEST = 63;

export function indexName(
  { table }: Pick<Resource, 'table'>,
  columns: readonly Column[],
  kind: 'key' | 'unique' | 'index' | 'reference' | 'search',
): string {
  const parts = [table, ...columns.map((column) => column.stored), kind];
  // Stored names may hold any separator, so only the hash of the list itself tells lists apart.
  const hash = Bun.hash(JSON.stringify(parts)).toString(36);
  return `${parts.join('_').slice(0, LONGEST - hash.length - 1)}_${hash}`;
}
