/** Creates, updates and deletes records, as programs that run inside one transaction. */

import { claimFor } from '../access/claims.ts';
import { DuetError, type Fault, nested, pointer } from '../errors.ts';
import { all, equal } from '../query/filter.ts';
import type { Column, Reference, Resource } from '../schema/model.ts';
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
import type { Budget } from './budget.ts';
import type { Caller } from './caller.ts';
import { Collision } from './collision.ts';
import type { Create, Delete, Selection, Update, Write, WriteOne } from './operation.ts';
import type { Access } from './policy/access.ts';
import type { Permitted } from './policy/permitted.ts';
import {
  asSeen,
  changedOn,
  givenOn,
  isAlwaysAllowed,
  mayHaveWritten,
  mayWrite,
  withoutUnseen,
} from './policy/writing.ts';
import { attach, type Node } from './read.ts';
import { deleteWithDependents } from './referential.ts';
import { type NewRecord, validCreate, validUpdate } from './validate.ts';

export function write(access: Access, operation: Permitted<WriteOne>, budget: Budget): Program<Node> {
  switch (operation.do) {
    case 'create':
      return create(access, operation, budget);
    case 'update':
      return update(access, operation, budget);
    case 'delete':
      return remove(access, operation, budget);
  }
}

/** Whether a write is a single statement, which is a transaction by itself. */
export function stepsOf(access: Access, operation: Permitted<Write>): Steps {
  const { resource, selection } = operation;
  if (operation.do !== 'create' || selection.relations.length > 0 || selection.guards) return 'many';
  const lone = resource.references.length === 0 && resource.key.origin.by !== 'client';
  const unchecked =
    access.isFree ||
    (isAlwaysAllowed(access, resource, 'CREATE') &&
      givenOn(access, resource, Object.keys(operation.input)).length === 0);
  return lone && unchecked && !resource.inverses.some(({ name }) => Object.hasOwn(operation.input, name))
    ? 'one'
    : 'many';
}

/** Generators within generators cost: what need not be one is none. */
function create(access: Access, operation: Permitted<Create>, budget: Budget): Program<Node> {
  const { resource, input, selection, through } = operation;
  const creating = createRecord(access, resource, validCreate(resource, input, through));
  return selection.relations.length > 0 || selection.guards
    ? attached(selection, creating, budget)
    : creating;
}

function* attached(selection: Selection, creating: Program<Node>, budget: Budget): Program<Node> {
  const node = yield* creating;
  yield* attach(selection, [node], budget);
  return node;
}

