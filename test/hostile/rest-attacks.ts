/** Attacks on the REST door: bodies, ids, parameters, cursors and headers. */

import { expect } from 'bun:test';
import { gzipSync } from 'node:zlib';
import { type Attack, get, type Outcome, post, put, request, utf8, type Wanted } from './attack.ts';

/** The shipped deployment, and a type with every kind of field that an attacker could try. */
export const THING = `
  enum Kind { SMALL LARGE }
  type Thing @resource {
    name: String! @key
    text: String
    code: String @constraint(pattern: "^[a-z]+-[a-z]+$", maxLength: 100000)
    kind: Kind
    float: Float
    at: DateTime
    uuid: UUID
    json: JSON
    tags: [String!]
    book: Book
  }`;

const none = { status: 404, code: 'NOT_FOUND' };
const malformed = { status: 400, code: 'MALFORMED_BODY' };
const untyped = { status: 400, code: 'UNSUPPORTED_CONTENT_TYPE' };
const invalid = (...faults: string[]): Wanted => ({ status: 400, code: 'VALIDATION_FAILED', faults });
const typed = (type: string) => `Content-Type: ${type}\r\n`;

const encode = encodeURIComponent;
const list = (query: Record<string, string>, of = 'books') => {
  const text = Object.entries(query).map(([name, value]) => `${encode(name)}=${encode(value)}`);
  return get(`/${of}?${text.join('&')}`);
};
const cursor = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');

/** Names that every object has, and what would end a quoted name. */
const inherited = ['__proto__', 'constructor', 'toString', 'hasOwnProperty'];
const SQL = `'; DROP TABLE "Book"; --`;
const NAMES = [...inherited, SQL, 'title" --', 'pages; SELECT 1'];

const nested = (depth: number) => `${'['.repeat(depth - 1)}${']'.repeat(depth - 1)}`;
const thing = (fields: string) => post('/things', `{"name":"n","code":"A",${fields}}`);
/** The code is wrong in each, so that nothing is created; what else is wrong is told beside it. */
const CODE = '#/code: PATTERN';

