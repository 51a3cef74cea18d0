/** graphql-codegen's client preset: its documents have the types that one would write by hand, and the server takes them. */

import { afterAll, beforeAll, expect, test } from 'bun:test';
import { Client, fetchExchange } from '@urql/core';
import {
  AddDocument,
  type AddMutationVariables,
  CreateDocument,
  ListDocument,
  type ListQuery,
  PageDocument,
  type PageQuery,
  UpdateDocument,
  type UpdateMutation,
} from './generated/codegen/graphql.ts';
import { sameType } from './same.ts';
import { type Served, served } from './world.ts';

let server: Served;
let client: Client;
beforeAll(async () => {
  server = await served();
  client = new Client({ url: `${server.url}/graphql`, exchanges: [fetchExchange] });
});
afterAll(() => server[Symbol.asyncDispose]());

// The preset knows a scalar of the schema as `unknown`, until one says what it is.
sameType<
  ListQuery['books'][number],
  {
    id: unknown;
    title: string;
    genre: 'NOVEL' | 'ESSAY' | null;
    tags: string[];
    author: { id: unknown; name: string };
  }
>(true);
sameType<PageQuery['booksConnection']['pageInfo'], { hasNextPage: boolean; endCursor: string | null }>(true);
sameType<UpdateMutation['updateNote'], { id: string; title: string; _version: number } | null>(true);
// @ts-expect-error An author needs its name.
export const nameless: AddMutationVariables = { records: [{ books: [{ title: 'x' }] }] };
// @ts-expect-error A book within an author needs its title, and no author.
export const untitled: AddMutationVariables = { records: [{ name: 'x', books: [{ pages: 3 }] }] };

test('it lists, filters, pages, creates and updates; a stale write is a conflict', async () => {
  const listed = await client.query(ListDocument, { least: 290 });
  expect(listed.data?.books.map(({ title }) => title)).toEqual(['Book 29', 'Book 30']);
  const first = await client.query(PageDocument, { first: 29 });
  const after = first.data?.booksConnection.pageInfo.endCursor ?? null;
  const second = await client.query(PageDocument, { first: 29, after });
  expect(second.data?.booksConnection.edges.map(({ node }) => node.title)).toEqual(['Book 30']);
  const added = await client.mutation(AddDocument, {
    records: [{ name: 'Bea', books: [{ title: 'First' }] }],
  });
  expect(added.data?.createAuthors[0]?.books).toEqual([{ title: 'First', pages: 1 }]);
  const { id = '', _version: version } =
    (await client.mutation(CreateDocument, { title: 'four' })).data?.createNote ?? {};
  const updated = await client.mutation(UpdateDocument, { id, title: 'vier', version });
  expect(updated.data?.updateNote?.title).toBe('vier');
  const { error } = await client.mutation(UpdateDocument, { id, title: 'quatre', version });
  expect(error?.graphQLErrors[0]?.extensions['code']).toBe('VERSION_CONFLICT');
});
