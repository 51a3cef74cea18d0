/** Writes on many records at once, guarded by the most that the caller means to touch. */

import { DuetError, type Fault, ofRecord } from '../../base/errors.ts';
import { all, among } from '../../query/filter.ts';
import type { Column, Resource } from '../../schema/model.ts';
import { storedColumns } from '../../schema/values.ts';
import { type Row, select } from '../../storage/statements.ts';
import { type Program, run } from '../../storage/storage.ts';
import type { Budget } from '../budget.ts';
import { inTurns } from '../in-turns.ts';
import type { CreateMany, DeleteMany, UpdateMany } from '../operation.ts';
import type { Access } from '../policy/access.ts';
import { noteSeen } from '../policy/guards.ts';
import { mayStillWrite, mayWrite, notAllowed } from '../policy/judging.ts';
import { type Demands, demand } from '../policy/matching.ts';
import type { Permitted } from '../policy/permitted.ts';
import { actsOn, mayHaveUpdated, mayUpdate } from '../policy/updates.ts';
import { asSeen, changedOn, isAlwaysAllowed, maybeHidden, withoutUnseen } from '../policy/writing.ts';
import { attach, type Node, spent } from '../read/read.ts';
import { mostBytes } from '../read/selects.ts';
import { bytesOfJson, parts } from '../sizes.ts';
import { assigned } from './assign.ts';
import { createAll } from './create.ts';
import { mayPass, mustHold } from './holds.ts';
import { actsBelow, lookedUp, ofOne } from './hooked.ts';
import { incremented } from './increments.ts';
import { joinsOf, linkChanges, lostLinks, mayLink } from './links.ts';
import { recompute } from './recompute.ts';
import { referencesExist } from './references.ts';
import { deleteWithDependents } from './referential.ts';
import { leftOut, store } from './storing.ts';
import { change, linkedFirst, relink } from './update.ts';
import { mayRepeat, validCreates, validUpdate } from './validate.ts';

export function* createMany(
  access: Access,
  operation: Permitted<CreateMany>,
  budget: Budget,
): Program<Node[]> {
  const { resource, inputs, selection, through } = operation;
  const records = yield* validCreates(resource, inputs, through);
  yield* inTurns(records, (record) => {
    assigned(access, resource, record);
  });
  const hasHook = access.hooksOf?.(resource)?.beforeCreate !== undefined;
  const isOpen = hasHook || resource.recomputed.length > 0;
  // Before the work: of what will be created, only the ids that the database gives are missing, and those are short.
  if (!isOpen)
    budget.spend(
      records.map(({ values }) => values),
      selection,
    );
  const created = yield* createAll(access, resource, records, (index) => [index]);
  const isActedOn = hasHook || records.some((each) => actsBelow(access, each));
  const nodes = isActedOn ? yield* asStored(access, resource, created) : created;
  yield* (isOpen ? spent : attach)(selection, nodes, budget);
  return nodes;
}

export function* updateMany(
  access: Access,
  operation: Permitted<UpdateMany>,
  budget: Budget,
): Program<Node[]> {
  const { resource, input, selection } = operation;
  const { key } = resource;
  const rows = yield* matching(access, operation, budget);
  const keys = rows.map((row) => row[key.name]);
  yield* mayWrite(access, resource, 'UPDATE', keys);
  const seen = yield* asSeen(access, resource, rows, input);
  const conditions: Demands = new Map();
  yield* inTurns(seen, (row, place) => {
    for (const condition of changedOn(access, resource, input, row)) demand(conditions, condition, place);
  });
  yield* mayWrite(access, resource, 'UPDATE', keys, conditions);
  // Without a record there is nothing that the server assigned: the input is held against the rules all the same.
  const { set, add } = validUpdate(resource, input, seen[0] ?? {});
  mayRepeat(resource, input, seen);
  budget.give(set, rows.length - 1);
  const links = linkChanges(resource, input, []);
  mayLink(budget, links, keys.length);
  if (access.hooksOf?.(resource)?.beforeUpdate) {
    const changed: Node[] = [];
    for (const each of keys) {
      const row = yield* lookedUp(resource, each);
      if (!row) continue;
      if (each !== keys[0]) yield* mayStillWrite(access, resource, 'UPDATE', each);
      changed.push(yield* ofOne(each, change(access, resource, row, input, undefined)));
    }
    const nodes = yield* asStored(access, resource, changed);
    yield* spent(selection, nodes, budget);
    return nodes;
  }
  const of = (fault: Fault, place: number) => ofRecord(fault, keys[place]);
  const sets: Row[] = [];
  const next: Row[] = [];
  yield* inTurns(rows, (row, place) => {
    const own = withoutUnseen(resource, set, row, seen[place] ?? row);
    sets.push(own);
    next.push({ ...row, ...own, ...incremented(resource, add, row, row, (fault) => of(fault, place)) });
  });
  const made = yield* recompute(resource, { ...set, ...add }, next);
  const changes = { ...set, ...add, ...Object.fromEntries(made.map(({ name }) => [name, undefined])) };
  yield* mustHold(resource, next, changes, of);
  mayPass(resource, set, rows, seen, of);
  // A value that must be unique is taken by each of several for the others.
  const isLone = next.length === 1 && conditions.size === 0 && isAlwaysAllowed(access, resource, 'UPDATE');
  const lost = yield* lostLinks(access, links);
  yield* referencesExist(access, resource, set, isLone ? next[0] : undefined, lost);
  const may = yield* mayUpdate(access, resource, next, changes, conditions, joinsOf(links));
  const judged = yield* linkedFirst(access, resource, links, rows, next, may);
  const refusal = judged.isHidden ? notAllowed(access, resource, 'UPDATE') : undefined;
  const changed: Node[] = [];
  for (const [same, group] of alike(sets, next))
    for (const part of parts(group, bytesOfJson))
      changed.push(...(yield* update(resource, same, add, part, made, refusal)));
  // A database answers in any order; the records come in that of their keys.
  const byKey = new Map<unknown, Node>(changed.map((node) => [node[key.name], node]));
  // They are locked, so nobody else has changed or deleted one.
  if (byKey.size < keys.length) throw leftOut(resource);
  for (const row of access.changes?.wants(resource) ? rows : []) {
    const node = byKey.get(row[key.name]);
    if (node) access.changes?.updated(resource, row, node);
  }
  if (links.length > 0 && !judged.linksFirst) yield* relink(access, links, keys, refusal);
  yield* mayHaveUpdated(access, resource, judged);
  const written = keys.flatMap((each): Node[] => [byKey.get(each) ?? []].flat());
  const nodes = actsOn(access, joinsOf(links)) ? yield* asStored(access, resource, written) : written;
  if (access.mayRelease(resource))
    for (const [place, node] of nodes.entries()) noteSeen(resource, node, seen[place] ?? {}, set);
  yield* spent(selection, nodes, budget);
  return nodes;
}

