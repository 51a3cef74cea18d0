/** Live answers: the plain answer as an event, and again, whole, whenever a change has altered it. */

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { Storage } from '../../src/storage/storage.ts';
import { type AppUnderTest, databases, JSON_HEADERS, openApp, sharedPostgres, withOwn } from '../app.ts';
import { Listener } from '../events.ts';
import { Folder } from '../process.ts';
import { headersOf, SECRET } from './access-matrix.ts';

const sdl = `
type Author @resource @journal { id: ID! name: String! books: [Book!]! }
type Book @resource @journal { id: ID! title: String! pages: Int! @default(value: 1) author: Author tags: [BookTag!]! }
type Tag @resource { id: ID! name: String! books: [BookTag!]! }
type BookTag @resource @journal { id: ID! book: Book! tag: Tag! }
type Team @resource @journal
  @allow(to: [READ], where: { members: { some: { who: { eq: { claim: "sub" } } } } })
  @allow(to: [READ, CREATE, UPDATE, DELETE], role: "admin")
{ id: ID! name: String! secret: String @allow(to: [READ, UPDATE, CREATE], role: "admin") members: [Member!]! }
type Member @resource @journal @allow(to: [READ, CREATE, UPDATE, DELETE], role: "admin") { id: ID! who: String! team: Team }
`;

const EVENTS = { Accept: 'text/event-stream' };

