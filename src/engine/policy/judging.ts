/** Whether records may be written as they are about to be: their new values are held against the rules before any is stored. */

import type { Way } from '../../access/rights.ts';
import type { DuetError } from '../../base/errors.ts';
import {
  all,
  among,
  any,
  conditionsOn,
  everything,
  type Filter,
  isEverything,
  not,
  nothing,
  ownColumns,
  replaced,
} from '../../query/filter.ts';
import type { Column, Reference, Resource } from '../../schema/model.ts';
import { type Row, select } from '../../storage/statements.ts';
import type { Program } from '../../storage/storage.ts';
import type { NewRecord } from '../write/validate.ts';
import { type Access, verbs } from './access.ts';
import { type Demands, demand, everywhere, matching, storedMeet, valuesMeet } from './matching.ts';
import { givenOn } from './writing.ts';

/** Refuses records that the caller sees but may not write, by the rule for the action or by what else is demanded of them. */
export function* mayWrite(
  access: Access,
  resource: Resource,
  action: 'UPDATE' | 'DELETE',
  keys: readonly unknown[],
  demands = everywhere(access.rows(resource, action), keys),
): Program<void> {
  if (!(yield* storedMeet(resource, keys, demands)))
    throw access.denied(`You may not ${verbs[action]} this ${resource.singular}.`);
}

/**
 * Refuses new records that no rule lets the caller create, or that it would not see. `missing`: references of each that
 * lead to nothing that is there for the caller. Answers with the places of those that it would not see as things stand:
 * whether their values are taken is not for it to know.
 */
export function* mayCreate(
  access: Access,
  resource: Resource,
  records: readonly NewRecord[],
  missing: readonly (readonly Reference[])[],
  known: Column | undefined,
): Program<ReadonlySet<number>> {
  const demands: Demands = new Map();
  const seen = access.rows(resource, 'READ');
  const isFinal = isSettled(seen, resource, 'CREATE');
  const rules = isFinal ? [access.rows(resource, 'CREATE'), seen] : [access.rows(resource, 'CREATE')];
  records.forEach(({ given }, place) => {
    const names = known ? [...given, known.name] : given;
    for (const where of new Set([...rules, ...givenOn(access, resource, names)]))
      demand(demands, unlinked(where, missing[place] ?? []), place);
  });
  const rows = records.map(({ values }) => values);
  if (!(yield* valuesMeet(resource, rows, demands))) throw notAllowed(access, resource, 'CREATE');
  if (isFinal || !records.some((record) => canCollide(resource, record))) return nowhere;
  return yield* unseen(access, resource, records);
}

/** Whether the record, or what is nested in it, has values that may be taken. */
function canCollide(resource: Resource, { children }: NewRecord): boolean {
  return (
    resource.uniques.length > 0 ||
    resource.key.origin.by === 'client' ||
    children.some(({ inverse, records }) => records.some((each) => canCollide(inverse.target, each)))
  );
}

/** The places of new records that the caller would not see if they were stored now, with what is nested in them. */
export function* unseen(
  access: Access,
  resource: Resource,
  records: readonly NewRecord[],
): Program<ReadonlySet<number>> {
  const seen = access.rows(resource, 'READ');
  if (canHideItself(seen, resource, 'CREATE')) return new Set(records.keys());
  const hidden = new Set<number>();
  const demands: Demands = new Map();
  for (const [place, record] of records.entries())
    demand(
      demands,
      record.children.length > 0 || resource.inverses.length > 0
        ? yield* withNested(access, seen, record)
        : seen,
      place,
    );
  const rows = records.map(({ values }) => values);
  const met = yield* matching(resource, rows, demands);
  for (const [where, places] of demands)
    for (const place of places) if (!met.get(where)?.has(place)) hidden.add(place);
  return hidden;
}

/** What was found of records that are about to be changed. */
export interface MayUpdate {
  /** The keys of those that the caller must see when all is done. */
  readonly mustBeSeen: readonly unknown[];
  /** Whether it would not see one of them as things stand. */
  readonly isHidden: boolean;
  /** What can be told only when all is done. */
  readonly later: Later | undefined;
}

/** Records whose links change too, under rules that look at them. */
interface Later {
  readonly keys: readonly unknown[];
  readonly ways: readonly WayBefore[];
  readonly conditions: Demands;
}

/** A way, and the keys of the records that matched it before. */
interface WayBefore {
  readonly way: Way;
  readonly keys: ReadonlySet<unknown>;
}

