/** Creates records with all that is nested in them, and judges them before. */

import { DuetError, nested } from '../../base/errors.ts';
import { isEverything } from '../../query/filter.ts';
import type { Column, Reference, Resource } from '../../schema/model.ts';
import { isBound } from '../../schema/transitions.ts';
import type { Row } from '../../storage/statements.ts';
import type { Program } from '../../storage/storage.ts';
import { inTurns } from '../in-turns.ts';
import type { Access } from '../policy/access.ts';
import { mayCreate, mustBeSeen, notAllowed, unseen } from '../policy/judging.ts';
import { isUnchecked } from '../policy/writing.ts';
import type { Node } from '../read/read.ts';
import { Collision, conflict, uniquesOf } from './collision.ts';
import { mustHold, mustStart } from './holds.ts';
import { actsBelow, hookedCreate, lookedUp } from './hooked.ts';
import { atPlaces, type LinkChange, lostLinks } from './links.ts';
import { hasChecksBelow, mustHoldNested } from './nested-checks.ts';
import { computeAll } from './recompute.ts';
import { missingOf, referencesExist } from './references.ts';
import { isNatural, lastVersion } from './remains.ts';
import { insert } from './storing.ts';
import { comingWith, nestedIn, placed, withUntried } from './untried.ts';
import type { NewRecord } from './validate.ts';

type Path = readonly (string | number)[];
type Keys = Map<Resource, unknown[]>;
/** What an operation has created. */
interface Created {
  readonly keys: Keys;
  /** What would have been told if values of one of them were taken: the caller will not see all of it, as things stand. */
  refusal: DuetError | undefined;
  /** What is known to hold beforehand. */
  held?: ReadonlySet<NewRecord>;
}

/** Creates the records of an operation with all that is nested in them. */
export function createAll(
  access: Access,
  resource: Resource,
  records: readonly NewRecord[],
  at: (index: number) => Path,
): Program<Node[]> {
  return creating(access, undefined, function* (created) {
    if (records.some(hasChecksBelow)) created.held = yield* mustHoldNested(access, resource, records, at);
    return yield* createList(access, resource, records, at, created);
  });
}

/**
 * At the end the caller must see every record that was created. Who was not to know whether values are taken is denied whatever goes
 * wrong once they are stored: anything else would tell that they were not. `refusal`: of what was stored before.
 */
export function* creating<T>(
  access: Access,
  refusal: DuetError | undefined,
  program: (created: Created) => Program<T>,
): Program<T> {
  const created: Created = { keys: new Map(), refusal };
  try {
    const result = yield* program(created);
    for (const [target, keys] of created.keys) yield* mustBeSeen(access, target, 'CREATE', keys);
    return result;
  } catch (error) {
    const tells = error instanceof Collision || (error instanceof DuetError && error.status < 500);
    throw (tells && created.refusal) || error;
  }
}

/**
 * The records of one list. Where a function takes part they are created one after the other, so that it sees what was written
 * before; but each is judged as if those before it were not there, since none of a list speaks for another.
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
    const there = new Map(created && Array.from(created.keys, ([target, { length }]) => [target, length]));
    for (const [index, record] of records.entries()) {
      const own = () => at(index);
      const filled = yield* within(own(), hookedCreate(access.caller, resource, record, hook));
      const beside = created ? since(there, created.keys) : new Map();
      nodes.push(...(yield* storeList(access, resource, [filled], own, created, known, outer, beside)));
    }
    return nodes;
  })();
}

/** What was created after there were so many of each. */
function since(there: ReadonlyMap<Resource, number>, created: Keys): Keys {
  const added = Array.from(created, ([target, keys]): [Resource, unknown[]] => [
    target,
    keys.slice(there.get(target) ?? 0),
  ]);
  return new Map(added.filter(([, keys]) => keys.length > 0));
}

