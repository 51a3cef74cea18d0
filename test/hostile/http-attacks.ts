/** Attacks on the protocol itself: framing, targets, methods and headers. */

import { expect } from 'bun:test';
import {
  type Answer,
  type Attack,
  CLOSE,
  get,
  graphql,
  invalid,
  type Outcome,
  post,
  request,
} from './attack.ts';

const BOOK = '{"title":"x","pages":1}';
const JSON_TYPE = 'Content-Type: application/json\r\n';
const CHUNKED = 'Transfer-Encoding: chunked\r\n';
const CHUNKS = `17\r\n${BOOK}\r\n0\r\n\r\n`;
const LENGTH = `Content-Length: ${BOOK.length}\r\n`;

const framed = (headers: string, rest: string, version = '1.1') =>
  `POST /books HTTP/${version}\r\n${CLOSE}${JSON_TYPE}${headers}\r\n${rest}`;

/** Two parties that see different ends of a body see different requests after it: such framing is refused. */
const smuggling: Record<string, string> = {
  'Content-Length before Transfer-Encoding': framed(`Content-Length: 4\r\n${CHUNKED}`, CHUNKS),
  'Transfer-Encoding before Content-Length': framed(`${CHUNKED}Content-Length: 4\r\n`, CHUNKS),
  'two lengths that differ': framed(`${LENGTH}Content-Length: 5\r\n`, BOOK),
  'a list of lengths': framed('Content-Length: 23, 23\r\n', BOOK),
  'a length with a sign': framed('Content-Length: +23\r\n', BOOK),
  'a length below zero': framed('Content-Length: -1\r\n', BOOK),
  'a hexadecimal length': framed('Content-Length: 0x17\r\n', BOOK),
  'a length beyond 64 bits': framed('Content-Length: 99999999999999999999999\r\n', BOOK),
  'an empty length': framed('Content-Length: \r\n', BOOK),
  'Transfer-Encoding: identity': framed('Transfer-Encoding: identity\r\n', BOOK),
  'Transfer-Encoding: xchunked': framed('Transfer-Encoding: xchunked\r\n', CHUNKS),
  'Transfer-Encoding: gzip, chunked': framed('Transfer-Encoding: gzip, chunked\r\n', CHUNKS),
  'chunked, then something else': framed('Transfer-Encoding: chunked, identity\r\n', CHUNKS),
  'Transfer-Encoding twice': framed(`${CHUNKED}Transfer-Encoding: identity\r\n`, CHUNKS),
  'chunks in HTTP/1.0': framed(CHUNKED, CHUNKS, '1.0'),
  'a chunk size that is no number': framed(CHUNKED, `zz\r\n${BOOK}\r\n0\r\n\r\n`),
  'a chunk size below zero': framed(CHUNKED, `-17\r\n${BOOK}\r\n0\r\n\r\n`),
  'a chunk size with a prefix': framed(CHUNKED, `0x17\r\n${BOOK}\r\n0\r\n\r\n`),
  'a chunk size beyond 64 bits': framed(CHUNKED, `ffffffffffffffff17\r\n${BOOK}\r\n0\r\n\r\n`),
  'a chunk longer than its size': framed(CHUNKED, `5\r\n${BOOK}\r\n0\r\n\r\n`),
  'chunks that end in LF': framed(CHUNKED, `17\n${BOOK}\n0\n\n`),
  'a chunk extension that ends in LF': framed(CHUNKED, `17;a\n${BOOK}\r\n0\r\n\r\n`),
  'a header continued on the next line': get('/books/1', 'X-A: a\r\n b\r\n'),
  'a bare CR in a header': get('/books/1', 'X-A: a\rb\r\n'),
  'a space before the colon': get('/books/1', 'X-A : b\r\n'),
  'a header without a colon': get('/books/1', 'nothing\r\n'),
  'a header without a name': get('/books/1', ': nothing\r\n'),
  'a header name with parentheses': get('/books/1', 'X(a): b\r\n'),
  'a space before the first header': 'GET /books/1 HTTP/1.1\r\n Host: x\r\n\r\n',
  'NUL in a header': get('/books/1', 'X-A: a\0b\r\n'),
  'a control byte in a header': get('/books/1', 'X-Request-Id: a\x01b\r\n'),
  'no Host': 'GET /books/1 HTTP/1.1\r\nConnection: close\r\n\r\n',
  'lines that end in LF': 'GET /books/1 HTTP/1.1\nHost: x\nConnection: close\n\n',
  'NUL in a path': get('/books/1\0'),
  'a control byte in a path': get('/books/\x01'),
  'a space in a path': get('/books/1 x'),
  'a tab instead of a space': `GET\t/books/1\tHTTP/1.1\r\n${CLOSE}\r\n`,
  'two spaces': get(' /books/1'),
  'no method': ` /books/1 HTTP/1.1\r\n${CLOSE}\r\n`,
  'a method that is no token of letters': `__proto__ /books/1 HTTP/1.1\r\n${CLOSE}\r\n`,
  'the form of CONNECT with another method': get('evil.test:80'),
  'HTTP/0.9': 'GET /books/1\r\n\r\n',
  'HTTP/1.2': `GET /books/1 HTTP/1.2\r\n${CLOSE}\r\n`,
  'HTTP/2 with prior knowledge': 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
  'a TLS hello': `\x16\x03\x01\x00\xa5\x01\x00\x00\xa1\x03\x03${'\0'.repeat(100)}`,
  'the PROXY protocol': `PROXY TCP4 192.0.2.1 192.0.2.2 1 2\r\n${get('/books/1')}`,
  'bytes of no protocol': `${'\x00\xff\xfe\x80'.repeat(100)}\r\n\r\n`,
  'a header of 20 KB': get('/books/1', `X-A: ${'a'.repeat(20_000)}\r\n`),
  'a thousand headers': get('/books/1', 'a: b\r\n'.repeat(1000)),
  'a URL of 20 KB': get(`/books/${'1'.repeat(20_000)}`),
};

