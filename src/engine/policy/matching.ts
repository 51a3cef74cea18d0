/** Whether records, stored or not yet written, match the filters that are demanded of them. */

import {
  all,
  among,
  canonical,
  type Filter,
  isEverything,
  isNothing,
  ownColumns,
} from '../../query/filter.ts';
import type { Resource } from '../../schema/model.ts';
import { type Row, type Statement, select } from '../../storage/statements.ts';
import type { Program } from '../../storage/storage.ts';
import { bytesOfJson, parts } from '../sizes.ts';

/** Filters, each with the records of a list that must match it, by their places in the list. */
export type Demands = Map<Filter, number[]>;

export function demand(demands: Demands, where: Filter, place: number): void {
  if (isEverything(where)) return;
  const places = demands.get(where);
  if (places) places.push(place);
  else demands.set(where, [place]);
}

/** Makes one of equal filters: of many records most are asked the same, and a statement for each would stop the process. */
export function sharing(): (where: Filter) => Filter {
  const known = new Map<string, Filter>();
  return (where) => {
    const text = canonical(where);
    const same = known.get(text) ?? where;
    known.set(text, same);
    return same;
  };
}

export function everywhere(where: Filter, list: readonly unknown[]): Demands {
  return isEverything(where) || list.length === 0 ? new Map() : new Map([[where, [...list.keys()]]]);
}

/** Whether the records with these keys match, as they are stored. */
export function storedMeet(resource: Resource, keys: readonly unknown[], demands: Demands): Program<boolean> {
  const { key } = resource;
  return meet(demands, (where, places) => {
    const asked = places.map((place) => keys[place]);
    return select(resource, [key], all([among(key, asked), where]));
  });
}

/** Whether these values match, as a record that is not stored; what they lead to is as it is stored. */
export function* valuesMeet(resource: Resource, rows: readonly Row[], demands: Demands): Program<boolean> {
  for (const where of demands.keys()) if (isNothing(where)) return false;
  const met = yield* matching(resource, rows, demands);
  return [...demands].every(([where, places]) => places.every((place) => met.get(where)?.has(place)));
}

function* meet(
  demands: Demands,
  asking: (where: Filter, places: readonly number[]) => Statement,
): Program<boolean> {
  if (demands.size === 0) return true;
  const asked = [...demands];
  if (asked.some(([where]) => isNothing(where))) return false;
  const found = yield asked.map(([where, places]) => asking(where, places));
  return asked.every(([, places], index) => found[index]?.length === places.length);
}

/** Which of the rows match which of the filters. */
export function* matching(
  resource: Resource,
  rows: readonly Row[],
  demands: Demands,
): Program<ReadonlyMap<Filter, ReadonlySet<number>>> {
  const met = new Map<Filter, Set<number>>();
  const asked: Asked[] = [];
  for (const [where, places] of demands) {
    if (isNothing(where)) continue;
    met.set(where, new Set());
    asked.push(...inParts(resource, rows, where, places));
  }
  for (const group of parts(asked, ({ bytes }) => bytes)) {
    const found = yield group.map(({ where, places }) => match(resource, rows, where, places));
    for (const [index, { where, places }] of group.entries())
      for (const { row } of found[index] ?? []) met.get(where)?.add(places[Number(row) - 1] ?? -1);
  }
  return met;
}

interface Asked {
  readonly where: Filter;
  readonly places: readonly number[];
  /** Of the values that are sent along. */
  readonly bytes: number;
}

/** The values of the records are sent along: of long ones, not all at once. */
function inParts(
  resource: Resource,
  rows: readonly Row[],
  where: Filter,
  places: readonly number[],
): Iterable<Asked> {
  // One record was sent at once, too.
  if (places.length === 1) return [{ where, places, bytes: 0 }];
  const names = [...ownColumns(where, resource)].map(({ name }) => name);
  const bytesOf = (place: number) => names.reduce((sum, name) => sum + bytesOfJson(rows[place]?.[name]), 0);
  return parts(places, bytesOf).map((part) => ({
    where,
    places: part,
    bytes: part.reduce((sum, place) => sum + bytesOf(place), 0),
  }));
}

function match(
  resource: Resource,
  rows: readonly Row[],
  where: Filter,
  places: readonly number[],
): Statement {
  return { do: 'match', resource, rows: places.map((place) => rows[place] ?? {}), where };
}
