/** Deletes records and carries out `@onDelete` for those that point to them. */

import { DuetError, type Fault, ofRecord } from '../../base/errors.ts';
import { among, equal, type Filter } from '../../query/filter.ts';
import type { Column, Reference, Resource } from '../../schema/model.ts';
import { withCapitalArticle } from '../../schema/names.ts';
import { Dangling, NotUnique } from '../../storage/faults.ts';
import { type Row, select, type Update } from '../../storage/statements.ts';
import { type Program, run } from '../../storage/storage.ts';
import type { Input } from '../operation.ts';
import type { Access } from '../policy/access.ts';
import { mayStillWrite } from '../policy/judging.ts';
import type { Changes } from './changes.ts';
import { mustHold } from './holds.ts';
import { hookedDelete, lookedUp } from './hooked.ts';
import { eachOf, PORTION, portions } from './portions.ts';
import { leftOut, refusedByTrigger } from './storing.ts';
import { touched } from './validate.ts';

type Keys = Set<unknown>;

/**
 * `change`: how a record is changed where a function takes part in it. `isTold`: whether the caller, who sees all of these records,
 * is told which of them cannot go.
 */
export function* deleteWithDependents(
  access: Access,
  resource: Resource,
  keys: readonly unknown[],
  change: ChangeRecord,
  isTold = false,
): Program<void> {
  const doomed = yield* collect(access, resource, keys, isTold);
  for (const [target, going] of doomed)
    for (const reference of target.pointedAtBy) {
      if (reference.onDelete === 'CASCADE') continue;
      const stays = (key: unknown) => !doomed.get(reference.owner)?.has(key);
      if (reference.onDelete === 'RESTRICT') {
        const mayTell = isTold && target === resource;
        const stuck = new Set<unknown>();
        yield* pointingAt(reference, going, (key, at) => {
          if (stays(key)) stuck.add(at);
          return !mayTell && stuck.size > 0;
        });
        if (stuck.size === 0) continue;
        const told = mayTell ? keys.filter((key) => stuck.has(key)) : [];
        throw stillReferenced(resource, reference, told);
      }
      const others: unknown[] = [];
      yield* pointingAt(reference, going, (key) => {
        if (stays(key)) others.push(key);
        return false;
      });
      if (access.hooksOf?.(reference.owner)?.beforeUpdate) {
        yield* releaseEach(access, reference, others, change);
        continue;
      }
      for (const some of portions(others)) yield* mayRelease(reference, some);
      for (const some of portions(others))
        yield* access.changes?.wants(reference.owner)
          ? releaseNoted(access.changes, reference, some)
          : release(reference, some);
    }
  const going = access.changes ? yield* asTheyGo(access.changes, doomed) : undefined;
  yield* breakCircles(doomed);
  for (const [target, keys] of pointingFirst(doomed)) {
    for (const some of portions(keys)) {
      const where = oneOf(target.key, some);
      if (target.key.origin.by === 'client') yield* run({ do: 'bury', resource: target, where });
      yield* remove(target, some, where);
    }
    for (const row of going?.get(target) ?? []) access.changes?.deleted(target, row);
  }
}

/** The records that go, of types that somebody watches, before references between them are let go of. */
function* asTheyGo(changes: Changes, doomed: ReadonlyMap<Resource, Keys>): Program<Map<Resource, Row[]>> {
  const found = new Map<Resource, Row[]>();
  for (const [target, keys] of doomed) {
    if (!changes.wants(target)) continue;
    const rows: Row[] = [];
    for (const some of portions(keys))
      for (const row of yield* changes.read(target, among(target.key, some))) rows.push(row);
    found.set(target, rows);
  }
  return found;
}

/**
 * Everything that goes: the records, and level by level what cascades from it. There may be as many levels as records, so
 * a level costs what it finds, and not what was found before.
 */
function* collect(
  access: Access,
  resource: Resource,
  keys: readonly unknown[],
  isTold: boolean,
): Program<Map<Resource, Keys>> {
  const doomed = new Map<Resource, Keys>([[resource, new Set(keys)]]);
  const first = new Map<Resource, Keys>([[resource, new Set(keys)]]);
  let level = first;
  while (level.size > 0) {
    if (access.hooksOf)
      for (const [target, keys] of level) {
        const hook = access.hooksOf(target)?.beforeDelete;
        // What cascades is not asked about.
        const asked =
          level === first && !access.isFree
            ? (key: unknown) => mayStillWrite(access, target, 'DELETE', key)
            : undefined;
        if (hook) yield* hookedDelete(target, keys, hook, asked, isTold && level === first);
      }
    const next = new Map<Resource, Keys>();
    for (const [target, keys] of level)
      for (const reference of target.pointedAtBy)
        if (reference.onDelete === 'CASCADE')
          yield* pointingAt(reference, keys, (key) => {
            const known = setIn(doomed, reference.owner);
            if (!known.has(key)) setIn(next, reference.owner).add(key);
            known.add(key);
            return false;
          });
    level = next;
  }
  return doomed;
}

function setIn(sets: Map<Resource, Keys>, resource: Resource): Keys {
  let set = sets.get(resource);
  if (!set) {
    set = new Set();
    sets.set(resource, set);
  }
  return set;
}

