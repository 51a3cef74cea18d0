/** gql.tada: documents are typed as they are written, from the schema that the server tells. */

import { afterAll, beforeAll, expect, test } from 'bun:test';
import { Client, cacheExchange, fetchExchange } from '@urql/core';
import { graphql, type ResultOf, type VariablesOf } from 'gql.tada';
import { sameType } from './same.ts';
import { type Served, served } from './world.ts';

const list = graphql(`
  query List($where: BookWhere, $first: Int!, $after: String) {
    booksConnection(where: $where, orderBy: [{ author: { name: ASC } }, { pages: ASC }], first: $first, after: $after) {
      edges {
        node {
          title
          genre
          author {
            name
          }
        }
      }
      pageInfo {
        endCursor
      }
    }
  }
`);
const create = graphql(`
  mutation Create($record: [NoteInput!]!) {
    createNotes(records: $record) {
      id
      _version
    }
  }
`);
const update = graphql(`
  mutation Update($id: ID!, $title: String!, $version: Int) {
    updateNote(id: $id, title: $title, ifVersion: $version) {
      title
    }
  }
`);

sameType<
  ResultOf<typeof list>['booksConnection']['edges'][number]['node'],
  { title: string; genre: 'NOVEL' | 'ESSAY' | null; author: { name: string } }
>(true);
// @ts-expect-error A note needs its title.
export const untitled: VariablesOf<typeof create> = { record: [{ done: true }] };
// @ts-expect-error Books have no such field.
export const wrong: VariablesOf<typeof list> = { where: { sides: { gte: 1 } }, first: 1 };

let server: Served;
let client: Client;
beforeAll(async () => {
  server = await served();
  client = new Client({ url: `${server.url}/graphql`, exchanges: [cacheExchange, fetchExchange] });
});
afterAll(() => server[Symbol.asyncDispose]());

test('it lists, filters, pages, creates and updates; a stale write is a conflict', async () => {
  const where = { pages: { gte: 280 } };
  const first = await client.query(list, { where, first: 2 });
  const after = first.data?.booksConnection.pageInfo.endCursor ?? null;
  const second = await client.query(list, { where, first: 2, after });
  expect(second.data?.booksConnection.edges.map(({ node }) => [node.title, node.author.name])).toEqual([
    ['Book 30', 'Ann'],
  ]);
  const made = await client.mutation(create, { record: [{ title: 'four' }] });
  const [{ id, _version: version } = { id: '', _version: 0 }] = made.data?.createNotes ?? [];
  expect((await client.mutation(update, { id, title: 'vier', version })).data?.updateNote?.title).toBe(
    'vier',
  );
  const { error } = await client.mutation(update, { id, title: 'quatre', version });
  expect(error?.graphQLErrors[0]?.extensions['code']).toBe('VERSION_CONFLICT');
});
