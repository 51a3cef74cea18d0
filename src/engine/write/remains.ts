/** What is left of records that were deleted: the ids and versions that must not be given again. */

import { all, among, equal, type Filter } from '../../query/filter.ts';
import type { Resource } from '../../schema/model.ts';
import { isStorableText } from '../../schema/scalars.ts';
import { graves } from '../../storage/own.ts';
import { type Row, select, type Upsert } from '../../storage/statements.ts';
import { type Program, run, type Snapshot } from '../../storage/storage.ts';

export type Remains =
  /** The last id that the server gave. */
  | { readonly lastId: number }
  /** The last version of a natural key whose record was deleted. */
  | { readonly buried: { readonly key: string; readonly version: number } };

/** Few enough to hold in memory, many enough to make statements rare. */
const PAGE = 1000;

export async function* remainsOf(resource: Resource, snapshot: Snapshot): AsyncGenerator<Remains> {
  const { by } = resource.key.origin;
  if (by === 'serial') {
    const [row] = await snapshot.run(() => run({ do: 'last id', resource }));
    const lastId = Number(row?.['last'] ?? 0);
    if (lastId > 0) yield { lastId };
  }
  if (by !== 'client') return;
  let after: unknown;
  do {
    const { dead, last } = await snapshot.run(() => deadAfter(resource, after));
    for (const { key, version } of dead) yield { buried: { key: String(key), version: Number(version) } };
    after = last;
  } while (after !== undefined);
}

/** A page of keys that no record has any more, in their order; `last` where there may be more. */
function* deadAfter(resource: Resource, after: unknown): Program<{ dead: Row[]; last: unknown }> {
  const { table, key, version } = graves.column;
  const where = all([equal(table, resource.table), { is: 'gt', column: version, value: 0 }]);
  const order = [{ column: key, descending: false }];
  const place = after === undefined ? undefined : [after];
  const found = yield* run(select(graves, [key, version], where, { order, after: place, limit: PAGE }));
  const keys = found.map((row) => row['key']);
  const living = yield* run(select(resource, [resource.key], among(resource.key, keys)));
  const alive = new Set(living.map((row) => row[resource.key.name]));
  return {
    dead: found.filter((row) => !alive.has(row['key'])),
    last: found.length === PAGE ? keys.at(-1) : undefined,
  };
}

const unchanged = [graves.column.table];
const upsert = { do: 'upsert', resource: graves, conflict: graves.primary } as const;

/** Every key but a natural one is new. */
export function isNatural({ key }: Resource): boolean {
  return key.origin.by === 'client';
}

/** Makes the natural key of a new record this transaction's own; the last version that it ever had, or 0. */
export function* lastVersion({ table, key }: Resource, values: Row): Program<number> {
  // A row that is there is written as it is: only what is written is locked, and answered.
  const grave = { table, key: values[key.name], version: 0 };
  const [claimed] = yield* run({ ...upsert, values: grave, set: unchanged });
  return Number(claimed?.['version']);
}

/** The same of many, by their keys. */
export function* lastVersions(
  { table, key }: Resource,
  keys: readonly unknown[],
): Program<ReadonlyMap<unknown, number>> {
  if (key.origin.by !== 'client') return none;
  // A statement may meet a row once.
  const rows = [...new Set(keys)].map((each) => ({ table, key: each, version: 0 }));
  const claimed = yield* run({ do: 'insert all', resource: graves, rows, claims: true });
  return new Map(claimed.map((row) => [row['key'], Number(row['version'])]));
}

const none: ReadonlyMap<unknown, number> = new Map();

/** Remembers the last version of a natural key, unless a higher one is remembered already. */
export function burial({ table }: Resource, key: string, version: number): Upsert {
  const { version: column } = graves.column;
  const where: Filter = { is: 'lt', column, value: version };
  return { ...upsert, values: { table, key, version }, set: [column], where };
}

/** Why these cannot be remains of this resource, if they cannot. */
export function faultOf({ plural, key }: Resource, remains: Remains): string | undefined {
  const { by } = key.origin;
  if ('buried' in remains) {
    if (by !== 'client') return `${plural} have no key that clients give, so none of them is buried`;
    return isStorableText(remains.buried.key) ? undefined : 'the buried key is no text that can be stored';
  }
  return by === 'serial' ? undefined : `${plural} have no ids that are counted, so there is no last one`;
}
