/** The names of what keeps the words of records, and the words as it keeps them. */

import { SPLITTING, splitting, wordsOfAll } from '../query/words.ts';
import { effortOf } from '../schema/folding.ts';
import type { Column, Resource } from '../schema/model.ts';
import type { Row, Statement, Table } from './statements.ts';

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
  return wordsOfAll(textsOf(searched, record));
}

export function splittingRecord({ searched }: Resource, record: Row): ReturnType<typeof splitting> {
  return splitting(textsOf(searched, record));
}

function textsOf(searched: Resource['searched'], record: Row): unknown[] {
  return searched.map(({ name }) => record[name]);
}

const none: readonly Row[] = [];

/** The records whose words a statement writes, or looks at. */
export function splitBy(statement: Statement): readonly Row[] {
  if (!('resource' in statement) || !isSearched(statement.resource)) return none;
  switch (statement.do) {
    case 'insert':
    case 'upsert':
      return [statement.values];
    case 'insert all':
    case 'stale words':
    case 'mend words':
      return statement.rows;
    case 'update': {
      const { resource, set, own, next = none } = statement;
      const changes = (column: Column) => Object.hasOwn(set, column.name) || own?.includes(column);
      return resource.searched.some(changes) ? next : none;
    }
    default:
      return none;
  }
}

export function isSearched(resource: Table): resource is Resource {
  return 'searched' in resource && (resource as Resource).searched.length > 0;
}

/** What it takes to split their texts. */
export function lengthsOf({ searched }: Resource, rows: readonly Row[]): number {
  let length = 0;
  for (const row of rows)
    for (const { name } of searched) {
      const text = row[name];
      if (typeof text === 'string') length += effortOf(text);
    }
  return length;
}
