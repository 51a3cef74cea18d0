/** Creates, updates and deletes records, as programs that run inside one transaction. */

import { claimFor } from '../../access/claims.ts';
import { DuetError, nested } from '../../base/errors.ts';
import { all, among, equal } from '../../query/filter.ts';
import type { Column, Reference, Resource } from '../../schema/model.ts';
import { withArticle } from '../../schema/names.ts';
import { linkFields } from '../../schema/through.ts';
import { isBound } from '../../schema/transitions.ts';
import { defaultOf, reserved, storedColumns, updatable } from '../../schema/values.ts';
import { Dangling, NotUnique, unavailable } from '../../storage/faults.ts';
import { type Row, select, type Update as UpdateStatement } from '../../storage/statements.ts';
import { type Program, run, type Steps } from '../../storage/storage.ts';
import type { Budget } from '../budget.ts';
import type { Caller } from '../caller.ts';
import type { Create, Delete, Input, Selection, Update, Write } from '../operation.ts';
import type { Access } from '../policy/access.ts';
import {
  type Demands,
  demand,
  mayCreate,
  mayHaveUpdated,
  mayUpdate,
  mayWrite,
  mustBeSeen,
  notAllowed,
  unseen,
} from '../policy/judging.ts';
import type { Permitted } from '../policy/permitted.ts';
import { asSeen, changedOn, givenOn, isAlwaysAllowed, withoutUnseen } from '../policy/writing.ts';
import { attach, isDressed, type Node } from '../read/read.ts';
import { Collision, conflict } from './collision.ts';
import { mayPass, mustHold, mustStart } from './holds.ts';
import { type Change, hookedCreate, hookedUpdate } from './hooked.ts';
import { incremented, incrementsOf, type LoneIncrement, loneIncrement } from './increments.ts';
import { atPlaces, differenceOf, type LinkChange, linkChanges } from './links.ts';
import { missingOf, notFound, referencesExist } from './references.ts';
import { deleteWithDependents } from './referential.ts';
import { isNatural, lastVersion } from './remains.ts';
import { type NewRecord, newLink, touched, validCreate, validUpdate } from './validate.ts';

/** How often others may change a record between a look at it and the next. */
const MOST_TRIES = 100;

export function write(
  access: Access,
  operation: Permitted<Create | Update | Delete>,
  budget: Budget,
): Program<Node> {
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
  if (operation.do === 'act') return 'many';
  const { resource, selection } = operation;
  if (operation.do === 'update' && loneIncrement(access, operation)) return 'one';
  if (operation.do !== 'create' || selection.relations.length > 0 || isDressed(selection)) return 'many';
  if (access.hooksOf?.(resource)?.beforeCreate) return 'many';
  const lone =
    resource.references.length === 0 && resource.key.origin.by !== 'client' && resource.checks.length === 0;
  const { input } = operation;
  const nests = givesOneOf(input, resource.inverses) || givesOneOf(input, linkFields(resource));
  if (!lone || nests) return 'many';
  return access.isFree || isUnchecked(access, resource, Object.keys(input)) ? 'one' : 'many';
}

function givesOneOf(input: Input, fields: readonly { readonly name: string }[]): boolean {
  for (const { name } of fields) if (Object.hasOwn(input, name)) return true;
  return false;
}

/** Whether no rule looks at the new record itself. */
function isUnchecked(access: Access, resource: Resource, given: readonly string[]): boolean {
  if (access.isFree) return true;
  return isAlwaysAllowed(access, resource, 'CREATE') && givenOn(access, resource, given).length === 0;
}

/** Generators within generators cost: what need not be one is none. */
function create(access: Access, operation: Permitted<Create>, budget: Budget): Program<Node> {
  const { resource, input, selection, through } = operation;
  const record = assigned(access, resource, validCreate(resource, input, through, ownOf(access, resource)));
  const isLone =
    !isBound(resource) &&
    !access.hooksOf?.(resource)?.beforeCreate &&
    (access.isFree || (record.children.length === 0 && isUnchecked(access, resource, record.given)));
  const creating = isLone ? createLone(access, resource, record) : createOne(access, resource, record);
  return selection.relations.length > 0 || isDressed(selection)
    ? attached(selection, creating, budget)
    : creating;
}

