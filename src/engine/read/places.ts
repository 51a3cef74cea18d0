/** Finds the places that cursors had no room for: the records that they were made from have them. */

import { type Abridged, fromLead, isAbridged, isDigestOf } from '../../query/cursors.ts';
import { all, equal, type Filter } from '../../query/filter.ts';
import type { ListQuery } from '../../query/list.ts';
import { type Order, type Place, placeIn, reversed } from '../../query/order.ts';
import type { Resource } from '../../schema/model.ts';
import { type Row, select } from '../../storage/statements.ts';
import { type Program, run } from '../../storage/storage.ts';
import type { Read, Relation, Selection } from '../operation.ts';
import type { Permitted } from '../policy/permitted.ts';

/** Records whose keys begin alike, read at once: each is short enough for a path. */
const PAGE = 100;

export function hasAbridged(operation: Read): boolean {
  if (operation.do === 'aggregate') return false;
  return (operation.do === 'list' && isOpen(operation.list)) || hasAbridgedBelow(operation.selection);
}

export function hasAbridgedBelow({ relations }: Selection): boolean {
  return relations.some(
    ({ list, selection }) => (list !== undefined && isOpen(list)) || hasAbridgedBelow(selection),
  );
}

function isOpen({ after, before }: ListQuery): boolean {
  return isAbridged(after) || isAbridged(before);
}

/** The same read with every place found. */
export function* placed<R extends Permitted<Read>>(operation: R): Program<R> {
  if (operation.do === 'aggregate') return operation;
  const selection = yield* placedBelow(operation.selection);
  if (operation.do === 'get') return { ...operation, selection };
  return { ...operation, selection, list: yield* placedList(operation.resource, operation.list) };
}

export function* placedBelow(selection: Selection): Program<Selection> {
  if (!hasAbridgedBelow(selection)) return selection;
  const relations: Relation[] = [];
  for (const relation of selection.relations) {
    const { field, list } = relation;
    relations.push({
      ...relation,
      selection: yield* placedBelow(relation.selection),
      list: list && (yield* placedList(field.target, list)),
    });
  }
  return { ...selection, relations };
}

function* placedList(resource: Resource, list: ListQuery): Program<ListQuery> {
  if (!isOpen(list)) return list;
  const within: Filter[] = [];
  const find = function* (at: Place | Abridged | undefined, order: Order): Program<Place | undefined> {
    if (!isAbridged(at)) return at;
    const place = yield* placeAt(resource, list, at);
    // It was changed or deleted since: what comes after it is found by what is left of it, and some of what came before is too.
    if (!place) within.push(fromLead(order, at));
    return place;
  };
  const after = yield* find(list.after, list.order);
  const before = yield* find(list.before, reversed(list.order));
  return { ...list, after, before, within: all(within) };
}

/** Looked for in the list itself: whoever guesses the value of a record that it may not see learns nothing. */
function* placeAt(
  resource: Resource,
  { where, order }: ListQuery,
  { key, begins, digest }: Abridged,
): Program<Place | undefined> {
  const columns = order.map(({ column }) => column);
  const among = (rows: readonly Row[]) =>
    rows.map((row) => placeIn(order, row)).find((place) => isDigestOf(digest, place));
  if (!begins) return among(yield* run(select(resource, columns, all([equal(resource.key, key), where]))));
  const candidates = all([{ is: 'startsWith', column: resource.key, value: key }, where]);
  for (let after: Place | undefined; ; ) {
    const rows: Row[] = yield* run(select(resource, columns, candidates, { after, limit: PAGE }));
    const found = among(rows);
    if (found || rows.length < PAGE) return found;
    after = [rows.at(-1)?.[resource.key.name]];
  }
}
