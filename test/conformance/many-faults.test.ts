/** Of what is wrong more than a hundred times a hundred faults are told, and nobody looks for more; nor for more than fit of what is hidden. */

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { type AppUnderTest, databases, openApp } from '../app.ts';
import { Listener } from '../events.ts';
import { headersOf, SECRET } from './access-matrix.ts';

const sdl = `
  type Room @resource @allow(to: [READ, CREATE, UPDATE, DELETE]) { id: ID!  books: [Book!]! }
  type Book @resource @allow(to: [READ, CREATE, UPDATE, DELETE]) {
    id: ID!
    title: String @constraint(minLength: 2)
    tags: [String!] @constraint(maxLength: 2)
    extra: JSON
    room: Room
    code: String @allow(to: [CREATE], role: "admin")
  }
  type Item @resource @journal @allow(to: [READ, UPDATE]) {
    id: ID!
    owner: String
    note: String
    secret: String @allow(to: [READ], where: { owner: { eq: { claim: "sub" } } })
    parts: [Item!] @inverse(of: "whole") @allow(to: [READ], where: { owner: { eq: { claim: "sub" } } })
    whole: Item
  }`;
const many = <T>(what: T): T[] => Array(2000).fill(what);
const names = Object.fromEntries(many(1).map((one, index) => [`nope${index}`, one]));
/** As many as a transaction may have. */
const operations = (what: object) => many(what).slice(0, 1000);
const creation = (body: unknown) => ({ method: 'POST', path: '/books', body });
const deletion = (where: unknown) => ({ method: 'DELETE', path: '/books', where, atMost: 1 });

/** With what pointers escape. */
const LONG = '/'.repeat(200_000);

type Request = readonly [method: string, path: string, body: unknown];
const rest: readonly (readonly [name: string, request: Request, last: string])[] = [
  ['items of another type', ['POST', '/books', { tags: many(1) }], '#/tags/99'],
  ['items that do not fit', ['POST', '/books', { tags: many('long') }], '#/tags/99'],
  ['texts inside of one value', ['POST', '/books', { extra: many('\ud800') }], '#/extra'],
  ['names that nothing has', ['POST', '/books', names], '#/nope99'],
  ['items of an update', ['PUT', '/books/1', { tags: many(1) }], '#/tags/99'],
  [
    'records of a list',
    ['POST', '/transaction', { operations: [creation(many({ title: 'x' }))] }],
    '#/operations/0/body/99/title',
  ],
  ['nested records', ['POST', '/rooms', { books: many({ title: 'x' }) }], '#/books/99/title'],
  ['nested records that are none', ['POST', '/rooms', { books: many(1) }], '#/books/99'],
  [
    'operations',
    ['POST', '/transaction', { operations: operations({ method: 'GET' }) }],
    '#/operations/99/method',
  ],
  [
    'values of earlier results',
    ['POST', '/transaction', { operations: operations(creation({ title: { $ref: 'x.y' } })) }],
    '#/operations/99/body/title',
  ],
  [
    'filters of an operation',
    ['POST', '/transaction', { operations: [deletion({ or: many(1) })] }],
    '#/operations/0/where/or/99',
  ],
  [
    'fields of a filter',
    ['POST', '/transaction', { operations: [deletion(names)] }],
    '#/operations/0/where/nope99',
  ],
];

const create = 'mutation($tags: [String!]) { createBook(tags: $tags) { id } }';
const createMany = 'mutation($records: [BookInput!]!) { createBooks(records: $records) { id } }';
const createRoom = 'mutation($books: [BookInputWithoutRoom!]) { createRoom(books: $books) { id } }';
const list = 'query($where: BookWhere) { books(where: $where) { id } }';
const graphql: readonly (readonly [
  name: string,
  query: string,
  variables: Record<string, unknown>,
  last: string,
])[] = [
  ['items that do not fit', create, { tags: many('long') }, '#/tags/99'],
  ['records of a list', createMany, { records: many({ title: 'x' }) }, '#/99/title'],
  ['nested records', createRoom, { books: many({ title: 'x' }) }, '#/books/99/title'],
  ['filters', list, { where: { or: many({}) } }, '#/where/or/99'],
  ['values of a filter', list, { where: { title: { in: many(`\ud800`) } } }, '#/where/title/in/99'],
];

/** The first is of whoever asks, and all others are not. */
const ITEMS = 2500;
const items = Array.from({ length: ITEMS }, (_, index) => ({
  owner: index === 0 ? 'eve' : 'ann',
  secret: 'seen',
}));
const eve = await headersOf({ name: 'eve of the faults', claims: { sub: 'eve' } });
const aliased = (field: string) => Array.from({ length: 25 }, (_, at) => `a${at}: ${field}`).join(' ');
const write = `mutation { updateItems(where: {}, atMost: ${ITEMS}, set: { note: "x" }) { id secret } }`;
const hidden: readonly (readonly [name: string, query: string])[] = [
  ['a field', '{ items { id secret } }'],
  ['under many names', `{ items { ${aliased('secret')} } }`],
  ['asked for again and again', `{ items { ${'secret '.repeat(1500)} } }`],
  ['below a long name', `{ ${'long'.repeat(50_000)}: items { secret } }`],
  ['lists', `{ items { ${aliased('parts { id }')} } }`],
  ['pages of lists', `{ items { ${aliased('partsConnection { totalCount }')} } }`],
  ['of a live answer', 'query @live { items { id secret } }'],
  ['of what was written', write],
  ['of what was written together', write.replace('{', '@atomic {')],
  ['of changes', `{ itemChanges(after: "POSITION", first: 1000) { after { ${aliased('secret')} } } }`],
  ['the past', `{ itemChanges(after: "POSITION", first: 1000) { ${aliased('caller')} } }`],
];

