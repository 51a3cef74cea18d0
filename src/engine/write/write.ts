/** Creates, updates and deletes records, as programs that run inside one transaction. */

import type { Resource } from '../../schema/model.ts';
import { linkFields } from '../../schema/through.ts';
import { isBound } from '../../schema/transitions.ts';
import type { Insert, Row, Statement } from '../../storage/statements.ts';
import type { Program, Steps } from '../../storage/storage.ts';
import type { Budget } from '../budget.ts';
import type { Hooks } from '../logic/hooks.ts';
import type { Create, Delete, Input, Selection, Update, Write } from '../operation.ts';
import type { Access } from '../policy/access.ts';
import type { Permitted } from '../policy/permitted.ts';
import { isUnchecked } from '../policy/writing.ts';
import { attach, isDressed, type Node } from '../read/read.ts';
import { addressed, checkVersion } from './addressed.ts';
import { assigned, ownOf } from './assign.ts';
import { createAll, createRecord } from './create.ts';
import { hookedCreate } from './hooked.ts';
import { loneUpdate, updateAlone } from './lone.ts';
import { hasChecksBelow } from './nested-checks.ts';
import { computeAll } from './recompute.ts';
import { deleteWithDependents } from './referential.ts';
import { isNatural } from './remains.ts';
import { insert } from './storing.ts';
import { change } from './update.ts';
import { type NewRecord, validNested } from './validate.ts';

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
  if (operation.do !== 'create' || selection.relations.length > 0 || isDressed(selection)) return 'many';
  const hooks = access.hooksOf?.(resource);
  if ((hooks?.beforeCreate && hooks.ask) || access.changes?.wants(resource)) return 'many';
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

/** Generators within generators cost: what need not be one is none. */
function create(access: Access, operation: Permitted<Create>, budget: Budget): Program<Node> {
  const { resource, input, through } = operation;
  const validating = validNested(resource, input, through, ownOf(access, resource));
  const step = validating.next();
  return step.done
    ? createValid(access, operation, budget, step.value)
    : createLong(access, operation, budget, validating, step.value);
}

/** Of one with thousands that are nested in it, others have their turn while they are looked at. */
function* createLong(
  access: Access,
  operation: Permitted<Create>,
  budget: Budget,
  validating: Program<NewRecord>,
  turn: readonly Statement[],
): Program<Node> {
  yield turn;
  return yield* createValid(access, operation, budget, yield* validating);
}

function createValid(
  access: Access,
  operation: Permitted<Create>,
  budget: Budget,
  valid: NewRecord,
): Program<Node> {
  const { resource, selection } = operation;
  const record = assigned(access, resource, valid);
  const isLone =
    !isBound(resource) &&
    !hasChecksBelow(record) &&
    (access.isFree || (record.children.length === 0 && isUnchecked(access, resource, record.given)));
  const hook = isLone ? access.hooksOf?.(resource)?.beforeCreate : undefined;
  const creating = !isLone
    ? createOne(access, resource, record)
    : hook
      ? createHooked(access, resource, record, hook)
      : createLone(access, resource, record);
  return attached(selection, creating, budget);
}

/** A create that is a single statement, which writes its change, too. */
export function* createNoted(
  access: Access,
  operation: Permitted<Create>,
  budget: Budget,
  change: NonNullable<Insert['change']>,
): Program<Node> {
  const creating = create(access, operation, budget);
  let step = creating.next();
  while (!step.done) {
    let rows: readonly Row[][];
    try {
      rows = yield step.value.map((each) => (each.do === 'insert' ? { ...each, change } : each));
    } catch (error) {
      step = creating.throw(error);
      continue;
    }
    step = creating.next(rows);
  }
  return step.value;
}

function* createHooked(
  access: Access,
  resource: Resource,
  record: NewRecord,
  hook: NonNullable<Hooks['beforeCreate']>,
): Program<Node> {
  return yield* createLone(access, resource, yield* hookedCreate(access.caller, resource, record, hook));
}

/** Mostly a single statement. */
function createLone(access: Access, resource: Resource, record: NewRecord): Program<Node> {
  const { values, children } = record;
  computeAll(resource, values);
  const isSingle =
    resource.references.length === 0 &&
    children.length === 0 &&
    !isNatural(resource) &&
    !access.changes?.wants(resource);
  return isSingle ? insert(resource, values, 1, undefined) : createRecord(access, resource, record);
}

/** The record that a program writes, with all that is asked for of it. */
export function attached(selection: Selection, writing: Program<Node>, budget: Budget): Program<Node> {
  const isPlain = selection.relations.length === 0 && !isDressed(selection);
  return isPlain ? writing : attaching(selection, writing, budget);
}

function* attaching(selection: Selection, writing: Program<Node>, budget: Budget): Program<Node> {
  const node = yield* writing;
  yield* attach(selection, [node], budget);
  return node;
}

function* createOne(access: Access, resource: Resource, record: NewRecord): Program<Node> {
  const [node] = yield* createAll(access, resource, [record], () => []);
  return node as Node;
}

function update(access: Access, operation: Permitted<Update>, budget: Budget): Program<Node> {
  const lone = loneUpdate(access, operation);
  return lone && !lone.canCollide
    ? updateAlone(access, operation, lone)
    : attached(operation.selection, updateOne(access, operation), budget);
}

function* updateOne(access: Access, operation: Permitted<Update>): Program<Node> {
  const { resource, input, ifVersion } = operation;
  const stored = yield* addressed(access, operation);
  checkVersion(operation, stored);
  // The version is compared once more by the statement itself, so that of two concurrent writers one loses.
  const guard = ifVersion && Number(stored[resource.version.name]);
  return yield* change(access, resource, stored, input, guard);
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
