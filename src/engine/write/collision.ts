/** A row that contradicts what is stored, and the error that names every constraint it breaks. */

import { DuetError, type Fault, nested, pointer } from '../../base/errors.ts';
import { all, equal } from '../../query/filter.ts';
import type { Column, Resource } from '../../schema/model.ts';
import { withArticle } from '../../schema/names.ts';
import { type Row, select } from '../../storage/statements.ts';
import type { Program } from '../../storage/storage.ts';

export class Collision extends Error {
  readonly resource: Resource;
  readonly row: Row;
  /** The unique constraint that the database named; it stops at the first. None where it was not asked. */
  readonly columns: readonly Column[];
  /** What is wrong beside uniqueness: references that point to nothing. */
  readonly others: readonly Fault[];

  /** Where the row stands in the input that it is nested in. */
  readonly path: readonly (string | number)[];
  /** The record was not there a moment ago: whoever runs the transaction again finds it. */
  readonly isRace: boolean;
  /** The input names the row by its place alone, and none of its fields. */
  readonly isWhole: boolean;

  constructor(
    resource: Resource,
    row: Row,
    columns: readonly Column[],
    others: readonly Fault[] = [],
    path: readonly (string | number)[] = [],
    isRace = false,
    isWhole = false,
  ) {
    super(`${withArticle(resource.name)} collides with another`);
    this.resource = resource;
    this.row = row;
    this.columns = columns;
    this.others = others;
    this.path = path;
    this.isRace = isRace;
    this.isWhole = isWhole;
  }

  lost(): Collision {
    return new Collision(this.resource, this.row, this.columns, this.others, this.path, true, this.isWhole);
  }

  within(outer: readonly (string | number)[]): Collision {
    const path = [...outer, ...this.path];
    return new Collision(this.resource, this.row, this.columns, this.others, path, this.isRace, this.isWhole);
  }

  /** Of a row that stands there, and nowhere else. */
  at(path: readonly (string | number)[]): Collision {
    return new Collision(this.resource, this.row, this.columns, this.others, path, this.isRace, true);
  }
}

export function* collided({ resource, row, columns, others, path, isWhole }: Collision): Program<DuetError> {
  // Only a stored row has a version.
  const isNew = row[resource.version.name] === undefined;
  const { key } = resource;
  const natural = key.origin.by === 'client' ? [[key]] : [];
  // What a reference points to may be hidden rather than missing: whether another has it too would tell.
  const dangling = new Set(others.map((fault) => fault.pointer));
  const sets = [...natural, ...resource.uniques.map((unique) => unique.columns)].filter((set) =>
    set.every(({ name }) => row[name] != null && !dangling.has(pointer(name))),
  );
  const found = yield sets.map((set) => {
    const where = all(set.map((column) => equal(column, row[column.name])));
    return select(resource, [key], where, { limit: 1 });
  });
  // An insert collides with whatever is there, an update with any record but its own.
  const broken = sets.filter((_, index) =>
    found[index]?.some((other) => isNew || other[key.name] !== row[key.name]),
  );
  const taken = broken.length > 0 || columns.length === 0 ? broken : [columns];
  const faults = [...others, ...notUnique(taken)];
  if (!isWhole) return conflict(faults.map((fault) => nested(fault, ...path)));
  const told = new Map(faults.map((fault) => [fault.detail, { ...fault, pointer: pointer(...path) }]));
  return conflict([...told.values()]);
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