/** The record first, and then those that point to it. `known`: the reference to the record that it is nested in. */
export function* createRecord(
  access: Access,
  resource: Resource,
  { values, given, children }: NewRecord,
  known?: Column,
): Program<Node> {
  assign(resource, access.caller, values);
  if (resource.references.length > 0) yield* referencesExist(access, resource, values, known);
  const version = 1 + (resource.key.origin.by === 'client' ? yield* lastVersion(resource, values) : 0);
  const [node] = yield* store({ do: 'insert', resource, values, version }, values);
  if (!node) throw new Error(`inserting a ${resource.name} answered no row`);
  for (const { inverse, records } of children)
    for (const [index, record] of records.entries()) {
      record.values[inverse.reference.column.name] = node[resource.key.name];
      const { target, reference } = inverse;
      yield* within([inverse.name, index], createRecord(access, target, record, reference.column));
    }
  if (access.isFree) return node;
  const key = node[resource.key.name];
  const names = known ? [...given, known.name] : given;
  yield* mayHaveWritten(access, resource, 'CREATE', [key], givenOn(access, resource, names));
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

function* update(access: Access, operation: Permitted<Update>, budget: Budget): Program<Node> {
  const { resource, key, input, ifVersion, selection } = operation;
  const stored = yield* addressed(access, operation);
  checkVersion(operation, stored);
  const [seen = stored] = yield* asSeen(access, resource, [stored]);
  const conditions = changedOn(access, resource, input, seen);
  if (conditions.length > 0) yield* mayWrite(access, resource, 'UPDATE', [key], conditions);
  const set = withoutUnseen(resource, validUpdate(resource, input, seen), stored, seen);
  yield* referencesExist(access, resource, set);
  // The version is compared once more by the statement itself, so that of two concurrent writers one loses.
  const guard = ifVersion && Number(stored[resource.version.name]);
  const where = equal(resource.key, key);
  const [node] = yield* store(
    { do: 'update', resource, set, where, ifVersion: guard, counts: true },
    { ...stored, ...set },
  );
  if (!node) throw versionConflict(resource);
  yield* mayHaveWritten(access, resource, 'UPDATE', [key], conditions);
  yield* attach(selection, [node], budget);
  return node;
}

/** Answers with the record as it was, and with what was related to it then. */
function* remove(access: Access, operation: Permitted<Delete>, budget: Budget): Program<Node> {
  const { resource, key, selection } = operation;
  const node = yield* addressed(access, operation);
  checkVersion(operation, node);
  yield* attach(selection, [node], budget);
  yield* deleteWithDependents(resource, [key]);
  return node;
}

/** The record that a write means; that there is none, or not for the caller, comes before what is wrong with the request. */
export function* addressed(access: Access, operation: Permitted<Update | Delete>): Program<Row> {
  const { resource, key, refusal, seen } = operation;
  if (key !== undefined) {
    const where = all([equal(resource.key, key), seen]);
    const [row] = yield* run(select(resource, storedColumns(resource), where, { lock: true }));
    if (row) {
      yield* mayWrite(access, resource, operation.do === 'update' ? 'UPDATE' : 'DELETE', [key]);
      if (refusal) throw refusal;
      return row;
    }
  }
  throw new DuetError('NOT_FOUND', `There is no ${resource.singular} with this ${resource.key.name}.`);
}

/** Runs the statement that stores `row`, and says what the row collided with. */
export function* store(statement: Insert | UpdateStatement, row: Row): Program<Node[]> {
  try {
    const [rows = []] = yield [statement];
    return rows;
  } catch (error) {
    if (error instanceof NotUnique) throw new Collision(statement.resource, row, error.columns);
    // Somebody deleted the target after it was looked up.
    if (error instanceof Dangling) throw referenceNotFound(error.reference ? [error.reference] : []);
    throw error;
  }
}

function checkVersion({ resource, ifVersion, unlessVersion }: Update | Delete, row: Row): void {
  const version = Number(row[resource.version.name]);
  if (ifVersion && !ifVersion.includes(version)) throw versionConflict(resource);
  if (unlessVersion && (unlessVersion === 'any' || unlessVersion.includes(version)))
    throw new DuetError(
      'VERSION_CONFLICT',
      `This ${resource.singular} exists, in a version that If-None-Match excludes. Leave If-None-Match out to write it.`,
    );
}

function versionConflict(resource: Resource): DuetError {
  return new DuetError('VERSION_CONFLICT', `This ${resource.singular} has changed since it was read.`);
}

/** Fills in what the server decides, unless it is fixed beforehand. */
export function assign(resource: Resource, caller: Caller, values: Row, fixed: Row = {}): void {
  let now: string | undefined;
  for (const column of resource.columns) {
    const { name, origin } = column;
    if (Object.hasOwn(fixed, name)) values[name] = fixed[name];
    else if (origin.by === 'createdAt' || origin.by === 'updatedAt')
      values[name] = now ??= new Date().toISOString();
    else if (origin.by === 'uuid') values[name] = Bun.randomUUIDv7();
    else if (origin.by === 'nobody') values[name] = defaultOf(column) ?? null;
    else if (origin.by === 'claim') {
      values[name] = claimFor(column, origin.claim, caller.claims) ?? null;
      if (values[name] === null && column.required)
        throw new DuetError(
          caller.subject === undefined ? 'UNAUTHENTICATED' : 'FORBIDDEN',
          `Creating a ${resource.singular} needs a token whose claim "${origin.claim}" fits ${name}.`,
        );
    }
  }
}

/** Foreign keys would refuse a dangling reference too, but could not say which fields have one. */
export function* referencesExist(
  access: Access,
  resource: Resource,
  values: Row,
  known?: Column,
): Program<void> {
  const given = resource.references.filter(({ column }) => column !== known && values[column.name] != null);
  if (given.length === 0) return;
  const found = yield given.map(({ column, target }) => {
    // What the client cannot see does not exist for it; what the server refers to is the server's to know.
    const seen = column.origin.by === 'client' ? access.rows(target, 'READ') : undefined;
    return select(target, [target.key], all([equal(target.key, values[column.name]), seen]));
  });
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
