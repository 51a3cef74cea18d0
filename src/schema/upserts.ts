/** By which fields a record can be looked up that is to be changed or, where there is none, created. */

import type { Column, Resource } from './model.ts';

const known = new WeakMap<Resource, ReadonlyMap<string, readonly Column[]>>();

/** By the name of the field, or the names of the fields joined by `_`, as the file has them. */
export function upsertKeys(resource: Resource): ReadonlyMap<string, readonly Column[]> {
  let keys = known.get(resource);
  if (!keys) {
    keys = new Map(upsertNames(resource).map(({ name, columns }) => [name, columns]));
    known.set(resource, keys);
  }
  return keys;
}

/** The same; a file whose names are the same for two sets is refused. */
export function upsertNames(
  resource: Resource,
): readonly { readonly name: string; readonly columns: readonly Column[] }[] {
  return setsOf(resource).map((columns) => ({ name: columns.map(nameOf).join('_'), columns }));
}

function setsOf({ operations, key, uniques }: Resource): (readonly Column[])[] {
  if (!operations.has('CREATE') || !operations.has('UPDATE')) return [];
  const sets = [[key], ...uniques.map(({ columns }) => columns)];
  // What only the server knows cannot be looked up before the record is there.
  return sets.filter((columns) =>
    columns.every(({ origin }) => origin.by === 'client' || origin.by === 'claim'),
  );
}

function nameOf({ name, reference }: Column): string {
  return reference?.name ?? name;
}
