/** For which conditions indexes are chosen, where there are so many of them that a database refuses to. */

import type { Filter } from '../../query/filter.ts';

/**
 * Comparisons that must all hold, those of conditions around them included. SQLite writes them out once more for each alternative
 * that an index finds, as a tree as deep as there are comparisons, and refuses one that is deeper than 1000. What is left of these
 * is for the place that a page begins behind.
 */
const MOST = 800;

/** They find more than other conditions do. */
const ranges: ReadonlySet<Filter['is']> = new Set(['startsWith', 'lt', 'lte', 'gt', 'gte']);

export interface Planned {
  readonly planned: readonly Filter[];
  readonly others: readonly Filter[];
  /** How many comparisons the planned ones are, and those around them. */
  readonly comparisons: number;
}

/** Of conditions that must all hold. `around`: how many comparisons must hold beside these. */
export function plannedOf(conditions: readonly Filter[], around: number): Planned {
  const all = around + sumOf(conditions);
  if (all <= MOST) return { planned: conditions, others: [], comparisons: all };
  const isRange = ({ is }: Filter) => ranges.has(is);
  const inTurn = [...conditions.filter((each) => !isRange(each)), ...conditions.filter(isRange)];
  let comparisons = around;
  const first = inTurn.findIndex((each) => {
    const more = comparisons + comparisonsIn(each);
    if (more <= MOST) comparisons = more;
    return more > MOST;
  });
  return { planned: inTurn.slice(0, first), others: inTurn.slice(first), comparisons };
}

/** SQLite joins what is asked of related records to what is asked beside it. */
export function comparisonsIn(filter: Filter): number {
  if (filter.is === 'all') return sumOf(filter.of);
  if ('where' in filter) return 1 + comparisonsIn(filter.where);
  return filter.is === 'startsWith' ? 2 : 1;
}

function sumOf(filters: readonly Filter[]): number {
  return filters.reduce((sum, each) => sum + comparisonsIn(each), 0);
}