/** Mostly a single statement. */
function createLone(access: Access, resource: Resource, record: NewRecord): Program<Node> {
  const { values, children } = record;
  const isSingle = resource.references.length === 0 && children.length === 0 && !isNatural(resource);
  return isSingle ? insert(resource, values, 1, undefined) : createRecord(access, resource, record);
}

function* attached(selection: Selection, creating: Program<Node>, budget: Budget): Program<Node> {
  const node = yield* creating;
  yield* attach(selection, [node], budget);
  return node;
}

function* createOne(access: Access, resource: Resource, record: NewRecord): Program<Node> {
  const [node] = yield* createAll(access, resource, [record], () => []);
  return node as Node;
}

/** The record with what the server decides of it, and of those that are nested in it. */
export function assigned(access: Access, resource: Resource, record: NewRecord): NewRecord {
  assign(resource, access.caller, record.values, fixedIn(access, resource, record), isOpen(access, resource));
  for (const { inverse, records } of record.children)
    for (const each of records) assigned(access, inverse.target, each);
  return record;
}

/** What may be given beside what clients may: the server sets what is `@readonly` or `@set`. */
export function ownOf(access: Access, resource: Resource): readonly Column[] | undefined {
  return access.isSystem ? reserved(resource) : undefined;
}

function fixedIn(access: Access, resource: Resource, { values }: NewRecord): Row | undefined {
  if (!access.isSystem) return undefined;
  const fixed: Row = Object.create(null);
  for (const { name } of reserved(resource)) if (Object.hasOwn(values, name)) fixed[name] = values[name];
  return fixed;
}

/** Whether a function may still set what nothing else does. */
function isOpen(access: Access, resource: Resource): boolean {
  return access.hooksOf?.(resource)?.beforeCreate !== undefined;
}

type Path = readonly (string | number)[];
/** The keys of what an operation has created. */
type Created = Map<Resource, unknown[]>;

/** Creates the records of an operation with all that is nested in them; at its end the caller must see every one. */
export function* createAll(
  access: Access,
  resource: Resource,
  records: readonly NewRecord[],
  at: (index: number) => Path,
): Program<Node[]> {
  const created: Created = new Map();
  const nodes = yield* createList(access, resource, records, at, created);
  for (const [target, keys] of created) yield* mustBeSeen(access, target, 'CREATE', keys);
  return nodes;
}

/**
 * The records of one list. Where a function takes part they are created one after the other, so that it sees what was written
 * before: then each is judged like a list of its own.
 */
function createList(
  access: Access,
  resource: Resource,
  records: readonly NewRecord[],
  at: (index: number) => Path,
  created: Created | undefined,
  known?: Column,
  outer?: DuetError,
): Program<Node[]> {
  const hook = access.hooksOf?.(resource)?.beforeCreate;
  if (!hook) return storeList(access, resource, records, at, created, known, outer);
  return (function* () {
    const nodes: Node[] = [];
    for (const [index, record] of records.entries()) {
      const own = () => at(index);
      const filled = yield* within(own(), hookedCreate(resource, record, hook));
      nodes.push(...(yield* storeList(access, resource, [filled], own, created, known, outer)));
    }
    return nodes;
  })();
}

/** All of them are judged before any is written, so that none of them speaks for another. */
function* storeList(
  access: Access,
  resource: Resource,
  records: readonly NewRecord[],
  at: (index: number) => Path,
  created: Created | undefined,
  known?: Column,
  outer?: DuetError,
): Program<Node[]> {
  if (isBound(resource)) {
    const rows = records.map(({ values }) => values);
    yield* mustHold(resource, rows, at);
    mustStart(resource, rows, at);
  }
  const judged = access.isFree
    ? yield* referredList(access, resource, records, known)
    : yield* judgedList(access, resource, records, at, known);
  const nodes: Node[] = [];
  for (const [index, record] of records.entries()) {
    // Who will not see one of the others is denied all of it in the end: what this one collides with is not to be told.
    const isRefused = judged.some(({ isHidden }, other) => isHidden && other !== index);
    const refusal = outer ?? (isRefused ? notAllowed(access, resource, 'CREATE') : undefined);
    const creating = createRecord(access, resource, record, created, known, judged[index], refusal);
    nodes.push(yield* within(at(index), creating));
  }
  return nodes;
}