const dune = { status: 200, body: { id: 1, title: 'Dune' } };
const none = { status: 404, code: 'NOT_FOUND' };
const forbidden = { status: 405, code: 'METHOD_NOT_ALLOWED' };
const created = { status: 201, body: { title: 'x' } };

/** Answers come in the order of their requests. The runtime hangs up on those who do not wait for a slow one. */
const inOrder =
  (...statuses: number[]) =>
  (answers: Answer[]) =>
    expect(answers.map(({ status }) => status)).toEqual(statuses.slice(0, answers.length));

/** A request on the same connection before the last one, which closes it. */
const before = (text: string) => text.replace('Connection: close\r\n', '');

/** Of `http://127.0.0.1:12345`, which differs in the length of its port, the URL counts from `http://duet.test`. */
const path = (url: number) => `/books?title=${'a'.repeat(url - 'http://duet.test/books?title='.length)}`;

const to = (host: string, version = '1.1') =>
  `GET /books/1 HTTP/${version}\r\nHost: ${host}\r\nConnection: close\r\n\r\n`;

/** Who looks at the first and who looks at the last would see two requests; what is no host is seen by each in its own way. */
const unsoundHosts: Record<string, string> = {
  'two hosts': 'a\r\nHost: b',
  'the same host twice': 'duet.test\r\nHost: duet.test',
  'a host and an empty one': 'a\r\nHost:',
  'an empty host and another': '\r\nHost: a',
  'two hosts on one line': 'a, b',
  'a host that is a path': 'x/todos?',
  'a host with a user': 'root@x',
  'a host with a space': 'a b',
  'a host with markup': '"><script>alert(1)</script>',
  'a host beyond ASCII': '\xc3\xa9',
  'a port that is no number': 'a:b',
  'an address without its end': '[::1',
};

const soundHosts: Record<string, string> = {
  'an empty host': '',
  'a host with a port': 'duet.test:80',
  'an address and a port': '127.0.0.1:4000',
  'an address of version 6': '[::1]:4000',
  'a host with an underscore': 'my_service',
};

const hosts = (from: Record<string, string>, outcome: Outcome): Attack[] =>
  Object.entries(from).map(([name, host]) => ({ name, sent: to(host), outcome }));

