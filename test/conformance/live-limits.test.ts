/** What a live answer may cost others, whatever it asks for, and what its refusal may tell. */

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { Storage } from '../../src/storage/storage.ts';
import { type AppUnderTest, databases, JSON_HEADERS, openApp, withOwn } from '../app.ts';
import { Listener } from '../events.ts';
import { headersOf, SECRET } from './access-matrix.ts';

const sdl = 'type Note @resource @journal { id: ID! text: String! n: Int }';

const ruled = `
type Post @resource @journal
  @allow(to: [READ], where: { marks: { some: { ok: { eq: true } } } })
  @allow(to: [READ], role: "admin")
{ id: ID! marks: [ShadowBan!]! }
type ShadowBan @resource @allow(to: [READ], role: "admin") { id: ID! ok: Boolean! post: Post }
`;

for (const database of databases)
  describe(`on ${database}`, () => {
    let app: AppUnderTest;
    beforeAll(async () => {
      app = await openApp(database, { sdl });
    });
    afterAll(() => app.close());

    test('what would take long to judge is not judged: such an answer is made again', async () => {
      const made = async () => {
        const text = (await app.rest('GET', '/metrics')).body as string;
        return Number(/^duet_live_executions_total (\d+)$/m.exec(text)?.[1]);
      };
      const among = (count: number, from: number) => ({
        n: { in: Array.from({ length: count }, (_, at) => from + at) },
      });
      const text = 'x'.repeat(2000);
      const one = 'query ($one: NoteWhere) @live { notes(where: $one) { id } }';
      const two = `query ($one: NoteWhere, $two: NoteWhere) @live {
        one: notes(where: $one) { id } two: notes(where: $two) { id } }`;
      const cases: [string, object, string, again: number][] = [
        [one, { one: among(90, 10) }, 'x', 0],
        [one, { one: { or: [among(60, 10), among(60, 100)] } }, 'x', 1],
        [two, { one: among(60, 10), two: among(60, 100) }, 'x', 1],
        [one, { one: { text: { contains: 'none' } } }, 'x', 0],
        [one, { one: { text: { contains: 'none' } } }, text, 1],
        [one, { one: { text: { endsWith: 'none' } } }, text, 1],
      ];
      for (const [query, variables, written, again] of cases) {
        await using listener = await Listener.ask(app, query, variables);
        await listener.take(1);
        // Whoever is shown it proves that it was told to all.
        await using other = await Listener.open(app, '/notes?aggregate=count');
        await other.take(1);
        const before = await made();
        await app.rest('POST', '/notes', { text: written, n: 1 });
        await other.take(1);
        for (let tries = 0; tries < 40 && (await made()) - before < 1 + again; tries++) await Bun.sleep(50);
        expect([variables, written.length, (await made()) - before]).toEqual([
          variables,
          written.length,
          1 + again,
        ]);
      }
    });

    test('a type that only a rule looks at, or that is closed to the caller, is named in the log alone', async () => {
      const guarded = await openApp(database, {
        sdl: ruled,
        env: { AUTH_SECRET: SECRET, INTROSPECTION: 'off' },
      });
      const eve = await headersOf({ name: 'eve', claims: { sub: 'eve' } });
      const admin = await headersOf({ name: 'root', claims: { sub: 'root', roles: ['admin'] } });
      const query = (asked: string) => ({ query: `query @live { posts { ${asked} } }` });
      const cases: [object, string | { query: string }, status: number, isNamed: boolean][] = [
        [eve, '/posts', 400, false],
        [eve, query('id'), 400, false],
        [eve, '/posts?include=marks', 400, false],
        [eve, query('marks { id }'), 400, false],
        [eve, '/shadow-bans', 403, false],
        [admin, '/posts?include=marks', 400, true],
        [admin, '/posts?where={"marks":{"some":{"ok":{"eq":true}}}}', 400, true],
        [admin, query('marks { id }'), 400, true],
        [admin, '/shadow-bans', 400, true],
      ];
      for (const [who, asked, status, isNamed] of cases) {
        const headers = { ...JSON_HEADERS, Accept: 'text/event-stream', ...who };
        const answer =
          typeof asked === 'string'
            ? await guarded.fetch(asked, { headers })
            : await guarded.fetch('/graphql', { method: 'POST', headers, body: JSON.stringify(asked) });
        const text = await answer.text();
        expect([
          asked,
          answer.status,
          text.includes('NOT_LIVE'),
          text.includes('Add it to ShadowBan'),
        ]).toEqual([asked, status, status === 400, isNamed]);
        if (!isNamed) expect(text).not.toContain('ShadowBan');
      }
      const notices = guarded.observations
        .filter(({ event }) => event === 'notice')
        .map((each: any) => each.message);
      expect(notices.filter((message) => message.includes('@journal on ShadowBan'))).toHaveLength(1);
      await guarded.close();
    });

    test('who waits too long for the first answer is told so, as without events, alone and among others', async () => {
      const held: (() => void)[] = [];
      const slow = await openApp(database, {
        sdl,
        env: { LIVE_CONCURRENCY: '1', LIMIT_DEADLINE: '300' },
        around: (storage) => {
          const prepare: Storage['prepare'] = (statement) => {
            const ask = storage.prepare(statement);
            return async (...given) => {
              if (statement.resource.table === 'Note')
                await new Promise<void>((resolve) => held.push(resolve));
              return ask(...given);
            };
          };
          return withOwn(storage, { prepare });
        },
      });
      const told = await Promise.all(
        [1, 2, 3].map(async (n) => {
          const response = await slow.fetch(`/notes?n=${n}`, { headers: { Accept: 'text/event-stream' } });
          return [response.status, ((await response.json()) as any).code];
        }),
      );
      expect(told).toEqual(Array(3).fill([503, 'DEADLINE_EXCEEDED']));
      const shared = await Listener.share(slow, ['/notes?n=4', '/notes?n=5']);
      const all = JSON.stringify(await shared.take(2));
      expect(all.match(/DEADLINE_EXCEEDED/g)).toHaveLength(2);
      await shared[Symbol.asyncDispose]();
      for (const release of held) release();
      expect((await slow.rest('GET', '/metrics')).body).toContain('\nduet_live_answers 0\n');
      await slow.close();
    });

    test('what nobody waits for any more is not made, and nobody is held up by who begins, nor by who asks for much', async () => {
      const [waiting, isHeld] = [[] as (() => void)[], { now: false }];
      const slow = await openApp(database, {
        sdl,
        env: { LIVE_CONCURRENCY: '1' },
        around: (storage) => {
          const prepare: Storage['prepare'] = (statement) => {
            const ask = storage.prepare(statement);
            const isNote = statement.resource.table === 'Note';
            return async (...given) => {
              if (isNote && isHeld.now) await new Promise<void>((resolve) => waiting.push(resolve));
              return ask(...given);
            };
          };
          return withOwn(storage, { prepare });
        },
      });
      const answers = async () =>
        Number(/^duet_live_answers (\d+)$/m.exec((await slow.rest('GET', '/metrics')).body)?.[1]);
      const until = async (isSo: () => boolean | Promise<boolean>) => {
        for (let tries = 0; tries < 200 && !(await isSo()); tries++) await Bun.sleep(10);
      };
      /** Until one that was made in this time may be made again. */
      const pauseAfter = (begun: number) => Math.min(5000, 100 + 10 * (performance.now() - begun));
      const begun = performance.now();
      await using looking = await Listener.open(slow, '/notes?text=seen&fields=text');
      const pause = pauseAfter(begun);
      await using changes = await Listener.open(slow, '/changes/notes');
      expect((await looking.take(1))[0]?.data).toEqual([]);
      isHeld.now = true;
      const gone = new AbortController();
      const headers = { ...JSON_HEADERS, Accept: 'text/event-stream' };
      const ask = (query: string) =>
        slow.fetch('/graphql', {
          method: 'POST',
          headers,
          body: JSON.stringify({ query }),
          signal: gone.signal,
        });
      const crowd = Array.from({ length: 20 }, (_, at) => [
        slow.fetch(`/notes?n=${at}`, { headers, signal: gone.signal }),
        ask(`query @live { notes(where: { n: { eq: ${at} } }) { id } }`),
      ]).flat();
      const queries = Array.from({ length: 100 }, (_, at) => `/notes?n=${1000 + at}`);
      const shared = await Listener.share(slow, queries);
      const first = shared.next();
      // Of one stream only a few wait at a time.
      await until(async () => waiting.length > 0 && (await answers()) >= 45);
      expect(await answers()).toBe(45);
      /** Whether a change is shown before forty others were made. */
      const isShownSoon = async (listener: Listener, paused: number) => {
        await slow.rest('POST', '/notes', { text: 'seen' });
        await changes.take(1);
        await Bun.sleep(paused);
        const told = { isSo: false };
        listener.next().then(() => {
          told.isSo = true;
        });
        for (let made = 0; made < 40 && !told.isSo; made++) {
          waiting.shift()?.();
          await until(() => told.isSo || waiting.length > 0);
          await Bun.sleep(5);
        }
        return told.isSo;
      };
      expect(await isShownSoon(looking, pause)).toBe(true);
      gone.abort();
      await shared[Symbol.asyncDispose]();
      await until(async () => (await answers()) === 1);
      expect(await answers()).toBe(1);
      const release = () => {
        isHeld.now = false;
        for (const each of waiting.splice(0)) each();
      };
      release();
      await Promise.all([first, ...crowd]);
      const all = Array.from({ length: 90 }, (_, at) => `/notes?fields=text&limit=${1 + at}`);
      await using much = await Listener.share(slow, all);
      await much.take(90);
      const later = performance.now();
      await using little = await Listener.open(slow, '/notes?fields=text&text=seen&limit=9');
      await little.take(1);
      isHeld.now = true;
      expect(await isShownSoon(little, pauseAfter(later))).toBe(true);
      release();
      await slow.close();
    });

    test('what streams keep of their requests is bounded', async () => {
      // Room for 64 KiB.
      const small = await openApp(database, { sdl, env: { LIMIT_STREAMS: '4' } });
      const asking = (query: string) => (bytes: number) =>
        Listener.ask(small, query, { where: { text: { eq: 'x'.repeat(bytes) } } });
      const ways = [
        asking('query ($where: NoteWhere) @live { notes(where: $where) { id } }'),
        asking('subscription ($where: NoteWhere) { noteChanges(where: $where) { kind } }'),
        (bytes: number) =>
          Listener.share(small, Array(10).fill(`/notes?text=${'x'.repeat(Math.floor(bytes / 10))}`)),
      ];
      for (const ask of ways) {
        const first = await ask(40_000);
        const other = await ask(40_001);
        expect([first.response.status, other.response.status]).toEqual([200, 503]);
        await using short = await ask(10_000);
        expect(short.response.status).toBe(200);
        // Whoever leaves makes room.
        await first[Symbol.asyncDispose]();
        await using again = await ask(40_001);
        expect(again.response.status).toBe(200);
      }
      await small.close();
    });

    test('answers count, however short they are, and one caller takes half of the memory at the most', async () => {
      const open = sdl.replace('{', '@allow(to: [READ, CREATE]) {');
      const env = { LIMIT_BYTES: '1024', AUTH_SECRET: SECRET };
      const small = await openApp(database, { sdl: open, env });
      const [eve, bob] = await Promise.all(
        ['eve', 'bob'].map((name) => headersOf({ name, claims: { sub: name } })),
      );
      const queries = Array.from({ length: 20 }, (_, at) => `/notes?n=${at}`);
      const codes = async (listener: Listener) =>
        (await listener.take(20)).map(({ data }) => data.code).toSorted();
      await using first = await Listener.share(small, queries, eve);
      const [some, others] = [Array(18).fill('UNAVAILABLE'), [undefined, undefined]];
      expect(await codes(first)).toEqual([...some, ...others]);
      const again = await small.fetch('/notes?n=99', { headers: { Accept: 'text/event-stream', ...eve } });
      expect(again.status).toBe(503);
      await using other = await Listener.open(small, '/notes?n=99', bob);
      expect((await other.take(1))[0]?.data).toEqual([]);
      // What is left is room again.
      await first[Symbol.asyncDispose]();
      await using later = await Listener.share(small, queries.slice(0, 2), eve);
      expect((await later.take(2)).map(({ data }) => data)).toEqual([[], []]);
      await small.close();
    });

    test('they count by their bytes, are shared by all who look at them, and are sent in parts', async () => {
      const small = await openApp(database, { sdl, env: { LIMIT_BYTES: '100000' } });
      await small.rest('POST', '/notes', { text: '漢'.repeat(30_000) });
      const headers = { Accept: 'text/event-stream' };
      const gone = new AbortController();
      const open = (path: string) => small.fetch(path, { headers, signal: gone.signal });
      const streams = [];
      // There is room for eight of the longest: the answer itself, and seven who look at it.
      for (let count = 0; count < 7; count++) streams.push(await open('/notes'));
      expect([...streams, await open('/notes')].map(({ status }) => status)).toEqual([
        ...Array(7).fill(200),
        503,
      ]);
      const parts = streams.slice(0, 2).map(async ({ body }) => {
        const reader = (body as ReadableStream<Uint8Array>).getReader();
        const part = async () => (await reader.read()).value as Uint8Array;
        // The first is a comment.
        await part();
        return [await part(), await part()];
      });
      const [one = [], other = []] = await Promise.all(parts);
      expect(one.map(({ byteLength }) => byteLength < 70_000)).toEqual([true, true]);
      for (const part of [...one, ...other]) expect(part.buffer).toBe(one[0]?.buffer as ArrayBuffer);
      gone.abort();
      await small.close();
    });

    test('a client that goes away is no failure', async () => {
      await using server = app.listen();
      for (const path of ['/notes', '/changes/notes']) {
        const gone = new AbortController();
        const headers = { Accept: 'text/event-stream' };
        const { body } = await fetch(`${server.url}${path}`, { headers, signal: gone.signal });
        await body?.getReader().read();
        gone.abort();
        const listener = await Listener.open(app, path);
        const ended = listener.next();
        await listener[Symbol.asyncDispose]();
        await ended;
      }
      const open = async () =>
        /^duet_streams (\d+)$/m.exec((await app.rest('GET', '/metrics')).body as string)?.[1];
      for (let tries = 0; tries < 200 && (await open()) !== '0'; tries++) await Bun.sleep(50);
      expect([await open(), app.observations.filter(({ event }) => event === 'failure')]).toEqual(['0', []]);
    });
  });
