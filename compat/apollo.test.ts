/** Apollo Client with the options it has of itself: its normalized cache keeps what is shown up to date. */

import { afterAll, beforeAll, expect, test } from 'bun:test';
import { ApolloClient, CombinedGraphQLErrors, gql, HttpLink, InMemoryCache } from '@apollo/client';
import { relayStylePagination } from '@apollo/client/utilities';
import { ADD, CREATE, JUMP, LIST, NOTES, PAGE, UPDATE } from './documents.ts';
import { type Served, served } from './world.ts';

let server: Served;
let client: ApolloClient;
beforeAll(async () => {
  server = await served();
  client = clientBy({});
});
afterAll(async () => {
  client.stop();
  await server[Symbol.asyncDispose]();
});

function clientBy(options: { readonly useGETForQueries?: boolean }, cache = new InMemoryCache()) {
  return new ApolloClient({ link: new HttpLink({ uri: `${server.url}/graphql`, ...options }), cache });
}

const [list, page, jump, notes, create, update, add] = [LIST, PAGE, JUMP, NOTES, CREATE, UPDATE, ADD].map(
  (text) => gql(text),
) as [any, any, any, any, any, any, any];

test.each([
  ['POST', {}],
  ['GET', { useGETForQueries: true }],
])('it lists, filters and jumps by %s', async (method, options) => {
  server.requests.length = 0;
  const asking = clientBy(options);
  const { data } = await asking.query<any>({ query: list, variables: { least: 290 } });
  expect(data.books.map(({ title, author }: any) => [title, author.name])).toEqual([
    ['Book 29', 'Ann'],
    ['Book 30', 'Ann'],
  ]);
  const jumped = await asking.query<any>({ query: jump, variables: { offset: 4 } });
  expect(jumped.data.books[0].title).toBe('Book 5');
  expect(server.requests).toEqual([`${method} /graphql`, `${method} /graphql`]);
});

test('pages become one list in its cache', async () => {
  const typePolicies = { Query: { fields: { booksConnection: relayStylePagination() } } };
  const paging = clientBy({}, new InMemoryCache({ typePolicies }));
  const query = paging.watchQuery<any>({ query: page, variables: { first: 12 } });
  const shown = query.subscribe(() => {});
  await query.refetch();
  const kept = () => paging.readQuery<any>({ query: page, variables: { first: 12 } }).booksConnection;
  for (let pages = 0; pages < 5 && kept().pageInfo.hasNextPage; pages++)
    await query.fetchMore({ variables: { after: kept().pageInfo.endCursor } });
  const { edges, totalCount } = kept();
  expect([edges.length, totalCount, edges.at(-1).node.title]).toEqual([30, 30, 'Book 30']);
  shown.unsubscribe();
});

test('what a write answers changes what is shown; a stale one is a conflict', async () => {
  const query = client.watchQuery<any>({ query: notes });
  const shown = query.subscribe(() => {});
  const titles = () => query.getCurrentResult().data?.notes.map(({ title }: any) => title);
  await query.refetch();
  server.requests.length = 0;
  const { data } = await client.mutate<any>({
    mutation: update,
    variables: { id: '1', title: 'eins', version: 1 },
  });
  expect(data.updateNote).toMatchObject({ id: '1', _version: 2 });
  // By its type and key, without asking again.
  expect([titles(), server.requests.length]).toEqual([['eins', 'two', 'three'], 1]);
  await client.mutate({
    mutation: create,
    variables: { title: 'four' },
    refetchQueries: ['Notes'],
    awaitRefetchQueries: true,
  });
  expect(titles()).toEqual(['eins', 'two', 'three', 'four']);
  const error = await client
    .mutate({ mutation: update, variables: { id: '1', title: 'un', version: 1 } })
    .catch((caught: unknown) => caught);
  expect(CombinedGraphQLErrors.is(error) && error.errors[0]?.extensions?.['code']).toBe('VERSION_CONFLICT');
  shown.unsubscribe();
});

test('many records with what belongs to them are created as one', async () => {
  const records = [{ name: 'Bea', books: [{ title: 'First' }] }];
  const { data } = await client.mutate<any>({ mutation: add, variables: { records } });
  expect(data.createAuthors[0]).toMatchObject({ name: 'Bea', books: [{ title: 'First', pages: 1 }] });
});