/** What was found of a record before the first of its list is written. */
interface Judged {
  /** References that led nowhere. */
  readonly missing: readonly Reference[];
  /** The caller would not see it. */
  readonly isHidden: boolean;
}

/** What the records of a list refer to is looked up at once; what is not there may still come with one of them. */
function* referredList(
  access: Access,
  resource: Resource,
  records: readonly NewRecord[],
  known: Column | undefined,
): Program<Judged[]> {
  if (records.length < 2 || resource.references.length === 0) return [];
  const rows = records.map(({ values }) => values);
  const missing = yield* missingOf(access, resource, rows, known);
  return missing.map((references) => ({ missing: references, isHidden: false }));
}

function* judgedList(
  access: Access,
  resource: Resource,
  records: readonly NewRecord[],
  at: (index: number) => Path,
  known: Column | undefined,
): Program<Judged[]> {
  const rows = records.map(({ values }) => values);
  const missing = yield* missingOf(access, resource, rows, known);
  // A natural key can be that of a record which comes before it in this list.
  const mayCome = ({ target }: Reference) => records.length > 1 && target.key.origin.by === 'client';
  const faults = missing.flatMap((references, index) =>
    notFound(references.filter((each) => !mayCome(each))).map((fault) => nested(fault, ...at(index))),
  );
  if (faults.length > 0) throw conflict(faults);
  const hidden = yield* mayCreate(access, resource, records, missing, known);
  return missing.map((references, index) => ({ missing: references, isHidden: hidden.has(index) }));
}

