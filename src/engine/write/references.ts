/** Whether what a record refers to is there, for whoever writes it. */

import { type Fault, pointer } from '../../base/errors.ts';
import { all, among, equal, everything, isEverything } from '../../query/filter.ts';
import type { Column, Reference, Resource } from '../../schema/model.ts';
import { withArticle } from '../../schema/names.ts';
import { lookup, type Row, select } from '../../storage/statements.ts';
import type { Program } from '../../storage/storage.ts';
import type { Access } from '../policy/access.ts';
import { Collision, conflict } from './collision.ts';

/**
 * Foreign keys would refuse a dangling reference too, but could not say which fields have one. `row` is all that is to be
 * stored, where its other conflicts may be told too: whether a value is taken is told to nobody whom a rule may still deny.
 * `lost`: links that lead to nothing.
 */
export function* referencesExist(
  access: Access,
  resource: Resource,
  values: Row,
  row: Row | undefined,
  lost: readonly Fault[],
  known?: Column,
): Program<void> {
  const [missing = []] = yield* missingOf(access, resource, [values], known);
  const others = [...notFound(missing), ...lost];
  if (others.length === 0) return;
  throw row ? new Collision(resource, row, [], { others }) : conflict(others);
}

/** The references of each row that lead to nothing which is there for the caller. */
export function* missingOf(
  access: Access,
  resource: Resource,
  rows: readonly Row[],
  known: Column | undefined,
): Program<Reference[][]> {
  const given = resource.references.flatMap((reference) => {
    const { column, target } = reference;
    if (column === known) return [];
    // What the client cannot see does not exist for it; what the server refers to is the server's to know.
    const seen = column.origin.by === 'client' ? access.rows(target, 'READ') : everything;
    const there = isEverything(seen) ? access.written?.get(target) : undefined;
    const keys = rows.map((row) => row[column.name]).filter((key) => key != null && !there?.has(key));
    return keys.length > 0 ? [{ reference, keys, seen }] : [];
  });
  if (given.length === 0) return rows.map(() => []);
  const found = yield given.map(({ reference: { target }, keys, seen }) => {
    if (keys.length === 1 && isEverything(seen))
      return lookup(target, target.key, keys[0], { answers: 'keys' });
    const named = keys.length === 1 ? equal(target.key, keys[0]) : among(target.key, [...new Set(keys)]);
    return select(target, [target.key], all([named, seen]));
  });
  const looked = given.map(({ reference, keys }, index) => {
    const { name } = reference.target.key;
    const there = new Set(found[index]?.map((row) => row[name]));
    return { reference, missing: new Set(keys.filter((key) => !there.has(key))) };
  });
  return rows.map((row) =>
    looked.flatMap(({ reference, missing }) => (missing.has(row[reference.column.name]) ? [reference] : [])),
  );
}

export function notFound(references: readonly Reference[]): Fault[] {
  return references.map(({ column, target }) => ({
    pointer: pointer(column.name),
    code: 'REFERENCE_NOT_FOUND',
    detail: `${column.name} names ${withArticle(target.singular)} that does not exist`,
  }));
}
