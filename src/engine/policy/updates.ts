/** Whether records may be changed as they are about to be: by what they were, what they become, and whether they are seen then. */

import type { Way } from '../../access/rights.ts';
import {
  all,
  among,
  conditionsOn,
  type Filter,
  isEverything,
  not,
  nothing,
  ownColumns,
  reached,
  replaced,
} from '../../query/filter.ts';
import type { Column, Resource } from '../../schema/model.ts';
import { type Row, select } from '../../storage/statements.ts';
import type { Program } from '../../storage/storage.ts';
import type { Access } from './access.ts';
import { canHideItself, isSettled, mustBeSeen, notAllowed } from './judging.ts';
import { type Demands, demand, everywhere, matching, storedMeet, valuesMeet } from './matching.ts';

/** What was found of records that are about to be changed. */
export interface MayUpdate {
  /** The keys of those that the caller must see when all is done. */
  readonly mustBeSeen: readonly unknown[];
  /** Whether it would not see one of them as things stand. */
  readonly isHidden: boolean;
  /** What can be told only when their links are as they will be; and, by filter, the keys of those whose new values meet it as things stand. */
  readonly later: (Later & { readonly met: ReadonlyMap<Filter, ReadonlySet<unknown>> }) | undefined;
  /** Whether that must be before they are stored: with the links that they have, they may not be. See `mayUpdateLinked`. */
  readonly linksFirst: boolean;
}

/** Records whose links change too, under rules that look at them. */
interface Later {
  readonly keys: readonly unknown[];
  readonly ways: readonly WayBefore[];
  readonly conditions: Demands;
  readonly isUnique: boolean;
  /** Whether a filter may have come to say something else, once they are there. */
  readonly mayTurn: (where: Filter) => boolean;
}

/** A way, and the keys of the records that matched it before. */
interface WayBefore {
  readonly way: Way;
  readonly keys: ReadonlySet<unknown>;
}

/**
 * Refuses changes that no rule lets the caller make, or after which it would not see the records. `set` has what changes, and
 * maybe more; `links`: the join types whose records come or go with it.
 */
export function* mayUpdate(
  access: Access,
  resource: Resource,
  rows: readonly Row[],
  set: Row,
  conditions: Demands,
  links: readonly Resource[],
): Program<MayUpdate> {
  const changes = (where: Filter) =>
    [...ownColumns(where, resource)].some(({ name }) => Object.hasOwn(set, name));
  const seen = access.rows(resource, 'READ');
  const isFinal = isSettled(seen, resource, 'UPDATE');
  const isUnique = resource.uniques.some(({ columns }) =>
    columns.some(({ name }) => Object.hasOwn(set, name)),
  );
  const looksAtLinks = (where: Filter) => links.some((join) => reached(where).has(join));
  if (filtersOf(access, resource, conditions).some(looksAtLinks)) {
    const mayTurn = actsOn(access, links) ? () => true : looksAtLinks;
    return yield* asLinked(access, resource, rows, { conditions, isUnique, mayTurn });
  }
  const held = yield* notReleased(access, resource, rows);
  if (!held) throw notAllowed(access, resource, 'UPDATE');
  const { places, where: rule } = held;
  const demands: Demands = new Map(conditions);
  for (const where of isFinal ? [rule, seen] : [rule])
    for (const place of places) demand(demands, where, place);
  // The rest was asked of the records as they were, and what it hangs on stays.
  for (const where of demands.keys()) if (!changes(where)) demands.delete(where);
  // Before they are stored: a record's new values must not speak for it.
  if (!(yield* valuesMeet(resource, rows, demands))) throw notAllowed(access, resource, 'UPDATE');
  const left = places.map((place) => rows[place] ?? {});
  const keys = left.map((row) => row[resource.key.name]);
  // What no change decides is seen as it was: whoever changes a record sees it.
  const mayHide = !isFinal && isUnique && left.length > 0 && hangsOn(seen, resource, set);
  const isHidden = mayHide && !(yield* wouldBeSeen(access, resource, left));
  return { mustBeSeen: keys, isHidden, later: undefined, linksFirst: false };
}

/** Whether one of these columns of this type decides, wherever the filter comes to its records. */
function hangsOn(filter: Filter, resource: Resource, set: Row, on = resource): boolean {
  const isSet = ({ name }: Column) => Object.hasOwn(set, name);
  if (on === resource && [...ownColumns(filter, resource)].some(isSet)) return true;
  return conditionsOn(filter).some((each) => {
    if (!('where' in each)) return false;
    const { field, where } = each;
    const isOwn = each.is === 'some' && field.target === resource && isSet(each.field.reference.column);
    return isOwn || hangsOn(where, resource, set, field.target);
  });
}

/** Whether the caller would see changed records as things stand. */
function* wouldBeSeen(access: Access, resource: Resource, rows: readonly Row[]): Program<boolean> {
  const seen = access.rows(resource, 'READ');
  if (rows.length === 0) return true;
  if (canHideItself(seen, resource, 'UPDATE')) return false;
  const keys = rows.map((row) => row[resource.key.name]);
  return yield* valuesMeet(resource, rows, everywhere(withoutOld(seen, resource, keys), rows));
}

/**
 * Of records whose links change too, under rules that look at those. Who may change them as they are linked does so, and must
 * leave them as the rules say. Otherwise the links come first: what is stored before it was judged could be what lets its links in,
 * and these what lets it in.
 */
