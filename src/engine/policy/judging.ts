/** Whether records may be written as they are about to be: their new values are held against the rules before any is stored. */

import type { DuetError } from '../../base/errors.ts';
import {
  all,
  among,
  any,
  conditionsOn,
  everything,
  type Filter,
  not,
  nothing,
  ownColumns,
  replaced,
} from '../../query/filter.ts';
import type { Column, Reference, Resource } from '../../schema/model.ts';
import type { Program } from '../../storage/storage.ts';
import { missingOf } from '../write/references.ts';
import type { NewRecord } from '../write/validate.ts';
import { type Access, verbs } from './access.ts';
import { type Demands, demand, everywhere, matching, sharing, storedMeet, valuesMeet } from './matching.ts';
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

/** Refuses a record that the caller saw and might write when the request began, and that a function has made another's since. */
export function mayStillWrite(
  access: Access,
  resource: Resource,
  action: 'UPDATE' | 'DELETE',
  key: unknown,
): Program<void> {
  const where = all([access.rows(resource, 'READ'), access.rows(resource, action)]);
  return mayWrite(access, resource, action, [key], everywhere(where, [key]));
}

/**
 * Refuses new records that no rule lets the caller create, or that it would not see. `missing`: references of each that
 * lead to nothing that is there for the caller. `beside`: the keys of what is to be judged as if it were not there. Answers with the places of those that it would not see as things stand:
 * whether their values are taken is not for it to know.
 */
export function* mayCreate(
  access: Access,
  resource: Resource,
  records: readonly NewRecord[],
  missing: readonly (readonly Reference[])[],
  known: Column | undefined,
  beside: ReadonlyMap<Resource, readonly unknown[]> = new Map(),
): Program<ReadonlySet<number>> {
  const demands: Demands = new Map();
  const seen = access.rows(resource, 'READ');
  const isFinal = isSettled(seen, resource, 'CREATE');
  const rules = isFinal ? [access.rows(resource, 'CREATE'), seen] : [access.rows(resource, 'CREATE')];
  const shared = sharing();
  records.forEach(({ given }, place) => {
    const names = known ? [...given, known.name] : given;
    for (const where of new Set([...rules, ...givenOn(access, resource, names)])) {
      const asked = without(unlinked(where, missing[place] ?? []), beside);
      demand(demands, asked === where ? where : shared(asked), place);
    }
  });
  const rows = records.map(({ values }) => values);
  if (!(yield* valuesMeet(resource, rows, demands))) throw notAllowed(access, resource, 'CREATE');
  if (isFinal || !records.some((record) => canCollide(resource, record))) return nowhere;
  return yield* unseen(access, resource, records, missing);
}

/** Whether the record, or what is nested in it, has values that may be taken. */
function canCollide(resource: Resource, { children }: NewRecord): boolean {
  return (
    resource.uniques.length > 0 ||
    resource.key.origin.by === 'client' ||
    children.some(({ inverse, records }) => records.some((each) => canCollide(inverse.target, each)))
  );
}