/** All of them are judged before any is written, so that none of them speaks for another. */
function* storeList(
  access: Access,
  resource: Resource,
  records: readonly NewRecord[],
  at: (index: number) => Path,
  created: Created | undefined,
  known: Column | undefined,
  outer: DuetError | undefined,
  beside?: Keys,
): Program<Node[]> {
  const [first] = records;
  const areHeld = first !== undefined && created?.held?.has(first) === true;
  if (resource.recomputed.length > 0 && !areHeld)
    yield* inTurns(records, ({ values }) => computeAll(resource, values));
  if (isBound(resource)) {
    const rows = records.map(({ values }) => values);
    // What was held beforehand lacked its reference to the outer record alone.
    const set = areHeld ? { ...(known && { [known.name]: undefined }) } : undefined;
    yield* mustHold(resource, rows, set, (fault, place) => nested(fault, ...at(place)));
    if (!records.some(({ last }) => last)) mustStart(resource, rows, at);
  }
  const judged = access.isFree
    ? yield* referredList(access, resource, records, known)
    : yield* judgedList(access, resource, records, at, known, beside);
  const mayCome = comingWith(records, beside);
  const hidden = judged.filter(({ isHidden }) => isHidden).length;
  const nodes: Node[] = [];
  for (const [index, record] of records.entries()) {
    // Who will not see one of the others is denied all of it in the end: what this one collides with is not to be told.
    const isRefused = hidden > (judged[index]?.isHidden ? 1 : 0);
    const refusal = outer ?? (isRefused ? notAllowed(access, resource, 'CREATE') : undefined);
    const program = createRecord(access, resource, record, created, known, judged[index], refusal);
    try {
      nodes.push(yield* within(at(index), program));
    } catch (error) {
      if (!(error instanceof Collision)) throw error;
      const missing = judged.map((each) => each.missing);
      // Of what leads nowhere yet, no rule was asked.
      const untried = placed(resource, records, missing, at, known, mayCome).flatMap((each, other) =>
        other > index && (access.isFree || missing[other]?.length === 0)
          ? [each, ...nestedIn(access, resource, records[other]?.children ?? [], known, each.path)]
          : [],
      );
      throw error.also(untried);
    }
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
  beside: Keys = new Map(),
): Program<Judged[]> {
  const rows = records.map(({ values }) => values);
  const isBeside = ({ target, column }: Reference, row: Row) =>
    column !== known && beside.get(target)?.includes(row[column.name]) === true;
  const missing = (yield* missingOf(access, resource, rows, known)).map((references, index) => [
    ...references.filter((each) => !records[index]?.brought?.includes(each)),
    ...resource.references.filter((each) => isBeside(each, rows[index] ?? {})),
  ]);
  const mayCome = comingWith(records, beside);
  if (missing.some((references) => references.some((each) => !mayCome(each)))) {
    const all = placed(resource, records, missing, at, known, mayCome);
    const mayBeTold =
      isEverything(access.rows(resource, 'READ')) &&
      records.every(({ given }) => isUnchecked(access, resource, given, known));
    const [first, ...beside] = mayBeTold
      ? all.flatMap((each, index) => [
          each,
          ...nestedIn(access, resource, records[index]?.children ?? [], known, each.path),
        ])
      : [];
    if (first) throw new Collision(resource, first.row, [], { ...first, beside });
    throw conflict(all.flatMap(({ others, path }) => others.map((fault) => nested(fault, ...path))));
  }
  const hidden = yield* mayCreate(access, resource, records, missing, known, beside);
  return missing.map((references, index) => ({ missing: references, isHidden: hidden.has(index) }));
}

/** The record first, and then those that point to it. `known`: the reference to the record that it is nested in. */
export function* createRecord(
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
  const lost = children.length > 0 ? yield* lostLinks(access, linksOf(children)) : [];
  if (missing > 0 || lost.length > 0) {
    const isRefused = judged?.isHidden === true || outer !== undefined;
    const mayBeTold = !isRefused && isUnchecked(access, resource, given, known);
    const looking = referencesExist(access, resource, values, mayBeTold ? values : undefined, lost, known);
    yield* withUntried(access, resource, children, known, looking);
  }
  // What it refers to has come, or has come into sight, since its list was judged.
  if (judged && missing > 0) yield* mayCreate(access, resource, [record], [], known);
  // What was written of its list since then may show it.
  const isHidden = judged?.isHidden === true && (yield* unseen(access, resource, [record])).size > 0;
  const { last = 0 } = record;
  const version = 1 + (isNatural(resource) ? Math.max(last, yield* lastVersion(resource, values)) : last);
  const refusal = isHidden ? notAllowed(access, resource, 'CREATE') : outer;
  const inserting = insert(resource, values, version, refusal);
  const node = yield* withUntried(access, resource, children, known, inserting);
  if (created && refusal && uniquesOf(resource, values).length > 0) created.refusal ??= refusal;
  access.changes?.created(resource, node);
  const key = node[resource.key.name];
  for (const [place, { inverse, records, links }] of children.entries()) {
    const { name, target, reference } = inverse;
    for (const each of records) each.values[reference.column.name] = key;
    const creating = links
      ? atPlaces(
          links.add.map(({ path }) => path),
          createLinks(access, target, records, created, reference.column, refusal),
        )
      : createList(access, target, records, (index) => [name, index], created, reference.column, refusal);
    yield* withUntried(access, resource, children.slice(place + 1), known, creating);
  }
  const stored = actsBelow(access, record) ? ((yield* lookedUp(resource, key)) ?? node) : node;
  if (access.isFree || !created) return stored;
  const keys = created.keys.get(resource);
  if (keys) keys.push(key);
  else created.keys.set(resource, [key]);
  return stored;
}

/** What a new record is linked to and is not created with it: that would have a natural key. */
function linksOf(children: NewRecord['children']): LinkChange[] {
  const hasNested = children.some(({ links }) => !links);
  return children.flatMap(({ links }) => {
    const mayCome = hasNested && links?.through.far.target.key.origin.by === 'client';
    return links && !mayCome ? [links] : [];
  });
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

/** Records of a join type. */
export function createLinks(
  access: Access,
  join: Resource,
  records: readonly NewRecord[],
  created: Created | undefined,
  near: Column,
  refusal?: DuetError,
): Program<Node[]> {
  return createList(access, join, records, (index) => [index], created, near, refusal);
}
