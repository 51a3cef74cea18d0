/** What reads ask the storage for, made once for each operation, selection and relation. */

import { type Abridged, isAbridged } from '../../query/cursors.ts';
import { all, equal, type Filter } from '../../query/filter.ts';
import type { ListQuery } from '../../query/list.ts';
import { type Order, type Place, reversed } from '../../query/order.ts';
import type { Column, Resource } from '../../schema/model.ts';
import {
  type Per,
  PLACEHOLDER,
  type Prefetch,
  parentOf,
  type Select,
  select,
} from '../../storage/statements.ts';
import { type AnswerLimits, mostRows } from '../budget.ts';
import type { Get, List, Relation, Selection } from '../operation.ts';
import type { Permitted } from '../policy/permitted.ts';

/** Doors keep these and hand them in again. */
const made = new WeakMap<List | Selection | Relation, Select>();

function madeFor(
  whom: List | Selection | Relation,
  most: number | undefined,
  bytes: number | undefined,
  passes: boolean,
  make: () => Select,
): Select {
  let select = made.get(whom);
  if (!select || select.most !== most || select.bytes !== bytes || select.passes !== passes) {
    select = make();
    made.set(whom, select);
  }
  return select;
}

/** `limits` are those of a whole answer, and with it of each list below. */
export function selectList(operation: List, most: number, limits: AnswerLimits): Select {
  const bytes = mostBytes(limits);
  const { passes = false } = limits;
  return madeFor(operation, most, bytes, passes, () => {
    const { resource, selection, list: query, places } = operation;
    const { order, backwards, limit, offset } = query;
    const columns = needed(resource, selection);
    const [after, before] = [found(query.after), found(query.before)];
    return select(resource, places ? withPlaces(columns, order) : columns, listedBy(query), {
      order: backwards ? reversed(order) : order,
      after: backwards ? before : after,
      before: backwards ? after : before,
      offset,
      most,
      bytes,
      passes,
      prefetch: prefetched(selection, limits, limit),
    });
  });
}

/** What one caller sees is another selection than what others see, even where the same columns are wanted. */
const madeSeen = new WeakMap<Filter, WeakMap<Selection, Select>>();

export function selectByKey({ resource, selection, seen }: Permitted<Get>, limits: AnswerLimits): Select {
  const known = seen ? madeSeen.get(seen) : made;
  const found = known?.get(selection);
  const { passes = false } = limits;
  if (found?.passes === passes) return found;
  const byKey = select(resource, needed(resource, selection), all([equal(resource.key, PLACEHOLDER), seen]), {
    passes,
    prefetch: prefetched(selection, limits),
  });
  if (known) known.set(selection, byKey);
  else if (seen) madeSeen.set(seen, new WeakMap([[selection, byKey]]));
  return byKey;
}

/**
 * What a statement may answer with: beyond that, the budget would refuse it for certain. Databases count JSON as they write
 * it themselves, with spaces and without exponents.
 */
export function mostBytes({ bytes }: AnswerLimits): number | undefined {
  return Number.isFinite(bytes) ? 3 * bytes : undefined;
}

/** The column of the parent whose value leads to the related records. */
export function near({ field }: Relation): Column {
  if (field.kind === 'reference') return field.column;
  return (field.kind === 'through' ? field.links : field).reference.target.key;
}

/** The column of the related records that the value is found in. */
export function far({ field }: Relation): Column {
  if (field.kind === 'reference') return field.target.key;
  return field.kind === 'through' ? parentOf(field.links.reference.column) : field.reference.column;
}

/** How the lists of some records are told apart. */
export function perOf(relation: Relation): Per {
  const { field, seenLinks: where } = relation;
  if (field.kind !== 'through') return { column: far(relation), values: PLACEHOLDER };
  const { target: resource, reference } = field.links;
  return {
    column: reference.column,
    values: PLACEHOLDER,
    through: { resource, far: field.far.column, where },
  };
}

