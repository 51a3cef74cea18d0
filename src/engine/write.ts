/** Creates, updates and deletes records, as programs that run inside one transaction. */

import { DuetError, type Fault, nested, pointer } from '../errors.ts';
import { equal } from '../query/filter.ts';
import type { Reference, Resource } from '../schema/model.ts';
import { defaultOf, storedColumns } from '../schema/values.ts';
import {
  Dangling,
  type Insert,
  NotUnique,
  type Program,
  type Row,
  run,
  type Steps,
  select,
  type Update as UpdateStatement,
} from '../storage/storage.ts';
import type { Caller } from './caller.ts';
import { Collision } from './collision.ts';
import type { Create, Delete, Update, Write, WriteOne } from './operation.ts';
import { attach, type Budget, type Node } from './read.ts';
import { deleteWithDependents } from './referential.ts';
import { type NewRecord, validCreate, validUpdate } from './validate.ts';

export function write(caller: Caller, operation: WriteOne, budget: Budget): Program<Node> {
  switch (operation.do) {
    case 'create':
      return create(caller, operation, budget);
    case 'update':
      return update(operation, budget);
    case 'delete':
      return remove(operation, budget);
  }
}

/** Whether a write is a single statement, which is a transaction by itself. */
export function stepsOf(operation: Write): Steps {
  const { resource, selection } = operation;
  if (operation.do !== 'create' || selection.relations.length > 0) return 'many';
  const lone = resource.references.length === 0 && resource.key.origin.by !== 'client';
  return lone && !resource.inverses.some(({ name }) => Object.hasOwn(operation.input, name)) ? 'one' : 'many';
}

function* create(
  caller: Caller,
  { resource, input, selection, through }: Create,
  budget: Budget,
): Program<Node> {
  const node = yield* createRecord(caller, resource, validCreate(resource, input, through));
  yield* attach(selection, [node], budget);
  return node;
}

/** The record first, and then those that point to it. */
export function* createRecord(
  caller: Caller,
  resource: Resource,
  { values, children }: NewRecord,
): Program<Node> {
  assign(resource, caller, values);
  yield* referencesExist(resource, values);
  const version = 1 + (yield* lastVersion(resource, values));
  const [node] = yield* store({ do: 'insert', resource, values, version }, values);
  if (!node) throw new Error(`inserting a ${resource.name} answered no row`);
  for (const { inverse, records } of children)
    for (const [index, record] of records.entries()) {
      record.values[inverse.reference.column.name] = node[resource.key.name];
      yield* within([inverse.name, index], createRecord(caller, inverse.target, record));
    }
  return node;
}

/** Tells errors of a nested record where it stands. */
export function* within<T>(path: readonly (string | number)[], program: Program<T>): Program<T> {
  try {
    return yield* program;
  } catch (error) {
    if (error instanceof Collision) throw error.within(path);
    if (!(error instanceof DuetError) || !error.errors) throw error;
    throw new DuetError(error.code, error.message, {
      errors: error.errors.map((fault) => nested(fault, ...path)),
    });
  }
}

/** A natural key may have been there before; every other key is new. */
export function* lastVersion(resource: Resource, values: Row): Program<number> {
  if (resource.key.origin.by !== 'client') return 0;
  const [claimed] = yield* run({ do: 'claim', resource, key: values[resource.key.name] });
  return Number(claimed?.['version'] ?? 0);
}

function* update(operation: Update, budget: Budget): Program<Node> {
  const { resource, key, input, ifVersion, selection } = operation;
  const stored = yield* addressed(operation);
  checkVersion(resource, stored, ifVersion);
  const set = validUpdate(resource, input, stored);
  yield* referencesExist(resource, set);
  // The version is compared once more by the statement itself, so that of two concurrent writers one loses.
  const guard = ifVersion && Number(stored[resource.version.name]);
  const where = equal(resource.key, key);
  const [node] = yield* store(
    { do: 'update', resource, set, where, ifVersion: guard, counts: true },
    { ...stored, ...set },
  );
  if (!node) throw versionConflict(resource);
  yield* attach(selection, [node], budget);
  return node;
}

