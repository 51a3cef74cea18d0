/** Attacks on what REST is sent: bodies and their types. */

import { expect } from 'bun:test';
import { gzipSync } from 'node:zlib';
import { type Attack, inherited, invalid, type Outcome, post, request, SQL, typed } from './attack.ts';

/** The shipped deployment, and a type with every kind of field that an attacker could try. */
export const THING = `
  enum Kind { SMALL LARGE }
  type Thing @resource @search(fields: ["note"]) {
    name: String! @key
    text: String
    code: String @constraint(pattern: "^[a-z]+-[a-z]+$", maxLength: 100000)
    kind: Kind
    float: Float
    at: DateTime
    uuid: UUID
    json: JSON
    tags: [String!]
    note: String
    nick: String @caseless
    link: String @constraint(format: "uri")
    book: Book
  }`;

const malformed = { status: 400, code: 'MALFORMED_BODY' };
const untyped = { status: 400, code: 'UNSUPPORTED_CONTENT_TYPE' };

const nested = (depth: number) => `${'['.repeat(depth - 1)}${']'.repeat(depth - 1)}`;
const thing = (fields: string) => post('/things', `{"name":"n","code":"A",${fields}}`);
/** A letter with many accents in the wrong order. */
const MARKS = `a${'\u0301\u0316'.repeat(50_000)}`;
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
  ...['https://', 'HTTP:', 'wss:///a@'].map((scheme): [string, string, Outcome] => [
    `what makes the parser of URLs stall, after ${scheme}`,
    post('/things', { name: 'n', link: `${scheme}a${'%CC%81%CC%96'.repeat(80_000)}` }),
    invalid('#/link: FORMAT'),
  ]),
  [
    'long URIs',
    post('/things', { name: 'uri', link: `https://${'%41'.repeat(84)}/${'a%CC%81'.repeat(10_000)}` }),
    { status: 201 },
  ],
  [
    'what makes normal forms stall',
    post('/things', { name: 'marks', nick: MARKS, note: `${MARKS} ${MARKS}` }),
    { status: 201, body: { nick: MARKS } },
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

export const bodyAttacks: Attack[] = bodies.map(([name, sent, outcome]) => ({
  name: `body: ${name}`,
  sent,
  outcome,
}));