/** The record first, and then those that point to it. `known`: the reference to the record that it is nested in. */
function* createRecord(
  access: Access,
  resource: Resource,
  record: NewRecord,
  created?: Created,
  known?: Column,
  judged?: Judged,
  outer?: DuetError,
): Program<Node> {
  const { values, given, children } = record;
  const missing = judged?.missing.length ?? resource.references.length;
  if (missing > 0) {
    const mayBeTold = isUnchecked(access, resource, known ? [...given, known.name] : given);
    yield* referencesExist(access, resource, values, mayBeTold ? values : undefined, known);
  }
  // What it refers to has come, or has come into sight, since its list was judged.
  if (judged && missing > 0) yield* mayCreate(access, resource, [record], [], known);
  // What was written of its list since then may show it.
  const isHidden = judged?.isHidden === true && (yield* unseen(access, resource, [record])).size > 0;
  const version = 1 + (isNatural(resource) ? yield* lastVersion(resource, values) : 0);
  const refusal = isHidden ? notAllowed(access, resource, 'CREATE') : outer;
  const node = yield* insert(resource, values, version, refusal);
  const key = node[resource.key.name];
  for (const { inverse, records, places } of children) {
    const { name, target, reference } = inverse;
    for (const each of records) each.values[reference.column.name] = key;
    if (places)
      yield* atPlaces(places, createLinks(access, target, records, created, reference.column, refusal));
    else {
      const at = (index: number) => [name, index];
      yield* createList(access, target, records, at, created, reference.column, refusal);
    }
  }
  if (access.isFree || !created) return node;
  const keys = created.get(resource);
  if (keys) keys.push(key);
  else created.set(resource, [key]);
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

/** Looks and adds in one statement, so that nobody waits for a record that somebody only looks at. */
function* increment(
  access: Access,
  operation: Permitted<Update>,
  { by, room }: LoneIncrement,
): Program<Node> {
  const { resource, key } = operation;
  const where = all([equal(resource.key, key), room]);
  for (let tries = 0; tries < MOST_TRIES; tries++) {
    const set = touched(resource);
    const [node] = yield* run({ do: 'update', resource, set, add: by, where, counts: true });
    if (node) return node;
    // Tells why not, unless others have made room by then.
    incremented(resource, by, yield* addressed(access, operation));
  }
  throw unavailable('Others keep changing the same record.');
}

function* update(access: Access, operation: Permitted<Update>, budget: Budget): Program<Node> {
  const lone = loneIncrement(access, operation);
  if (lone) return yield* increment(access, operation, lone);
  const { resource, input, ifVersion, selection } = operation;
  const stored = yield* addressed(access, operation);
  checkVersion(operation, stored);
  // The version is compared once more by the statement itself, so that of two concurrent writers one loses.
  const guard = ifVersion && Number(stored[resource.version.name]);
  const node = yield* change(access, resource, stored, input, guard);
  if (selection.relations.length > 0 || isDressed(selection)) yield* attach(selection, [node], budget);
  return node;
}

/** Records of a join type, of which all that lead nowhere are told at once. */
function* createLinks(
  access: Access,
  join: Resource,
  records: readonly NewRecord[],
  created: Created | undefined,
  near: Column,
  refusal?: DuetError,
): Program<void> {
  const at = (index: number) => [index];
  if (access.isFree) {
    const rows = records.map(({ values }) => values);
    const missing = yield* missingOf(access, join, rows, near);
    const faults = missing.flatMap((references, index) =>
      notFound(references).map((fault) => nested(fault, ...at(index))),
    );
    if (faults.length > 0) throw conflict(faults);
  }
  yield* createList(access, join, records, at, created, near, refusal);
}

/** Makes the links of records, which are written, what an input says. */
export function* relink(
  access: Access,
  changes: readonly LinkChange[],
  keys: readonly unknown[],
): Program<void> {
  const created: Created = new Map();
  for (const change of changes) {
    const { target: join, reference: near } = change.through.links;
    const { removed, added } = yield* differenceOf(access, change, keys);
    if (removed.length > 0) yield* atPlaces([change.removedAt], unlink(access, join, removed));
    if (added.length === 0) continue;
    const records = added.map(({ from, to }) => {
      const record = newLink(change.through, to);
      record.values[near.column.name] = from;
      return assigned(access, join, record);
    });
    const creating = createLinks(access, join, records, created, near.column);
    // Somebody has made the same link since it was looked for; one that is there and not seen stays so.
    yield* atPlaces(
      added.map(({ path }) => path),
      creating,
      ({ columns }, index) =>
        added[index]?.isTaken === false &&
        columns.length > 0 &&
        columns.every((column) => column === near.column || column === change.through.far.column),
    );
  }
  for (const [target, made] of created) yield* mustBeSeen(access, target, 'CREATE', made);
}

function* unlink(access: Access, join: Resource, keys: readonly unknown[]): Program<void> {
  const rows = yield* run(select(join, [join.key], among(join.key, keys), { lock: true }));
  const there = rows.map((row) => row[join.key.name]);
  if (there.length === 0) return;
  if (!access.isFree) yield* mayWrite(access, join, 'DELETE', there);
  yield* deleteWithDependents(access, join, there, change);
}

/** Changes a record that is locked, and that the caller may change as it is. */
export function* change(
  access: Access,
  resource: Resource,
  given: Row,
  input: Input,
  wanted: number | undefined,
): Program<Node> {
  const key = given[resource.key.name];
  const isFree = access.isFree;
  const [seen = given] = isFree ? [] : yield* asSeen(access, resource, [given]);
  const conditions: Demands = new Map();
  if (!isFree) {
    for (const where of changedOn(access, resource, input, seen)) demand(conditions, where, 0);
    yield* mayWrite(access, resource, 'UPDATE', [key], conditions);
  }
  const columns = access.isSystem ? [...updatable(resource), ...reserved(resource)] : undefined;
  const asked: Change = {
    set: withoutUnseen(resource, validUpdate(resource, input, seen, columns), given, seen),
    add: incrementsOf(resource, input, []),
    stored: given,
    guard: wanted,
  };
  const hook = access.hooksOf?.(resource)?.beforeUpdate;
  const { set, add, stored, guard } = hook ? yield* hookedUpdate(resource, asked, hook) : asked;
  const next = add ? { ...stored, ...set, ...incremented(resource, add, stored) } : { ...stored, ...set };
  if (isBound(resource)) {
    yield* mustHold(resource, [next], () => [], { ...set, ...add });
    mayPass(resource, set, [stored], [seen]);
  }
  if (resource.references.length > 0) {
    const mayBeTold = conditions.size === 0 && isAlwaysAllowed(access, resource, 'UPDATE');
    yield* referencesExist(access, resource, set, mayBeTold ? next : undefined);
  }
  const changes = { ...set, ...add };
  const links = linkChanges(resource, input, []);
  const judged = isFree
    ? undefined
    : yield* mayUpdate(access, resource, [next], changes, conditions, links.length > 0);
  const where = equal(resource.key, key);
  const [node] = yield* store(
    { do: 'update', resource, set, add, where, next: [next], ifVersion: guard, counts: true },
    next,
    judged?.isHidden ? notAllowed(access, resource, 'UPDATE') : undefined,
  );
  if (!node) throw versionConflict(resource);
  if (links.length > 0) yield* relink(access, links, [key]);
  if (judged) yield* mayHaveUpdated(access, resource, judged);
  return node;
}

/** Answers with the record as it was, and with what was related to it then. */
function* remove(access: Access, operation: Permitted<Delete>, budget: Budget): Program<Node> {
  const { resource, key, selection } = operation;
  const node = yield* addressed(access, operation);
  checkVersion(operation, node);
  yield* attach(selection, [node], budget);
  yield* deleteWithDependents(access, resource, [key], change);
  return node;
}

/** The record that a write means; that there is none, or not for the caller, comes before what is wrong with the request. */
export function* addressed(access: Access, operation: Permitted<Update | Delete>): Program<Row> {
  const { resource, key, refusal, seen } = operation;
  if (key !== undefined) {
    const where = all([equal(resource.key, key), seen]);
    const isUpdate = operation.do === 'update';
    const lock = isUpdate ? 'change' : true;
    const [row] = yield* run(select(resource, storedColumns(resource), where, { lock }));
    if (row) {
      if (!access.isFree) yield* mayWrite(access, resource, isUpdate ? 'UPDATE' : 'DELETE', [key]);
      if (refusal) throw refusal;
      return row;
    }
  }
  throw new DuetError('NOT_FOUND', `There is no ${resource.singular} with this ${resource.key.name}.`);
}

function* insert(
  resource: Resource,
  values: Row,
  version: number,
  refusal: DuetError | undefined,
): Program<Node> {
  try {
    const [[node] = []] = yield [{ do: 'insert', resource, values, version }];
    if (!node) throw new Error(`inserting ${withArticle(resource.name)} answered no row`);
    return node;
  } catch (error) {
    throw collisionOf(error, values, refusal);
  }
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
    throw collisionOf(error, row, refusal);
  }
}

function collisionOf(error: unknown, row: Row, refusal: DuetError | undefined): unknown {
  if (error instanceof NotUnique) return refusal ?? new Collision(error.resource, row, error.columns);
  // Somebody deleted the target after it was looked up.
  if (error instanceof Dangling) return conflict(notFound(error.reference ? [error.reference] : []));
  return error;
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
  return new DuetError(
    'VERSION_CONFLICT',
    `This ${resource.singular} has changed since it was read; read it again, and retry.`,
  );
}

/** Fills in what the server decides, unless it is fixed beforehand. */
export function assign(
  resource: Resource,
  caller: Caller,
  values: Row,
  fixed: Row = {},
  isOpen = false,
): void {
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
      if (values[name] === null && column.required && !isOpen)
        throw new DuetError(
          caller.subject === undefined ? 'UNAUTHENTICATED' : 'FORBIDDEN',
          `Creating ${withArticle(resource.singular)} needs a token whose claim "${origin.claim}" fits ${name}.`,
        );
    }
  }
}