/** Answers with the record as it was, and with what was related to it then. */
function* remove(operation: Delete, budget: Budget): Program<Node> {
  const { resource, key, ifVersion, selection } = operation;
  const node = yield* addressed(operation);
  checkVersion(resource, node, ifVersion);
  yield* attach(selection, [node], budget);
  yield* deleteWithDependents(resource, [key]);
  return node;
}

/** The record that a write means; that there is none comes before whatever is wrong with the request. */
export function* addressed({ resource, key, refusal }: Update | Delete): Program<Row> {
  if (key !== undefined) {
    const where = equal(resource.key, key);
    const [row] = yield* run(select(resource, storedColumns(resource), where, { lock: true }));
    if (row && refusal) throw refusal;
    if (row) return row;
  }
  throw new DuetError('NOT_FOUND', `There is no ${resource.singular} with this ${resource.key.name}.`);
}

/** Runs the statement that stores `row`, and says what the row collided with. */
export function* store(statement: Insert | UpdateStatement, row: Row): Program<Node[]> {
  try {
    return yield* run(statement);
  } catch (error) {
    if (error instanceof NotUnique) throw new Collision(statement.resource, row, error.columns);
    // Somebody deleted the target after it was looked up.
    if (error instanceof Dangling) throw referenceNotFound(error.reference ? [error.reference] : []);
    throw error;
  }
}

function checkVersion(resource: Resource, row: Row, ifVersion: readonly number[] | undefined): void {
  if (ifVersion && !ifVersion.includes(Number(row[resource.version.name]))) throw versionConflict(resource);
}

function versionConflict(resource: Resource): DuetError {
  return new DuetError('VERSION_CONFLICT', `This ${resource.singular} has changed since it was read.`);
}

/** Fills in what the server decides, unless it is fixed beforehand. */
export function assign(resource: Resource, { claims }: Caller, values: Row, fixed: Row = {}): void {
  const now = new Date().toISOString();
  for (const column of resource.columns) {
    const { name, origin } = column;
    if (Object.hasOwn(fixed, name)) values[name] = fixed[name];
    else if (origin.by === 'createdAt' || origin.by === 'updatedAt') values[name] = now;
    else if (origin.by === 'uuid') values[name] = Bun.randomUUIDv7();
    else if (origin.by === 'nobody') values[name] = defaultOf(column) ?? null;
    else if (origin.by === 'claim') {
      values[name] = (Object.hasOwn(claims, origin.claim) ? claims[origin.claim] : null) ?? null;
      if (values[name] === null && column.required)
        throw new DuetError(
          'UNAUTHENTICATED',
          `Creating a ${resource.singular} needs a token with the claim "${origin.claim}".`,
        );
    }
  }
}

/** Foreign keys would refuse a dangling reference too, but could not say which fields have one. */
export function* referencesExist(resource: Resource, values: Row): Program<void> {
  const given = resource.references.filter(({ column }) => values[column.name] != null);
  if (given.length === 0) return;
  const found = yield given.map(({ column, target }) =>
    select(target, [target.key], equal(target.key, values[column.name])),
  );
  const dangling = given.filter((_, index) => !found[index]?.length);
  if (dangling.length > 0) throw referenceNotFound(dangling);
}

function referenceNotFound(references: readonly Reference[]): DuetError {
  const errors = references.map(
    ({ column, target }): Fault => ({
      pointer: pointer(column.name),
      code: 'REFERENCE_NOT_FOUND',
      detail: `${column.name} names a ${target.singular} that does not exist`,
    }),
  );
  return new DuetError('CONFLICT', `${errors[0]?.detail ?? 'A referenced record does not exist'}.`, {
    errors,
  });
}
