/** What leads to the rows that a condition is about: an index, and which of several. */

import { conditionsOn, type Filter } from '../../query/filter.ts';
import type { Order } from '../../query/order.ts';
import type { Column, ColumnSet, Resource } from '../../schema/model.ts';
import type { Table } from '../statements.ts';

/** By which columns an index may lead to rows, where what they are compared with is not given, but looked up. */
export type Leads = (column: Column) => boolean;
export const nowhere: Leads = () => false;
export const everywhere: Leads = () => true;

/**
 * SQLite does not know how many rows there are for what is looked up, and takes them for few: it might go through all records of a tenant
 * to find ten keys among them, or to put them in an order that an index has. What is given leads, where an index has it.
 */
export function leading(where: Filter, resource: Table, order: Order = []): Leads {
  const [{ column: first } = {}] = order;
  return (column) => {
    if (partsOf(where).some((each) => each.is === 'search' || mayLead(each, resource))) return false;
    // Behind what it is of, an index has the order of keys.
    if (first === undefined || first === resource.key || !indexedIn(resource).has(first)) return true;
    return setsOf(resource).some(({ columns: [one, next] }) => one === column && next === first);
  };
}

/** The same beside what rows are joined by: where an index is of both. */
export function leadingBeside(joined: Column, where: Filter, target: Resource): Leads {
  const leads = leading(where, target);
  const pairs = setsOf(target).map(({ columns }) => columns.slice(0, 2));
  return (column) => leads(column) && pairs.some((pair) => pair.includes(joined) && pair.includes(column));
}

function setsOf(resource: Table): readonly ColumnSet[] {
  const { uniques, indexes } = resource as Resource;
  return [...uniques, ...indexes];
}

/** Whether an index may lead to what it is about. */
export function mayLead(filter: Filter, resource: Table): boolean {
  return conditionsOn(filter).some(
    (each) => 'column' in each && !scanning.has(each.is) && indexedIn(resource).has(each.column),
  );
}

const scanning: ReadonlySet<Filter['is']> = new Set(['contains', 'endsWith', 'ne']);

const indexed = new WeakMap<Table, ReadonlySet<Column>>();

/** The columns that stand in an index, wherever in it. */
export function indexedIn(resource: Table): ReadonlySet<Column> {
  let columns = indexed.get(resource);
  if (!columns) {
    const { key, uniques, indexes, references } = resource as Resource;
    const several = [...uniques, ...indexes].flatMap((each) => each.columns);
    columns = new Set([key, ...several, ...references.map(({ column }) => column)]);
    indexed.set(resource, columns);
  }
  return columns;
}

/** Unique constraints that the database did not keep at some time. */
export const notGuaranteed = new WeakSet<ColumnSet>();

/** Whether no two records can match, since all that a unique constraint is of is compared with values. */
export function isSole(where: Filter, { key, uniques }: Resource): boolean {
  const given = new Set(partsOf(where).flatMap(equalIn));
  return (
    given.has(key) ||
    uniques.some(
      (unique) => !notGuaranteed.has(unique) && unique.columns.every((column) => given.has(column)),
    )
  );
}

/** Fields are compared with each other by a @check alone, which leads to no other record. */
function equalIn(filter: Filter): Column | [] {
  if (filter.is === 'eq') return filter.column;
  return filter.is === 'related' && isSole(filter.where, filter.field.target) ? filter.field.column : [];
}

function partsOf(where: Filter): readonly Filter[] {
  return where.is === 'all' ? where.of : [where];
}
