/** What a feed costs and how long its answers are hangs on what is shown, and whoever follows it gets on. */

import { afterEach, describe, expect, test } from 'bun:test';
import { DuetError } from '../../src/base/errors.ts';
import { then } from '../../src/base/soon.ts';
import type { Storage } from '../../src/storage/storage.ts';
import { type AppUnderTest, databases, JSON_HEADERS, openApp } from '../app.ts';
import { Listener } from '../events.ts';
import { headersOf, SECRET } from './access-matrix.ts';

const sdl = `
type Doc @resource @journal
  @allow(to: [READ, HISTORY], where: { owner: { eq: { claim: "sub" } } })
  @allow(to: [READ, CREATE, UPDATE, DELETE, HISTORY], role: "admin")
{ id: ID! owner: String! text: String! }
type Pub @resource @journal @allow(to: [READ, CREATE, UPDATE, HISTORY]) { id: ID! text: String! secs: [Sec!]! }
type Sec @resource @journal @allow(to: [READ, CREATE, UPDATE, HISTORY]) { id: ID! pub: Pub! }
`;

const listened = 'type Book @resource @journal { id: ID! title: String! pages: Int tags: [String!] }';

const eve = await headersOf({ name: 'eve', claims: { sub: 'eve' } });
const admin = await headersOf({ name: 'root', claims: { sub: 'root', roles: ['admin'] } });
const LIMIT = 100_000;
const limited = { AUTH_SECRET: SECRET, LIMIT_BYTES: String(LIMIT) };

