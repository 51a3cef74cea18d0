/** A row that contradicts what is stored, and the error that names every constraint it breaks. */

import { DuetError, type Fault, isFull, nested, pointer } from '../../base/errors.ts';
import { all, among, any, equal } from '../../query/filter.ts';
import type { Column, Resource } from '../../schema/model.ts';
import { withArticle } from '../../schema/names.ts';
import { type Row, type Statement, select } from '../../storage/statements.ts';
import type { Program } from '../../storage/storage.ts';

/** A row that is to be stored, and where it stands in the input. */
export interface Placed {
  readonly resource: Resource;
  readonly row: Row;
  /** What is wrong beside uniqueness: references that point to nothing. */
  readonly others: readonly Fault[];
  readonly path: readonly (string | number)[];
}

interface Particulars {
  readonly others: readonly Fault[];
  readonly path: readonly (string | number)[];
  /** The record was not there a moment ago: whoever runs the transaction again finds it. */
  readonly isRace: boolean;
  /** The input names the row, and what came after it, by their places alone, and none of their fields. */
  readonly isWhole: boolean;
  /** What came after it in its list and was not tried, of which the same is told. */
  readonly beside: readonly Placed[];
}

const plain: Particulars = { others: [], path: [], isRace: false, isWhole: false, beside: [] };

export class Collision extends Error {
  readonly resource: Resource;
  readonly row: Row;
  /** The unique constraint that the database named; it stops at the first. None where it was not asked. */
  readonly columns: readonly Column[];
  readonly more: Particulars;

  constructor(resource: Resource, row: Row, columns: readonly Column[], more: Partial<Particulars> = {}) {
    super(`${withArticle(resource.name)} collides with another`);
    this.resource = resource;
    this.row = row;
    this.columns = columns;
    this.more = { ...plain, ...more };
  }

  #with(more: Partial<Particulars>): Collision {
    return new Collision(this.resource, this.row, this.columns, { ...this.more, ...more });
  }

  lost(): Collision {
    return this.#with({ isRace: true });
  }

  within(outer: readonly (string | number)[]): Collision {
    const { path, beside } = this.more;
    return this.#with({
      path: [...outer, ...path],
      beside: beside.map((each) => ({ ...each, path: [...outer, ...each.path] })),
    });
  }

  /** Of rows of a list that stand at these places, by their indexes, and nowhere else. */
  at(places: readonly (readonly (string | number)[])[]): Collision {
    const place = (path: readonly (string | number)[]) => places[Number(path[0] ?? 0)] ?? [];
    const { path, beside } = this.more;
    return this.#with({
      path: place(path),
      isWhole: true,
      beside: beside.map((each) => ({ ...each, path: place(each.path) })),
    });
  }

  also(rows: readonly Placed[]): Collision {
    return rows.length > 0 ? this.#with({ beside: [...this.more.beside, ...rows] }) : this;
  }
}

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
    const some = beside.slice(from, from + SOME);
    const sets = yield* takenOf(some);
    for (const [at, each] of some.entries()) tell([...each.others, ...notUnique(sets[at] ?? [])], each.path);
  }
  return conflict(told);
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

/** What of a row must be that of no other record. */
export function uniquesOf(
  { key, uniques }: Resource,
  row: Row,
  others: readonly Fault[] = [],
): (readonly Column[])[] {
  const natural = key.origin.by === 'client' ? [[key]] : [];
  // What a reference points to may be hidden rather than missing: whether another has it too would tell.
  const dangling = new Set(others.map((fault) => fault.pointer));
  return [...natural, ...uniques.map(({ columns }) => columns)].filter((set) =>
    set.every(({ name }) => row[name] != null && !dangling.has(pointer(name))),
  );
}

export function conflict(errors: readonly Fault[]): DuetError {
  return new DuetError('CONFLICT', `${errors[0]?.detail ?? 'A referenced record does not exist'}.`, {
    errors,
  });
}

function notUnique(sets: readonly (readonly Column[])[]): Fault[] {
  return sets.flatMap((set) => {
    const names = set.map(({ name }) => name);
    const what = names.length > 1 ? `The combination of ${names.join(', ')}` : (names[0] ?? 'A value');
    const detail = `${what} is taken by another record`;
    return names.map((name): Fault => ({ pointer: pointer(name), code: 'NOT_UNIQUE', detail }));
  });
}
