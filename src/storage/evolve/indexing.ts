/** Indexes that are built while others go on writing. */

import type { Column } from '../../schema/model.ts';
import { keptAs } from '../../schema/values.ts';
import type { Derived } from '../derived.ts';
import { quote } from '../sql/dialect.ts';
import type { Ddl, Evolvable, Session } from './database.ts';
import { EvolutionRefused, notUnique } from './refusals.ts';
import { rowsOf } from './rows.ts';
import { describe, type Step } from './steps.ts';
import { createIndex, uniquesAhead } from './tables.ts';
import type { WriteLog } from './write-log.ts';

export type LateIndex = Extract<Step, { do: 'create index' }>;

export function isLateIndex(step: Step): step is LateIndex {
  return step.do === 'create index' && step.live;
}

/** Those that no other node has built meanwhile, in words. */
export function buildAll(
  database: Evolvable,
  steps: readonly LateIndex[],
  log: WriteLog | undefined,
): Promise<readonly string[]> {
  if (steps.length === 0) return Promise.resolve([]);
  const { ddl } = database;
  return database.exclusively(async (session) => {
    const shapes = await ddl.shapes(session);
    const isThere = ({ index: { resource, name } }: LateIndex) =>
      shapes.get(resource.table)?.indexes.has(name);
    const left = steps.filter((step) => !isThere(step));
    for (const step of left) await build(session, ddl, step);
    await log?.keep(session);
    return left.map(describe);
  });
}

/** Builds an index while others write, who may break it: what is left of it then would still refuse rows. */
export async function build(session: Session, ddl: Ddl, { index, rebuild }: LateIndex): Promise<void> {
  const drop = `DROP INDEX CONCURRENTLY IF EXISTS ${quote(index.name)}`;
  if (rebuild) await session.query(drop);
  try {
    await session.query(createIndex(index, ddl, ' CONCURRENTLY'));
  } catch (error) {
    await session.query(drop).catch(() => {});
    const values = index.columns.map(({ stored }) => ({ stored, otherwise: undefined }));
    const twins = index.unique ? await rowsOf(session).twins(index.resource, index.columns, values) : [];
    if (twins.length > 0) throw new EvolutionRefused([notUnique(index, twins)]);
    throw error;
  }
}

/** Drops those that are in the way of records that are brought up to date: they are built again when all are. */
export function dropAhead(database: Evolvable, unmended: readonly Derived[]): Promise<void> {
  const names = new Set(unmended.flatMap(({ resource }) => uniquesAhead(resource).map(({ name }) => name)));
  return database.exclusively(async (session) => {
    for (const name of names) await session.query(`DROP INDEX CONCURRENTLY IF EXISTS ${quote(name)}`);
  });
}

/**
 * Whether an index is of nothing but what is kept beside records. One that refuses them is for the file that asks for it, unless
 * it is of one such column alone, which older nodes never write.
 */
export function findsBy({ index, rebuild }: LateIndex, early: readonly Derived[]): boolean {
  const isKept = (column: Column) => ['folded', 'words'].includes(keptAs(column));
  return (
    (!index.unique || index.columns.length === 1) &&
    !rebuild &&
    early.some(({ resource }) => resource === index.resource) &&
    index.columns.every((column) => isKept(column) || column === index.resource.key)
  );
}
