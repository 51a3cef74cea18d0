/** Changes a record that is locked, and its links. */

import { DuetError } from '../../base/errors.ts';
import { among, equal } from '../../query/filter.ts';
import type { Column, Resource } from '../../schema/model.ts';
import { isBound } from '../../schema/transitions.ts';
import { storedColumns } from '../../schema/values.ts';
import { type Row, select } from '../../storage/statements.ts';
import { type Program, run } from '../../storage/storage.ts';
import type { Input } from '../operation.ts';
import type { Access } from '../policy/access.ts';
import { noteSeen } from '../policy/guards.ts';
import { mayWrite, notAllowed } from '../policy/judging.ts';
import { type Demands, demand } from '../policy/matching.ts';
import { actsOn, type MayUpdate, mayHaveUpdated, mayUpdate, mayUpdateLinked } from '../policy/updates.ts';
import { asSeen, changedOn, isAlwaysAllowed, withoutUnseen } from '../policy/writing.ts';
import type { Node } from '../read/read.ts';
import { assigned, changeable } from './assign.ts';
import { createLinks, creating } from './create.ts';
import { mayPass, mustHold } from './holds.ts';
import { type Change, hookedUpdate, lookedUp } from './hooked.ts';
import { incremented } from './increments.ts';
import { atPlaces, differenceOf, joinsOf, type LinkChange, linkChanges, lostLinks } from './links.ts';
import { portions } from './portions.ts';
import { recompute } from './recompute.ts';
import { referencesExist } from './references.ts';
import { deleteWithDependents } from './referential.ts';
import { leftOut, store } from './storing.ts';
import { newLink, validUpdate } from './validate.ts';

/** Makes the links of records, which are written, what an input says. `refusal`: what is told in the end of those, as things stand. */
export function relink(
  access: Access,
  changes: readonly LinkChange[],
  keys: readonly unknown[],
  refusal: DuetError | undefined,
): Program<void> {
  return creating(access, refusal, function* (created) {
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
      // Somebody has made the same link since it was looked for; one that is there and not seen stays so.
      yield* atPlaces(
        added.map(({ path }) => path),
        createLinks(access, join, records, created, near.column),
        ({ columns }, index) =>
          added[index]?.isTaken === false &&
          columns.length > 0 &&
          columns.every((column) => column === near.column || column === change.through.far.column),
      );
    }
  });
}

function* unlink(access: Access, join: Resource, keys: readonly unknown[]): Program<void> {
  const all: unknown[] = [];
  for (const some of portions(keys)) {
    const rows = yield* run(select(join, [join.key], among(join.key, some), { lock: true }));
    const there = rows.map((row) => row[join.key.name]);
    if (there.length > 0 && !access.isFree) yield* mayWrite(access, join, 'DELETE', there);
    for (const key of there) all.push(key);
  }
  if (all.length > 0) yield* deleteWithDependents(access, join, all, change);
}

/**
 * Changes a record that is locked, and that the caller may change as it is. `by`: what it was looked up by; `restored`: what comes
 * back from an earlier version.
 */
