/** What is told of a collision once its transaction is over: every constraint that the row breaks, and those beside it. */

import { type DuetError, type Fault, isFull, nested, pointer } from '../../base/errors.ts';
import { all, among, any, equal } from '../../query/filter.ts';
import type { Column, Resource } from '../../schema/model.ts';
import { type Row, type Statement, select } from '../../storage/statements.ts';
import type { Program } from '../../storage/storage.ts';
import { type Collision, conflict, type Placed, uniquesOf } from './collision.ts';
import { missingOf, notFound } from './references.ts';

/** Rows of a list that are looked up at once. */
const SOME = 100;

export function* collided({ resource, row, columns, more }: Collision): Program<DuetError> {
  const { others, path, isWhole, beside } = more;
  const [broken = []] = yield* takenOf([{ resource, row, others, path }]);
  const taken = broken.length > 0 || columns.length === 0 ? broken : [columns];
  const told: Fault[] = [];
  const tell = (faults: readonly Fault[], at: readonly (string | number)[]) => {
    const whole = pointer(...at);
    for (const fault of faults)
      if (!isWhole) told.push(nested(fault, ...at));
      else if (!told.some((each) => each.pointer === whole && each.detail === fault.detail))
        told.push({ ...fault, pointer: whole });
  };
  tell([...others, ...notUnique(taken)], path);
  for (let from = 0; from < beside.length && !isFull(told); from += SOME) {
    const some = yield* referred(beside.slice(from, from + SOME));
    const sets = yield* takenOf(some);
    for (const [at, each] of some.entries()) tell([...each.others, ...notUnique(sets[at] ?? [])], each.path);
  }
  return conflict(told);
}

/** The rows with what they refer to that is not there, and is told; those of one type are looked up at once. */
function* referred(rows: readonly Placed[]): Program<Placed[]> {
  const found = [...rows];
  const groups = Map.groupBy(rows.keys(), (at) => rows[at]?.sought && rows[at]?.resource);
  for (const [resource, places] of groups) {
    const access = rows[places[0] ?? 0]?.sought?.access;
    if (!resource || !access) continue;
    const values = places.map((place) => rows[place]?.row ?? {});
    const missing = yield* missingOf(access, resource, values, undefined);
    for (const [index, place] of places.entries()) {
      const { sought, ...each } = rows[place] as Placed;
      const row = { ...each.row };
      const lost = missing[index] ?? [];
      const told = lost.filter((reference) => sought?.isTold(reference, row[reference.column.name]));
      // What is not told may be hidden: whether another record refers to it would tell.
      for (const { column } of lost) row[column.name] = null;
      found[place] = { ...each, row, others: notFound(told) };
    }
  }
  return found;
}

/** What must be unique, and the places of the rows that have it. */
interface Asked {
  readonly name: string;
  readonly set: readonly Column[];
  readonly places: readonly number[];
}

/**
 * Of each row, what must be unique and is that of another record. Whether any of them collides is asked first, and of those among
 * which one does, each half: of a long list, a statement for each value of each row would take longer than to store it.
 */
function* takenOf(rows: readonly Placed[]): Program<(readonly Column[])[][]> {
  const sets = rows.map(({ resource, row, others }) => uniquesOf(resource, row, others));
  const taken = rows.map(() => new Set<string>());
  let asked = alike(rows, sets);
  while (asked.length > 0) {
    const found: readonly Row[][] = yield asked.map((each) => lookingFor(rows, each));
    asked = asked.flatMap((each, index) => {
      const { name, places } = each;
      const [first = 0] = places;
      if (!found[index]?.some((other) => isAnother(other, rows[first]))) return [];
      const half = places.length >> 1;
      if (half > 0)
        return [places.slice(0, half), places.slice(half)].map((part) => ({ ...each, places: part }));
      taken[first]?.add(name);
      return [];
    });
  }
  return sets.map((all, at) => all.filter((set) => taken[at]?.has(nameOf(rows[at]?.resource, set))));
}

/** What is asked of several rows at once. */
function alike(rows: readonly Placed[], sets: readonly (readonly Column[])[][]): Asked[] {
  const groups = new Map<string, Asked & { places: number[] }>();
  for (const [at, of] of sets.entries())
    for (const set of of) {
      const name = nameOf(rows[at]?.resource, set);
      const group = groups.get(name);
      if (group) group.places.push(at);
      else groups.set(name, { name, set, places: [at] });
    }
  return [...groups.values()];
}

function nameOf(resource: Resource | undefined, set: readonly Column[]): string {
  return [resource?.name, ...set.map(({ name }) => name)].join();
}

function lookingFor(rows: readonly Placed[], { set, places }: Asked): Statement {
  const [{ resource }] = rows.slice(places[0]) as [Placed];
  const [column] = set;
  const values = (of: Column) => places.map((place) => rows[place]?.row[of.name]);
  const where =
    column && set.length === 1 && places.length > 1
      ? among(column, values(column))
      : any(places.map((place) => all(set.map((each) => equal(each, rows[place]?.row[each.name])))));
  return select(resource, [resource.key], where, { limit: 1 });
}

/** Only a stored row has a version: an insert collides with whatever is there, an update with any record but its own. */
function isAnother(other: Row, own: Placed | undefined): boolean {
  if (!own) return false;
  const { key, version } = own.resource;
  return own.row[version.name] === undefined || other[key.name] !== own.row[key.name];
}

function notUnique(sets: readonly (readonly Column[])[]): Fault[] {
  return sets.flatMap((set) => {
    const names = set.map(({ name }) => name);
    const what = names.length > 1 ? `The combination of ${names.join(', ')}` : (names[0] ?? 'A value');
    const detail = `${what} is taken by another record`;
    return names.map((name): Fault => ({ pointer: pointer(name), code: 'NOT_UNIQUE', detail }));
  });
}
