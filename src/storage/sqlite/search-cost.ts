/** What it costs SQLite to search for words. */

import type { Database } from 'bun:sqlite';
import { conditionsIn, type Filter } from '../../query/filter.ts';
import type { Sizes } from './sizes.ts';
import { pagesOf, pagesTable } from './words.ts';

/** What it costs to read a page of an index of words, of which each has some hundred; those that begin alike are put in order, too. */
const WHOLE_PAGE = 400;
const BEGUN_PAGE = 2_500;

/** And to look for a word in a segment, where most have one page: its index is asked, and the page found. */
const SEEK = 15;

/** What it costs to ask an index of words so often. */
export function costOfSearch(
  database: Database,
  sizes: Sizes,
  where: Filter | undefined,
  times: number,
  left: number,
): number {
  const asked = where ? conditionsIn(where).filter((each) => each.is === 'search') : [];
  return asked.reduce((sum, searched) => {
    const { resource, words } = searched;
    const cost = (seeks: number, whole: number, begun: number) =>
      times * (seeks * SEEK + whole * WHOLE_PAGE + begun * BEGUN_PAGE);
    const all = sizes.rowsOf(pagesTable(resource));
    const most = cost(all * words.length * resource.searched.length, all * (words.length - 1), all);
    if (sum + most <= left) return sum + most;
    const { seeks, whole, begun } = pagesOf(database, searched);
    return sum + cost(seeks, whole, begun);
  }, 0);
}
