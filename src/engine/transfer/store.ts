/** Stores records with the keys and versions that they have, in batches, so that no reference ever points to nothing. */

import type { Column, Reference, Resource } from '../../schema/model.ts';
import { storedColumns } from '../../schema/values.ts';
import { Dangling, NotUnique } from '../../storage/faults.ts';
import type { Row, Statement } from '../../storage/statements.ts';
import type { Program } from '../../storage/storage.ts';
import { broken } from '../write/holds.ts';
import { computeAll } from '../write/recompute.ts';
import { lastVersions } from '../write/remains.ts';

/** Many enough to make statements rare. */
const BATCH = 500;
/** SQLite takes 32,766 values in one statement. */
const MOST_VALUES = 30_000;

export interface Loaded {
  /** Where it stands, for messages. */
  readonly where: string;
  readonly row: Row;
  /** The version it had elsewhere. */
  readonly version: number | undefined;
}

/** Something of a file that cannot be stored; the message says where it stands, a line for each. */
export class FileFault extends Error {}

/** One of these records is refused, and the database does not say which. */
export class BatchRefused extends Error {
  /** The first of them. */
  readonly first: Loaded;

  constructor(first: Loaded) {
    super(`${first.where} or one after it is refused`);
    this.first = first;
  }
}

/** How many records of a resource are stored at once. */
export function batchOf(resource: Resource): number {
  return Math.max(1, Math.min(BATCH, Math.floor(MOST_VALUES / storedColumns(resource).length)));
}

/** Which references are set when all records are there: those to what comes with or after the records that have them. */
export function lateColumns(resource: Resource, order: readonly Resource[]): readonly Column[] {
  const place = order.indexOf(resource);
  const isLate = ({ required, target }: Reference) => !required && order.indexOf(target) >= place;
  return resource.references.filter(isLate).map(({ column }) => column);
}

/** Stores records without the values of these columns. One that is alone is named when it is refused. */
export function* storeBatch(
  resource: Resource,
  batch: readonly Loaded[],
  late: readonly Column[],
): Program<void> {
  for (const { row } of batch) computeAll(resource, row);
  const [first] = yield* broken(
    resource,
    batch.map(({ row }) => row),
  );
  if (first) throw new FileFault(`${batch[first.place]?.where}: ${first.check.message}`);
  const { key, version: column } = resource;
  const keys = batch.map(({ row }) => row[key.name]);
  const last = yield* lastVersions(resource, keys);
  const rows = batch.map(({ row, version = 0 }, index) => {
    const values = late.length > 0 ? { ...row } : row;
    values[column.name] = Math.max(1 + (last.get(keys[index]) ?? 0), version);
    for (const { name } of late) values[name] = null;
    return values;
  });
  yield* attempt({ do: 'insert all', resource, rows }, batch);
}

/** Sets the values of these columns, which were left out. */
export function* storeLate(
  resource: Resource,
  batch: readonly Loaded[],
  late: readonly Column[],
): Program<void> {
  const some = batch.filter(({ row }) => late.some(({ name }) => row[name] !== null));
  const rows = some.map(({ row }) => row);
  yield* attempt({ do: 'update all', resource, columns: late, rows }, some);
}

function* attempt(statement: Statement, [first, ...others]: readonly Loaded[]): Program<void> {
  if (!first) return;
  try {
    yield [statement];
  } catch (error) {
    const isRefusal = error instanceof NotUnique || error instanceof Dangling;
    if (isRefusal && others.length > 0) throw new BatchRefused(first);
    if (error instanceof NotUnique) {
      const names = error.columns.map(({ name }) => name).join(', ');
      throw new FileFault(`${first.where}: ${names} is taken by another record`);
    }
    if (error instanceof Dangling)
      throw new FileFault(`${first.where}: it refers to a record that does not exist`);
    throw error;
  }
}

/** Required references form no circle, so some resource is always free to come next. */
export function requiredFirst(resources: readonly Resource[]): Resource[] {
  const left = new Set(resources);
  const waits = ({ required, target, owner }: Reference) => required && target !== owner && left.has(target);
  const order: Resource[] = [];
  while (left.size > 0)
    for (const resource of left)
      if (!resource.references.some(waits)) {
        left.delete(resource);
        order.push(resource);
      }
  return order;
}
