/** Attacks on what REST is asked for: ids, parameters, cursors and headers. */

import { expect } from 'bun:test';
import {
  type Attack,
  get,
  inherited,
  invalid,
  type Outcome,
  post,
  put,
  request,
  SQL,
  typed,
  utf8,
} from './attack.ts';

const none = { status: 404, code: 'NOT_FOUND' };

const encode = encodeURIComponent;
const list = (query: Record<string, string>, of = 'books') => {
  const text = Object.entries(query).map(([name, value]) => `${encode(name)}=${encode(value)}`);
  return get(`/${of}?${text.join('&')}`);
};
const cursor = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');

/** Names that every object has, and what would end a quoted name. */
const NAMES = [...inherited, SQL, 'title" --', 'pages; SELECT 1'];

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