/** One more than fits, so that too many can be told from just enough. */
export function selectRelated(relation: Relation, limits: AnswerLimits): Select {
  const { field, selection, list: query } = relation;
  const isAnswered = field.kind === 'inverse' && query?.limit === undefined && !relation.paged;
  const most = Math.min(
    limits.objects + 1,
    isAnswered ? mostRows(limits, selection) : Number.POSITIVE_INFINITY,
  );
  const bytes = mostBytes(limits);
  const { passes = false } = limits;
  return madeFor(relation, most, bytes, passes, () => {
    const { seen } = relation;
    const column = far(relation);
    // A record that many lead to is told by its key.
    const extra = field.kind === 'through' ? [column, field.target.key] : [column];
    const columns = needed(field.target, selection, extra);
    const rest = {
      per: perOf(relation),
      most,
      bytes,
      passes,
      prefetch: prefetched(selection, limits),
    };
    if (!query) return select(field.target, columns, seen, rest);
    const { order, offset, backwards } = query;
    // What is left out is left out for each parent, as a limit is.
    const limit = query.limit ?? (offset > 0 ? most : undefined);
    const [after, before] = [found(query.after), found(query.before)];
    const all = relation.paged?.places ? withPlaces(columns, order) : columns;
    return select(field.target, all, listedBy(query), {
      order: backwards ? reversed(order) : order,
      after: backwards ? before : after,
      before: backwards ? after : before,
      limit,
      offset,
      ...rest,
    });
  });
}

const madeBeyond = new WeakMap<Select, Select>();

/** The first row beyond the page of each record, where anybody wants to know whether there is one. */
export function selectBeyond(relation: Relation, limits: AnswerLimits): Select | undefined {
  const { list, paged } = relation;
  if (!paged?.more || list?.limit === undefined) return undefined;
  const page = selectRelated(relation, limits);
  let beyond = madeBeyond.get(page);
  if (!beyond) {
    const offset = list.offset + list.limit;
    beyond = { ...page, columns: [far(relation)], limit: 1, offset, bytes: undefined, prefetch: [] };
    madeBeyond.set(page, beyond);
  }
  return beyond;
}

function listedBy({ where, within }: ListQuery): Filter {
  return within ? all([where, within]) : where;
}

function found(place: Place | Abridged | undefined): Place | undefined {
  if (isAbridged(place)) throw new Error('a place is to be found before it is asked for');
  return place;
}

/** What lies below guarded records is not known before their guards are settled: what they hide is not followed. */
function prefetched(
  { relations, guards }: Selection,
  limits: AnswerLimits,
  first?: number,
): readonly Prefetch[] {
  if (guards) return [];
  return relations.flatMap((relation) => {
    if (relation.summary) return [];
    const of = (select: Select) => ({ near: near(relation), first, select });
    const beyond = selectBeyond(relation, limits);
    return [of(selectRelated(relation, limits)), ...(beyond ? [of(beyond)] : [])];
  });
}

function withPlaces(columns: readonly Column[], order: Order): readonly Column[] {
  const missing = order.flatMap(({ column }) => (columns.includes(column) ? [] : [column]));
  return missing.length > 0 ? [...columns, ...missing] : columns;
}

const neededBySelection = new WeakMap<Selection, readonly Column[]>();

/** The columns to read for a selection: those asked for, and those that relations hang on; guards read their own. */
function needed(resource: Resource, selection: Selection, extra: readonly Column[] = []): readonly Column[] {
  let columns = neededBySelection.get(selection);
  if (!columns) {
    const guarded = new Set(selection.guards?.map(({ column }) => column));
    const found = new Set(selection.columns.filter((column) => !guarded.has(column)));
    for (const column of extra) found.add(column);
    for (const { from } of selection.computed ?? [])
      for (const column of from) if (!guarded.has(column)) found.add(column);
    for (const column of selection.relations.map(near)) if (!guarded.has(column)) found.add(column);
    if (selection.guards || selection.changes) found.add(resource.key);
    // Something must be selected, even for `{ __typename }`.
    if (found.size === 0) found.add(resource.key);
    columns = [...found];
    neededBySelection.set(selection, columns);
  }
  return columns;
}
