/** REST to the letter: ids, bodies, methods, headers, the order of checks and the error body. */

import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test';
import { type AppUnderTest, databases, JSON_HEADERS, openApp, shipped } from '../app.ts';

type Body = NonNullable<RequestInit['body']>;

const LAST_ID = 9007199254740991;
const data = {
  ...shipped.data,
  items: [
    { id: 1, name: 'Pen' },
    { id: LAST_ID, name: 'Last' },
  ],
};

describe.each([...databases])('on %s', (database) => {
  let app: AppUnderTest;
  beforeAll(async () => {
    app = await openApp(database, { data });
  });
  afterAll(() => app.close());
  // Whatever a test sends: nothing may end in a failure that is our own fault.
  afterEach(() => {
    expect(app.observations.filter(({ event }) => event === 'failure')).toEqual([]);
  });

  describe('an id in a path', () => {
    const none = ['abc', '1.0', '01', '-1', '0', '+1', '1e0', ' 1', '9007199254740992', '9007199254740993'];
    const odd = [
      '%00',
      '%ZZ',
      '%FF',
      '%E2%82',
      '99999999999999999999',
      'null',
      '__proto__',
      'constructor',
      '1%2F2',
      '１',
    ];
    test.each([...none, ...odd])('/items/%s names no record, for any method', async (id) => {
      for (const [method, body] of [['GET'], ['PUT', { name: 'x' }], ['DELETE']] as const) {
        const answer = await app.rest(method, `/items/${id}`, body);
        expect([method, answer.status, answer.body.code]).toEqual([method, 404, 'NOT_FOUND']);
      }
    });

    test.each([
      ['/items/1', 1],
      ['/items/%31', 1],
      ['/items/1/', 1],
      ['/%69tems/1', 1],
      [`/items/${LAST_ID}`, LAST_ID],
    ])('%s is record %d', async (path, id) => {
      const { status, body } = await app.rest('GET', path);
      expect(status).toBe(200);
      expect(body.id).toBe(id);
    });

    test('after the last id a create is refused, and nothing is lost', async () => {
      const { status, body } = await app.rest('POST', '/items', { name: 'One too many' });
      expect([status, body.code]).toEqual([507, 'KEYS_EXHAUSTED']);
      expect((await app.rest('GET', '/items')).body.length).toBe(2);
    });

    test('is never given again after a delete', async () => {
      const first = (await app.rest('POST', '/notes', { title: 'a' })).body.id;
      await app.rest('DELETE', `/notes/${first}`);
      const second = (await app.rest('POST', '/notes', { title: 'b' })).body.id;
      expect(second).toBeGreaterThan(first);
    });
  });

  describe('a path', () => {
    test.each([
      '//',
      '//books',
      '/books//',
      '/books//1',
      '/books/1//',
      '/books/1/2',
      '/Books',
      '/nope',
      '/book',
      '/v1/books',
    ])('%s is not there', async (path) => {
      const { status, body } = await app.rest('GET', path);
      expect([status, body.code]).toEqual([404, 'NOT_FOUND']);
    });

    test('with one trailing slash is the same resource', async () => {
      expect((await app.rest('GET', '/books/')).body).toEqual((await app.rest('GET', '/books')).body);
      expect((await app.rest('GET', '/greet/en/')).body.greeting).toBe('Hello');
    });

    test('takes no unknown parameter', async () => {
      for (const path of ['/books?foo=1&bar=2', '/books/1?foo=1&bar=2']) {
        const { status, body } = await app.rest('GET', path);
        expect([status, body.code]).toEqual([400, 'VALIDATION_FAILED']);
        expect(body.errors.map((error: any) => [error.parameter, error.code])).toEqual([
          ['foo', 'UNKNOWN'],
          ['bar', 'UNKNOWN'],
        ]);
      }
    });

    test('is told before its parameters, and size before both', async () => {
      for (const method of ['GET', 'PUT', 'DELETE'])
        expect([method, (await app.rest(method, '/books/4711?foo=1')).status]).toEqual([method, 404]);
      const body = 'a'.repeat(1_048_577);
      for (const [method, path] of [
        ['POST', '/books?foo=1'],
        ['PUT', '/books/4711?foo=1'],
        ['DELETE', '/books/1'],
      ] as const)
        expect([path, (await app.fetch(path, { method, body })).status]).toEqual([path, 413]);
      expect((await app.rest('DELETE', '/books/1?foo=1')).status).toBe(400);
      expect((await app.rest('GET', '/books/1')).status).toBe(200);
    });

    test('of 8 KiB is read, a longer one is 414', async () => {
      const longest = `/books/${'a'.repeat(8192 - 'http://duet.test/books/'.length)}`;
      expect((await app.rest('GET', longest)).status).toBe(404);
      const { status, body } = await app.rest('GET', `${longest}a`);
      expect([status, body.code]).toEqual([414, 'URL_TOO_LONG']);
    });
  });

  describe('methods', () => {
    test('HEAD goes with GET: the same status and headers, no body', async () => {
      for (const path of ['/books', '/books/1', '/books/999', '/greet/en', '/healthz', '/']) {
        const get = await app.fetch(path);
        const head = await app.fetch(path, { method: 'HEAD' });
        expect([path, head.status]).toEqual([path, get.status]);
        expect(head.headers.get('Content-Type')).toBe(get.headers.get('Content-Type'));
        expect(head.headers.get('ETag')).toBe(get.headers.get('ETag'));
        expect(await head.text()).toBe('');
        if (path !== '/books/999')
          expect(head.headers.get('Content-Length')).toBe(String((await get.arrayBuffer()).byteLength));
      }
    });

    test.each([
      ['/books', 'GET, HEAD, POST, OPTIONS'],
      ['/books/1', 'GET, HEAD, PUT, DELETE, OPTIONS'],
      ['/books/999', 'GET, HEAD, PUT, DELETE, OPTIONS'],
      ['/greet/en', 'GET, HEAD, OPTIONS'],
      ['/graphql', 'GET, HEAD, POST, OPTIONS'],
      ['/', 'GET, HEAD, OPTIONS'],
    ])('OPTIONS %s is 204', async (path, allow) => {
      const { status, headers, body } = await app.rest('OPTIONS', path);
      expect([status, headers.get('Allow'), body]).toEqual([204, allow, '']);
    });

    test.each(['PATCH', 'PROPFIND', 'PURGE', 'DELETE', 'PUT'])(
      '%s on a collection is 405',
      async (method) => {
        const { status, headers } = await app.rest(method, '/books');
        expect([status, headers.get('Allow')]).toEqual([405, 'GET, HEAD, POST, OPTIONS']);
      },
    );

    test('a method on a path that is not there is 404, not 405', async () => {
      for (const path of ['/nope', '/greet', '/graphql/users'])
        expect((await app.rest('PATCH', path)).status).toBe(404);
    });
  });

  describe('a body', () => {
    const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;
    const nested = (levels: number) =>
      `{"title":"t","pages":1,"x":${'['.repeat(levels)}${']'.repeat(levels)}}`;
    const bytes = (...values: number[]) => new Uint8Array(values);
    const bad: [string, Body | undefined, Record<string, string>, string][] = [
      ['is missing', undefined, JSON_HEADERS, 'MALFORMED_BODY'],
      ['is empty', '', JSON_HEADERS, 'MALFORMED_BODY'],
      ['is null', 'null', JSON_HEADERS, 'MALFORMED_BODY'],
      ['is an array', '[]', JSON_HEADERS, 'MALFORMED_BODY'],
      ['is a string', '"x"', JSON_HEADERS, 'MALFORMED_BODY'],
      ['is a number', '1', JSON_HEADERS, 'MALFORMED_BODY'],
      ['is cut off', '{"title":"Em', JSON_HEADERS, 'MALFORMED_BODY'],
      ['has a trailing comma', '{"title":"t","pages":1,}', JSON_HEADERS, 'MALFORMED_BODY'],
      ['is two values', '{"title":"t","pages":1}{}', JSON_HEADERS, 'MALFORMED_BODY'],
      ['is not UTF-8', bytes(0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d), JSON_HEADERS, 'MALFORMED_BODY'],
      [
        'has no Content-Type',
        bytes(...new TextEncoder().encode('{"title":"t","pages":1}')),
        {},
        'UNSUPPORTED_CONTENT_TYPE',
      ],
      [
        'is text/plain',
        '{"title":"t","pages":1}',
        { 'Content-Type': 'text/plain' },
        'UNSUPPORTED_CONTENT_TYPE',
      ],
      [
        'is a form',
        'title=t&pages=1',
        { 'Content-Type': 'application/x-www-form-urlencoded' },
        'UNSUPPORTED_CONTENT_TYPE',
      ],
      [
        'is another JSON',
        '{"title":"t","pages":1}',
        { 'Content-Type': 'application/merge-patch+json' },
        'UNSUPPORTED_CONTENT_TYPE',
      ],
      [
        'is almost JSON',
        '{"title":"t","pages":1}',
        { 'Content-Type': 'application/jsonp' },
        'UNSUPPORTED_CONTENT_TYPE',
      ],
      ['nests 100,000 arrays', deep, JSON_HEADERS, 'JSON_TOO_DEEP'],
      ['nests 33 levels', nested(32), JSON_HEADERS, 'JSON_TOO_DEEP'],
      ['nests 32 levels', nested(31), JSON_HEADERS, 'VALIDATION_FAILED'],
    ];
    test.each(bad)('that %s is 400', async (_, body, headers, code) => {
      for (const [method, path] of [
        ['POST', '/books'],
        ['PUT', '/books/1'],
      ] as const) {
        const response = await app.fetch(path, { method, headers, ...(body !== undefined && { body }) });
        expect(response.status).toBe(400);
        expect(response.headers.get('Content-Type')).toBe('application/json');
        expect(((await response.json()) as any).code).toBe(code);
      }
      expect((await app.rest('GET', '/books')).body.length).toBe(shipped.data.books.length);
    });

    test.each(bad)('that %s is 404 for a record that is not there', async (_, body, headers) => {
      const response = await app.fetch('/books/4711', {
        method: 'PUT',
        headers,
        ...(body !== undefined && { body }),
      });
      expect(response.status).toBe(404);
    });

    test.each([
      'application/json; charset=utf-8',
      'Application/JSON',
      'APPLICATION/JSON;CHARSET=UTF-8',
      'application/json ;a=b',
    ])('of type %s is read', async (type) => {
      const response = await app.fetch('/books/1', {
        method: 'PUT',
        headers: { 'Content-Type': type },
        body: '{"pages":412}',
      });
      expect(response.status).toBe(200);
    });

    test('with a byte order mark is read', async () => {
      const response = await app.fetch('/books/1', {
        method: 'PUT',
        headers: JSON_HEADERS,
        body: '\ufeff{"pages":412}',
      });
      expect(response.status).toBe(200);
    });

    test('of 1 MiB is read, of one byte more is 413, announced or chunked', async () => {
      const text = (size: number) => `{"body":"${'a'.repeat(size - 11)}"}`;
      const chunked = (size: number) =>
        new ReadableStream({
          async pull(controller) {
            for (let sent = 0; sent < size; sent += 65536)
              controller.enqueue(new TextEncoder().encode('a'.repeat(Math.min(65536, size - sent))));
            controller.close();
          },
        });
      const put = (body: Body) => app.fetch('/notes/1', { method: 'PUT', headers: JSON_HEADERS, body });
      expect((await put(text(1_048_576))).status).toBe(200);
      for (const body of [
        text(1_048_577),
        chunked(1_048_577),
        chunked(2 * 1_048_576),
        chunked(9 * 1_048_576),
      ]) {
        const response = await put(body);
        expect(response.status).toBe(413);
        expect(((await response.json()) as any).code).toBe('BODY_TOO_LARGE');
      }
      expect((await put(chunked(1_048_576))).status).toBe(400);
      // Size is checked before existence.
      const missing = await app.fetch('/notes/4711', {
        method: 'PUT',
        headers: JSON_HEADERS,
        body: text(1_048_577),
      });
      expect(missing.status).toBe(413);
    });

    test('of duplicate keys takes the last', async () => {
      const body = '{"title":"first","pages":1,"title":"last"}';
      const response = await app.fetch('/books', { method: 'POST', headers: JSON_HEADERS, body });
      const created = (await response.json()) as any;
      expect(created.title).toBe('last');
      await app.rest('DELETE', `/books/${created.id}`);
    });
  });

  describe('fields', () => {
    const rows: [string, string, [string, string][]][] = [
      [
        'nothing',
        '{}',
        [
          ['#/title', 'REQUIRED'],
          ['#/pages', 'REQUIRED'],
        ],
      ],
      [
        'nulls',
        '{"title":null,"pages":null}',
        [
          ['#/title', 'REQUIRED'],
          ['#/pages', 'REQUIRED'],
        ],
      ],
      [
        'no coercion',
        '{"title":412,"pages":"412"}',
        [
          ['#/title', 'TYPE'],
          ['#/pages', 'TYPE'],
        ],
      ],
      ['a fraction', '{"title":"t","pages":1.5}', [['#/pages', 'TYPE']]],
      ['a boolean', '{"title":"t","pages":true}', [['#/pages', 'TYPE']]],
      ['beyond 32 bits', '{"title":"t","pages":2147483648}', [['#/pages', 'OUT_OF_RANGE']]],
      ['beyond doubles', '{"title":"t","pages":1e400}', [['#/pages', 'TYPE']]],
      ['below the least', '{"title":"t","pages":0}', [['#/pages', 'OUT_OF_RANGE']]],
      ['an empty title', '{"title":"","pages":1}', [['#/title', 'LENGTH']]],
      ['a long title', JSON.stringify({ title: 'a'.repeat(501), pages: 1 }), [['#/title', 'LENGTH']]],
      ['NUL', '{"title":"a\\u0000b","pages":1}', [['#/title', 'TEXT']]],
      ['half a surrogate pair', '{"title":"a\\ud800","pages":1}', [['#/title', 'TEXT']]],
      [
        'unknown fields',
        '{"title":"t","pages":1,"isbn":"x","Title":"y"}',
        [
          ['#/isbn', 'UNKNOWN'],
          ['#/Title', 'UNKNOWN'],
        ],
      ],
      ['__proto__', '{"title":"t","pages":1,"__proto__":{"pages":2}}', [['#/__proto__', 'UNKNOWN']]],
      ['constructor', '{"title":"t","pages":1,"constructor":1}', [['#/constructor', 'UNKNOWN']]],
      ['a path in a name', '{"title":"t","pages":1,"a/b~c":1}', [['#/a~1b~0c', 'UNKNOWN']]],
      ['the version', '{"title":"t","pages":1,"_version":1}', [['#/_version', 'UNKNOWN']]],
      ['an assigned id', '{"title":"t","pages":1,"id":9}', [['#/id', 'READ_ONLY']]],
      [
        'three faults',
        '{"pages":"x","nope":1}',
        [
          ['#/nope', 'UNKNOWN'],
          ['#/title', 'REQUIRED'],
          ['#/pages', 'TYPE'],
        ],
      ],
    ];
    test.each(rows)('with %s are all reported at once', async (_, body, faults) => {
      const response = await app.fetch('/books', { method: 'POST', headers: JSON_HEADERS, body });
      expect(response.status).toBe(400);
      const { code, errors } = (await response.json()) as any;
      expect(code).toBe('VALIDATION_FAILED');
      expect(errors.map((error: any) => [error.pointer, error.code])).toEqual(faults);
    });

    test('a title counts characters, not UTF-16 units', async () => {
      const created = await app.rest('POST', '/books', { title: '😀'.repeat(500), pages: 1 });
      expect(created.status).toBe(201);
      await app.rest('DELETE', `/books/${created.body.id}`);
    });

    test('-0 is 0, in Int and Float', async () => {
      const init = { method: 'PUT', headers: JSON_HEADERS, body: '{"quantity":-0,"price":-0.0}' };
      expect(await (await app.fetch('/items/1', init)).text()).toContain('"price":0,"quantity":0');
    });

    test('an unknown name is met with those that there are', async () => {
      const { body } = await app.rest('POST', '/books', { titel: 't', pages: 1, title: 't' });
      expect(body.errors[0].detail).toContain('title, author, pages');
      expect(body.errors[0].detail).toContain('Did you mean "title"?');
    });

    test('the error body has the members of RFC 9457', async () => {
      const { status, headers, body } = await app.rest(
        'POST',
        '/books',
        { pages: 1 },
        { 'X-Request-Id': 'abc-1' },
      );
      expect(status).toBe(400);
      expect(headers.get('X-Request-Id')).toBe('abc-1');
      expect(body).toEqual({
        type: 'about:blank',
        title: 'Bad Request',
        status: 400,
        code: 'VALIDATION_FAILED',
        detail: 'title is required.',
        requestId: 'abc-1',
        errors: [{ pointer: '#/title', code: 'REQUIRED', detail: 'title is required' }],
      });
    });
  });

  describe('PUT', () => {
    test('keeps what it is not given, clears with null, and refuses null where something must be', async () => {
      const { body: book } = await app.rest('POST', '/books', { title: 'A', author: 'B', pages: 3 });
      const path = `/books/${book.id}`;
      expect((await app.rest('PUT', path, { pages: 4 })).body).toEqual({ ...book, pages: 4 });
      expect((await app.rest('PUT', path, { author: null })).body).toEqual({
        ...book,
        pages: 4,
        author: null,
      });
      const refused = await app.rest('PUT', path, { title: null, pages: 5 });
      expect([refused.status, refused.body.errors[0].code]).toEqual([400, 'REQUIRED']);
      expect((await app.rest('GET', path)).body.pages).toBe(4);
      await app.rest('DELETE', path);
    });

    test('of an empty object is 400', async () => {
      const { status, body } = await app.rest('PUT', '/books/1', {});
      expect([status, body.errors[0].code]).toEqual([400, 'EMPTY']);
    });

    test('of what GET answered changes nothing', async () => {
      for (const path of ['/books/1', '/posts/1', '/items/1', '/tasks/2', '/users/1']) {
        const { body } = await app.rest('GET', path);
        const put = await app.rest('PUT', path, body);
        expect([path, put.status, put.body]).toEqual([path, 200, body]);
      }
    });

    test('cannot change an id', async () => {
      const { status, body } = await app.rest('PUT', '/books/1', { id: 2 });
      expect([status, body.errors[0].code]).toEqual([400, 'READ_ONLY']);
    });
  });

  describe('conflicts', () => {
    test('a reference to nothing is 409 and names its field', async () => {
      const { status, body } = await app.rest('POST', '/posts', { title: 't', body: 'b', authorId: 4711 });
      expect([status, body.code]).toEqual([409, 'CONFLICT']);
      expect(body.errors).toEqual([
        {
          pointer: '#/authorId',
          code: 'REFERENCE_NOT_FOUND',
          detail: 'authorId names a user that does not exist',
        },
      ]);
    });

    test('deleting what others point to is 409, and all of it stays', async () => {
      const { status, body } = await app.rest('DELETE', '/users/1');
      expect([status, body.code, body.errors[0].code]).toEqual([409, 'CONFLICT', 'STILL_REFERENCED']);
      expect((await app.rest('GET', '/users/1')).status).toBe(200);
    });
  });

  describe('versions', () => {
    test('an ETag changes with each write, and If-Match holds against it', async () => {
      const created = await app.rest('POST', '/notes', { title: 'v' });
      const path = `/notes/${created.body.id}`;
      const first = created.headers.get('ETag') ?? '';
      expect(first).toMatch(/^"\d+-[0-9a-z]+"$/);
      expect((await app.rest('GET', path)).headers.get('ETag')).toBe(first);

      const updated = await app.rest('PUT', path, { title: 'w' }, { 'If-Match': `"other", ${first}` });
      const second = updated.headers.get('ETag') ?? '';
      expect(updated.status).toBe(200);
      expect(second).not.toBe(first);

      for (const stale of [first, `W/${second}`, 'abc', '', second.replace('-', '-x')]) {
        const refused = await app.rest('PUT', path, { title: 'x' }, { 'If-Match': stale });
        expect([stale, refused.status, refused.body.code]).toEqual([stale, 412, 'VERSION_CONFLICT']);
      }
      expect((await app.rest('DELETE', path, undefined, { 'If-Match': first })).status).toBe(412);
      expect((await app.rest('GET', path)).body.title).toBe('w');
      expect((await app.rest('PUT', path, { title: 'y' }, { 'If-Match': '*' })).status).toBe(200);
      const third = (await app.rest('GET', path)).headers.get('ETag') ?? '';
      expect((await app.rest('DELETE', path, undefined, { 'If-Match': third })).status).toBe(204);
    });

    test('If-None-Match with the current tag is 304, without a body', async () => {
      const tag = (await app.rest('GET', '/books/2')).headers.get('ETag') ?? '';
      for (const match of [tag, `W/${tag}`, `"x", ${tag}`, '*']) {
        const { status, headers, body } = await app.rest('GET', '/books/2', undefined, {
          'If-None-Match': match,
        });
        expect([match, status, headers.get('ETag'), body]).toEqual([match, 304, tag, '']);
      }
      expect((await app.rest('GET', '/books/2', undefined, { 'If-None-Match': '"x"' })).status).toBe(200);
    });

    test('If-None-Match keeps what it names from being written', async () => {
      const created = await app.rest('POST', '/notes', { title: 'v' });
      const path = `/notes/${created.body.id}`;
      const tag = created.headers.get('ETag') ?? '';
      for (const excluded of ['*', ' * ', '*, *', tag, `W/${tag}`, `"x", ${tag}`])
        for (const [method, body] of [
          ['PUT', { title: 'w' }],
          ['PUT', { pages: 'x' }],
          ['DELETE'],
        ] as const) {
          const refused = await app.rest(method, path, body, { 'If-None-Match': excluded });
          expect([excluded, method, refused.status, refused.body.code]).toEqual([
            excluded,
            method,
            412,
            'VERSION_CONFLICT',
          ]);
        }
      expect((await app.rest('GET', path)).headers.get('ETag')).toBe(tag);
      for (const method of ['PUT', 'DELETE'])
        expect((await app.rest(method, '/notes/4711', {}, { 'If-None-Match': '*' })).status).toBe(404);
      // Both headers hold, each for itself.
      const both = { 'If-Match': tag, 'If-None-Match': tag };
      expect((await app.rest('PUT', path, { title: 'w' }, both)).status).toBe(412);
      const others = { 'If-Match': tag, 'If-None-Match': '"x", y' };
      expect((await app.rest('PUT', path, { title: 'w' }, others)).status).toBe(200);
      // Its version is another one now.
      expect((await app.rest('DELETE', path, undefined, { 'If-None-Match': tag })).status).toBe(204);
    });

    test('on a POST conditions are about the collection, which exists and has no tag', async () => {
      const before = (await app.rest('GET', '/notes')).body.length;
      const create = (headers: Record<string, string>) => app.rest('POST', '/notes', { title: 'v' }, headers);
      for (const headers of [{ 'If-None-Match': '*' }, { 'If-Match': '"1-x"' }]) {
        const refused = await create(headers);
        expect([refused.status, refused.body.code]).toEqual([412, 'VERSION_CONFLICT']);
      }
      expect((await app.rest('GET', '/notes')).body.length).toBe(before);
      for (const headers of [{ 'If-None-Match': '"1-x"' }, { 'If-Match': '*' }])
        expect((await create(headers)).status).toBe(201);
    });

    test('under one key, another If-None-Match is another request', async () => {
      const headers = { 'Idempotency-Key': 'excluding', 'If-None-Match': '"x"' };
      const put = (more: Record<string, string>) =>
        app.rest('PUT', '/books/2', { title: 'Emma' }, { ...headers, ...more });
      const first = await put({});
      expect([first.status, (await put({})).headers.get('ETag')]).toEqual([200, first.headers.get('ETag')]);
      for (const other of ['"y"', '*']) expect((await put({ 'If-None-Match': other })).status).toBe(422);
      const key = { 'Idempotency-Key': 'excluding' };
      expect((await app.rest('PUT', '/books/2', { title: 'Emma' }, key)).status).toBe(422);
    });

    test('a missing record is told before a stale version, and a stale version before wrong fields', async () => {
      const stale = { 'If-Match': '"0-0"' };
      expect((await app.rest('PUT', '/books/4711', { pages: 'x' }, stale)).status).toBe(404);
      expect((await app.rest('PUT', '/books/1', { pages: 'x' }, stale)).status).toBe(412);
      expect((await app.rest('PUT', '/books/1', { pages: 'x' })).status).toBe(400);
      expect((await app.rest('PUT', '/posts/1', { title: '', authorId: 4711 })).status).toBe(400);
    });
  });

  test('every answer has a request id of its own, and a harmful one is not repeated', async () => {
    const first = (await app.rest('GET', '/books')).headers.get('X-Request-Id');
    const second = (await app.rest('GET', '/nope')).headers.get('X-Request-Id');
    expect(first).toMatch(/^[0-9a-f]{16}-\d+$/);
    expect(second).not.toBe(first);
    const harmful = await app.rest('GET', '/books', undefined, { 'X-Request-Id': 'a"b' });
    expect(harmful.headers.get('X-Request-Id')).toMatch(/^[0-9a-f]{16}-\d+$/);
  });
});
