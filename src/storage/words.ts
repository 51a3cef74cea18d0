/** The names of what keeps the words of records, and the words as it keeps them. */

import { SPLITTING, wordsOfAll } from '../query/words.ts';
import type { Resource } from '../schema/model.ts';
import type { Row } from './statements.ts';

const known = new WeakMap<Resource, string>();

/** Of other fields, or of words that are split in another way, it is another one. No stored name begins with `_`. */
export function wordsName(resource: Resource): string {
  let name = known.get(resource);
  if (name === undefined) {
    const fields = resource.searched.map(({ stored }) => stored);
    const digest = new Bun.CryptoHasher('sha256').update(JSON.stringify([SPLITTING, fields])).digest('hex');
    name = `${WORDS}${digest.slice(0, 8)}`;
    known.set(resource, name);
  }
  return name;
}

export const WORDS = '_search_';

export function isOfWords(name: string): boolean {
  return name.startsWith(WORDS);
}

const LONG = '_long';

/** Beside what keeps the words of a record: those that find no room there. */
export function longName(words: string): string {
  return words + LONG;
}

export function isLong(name: string): boolean {
  return name.endsWith(LONG);
}

export function wordsOfRecord({ searched }: Resource, record: Row): string[] {
  return wordsOfAll(searched.map(({ name }) => record[name]));
}