/** The same for records that are changed; `set` has what changes, and maybe more. */
export function* mayUpdate(
  access: Access,
  resource: Resource,
  rows: readonly Row[],
  set: Row,
  conditions: Demands,
  relinks: boolean,
): Program<MayUpdate> {
  const changes = (where: Filter) =>
    [...ownColumns(where, resource)].some(({ name }) => Object.hasOwn(set, name));
  const seen = access.rows(resource, 'READ');
  const isFinal = isSettled(seen, resource, 'UPDATE');
  const isUnique = resource.uniques.some(({ columns }) =>
    columns.some(({ name }) => Object.hasOwn(set, name)),
  );
  const filters = filtersOf(access, resource, conditions);
  // What new links change can be judged only when they are there.
  const isLater = relinks && filters.some(hasRelations);
  if (isLater && !filters.some(changes))
    return yield* judgedLater(access, resource, rows, conditions, isUnique);
  const { places, where: rule } = yield* notReleased(access, resource, rows);
  const demands: Demands = new Map(conditions);
  for (const where of isFinal ? [rule, seen] : [rule])
    for (const place of places) demand(demands, where, place);
  // The rest was asked of the records as they were, and what it hangs on stays.
  for (const where of demands.keys()) if (!changes(where)) demands.delete(where);
  // Before they are stored: a record's new values must not speak for it, whatever else is judged later.
  if (!(yield* valuesMeet(resource, rows, demands))) throw notAllowed(access, resource, 'UPDATE');
  if (isLater) return yield* judgedLater(access, resource, rows, conditions, isUnique);
  const held = places.map((place) => rows[place] ?? {});
  const keys = held.map((row) => row[resource.key.name]);
  const isHidden = !isFinal && isUnique && held.length > 0 && !(yield* wouldBeSeen(seen, resource, held));
  return { mustBeSeen: keys, isHidden, later: undefined };
}

/** Whether the caller would see changed records as things stand. */
function* wouldBeSeen(seen: Filter, resource: Resource, rows: readonly Row[]): Program<boolean> {
  if (canHideItself(seen, resource, 'UPDATE')) return false;
  const keys = rows.map((row) => row[resource.key.name]);
  return yield* valuesMeet(resource, rows, everywhere(withoutOld(seen, resource, keys), rows));
}

function* judgedLater(
  access: Access,
  resource: Resource,
  rows: readonly Row[],
  conditions: Demands,
  isUnique: boolean,
): Program<MayUpdate> {
  const keys = rows.map((row) => row[resource.key.name]);
  const later = { keys, ways: yield* waysBefore(access.ways(resource), resource, keys), conditions };
  const seen = access.rows(resource, 'READ');
  const isHidden = isUnique && !(yield* wouldBeSeen(seen, resource, rows));
  return { mustBeSeen: [], isHidden, later };
}

/** All that the rules ask of a record that is changed. */
function filtersOf(access: Access, resource: Resource, conditions: Demands): readonly Filter[] {
  const ways = access.ways(resource).flatMap(({ where, check }) => (check ? [where, check] : [where]));
  return [...ways, access.rows(resource, 'READ'), ...conditions.keys()];
}

/** Refuses updates that the rules do not allow, or whose records the caller does not see, now that all is done. */
export function* mayHaveUpdated(access: Access, resource: Resource, judged: MayUpdate): Program<void> {
  const { later } = judged;
  if (!later) return yield* mustBeSeen(access, resource, 'UPDATE', judged.mustBeSeen);
  const { keys, ways, conditions } = later;
  const { key } = resource;
  const released = new Set<unknown>();
  for (const { way, keys: before } of ways)
    if (way.check) {
      const where = all([among(key, [...before]), way.check]);
      const [rows = []] = yield [select(resource, [key], where)];
      for (const row of rows) released.add(row[key.name]);
    }
  const left = keys.filter((each) => !released.has(each));
  const plain = ways.find(({ way }) => !way.check);
  const demands: Demands = new Map(everywhere(plain?.way.where ?? nothing, left));
  for (const [where, places] of everywhere(access.rows(resource, 'READ'), left)) demands.set(where, places);
  const isAllowed =
    left.every((each) => plain?.keys.has(each)) &&
    (yield* storedMeet(resource, left, demands)) &&
    (yield* storedMeet(resource, keys, conditions));
  if (!isAllowed) throw notAllowed(access, resource, 'UPDATE');
}

function* waysBefore(
  ways: readonly Way[],
  resource: Resource,
  keys: readonly unknown[],
): Program<readonly WayBefore[]> {
  const { key } = resource;
  const before = yield ways.map(({ where }) => select(resource, [key], all([among(key, keys), where])));
  return ways.map((way, index) => ({ way, keys: new Set(before[index]?.map((row) => row[key.name])) }));
}

/**
 * The records that no rule with a check releases, and what they must match: that rule asks for what a record was and for what it
 * becomes, and then it may leave the caller's sight.
 */
