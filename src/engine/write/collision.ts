/** A row that contradicts what is stored, and the error that names every constraint it breaks. */

import { DuetError, type Fault, isFull, nested, pointer } from '../../base/errors.ts';
import { all, equal } from '../../query/filter.ts';
import type { Column, Resource } from '../../schema/model.ts';
import { withArticle } from '../../schema/names.ts';
import { type Row, select } from '../../storage/statements.ts';
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
  /** The input names the row by its place alone, and none of its fields. */
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

  /** Of a row that stands there, and nowhere else. */
  at(path: readonly (string | number)[]): Collision {
    return this.#with({ path, isWhole: true, beside: [] });
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
  const faults = [...others, ...notUnique(taken)];
  if (isWhole) {
    const told = new Map(faults.map((fault) => [fault.detail, { ...fault, pointer: pointer(...path) }]));
    return conflict([...told.values()]);
  }
  const told = faults.map((fault) => nested(fault, ...path));
  for (let from = 0; from < beside.length && !isFull(told); from += SOME) {
    const some = beside.slice(from, from + SOME);
    const sets = yield* takenOf(some);
    for (const [at, each] of some.entries())
      told.push(
        ...[...each.others, ...notUnique(sets[at] ?? [])].map((fault) => nested(fault, ...each.path)),
      );
  }
  return conflict(told);
}

/** Of each row, what must be unique and is that of another record. */
function* takenOf(rows: readonly Placed[]): Program<(readonly Column[])[][]> {
  const sets = rows.map(uniquesOf);
  const found = yield rows.flatMap(({ resource, row }, at) =>
    (sets[at] ?? []).map((set) => {
      const where = all(set.map((column) => equal(column, row[column.name])));
      return select(resource, [resource.key], where, { limit: 1 });
    }),
  );
  let next = 0;
  return rows.map(({ resource: { key, version }, row }, at) => {
    // Only a stored row has a version: an insert collides with whatever is there, an update with any record but its own.
    const isNew = row[version.name] === undefined;
    return (sets[at] ?? []).filter(() =>
      found[next++]?.some((other) => isNew || other[key.name] !== row[key.name]),
    );
  });
}

function uniquesOf({ resource: { key, uniques }, row, others }: Placed): (readonly Column[])[] {
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