const bodies: [string, string, Outcome][] = [
  ['no body', request('POST /books', typed('application/json')), malformed],
  ['an empty body', post('/books', ''), malformed],
  ['white space', post('/books', ' \r\n\t'), malformed],
  ['an array', post('/books', [{ title: 'x', pages: 1 }]), malformed],
  ['a number', post('/books', '1'), malformed],
  ['null', post('/books', 'null'), malformed],
  ['a string', post('/books', '"{}"'), malformed],
  ['NaN', post('/books', '{"pages":NaN}'), malformed],
  ['a comment', post('/books', '{"title":"x" /* y */,"pages":1}'), malformed],
  ['a trailing comma', post('/books', '{"title":"x","pages":1,}'), malformed],
  ['two objects', post('/books', '{"title":"x","pages":1}{}'), malformed],
  ['a raw NUL', post('/books', '{"title":"\0","pages":1}'), malformed],
  ['a byte order mark', post('/books', '\ufeff{"title":"","pages":1}'), invalid('#/title: LENGTH')],
  [
    'UTF-16',
    request(
      'POST /books',
      typed('application/json; charset=utf-16'),
      Buffer.from('{"title":"é","pages":1}', 'utf16le').toString('latin1'),
    ),
    malformed,
  ],
  [
    'bytes that are no UTF-8',
    request('POST /books', typed('application/json'), '{"title":"\xff","pages":1}'),
    malformed,
  ],
  [
    'overlong UTF-8',
    request('POST /books', typed('application/json'), '{"title":"\xc0\xaf","pages":1}'),
    malformed,
  ],
  [
    'a surrogate in UTF-8',
    request('POST /books', typed('application/json'), '{"title":"\xed\xa0\x80","pages":1}'),
    malformed,
  ],
  ['an escaped lone surrogate', post('/books', '{"title":"\\ud800","pages":1}'), invalid('#/title: TEXT')],
  ['an escaped NUL', post('/books', '{"title":"a\\u0000","pages":1}'), invalid('#/title: TEXT')],
  [
    'a lone surrogate in JSON',
    thing('"json":{"a":["\\udfff"]}'),
    (answers) => expect(answers[0]?.body.errors).toContainEqual(expect.objectContaining({ code: 'TEXT' })),
  ],
  [
    'a NUL in a key of JSON',
    thing('"json":{"\\u0000":1}'),
    (answers) => expect(answers[0]?.body.errors).toContainEqual(expect.objectContaining({ code: 'TEXT' })),
  ],
  ['a NUL in a list', thing('"tags":["\\u0000"]'), invalid(CODE, '#/tags/0: TEXT')],
  ['1e999', thing('"float":1e999'), invalid(CODE, '#/float: OUT_OF_RANGE')],
  ['2^53+1', post('/books', '{"title":"x","pages":9007199254740993}'), invalid('#/pages: OUT_OF_RANGE')],
  ['2^31', post('/books', '{"title":"x","pages":2147483648}'), invalid('#/pages: OUT_OF_RANGE')],
  ['1.5 pages', post('/books', '{"title":"x","pages":1.5}'), invalid('#/pages: TYPE')],
  ['a number as text', post('/books', '{"title":"x","pages":"1"}'), invalid('#/pages: TYPE')],
  ['an object as text', post('/books', '{"title":{"toString":1},"pages":1}'), invalid('#/title: TYPE')],
  [
    '32 levels, of which the record takes fewer',
    thing(`"json":${nested(32)}`),
    invalid(CODE, '#/json: TYPE'),
  ],
  ['33 levels', thing(`"json":${nested(33)}`), { status: 400, code: 'JSON_TOO_DEEP' }],
  ['100,000 levels', post('/books', '['.repeat(100_000)), { status: 400, code: 'JSON_TOO_DEEP' }],
  [
    'brackets in a string',
    post('/books', `{"title":"${'[{\\"'.repeat(200)}","pages":1}`),
    invalid('#/title: LENGTH'),
  ],
  ['a key twice', post('/books', '{"title":"x","pages":1,"pages":0}'), invalid('#/pages: OUT_OF_RANGE')],
  ...inherited.map((name): [string, string, Outcome] => [
    `the key ${name}`,
    post('/books', `{"title":"x","pages":1,"${name}":{"id":1}}`),
    invalid(`#/${name}: UNKNOWN`),
  ]),
  [
    '__proto__ for what is required',
    post('/books', '{"__proto__":{"title":"x","pages":1}}'),
    invalid('#/__proto__: UNKNOWN', '#/title: REQUIRED', '#/pages: REQUIRED'),
  ],
  ['SQL as a key', post('/books', { title: 'x', pages: 1, [SQL]: 1 }), invalid(`#/${SQL}: UNKNOWN`)],
  ['an id', post('/books', { id: 1, title: 'x', pages: 1 }), invalid('#/id: READ_ONLY')],
  ['an enum in SQL', thing(`"kind":"SMALL' OR 1=1"`), invalid(CODE, '#/kind: ENUM')],
  [
    'a reference in SQL',
    thing(`"bookId":"1 OR 1=1"`),
    (answers) => expect([answers[0]?.status, answers[0]?.body.errors.length]).toEqual([400, 2]),
  ],
  [
    'what makes a bad pattern stall',
    post('/things', { name: 'n', code: `${'a-'.repeat(40_000)}!` }),
    invalid('#/code: PATTERN'),
  ],
  [
    'what makes the check of addresses stall',
    post('/users', { name: 'x', email: `${'a.'.repeat(40_000)}@` }),
    invalid('#/email: FORMAT'),
  ],
  ['text/plain, which pages may send to anybody', post('/books', '{}', typed('text/plain')), untyped],
  ['a form', post('/books', 'title=x', typed('application/x-www-form-urlencoded')), untyped],
  ['several parts', post('/books', '--x', typed('multipart/form-data; boundary=x')), untyped],
  ['no type', post('/books', '{}', ''), untyped],
  ['two types', post('/books', '{}', typed('application/json') + typed('text/plain')), untyped],
  ['almost the type', post('/books', '{}', typed('application/jsonp')), untyped],
  [
    'the type in capitals, with parameters',
    post('/books', '{}', typed('Application/JSON; x="a;b"')),
    invalid('#/title: REQUIRED', '#/pages: REQUIRED'),
  ],
  [
    'a compressed body',
    request(
      'POST /books',
      `${typed('application/json')}Content-Encoding: gzip\r\n`,
      gzipSync('{"title":"x","pages":1}').toString('latin1'),
    ),
    untyped,
  ],
  [
    'a body that is not compressed as it says',
    post('/books', '{"title":"x","pages":1}', `${typed('application/json')}Content-Encoding: gzip\r\n`),
    untyped,
  ],
  [
    'a transaction of another service',
    post('/transaction', { operations: [{ method: 'DELETE', path: 'http://evil.test/books/1' }] }),
    (answers) => expect(answers[0]?.status).toBe(400),
  ],
  [
    'a transaction with references that every object has',
    post('/transaction', {
      operations: [
        { method: 'POST', path: '/todos', body: { title: 'gone again' }, as: 'a' },
        { method: 'POST', path: '/todos', body: { title: { $ref: 'a.__proto__' } } },
      ],
    }),
    (answers) => expect(answers[0]?.status).toBe(400),
  ],
  [
    'a transaction within a transaction',
    post('/transaction', {
      operations: [{ method: 'POST', path: '/transaction', body: { operations: [] } }],
    }),
    (answers) => expect(answers[0]?.status).toBe(400),
  ],
];

