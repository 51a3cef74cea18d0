/** Of what is wrong more than a hundred times a hundred faults are told, and nobody looks for more. */

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { type AppUnderTest, databases, openApp } from '../app.ts';
import { SECRET } from './access-matrix.ts';

const sdl = `
  type Room @resource @allow(to: [READ, CREATE, UPDATE, DELETE]) { id: ID!  books: [Book!]! }
  type Book @resource @allow(to: [READ, CREATE, UPDATE, DELETE]) {
    id: ID!
    title: String @constraint(minLength: 2)
    tags: [String!] @constraint(maxLength: 2)
    extra: JSON
    room: Room
    code: String @allow(to: [CREATE], role: "admin")
  }`;
const many = <T>(what: T): T[] => Array(2000).fill(what);
const names = Object.fromEntries(many(1).map((one, index) => [`nope${index}`, one]));
const creation = (body: unknown) => ({ method: 'POST', path: '/books', body });
const deletion = (where: unknown) => ({ method: 'DELETE', path: '/books', where, atMost: 1 });

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
  ['operations', ['POST', '/transaction', { operations: many({ method: 'GET' }) }], '#/operations/99/method'],
  [
    'values of earlier results',
    ['POST', '/transaction', { operations: many(creation({ title: { $ref: 'x.y' } })) }],
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

describe.each([...databases])('on %s', (database) => {
  let app: AppUnderTest;
  beforeAll(async () => {
    app = await openApp(database, { sdl, data: { books: [{ id: 1 }] }, env: { AUTH_SECRET: SECRET } });
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
});
