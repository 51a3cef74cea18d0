/** The budget holds for the whole answer of a request that writes: what is too much of it writes nothing. */

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

const LONG = 'a'.repeat(490);
const CHANGED = 'b'.repeat(490);

describe.each([...databases])('on %s', (database) => {
  const state = async (app: AppUnderTest) =>
    Promise.all(
      ['/books', '/shelves'].map(async (path) => (await app.rest('GET', `${path}?limit=8&sort=-id`)).body),
    );
  const onSecond = async (app: AppUnderTest) => (await app.rest('GET', '/books?shelfId=2&limit=8')).body;

  test('too many records are refused before any of them is looked at', async () => {
    const book = 'type Book @resource { id: ID!  code: Int! @unique @constraint(max: 5) }';
    const app = await openApp(database, { sdl: book, env: { LIMIT_OBJECTS: '10' } });
    const records = Array.from({ length: 11 }, () => ({ code: 9 }));
    const body = records.map(() => ({}));
    const rest = await app.rest('POST', '/transaction', {
      operations: [{ method: 'POST', path: '/books', body }],
    });
    expect([rest.status, rest.body.code]).toEqual([400, 'TOO_MANY_OBJECTS']);
    app.statements.length = 0;
    for (const [field, type] of [
      ['createBooks(', 'BookInput'],
      ['upsertBooks(by: code, ', 'BookUpsert'],
    ]) {
      const { errors } = await app.graphql(
        `mutation ($records: [${type}!]!) { ${field}records: $records) { id } }`,
        { records },
      );
      expect(errors?.[0].extensions.code).toBe('TOO_MANY_OBJECTS');
    }
    expect(app.statements.filter((sql) => /INSERT|SELECT/.test(sql))).toEqual([]);
    await app.close();
  });

  test('too many records in others are refused before any of them is looked at', async () => {
    const app = await openApp(database, { sdl, env: { LIMIT_OBJECTS: '10' } });
    const shelf = (books: number) => ({ name: 'c', books: Array.from({ length: books }, () => ({})) });
    const create = { method: 'POST', path: '/shelves' };
    for (const [path, body] of [
      ['/shelves', shelf(11)],
      ['/transaction', { operations: [{ ...create, body: shelf(11) }] }],
      ['/transaction', { operations: [{ ...create, body: [shelf(6), shelf(6)] }] }],
    ] as const) {
      const { status, body: told } = await app.rest('POST', path, body);
      expect([status, told.code]).toEqual([400, 'TOO_MANY_OBJECTS']);
    }
    const many = (length: number) => Array.from({ length }, () => ({ title: 'x' }));
    const whole = (length: number) => ({ name: 'c', books: many(length) });
    const sixEach = { operations: [1, 2].map(() => ({ ...create, body: whole(6) })) };
    expect((await app.rest('POST', '/transaction', sixEach)).body.code).toBe('TOO_MANY_OBJECTS');
    const one =
      'mutation ($b: [BookInputWithoutShelf!]) { createShelf(name: "c", books: $b) { id books { id } } }';
    const all = 'mutation ($s: [ShelfInput!]!) { createShelves(records: $s) { id } }';
    for (const [mutation, variables] of [
      [one, { b: many(11) }],
      [all, { s: [whole(6), whole(6)] }],
    ] as const)
      expect((await app.graphql(mutation, variables)).errors?.[0].extensions.code).toBe('TOO_MANY_OBJECTS');
    expect((await app.rest('GET', '/shelves')).body).toEqual([]);
    expect((await app.rest('POST', '/shelves', whole(10))).status).toBe(201);
    await app.close();
  });

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

  test.each(Object.entries(writes))('one after the other: %s', async (_, { graphql }) => {
    const app = await openApp(database, { sdl, data, env: { LIMIT_OBJECTS: '10' } });
    const [whole, before] = [await state(app), await onSecond(app)];
    const two = `a: ${graphql(1)} b: ${graphql(2)}`;
    const small = 'c: updateShelf(id: 2, name: "small") { id }';
    // A field that fails spends nothing: what follows may have what is left.
    const { data: made, errors } = await app.graphql(`mutation { ${two} ${small} }`);
    expect([errors?.length, errors?.[0].path, errors?.[0].extensions.code]).toEqual([
      1,
      ['b'],
      'TOO_MANY_OBJECTS',
    ]);
    // Of fields that cannot be null, one that fails leaves nothing to answer with; what came before it stands all the same.
    if (made) expect([made.a === null, made.b, made.c]).toEqual([false, null, { id: '2' }]);
    expect(await state(app)).not.toEqual(whole);
    expect(await onSecond(app)).toEqual(before);
    await app.close();
  });

  test.each<[string, (index: number) => string]>([
    ['created', (index) => `createShelf(name: "${LONG}${index}")`],
    ['updated', (index) => `updateShelf(id: ${index}, name: "${CHANGED}")`],
    ['deleted', (index) => `deleteShelf(id: ${index})`],
  ])('records that are %s one by one count together', async (done, field) => {
    const shelves = Array.from({ length: 6 }, () => ({ name: LONG }));
    const app = await openApp(database, { sdl, data: { shelves }, env: { LIMIT_BYTES: '3500' } });
    const before = (await app.rest('GET', '/shelves?fields=id,name')).body;
    const fields = (marked: string) =>
      `mutation ${marked} { ${[3, 4, 5].map((index) => `m${index}: ${field(index)} { name x: name y: name }`).join(' ')} }`;
    const together = await app.graphql(fields('@atomic'));
    expect([together.data, together.errors?.[0].extensions.code]).toEqual([null, 'ANSWER_TOO_LARGE']);
    expect((await app.rest('GET', '/shelves?fields=id,name')).body).toEqual(before);
    const { data: made, errors } = await app.graphql(fields(''));
    expect([errors?.length, errors?.[0].path, errors?.[0].extensions.code]).toEqual([
      1,
      ['m5'],
      'ANSWER_TOO_LARGE',
    ]);
    if (made) expect([made.m3 === null, made.m4 === null, made.m5]).toEqual([false, false, null]);
    const { body: left } = await app.rest('GET', '/shelves?fields=id,name&id[gte]=5&limit=6');
    expect(left.map(({ name }: { name: string }) => name)).toEqual(
      done === 'created' ? [LONG, LONG, `${LONG}3`, `${LONG}4`] : [LONG, LONG],
    );
    await app.close();
  });
});
