/** Documents that are new and ask for what others asked for share what was planned; those that look alike do not. */

import { afterAll, beforeAll, expect, spyOn, test } from 'bun:test';
import { GraphQLInt } from 'graphql';
import { CompiledQuery, type Outcome } from '../../src/graphql/compiled/compiled.ts';
import { type AppUnderTest, openApp } from '../app.ts';

const sdl = `
  enum Kind { GOOD BAD }
  type Author @resource { id: ID!  name: String!  books: [Book!]! }
  type Book @resource { id: ID!  title: String!  pages: Int!  kind: Kind!  author: Author! }
  type Note @resource { id: UUID! }`;
const data = {
  authors: [
    { id: 1, name: 'Ada' },
    { id: 2, name: 'Bob' },
  ],
  books: [
    { id: 1, title: 'GOOD', pages: 10, kind: 'GOOD', authorId: 1 },
    { id: 2, title: 'two', pages: 20, kind: 'BAD', authorId: 1 },
    { id: 3, title: 'three', pages: 30, kind: 'GOOD', authorId: 2 },
  ],
};

let app: AppUnderTest;
beforeAll(async () => {
  app = await openApp('sqlite', { sdl, data });
});
afterAll(() => app.close());

const books = (args: string, selection: string) => `{ author(id: 1) { books${args} { ${selection} } } }`;

/** One after the other, each beside those that it is nearly the same as. */
const asked: [string, unknown][] = [
  ['{ book(id: 1) { id title } }', { book: { id: '1', title: 'GOOD' } }],
  ['# again\n{ book(id: 2) { id title } }', { book: { id: '2', title: 'two' } }],
  ['{ b: book(id: 2) { id title } }', { b: { id: '2', title: 'two' } }],
  ['{ book(id: 1) { title id } }', { book: { title: 'GOOD', id: '1' } }],
  ['{ book(id: 1) { id: title title: id } }', { book: { id: 'GOOD', title: '1' } }],
  ['{ book(id: 4) { id title } }', { book: null }],
  ['{ a: book(id: 1) { pages } b: book(id: 3) { pages } }', { a: { pages: 10 }, b: { pages: 30 } }],
  ['{ books(first: 1) { pages } }', { books: [{ pages: 10 }] }],
  ['{ books(first: 1) { id } }', { books: [{ id: '1' }] }],
  ['{ books(first: 2) { pages } }', { books: [{ pages: 10 }, { pages: 20 }] }],
  ['{ books(first: 1, orderBy: [{ pages: DESC }]) { pages } }', { books: [{ pages: 30 }] }],
  [books('', 'id'), { author: { books: [{ id: '1' }, { id: '2' }] } }],
  [books('(first: 1)', 'id'), { author: { books: [{ id: '1' }] } }],
  [books('(where: { title: { eq: "GOOD" } })', 'id'), { author: { books: [{ id: '1' }] } }],
  [books('(where: { title: { eq: "two" } })', 'id'), { author: { books: [{ id: '2' }] } }],
  [books('(where: { title: { eq: """two""" } })', 'id'), { author: { books: [{ id: '2' }] } }],
  [books('(where: { kind: { eq: GOOD } })', 'id'), { author: { books: [{ id: '1' }] } }],
  [books('(where: { kind: { eq: BAD } })', 'id'), { author: { books: [{ id: '2' }] } }],
  [books('(where: { kind: { in: [BAD] } })', 'id'), { author: { books: [{ id: '2' }] } }],
  [books('(where: { kind: { in: [GOOD, BAD] } })', 'id'), { author: { books: [{ id: '1' }, { id: '2' }] } }],
  [books('(where: { kind: { in: GOOD } })', 'id'), { author: { books: [{ id: '1' }] } }],
  [books('', 'id @skip(if: true) pages'), { author: { books: [{ pages: 10 }, { pages: 20 }] } }],
  [books('', 'id pages'), { author: { books: [10, 20].map((pages, at) => ({ id: `${at + 1}`, pages })) } }],
];

// By the second time all of them are known, and by the third the answer is made by code of its own.
test.each([...asked, ...asked, ...asked])('%s', async (query, data) => {
  const { body } = await app.rest('POST', '/graphql', { query: `#${Math.random()}\n${query}` });
  expect(JSON.stringify(body)).toBe(JSON.stringify({ data }));
});