function* asLinked(
  access: Access,
  resource: Resource,
  rows: readonly Row[],
  asked: Omit<Later, 'keys' | 'ways'>,
): Program<MayUpdate> {
  const keys = rows.map((row) => row[resource.key.name]);
  const ways = yield* waysBefore(access.ways(resource), resource, keys);
  const later: Later = { keys, ways, ...asked };
  const left = yield* heldNow(access, resource, rows, later);
  const isSeen = left && (yield* wouldBeSeen(access, resource, left));
  const met = yield* metBy(resource, rows, [
    ...alternatives(plainOf(ways)?.way.where ?? nothing),
    ...ways.flatMap(({ way }) => way.check ?? []),
  ]);
  return { mustBeSeen: [], isHidden: false, later: { ...later, met }, linksFirst: !isSeen };
}

const alternatives = (rule: Filter) => (rule.is === 'any' ? rule.of : [rule]);

/** The keys of the records whose new values meet these filters as things stand. */
function* metBy(
  resource: Resource,
  rows: readonly Row[],
  filters: readonly Filter[],
): Program<ReadonlyMap<Filter, ReadonlySet<unknown>>> {
  const demands: Demands = new Map();
  for (const where of new Set(filters)) for (const place of rows.keys()) demand(demands, where, place);
  const met = yield* matching(resource, rows, demands);
  const places = (where: Filter) => (isEverything(where) ? rows.keys() : (met.get(where) ?? []));
  const keyAt = (place: number) => rows[place]?.[resource.key.name];
  return new Map(filters.map((where) => [where, new Set(Array.from(places(where), keyAt))]));
}

const plainOf = (ways: readonly WayBefore[]) => ways.find(({ way }) => !way.check);

/** Whether links may change the records that they belong to, by their functions or by going. */
export function actsOn(access: Access, joins: readonly Resource[]): boolean {
  return joins.some((join) => join.pointedAtBy.length > 0 || access.hooksOf?.(join)?.ask === true);
}

/** Refuses changes of records that are linked as they will be, and not stored yet. */
export function* mayUpdateLinked(
  access: Access,
  resource: Resource,
  rows: readonly Row[],
  later: Later,
): Program<MayUpdate> {
  const left = yield* heldNow(access, resource, rows, later);
  if (!left) throw notAllowed(access, resource, 'UPDATE');
  const isSeen = yield* wouldBeSeen(access, resource, left);
  // Where its own values decide that, nobody asks when all is done.
  if (!isSeen && isSettled(access.rows(resource, 'READ'), resource, 'UPDATE'))
    throw notAllowed(access, resource, 'UPDATE');
  const keys = left.map((row) => row[resource.key.name]);
  return { mustBeSeen: keys, isHidden: later.isUnique && !isSeen, later: undefined, linksFirst: true };
}

/** The records that must be seen when all is done; undefined where they may not be changed as things stand. */
function* heldNow(
  access: Access,
  resource: Resource,
  rows: readonly Row[],
  { ways, conditions }: Later,
): Program<readonly Row[] | undefined> {
  const held = yield* notReleased(access, resource, rows, ways);
  if (!held) return undefined;
  const demands: Demands = new Map(conditions);
  for (const place of held.places) demand(demands, held.where, place);
  if (!(yield* valuesMeet(resource, rows, demands))) return undefined;
  return held.places.map((place) => rows[place] ?? {});
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
  const { keys, ways, conditions, mayTurn, met } = later;
  const { key } = resource;
  /** What no link decides holds as it was found; what leads back to the records must have been met without their new values, too. */
  const holds = function* (where: Filter, of: readonly unknown[]): Program<readonly unknown[]> {
    const before = met.get(where);
    const asked =
      !mayTurn(where) || reached(where).has(resource) ? of.filter((each) => before?.has(each)) : of;
    if (asked.length === 0 || !mayTurn(where)) return asked;
    const [rows = []] = yield [select(resource, [key], all([among(key, asked), where]))];
    return rows.map((row) => row[key.name]);
  };
  const released = new Set<unknown>();
  for (const { way, keys: before } of ways)
    if (way.check) for (const each of yield* holds(way.check, [...before])) released.add(each);
  const left = keys.filter((each) => !released.has(each));
  const plain = plainOf(ways);
  const allowed = new Set<unknown>();
  for (const where of alternatives(plain?.way.where ?? nothing))
    for (const each of yield* holds(where, left)) allowed.add(each);
  const demands: Demands = new Map();
  // It may be the same filter, and is asked of all of them.
  for (const [where, places] of everywhere(access.rows(resource, 'READ'), left)) demands.set(where, places);
  const turned: Demands = new Map([...conditions].filter(([where]) => mayTurn(where)));
  const isAllowed =
    left.every((each) => plain?.keys.has(each) && allowed.has(each)) &&
    (yield* storedMeet(resource, left, demands)) &&
    (yield* storedMeet(resource, keys, turned));
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
 * becomes, and then it may leave the caller's sight. Undefined where no rule is left for one of them.
 */
function* notReleased(
  access: Access,
  resource: Resource,
  rows: readonly Row[],
  before?: readonly WayBefore[],
): Program<{ readonly places: readonly number[]; readonly where: Filter } | undefined> {
  const ways = access.ways(resource);
  const places = [...rows.keys()];
  const [first] = ways;
  if (ways.length === 1 && first && !first.check) return { places, where: first.where };
  const keys = rows.map((row) => row[resource.key.name]);
  const was = before ?? (yield* waysBefore(ways, resource, keys));
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
  const plain = plainOf(was);
  if (!left.every((place) => plain?.keys.has(keys[place]))) return undefined;
  return { places: left, where: plain?.way.where ?? nothing };
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
