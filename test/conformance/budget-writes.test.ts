/** The budget of objects holds for the whole answer of a transaction: what is too much of it writes nothing. */

import { describe, expect, test } from 'bun:test';
import { type AppUnderTest, databases, openApp } from '../app.ts';

const sdl = `
  type Shelf @resource(plural: "shelves") { id: ID!  name: String!  books: [Book!]! }
  type Book @resource { id: ID!  title: String!  shelf: Shelf! }`;
const books = (shelfId: number) => Array.from({ length: 6 }, () => ({ title: 'old', shelfId }));
const data = { shelves: [{ name: 'a' }, { name: 'b' }], books: [...books(1), ...books(2)] };

const where = (shelf: number) => ({ shelfId: { eq: shelf } });
const inGraphql = (shelf: number) => `where: { shelfId: { eq: "${shelf}" } }, atMost: 6`;

/** Each answers with six records; by REST, and by GraphQL. */
const writes: Record<string, { rest?: (shelf: number) => object; graphql: (shelf: number) => string }> = {
  'create many': {
    rest: (shelf) => ({ method: 'POST', path: '/books', body: books(shelf) }),
    graphql: (shelf) =>
      `createBooks(records: [${books(shelf).map(() => `{ title: "new", shelfId: "${shelf}" }`)}]) { id }`,
  },
  'update many': {
    rest: (shelf) => ({
      method: 'PUT',
      path: '/books',
      where: where(shelf),
      atMost: 6,
      body: { title: 'new' },
    }),
    graphql: (shelf) => `updateBooks(${inGraphql(shelf)}, set: { title: "new" }) { id }`,
  },
  'delete many': {
    rest: (shelf) => ({ method: 'DELETE', path: '/books', where: where(shelf), atMost: 6 }),
    graphql: (shelf) => `deleteBooks(${inGraphql(shelf)}) { id }`,
  },
  'update one, with what belongs to it': {
    graphql: (shelf) => `updateShelf(id: ${shelf}, name: "new") { id books { id } }`,
  },
};

describe.each([...databases])('on %s', (database) => {
  const state = async (app: AppUnderTest) =>
    Promise.all(['/books', '/shelves'].map(async (path) => (await app.rest('GET', `${path}?limit=8`)).body));

  test.each(Object.entries(writes))('%s', async (_, { rest, graphql }) => {
    const app = await openApp(database, { sdl, data, env: { LIMIT_OBJECTS: '10' } });
    const before = await state(app);
    if (rest) {
      const { status, body } = await app.rest('POST', '/transaction', { operations: [rest(1), rest(2)] });
      expect([status, body.code]).toEqual([400, 'TOO_MANY_OBJECTS']);
    }
    const both = await app.graphql(`mutation @atomic { a: ${graphql(1)} b: ${graphql(2)} }`);
    expect([both.data, both.errors?.[0].extensions.code]).toEqual([null, 'TOO_MANY_OBJECTS']);
    expect(await state(app)).toEqual(before);
    const one = await app.graphql(`mutation @atomic { a: ${graphql(1)} }`);
    expect(one.errors).toBeUndefined();
    if (rest) {
      const { status } = await app.rest('POST', '/transaction', { operations: [rest(2)] });
      expect(status).toBe(200);
    }
    await app.close();
  });
});