const ids = [
  ...['abc', '1.0', '01', '+1', '-1', '0', '1e0', '0x1', ' 1', '1%20', '1%00', '%00', '%zz', '%c0%b1', '%ff'],
  ...[
    '9007199254740993',
    '18446744073709551617',
    '１',
    encode('１'),
    '1%0d%0aX: y',
    '*',
    'null',
    'undefined',
  ],
  ...['1 OR 1=1', SQL, "1' --", ...inherited].map(encode),
].map((text) => text.replaceAll(' ', '%20'));

const parameters: [string, string, Outcome][] = [
  ['SQL as a value', list({ title: SQL }), { status: 200, body: [] }],
  ['SQL as a number', list({ pages: '1 OR 1=1' }), invalid('pages: TYPE')],
  ['SQL in a list of numbers', list({ 'pages[in]': '1,2) OR (1=1' }), invalid('pages[in]: TYPE')],
  ['SQL as an operator', list({ 'pages[gt) OR (1]': '1' }), invalid('pages[gt) OR (1]: UNKNOWN')],
  ['SQL as a limit', list({ limit: '1; DROP TABLE x' }), invalid('limit: OUT_OF_RANGE')],
  ['a limit of 10^30', list({ limit: `1${'0'.repeat(30)}` }), invalid('limit: OUT_OF_RANGE')],
  ['% as itself', list({ 'title[contains]': '%' }), { status: 200, body: [] }],
  ['_ as itself', list({ 'title[startsWith]': '____' }), { status: 200, body: [] }],
  ['a backslash as itself', list({ 'title[contains]': '\\' }), { status: 200, body: [] }],
  ['* as itself', list({ 'title[startsWith]': '*' }), { status: 200, body: [] }],
  ['a NUL as a value', list({ title: 'a\0' }), invalid('title: TEXT')],
  ['a raw lone surrogate as a value', get('/books?title=%ed%a0%80'), { status: 200, body: [] }],
  ['a sum as a value', get('/books?title=\xff\xfe'), { status: 200, body: [] }],
  ['a parameter twice', get('/books?title=a&title=b'), invalid('title: UNKNOWN')],
  [
    'a thousand parameters',
    get(`/books?${'a&'.repeat(999)}a`),
    (answers) => expect([answers[0]?.status, answers[0]?.body.errors.length]).toEqual([400, 100]),
  ],
  ['a broken percent sign', get('/books?title=%'), { status: 200, body: [] }],
  ...NAMES.flatMap((name): [string, string, Outcome][] => [
    [`the parameter ${name}`, list({ [name]: '1' }), invalid(`${name}: UNKNOWN`)],
    [`the operator ${name}`, list({ [`title[${name}]`]: '1' }), invalid(`title[${name}]: UNKNOWN`)],
    [`sort by ${name}`, list({ sort: `-${name}` }), invalid('sort: UNKNOWN')],
    [`fields=${name}`, list({ fields: name }), invalid('fields: UNKNOWN')],
    [`include=${name}`, list({ include: name }, 'users'), invalid('include: UNKNOWN')],
    [`groupBy=${name}`, list({ groupBy: name, aggregate: 'count' }), invalid('groupBy: UNKNOWN')],
    [
      `aggregate=sum(${name})`,
      list({ aggregate: `sum(${name})` }),
      (answers) => expect([answers[0]?.status, answers[0]?.body.code]).toEqual([400, 'VALIDATION_FAILED']),
    ],
    [`where ${name}`, list({ where: `{${JSON.stringify(name)}:{"eq":1}}` }), invalid('where: UNKNOWN')],
    [
      `where with the operator ${name}`,
      list({ where: `{"title":{${JSON.stringify(name)}:"x"}}` }),
      invalid('where: UNKNOWN'),
    ],
  ]),
  ['where that is no JSON', list({ where: '{' }), invalid('where: FORMAT')],
  ['where with a lone surrogate', list({ where: '{"title":{"eq":"\\ud800"}}' }), invalid('where: TEXT')],
  ['where with a NUL', list({ where: '{"title":{"in":["\\u0000"]}}' }), invalid('where: TEXT')],
  [
    'where with null',
    list({ where: '{"title":{"eq":null}}' }),
    (answers) => expect(answers[0]?.status).toBe(400),
  ],
  [
    'where that nests 300 levels',
    list({ where: `${'{"not":'.repeat(300)}{}${'}'.repeat(300)}` }),
    (answers) => expect([answers[0]?.status, answers[0]?.body.code]).toEqual([400, 'VALIDATION_FAILED']),
  ],
  [
    'an include without end',
    list({ include: `posts${'.author.posts'.repeat(50)}` }, 'users'),
    { status: 400, code: 'QUERY_TOO_DEEP' },
  ],
  ...[
    'x',
    '',
    SQL,
    '====',
    cursor(null),
    cursor([]),
    cursor({}),
    cursor([1]),
    cursor(['1']),
    cursor({ __proto__: null, key: [1] }),
    'a'.repeat(4000),
  ].map((after): [string, string, Outcome] => [
    `the cursor ${after.slice(0, 30)}`,
    list({ limit: '1', after }),
    invalid('after: CURSOR'),
  ]),
  ['Accept that is no type', get('/books/1', 'Accept: ;;;q=x,,\r\n'), { status: 200, body: { id: 1 } }],
  [
    'If-None-Match that is no tag',
    get('/books/1', 'If-None-Match: W/"\r\n'),
    { status: 200, body: { id: 1 } },
  ],
  [
    'If-Match that is no tag',
    put('/books/1', { pages: 1 }, 'If-Match: nonsense, "\r\n'),
    { status: 412, code: 'VERSION_CONFLICT' },
  ],
  [
    'If-Match with SQL',
    put('/books/1', { pages: 1 }, 'If-Match: "1 OR 1=1"\r\n'),
    { status: 412, code: 'VERSION_CONFLICT' },
  ],
  [
    'an Idempotency-Key of bytes',
    post('/books', { title: 'x', pages: 1 }, `${typed('application/json')}Idempotency-Key: \xff\r\n`),
    invalid('Idempotency-Key: FORMAT'),
  ],
  [
    'an Idempotency-Key of 256 characters',
    post(
      '/books',
      { title: 'x', pages: 1 },
      `${typed('application/json')}Idempotency-Key: ${'k'.repeat(256)}\r\n`,
    ),
    invalid('Idempotency-Key: FORMAT'),
  ],
  [
    'an Idempotency-Key with SQL, whose answer is not kept when it is an error',
    post('/books', {}, `${typed('application/json')}Idempotency-Key: ';DELETE/**/FROM"Book";--\r\n`),
    invalid('#/title: REQUIRED', '#/pages: REQUIRED'),
  ],
  [
    'a page of an evil origin',
    get('/books/1', 'Origin: https://evil.test\r\n'),
    { status: 200, headers: { 'Access-Control-Allow-Origin': null } },
  ],
  [
    'a page of no origin',
    request('OPTIONS /books/1', 'Origin: null\r\nAccess-Control-Request-Method: PUT\r\n'),
    { status: 204, headers: { 'Access-Control-Allow-Origin': null, 'Access-Control-Allow-Methods': null } },
  ],
  [
    'a key that would be a header of the answer',
    post('/things', { name: 'a\r\nSet-Cookie: b=c/../?#é' }),
    {
      status: 201,
      headers: {
        'Set-Cookie': null,
        Location: `/things/${encode('a\r\nSet-Cookie: b=c/../?#é')}`,
      },
    },
  ],
  [
    'a value that would be a header of the answer',
    list({ limit: '1', 'title[ne]': 'a\r\nSet-Cookie: b=c>; rel="next"' }),
    (answers) => {
      expect(answers[0]?.headers.get('Link')).not.toMatch(/[\r\n]|Set-Cookie: /);
      expect(answers[0]?.headers.has('Set-Cookie')).toBe(false);
    },
  ],
];

export const restAttacks: Attack[] = [
  ...bodies.map(([name, sent, outcome]): Attack => ({ name: `body: ${name}`, sent, outcome })),
  ...ids.map((id): Attack => ({ name: `id: ${id}`, sent: get(`/books/${utf8(id)}`), outcome: none })),
  ...ids.map(
    (id): Attack => ({
      name: `DELETE of id: ${id}`,
      sent: request(`DELETE /books/${utf8(id)}`),
      outcome: none,
    }),
  ),
  ...parameters.map(([name, sent, outcome]): Attack => ({ name, sent, outcome })),
];
