/** What it costs SQLite to search for words. */

import type { Database } from 'bun:sqlite';
import { conditionsIn } from '../../query/filter.ts';
import { isRelevance } from '../../query/search.ts';
import type { Reading } from './plan.ts';
import type { Sizes } from './sizes.ts';
import { pagesOf, pagesTable } from './words.ts';

/** What it costs to read a page of an index of words, of which each has some hundred; those that begin alike are put in order, too. */
const WHOLE_PAGE = 400;
const BEGUN_PAGE = 2_500;

/** What it costs to read an index of words. How relevant a record is is asked of it again, for each word and field. */
export function costOfSearch(database: Database, sizes: Sizes, statement: Reading, left: number): number {
  const asked = statement.where ? conditionsIn(statement.where).filter((each) => each.is === 'search') : [];
  return asked.reduce((sum, searched) => {
    const { resource, words } = searched;
    const times = isByRelevance(statement) ? 1 + words.length * (resource.searched.length - 1) : 1;
    const cost = (whole: number, begun: number) => times * (whole * WHOLE_PAGE + begun * BEGUN_PAGE);
    const all = sizes.rowsOf(pagesTable(resource));
    const most = cost(all * (words.length - 1), all);
    if (sum + most <= left) return sum + most;
    const { whole, begun } = pagesOf(database, searched);
    return sum + cost(whole, begun);
  }, 0);
}

function isByRelevance(statement: Reading): boolean {
  if (statement.do !== 'select') return false;
  const { columns, order = [] } = statement;
  return columns.some(isRelevance) || order.some(({ column }) => isRelevance(column));
}
