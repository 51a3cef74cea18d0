/** What a list is searched for → a filter, and the order that puts the most relevant records first. */

import type { FaultCode } from '../base/errors.ts';
import type { Column, Resource } from '../schema/model.ts';
import { isText } from '../schema/values.ts';
import type { Searched } from './filter.ts';
import { wordsOf } from './words.ts';

/** Each is looked for by itself. */
export const MOST_WORDS = 8;

/** More than that many words have, and little enough to be split before anything is known of it. */
export const LONGEST_SEARCH = 1000;

export const SEARCH = 'search';
/** What a search can be ordered by, beside fields; none of them begins with `_`. */
export const RELEVANCE = '_relevance';

/** How relevant a record is, as if it were a column. */
export interface Relevance extends Column {
  readonly searched: Searched;
}

export function isRelevance(column: Column): column is Relevance {
  return 'searched' in column;
}

export function isSearchable({ searched }: Resource): boolean {
  return searched.length > 0;
}

/** What is said of a type that has no words to be found by. */
export function notSearchable({ name, columns }: Resource): string {
  const text = columns.find((column) => isText(column) && !column.reference)?.name ?? 'title';
  return `${name} cannot be searched. Filter by its fields, or add @search(fields: ["${text}"]) to it in the schema.`;
}

/** Undefined where nothing is searched for, or something is wrong with it. */
export function readSearch(
  resource: Resource,
  text: unknown,
  report: (code: FaultCode, detail: string) => void,
): Searched | undefined {
  if (text == null) return undefined;
  if ([...String(text).slice(0, 2 * LONGEST_SEARCH + 1)].length > LONGEST_SEARCH) {
    report('LENGTH', `search must be at most ${LONGEST_SEARCH} characters; leave some words out`);
    return undefined;
  }
  const found = [...wordsOf(String(text))];
  const last = found.pop();
  if (last === undefined) {
    report('REQUIRED', 'search has no word; give it letters or digits to look for, or leave it out');
    return undefined;
  }
  // One that is given twice is looked for once; whole, it is also the beginning of a word.
  const whole = new Set(found);
  const words = Array.from(whole, (each) => ({ text: each, begins: false }));
  if (!whole.has(last)) words.push({ text: last, begins: true });
  if (words.length > MOST_WORDS) {
    report(
      'OUT_OF_RANGE',
      `search must be at most ${MOST_WORDS} words, and has ${words.length}; leave some out`,
    );
    return undefined;
  }
  return { is: 'search', resource, words };
}

/** For each word the weight of the first field that has it, from the number of fields down to 1; all of them together. */
export function relevanceOf(searched: Searched): Relevance {
  return {
    ...searched.resource.version,
    name: RELEVANCE,
    stored: RELEVANCE,
    description: undefined,
    searched,
  };
}

export const NOT_SEARCHED = `${RELEVANCE} needs search; say what to look for, or order by a field`;