/** Written records as they are in the end, where functions may have written them again since; what is out of sight by then, as it was written. */
function* asStored(access: Access, resource: Resource, nodes: readonly Node[]): Program<Node[]> {
  const { key } = resource;
  const keys = nodes.map((node) => node[key.name]);
  const where = all([among(key, keys), access.rows(resource, 'READ')]);
  const rows = yield* run(select(resource, storedColumns(resource), where));
  const byKey = new Map<unknown, Node>(rows.map((row) => [row[key.name], row]));
  return nodes.map((node) => byKey.get(node[key.name]) ?? node);
}

/** The rows for which the update sets the same. */
function alike(sets: readonly Row[], next: readonly Row[]): Iterable<[Row, readonly Row[]]> {
  const groups = new Map<string, [Row, Row[]]>();
  next.forEach((row, place) => {
    const own = sets[place] ?? {};
    const name = Object.keys(own).join();
    const group = groups.get(name);
    if (group) group[1].push(row);
    else groups.set(name, [own, [row]]);
  });
  return groups.values();
}

function update(
  resource: Resource,
  set: Row,
  add: Row | undefined,
  next: readonly Row[],
  own: readonly Column[],
  refusal: DuetError | undefined,
): Program<Node[]> {
  const where = among(
    resource.key,
    next.map((row) => row[resource.key.name]),
  );
  const statement = {
    do: 'update',
    resource,
    set,
    add,
    where,
    next,
    own,
    ifVersion: undefined,
    counts: true,
  } as const;
  return store(statement, next[0] ?? {}, refusal);
}

/** Answers with the records as they were. */
export function* deleteMany(
  access: Access,
  operation: Permitted<DeleteMany>,
  budget: Budget,
): Program<Node[]> {
  const { resource, selection } = operation;
  const nodes = yield* matching(access, operation, budget);
  const keys = nodes.map((node) => node[resource.key.name]);
  yield* mayWrite(access, resource, 'DELETE', keys);
  yield* spent(selection, nodes, budget);
  if (keys.length > 0) yield* deleteWithDependents(access, resource, keys, change, true);
  return nodes;
}

function* matching(
  access: Access,
  { do: action, resource, where, atMost, atLeast, found = 0 }: Permitted<UpdateMany | DeleteMany>,
  { limits }: Budget,
): Program<Node[]> {
  // A rule may ask for any of them; but that there is too much of what the caller may not read is not for it to know.
  const uncounted = maybeHidden(access, resource);
  const lock = action === 'update many' ? 'change' : true;
  const most = { limit: atMost + 1, bytes: mostBytes(limits), uncounted, lock } as const;
  const rows = yield* run(select(resource, storedColumns(resource), where, most));
  // One of those that were found may have changed since; there were others beside them, which nobody counts again.
  if (Math.max(rows.length, found) > atMost)
    throw new DuetError(
      'TOO_MANY_MATCHES',
      `More than ${atMost} ${resource.plural} match. Narrow the filter, or raise atMost.`,
    );
  if (rows.length < atLeast)
    throw new DuetError(
      'TOO_FEW_MATCHES',
      `Fewer than ${atLeast} ${resource.plural} match. Look again at what is there, or lower atLeast.`,
    );
  return rows;
}
