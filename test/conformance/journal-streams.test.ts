/** Changes as they are committed: `text/event-stream`, from any position, until somebody ends it. */

import { Database } from 'bun:sqlite';
import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { SignJWT } from 'jose';
import { ApiKeys } from '../../src/engine/api-keys.ts';
import { type AppUnderTest, databases, JSON_HEADERS, openApp, sharedPostgres } from '../app.ts';
import { type Event, Listener } from '../events.ts';
import { Folder, Server } from '../process.ts';
import { headersOf, SECRET } from './access-matrix.ts';

const sdl = `
type Book @resource @journal { id: ID! title: String! pages: Int! @default(value: 1) }
type Note @resource @journal
  @allow(to: [READ], where: { public: { eq: true } })
  @allow(to: [READ, CREATE, UPDATE, DELETE, HISTORY], role: "admin")
{ id: ID! text: String! public: Boolean! @default(value: false) }
`;

const brief = (events: readonly Event[]) =>
  events.map(
    ({ data, id }) => `${data.kind} ${data.key} ${data.version}${id === data.position ? ' id' : ''}`,
  );

for (const database of databases)
  describe(`on ${database}`, () => {
    let app: AppUnderTest;
    let folder: Folder;
    let url: string;
    beforeEach(async () => {
      folder = new Folder();
      url =
        database === 'sqlite' ? `sqlite:${folder.file('x.db')}` : await (await sharedPostgres()).database();
      app = await openApp(database, { sdl, url });
    });
    afterEach(async () => {
      await app.close();
      folder[Symbol.dispose]();
    });

    test('a stream begins now, and follows', async () => {
      await app.rest('POST', '/books', { title: 'old' });
      await using listener = await Listener.open(app, '/changes/books');
      const { headers, status } = listener.response;
      expect([
        status,
        headers.get('Content-Type'),
        headers.get('Cache-Control'),
        headers.get('X-Accel-Buffering'),
      ]).toEqual([200, 'text/event-stream', 'no-store', 'no']);
      await app.rest('POST', '/books', { title: 'new' });
      await app.rest('PUT', '/books/2', { pages: 2 });
      const events = await listener.take(2);
      expect(brief(events)).toEqual(['CREATED 2 1 id', 'UPDATED 2 2 id']);
      const { body } = await app.rest('GET', '/changes/books/2');
      expect(events.map(({ data }) => data)).toEqual(body);
    });

    test('a long event comes in parts, and no character is split between them', async () => {
      await using changes = await Listener.open(app, '/changes/books');
      const query = 'subscription { bookChanges { after { title } } }';
      await using told = await Listener.ask(app, query);
      // One of them has a character where a part ends, whatever stands before the title.
      for (const title of ['', 'x', 'xx', 'xxx'].map((before) => before + '😀'.repeat(50_000))) {
        await app.rest('POST', '/books', { title });
        const [[change], [event]] = await Promise.all([changes.take(1), told.take(1)]);
        expect(change?.data.after.title === title).toBe(true);
        expect(event?.data.data.bookChanges.after.title === title).toBe(true);
      }
    });

    test('only the last event of a transaction is a place to go on from', async () => {
      await using listener = await Listener.open(app, '/changes?limit=2');
      await app.graphql(
        'mutation { createBooks(records: [{ title: "a" }, { title: "b" }, { title: "c" }, { title: "d" }, { title: "e" }]) { id } }',
      );
      await app.rest('PUT', '/books/1', { pages: 2 });
      expect(brief(await listener.take(6))).toEqual([
        'CREATED 1 1',
        'CREATED 2 1',
        'CREATED 3 1',
        'CREATED 4 1',
        'CREATED 5 1 id',
        'UPDATED 1 2 id',
      ]);
    });

    test('what is there together is sent together, by either door', async () => {
      const Accept = 'text/event-stream';
      const body = JSON.stringify({ query: 'subscription { bookChanges { after { title } } }' });
      const asked: [string, RequestInit][] = [
        ['/changes/books', { headers: { Accept } }],
        ['/graphql', { method: 'POST', headers: { ...JSON_HEADERS, Accept }, body }],
      ];
      for (const each of asked) {
        const response = await app.fetch(...each);
        const reader = (response.body as ReadableStream<Uint8Array>).getReader();
        const read = async () => new TextDecoder().decode((await reader.read()).value);
        expect(await read()).toBe(':\n\n');
        await app.graphql('mutation { createBooks(records: [{ title: "a" }, { title: "b" }]) { id } }');
        expect([...(await read()).matchAll(/"title":"(\w)/g)].map(([, title]) => title)).toEqual(['a', 'b']);
        await reader.cancel();
      }
    });

    test('a transaction of more changes than are kept for all who follow is told as a whole', async () => {
      await using listener = await Listener.open(app, '/changes/books');
      await app.rest('POST', '/books', { title: 'first' });
      await listener.take(1);
      const records = Array.from({ length: 1100 }, (_, at) => ({ title: `${at}` }));
      const query = 'mutation ($records: [BookInput!]!) { createBooks(records: $records) { id } }';
      const { errors } = await app.graphql(query, { records });
      expect(errors).toBeUndefined();
      await app.rest('POST', '/books', { title: 'last' });
      const events = await listener.take(1101);
      expect(events.map(({ data }) => data.after.title)).toEqual([
        ...records.map(({ title }) => title),
        'last',
      ]);
      expect(events.flatMap(({ id }, at) => (id === undefined ? [] : at))).toEqual([1099, 1100]);
    });

    test('who comes back goes on, with what other processes have written', async () => {
      const first = await Listener.open(app, '/changes');
      await app.rest('POST', '/books', { title: 'a' });
      const [seen] = await first.take(1);
      await first[Symbol.asyncDispose]();
      const other = await openApp(database, { sdl, url });
      await other.rest('POST', '/books', { title: 'b' });
      await using again = await Listener.open(app, '/changes', { 'Last-Event-ID': seen?.id ?? '' });
      expect(brief(await again.take(1))).toEqual(['CREATED 2 1 id']);
      await other.rest('POST', '/books', { title: 'c' });
      expect(brief(await again.take(1))).toEqual(['CREATED 3 1 id']);
      await using filtered = await Listener.open(
        other,
        `/changes/books?after=${seen?.id}&where=${encodeURIComponent('{"title":{"eq":"c"}}')}`,
      );
      expect(brief(await filtered.take(1))).toEqual(['CREATED 3 1 id']);
      await other.close();
    });

    test('what cannot be followed is told before', async () => {
      const bad = await app.fetch('/changes', {
        headers: { Accept: 'text/event-stream', 'Last-Event-ID': 'made up' },
      });
      expect([bad.status, ((await bad.json()) as any).errors[0].parameter]).toEqual([400, 'Last-Event-ID']);
      const head = await app.fetch('/changes', { method: 'HEAD', headers: { Accept: 'text/event-stream' } });
      expect([head.status, head.headers.get('Content-Type'), await head.text()]).toEqual([
        200,
        'text/event-stream',
        '',
      ]);
    });

    test('a subscription tells changes as they are asked for', async () => {
      await app.rest('POST', '/books', { title: 'old' });
      const [old] = (await app.rest('GET', '/changes')).body;
      const query = `subscription ($where: BookWhere, $after: String) {
        book: bookChanges(where: $where, after: $after) { kind key version before { pages } after { title } }
      }`;
      await using all = await Listener.ask(app, query);
      const where = { pages: { gte: 5 } };
      await using some = await Listener.ask(app, query, { where, after: old.position });
      expect(all.response.headers.get('Content-Type')).toBe('text/event-stream');
      await app.rest('POST', '/books', { title: 'new' });
      await app.rest('PUT', '/books/2', { pages: 5 });
      const created = { kind: 'CREATED', key: '2', version: 1, before: null, after: { title: 'new' } };
      const updated = {
        kind: 'UPDATED',
        key: '2',
        version: 2,
        before: { pages: 1 },
        after: { title: 'new' },
      };
      const next = (book: object) => ({ event: 'next', id: undefined, data: { data: { book } } });
      expect(await all.take(2)).toEqual([next(created), next(updated)]);
      expect(await some.take(1)).toEqual([next(updated)]);
      await using any = await Listener.ask(
        app,
        `subscription { changes(after: "${old.position}") { resource after } }`,
      );
      expect((await any.take(1))[0]?.data.data.changes).toEqual({
        resource: 'Book',
        after: { id: 2, title: 'new', pages: 1 },
      });
    });

    test('anything else over a stream is answered once', async () => {
      const { body: book } = await app.rest('POST', '/books', { title: 'a' });
      await using query = await Listener.ask(app, '{ book(id: 1) { title } none: book(id: 9) { title } }');
      expect(await query.take(9)).toEqual([
        { event: 'next', id: undefined, data: { data: { book: { title: book.title }, none: null } } },
        { event: 'complete', id: undefined, data: null },
      ]);
    });

    test('what is answered once is no stream: a mutation that is done is told so, however many are open', async () => {
      const full = await openApp(database, { sdl, url, env: { LIMIT_STREAMS: '1' } });
      const open = await Listener.open(full, '/changes');
      await using done = await Listener.ask(full, 'mutation { createBook(title: "a") { title } }');
      expect([done.response.status, done.response.headers.get('Content-Type')]).toEqual([
        200,
        'text/event-stream',
      ]);
      expect(await done.take(9)).toEqual([
        { event: 'next', id: undefined, data: { data: { createBook: { title: 'a' } } } },
        { event: 'complete', id: undefined, data: null },
      ]);
      await using subscription = await Listener.ask(full, 'subscription { bookChanges { key } }');
      expect(subscription.response.status).toBe(503);
      await open[Symbol.asyncDispose]();
      await full.close();
    });

    test('what is wrong with a subscription is told before it begins', async () => {
      const plain = await app.graphql('subscription { bookChanges { key } }');
      expect([plain.status, plain.errors?.[0].extensions.code]).toEqual([406, 'NOT_ACCEPTABLE']);
      for (const [query, code] of [
        ['subscription { bookChanges(after: "x") { key } }', 'VALIDATION_FAILED'],
        ['subscription { bookChanges { nothing } }', 'GRAPHQL_VALIDATION_FAILED'],
        ['subscription { bookChanges { key } changes { key } }', 'GRAPHQL_VALIDATION_FAILED'],
      ] as const) {
        const body = JSON.stringify({ query });
        const headers = { ...JSON_HEADERS, Accept: 'text/event-stream' };
        const answer = await app.fetch('/graphql', { method: 'POST', headers, body });
        const told = (await answer.json()) as any;
        expect([query, answer.status, told.errors[0].extensions.code]).toEqual([query, 400, code]);
      }
    });

    test('what is no longer kept is told, and the stream goes on from now', async () => {
      await app.rest('POST', '/books', { title: 'a' });
      await app.rest('POST', '/books', { title: 'b' });
      const [first] = (await app.rest('GET', '/changes')).body;
      const mark = `INSERT INTO "_duet_journal" ("table", "position") VALUES ('Book', 2)`;
      if (database === 'postgres') {
        await using client = new Bun.SQL(url, { max: 1 });
        await client.unsafe(mark);
      } else {
        using file = new Database(url.slice('sqlite:'.length));
        file.run(mark);
      }
      await using listener = await Listener.open(app, '/changes/books', { 'Last-Event-ID': first.position });
      const reset = await listener.next();
      expect([reset?.event, (reset?.id ?? '') > first.position]).toEqual(['reset', true]);
      await app.rest('POST', '/books', { title: 'c' });
      expect(brief(await listener.take(1))).toEqual(['CREATED 3 1 id']);
    });

    test('there are so many streams, and those that have ended do not count', async () => {
      const small = await openApp(database, { sdl, url, env: { LIMIT_STREAMS: '2' } });
      const open = async () => {
        const listener = await Listener.open(small, '/changes');
        return { listener, status: listener.response.status };
      };
      const [one, two, three] = [await open(), await open(), await open()];
      expect([one, two, three].map(({ status }) => status)).toEqual([200, 200, 503]);
      await one.listener[Symbol.asyncDispose]();
      const four = await open();
      expect(four.status).toBe(200);
      for (const { listener } of [two, four]) await listener[Symbol.asyncDispose]();
      await small.close();
    });

    test('rules hold in a stream, and it ends when its token does', async () => {
      const guarded = await openApp(database, { sdl, url, env: { AUTH_SECRET: SECRET } });
      const admin = await headersOf({ name: 'root', claims: { sub: 'root', roles: ['admin'] } });
      await using listener = await Listener.open(guarded, '/changes/notes');
      const send = (method: string, path: string, body?: unknown) => guarded.rest(method, path, body, admin);
      const position = (await guarded.rest('GET', '/changes/notes')).headers.get('Changes-Position');
      await send('POST', '/notes', { text: 'hidden' });
      await send('PUT', '/notes/1', { text: 'shown', public: true });
      await send('PUT', '/notes/1', { public: false });
      const events = await listener.take(2);
      expect(brief(events)).toEqual(['CREATED 1 2 id', 'DELETED 1 2 id']);
      expect(events.map(({ data }) => [data.after?.text, 'before' in data, 'caller' in data])).toEqual([
        ['shown', false, false],
        [undefined, false, false],
      ]);
      const query = `subscription { noteChanges(after: "${position}") { kind before { text } after { text } } }`;
      // The same question at the same moment, with other rights.
      await using privileged = await Listener.ask(guarded, query, {}, admin);
      await using asked = await Listener.ask(guarded, query);
      const [whole, [first, second]] = await Promise.all([privileged.take(3), asked.take(2)]);
      expect(whole.map(({ data }) => data.data.noteChanges.before?.text)).toEqual([
        undefined,
        'hidden',
        'shown',
      ]);
      expect(first?.data.data.noteChanges).toEqual({
        kind: 'CREATED',
        before: null,
        after: { text: 'shown' },
      });
      expect(second?.data).toMatchObject({
        data: { noteChanges: { kind: 'DELETED', before: null, after: null } },
        errors: [{ extensions: { code: 'FORBIDDEN' } }],
      });
      const exp = Math.floor(Date.now() / 1000) + 4;
      const token = new SignJWT({ sub: 'root', roles: ['admin'] }).setProtectedHeader({ alg: 'HS256' });
      const signed = await token.setExpirationTime(exp).sign(new TextEncoder().encode(SECRET));
      const short = await Listener.open(guarded, '/changes/notes', { Authorization: `Bearer ${signed}` });
      expect(short.response.status).toBe(200);
      expect(await short.next()).toBeUndefined();
      await guarded.close();
    });

    test('when the last stream has ended, also amid what it had to tell, nothing is looked for any more', async () => {
      const guarded = await openApp(database, { sdl, url, env: { AUTH_SECRET: SECRET } });
      const admin = await headersOf({ name: 'root', claims: { sub: 'root', roles: ['admin'] } });
      for (const text of ['a', 'b', 'c', 'd']) await guarded.rest('POST', '/notes', { text }, admin);
      const [{ position }] = (await guarded.rest('GET', '/changes', undefined, admin)).body;
      const exp = Math.floor(Date.now() / 1000) + 4;
      const token = new SignJWT({ sub: 'root', roles: ['admin'] }).setProtectedHeader({ alg: 'HS256' });
      const signed = await token.setExpirationTime(exp).sign(new TextEncoder().encode(SECRET));
      const short = { Authorization: `Bearer ${signed}` };
      const query = `subscription { noteChanges(after: "${position}") { key } }`;
      const followed = await Listener.open(guarded, `/changes/notes?after=${position}`, short);
      const asked = await Listener.ask(guarded, query, {}, short);
      // They take no more than one event, and do not hang up either.
      for (const each of [followed, asked]) expect(await each.take(1)).toHaveLength(1);
      const isQuiet = async () => {
        const before = guarded.statements.length;
        await Bun.sleep(500);
        return guarded.statements.length === before;
      };
      let tries = 0;
      while (!(await isQuiet()) && tries < 20) tries++;
      expect(tries).toBeLessThan(20);
      await guarded.close();
    });

    test('a key that is revoked loses its streams, and no other does', async () => {
      let keys: ApiKeys | undefined;
      const guarded = await openApp(database, {
        sdl,
        url,
        env: { AUTH_SECRET: SECRET },
        around: (storage) => {
          keys ??= new ApiKeys(storage);
          return storage;
        },
      });
      const made = async (name: string) => ({
        Authorization: `Bearer ${await keys?.create(name, ['admin'])}`,
      });
      const [gone, kept] = [await made('gone'), await made('kept')];
      const followed = await Listener.open(guarded, '/changes/notes', gone);
      const asked = await Listener.ask(guarded, 'subscription { noteChanges { key } }', {}, gone);
      await using other = await Listener.open(guarded, '/changes/notes', kept);
      await using nobody = await Listener.open(guarded, '/changes/notes');
      await guarded.rest('POST', '/notes', { text: 'a', public: true }, gone);
      for (const each of [followed, asked, other, nobody]) expect(await each.take(1)).toHaveLength(1);
      expect(await keys?.revoke('gone')).toBe(true);
      expect([await followed.next(), await asked.next()]).toEqual([undefined, undefined]);
      await guarded.rest('POST', '/notes', { text: 'b', public: true }, kept);
      for (const each of [other, nobody]) expect(brief(await each.take(1))).toEqual(['CREATED 2 1 id']);
      await guarded.close();
    });
  });

test('a server that is told to stop ends its streams at once', async () => {
  using folder = new Folder();
  await Bun.write(folder.file('schema.graphql'), sdl);
  await Bun.write(folder.file('data.json'), '{}');
  await using server = await Server.start(folder, { COMPRESS: 'gzip' });
  const listener = await Listener.open(
    { fetch: (path, init) => fetch(`${server.url}${path}`, init) },
    '/changes/books',
  );
  expect(listener.response.headers.get('Content-Encoding')).toBeNull();
  const body = JSON.stringify({ title: 'a' });
  await fetch(`${server.url}/books`, { method: 'POST', headers: JSON_HEADERS, body });
  expect(brief(await listener.take(1))).toEqual(['CREATED 1 1 id']);
  server.signal('SIGTERM');
  expect(await listener.next()).toBeUndefined();
  expect(await server.exited()).toBe(0);
});
