/** LIMIT_BYTES holds for an answer as it is sent: whatever it is made of, the longest that is given is about as long as that. */

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { type AppUnderTest, databases, openApp } from '../app.ts';

const LIMIT = 20_000;
const COUNT = 2000;

const sdl = `
  enum Colour { RED  GREEN }
  type Shelf @resource(plural: "shelves") { id: ID!  books: [Book!]! @inverse(of: "shelf") }
  type Stamp @resource { id: UUID!  note: String  made: DateTime! @createdAt }
  type Book @resource {
    id: ID!
    title: String!
    f: Float
    g: Float
    i: Int
    b: Boolean
    at: DateTime
    on: Date
    uuid: UUID
    colour: Colour
    tags: [Int!]
    shelf: Shelf!
    aRelationWithANameOfSomeLength: Shelf
  }`;

const book = (index: number) => ({
  title: 'short',
  f: -1e-300 / (3 + 7 * index),
  g: index % 10,
  i: -2_000_000_000 - index,
  b: false,
  at: '2024-01-01T00:00:00.123Z',
  on: '2024-01-01',
  uuid: `00000000-0000-4000-8000-${String(index).padStart(12, '0')}`,
  colour: 'GREEN',
  tags: [1_000_000_000, 2_000_000_000],
  shelfId: 1 + index,
});
const data = {
  shelves: Array.from({ length: COUNT }, () => ({})),
  books: Array.from({ length: COUNT }, (_, index) => book(index)),
};

const aliases = (field: string) => Array.from({ length: 14 }, (_, at) => `${field}${at}: ${field}`).join(' ');

/** Longer than anything else of a record. */
const long = 'a'.repeat(500);

/** Each for the first so many, in parts that grow evenly; and from which part of the limit on it may be refused. */
const asked: [what: string, query: (first: number) => string, atLeast?: number][] = [
  ['floats', (n) => `{ books(first: ${n}) { f x: f y: f } }`],
  ['short floats', (n) => `{ books(first: ${n}) { g x: g y: g } }`],
  ['integers', (n) => `{ books(first: ${n}) { i x: i } }`],
  ['ids', (n) => `{ books(first: ${n}) { id shelfId } }`],
  ['booleans', (n) => `{ books(first: ${n}) { b } }`],
  ['times, dates and UUIDs', (n) => `{ books(first: ${n}) { at on uuid } }`],
  ['values of an enum', (n) => `{ books(first: ${n}) { colour } }`],
  ['lists of numbers', (n) => `{ books(first: ${n}) { tags } }`],
  ['nothing', (n) => `{ books(first: ${n}) { aRelationWithANameOfSomeLengthId } }`],
  ['a column with a long name', (n) => `{ books(first: ${n}) { ${long}: id } }`],
  ['many of them', (n) => `{ books(first: ${n}) { ${long}1: i ${long}2: i ${long}3: title } }`],
  ['the name of a type', (n) => `{ books(first: ${n}) { ${long}: __typename } }`],
  [
    'the names of types',
    (n) => `{ books(first: ${n}) { a: __typename b: __typename shelf { __typename } } }`,
  ],
  ['a reference', (n) => `{ books(first: ${n}) { ${long}: shelf { id } } }`],
  ['a reference that is null', (n) => `{ books(first: ${n}) { x: aRelationWithANameOfSomeLength { id } } }`],
  ['a list below', (n) => `{ shelves(first: ${n}) { ${long}: books { id } } }`],
  ['a list below, its columns', (n) => `{ shelves(first: ${n}) { books { ${long}: i } } }`],
  ['edges', (n) => `{ booksConnection(first: ${n}) { edges { ${long}: node { i } } } }`],
  [
    'edges twice',
    (n) => `{ booksConnection(first: ${n}) { edges { node { i } } ${long}: edges { node { i } } } }`,
  ],
  ['a fragment', (n) => `{ books(first: ${n}) { ...F } } fragment F on Book { ${long}: i }`],
  ['cursors', (n) => `{ booksConnection(first: ${n}) { edges { cursor b: cursor ${long}: cursor } } }`, 0.8],
  [
    'cursors of an order',
    (n) => `{ booksConnection(first: ${n}, orderBy: [{ title: ASC }, { f: DESC }]) { edges { cursor } } }`,
    0.1,
  ],
  [
    'cursors of times',
    (n) => `{ booksConnection(first: ${n}, orderBy: [{ at: ASC }]) { edges { cursor } } }`,
    0.7,
  ],
  [
    'groups',
    (n) => `{ booksAggregate(groupBy: [i], where: { id: { lte: "${n}" } }) { ${long}: by { i } count } }`,
  ],
  [
    'numbers of groups',
    (n) =>
      `{ booksAggregate(groupBy: [i], where: { id: { lte: "${n}" } }) { ${long}: count max { ${long}: f x: f } } }`,
  ],
  [
    'what is created',
    (n) =>
      `mutation { createStamps(records: [${'{}'.repeat(Math.min(n, 250))}]) { id made ${aliases('id')} ${aliases('made')} } }`,
  ],
  [
    'what is changed',
    (n) =>
      `mutation { updateBooks(where: { id: { lte: "${n}" } }, set: { b: false }, atMost: ${n}) { ${long}: i } }`,
  ],
];

const paths: [what: string, path: (first: number) => string][] = [
  ['floats', (n) => `/books?fields=f&limit=${n}`],
  ['integers', (n) => `/books?fields=i&limit=${n}`],
  ['whole records', (n) => `/books?limit=${n}`],
  ['long names of relations', (n) => `/books?fields=id&include=aRelationWithANameOfSomeLength&limit=${n}`],
  ['groups', (n) => `/books?aggregate=count,max(f)&groupBy=i&id[lte]=${n}`],
];

describe.each([...databases])('on %s', (database) => {
  let app: AppUnderTest;
  beforeAll(async () => {
    app = await openApp(database, { sdl, data, env: { LIMIT_BYTES: String(LIMIT) } });
  });
  afterAll(() => app.close());

  /** The bytes of the longest answer that is not refused. */
  const longest = async (ask: (first: number) => Promise<{ length: number; code: string | undefined }>) => {
    let [fits, refused, length] = [0, COUNT, 0];
    while (refused - fits > 1) {
      const middle = Math.floor((fits + refused) / 2);
      const answer = await ask(middle);
      if (answer.code === undefined) [fits, length] = [middle, answer.length];
      else {
        expect(answer.code).toBe('ANSWER_TOO_LARGE');
        refused = middle;
      }
    }
    return length / LIMIT;
  };

  test.each(asked)('GraphQL: %s', async (_, query, atLeast = 0.9) => {
    const part = await longest(async (first) => {
      const response = await app.fetch('/graphql', {
        method: 'POST',
        headers: { 'Content-Type': 'application/json' },
        body: JSON.stringify({ query: query(first) }),
      });
      const text = await response.text();
      return { length: Buffer.byteLength(text), code: JSON.parse(text).errors?.[0].extensions.code };
    });
    expect(part).toBeWithin(atLeast, 1.02);
  });

  test.each(paths)('REST: %s', async (_, path) => {
    const part = await longest(async (first) => {
      const text = await (await app.fetch(path(first))).text();
      return { length: Buffer.byteLength(text), code: JSON.parse(text).code };
    });
    expect(part).toBeWithin(0.8, 1.02);
  });
});