for (const database of databases)
  describe(`on ${database}`, () => {
    let app: AppUnderTest;
    let guarded: AppUnderTest;
    let folder: Folder;
    let url: string;
    beforeAll(async () => {
      folder = new Folder();
      url =
        database === 'sqlite' ? `sqlite:${folder.file('x.db')}` : await (await sharedPostgres()).database();
      app = await openApp(database, { sdl, url });
      guarded = await openApp(database, { sdl, url, env: { AUTH_SECRET: SECRET } });
    });
    afterAll(async () => {
      await guarded.close();
      await app.close();
      folder[Symbol.dispose]();
    });

    const post = async (path: string, body: object) => (await app.rest('POST', path, body)).body;

    test('a list comes whole, again when it is another, and as the plain request would get it', async () => {
      const ann = await post('/authors', { name: 'Ann' });
      const path = `/books?author.name=Ann&include=author&sort=-pages&limit=2&count=true`;
      await post('/books', { title: 'a', authorId: ann.id });
      const plain = async () => {
        const { headers, body } = await app.rest('GET', path);
        return { total: headers.get('X-Total-Count'), link: headers.get('Link') ?? undefined, body };
      };
      await using listener = await Listener.open(app, path);
      expect([listener.response.status, listener.response.headers.get('Content-Type')]).toEqual([
        200,
        'text/event-stream',
      ]);
      const shown = async () => {
        const [head, message] = await listener.take(2);
        expect([head?.event, message?.event]).toEqual(['headers', 'message']);
        return { total: head?.data['X-Total-Count'], link: head?.data['Link'], body: message?.data };
      };
      expect(await shown()).toEqual(await plain());
      await post('/books', { title: 'b', pages: 9, authorId: ann.id });
      expect(await shown()).toEqual(await plain());
      await post('/books', { title: 'c', pages: 5, authorId: ann.id });
      const three = await shown();
      expect([three, three.total, three.link !== undefined]).toEqual([await plain(), '3', true]);
      // What it is made of beyond its own type.
      await app.rest('PUT', `/authors/${ann.id}`, { name: 'Bo' });
      expect(await shown()).toEqual({ total: '0', link: undefined, body: [] });
    });

    test('an order by what references lead to is kept', async () => {
      const [one, two] = [await post('/authors', { name: 'o1' }), await post('/authors', { name: 'o2' })];
      for (const { id } of [one, two]) await post('/books', { title: 'ordered', authorId: id });
      const path = '/books?title=ordered&sort=author.name&fields=authorId';
      await using listener = await Listener.open(app, path);
      const order = async () => (await listener.take(1))[0]?.data.map((book: any) => book.authorId);
      expect(await order()).toEqual([one.id, two.id]);
      await app.rest('PUT', `/authors/${two.id}`, { name: 'o0' });
      expect(await order()).toEqual([two.id, one.id]);
    });

    test('a record comes with its tag; what is wrong with it later is an event, and it may come back', async () => {
      const book = await post('/books', { title: 'one' });
      const path = `/books/${book.id}`;
      await using listener = await Listener.open(app, path, { 'If-None-Match': '*' });
      const { headers } = await app.rest('GET', path);
      expect((await listener.take(2)).map(({ event, data }) => [event, data])).toEqual([
        ['headers', { ETag: headers.get('ETag') }],
        ['message', book],
      ]);
      await app.rest('DELETE', path);
      const gone = await listener.next();
      expect([gone?.event, gone?.data.status, gone?.data.code]).toEqual(['problem', 404, 'NOT_FOUND']);
      // Whoever asks now has no answer to begin with, though others go on.
      expect((await app.fetch(path, { headers: EVENTS })).status).toBe(404);
      await app.rest('POST', `${path}/restore`);
      const [, back] = await listener.take(2);
      expect(back?.data).toEqual(book);
      const missing = await app.fetch('/books/999999', { headers: EVENTS });
      expect([missing.status, missing.headers.get('Content-Type')]).toEqual([404, 'application/json']);
      const bad = await app.fetch('/books?nothing=1', { headers: EVENTS });
      expect(bad.status).toBe(400);
      const head = await app.fetch('/books', { method: 'HEAD', headers: EVENTS });
      expect([head.status, head.headers.get('Content-Type')]).toEqual([200, 'text/event-stream']);
    });

    test('several share one stream, by their places; what is wrong with one is told, and the others go on', async () => {
      const ann = await post('/authors', { name: 'Sh' });
      const book = await post('/books', { title: 'shared', authorId: ann.id });
      const own = `/books?authorId=${ann.id}&fields=title,pages`;
      await using listener = await Listener.share(app, [
        own,
        `/authors/${ann.id}/`,
        '/nowhere',
        '/tags',
        '/books?nothing=1',
        '/books/999999',
        `/books?title=${'x'.repeat(9000)}`,
        `/books?limit=1${'&after=x&before=x'.repeat(600)}`,
      ]);
      expect(listener.response.headers.get('Content-Type')).toBe('text/event-stream');
      const told = (await listener.take(9)).map(({ event, data }) => [event, data.code ?? data]);
      expect(Object.fromEntries(told)).toEqual({
        0: [{ title: 'shared', pages: 1 }],
        1: ann,
        '1.headers': { ETag: (await app.rest('GET', `/authors/${ann.id}`)).headers.get('ETag') },
        '2.refused': 'NOT_FOUND',
        '3.refused': 'NOT_LIVE',
        '4.refused': 'VALIDATION_FAILED',
        '5.refused': 'NOT_FOUND',
        '6.refused': 'URL_TOO_LONG',
        '7.refused': 'URL_TOO_LONG',
      });
      await app.rest('PUT', `/books/${book.id}`, { pages: 2 });
      expect(await listener.next()).toMatchObject({ event: '0', data: [{ title: 'shared', pages: 2 }] });
      await app.rest('DELETE', `/books/${book.id}`);
      expect(await listener.next()).toMatchObject({ event: '0', data: [] });
      await app.rest('DELETE', `/authors/${ann.id}`);
      expect(await listener.next()).toMatchObject({ event: '1.problem', data: { status: 404 } });
    });

    test('a stream for several needs a list of paths', async () => {
      const many = Array(101).fill('/books');
      for (const body of [
        {},
        { queries: [] },
        { queries: ['/books', 1] },
        { queries: many },
        { queries: ['/books'], more: 1 },
      ]) {
        const { status, body: told } = await app.rest('POST', '/live', body);
        const at = told.errors?.map(({ pointer }: any) => pointer);
        expect([status, at]).toEqual([400, ['more' in body ? '#/more' : '#/queries']]);
      }
    });

    test('numbers are live too, and so is a query with several fields', async () => {
      const ann = await post('/authors', { name: 'Cy' });
      const sums = `/books?aggregate=count&authorId=${ann.id}`;
      await using counted = await Listener.open(app, sums);
      const query = `query ($id: ID!) @live {
        author(id: $id) { name books { title } booksAggregate { count } }
        tally: booksAggregate(where: { authorId: { eq: $id } }) { sum { pages } }
      }`;
      const variables = { id: String(ann.id) };
      await using asked = await Listener.ask(app, query, variables);
      const plainly = query.replace('@live', '');
      for (let pages = 1; pages < 4; pages++) {
        const [one] = await counted.take(1);
        expect(one?.data).toEqual((await app.rest('GET', sums)).body);
        const [next] = await asked.take(1);
        const { data } = await app.graphql(plainly, variables);
        expect([next?.event, next?.data]).toEqual(['next', { data }]);
        await post('/books', { title: `p${pages}`, pages, authorId: ann.id });
      }
    });

    test('without @live a query over a stream is answered once, and with it only a stream will do', async () => {
      await using once = await Listener.ask(app, '{ tags { id } }');
      expect((await once.take(9)).map(({ event }) => event)).toEqual(['next', 'complete']);
      const plain = await app.graphql('query @live { authors { id } }');
      expect([plain.status, plain.errors?.[0].extensions.code]).toEqual([406, 'NOT_ACCEPTABLE']);
    });

    test('each type in it needs @journal, also those that only a filter or an order looks at', async () => {
      for (const path of [
        '/tags',
        '/tags/1',
        '/book-tags?include=tag',
        '/book-tags?tag.name=x',
        '/book-tags?sort=tag.name',
        '/books?where={"tags":{"some":{"tag":{"name":{"eq":"x"}}}}}',
        '/books?include=tags.tag',
      ]) {
        const answer = await app.fetch(path, { headers: EVENTS });
        const { code, detail } = (await answer.json()) as any;
        expect([path, answer.status, code]).toEqual([path, 400, 'NOT_LIVE']);
        expect(detail).toContain('Add it to Tag,');
      }
      const ask = (query: string) =>
        app.fetch('/graphql', {
          method: 'POST',
          headers: { ...JSON_HEADERS, ...EVENTS },
          body: JSON.stringify({ query }),
        });
      for (const query of ['query @live { tags { id } }', 'query @live { bookTags { tag { id } } }']) {
        const answer = await ask(query);
        const told = (await answer.json()) as any;
        expect([answer.status, told.errors[0].extensions.code]).toEqual([400, 'NOT_LIVE']);
      }
    });

    test('those who ask for the same share what is read, and what cannot match is not read at all', async () => {
      const ann = await post('/authors', { name: 'Shared' });
      const path = `/books?authorId=${ann.id}`;
      const other = `/books?authorId=${ann.id}&title[startsWith]=x`;
      const listeners = await Promise.all([path, path, path, other].map((each) => Listener.open(app, each)));
      for (const each of listeners) expect((await each.take(1))[0]?.data).toEqual([]);
      await using late = await Listener.open(app, path);
      expect((await late.take(1))[0]?.data).toEqual([]);
      const made = async () => {
        const text = (await app.rest('GET', '/metrics')).body as string;
        return Number(/^duet_live_executions_total (\d+)$/m.exec(text)?.[1]);
      };
      const before = await made();
      const books: object[] = [];
      // A change for each, so that no two of them are shown by one answer.
      for (let at = 0; at < 4; at++) {
        await post('/books', { title: 'elsewhere' });
        books.push(await post('/books', { title: 'y', authorId: ann.id }));
        for (const each of [...listeners.slice(0, 3), late])
          expect((await each.take(1))[0]?.data).toEqual(books);
      }
      expect((await made()) - before).toBe(4);
      for (const each of listeners) await each[Symbol.asyncDispose]();
    });

    test('a change of another process, and of many at once, is shown in the end', async () => {
      await using listener = await Listener.open(app, '/books?title[startsWith]=many&sort=id&fields=title');
      expect((await listener.take(1))[0]?.data).toEqual([]);
      const names = Array.from({ length: 30 }, (_, at) => `many ${at}`);
      const other = guarded.unguarded();
      for (const title of names) await other.rest('POST', '/books', { title });
      let last: { title: string }[] = [];
      while (last.length < names.length) last = (await listener.take(1))[0]?.data;
      expect(last.map(({ title }) => title)).toEqual(names);
    });

    test('a change that comes while the answer is made is shown by the next', async () => {
      let held: { readonly read: () => void; readonly release: Promise<void> } | undefined;
      const slow = await openApp(database, {
        sdl,
        url,
        around: (storage) => {
          const prepare: Storage['prepare'] = (statement) => {
            const ask = storage.prepare(statement);
            return async (...given) => {
              const rows = await ask(...given);
              const gate = statement.resource.table === 'Book' ? held : undefined;
              gate?.read();
              await gate?.release;
              return rows;
            };
          };
          return withOwn(storage, { prepare });
        },
      });
      await using listener = await Listener.open(slow, '/books?title[startsWith]=slow&fields=title&sort=id');
      expect((await listener.take(1))[0]?.data).toEqual([]);
      const [read, release] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
      held = { read: read.resolve, release: release.promise };
      await post('/books', { title: 'slow 1' });
      await read.promise;
      held = undefined;
      // Whoever is shown it proves that it was told to all.
      await using other = await Listener.open(slow, '/books?title=slow%202');
      expect((await other.take(1))[0]?.data).toEqual([]);
      await post('/books', { title: 'slow 2' });
      expect((await other.take(1))[0]?.data).toHaveLength(1);
      release.resolve();
      const titles = async () => (await listener.take(1))[0]?.data.map((each: any) => each.title);
      expect(await titles()).toEqual(['slow 1']);
      expect(await titles()).toEqual(['slow 1', 'slow 2']);
      await slow.close();
    });

    test('rules hold: other rights see another answer, and a change of what rules look at counts', async () => {
      const admin = await headersOf({ name: 'root', claims: { sub: 'root', roles: ['admin'] } });
      const eve = await headersOf({ name: 'eve', claims: { sub: 'eve' } });
      const send = async (method: string, path: string, body?: unknown) =>
        (await guarded.rest(method, path, body, admin)).body;
      const team = await send('POST', '/teams', { name: 'T', secret: 's' });
      const path = `/teams?id=${team.id}`;
      await using all = await Listener.open(guarded, path, admin);
      await using own = await Listener.open(guarded, path, eve);
      expect((await all.take(1))[0]?.data).toEqual([{ id: team.id, name: 'T', secret: 's' }]);
      expect((await own.take(1))[0]?.data).toEqual([]);
      const member = await send('POST', '/members', { who: 'eve', teamId: team.id });
      expect((await own.take(1))[0]?.data).toEqual([{ id: team.id, name: 'T' }]);
      // What she may not see gives her nothing to see, not even an event.
      await send('PUT', `/teams/${team.id}`, { secret: 'other' });
      expect((await all.take(1))[0]?.data).toEqual([{ id: team.id, name: 'T', secret: 'other' }]);
      await send('DELETE', `/members/${member.id}`);
      expect((await own.take(1))[0]?.data).toEqual([]);
      const refused = await guarded.fetch('/members', { headers: { ...EVENTS, ...eve } });
      expect(refused.status).toBe(403);
      await using shared = await Listener.share(guarded, ['/members', path], eve);
      const told = (await shared.take(2)).map(({ event, data }) => [event, data.code ?? data]);
      expect(Object.fromEntries(told)).toEqual({ '0.refused': 'FORBIDDEN', 1: [] });
    });

    test('a stream all of whose queries are refused makes room for others', async () => {
      const admin = await headersOf({ name: 'root', claims: { sub: 'root', roles: ['admin'] } });
      const small = await openApp(database, { sdl, env: { AUTH_SECRET: SECRET, LIMIT_STREAMS: '1' } });
      const held = await Listener.share(small, ['/members', '/nowhere']);
      expect((await held.take(2)).map(({ event }) => event).toSorted()).toEqual(['0.refused', '1.refused']);
      await using served = await Listener.share(small, ['/members', '/nowhere'], admin);
      const told = (await served.take(2)).map(({ event, data }) => [event, data.code ?? data]);
      expect(Object.fromEntries(told)).toEqual({ 0: [], '1.refused': 'NOT_FOUND' });
      expect(await held.next()).toBeUndefined();
      // Where one is followed, there is no room.
      expect((await small.fetch('/members', { headers: { ...EVENTS, ...admin } })).status).toBe(503);
      await small.close();
    });

    test('a function may look at any type: with a journal on each, what it answers is live', async () => {
      const types = `
        type Item @resource @journal { id: ID! price: Int! }
        type Query { total: Int! @action }`;
      const logic = {
        Query: {
          *total({ tx }: any): any {
            const items = yield* tx.items.list({});
            return items.reduce((sum: number, { price }: any) => sum + price, 0);
          },
        },
      };
      const asking = '{ total }';
      const whole = await openApp(database, { sdl: types, logic });
      await using listener = await Listener.ask(whole, `query @live ${asking}`);
      expect((await listener.take(1))[0]?.data).toEqual({ data: { total: 0 } });
      await whole.rest('POST', '/items', { price: 3 });
      expect((await listener.take(1))[0]?.data).toEqual({ data: { total: 3 } });
      const partly = await openApp(database, { sdl: `${types} type Other @resource { id: ID! }`, logic });
      await using refused = await Listener.ask(partly, `query @live ${asking}`);
      expect(refused.response.status).toBe(400);
      await partly.close();
      await whole.close();
    });

    test('they take no more memory than a few of the longest answers', async () => {
      const small = await openApp(database, { sdl, url, env: { LIMIT_BYTES: '1024' } });
      const book = await post('/books', { title: 'x'.repeat(700) });
      const open: Listener[] = [];
      for (let at = 0; at < 20; at++) open.push(await Listener.open(small, `/books?id=${book.id}`));
      const statuses = open.map(({ response }) => response.status);
      expect([statuses[0], statuses.at(-1)]).toEqual([200, 503]);
      for (const each of open) await each[Symbol.asyncDispose]();
      const again = await Listener.open(small, `/books?id=${book.id}`);
      expect(again.response.status).toBe(200);
      await again[Symbol.asyncDispose]();
      await small.close();
    });

    test('they count among the streams', async () => {
      const small = await openApp(database, { sdl, url, env: { LIMIT_STREAMS: '1', LIVE_CONCURRENCY: '1' } });
      const first = await Listener.share(small, ['/books?id=1', '/authors?id=1']);
      expect(await first.take(2)).toHaveLength(2);
      const second = await small.fetch('/books?id=1', { headers: EVENTS });
      expect([first.response.status, second.status]).toEqual([200, 503]);
      await first[Symbol.asyncDispose]();
      const metrics = (await small.rest('GET', '/metrics')).body as string;
      expect(/^duet_live_answers (\d+)$/m.exec(metrics)?.[1]).toBe('0');
      await small.close();
    });
  });
