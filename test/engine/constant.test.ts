/** What a request costs does not grow with the requests before it: no new SQL, no second plan, no memory, no timers. */

import { heapStats } from 'bun:jsc';
import { afterAll, describe, expect, spyOn, test } from 'bun:test';
import { CheckedDocument } from '../../src/graphql/documents.ts';
import { type AppUnderTest, databases, openApp } from '../app.ts';

const RECORDS = 1000;
const AT_ONCE = 50;

function rows() {
  const users = Array.from({ length: RECORDS }, (_, index) => ({
    id: index + 1,
    name: `n${index}`,
    email: `a${index}@example.com`,
  }));
  const posts = users.map(({ id }) => ({ id, title: `t${id}`, body: 'b', authorId: id }));
  return { users, posts, comments: posts.map(({ id }) => ({ id, body: 'c', postId: id })) };
}

type Ask = (app: AppUnderTest, n: number) => Promise<{ readonly body: any }>;

const one = 'query($id: ID!) { user(id: $id) { name } }';
const nested =
  'query($id: ID!, $title: String) { user(id: $id) { posts(where: { title: { eq: $title } }) { comments { body } } } }';
const page =
  'query($name: String) { usersConnection(first: 10, where: { name: { gte: $name } }) { edges { node { id } } } }';

/** By a number from 1 on that each is asked with once. */
const reads: [string, Ask][] = [
  ['a record by key', (app, n) => app.rest('GET', `/users/${n}`)],
  ['a list with a limit', (app, n) => app.rest('GET', `/users?limit=10&name[gte]=n${n}`)],
  ['a record with related ones', (app, n) => app.rest('GET', `/users/${n}?include=posts.comments`)],
  ['a GraphQL query by key', (app, n) => app.graphql(one, { id: n })],
  ['a nested GraphQL query', (app, n) => app.graphql(nested, { id: n, title: `t${n}` })],
  ['a connection', (app, n) => app.graphql(page, { name: `n${n}` })],
];

const writes: [string, Ask][] = [
  ['a create', (app, n) => app.rest('POST', '/users', { name: `x${n}`, email: `x${n}@example.com` })],
  ['an update', (app, n) => app.rest('PUT', `/users/${n}`, { name: `y${n}`, email: `y${n}@example.com` })],
  [
    'a GraphQL update',
    (app, n) =>
      app.graphql('mutation($id: ID!, $name: String) { updateUser(id: $id, name: $name) { name } }', {
        id: n,
        name: `z${n}`,
      }),
  ],
  ['a delete', (app, n) => app.rest('DELETE', `/comments/${n}`)],
];

/** Asks with each number, some at a time, as clients do. */
async function askAll(app: AppUnderTest, ask: Ask, from: number, to: number): Promise<void> {
  for (let n = from; n <= to; n += AT_ONCE) {
    const numbers = Array.from({ length: Math.min(AT_ONCE, to - n + 1) }, (_, index) => n + index);
    const answers = await Promise.all(numbers.map((each) => ask(app, each)));
    for (const { body } of answers) expect(body.errors).toBeUndefined();
    app.observations.length = 0;
  }
}

describe.each([...databases])('on %s', async (database) => {
  const app = await openApp(database, { data: rows() });
  afterAll(() => app.close());

  test.each([...reads, ...writes])('the SQL of %s is the same for all keys and values', async (_, ask) => {
    app.statements.length = 0;
    await askAll(app, ask, 1, 1);
    const first = new Set(app.statements);
    expect(first.size).toBeGreaterThan(0);
    await askAll(app, ask, 2, RECORDS);
    expect([...new Set(app.statements)].sort()).toEqual([...first].sort());
  });

  test('a document is compiled once, whatever its variables', async () => {
    using query = spyOn(CheckedDocument.prototype, 'query');
    await askAll(app, (_, n) => app.graphql(nested, { id: n, title: `t${n}` }), 1, 100);
    const plans = new Set(query.mock.results.map(({ value }) => value));
    expect(query).toHaveBeenCalledTimes(100);
    expect([...plans]).toEqual([expect.anything()]);
  });
});

/** Bytes. */
const MOST_GROWTH = 1_000_000;

describe('memory', async () => {
  const app = await openApp('sqlite', { data: rows() });
  afterAll(() => app.close());

  /** Bytes and objects that are reachable, without what the test itself keeps. */
  const reachable = () => {
    app.statements.length = 0;
    app.observations.length = 0;
    Bun.gc(true);
    const { heapSize, objectTypeCounts } = heapStats();
    const { Timeout = 0, Promise: promises = 0 } = objectTypeCounts;
    return { heapSize, waiting: Timeout + promises };
  };
  const random = (n: number) => ((n * 7919) % RECORDS) + 1;

  test.each<[string, number, Ask]>([
    ['keyed reads', 20_000, (app, n) => app.rest('GET', `/users/${random(n)}`)],
    ['GraphQL queries', 5_000, (app, n) => app.graphql(nested, { id: random(n), title: `t${n}` })],
    ['distinct documents', 1_500, (app, n) => app.graphql(`{ a${n}: user(id: ${random(n)}) { name } }`)],
    ['distinct lists', 3_000, (app, n) => app.rest('GET', `/users?limit=1&name[eq]=n${n}`)],
    ['what is not there', 5_000, (app, n) => app.rest('GET', `/nowhere/${n}`)],
  ])('%s leave nothing behind', async (_, requests, ask) => {
    // Caches are full by then, and what is hot is compiled.
    await askAll(app, ask, 1, 1_500);
    const growths: number[] = [];
    // What leaks does so every time; a heap that is being tidied, or that others have used, grows now and then.
    for (let round = 0; round < 3 && Math.min(...growths) >= MOST_GROWTH; round++) {
      const before = reachable();
      await askAll(app, ask, 1_501 + round * requests, 1_500 + (round + 1) * requests);
      const after = reachable();
      growths.push(after.heapSize - before.heapSize);
      expect(after.waiting - before.waiting).toBeLessThan(50);
    }
    expect(Math.min(...growths)).toBeLessThan(MOST_GROWTH);
  });
});
