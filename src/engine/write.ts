/** Creates, updates and deletes records, as programs that run inside one transaction. */

import { DuetError, type Fault, pointer } from '../errors.ts';
import { among, equal } from '../query/filter.ts';
import type { Reference, Resource } from '../schema/model.ts';
import { storedColumns } from '../schema/values.ts';
import { type Program, type Row, run, type Select } from '../storage/storage.ts';
import type { Caller } from './caller.ts';
import type { Create, Delete, Update, Write } from './operation.ts';
import { attach, type Node } from './read.ts';
import { deleteWithDependents } from './referential.ts';
import { defaultOf, validCreate, validUpdate } from './validate.ts';

export function write(caller: Caller, operation: Write): Program<Node> {
  switch (operation.do) {
    case 'create':
      return create(caller, operation);
    case 'update':
      return update(operation);
    case 'delete':
      return remove(operation);
  }
}

function* create(caller: Caller, { resource, input, selection }: Create): Program<Node> {
  const values = validCreate(resource, input);
  assign(resource, caller, values);
  yield* referencesExist(resource, values);
  const [node] = yield* run({ do: 'insert', resource, values });
  if (!node) throw new Error(`inserting a ${resource.name} answered no row`);
  yield* attach(selection, [node]);
  return node;
}

function* update({ resource, key, input, ifVersion, selection, refusal }: Update): Program<Node> {
  const stored = yield* existing(resource, key);
  if (refusal) throw refusal;
  checkVersion(resource, stored, ifVersion);
  const set = validUpdate(resource, input, stored);
  yield* referencesExist(resource, set);
  // The version is compared once more by the statement itself, so that of two concurrent writers one loses.
  const guard = ifVersion && Number(stored[resource.version.name]);
  const [node] = yield* run({
    do: 'update',
    resource,
    set,
    where: equal(resource.key, key),
    ifVersion: guard,
  });
  if (!node) throw versionConflict(resource);
  yield* attach(selection, [node]);
  return node;
}

/** Answers with the record as it was, and with what was related to it then. */
function* remove({ resource, key, ifVersion, selection, refusal }: Delete): Program<Node> {
  const node = yield* existing(resource, key);
  if (refusal) throw refusal;
  checkVersion(resource, node, ifVersion);
  yield* attach(selection, [node]);
  yield* deleteWithDependents(resource, key);
  return node;
}

function* existing(resource: Resource, key: string | number | undefined): Program<Row> {
  const [row] = key === undefined ? [] : yield* run({ ...all(resource), where: equal(resource.key, key) });
  if (!row)
    throw new DuetError('NOT_FOUND', `There is no ${resource.singular} with this ${resource.key.name}.`);
  return row;
}

function all(resource: Resource): Select {
  return { do: 'select', resource, columns: storedColumns(resource), where: undefined, limit: undefined };
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

/** Foreign keys would refuse a dangling reference too, but could not say which field it is in. */
function* referencesExist(resource: Resource, values: Row): Program<void> {
  const given = resource.references.filter(({ column }) => values[column.name] != null);
  if (given.length === 0) return;
  const found = yield given.map((reference) => lookUp(reference, values));
  const faults = given.flatMap(({ column, target }, index): Fault[] =>
    found[index]?.length
      ? []
      : [
          {
            pointer: pointer(column.name),
            code: 'REFERENCE_NOT_FOUND',
            detail: `${column.name} names a ${target.singular} that does not exist`,
          },
        ],
  );
  const [first] = faults;
  if (first) throw new DuetError('CONFLICT', `${first.detail}.`, { errors: faults });
}

function lookUp({ column, target }: Reference, values: Row): Select {
  return {
    do: 'select',
    resource: target,
    columns: [target.key],
    where: among(target.key, [values[column.name]]),
    limit: 1,
  };
}
