/** Reading ends when enough faults are gathered: what follows costs nobody the search for a similar name. */

import { expect, test } from 'bun:test';
import { DuetError } from '../../src/base/errors.ts';
import { readListRequest } from '../../src/rest/query.ts';
import { readSchema } from '../../src/schema/read.ts';

const sdl = `
  type Room @resource { id: ID!  name: String!  books: [Book!]! }
  type Book @resource { id: ID!  title: String!  pages: Int  room: Room }
`;

const listed = (names: readonly string[]) => names.join();
const queries: readonly (readonly [parameter: string, write: (names: readonly string[]) => string])[] = [
  ['unknown ones', (names) => names.join('&')],
  ['sort', (names) => `sort=${listed(names)}`],
  ['sort through references', (names) => `sort=${listed(names.map((name) => `${name}.name`))}`],
  ['fields of relations', (names) => `fields=${listed(names.map((name) => `${name}.id`))}`],
  ['include', (names) => `include=${listed(names)}`],
  ['aggregate', (names) => `aggregate=${listed(names.map((name) => `sum(${name})`))}`],
  ['having', (names) => `groupBy=title&${names.map((name) => `having[max(${name})][eq]=1`).join('&')}`],
];

test.each([...queries])('parameters: %s', (_, write) => {
  const { model } = readSchema(sdl) as any;
  let looks = 0;
  /** Counts how often names are collected, to be told or compared. */
  const watched = (resource: object): any =>
    new Proxy(resource, {
      get: (of: any, name) => {
        if (name === 'columns' || name === 'fields' || name === 'references') looks++;
        return of[name];
      },
    });
  const book = watched(model.byType.get('Book'));
  const looksFor = (count: number) => {
    looks = 0;
    const query = write(Array.from({ length: count }, (_, index) => `n${index}`));
    try {
      readListRequest(book, query, { most: 100, depth: 10 });
    } catch (error) {
      expect(error).toBeInstanceOf(DuetError);
      expect((error as DuetError).message).toBe('More than 100 fields are invalid.');
      return looks;
    }
    throw new Error('it was taken');
  };
  // What is found out about a type once.
  looksFor(200);
  expect(looksFor(1000)).toBe(looksFor(200));
});