export function* change(
  access: Access,
  resource: Resource,
  found: Row,
  input: Input,
  wanted: number | undefined,
  by: readonly Column[] = [],
  restored?: readonly Column[],
): Program<Node> {
  const key = found[resource.key.name];
  const isFree = access.isFree;
  const [seen = found] = isFree ? [] : yield* asSeen(access, resource, [found], input);
  const conditions: Demands = new Map();
  if (!isFree) {
    for (const where of changedOn(access, resource, input, seen)) demand(conditions, where, 0);
    yield* mayWrite(access, resource, 'UPDATE', [key], conditions);
  }
  const valid = validUpdate(resource, input, seen, restored ?? changeable(access, resource));
  const asked: Change = {
    set: withoutUnseen(resource, valid.set, found, seen),
    add: valid.add,
    stored: found,
    guard: wanted,
  };
  const hook = access.hooksOf?.(resource)?.beforeUpdate;
  const { set: given, add, stored, guard } = hook ? yield* hookedUpdate(resource, asked, hook) : asked;
  const next: Row = { ...stored, ...given, ...(add && incremented(resource, add, stored, seen)) };
  const set = resource.recomputed.length === 0 ? given : yield* withComputed(resource, given, add, next);
  if (isBound(resource)) {
    yield* mustHold(resource, [next], { ...set, ...add });
    if (!restored) mayPass(resource, set, [stored], [seen]);
  }
  const links = linkChanges(resource, input, []);
  if (resource.references.length > 0 || links.length > 0) {
    const mayBeTold = conditions.size === 0 && isAlwaysAllowed(access, resource, 'UPDATE');
    const lost = yield* lostLinks(access, links);
    yield* referencesExist(access, resource, set, mayBeTold ? next : undefined, lost);
  }
  const may = isFree
    ? undefined
    : yield* mayUpdate(
        access,
        resource,
        [next],
        // Its function may have changed the record itself since the rules were asked of it.
        { ...differing(resource, found, stored), ...set, ...add },
        conditions,
        joinsOf(links),
      );
  const judged = may && (yield* linkedFirst(access, resource, links, [stored], [next], may));
  // What stays as it is would be taken out of its index, and put in again.
  for (const { name } of by) if (set[name] === stored[name]) delete set[name];
  const where = equal(resource.key, key);
  const refusal = judged?.isHidden ? notAllowed(access, resource, 'UPDATE') : undefined;
  const [node] = yield* store(
    { do: 'update', resource, set, add, where, next: [next], ifVersion: guard, counts: true },
    next,
    refusal,
  );
  // It is locked, so nobody else has changed it.
  if (!node) throw leftOut(resource);
  access.changes?.updated(resource, stored, node);
  if (links.length > 0 && !judged?.linksFirst) yield* relink(access, links, [key], refusal);
  if (judged) yield* mayHaveUpdated(access, resource, judged);
  const changed = actsOn(access, joinsOf(links)) ? ((yield* lookedUp(resource, key)) ?? node) : node;
  if (access.mayRelease(resource)) noteSeen(resource, changed, seen, valid.set);
  return changed;
}

/** Links records that may be changed only as they are linked then, and finds what is to be told of them. */
export function* linkedFirst(
  access: Access,
  resource: Resource,
  links: readonly LinkChange[],
  stored: readonly Row[],
  next: readonly Row[],
  judged: MayUpdate,
): Program<MayUpdate> {
  const { later, linksFirst } = judged;
  if (!later || !linksFirst) return judged;
  const refusal = notAllowed(access, resource, 'UPDATE');
  yield* relink(access, links, later.keys, refusal);
  // A function of the links, or their going (`@onDelete`), may have written what is about to be written as it was.
  if (!(yield* areStill(resource, stored))) throw refusal;
  return yield* mayUpdateLinked(access, resource, next, later);
}

function* areStill(resource: Resource, rows: readonly Row[]): Program<boolean> {
  const { key, version } = resource;
  const keys = rows.map((row) => row[key.name]);
  const now = yield* run(select(resource, [key, version], among(key, keys)));
  const versions = new Map(now.map((row) => [row[key.name], row[version.name]]));
  return rows.every((row) => versions.get(row[key.name]) === row[version.name]);
}

/** The columns of a record that are otherwise now. */
function differing(resource: Resource, was: Row, now: Row): Row {
  if (was === now) return {};
  const columns = storedColumns(resource).filter(({ name }) => !Bun.deepEquals(was[name], now[name]));
  return Object.fromEntries(columns.map(({ name }) => [name, now[name]]));
}

/** What is set, and what functions make of it: `next` is the record as it will be. */
function* withComputed(resource: Resource, set: Row, add: Row | undefined, next: Row): Program<Row> {
  const made = yield* recompute(resource, { ...set, ...add }, [next]);
  if (made.length === 0) return set;
  return { ...set, ...Object.fromEntries(made.map(({ name }) => [name, next[name]])) };
}

export function versionConflict(resource: Resource): DuetError {
  return new DuetError(
    'VERSION_CONFLICT',
    `This ${resource.singular} has changed since it was read; read it again, and retry.`,
  );
}
