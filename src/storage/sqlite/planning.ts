/** Whether SQLite may take longer to plan a statement than to carry it out: it then is planned elsewhere. */

import { conditionsIn, type Filter } from '../../query/filter.ts';
import { indexesOf } from '../evolve/tables.ts';
import { mayLead } from '../sql/leading.ts';
import type { Table } from '../statements.ts';

/** Joins with so many ways to choose from. */
const MOST_WAYS = 16;
/** So many pairs of conditions that are weighed up with each other take some fifty milliseconds. */
const MOST_PAIRS = 40_000;
/** What a condition takes beside an alternative, as far as it takes longer than others do. */
const BESIDE: Partial<Record<Filter['is'], number>> = { lt: 3, lte: 3, gt: 3, gte: 3, startsWith: 10 };
/** What a lower and an upper bound of the same value take. */
const RANGE = 4;

const lower: ReadonlySet<Filter['is']> = new Set(['gt', 'gte', 'startsWith']);
const upper: ReadonlySet<Filter['is']> = new Set(['lt', 'lte', 'startsWith']);

export function isLongToPlan(
  where: Filter | undefined,
  having: Filter | undefined,
  resource: Table,
): boolean {
  if (waysIn(where) + waysIn(having) > MOST_WAYS) return true;
  return where !== undefined && pairsIn(where, resource) > MOST_PAIRS;
}

/** How many ways to each other record there are: each index of several columns may be another. */
export function waysIn(filter: Filter | undefined): number {
  const relations = filter
    ? conditionsIn(filter).flatMap((each) => ('where' in each ? each.field.target : []))
    : [];
  return relations.reduce(
    (sum, target) => sum + 1 + indexesOf(target).filter(({ columns }) => columns.length > 1).length,
    0,
  );
}

/** All conditions for each of the alternatives that indexes could answer, and every lower bound with every upper one. */
function pairsIn(filter: Filter, resource: Table): number {
  const conditions = conditionsIn(filter);
  const alternatives = alternativesIn(filter, resource);
  let pairs = 0;
  const bounds = new Map<unknown, { lower: number; upper: number }>();
  for (const each of conditions) {
    pairs += alternatives * (BESIDE[each.is] ?? 1);
    if (!('column' in each) || (!lower.has(each.is) && !upper.has(each.is))) continue;
    const of = bounds.get(each.column) ?? { lower: 0, upper: 0 };
    bounds.set(each.column, of);
    if (lower.has(each.is)) of.lower++;
    if (upper.has(each.is)) of.upper++;
  }
  for (const of of bounds.values()) pairs += RANGE * of.lower * of.upper;
  return pairs;
}

/** Those of one within another are planned for each of them. */
function alternativesIn(filter: Filter, resource: Table): number {
  switch (filter.is) {
    case 'all':
    case 'any': {
      let found = 0;
      for (const each of filter.of) found += alternativesIn(each, resource);
      if (filter.is === 'any' && filter.of.every((each) => mayLead(each, resource)))
        found += filter.of.length;
      return found;
    }
    case 'not':
      return alternativesIn(filter.of, resource);
    default:
      return 'where' in filter ? alternativesIn(filter.where, filter.field.target) : 0;
  }
}
