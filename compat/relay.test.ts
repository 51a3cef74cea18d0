/** Relay's compiler and store with the options they have of themselves: records are told apart by their ids alone. */

import { afterAll, beforeAll, expect, test } from 'bun:test';
import {
  ConnectionHandler,
  commitMutation,
  createOperationDescriptor,
  Environment,
  fetchQuery,
  type GraphQLResponse,
  type GraphQLTaggedNode,
  getRequest,
  getSelector,
  type MutationParameters,
  Network,
  type OperationType,
  RecordSource,
  type SelectorStoreUpdater,
  Store,
} from 'relay-runtime';
import book, {
  type documentsBook$data,
  type documentsBook$key,
} from './generated/relay/documentsBook.graphql.ts';
import books, { type documentsBooksQuery } from './generated/relay/documentsBooksQuery.graphql.ts';
import create, { type documentsCreateMutation } from './generated/relay/documentsCreateMutation.graphql.ts';
import remove, { type documentsDeleteMutation } from './generated/relay/documentsDeleteMutation.graphql.ts';
import list, { type documentsListQuery } from './generated/relay/documentsListQuery.graphql.ts';
import node, { type documentsNodeQuery } from './generated/relay/documentsNodeQuery.graphql.ts';
import update, { type documentsUpdateMutation } from './generated/relay/documentsUpdateMutation.graphql.ts';
import { type Served, served, data as stored } from './world.ts';

let server: Served;
let environment: Environment;
beforeAll(async () => {
  server = await served();
  environment = new Environment({
    network: Network.create(async ({ text }, variables) => {
      const response = await fetch(`${server.url}/graphql`, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json' },
        body: JSON.stringify({ query: text, variables }),
      });
      return (await response.json()) as GraphQLResponse;
    }),
    store: new Store(new RecordSource()),
  });
});
afterAll(() => server[Symbol.asyncDispose]());

const ask = <T extends OperationType>(query: GraphQLTaggedNode, variables: T['variables']) =>
  fetchQuery<T>(environment, query, variables).toPromise();

const change = <T extends MutationParameters>(
  mutation: GraphQLTaggedNode,
  variables: T['variables'],
  updater: SelectorStoreUpdater<T['response']> | null = null,
) =>
  new Promise<T['response']>((resolve, reject) =>
    commitMutation<T>(environment, {
      mutation,
      variables,
      updater,
      onCompleted: (response, errors) => (errors?.length ? reject(errors[0]) : resolve(response)),
      onError: reject,
    }),
  );

/** What a component would be shown of a fragment. */
function read(key: documentsBook$key): documentsBook$data {
  const selector = getSelector(book, key);
  if (selector?.kind !== 'SingularReaderSelector') throw new Error('one record has one selector');
  return environment.lookup(selector).data as unknown as documentsBook$data;
}

/** The books of the connection that are in the store. */
function shown(): { readonly id: string; readonly books: documentsBook$data[] } {
  const operation = createOperationDescriptor(getRequest(list), { first: 12 });
  const { booksConnection } = environment.lookup(operation.fragment)
    .data as unknown as documentsListQuery['response'];
  return { id: booksConnection.__id, books: booksConnection.edges.map((edge) => read(edge.node)) };
}

test('pages become one connection of its store', async () => {
  await ask<documentsListQuery>(list, { first: 12 });
  // A component keeps what it shows from being collected.
  environment.retain(createOperationDescriptor(getRequest(list), { first: 12 }));
  for (let pages = 0; pages < 5 && shown().books.length < 30; pages++)
    await ask<documentsListQuery>(list, { first: 12, after: endCursor() });
  expect(shown().books.map(({ title }) => title)).toEqual(stored.books.map(({ title }) => title));
  expect(shown().books[0]).toMatchObject({ genre: 'NOVEL', author: { name: 'Ann' }, _version: 1 });
});

/** Where the connection goes on. */
function endCursor(): string {
  const source = environment.getStore().getSource();
  const info = (source.get(shown().id) as { pageInfo?: { __ref: string } } | undefined)?.pageInfo;
  const record = info && (source.get(info.__ref) as { endCursor?: string } | undefined);
  if (record?.endCursor === undefined) throw new Error('the connection has no end');
  return record.endCursor;
}

test('a filter is a connection of its own', async () => {
  const answer = await ask<documentsListQuery>(list, { first: 5, where: { pages: { gte: 290 } } });
  const [first] = answer?.booksConnection.edges ?? [];
  expect(first && read(first.node).title).toBe('Book 29');
  expect(answer?.booksConnection.edges).toHaveLength(2);
});

test('a record is found by its id alone', async () => {
  const id = stored.books[4]?.id ?? '';
  const answer = await ask<documentsNodeQuery>(node, { id });
  expect(answer?.node?.__typename).toBe('Book');
  expect(answer?.node?.book && read(answer.node.book).title).toBe('Book 5');
});

test('a fragment is asked for again by the id of its record', async () => {
  const { id = '' } = stored.authors[0] ?? {};
  const request = getRequest(books);
  await ask<documentsBooksQuery>(books, { id, first: 4 });
  const operation = createOperationDescriptor(request, { id, first: 4 });
  const answer = environment.lookup(operation.fragment).data as unknown as documentsBooksQuery['response'];
  expect(answer.node).toBeDefined();
  // What it holds is the records that are there already.
  const kept = environment
    .getStore()
    .getSource()
    .get(stored.books[0]?.id ?? '');
  expect(kept).toMatchObject({ __typename: 'Book', title: 'Book 1', pages: 10 });
});

test('what is created, changed and deleted is so in what is shown; a stale write is a conflict', async () => {
  const author = stored.authors[0]?.id ?? '';
  const connections = [shown().id];
  await change<documentsCreateMutation>(create, { title: 'New', authorId: author, connections });
  const made = shown().books.at(-1);
  expect(made).toMatchObject({ title: 'New', author: { id: author, name: 'Ann' } });
  const { id, _version: version } = made as documentsBook$data;
  await change<documentsUpdateMutation>(update, { id, pages: 7, version });
  expect(shown().books.at(-1)).toMatchObject({ title: 'New', pages: 7, _version: 2 });
  const refused = await change<documentsUpdateMutation>(update, { id, pages: 8, version }).catch(
    (error) => error,
  );
  expect(refused).toMatchObject({ extensions: { code: 'VERSION_CONFLICT' } });
  // @deleteRecord and @deleteEdge want an `ID`; any other type of id goes by an updater.
  await change<documentsDeleteMutation>(remove, { id }, (store) => {
    const connection = store.get(shown().id);
    if (connection) ConnectionHandler.deleteNode(connection, id);
    store.delete(id);
  });
  expect(shown().books).toHaveLength(30);
});