for (const database of databases)
  describe(`on ${database}`, () => {
    let app: AppUnderTest;
    const open = async (env: Record<string, string>, of = sdl) => {
      app = await openApp(database, { sdl: of, env });
    };
    afterEach(() => app.close());

    const create = async (count: number, doc: { owner: string; text: string }) => {
      const query = 'mutation ($records: [DocInput!]!) { createDocs(records: $records) { id } }';
      for (let left = count; left > 0; left -= 100) {
        const records = Array.from({ length: Math.min(left, 100) }, () => doc);
        expect((await app.graphql(query, { records }, admin)).errors).toBeUndefined();
      }
    };
    const read = async (path: string) => {
      const { status, body, headers } = await app.rest('GET', path, undefined, eve);
      expect([path, status, status === 200 ? '' : body]).toEqual([path, 200, '']);
      const next = headers.get('Link')?.match(/<(.*)>; rel="next"/)?.[1];
      return { changes: body as any[], position: headers.get('Changes-Position') ?? '', next };
    };
    /** All that is told from there on, by what each page says of the next. */
    const follow = async (path: string, most: number) => {
      const pages: string[][] = [];
      for (let next: string | undefined = path; next; ) {
        const page = await read(next);
        pages.push(page.changes.map(({ after }) => after.text));
        if (pages.length > most) throw new Error('it does not end');
        next = page.next;
      }
      return pages;
    };
    /** The same in GraphQL, by the position beside the changes. */
    const followByPosition = async (begin: string) => {
      const told: string[][] = [];
      const query = 'query ($after: String) { docChanges(after: $after) { after { text } } changesPosition }';
      for (let after = begin; told.length < 9; ) {
        const { data, errors } = await app.graphql(query, { after }, eve);
        expect(errors).toBeUndefined();
        told.push(data.docChanges.map((change: any) => change.after.text));
        if (data.changesPosition === after) return told;
        after = data.changesPosition;
      }
      throw new Error('it does not end');
    };
    const streamed = async (path: string, count: number) => {
      const response = await app.fetch(path, { headers: { Accept: 'text/event-stream', ...eve } });
      let text = '';
      for await (const chunk of response.body as ReadableStream<Uint8Array>) {
        text += new TextDecoder().decode(chunk);
        if (text.split(/^data: .*\n\n/m).length > count) break;
      }
      const told = text.split('\n').filter((line) => line.startsWith('data: '));
      return told.map((line) => JSON.parse(line.slice(6)).after.text as string);
    };

    test('a request looks at so many changes, and tells where to go on', async () => {
      await open({ AUTH_SECRET: SECRET });
      await create(1, { owner: 'eve', text: 'first' });
      await create(4300, { owner: 'ann', text: 'x' });
      await create(1, { owner: 'eve', text: 'last' });
      const pages = await follow('/changes/docs?limit=5', 9);
      expect(pages).toEqual([['first'], [], ['last']]);
      const where = encodeURIComponent(JSON.stringify({ text: { eq: 'last' } }));
      expect(await follow(`/changes/docs?where=${where}`, 9)).toEqual([[], [], ['last']]);
      const { position } = (await read('/changes/docs?limit=1')).changes[0];
      expect(await streamed(`/changes/docs?after=${position}`, 1)).toEqual(['last']);

      // In GraphQL, changesPosition is what Changes-Position is in REST.
      const alone = await app.graphql(`{ docChanges(after: "${position}") { after { text } } }`, {}, eve);
      expect([alone.errors?.[0].extensions.code, alone.errors?.[0].message]).toEqual([
        'VALIDATION_FAILED',
        expect.stringContaining('changesPosition'),
      ]);
      expect(await followByPosition(position)).toEqual([[], [], ['last'], []]);
    });

    test('beside a page that is full, changesPosition is where that ends', async () => {
      await open({ AUTH_SECRET: SECRET });
      await create(3, { owner: 'eve', text: 'x' });
      const { data } = await app.graphql('{ docChanges(first: 2) { position } changesPosition }', {}, eve);
      expect(data.changesPosition).toBe(data.docChanges[1].position);
    });

    test('what is not shown refuses no answer, however long it is', async () => {
      await open(limited);
      await create(1, { owner: 'eve', text: 'first' });
      await create(150, { owner: 'ann', text: 'é'.repeat(3000) });
      await create(1, { owner: 'ann', text: 'x'.repeat(4 * LIMIT) });
      await create(1, { owner: 'eve', text: 'last' });
      expect((await follow('/changes/docs', 9)).flat()).toEqual(['first', 'last']);
      const { position } = (await read('/changes/docs?limit=1')).changes[0];
      expect(await streamed(`/changes/docs?after=${position}`, 1)).toEqual(['last']);
      expect((await followByPosition(position)).flat()).toEqual(['last']);
    });

    test('a stream gets on where what is shown is more than one answer may have', async () => {
      await open(limited);
      await create(1, { owner: 'eve', text: 'first' });
      const { position } = await read('/changes/docs?limit=1');
      await create(60, { owner: 'eve', text: 'y'.repeat(5000) });
      const refused = await app.rest('GET', `/changes/docs?after=${position}`, undefined, eve);
      expect([refused.status, refused.body.code]).toEqual([400, 'ANSWER_TOO_LARGE']);
      expect(await streamed(`/changes/docs?after=${position}`, 60)).toHaveLength(60);
    });

    test('a stream whose client is slow keeps few of them, however many there are', async () => {
      let read = 0;
      const around = (storage: Storage): Storage => {
        const ask = storage.read.bind(storage);
        storage.read = (program, ...rest) =>
          then(ask(program, ...rest), (result) => {
            const { changes = [] } = (result ?? {}) as { changes?: { after: { title: string } }[] };
            read += changes.reduce((sum, { after }) => sum + after.title.length, 0);
            return result;
          });
        return storage;
      };
      app = await openApp(database, { sdl: listened, around });
      await app.rest('POST', '/books', { title: 'first' });
      const [{ position }] = (await app.rest('GET', '/changes/books')).body;
      const books = Array.from({ length: 9 }, () => ({ title: 'x'.repeat(100_000) }));
      const query = 'mutation ($books: [BookInput!]!) { createBooks(records: $books) { id } }';
      for (let count = 0; count < 4; count++)
        expect((await app.graphql(query, { books })).errors).toBeUndefined();
      read = 0;
      const streams = await Promise.all(
        [20, 30, 40, 50].map((limit) =>
          Listener.open(app, `/changes/books?after=${position}&limit=${limit}`),
        ),
      );
      for (const each of streams) await each.take(1);
      expect(read).toBeLessThan(4 * 500_000);
      // All of them come, in their order.
      const [first] = streams;
      const told = (await first?.take(35))?.map(({ data }) => data.key);
      expect(told).toEqual(Array.from({ length: 35 }, (_, at) => at + 3));
      for (const each of streams) await each[Symbol.asyncDispose]();
    });

    test('few who follow read at once, and what cannot be read for now is tried again', async () => {
      let reading = 0;
      let most = 0;
      let isAway = false;
      const around = (storage: Storage): Storage => {
        const ask = storage.read.bind(storage);
        // Typed as it is: what is asked for is answered.
        storage.read = (async (...asked: Parameters<typeof ask>) => {
          if (isAway) throw new DuetError('UNAVAILABLE', 'All connections to the database are busy.');
          most = Math.max(most, ++reading);
          await Bun.sleep(20);
          try {
            return await ask(...asked);
          } finally {
            reading--;
          }
        }) as typeof ask;
        return storage;
      };
      app = await openApp(database, { sdl: listened, around, env: { LIVE_CONCURRENCY: '2' } });
      await app.rest('POST', '/books', { title: 'first' });
      const [{ position }] = (await app.rest('GET', '/changes/books')).body;
      await app.rest('POST', '/books', { title: 'next' });
      const listening = await Promise.all(
        Array.from({ length: 20 }, (_, at) =>
          Listener.open(app, `/changes/books?after=${position}&where={"pages":{"ne":${at}}}`),
        ),
      );
      most = 0;
      isAway = true;
      const taken = Promise.all(listening.map((each) => each.take(1)));
      await Bun.sleep(300);
      isAway = false;
      const told = (await taken).map(([event]) => event?.data.after.title);
      expect(told).toEqual(Array(20).fill('next'));
      // Two of them, and one that looks whether there is more.
      expect(most).toBeLessThanOrEqual(3);
      expect(app.observations.filter(({ event }) => event === 'failure')).toEqual([]);
      for (const each of listening) await each[Symbol.asyncDispose]();
    });

    test('where all have much to take, who has taken nothing for the longest is ended, and others go on', async () => {
      await open({ LIMIT_STREAMS: '30' }, listened);
      await app.rest('POST', '/books', { title: 'first' });
      const [{ position }] = (await app.rest('GET', '/changes/books')).body;
      await app.rest('POST', '/books', { title: 'x'.repeat(1_000_000) });
      // There is room for 16 MiB; an event takes what it is written of until all of it is taken.
      const readers = [];
      for (let count = 0; count < 20; count++) {
        const headers = { Accept: 'text/event-stream' };
        const { body } = await app.fetch(`/changes/books?after=${position}`, { headers });
        const reader = (body as ReadableStream<Uint8Array>).getReader();
        // A comment, and the first part.
        for (let parts = 0; parts < 2; parts++) await reader.read();
        readers.push(reader);
      }
      const streams = (await app.rest('GET', '/metrics')).body.match(/^duet_streams (\d+)$/m)?.[1];
      expect(Number(streams)).toBe(16);
      const taken = readers.map(async (reader) => {
        let bytes = 0;
        while (bytes < 900_000) bytes += (await reader.read()).value?.byteLength ?? Number.NaN;
        await reader.cancel();
        return 'all of it';
      });
      const told = await Promise.all(taken.map((each) => each.catch(() => 'broken off')));
      expect(told).toEqual([...Array(4).fill('broken off'), ...Array(16).fill('all of it')]);
    });

    test('what one asks for that is too much ends no stream of others', async () => {
      await open(limited);
      const subscribe = async (fields: string) => {
        const { body } = await app.fetch('/graphql', {
          method: 'POST',
          headers: { 'Content-Type': 'application/json', Accept: 'text/event-stream', ...eve },
          body: JSON.stringify({ query: `subscription { docChanges { after { ${fields} } } }` }),
        });
        return (body as ReadableStream<Uint8Array>).getReader();
      };
      const aliases = Array.from({ length: 28 }, (_, at) => `a${at}: text`).join(' ');
      const heavy = await subscribe(aliases);
      const light = await subscribe('id');
      /** Until it ends, or the first event has come. */
      const told = async (reader: Awaited<ReturnType<typeof subscribe>>) => {
        let text = '';
        for (let done: boolean | undefined = false; !done && !text.includes('next'); ) {
          const chunk = await reader.read().catch(() => ({ done: true, value: undefined }));
          done = chunk.done;
          text += new TextDecoder().decode(chunk.value);
        }
        await reader.cancel().catch(() => {});
        return text;
      };
      const both = Promise.all([told(heavy), told(light)]);
      await create(1, { owner: 'eve', text: 'x'.repeat(LIMIT / 10) });
      const [refused, shown] = await both;
      expect(refused).not.toContain('next');
      expect(shown).toContain('{"docChanges":{"after":{"id":"1"}}}');
    });

    /** So many who each ask for something else, by either door. */
    const listeners = (count: number, where: (at: number) => object) => {
      const query = 'subscription ($where: BookWhere) { bookChanges(where: $where) { position } }';
      return Promise.all(
        Array.from({ length: count }, (_, at) =>
          at % 2 === 0
            ? Listener.ask(app, query, { where: where(at) })
            : Listener.open(app, `/changes/books?where=${encodeURIComponent(JSON.stringify(where(at)))}`),
        ),
      );
    };
    const positionsOf = async (all: readonly Listener[]) => {
      const events = await Promise.all(all.map((each) => each.take(1)));
      return events.map(([event]) => event?.data.position ?? event?.data.data.bookChanges.position);
    };

    test('changes are read once for all who follow, and held against their filters without the database', async () => {
      await open({}, listened);
      const all = await listeners(20, (at) => ({
        or: [{ pages: { in: [at, 1000] } }, { title: { eq: 'x' } }],
      }));
      const reads = () =>
        app.statements.filter((sql) => sql.startsWith('SELECT') && sql.includes('"before"'));
      const told = async (book: object) => {
        await app.rest('POST', '/books', book);
        return new Set(await positionsOf(all)).size;
      };
      expect(await told({ title: 'x' })).toBe(1);
      const begun = reads().length;
      expect(await told({ title: 'y', pages: 1000 })).toBe(1);
      expect(reads().slice(begun)).toEqual([expect.any(String)]);
      for (const each of all) await each[Symbol.asyncDispose]();
    });

    test('others have their turn between those who follow', async () => {
      await open({ LIMIT_URL: '65536' }, listened);
      // Whether a list has a value is known to the database alone.
      const all = await listeners(40, (at) => ({
        tags: { hasSome: [...Array.from({ length: 500 }, (_, value) => `${at} ${value}`), 'all'] },
      }));
      const begun = app.statements.length;
      const seen = new Set<number>();
      let isTold = false;
      const others = (async () => {
        while (!isTold) {
          seen.add(app.statements.length);
          await new Promise(setImmediate);
        }
      })();
      await app.rest('POST', '/books', { title: 'x', tags: ['all'] });
      expect(new Set(await positionsOf(all)).size).toBe(1);
      isTold = true;
      await others;
      const most = app.statements.length;
      expect([...seen].filter((count) => count > begun + 5 && count < most - 5)).not.toEqual([]);
      for (const each of all) await each[Symbol.asyncDispose]();
    });

    test('what is kept for who follows is bounded', async () => {
      await open({}, listened);
      const query = 'subscription ($where: BookWhere) { bookChanges(where: $where) { key } }';
      const where = { title: { in: Array.from({ length: 8000 }, (_, at) => `title ${at}`) } };
      const headers = { ...JSON_HEADERS, Accept: 'text/event-stream' };
      const body = JSON.stringify({ query, variables: { where } });
      const refused = await app.fetch('/graphql', { method: 'POST', headers, body });
      expect(refused.status).toBe(400);
      expect(await refused.text()).toContain('where of a stream may have 65536 characters');
      const { errors } = await app.graphql(query.replace('subscription', 'query'), { where });
      expect(errors).toBeUndefined();
    });

    /** Whatever is asked for, no answer is longer than it may be, and what is much shorter is given. */
    const bounded = async (asked: (first: number) => string) => {
      let longest = 0;
      for (const first of [1, 2, 4, 8, 16, 32, 64, 128, 256]) {
        const answer = await app.fetch('/graphql', {
          method: 'POST',
          headers: { 'Content-Type': 'application/json', ...eve },
          body: JSON.stringify({ query: asked(first) }),
        });
        const text = await answer.text();
        if (text.includes('ANSWER_TOO_LARGE')) return longest;
        expect([asked(first), JSON.parse(text).errors]).toEqual([asked(first), undefined]);
        longest = text.length;
        expect([asked(first), longest < 1.1 * LIMIT, longest]).toEqual([asked(first), true, longest]);
      }
      return longest;
    };

    test('the changes of a record count as often as the answer has them', async () => {
      await open(limited);
      await app.rest('POST', '/pubs', { text: 'x' }, eve);
      for (let at = 0; at < 20; at++) await app.rest('PUT', '/pubs/1', { text: `${at}`.repeat(100) }, eve);
      for (let at = 0; at < 40; at++) await app.rest('POST', '/secs', { pubId: 1 }, eve);
      const changes = '_changes(first: 20) { before { text } after { text } }';
      const [below, far] = [
        await bounded((first) => `{ secs(first: ${first}) { pub { ${changes} } } }`),
        await bounded(
          (first) => `{ secs(first: ${first}) { pub { secs(first: 1) { pub { ${changes} } } } } }`,
        ),
      ];
      for (const longest of [below, far]) expect(longest).toBeGreaterThan(LIMIT / 4);
    });

    test('what is asked of a change counts as often as it is asked for', async () => {
      await open(limited);
      for (let at = 0; at < 256; at++) await app.rest('POST', '/pubs', { text: `${at} `.repeat(20) }, eve);
      const aliases = (field: string) => Array.from({ length: 28 }, (_, at) => `a${at}: ${field}`).join(' ');
      const long = 'a'.repeat(1000);
      const cases = [aliases('text'), `${long}: text`, `${long}: __typename`, aliases('id')].map(
        (fields) => `after { ${fields} }`,
      );
      for (const fields of [
        ...cases,
        aliases('before { id text }'),
        aliases('after { id text }'),
        aliases('transaction'),
        aliases('position'),
        aliases('requestId'),
        `${long}: kind`,
      ]) {
        await bounded((first) => `{ pubChanges(first: ${first}) { ${fields} } }`);
        await bounded((first) => `{ pubs(first: ${first}) { _changes { ${fields} } } }`);
      }
      await bounded((first) => `{ changes(first: ${first}) { ${aliases('after')} } }`);
      // What is little is not refused for what is not asked.
      await app.rest('PUT', '/pubs/1', { text: 'z'.repeat(2 * LIMIT) }, eve);
      const { errors } = await app.graphql('{ pubChanges(id: 1) { version after { id } } }', {}, eve);
      expect(errors).toBeUndefined();
    });

    test('what records were is read only where the answer, a rule or a filter asks for it', async () => {
      await open({ AUTH_SECRET: SECRET });
      await app.rest('POST', '/pubs', { text: 'x' }, eve);
      await app.rest('PUT', '/pubs/1', { text: 'y' }, eve);
      const read = async (query: string) => {
        const begun = app.statements.length;
        const { data, errors } = await app.graphql(`{ ${query} }`, {}, eve);
        expect([query, errors]).toEqual([query, undefined]);
        const sql = app.statements.slice(begun).join(' ');
        return [data, ['before', 'after'].filter((image) => sql.includes(`"${image}"`))];
      };
      const kinds = [{ kind: 'CREATED' }, { kind: 'UPDATED' }];
      const own = { pub: { _changes: kinds } };
      expect(await read('pubChanges { kind }')).toEqual([{ pubChanges: kinds }, []]);
      expect(await read('pubChanges(id: 1) { kind }')).toEqual([{ pubChanges: kinds }, []]);
      expect(await read('pub(id: 1) { _changes { kind } }')).toEqual([own, []]);
      const after = [{ after: { text: 'x' } }, { after: { text: 'y' } }];
      expect(await read('pubChanges { after { text } }')).toEqual([{ pubChanges: after }, ['after']]);
      const before = { _changes: [{ before: null }, { before: { text: 'x' } }] };
      expect(await read('pub(id: 1) { _changes { before { text } } }')).toEqual([
        { pub: before },
        ['before'],
      ]);
      const where = 'where: { text: { eq: "y" } }';
      const both = ['before', 'after'];
      expect(await read(`pubChanges(${where}) { kind }`)).toEqual([{ pubChanges: kinds.slice(1) }, both]);
      expect(await read('docChanges { kind }')).toEqual([{ docChanges: [] }, []]);
    });

    test('all that a request reads of the past counts together, and whoever goes on comes to its end', async () => {
      await open({ AUTH_SECRET: SECRET });
      for (let at = 0; at < 12; at++) await create(1, { owner: 'eve', text: `${at} `.padEnd(900_000, 'x') });
      const aliases = Array.from(
        { length: 3 },
        (_, at) => `a${at}: docChanges(after: $after, where: { text: { startsWith: "11 " } }) { key }`,
      );
      const query = `query ($after: String) { ${aliases.join(' ')} changesPosition }`;
      const told: number[] = [];
      for (let after: string | undefined; told.length < 30; ) {
        const { data, errors } = await app.graphql(query, after ? { after } : {}, eve);
        expect(errors).toBeUndefined();
        told.push(Math.max(...aliases.map((_, at) => data[`a${at}`].length)));
        if (data.changesPosition === after) break;
        after = data.changesPosition;
      }
      // Three fields that read so much each would be through in a few requests.
      expect(told.length).toBeGreaterThan(8);
      expect(told.length).toBeLessThan(20);
      expect(told).toContain(1);
    });

    test('where a page ends tells nobody how long that is which is hidden', async () => {
      const pages: number[] = [];
      for (const length of [700_000, 1_000_000]) {
        await open({ AUTH_SECRET: SECRET });
        for (let at = 0; at < 6; at++) await create(1, { owner: 'ann', text: 'x'.repeat(length) });
        pages.push((await follow('/changes/docs', 30)).length);
      }
      expect(pages[0]).toBeGreaterThan(1);
      expect(pages[1]).toBe(pages[0]);
    });

    test('what is hidden of the changes of a record refuses no answer, and what is shown does', async () => {
      await open(limited);
      await create(1, { owner: 'ann', text: 'x'.repeat(4 * LIMIT) });
      await app.rest('PUT', '/docs/1', { owner: 'eve', text: 'short' }, admin);
      await app.rest('PUT', '/docs/1', { text: 'y'.repeat(LIMIT / 4) }, admin);
      await app.rest('PUT', '/docs/1', { text: 'z'.repeat(LIMIT / 4) }, admin);
      const query = (fields: string) => `{ docs { _changes { ${fields} } } }`;
      const { data, errors } = await app.graphql(query('version after { text }'), {}, eve);
      expect(errors).toBeUndefined();
      expect(data.docs[0]._changes.map(({ version }: any) => version)).toEqual([2, 3, 4]);
      const aliases = ['a', 'b', 'c', 'd'].map((name) => `${name}: after { text }`).join(' ');
      const refused = await app.graphql(query(aliases), {}, eve);
      expect(refused.errors?.[0].extensions.code).toBe('ANSWER_TOO_LARGE');
    });

    test('what an answer would look at beyond all measure is told, with where it comes in pages', async () => {
      await open({ AUTH_SECRET: SECRET });
      await create(1, { owner: 'eve', text: 'x' });
      for (let at = 0; at < 25; at++)
        await app.rest('PUT', '/docs/1', { text: `${at} `.padEnd(900_000, 'x') }, admin);
      const { errors } = await app.graphql('{ doc(id: 1) { _changes { version } } }', {}, eve);
      expect([errors?.[0].extensions.code, errors?.[0].message]).toEqual([
        'ANSWER_TOO_LARGE',
        expect.stringContaining('docChanges'),
      ]);
      expect((await follow('/changes/docs/1', 30)).flat()).toHaveLength(26);
    });

    test('the changes of what groups are of are there in a fresh process', async () => {
      await open({ AUTH_SECRET: SECRET });
      await app.rest('POST', '/pubs', { text: 'x' }, eve);
      await app.rest('POST', '/secs', { pubId: 1 }, eve);
      const by = 'by { pub { _changes { version } } }';
      const of = { by: { pub: { _changes: [{ version: 1 }] } } };
      const groups = await app.graphql(`{ secsAggregate(groupBy: [pubId]) { ${by} } }`, {}, eve);
      expect([groups.errors, groups.data]).toEqual([undefined, { secsAggregate: [of] }]);
      await app.close();
      await open({ AUTH_SECRET: SECRET });
      await app.rest('POST', '/pubs', { text: 'x' }, eve);
      await app.rest('POST', '/secs', { pubId: 1 }, eve);
      const below = await app.graphql(`{ pubs { secsAggregate(groupBy: [pubId]) { ${by} } } }`, {}, eve);
      expect([below.errors, below.data]).toEqual([undefined, { pubs: [{ secsAggregate: [of] }] }]);
    });
  });
