/** Attacks on the GraphQL door: envelopes, documents and variables. */

import { expect } from 'bun:test';
import { type Attack, get, graphql, type Outcome, post, request, SQL } from './attack.ts';

const malformed = { status: 400, code: 'MALFORMED_BODY' };
const refused = (code: string) => ({ status: 200, code });
const invalid = refused('GRAPHQL_VALIDATION_FAILED');
const syntax = refused('GRAPHQL_PARSE_FAILED');
const input = refused('BAD_USER_INPUT');
const data = (value: unknown): Outcome => ({ status: 200, body: { data: value } });
/** Execution began: what went wrong is beside the data. */
const failed =
  (code: string): Outcome =>
  ([answer]) => {
    expect(answer?.status).toBe(200);
    expect(answer?.body).toHaveProperty('data');
    expect(answer?.body.errors[0].extensions.code).toBe(code);
  };

const fragments = (count: number) =>
  Array.from({ length: count }, (_, at) => `fragment f${at} on Book { ...f${at + 1} ...f${at + 1} }`).join(
    ' ',
  );
const aliases = (count: number) => Array.from({ length: count }, (_, at) => `a${at}: title`).join(' ');
const deep = (levels: number) =>
  `{ users { ${'posts { author { '.repeat(levels)} id ${'} }'.repeat(levels)} } }`;
const byWhere = 'query ($where: BookWhere) { books(where: $where) { id } }';
const byId = 'query ($id: ID!) { book(id: $id) { id } }';
const create = 'mutation ($title: String!, $pages: Int!) { createBook(title: $title, pages: $pages) { id } }';

