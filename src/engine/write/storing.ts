/** The statements that store one record, and what it is told that collides with another. */

import type { DuetError } from '../../base/errors.ts';
import type { Resource } from '../../schema/model.ts';
import { withArticle } from '../../schema/names.ts';
import { Dangling, NotUnique, refusedByDatabase } from '../../storage/faults.ts';
import type { Row, Table, Update as UpdateStatement } from '../../storage/statements.ts';
import type { Program } from '../../storage/storage.ts';
import type { Node } from '../read/read.ts';
import { Collision, conflict } from './collision.ts';
import { notFound } from './references.ts';

export function* insert(
  resource: Resource,
  values: Row,
  version: number,
  refusal: DuetError | undefined,
): Program<Node> {
  try {
    const [[node] = []] = yield [{ do: 'insert', resource, values, version }];
    if (!node) throw leftOut(resource);
    return node;
  } catch (error) {
    throw collisionOf(error, resource, values, refusal);
  }
}

/** A trigger that returns NULL, or raises IGNORE, leaves out the row that was to be stored or deleted. */
export function leftOut({ name }: Resource): DuetError {
  return refusedByDatabase(new Error(`writing ${withArticle(name)} answered no row`));
}

/** Runs the statement that stores `row`, and says what the row collided with, unless that is `refusal` to tell. */
export function* store(
  statement: UpdateStatement,
  row: Row,
  refusal: DuetError | undefined,
): Program<Node[]> {
  try {
    const [rows = []] = yield [statement];
    return rows;
  } catch (error) {
    throw collisionOf(error, statement.resource, row, refusal);
  }
}

/** Only a trigger writes another table than was asked for. */
export function refusedByTrigger({ resource }: NotUnique): DuetError {
  return refusedByDatabase(
    new Error(`a trigger has met ${withArticle(resource.name)} that is there already`),
  );
}

/** What is told of a row that the database has refused, unless that is `refusal`. */
export function collisionOf(
  error: unknown,
  resource: Table,
  row: Row,
  refusal: DuetError | undefined,
): unknown {
  if (error instanceof NotUnique && error.resource !== resource) return refusedByTrigger(error);
  if (error instanceof NotUnique) return refusal ?? new Collision(error.resource, row, error.columns);
  // Somebody deleted the target after it was looked up.
  if (error instanceof Dangling) return conflict(notFound(error.reference ? [error.reference] : []));
  return error;
}