export const httpAttacks: Attack[] = [
  ...Object.entries(smuggling).map(([name, sent]): Attack => ({ name, sent, outcome: 'refused' })),
  { name: 'equal lengths', sent: framed(`${LENGTH}${LENGTH}`, BOOK), outcome: created },
  {
    name: 'Transfer-Encoding in capitals',
    sent: framed('Transfer-Encoding: CHUNKED\r\n', CHUNKS),
    outcome: created,
  },
  { name: 'a chunk extension', sent: framed(CHUNKED, `17;a=b\r\n${BOOK}\r\n0\r\n\r\n`), outcome: created },
  { name: 'an absolute target', sent: get('http://evil.test/books/1'), outcome: dune },
  ...hosts(unsoundHosts, invalid('Host: FORMAT')),
  ...hosts(soundHosts, dune),
  { name: 'two hosts in HTTP/1.0', sent: to('a\r\nHost: b', '1.0'), outcome: invalid('Host: FORMAT') },
  {
    name: 'two hosts and a mutation',
    sent: graphql('mutation { deleteBook(id: 1) { id } }').replace('\r\n', '\r\nHost: y\r\n'),
    outcome: { status: 400, code: 'VALIDATION_FAILED' },
  },
  {
    name: 'two hosts and a write',
    sent: request('DELETE /books/1', 'Host: duet.test\r\n'),
    outcome: invalid('Host: FORMAT'),
  },
  {
    name: 'a trailer that is announced to a read, after which none can come',
    sent: get('/books/1', 'Trailer: X-Sum\r\n'),
    outcome: dune,
  },
  { name: 'a client that takes trailers', sent: get('/books/1', 'TE: trailers\r\n'), outcome: dune },
  { name: 'HTTP/1.0 without Host', sent: 'GET /books/1 HTTP/1.0\r\n\r\n', outcome: dune },
  { name: 'CONNECT to elsewhere', sent: request('CONNECT evil.test:80'), outcome: none },
  { name: 'CONNECT', sent: request('CONNECT /books'), outcome: forbidden },
  {
    name: 'TRACE, which would repeat headers',
    sent: request('TRACE /books', 'X-Secret: s\r\n'),
    outcome: forbidden,
  },
  { name: 'PATCH', sent: request('PATCH /books/1'), outcome: forbidden },
  { name: 'M-SEARCH', sent: request('M-SEARCH /books/1'), outcome: forbidden },
  {
    name: 'a method in another header',
    sent: request('POST /books/1', 'X-HTTP-Method-Override: DELETE\r\n', ''),
    outcome: forbidden,
  },
  { name: 'a method that nobody knows', sent: request('FOO /books/1'), outcome: 'hung up' },
  { name: 'a method that every object has', sent: request('constructor /books/1'), outcome: 'hung up' },
  { name: 'a method in small letters', sent: request('get /books/1'), outcome: 'hung up' },
  { name: 'HEAD', sent: request('HEAD /books/1'), outcome: { status: 200, body: '' } },
  { name: 'HEAD of nothing', sent: request('HEAD /nowhere'), outcome: { status: 404, body: '' } },
  {
    name: 'OPTIONS',
    sent: request('OPTIONS /books'),
    outcome: { status: 204, headers: { Allow: 'GET, HEAD, POST, OPTIONS' } },
  },
  { name: 'OPTIONS *', sent: request('OPTIONS *'), outcome: 'refused' },
  // The runtime resolves dots and backslashes, as browsers do; what is asked for then is another path, never a file.
  { name: 'dots that climb', sent: get('/todos/../books/1'), outcome: dune },
  { name: 'dots in disguise', sent: get('/todos/%2e%2e/books/1'), outcome: dune },
  { name: 'backslashes', sent: get('\\todos\\..\\books\\1'.replace('\\', '/')), outcome: dune },
  { name: 'dots out of the root', sent: get('/../../../../etc/passwd'), outcome: none },
  { name: 'encoded dots and slashes out of the root', sent: get('/..%2f..%2fetc%2fpasswd'), outcome: none },
  { name: 'a file of the deployment', sent: get('/data.json'), outcome: none },
  { name: 'the database itself', sent: get('/duet.db'), outcome: none },
  { name: 'a file below a resource', sent: get('/books/..%2f..%2fdata.json'), outcome: none },
  { name: 'an empty segment first', sent: get('//books/1'), outcome: none },
  { name: 'an empty segment between', sent: get('/books//1'), outcome: none },
  { name: 'a host in the path', sent: get('//evil.test/books/1'), outcome: none },
  { name: 'an encoded slash', sent: get('/books%2f1'), outcome: none },
  { name: 'parameters in a segment', sent: get('/books;a=1/1'), outcome: none },
  { name: 'DEL in a path', sent: get('/books/\x7f'), outcome: none },
  { name: 'raw UTF-8 in a path', sent: get('/books/\xc3\xa9'), outcome: none },
  { name: 'bytes of no text in a path', sent: get('/books/\xff\xfe'), outcome: none },
  { name: 'a fragment', sent: get('/books/1#x'), outcome: dune },
  { name: 'a URL as long as is allowed', sent: get(path(8192)), outcome: { status: 200, body: [] } },
  { name: 'a URL one byte longer', sent: get(path(8193)), outcome: { status: 414, code: 'URL_TOO_LONG' } },
  {
    name: 'a body with GET, and what looks like a request in it',
    sent:
      before(request('GET /books/1', '', 'DELETE /books/1 HTTP/1.1\r\nHost: x\r\n\r\n')) + get('/books/1'),
    outcome: (answers) => expect(answers.map(({ body }) => body.id).join()).toMatch(/^(1(,1)?)?$/),
  },
  {
    name: 'Expect: 100-continue',
    sent: framed(`Expect: 100-continue\r\n${LENGTH}`, BOOK),
    outcome: [{ status: 100 }, created],
  },
  {
    name: 'an upgrade to WebSocket',
    sent: request('GET /books/1', 'Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n'),
    outcome: dune,
  },
  {
    name: 'an upgrade to HTTP/2',
    sent: request('GET /books/1', 'Upgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n'),
    outcome: dune,
  },
  {
    name: 'more body than announced',
    sent: framed(LENGTH, `${BOOK}GET /books/1 HTTP/1.1`),
    outcome: (answers) => inOrder(201, 400)(answers),
  },
  {
    name: 'less body than announced',
    sent: framed('Content-Length: 30\r\n', BOOK),
    outcome: { status: 408, code: 'BODY_TOO_SLOW' },
  },
  {
    name: 'less body than announced, and no more to come',
    sent: framed('Content-Length: 30\r\n', BOOK),
    next: 'half-close',
    outcome: 'hung up',
  },
  {
    name: 'chunks without an end',
    sent: framed(CHUNKED, `17\r\n${BOOK}\r\n`),
    next: 'half-close',
    outcome: 'hung up',
  },
  {
    name: 'a client that goes away before its answer',
    sent: get('/books'),
    next: 'abort',
    // Nobody can say how much has arrived by then.
    outcome: (answers) => inOrder(200)(answers),
  },
  {
    name: 'a client that goes away in its body',
    sent: framed('Content-Length: 30\r\n', BOOK),
    next: 'abort',
    outcome: 'hung up',
  },
  {
    name: 'requests that do not wait',
    sent: before(get('/books/1')) + before(get('/books/2')) + get('/books/3'),
    outcome: (answers) =>
      expect([1, 2, 3].slice(0, answers.length)).toEqual(answers.map(({ body }) => body.id)),
  },
  {
    name: 'requests that do not wait for a write',
    sent: before(get('/nowhere')) + before(post('/todos', { title: 5 })) + get('/books/2'),
    outcome: inOrder(404, 400, 200),
  },
  {
    name: 'a body in chunks of one byte',
    sent: framed(CHUNKED, '1\r\n \r\n'.repeat(100_000).concat('0\r\n\r\n')),
    // Those that arrive together are read as one.
    outcome: { status: 400, code: 'MALFORMED_BODY' },
  },
  {
    name: 'a chunked body over the limit',
    sent: framed(CHUNKED, `${'8000\r\n'}${' '.repeat(0x8000)}\r\n`.repeat(33).concat('0\r\n\r\n')),
    outcome: { status: 413, code: 'BODY_TOO_LARGE' },
  },
  {
    name: 'an announced body over the limit',
    sent: framed('Content-Length: 1048577\r\n', ' '.repeat(1_048_577)),
    outcome: { status: 413, code: 'BODY_TOO_LARGE' },
  },
  { name: 'a range', sent: get('/books/1', 'Range: bytes=0-3\r\n'), outcome: dune },
  { name: 'another address', sent: get('/books/1', 'X-Forwarded-For: 127.0.0.1\r\n'), outcome: dune },
  {
    name: 'an X-Request-Id that would be a header',
    sent: get('/books/1', 'X-Request-Id: a%0d%0aSet-Cookie:%20a=b\r\n'),
    outcome: ([answer]) => {
      expect(answer?.headers.get('X-Request-Id')).toMatch(/^[0-9a-f]{16}-\d+$/);
      expect(answer?.headers.has('Set-Cookie')).toBe(false);
    },
  },
  {
    name: 'an X-Request-Id with a quote and SQL',
    sent: get('/books/1', `X-Request-Id: '; DROP TABLE "Book"; --\r\n`),
    outcome: ([answer]) => expect(answer?.headers.get('X-Request-Id')).toMatch(/^[0-9a-f]{16}-\d+$/),
  },
];