function* notReleased(
  access: Access,
  resource: Resource,
  rows: readonly Row[],
): Program<{ readonly places: readonly number[]; readonly where: Filter }> {
  const ways = access.ways(resource);
  const places = [...rows.keys()];
  const [first] = ways;
  if (ways.length === 1 && first && !first.check) return { places, where: first.where };
  const keys = rows.map((row) => row[resource.key.name]);
  const plain = ways.find(({ check }) => !check);
  const was = yield* waysBefore(ways, resource, keys);
  const demands: Demands = new Map();
  for (const { way, keys: matched } of was)
    for (const place of way.check ? places : [])
      if (matched.has(keys[place])) demand(demands, way.check ?? nothing, place);
  const met = yield* matching(resource, rows, demands);
  const isReleased = (place: number) =>
    was.some(
      ({ way: { check }, keys: matched }) =>
        check && matched.has(keys[place]) && (isEverything(check) || met.get(check)?.has(place)),
    );
  const left = places.filter((place) => !isReleased(place));
  const wasPlain = was.find(({ way }) => way === plain)?.keys;
  if (!left.every((place) => wasPlain?.has(keys[place]))) throw notAllowed(access, resource, 'UPDATE');
  return { places: left, where: plain?.where ?? nothing };
}

/** Refuses what was written when the caller does not see it now that all is done. */
export function* mustBeSeen(
  access: Access,
  resource: Resource,
  action: 'CREATE' | 'UPDATE',
  keys: readonly unknown[],
): Program<void> {
  const seen = access.rows(resource, 'READ');
  if (isSettled(seen, resource, action)) return;
  if (!(yield* storedMeet(resource, keys, everywhere(seen, keys))))
    throw notAllowed(access, resource, action);
}

/** Worded alike whatever the reason: whoever is not to see a record is not told which of its values are taken either. */
export function notAllowed(access: Access, resource: Resource, action: 'CREATE' | 'UPDATE'): DuetError {
  const made = action === 'CREATE' ? 'new' : 'updated';
  return access.denied(`The ${made} ${resource.singular} would violate an access rule.`);
}

const nowhere: ReadonlySet<number> = new Set();

/** Whether the values of a record alone decide, so that nothing which is written along with it can change the answer. */
function isSettled(where: Filter, resource: Resource, action: 'CREATE' | 'UPDATE'): boolean {
  if (hasRelations(where)) return false;
  const { key } = resource;
  // The database gives it only as it stores the record.
  return action === 'UPDATE' || key.origin.by !== 'serial' || !ownColumns(where, resource).has(key);
}

function hasRelations(filter: Filter): boolean {
  return conditionsOn(filter).some((each) => 'where' in each);
}

/** Whether a record that is stored can be what keeps itself from being seen: no look at its values alone can tell. */
function canHideItself(
  filter: Filter,
  resource: Resource,
  action: 'CREATE' | 'UPDATE',
  positive = true,
): boolean {
  switch (filter.is) {
    case 'all':
    case 'any':
      return filter.of.some((each) => canHideItself(each, resource, action, positive));
    case 'not':
      return canHideItself(filter.of, resource, action, !positive);
    case 'related':
    case 'some': {
      // Nothing that is stored refers to a record that is not: only lists lead to a new one.
      const leadsBack = filter.field.target === resource && (filter.is === 'some' || action === 'UPDATE');
      return (!positive && leadsBack) || canHideItself(filter.where, resource, action, positive);
    }
    default:
      return false;
  }
}

/** The filter as if these records were gone: as they were, they are not what makes anything seen any more. */
function withoutOld(filter: Filter, resource: Resource, keys: readonly unknown[]): Filter {
  return replaced(filter, (each) => {
    if (each.is !== 'some' && each.is !== 'related') return each;
    const where = withoutOld(each.where, resource, keys);
    if (each.field.target !== resource) return { ...each, where };
    return { ...each, where: all([where, not(among(resource.key, keys))]) };
  });
}

/** The filter where these references lead nowhere: what one may not see is not there, and must not decide anything. */
function unlinked(filter: Filter, references: readonly Reference[]): Filter {
  if (references.length === 0) return filter;
  return replaced(filter, (each) =>
    each.is === 'related' && references.includes(each.field) ? nothing : each,
  );
}

/** The filter for a new record whose lists hold what is nested in it, as far as that is sure to be written. */
function* withNested(access: Access, filter: Filter, record: NewRecord): Program<Filter> {
  switch (filter.is) {
    case 'all':
    case 'any': {
      const of: Filter[] = [];
      for (const each of filter.of) of.push(yield* withNested(access, each, record));
      return filter.is === 'all' ? all(of) : any(of);
    }
    case 'not':
      return not(yield* withNested(access, filter.of, record));
    case 'some': {
      const { target, reference } = filter.field;
      const list = record.children.find(({ inverse }) => inverse === filter.field)?.records ?? [];
      for (const each of list) {
        const rules = new Set([
          ...(['CREATE', 'READ'] as const).map((action) => access.rows(target, action)),
          ...givenOn(access, target, [...each.given, reference.column.name]),
        ]);
        // What looks around is judged when this record is there: nobody can tell before.
        if ([...rules].some((where) => !isSettled(where, target, 'CREATE'))) continue;
        const wanted = yield* withNested(access, filter.where, each);
        const demands: Demands = new Map();
        for (const where of [wanted, ...rules]) demand(demands, where, 0);
        if (yield* valuesMeet(target, [each.values], demands)) return everything;
      }
      return nothing;
    }
    default:
      return filter;
  }
}
