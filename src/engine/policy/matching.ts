/** Whether records, stored or not yet written, match the filters that are demanded of them. */

import { all, among, type Filter, isEverything, isNothing } from '../../query/filter.ts';
import type { Resource } from '../../schema/model.ts';
import { type Row, type Statement, select } from '../../storage/statements.ts';
import type { Program } from '../../storage/storage.ts';

/** Filters, each with the records of a list that must match it, by their places in the list. */
export type Demands = Map<Filter, number[]>;

export function demand(demands: Demands, where: Filter, place: number): void {
  if (isEverything(where)) return;
  const places = demands.get(where);
  if (places) places.push(place);
  else demands.set(where, [place]);
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
export function valuesMeet(resource: Resource, rows: readonly Row[], demands: Demands): Program<boolean> {
  return meet(demands, (where, places) => match(resource, rows, where, places));
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
  const asked = [...demands].filter(([where]) => !isNothing(where));
  const found =
    asked.length > 0 ? yield asked.map(([where, places]) => match(resource, rows, where, places)) : [];
  return new Map(
    asked.map(([where, places], index) => [
      where,
      new Set(found[index]?.map(({ row }) => places[Number(row) - 1] ?? -1)),
    ]),
  );
}

function match(
  resource: Resource,
  rows: readonly Row[],
  where: Filter,
  places: readonly number[],
): Statement {
  return { do: 'match', resource, rows: places.map((place) => rows[place] ?? {}), where };
}