/** Only required references are left between the doomed, and those form no circle: some resource is always free to go. */
function* pointingFirst(doomed: ReadonlyMap<Resource, Keys>): Generator<[Resource, Keys]> {
  const left = new Map(doomed);
  const isFree = (resource: Resource) =>
    !resource.pointedAtBy.some(({ owner, required }) => required && owner !== resource && left.has(owner));
  while (left.size > 0)
    for (const [resource, keys] of left)
      if (isFree(resource)) {
        left.delete(resource);
        yield [resource, keys];
      }
}

/**
 * Records of two resources that point to each other can go in neither order, nor those of one resource where they go in portions:
 * nullable references are let go first.
 */
function* breakCircles(doomed: ReadonlyMap<Resource, Keys>): Program<void> {
  for (const [owner, keys] of doomed)
    for (const reference of owner.references)
      if (
        !reference.required &&
        doomed.has(reference.target) &&
        (reference.target !== owner || keys.size > PORTION)
      )
        for (const some of portions(keys)) yield* release(reference, some);
}

/** What lets a record go is a write of that record too. */
function* mayRelease({ owner, column }: Reference, keys: readonly unknown[]): Program<void> {
  if (owner.checks.length === 0) return;
  const rows = yield* run(select(owner, owner.columns, among(owner.key, keys)));
  const set = { ...touched(owner), [column.name]: null };
  const next = rows.map((row) => ({ ...row, ...set }));
  yield* mustHold(owner, next, set);
}

type ChangeRecord = (
  access: Access,
  resource: Resource,
  stored: Row,
  input: Input,
  guard: undefined,
) => Program<unknown>;

/** Lets records go one by one, as updates in which a function takes part; no rule is asked about what `@onDelete` does. */
function* releaseEach(
  access: Access,
  { owner, column }: Reference,
  keys: readonly unknown[],
  change: ChangeRecord,
): Program<void> {
  const system = access.system();
  for (const key of keys) {
    const stored = yield* lookedUp(owner, key);
    if (stored) yield* change(system, owner, stored, { [column.name]: null }, undefined);
  }
}

function* release(reference: Reference, keys: readonly unknown[]): Program<void> {
  yield* run({ ...releasing(reference, keys), isSilent: true });
}

/** The same, where somebody wants to know of it. */
function* releaseNoted(changes: Changes, reference: Reference, keys: readonly unknown[]): Program<void> {
  const { owner } = reference;
  const statement = releasing(reference, keys);
  const rows = yield* changes.read(owner, statement.where);
  const nodes = yield* run(statement);
  const byKey = new Map(nodes.map((node) => [node[owner.key.name], node]));
  for (const row of rows) {
    const node = byKey.get(row[owner.key.name]);
    if (node) changes.updated(owner, row, node);
  }
}

function releasing({ owner, column }: Reference, keys: readonly unknown[]): Update {
  const set = touched(owner);
  set[column.name] = null;
  return { do: 'update', resource: owner, set, where: among(owner.key, keys), counts: true };
}

function* remove(resource: Resource, keys: readonly unknown[], where: Filter): Program<void> {
  try {
    const gone = yield* run({ do: 'delete', resource, where, tellsKeys: true });
    // Triggers may have deleted some of these for others: only what is still there was kept.
    if (gone.length < keys.length && (yield* run(select(resource, [resource.key], where))).length > 0)
      throw leftOut(resource);
  } catch (error) {
    // Somebody came to point here after it was looked up.
    if (error instanceof Dangling) throw stillReferenced(resource, error.reference);
    if (error instanceof NotUnique) throw refusedByTrigger(error);
    throw error;
  }
}

/** Of one value, an index goes on from where it was, and SQLite knows what a statement is about. */
function oneOf(column: Column, values: readonly unknown[]): Filter {
  return values.length === 1 ? equal(column, values[0]) : among(column, values);
}

/** Hands over the keys of records that point at one of these, each with the key that it points at, until that is enough. */
function* pointingAt(
  { owner, column }: Reference,
  keys: Keys,
  take: (key: unknown, at: unknown) => boolean,
): Program<void> {
  for (const some of portions(keys)) {
    const where = oneOf(column, some);
    let isEnough = false;
    yield* eachOf(owner, [owner.key, column], where, true, (row) => {
      isEnough = take(row[owner.key.name], row[column.name]);
      return isEnough;
    });
    if (isEnough) return;
  }
}

/** `told`: the keys of those records that are still referred to, where the caller is told them. */
function stillReferenced(
  resource: Resource,
  reference: Reference | undefined,
  told: readonly unknown[] = [],
): DuetError {
  const what = reference ? withCapitalArticle(reference.owner.singular) : 'Another record';
  const detail = `${what} still refers to this ${resource.singular}${reference ? ` as its ${reference.name}` : ''}`;
  const fault: Fault = { pointer: '#', code: 'STILL_REFERENCED', detail };
  const errors = told.length > 0 ? told.map((key) => ofRecord(fault, key)) : [fault];
  return new DuetError('CONFLICT', `${detail}. Delete or change it first.`, { errors });
}
