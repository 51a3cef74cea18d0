/** urql with the options it has of itself: queries go by GET, and its document cache asks again after a write. */

import { afterAll, beforeAll, expect, test } from 'bun:test';
import { Client, cacheExchange, fetchExchange, type OperationResult } from '@urql/core';
import { ADD, CREATE, JUMP, LIST, NOTES, PAGE, UPDATE } from './documents.ts';
import { type Served, served } from './world.ts';

let server: Served;
let client: Client;
beforeAll(async () => {
  server = await served();
  client = new Client({ url: `${server.url}/graphql`, exchanges: [cacheExchange, fetchExchange] });
});
afterAll(() => server[Symbol.asyncDispose]());

/** The data of an answer without errors. */
function of({ data, error }: OperationResult) {
  if (error) throw error;
  return data;
}

test('it lists and filters by GET', async () => {
  const { books } = of(await client.query(LIST, { least: 200 }));
  expect(books.map(({ title, author }: any) => [title, author.name])).toEqual([
    ['Book 20', 'Ann'],
    ['Book 21', 'Ann'],
    ['Book 22', 'Ann'],
  ]);
  expect(server.requests).toEqual(['GET /graphql']);
});

test('it follows pages, and jumps', async () => {
  const titles: string[] = [];
  let after: string | null = null;
  do {
    const { booksConnection: page } = of(await client.query(PAGE, { first: 12, after })) as any;
    titles.push(...page.edges.map(({ node }: any) => node.title));
    after = page.pageInfo.hasNextPage ? page.pageInfo.endCursor : null;
  } while (after !== null);
  expect(titles).toEqual(Array.from({ length: 30 }, (_, index) => `Book ${index + 1}`));
  const { books } = of(await client.query(JUMP, { offset: 20 }));
  expect(books.map(({ title }: any) => title)).toEqual(['Book 21', 'Book 22']);
});

test('a write makes it ask again for what it shows; a stale one is a conflict', async () => {
  const seen: string[] = [];
  const shown = client.query(NOTES, {}).subscribe(({ data }) => {
    if (data) seen.push(data.notes.map(({ title }: any) => title).join());
  });
  const shows = async (titles: string) => {
    for (let tries = 0; tries < 500 && seen.at(-1) !== titles; tries++) await Bun.sleep(10);
    expect(seen.at(-1)).toBe(titles);
  };
  await shows('one,two,three');
  const { createNote } = of(await client.mutation(CREATE, { title: 'four' }));
  await shows('one,two,three,four');
  const { id, _version: version } = createNote;
  of(await client.mutation(UPDATE, { id, title: 'vier', version }));
  await shows('one,two,three,vier');
  const { error } = await client.mutation(UPDATE, { id, title: 'quatre', version });
  expect(error?.graphQLErrors.map(({ extensions }) => extensions['code'])).toEqual(['VERSION_CONFLICT']);
  shown.unsubscribe();
});

test('many records with what belongs to them are created as one', async () => {
  const records = [{ name: 'Bea', books: [{ title: 'First', pages: 3 }, { title: 'Second' }] }];
  const { createAuthors } = of(await client.mutation(ADD, { records }));
  expect(createAuthors[0].books).toEqual([
    { __typename: 'Book', title: 'First', pages: 3 },
    { __typename: 'Book', title: 'Second', pages: 1 },
  ]);
});