/** The places of new records that the caller would not see if they were stored now, with what is nested in them. `missing` as above. */
export function* unseen(
  access: Access,
  resource: Resource,
  records: readonly NewRecord[],
  missing: readonly (readonly Reference[])[] = [],
): Program<ReadonlySet<number>> {
  const seen = access.rows(resource, 'READ');
  if (canHideItself(seen, resource, 'CREATE')) return new Set(records.keys());
  const hidden = new Set<number>();
  const demands: Demands = new Map();
  const lost = hasRelations(seen) ? yield* lostNested(access, records) : none;
  const shared = sharing();
  let ofBare: Filter | undefined;
  for (const [place, record] of records.entries()) {
    const isBare = record.children.length === 0;
    const nested = (isBare && ofBare) || (yield* withNested(access, seen, record, lost));
    if (isBare) ofBare = nested;
    const where = unlinked(nested, missing[place] ?? []);
    demand(demands, where === ofBare ? where : shared(where), place);
  }
  const rows = records.map(({ values }) => values);
  const met = yield* matching(resource, rows, demands);
  for (const [where, places] of demands)
    for (const place of places) if (!met.get(where)?.has(place)) hidden.add(place);
  return hidden;
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
const none: ReadonlySet<NewRecord> = new Set();

/** Whether the values of a record alone decide, so that nothing which is written along with it can change the answer. */
export function isSettled(where: Filter, resource: Resource, action: 'CREATE' | 'UPDATE'): boolean {
  if (hasRelations(where)) return false;
  const { key } = resource;
  // The database gives it only as it stores the record.
  return action === 'UPDATE' || key.origin.by !== 'serial' || !ownColumns(where, resource).has(key);
}

function hasRelations(filter: Filter): boolean {
  return conditionsOn(filter).some((each) => 'where' in each);
}

/** Whether a record that is stored can be what keeps itself from being seen: no look at its values alone can tell. */
export function canHideItself(
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

/** The filter where these references lead nowhere: what one may not see is not there, and must not decide anything. */
function unlinked(filter: Filter, references: readonly Reference[]): Filter {
  if (references.length === 0) return filter;
  return replaced(filter, (each) =>
    each.is === 'related' && references.includes(each.field) ? nothing : each,
  );
}

/** The filter where no relation leads to these. */
function without(filter: Filter, keys: ReadonlyMap<Resource, readonly unknown[]>): Filter {
  if (keys.size === 0) return filter;
  return replaced(filter, (each) => {
    if (!('where' in each)) return each;
    const { target } = each.field;
    const own = keys.get(target);
    const where = without(each.where, keys);
    return { ...each, where: own ? all([where, not(among(target.key, own))]) : where };
  });
}

/** What is nested in these and refers to what is not there for the caller: it will not be written, and decides nothing. */
function* lostNested(access: Access, records: readonly NewRecord[]): Program<ReadonlySet<NewRecord>> {
  const lists = new Map<NewRecord['children'][number]['inverse'], NewRecord[]>();
  for (const { children } of records)
    for (const { inverse, records: nested } of children) {
      const list = lists.get(inverse) ?? [];
      for (const each of nested) list.push(each);
      lists.set(inverse, list);
    }
  const lost = new Set<NewRecord>();
  for (const [{ target, reference }, list] of lists) {
    const rows = list.map(({ values }) => values);
    const missing = yield* missingOf(access, target, rows, reference.column);
    for (const [index, each] of list.entries()) if (missing[index]?.length !== 0) lost.add(each);
    for (const each of yield* lostNested(access, list)) lost.add(each);
  }
  return lost;
}

/**
 * The filter for a new record whose lists hold what is nested in it, as far as that is sure to be written; where it would hide
 * the record (not `positive`), as far as it may be.
 */
function* withNested(
  access: Access,
  filter: Filter,
  record: NewRecord,
  lost: ReadonlySet<NewRecord>,
  positive = true,
): Program<Filter> {
  switch (filter.is) {
    case 'all':
    case 'any': {
      const of: Filter[] = [];
      for (const each of filter.of) of.push(yield* withNested(access, each, record, lost, positive));
      return filter.is === 'all' ? all(of) : any(of);
    }
    case 'not':
      return not(yield* withNested(access, filter.of, record, lost, !positive));
    case 'some': {
      const { target, reference } = filter.field;
      const list = record.children.find(({ inverse }) => inverse === filter.field)?.records ?? [];
      for (const each of list) {
        if (lost.has(each)) continue;
        const rules = new Set([
          ...(['CREATE', 'READ'] as const).map((action) => access.rows(target, action)),
          ...givenOn(access, target, [...each.given, reference.column.name]),
        ]);
        // What looks around is judged when this record is there: nobody can tell before.
        const isSure = [...rules].every((where) => isSettled(where, target, 'CREATE'));
        if (!isSure && positive) continue;
        const wanted = yield* withNested(access, filter.where, each, lost, positive);
        const demands: Demands = new Map();
        for (const where of isSure ? [wanted, ...rules] : [wanted]) demand(demands, where, 0);
        if (yield* valuesMeet(target, [each.values], demands)) return everything;
      }
      return nothing;
    }
    default:
      return filter;
  }
}
