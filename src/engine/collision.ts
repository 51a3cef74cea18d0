/** A row that broke a unique constraint, and the error that names every constraint it breaks. */

import { DuetError, type Fault, pointer } from '../errors.ts';
import { all, equal } from '../query/filter.ts';
import type { Column, Resource } from '../schema/model.ts';
import { type Program, type Row, select } from '../storage/storage.ts';

export class Collision extends Error {
  readonly resource: Resource;
  readonly row: Row;
  /** The constraint that the database named; it stops at the first. */
  readonly columns: readonly Column[];

  /** Where the row stands in the input that it is nested in. */
  readonly path: readonly (string | number)[];

  constructor(
    resource: Resource,
    row: Row,
    columns: readonly Column[],
    path: readonly (string | number)[] = [],
  ) {
    super(`a ${resource.name} collides with another`);
    this.resource = resource;
    this.row = row;
    this.columns = columns;
    this.path = path;
  }

  within(outer: readonly (string | number)[]): Collision {
    return new Collision(this.resource, this.row, this.columns, [...outer, ...this.path]);
  }
}

export function* collided({ resource, row, columns, path }: Collision): Program<DuetError> {
  // Only a stored row has a version.
  const isNew = row[resource.version.name] === undefined;
  const { key } = resource;
  const natural = key.origin.by === 'client' ? [[key]] : [];
  const sets = [...natural, ...resource.uniques.map((unique) => unique.columns)].filter((set) =>
    set.every(({ name }) => row[name] != null),
  );
  const found = yield sets.map((set) => {
    const where = all(set.map((column) => equal(column, row[column.name])));
    return select(resource, [key], where, { limit: 1 });
  });
  // An insert collides with whatever is there, an update with any record but its own.
  const broken = sets.filter((_, index) =>
    found[index]?.some((other) => isNew || other[key.name] !== row[key.name]),
  );
  return notUnique(broken.length > 0 ? broken : [columns], path);
}

function notUnique(sets: readonly (readonly Column[])[], path: readonly (string | number)[]): DuetError {
  const errors = sets.flatMap((set) => {
    const names = set.map(({ name }) => name);
    const what = names.length > 1 ? `The combination of ${names.join(', ')}` : (names[0] ?? 'A value');
    const detail = `${what} is taken by another record`;
    return names.map((name): Fault => ({ pointer: pointer(...path, name), code: 'NOT_UNIQUE', detail }));
  });
  return new DuetError('CONFLICT', `${errors[0]?.detail}.`, { errors });
}