describe.each([...databases])('on %s', (database) => {
  let app: AppUnderTest;
  let position: string;
  beforeAll(async () => {
    const data = { books: [{ id: 1 }], items };
    app = await openApp(database, { sdl, data, env: { AUTH_SECRET: SECRET } });
    position = (await app.graphql('{ changesPosition }', {}, eve)).data.changesPosition;
    await app.unguarded().graphql(write);
  });
  afterAll(() => app.close());

  test.each([...rest])('REST: %s', async (_, [method, path, body], last) => {
    const answer = await app.rest(method, path, body);
    expect([answer.status, answer.body.errors.length]).toEqual([400, 100]);
    expect(answer.body.detail).toEndWith('More than 100 fields are invalid.');
    expect(answer.body.errors.at(-1).pointer).toBe(last);
  });

  test.each([...graphql])('GraphQL: %s', async (_, query, variables, last) => {
    const { errors } = await app.graphql(query, variables);
    expect([errors?.[0].message, errors?.[0].extensions.errors.length]).toEqual([
      'More than 100 fields are invalid.',
      100,
    ]);
    expect(errors?.[0].extensions.errors.at(-1).pointer).toBe(last);
  });

  test.each([
    ['a filter', deletion({ [LONG]: { eq: 1 } })],
    ['a filter of a relation', deletion({ not: { room: { [LONG]: { eq: 1 } } } })],
    ['a list of a filter', deletion({ room: { books: { [LONG]: {} } } })],
    ['an operator', deletion({ title: { [LONG]: 'x' } })],
    ['a field', creation({ [LONG]: 1 })],
    ['a field of a nested record', { ...creation({ books: [{ [LONG]: 1 }] }), path: '/rooms' }],
    ['an increment', { ...creation({ _inc: { [LONG]: 1 } }), method: 'PUT', path: '/books/1' }],
    ['an operation', { ...creation({}), [LONG]: 1 }],
  ])('a long name that nothing has is not told as a whole: %s', async (_, operation) => {
    const answer = await app.rest('POST', '/transaction', { operations: [operation] });
    const [{ pointer }] = answer.body.errors;
    expect([answer.status, answer.body.errors.length]).toEqual([400, 1]);
    expect(pointer).toEndWith(`/${LONG.slice(0, 100).replaceAll('/', '~1')}…`);
    expect(JSON.stringify(answer.body).length).toBeLessThan(3000);
  });

  test('a hundred are counted', async () => {
    const { body } = await app.rest('POST', '/books', { tags: many(1).slice(0, 100) });
    expect([body.detail, body.errors.length]).toEqual(['100 fields are invalid.', 100]);
  });

  test('fields that one may not set', async () => {
    const { body } = await app.rest('POST', '/rooms', { books: many({ code: 'x' }) });
    expect([body.code, body.errors.length, body.errors.at(-1).pointer]).toEqual([
      'UNAUTHENTICATED',
      100,
      '#/books/99/code',
    ]);
  });

  test.each([...hidden])('what one may not read: %s', async (_, query) => {
    const asked = query.replace('POSITION', position);
    await using listener = await Listener.ask(app, asked, {}, eve);
    const { data, errors } = (await listener.next())?.data ?? {};
    const [rows] = Object.values<Record<string, any>[]>(data);
    const values = rows?.map((row) => Object.values(row['after'] ?? row).at(-1)) ?? [];
    // As many as there are, whatever is told of them; a list that is shown is empty.
    expect(values.length).toBeGreaterThanOrEqual(1000);
    expect(new Set(values.slice(1))).toEqual(new Set([null]));
    const codes = new Set(errors.map(({ extensions }: any) => extensions.code));
    expect(codes).toEqual(new Set(['FORBIDDEN']));
    // Where, for as many as there is room for, and that there are more.
    expect(errors[0]).toMatchObject({ locations: [{ line: 1 }], path: expect.any(Array) });
    const note = 'Further errors of this answer are left out; what they are about is null.';
    const noted = errors.map(({ message }: any) => message.endsWith(note));
    expect([noted.indexOf(true), noted.at(-1)]).toEqual([errors.length - 1, true]);
    expect(JSON.stringify(errors).length).toBeLessThan(500_000);
    // Without events: a query that was compiled is answered alike.
    if (query.startsWith('{')) {
      const again = await app.graphql(asked, {}, eve);
      expect([again.data, again.errors]).toEqual([data, errors]);
    }
  });

  test('what one may not read of few records is told of each', async () => {
    const { data, errors } = await app.graphql('{ items(first: 500) { id secret } }', {}, eve);
    expect(data.items[0]).toEqual({ id: '1', secret: 'seen' });
    expect(errors?.map(({ path }) => path.join())).toEqual(
      data.items.slice(1).map((_: unknown, index: number) => `items,${index + 1},secret`),
    );
    expect(new Set(errors?.map(({ message }) => message))).toEqual(
      new Set(['You may not read Item.secret.']),
    );
  });
});