test('the same selection with other variables is another one', async () => {
  const query = 'query ($n: Int!) { author(id: 1) { books(first: $n) { id } } }';
  for (const n of [1, 2, 1]) {
    const { data } = await app.graphql(query, { n });
    expect(data.author.books).toHaveLength(n);
  }
  const fixed = await app.graphql(`query ($n: Int! = 2) { author(id: 1) { books(first: $n) { id } } }`);
  expect(fixed.data.author.books).toHaveLength(2);
});

test('what is wrong with an argument is told of each document that has it', async () => {
  const query = '{ author(id: 1) { books(first: -1) { id } } }';
  for (const text of [query, `#again\n${query}`, query]) {
    const { errors } = await app.graphql(text);
    expect(errors?.[0].extensions).toMatchObject({ code: 'VALIDATION_FAILED' });
  }
});

test('a place whose variable is left out is not taken for one that is not there, whoever asked for the rest before', async () => {
  const given = await app.rest('POST', '/graphql', {
    query: '{ books(where: { pages: { gte: 20 } }) { id } }',
  });
  expect(given.body.data.books).toHaveLength(2);
  const query = 'query ($left: StringFilter) { books(where: { title: $left, pages: { gte: 20 } }) { id } }';
  const { errors } = (await app.rest('POST', '/graphql', { query })).body;
  expect(errors?.[0].extensions.code).toBe('VALIDATION_FAILED');
});

test('by the executor, the arguments of a relation are read once, not for each record', async () => {
  const query = `query ($first: Int $n: Int) {
    node(id: "0190f5a0-7c1e-7a64-b3f5-2b1f3c0e9a10") { id }
    authors(first: $first) {
      books(where: { pages: { in: [10 20 30] } } orderBy: [{ pages: DESC }]) { id }
      one: books(where: { pages: { in: [10 20 30], gte: $n } } first: 1) { id }
    }
  }`;
  const read = spyOn(GraphQLInt, 'coerceInputLiteral');
  const asked = async (first: number) => {
    read.mockClear();
    const { data } = (await app.graphql(query, { first, n: 15 })).body;
    return { authors: data.authors, reads: read.mock.calls.length };
  };
  // A new document is validated, too.
  await asked(1);
  const alone = await asked(1);
  const both = await asked(2);
  read.mockRestore();
  expect(both.authors).toEqual([
    { books: [{ id: '2' }, { id: '1' }], one: [{ id: '2' }] },
    { books: [{ id: '3' }], one: [{ id: '3' }] },
  ]);
  expect(alone.authors).toEqual(both.authors.slice(0, 1));
  expect([alone.reads > 0, both.reads]).toEqual([true, alone.reads]);
});

test('what conditions decide on, and the type of the root, needs no executor', async () => {
  const run = spyOn(CompiledQuery.prototype, 'run');
  const one = { id: '1' };
  const answers: [string, unknown, Record<string, unknown>?][] = [
    ['{ __typename }', { __typename: 'Query' }],
    ['{ book(id: 1) { id } is: __typename }', { book: one, is: 'Query' }],
    ['{ is: __typename book(id: 1) { id } a: author(id: 1) { id } }', { is: 'Query', book: one, a: one }],
    ['query ($x: Boolean!) { book(id: 1) @include(if: $x) { id } }', { book: one }, { x: true }],
    ['query ($x: Boolean!) { book(id: 1) @include(if: $x) { id } }', {}, { x: false }],
    [
      'query ($x: Boolean = false $y: Boolean!) { ... @skip(if: $x) { a: book(id: 1) { id } } ...F @include(if: $y) } fragment F on Query { a: book(id: 1) { pages } }',
      { a: { id: '1', pages: 10 } },
      { y: true },
    ],
    [
      'query ($x: Boolean = false $y: Boolean!) { ... @skip(if: $x) { a: book(id: 1) { id } } ...F @include(if: $y) } fragment F on Query { a: book(id: 1) { pages } }',
      { a: { pages: 10 } },
      { x: true, y: true },
    ],
  ];
  for (const [query, data, variables] of [...answers, ...answers, ...answers]) {
    const { body } = await app.rest('POST', '/graphql', { query, variables });
    expect(JSON.stringify(body)).toBe(JSON.stringify({ data }));
  }
  const outcomes = await Promise.all(
    run.mock.results.map(({ value }) => value as Promise<Outcome | undefined>),
  );
  run.mockRestore();
  expect(outcomes).toHaveLength(3 * answers.length);
  expect(outcomes.every((outcome) => outcome?.data)).toBe(true);
});