const rows: [string, string, Outcome][] = [
  ['a batch', post('/graphql', [{ query: '{ books { id } }' }]), malformed],
  ['no query', post('/graphql', {}), malformed],
  ['a query that is no text', post('/graphql', { query: { toString: 1 } }), malformed],
  ['variables that are a list', graphql('{ books { id } }', []), malformed],
  ['variables that are text', graphql('{ books { id } }', '{}'), malformed],
  ['extensions that are a list', graphql('{ books { id } }', {}, { extensions: [] }), malformed],
  [
    'a mutation by GET',
    get('/graphql?query=mutation%7BdeleteBook(id:1)%7Bid%7D%7D'),
    { status: 405, code: 'METHOD_NOT_ALLOWED', headers: { Allow: 'POST, OPTIONS' } },
  ],
  [
    'a form, which pages may send to anybody',
    post('/graphql', 'query=%7Bbooks%7D', 'Content-Type: application/x-www-form-urlencoded\r\n'),
    { status: 400, code: 'UNSUPPORTED_CONTENT_TYPE' },
  ],
  [
    'application/graphql',
    post('/graphql', '{ books { id } }', 'Content-Type: application/graphql\r\n'),
    { status: 400, code: 'UNSUPPORTED_CONTENT_TYPE' },
  ],
  [
    'Accept that nothing meets',
    request(
      'POST /graphql',
      'Accept: text/html\r\nContent-Type: application/json\r\n',
      '{"query":"{ books { id } }"}',
    ),
    { status: 406, code: 'NOT_ACCEPTABLE' },
  ],
  [
    'a broken document as the newer type',
    request(
      'POST /graphql',
      'Accept: application/graphql-response+json\r\nContent-Type: application/json\r\n',
      '{"query":"{"}',
    ),
    { status: 400, code: 'GRAPHQL_PARSE_FAILED' },
  ],
  ['an empty document', graphql(''), syntax],
  ['a document of comments', graphql('# nothing'), syntax],
  ['a NUL in a document', graphql('{ books\0 { id } }'), syntax],
  [
    'a lone surrogate in a document',
    graphql('{ books(where: { title: { eq: "\\uD800" } }) { id } }'),
    syntax,
  ],
  ['brackets without end', graphql('{ a '.repeat(600)), syntax],
  ['100,000 brackets', graphql('{'.repeat(100_000)), ([answer]) => expect(answer?.status).toBe(200)],
  ['lists without end', graphql(`{ books(where: ${'['.repeat(1900)}) { id } }`), syntax],
  ['3,000 tokens', graphql(`{ ${'id '.repeat(3000)} }`), refused('TOO_MANY_TOKENS')],
  ['31 aliases', graphql(`{ books { ${aliases(31)} } }`), refused('TOO_MANY_ALIASES')],
  ['31 root fields', graphql(`{ ${'__typename '.repeat(31)} }`), refused('TOO_MANY_ROOT_FIELDS')],
  [
    '51 directives',
    graphql(`{ books { id ${'@skip(if: false) '.repeat(51)} } }`),
    refused('TOO_MANY_DIRECTIVES'),
  ],
  ['11 levels', graphql(deep(5)), refused('QUERY_TOO_DEEP')],
  [
    'aliases through fragments',
    graphql(`{ books { ${'...f '.repeat(4)} } } fragment f on Book { ${aliases(10)} }`),
    refused('TOO_MANY_ALIASES'),
  ],
  ['a fragment in itself', graphql('{ books { ...f } } fragment f on Book { ...f }'), invalid],
  [
    'fragments in each other',
    graphql('{ books { ...f } } fragment f on Book { ...g } fragment g on Book { ...f }'),
    invalid,
  ],
  [
    '2^100 fields by fragments that say nothing',
    graphql(`{ books { ...f0 } } ${fragments(100)} fragment f100 on Book { title }`),
    ([answer]) => {
      expect(answer?.status).toBe(200);
      expect(answer?.body.data.books[0]).toEqual({ title: 'Dune' });
    },
  ],
  [
    '2^100 aliases by fragments',
    graphql(`{ books { ...f0 } } ${fragments(100)} fragment f100 on Book { a: title }`),
    refused('TOO_MANY_ALIASES'),
  ],
  ['a fragment that is not there', graphql('{ books { ...nowhere } }'), invalid],
  ['a name of 100,000 letters', graphql(`{ ${'a'.repeat(100_000)} }`), invalid],
  ['__proto__ as a field', graphql('{ __proto__ }'), invalid],
  ['constructor as a field', graphql('{ constructor { name } }'), invalid],
  [
    'aliases that every object has',
    graphql('{ constructor: book(id: 1) { toString: title  hasOwnProperty: id  valueOf: pages } }'),
    data({ constructor: { toString: 'Dune', hasOwnProperty: '1', valueOf: 412 } }),
  ],
  [
    '__proto__ as an alias',
    graphql('{ __proto__: book(id: 1) { __proto__: title } }'),
    ([answer]) => {
      expect(answer?.status).toBe(200);
      expect(Object.getOwnPropertyDescriptor(answer?.body.data, '__proto__')?.value).toBeDefined();
    },
  ],
  [
    'a variable named __proto__',
    graphql('query ($__proto__: ID!) { book(id: $__proto__) { id } }', {}),
    input,
  ],
  [
    'a variable named constructor that is not given',
    graphql('query ($constructor: String) { books(after: $constructor, first: 1) { id } }', {}),
    data({ books: [{ id: '1' }] }),
  ],
  ['a variable that inherits its value', graphql(byId, { __proto__: { id: 1 } }), input],
  ['a variable too many', graphql(byId, { id: '1', more: SQL }), data({ book: { id: '1' } })],
  ['a variable of another type', graphql(byId, { id: { eq: 1 } }), input],
  ['an id that is no whole number', graphql(byId, { id: 1.5 }), input],
  ['an id beyond 2^53', graphql(byId, { id: 2 ** 53 }), input],
  ['an id that rounds to another', graphql(byId, { id: '1.0' }), data({ book: null })],
  ['an id of 2^53+1 as text', graphql(byId, { id: '9007199254740993' }), data({ book: null })],
  ['an id in SQL', graphql(byId, { id: '1 OR 1=1' }), data({ book: null })],
  ['an id of NUL', graphql(byId, { id: '1\0' }), data({ book: null })],
  ['2^31', graphql('{ books(first: 2147483648) { id } }'), invalid],
  ['an Int of a hundred digits', graphql(`{ books(first: ${'9'.repeat(100)}) { id } }`), invalid],
  [
    'a Float beyond all',
    graphql('{ items(where: { price: { gt: 1e999 } }) { id } }'),
    ([answer]) => expect([answer?.status, answer?.body.errors.length]).toEqual([200, 1]),
  ],
  ['an Int below zero', graphql('{ books(first: -1) { id } }'), failed('VALIDATION_FAILED')],
  ['an unknown field of where', graphql(byWhere, { where: { [SQL]: { eq: 1 } } }), input],
  ['an unknown operator', graphql(byWhere, { where: { title: { like: '%' } } }), input],
  ['__proto__ in where', graphql(byWhere, JSON.parse('{"where":{"__proto__":{"title":{"eq":"x"}}}}')), input],
  ['SQL as a value', graphql(byWhere, { where: { title: { eq: SQL } } }), data({ books: [] })],
  ['% as itself', graphql(byWhere, { where: { title: { contains: '%' } } }), data({ books: [] })],
  ['a NUL in a value', graphql(byWhere, { where: { title: { eq: '\0' } } }), failed('VALIDATION_FAILED')],
  [
    'a NUL in a block string',
    graphql('{ books(where: { title: { eq: """\\u0000""" } }) { id } }'),
    data({ books: [] }),
  ],
  ['SQL in orderBy', graphql('{ books(orderBy: [{ title: "ASC; DROP" }]) { id } }'), invalid],
  ['SQL in an enum', graphql('{ things(where: { kind: { eq: "SMALL" } }) { name } }'), invalid],
  ['a cursor of nothing', graphql('{ books(first: 1, after: "x") { id } }'), failed('VALIDATION_FAILED')],
  ['a lone surrogate to write', graphql(create, { title: '\ud800', pages: 1 }), failed('VALIDATION_FAILED')],
  ['a NUL to write', graphql(create, { title: '\0', pages: 1 }), failed('VALIDATION_FAILED')],
  ['text for a number to write', graphql(create, { title: 'x', pages: '1' }), input],
  [
    'a subscription',
    graphql('subscription { books { id } }'),
    ([answer]) => expect([answer?.status, answer?.body.data]).toEqual([200, undefined]),
  ],
  [
    'an operation that is not there',
    graphql('query a { books { id } }', {}, { operationName: 'b' }),
    refused('OPERATION_RESOLUTION_FAILURE'),
  ],
  [
    'an operation that every object has',
    graphql('query a { books { id } }', {}, { operationName: '__proto__' }),
    refused('OPERATION_RESOLUTION_FAILURE'),
  ],
  [
    'several operations, of which none is meant',
    graphql('query a { books { id } } query b { books { id } }'),
    refused('OPERATION_RESOLUTION_FAILURE'),
  ],
  ['a document that defines types', graphql('type Evil { id: ID } { books { id } }'), invalid],
  [
    'variables in fragments, as once was',
    graphql('{ books { ...f } } fragment f($a: Int) on Book { id }'),
    syntax,
  ],
  [
    'commas between interfaces, as once was',
    graphql('type A implements B, C { id: ID }'),
    ([answer]) => expect([answer?.status, answer?.body.data]).toEqual([200, undefined]),
  ],
  [
    'what makes normal forms stall',
    graphql('query ($m: String!) { things(where: { nick: { eq: $m } }) { name } }', {
      m: `b${'\u0301\u0316'.repeat(50_000)}`,
    }),
    data({ things: [] }),
  ],
  ['an escape beyond Unicode', graphql('{ books(where: { title: { eq: "\\u{110000}" } }) { id } }'), syntax],
  [
    'an escape of a whole character',
    graphql('{ books(where: { title: { eq: "\\u{1F600}" } }) { id } }'),
    data({ books: [] }),
  ],
];

export const graphqlAttacks: Attack[] = rows.map(([name, sent, outcome]) => ({
  name: `GraphQL: ${name}`,
  sent,
  outcome,
}));
