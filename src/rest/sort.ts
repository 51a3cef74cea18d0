/** `sort`: by which columns a list is ordered, its own ones, those that references lead to, or how well records match. */

import { cited } from '../base/errors.ts';
import type { Searched } from '../query/filter.ts';
import { admitsOrder } from '../query/list.ts';
import { isSortable } from '../query/operators.ts';
import type { OrderBy } from '../query/order.ts';
import { columnThrough, MOST_RECORDS, MOST_STEPS, recordsFor } from '../query/referred.ts';
import { isSearchable, NOT_SEARCHED, RELEVANCE, relevanceOf, SEARCH } from '../query/search.ts';
import type { Column, Reference, Resource } from '../schema/model.ts';
import { didYouMean } from '../schema/suggest.ts';
import type { QueryParameters } from './parameters.ts';
import { visible } from './shape.ts';

export function readSort(
  given: QueryParameters,
  resource: Resource,
  name: string,
  searched: Searched | undefined,
): OrderBy[] {
  // One object for both: a column that has decided already decides nothing.
  const relevance = searched && relevanceOf(searched);
  const words = given.allWords(name);
  if (!admitsOrder(words.length, name, (...fault) => given.report(...fault))) return [];
  const order = words.flatMap((word): OrderBy[] => {
    const descending = word.startsWith('-');
    if (isSearchable(resource) && word.slice(descending ? 1 : 0) === RELEVANCE) {
      // Whoever asks for it wants the most relevant first; with a sign it is the other way round.
      if (relevance) return [{ column: relevance, descending: !descending }];
      // What is wrong with the search was told.
      if (!given.has(name.replace('sort', SEARCH))) given.report(name, 'REQUIRED', NOT_SEARCHED);
      return [];
    }
    const column = sortable(given, resource, descending ? word.slice(1) : word, name);
    return column ? [{ column, descending }] : [];
  });
  if (recordsFor(order.map(({ column }) => column)) > MOST_RECORDS)
    given.report(name, 'OUT_OF_RANGE', `${name} may lead to ${MOST_RECORDS} other records at most`);
  return order;
}

/** `title`, or `category.name`. */
function sortable(
  given: QueryParameters,
  resource: Resource,
  path: string,
  parameter: string,
): Column | undefined {
  const names = path.split('.');
  const last = names.pop() ?? '';
  if (names.length > MOST_STEPS) {
    given.report(parameter, 'OUT_OF_RANGE', `${parameter} may follow ${MOST_STEPS} references at most`);
    return undefined;
  }
  const references: Reference[] = [];
  let at = resource;
  for (const name of names) {
    const field = visible(at.fieldByName.get(name));
    if (field?.kind !== 'reference') {
      const there = at.references.filter(visible).map((each) => each.name);
      const cure = didYouMean(name, there) || ` There are: ${there.join(', ') || 'none'}.`;
      given.report(parameter, 'UNKNOWN', `"${cited(name)}" is no reference of ${at.name}.${cure}`);
      return undefined;
    }
    references.push(field);
    at = field.target;
  }
  const column = given.column(at, last, parameter, isSortable);
  return column && columnThrough(references, column);
}
