/** The values that a filter lists, and the rows of a SQLite table that it names by their keys. */

import type { Comparison, Filter } from '../../query/filter.ts';
import type { Column } from '../../schema/model.ts';
import { encoded } from '../sql/codec.ts';
import { quote } from '../sql/dialect.ts';
import { indexedIn } from '../sql/leading.ts';
import { PLACEHOLDER, type Table } from '../statements.ts';
import { dialect } from './dialect.ts';
import { soughtOf } from './given.ts';
import type { Part } from './texts.ts';

/** What it takes to lay out the lists of a filter, and to seek their values. Nothing is made on the way: every read comes by here. */
export function costOfLists(filter: Filter): number {
  switch (filter.is) {
    case 'all':
    case 'any': {
      let values = 0;
      for (const each of filter.of) values += costOfLists(each);
      return values;
    }
    case 'not':
      return costOfLists(filter.of);
    case 'in':
      return filter.values.length + soughtOf(filter.values);
    case 'hasSome':
    case 'hasEvery':
      return filter.values.length;
    default:
      return 'where' in filter ? costOfLists(filter.where) : 0;
  }
}

/** How many places of indexes it leads to at the most: for each value of a list there are all of those of the next. */
export function seeksIn(filter: Filter, resource: Table, leads = true): number {
  switch (filter.is) {
    case 'all': {
      let seeks = 1;
      for (const each of filter.of) seeks *= seeksIn(each, resource, leads);
      return seeks;
    }
    case 'any': {
      // Only where each of them leads somewhere by itself, they do; what they ask of others, they ask in any case.
      const isLead = leads && filter.of.every((each) => isLeading(each, resource));
      const alone = isLead ? 0 : 1;
      let seeks = alone;
      for (const each of filter.of) seeks += seeksIn(each, resource, isLead) - alone;
      return Math.max(1, seeks);
    }
    case 'not':
      return seeksIn(filter.of, resource, false);
    case 'in':
      return leads && indexedIn(resource).has(filter.column) ? Math.max(1, filter.values.length) : 1;
    default:
      return 'where' in filter ? seeksIn(filter.where, filter.field.target) : 1;
  }
}

function isLeading(filter: Filter, resource: Table): boolean {
  if (filter.is === 'all') return filter.of.some((each) => isLeading(each, resource));
  if (filter.is === 'any') return filter.of.every((each) => isLeading(each, resource));
  return (filter.is === 'eq' || filter.is === 'in') && indexedIn(resource).has(filter.column);
}

type Keyed = Extract<Filter, { is: Comparison }> | Extract<Filter, { is: 'in' }>;

/** Where a filter names records by their keys. */
export function keyIn(where: Filter | undefined, key: Column): Keyed | undefined {
  if (where?.is !== 'all')
    return (where?.is === 'eq' || where?.is === 'in') && where.column === key ? (where as Keyed) : undefined;
  for (const each of where.of) {
    const found = keyIn(each, key);
    if (found) return found;
  }
  return undefined;
}

/** The rows that it names so. What is left open is the first of the parameters. */
export function named(
  { where, resource: { key } }: { readonly where: Filter | undefined; readonly resource: Table },
  [given]: readonly unknown[] = [],
): Part | undefined {
  const by = keyIn(where, key);
  if (!by) return undefined;
  const name = quote(key.stored);
  if (by.is === 'in') return { where: dialect.among(name, '?1'), parameters: [dialect.list(by.values, key)] };
  const value = by.value === PLACEHOLDER ? given : encoded(dialect.codecs, key, by.value);
  return { where: `${name} = ?1`, parameters: [value] };
}

/** How many records a change is about: those are always found before, and named by their keys. */
export function keysOf(where: Filter): number {
  if (where.is === 'in') return where.values.length;
  if (where.is === 'all') return Math.min(...where.of.map(keysOf));
  return where.is === 'eq' ? 1 : Number.POSITIVE_INFINITY;
}

/** How many numbers a filter leaves to counted keys: there are no more rows. None, where it does not say from where to where. */
export function numbersIn(where: Filter, key: Column): number {
  if (where.is !== 'all') return 0;
  const ends = where.of.flatMap((each) =>
    (each.is === 'gt' || each.is === 'lte') && each.column === key ? [Number(each.value)] : [],
  );
  return ends.length === 2 ? Math.max(...ends) - Math.min(...ends) : 0;
}
