/** Lists as files: what they hold, that they are one moment, and that a broken one never looks whole. */

import { describe, expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type AppUnderTest, type DatabaseKind, databases, openApp, sharedPostgres } from '../app.ts';
import { Clock } from '../http/clock.ts';
import { connect, Folder, Server } from '../process.ts';

const sdl = `
  type Row @resource {
    id: ID!
    text: String
    number: Float
    flag: Boolean
    tags: [String!]
    extra: JSON
    parent: Row
    children: [Row!]!
  }`;

const NDJSON = { Accept: 'application/x-ndjson' };
const CSV = { Accept: 'text/csv' };

async function withApp(
  database: DatabaseKind,
  data: unknown,
  env: Record<string, string>,
  work: (app: AppUnderTest, url: string) => Promise<void>,
) {
  const folder = mkdtempSync(join(tmpdir(), 'duet-'));
  const url =
    database === 'sqlite' ? `sqlite:${join(folder, 'x.db')}` : await (await sharedPostgres()).database();
  const app = await openApp(database, { sdl, data, url, env });
  try {
    await work(app, url);
  } finally {
    await app.close();
    rmSync(folder, { recursive: true });
  }
}

const many = (count: number) => ({
  rows: Array.from({ length: count }, (_, index) => ({ text: `t${index % 7}`, number: index })),
});

describe.each([...databases])('on %s', (database) => {
  test('who takes it too slowly is broken off, and leaves its snapshot to others', async () => {
    const data = { rows: Array.from({ length: 30 }, () => ({ text: 'x'.repeat(100_000) })) };
    await withApp(database, data, {}, async (app) => {
      {
        using clock = new Clock();
        const response = await app.fetch('/rows', { headers: NDJSON });
        const reader = response.body?.getReader() as ReadableStreamDefaultReader<Uint8Array>;
        const before = app.observations.length;
        // 256 KiB each: it falls behind by two seconds each time, which is within the minute.
        for (let part = 0; part < 4; part++) {
          expect((await reader.read()).done).toBe(false);
          clock.advance(10_000);
        }
        expect(app.observations.slice(before).filter(({ event }) => event === 'failure')).toEqual([]);
        clock.advance(60_000);
        const why = 'the client takes less than 32768 bytes a second';
        await expect(reader.read()).rejects.toThrow(why);
        const failures = app.observations.filter((each) => each.event === 'failure');
        expect(failures.map(({ cause }) => (cause as Error).message)).toEqual([why]);
      }
      // All places are free again.
      const places = database === 'sqlite' ? 32 : 10;
      const others = await Promise.all(
        Array.from({ length: places }, () => app.fetch('/rows', { headers: NDJSON })),
      );
      expect(others.map(({ status }) => status)).toEqual(Array(places).fill(200));
      await Promise.all(others.map(({ body }) => body?.cancel()));
    });
  });

  test('CSV is RFC 4180: null is nothing, an empty text is quoted, lists and JSON are JSON', async () => {
    const data = {
      rows: [
        { text: 'plain', number: 1.5, flag: true, tags: ['a', 'b'], extra: { a: 1 } },
        { text: '', number: null, parentId: 1 },
        { text: 'say "hi",\r\nthere ', flag: false, tags: [] },
      ],
    };
    await withApp(database, data, {}, async (app) => {
      const response = await app.fetch('/rows', { headers: CSV });
      expect([response.status, response.headers.get('Content-Type'), response.headers.get('Vary')]).toEqual([
        200,
        'text/csv; charset=utf-8',
        'Accept',
      ]);
      expect(await response.text()).toBe(
        'id,text,number,flag,tags,extra,parentId\r\n' +
          '1,plain,1.5,true,"[""a"",""b""]","{""a"":1}",\r\n' +
          '2,"",,,,,1\r\n' +
          '3,"say ""hi"",\r\nthere ",,false,[],,\r\n',
      );
      const chosen = await app.fetch('/rows?fields=text,id&sort=-id&where={"id":{"lt":3}}', { headers: CSV });
      expect(await chosen.text()).toBe('id,text\r\n2,""\r\n1,plain\r\n');
    });
  });

  test('NDJSON has the lines that the list has items, includes too', async () => {
    await withApp(
      database,
      { rows: [{ text: 'a' }, { text: 'b', parentId: 1 }, { text: 'c', parentId: 1 }] },
      {},
      async (app) => {
        for (const query of [
          '',
          '?text=b',
          '?sort=-text',
          '?include=children,parent&limit=2',
          '?fields=text,children.id',
        ]) {
          const list = (await app.rest('GET', `/rows${query}`)).body;
          const response = await app.fetch(`/rows${query}`, { headers: NDJSON });
          expect(response.headers.get('Content-Type')).toBe('application/x-ndjson');
          const lines = (await response.text()).split('\n');
          expect(lines.pop()).toBe('');
          expect(lines.map((line) => JSON.parse(line))).toEqual(list);
        }
      },
    );
  });

  test('has no limit but the one that is asked for, and keeps filters and order over pages', async () => {
    await withApp(database, many(2500), { LIMIT_OBJECTS: '10' }, async (app) => {
      expect((await app.rest('GET', '/rows')).body.code).toBe('TOO_MANY_OBJECTS');
      const lines = async (query: string) => {
        const text = await (await app.fetch(`/rows${query}`, { headers: NDJSON })).text();
        return text
          .trim()
          .split('\n')
          .map((line) => JSON.parse(line));
      };
      expect((await lines('')).map(({ id }) => id)).toEqual(
        Array.from({ length: 2500 }, (_, index) => index + 1),
      );
      const sorted = await lines('?sort=-text,number&text[ne]=t3');
      expect(sorted.length).toBe(many(2500).rows.filter(({ text }) => text !== 't3').length);
      for (const [index, row] of sorted.entries()) {
        const before = sorted[index - 1];
        if (before)
          expect(before.text > row.text || (before.text === row.text && before.number < row.number)).toBe(
            true,
          );
      }
      expect((await lines('?limit=7')).length).toBe(7);
      const { data } = await app.graphql('{ rowsConnection(last: 1) { edges { cursor } } }');
      const before = `before=${data.rowsConnection.edges[0].cursor}`;
      const wide = (await lines(`?limit=9&${before}`)).map(({ id }) => id);
      expect(wide).toEqual(Array.from({ length: 9 }, (_, index) => 2491 + index));
    });
  });

  /** The lines of an export, and the items of the list with the same query, by their ids. */
  const bothOf = async (app: AppUnderTest, query: string) => {
    const text = await (await app.fetch(`/rows?${query}`, { headers: NDJSON })).text();
    const lines = text.split('\n').filter(Boolean);
    const { body } = await app.rest('GET', `/rows?${query}`);
    return [lines.map((line) => JSON.parse(line).id), body.map(({ id }: { id: number }) => id)];
  };

  test('what lies before or after a cursor has every row, around the limit that it just fits', async () => {
    const data = { rows: ['b', null, 'a', 'b', 'a', null, 'c'].map((text) => ({ text })) };
    await withApp(database, data, {}, async (app) => {
      for (const [sort, orderBy] of [
        ['id', '{ id: ASC }'],
        ['-id', '{ id: DESC }'],
        ['text', '{ text: ASC }'],
        ['-text,id', '{ text: DESC }, { id: ASC }'],
      ]) {
        const query = `{ rowsConnection(orderBy: [${orderBy}]) { edges { cursor node { id } } } }`;
        const edges = (await app.graphql(query)).data.rowsConnection.edges as {
          cursor: string;
          node: { id: string };
        }[];
        const ids = edges.map(({ node }) => Number(node.id));
        for (const [index, { cursor }] of edges.entries())
          for (const [side, whole] of [
            ['before', ids.slice(0, index)],
            ['after', ids.slice(index + 1)],
          ] as const)
            for (const limit of [whole.length - 1, whole.length, whole.length + 1]) {
              if (limit < 1) continue;
              const asked = `sort=${sort}&limit=${limit}&${side}=${cursor}`;
              const wanted = side === 'before' ? whole.slice(-limit) : whole.slice(0, limit);
              expect([side, index, limit, ...(await bothOf(app, asked))]).toEqual([
                side,
                index,
                limit,
                wanted,
                wanted,
              ]);
            }
      }
    });
  });

  test('a limit holds at the borders of the pages that it is read in', async () => {
    await withApp(database, many(2002), {}, async (app) => {
      const { data } = await app.graphql('{ rowsConnection { edges { cursor } } }');
      const numbers = (from: number, to: number) =>
        Array.from({ length: Math.max(0, to - from) }, (_, at) => from + at + 1);
      for (const index of [999, 1000, 1001, 2001])
        for (const limit of [index - 1, index, index + 1, 1000]) {
          const { cursor } = data.rowsConnection.edges[index];
          for (const [place, wanted] of [
            ['', numbers(0, limit)],
            [`&before=${cursor}`, numbers(Math.max(0, index - limit), index)],
            [`&after=${cursor}`, numbers(index + 1, Math.min(2002, index + 1 + limit))],
          ] as const) {
            const [lines, items] = await bothOf(app, `fields=id&limit=${limit}${place}`);
            expect([index, limit, place, lines, items]).toEqual([index, limit, place, wanted, wanted]);
          }
        }
    });
  });

  test('shows one moment, is written only as far as it is read, and ends when the reader does', async () => {
    await withApp(database, many(5000), {}, async (app) => {
      const response = await app.fetch('/rows', { headers: NDJSON });
      const reader = response.body?.getReader();
      await reader?.read();
      const soFar = app.statements.length;
      expect(soFar).toBeLessThan(5);
      expect((await app.rest('DELETE', '/rows/4999')).status).toBe(204);
      expect((await app.rest('POST', '/rows', { text: 'later' })).status).toBe(201);
      let text = '';
      for (;;) {
        const { done, value } = (await reader?.read()) ?? { done: true, value: undefined };
        if (done) break;
        text += new TextDecoder().decode(value as Uint8Array);
      }
      expect(text).toContain('"id":4999,');
      expect(text).not.toContain('later');

      const other = await app.fetch('/rows', { headers: NDJSON });
      const before = app.statements.length;
      await other.body?.cancel();
      expect(app.statements.length - before).toBeLessThan(3);
      expect((await app.rest('POST', '/rows', { text: 'free' })).status).toBe(201);
    });
  });

  test('what is wrong is told as everywhere', async () => {
    await withApp(database, {}, {}, async (app) => {
      for (const query of ['?foo=1', '?count=true', '?aggregate=count', '?sort=nope']) {
        const { status, headers, body } = await app.rest('GET', `/rows${query}`, undefined, NDJSON);
        expect([query, status, headers.get('Content-Type'), body.code]).toEqual([
          query,
          400,
          'application/json',
          'VALIDATION_FAILED',
        ]);
      }
      expect((await app.rest('GET', '/rows?include=children', undefined, CSV)).body.errors[0].parameter).toBe(
        'include',
      );
      const head = await app.fetch('/rows', { method: 'HEAD', headers: CSV });
      expect([head.status, head.headers.get('Content-Type'), await head.text()]).toEqual([
        200,
        'text/csv; charset=utf-8',
        '',
      ]);
      expect(await (await app.fetch('/rows', { headers: CSV })).text()).toStartWith('id,text,');
      expect(await (await app.fetch('/rows', { headers: NDJSON })).text()).toBe('');
    });
  });

  test.each([
    ['text/html,application/xhtml+xml,*/*;q=0.8', 'application/json'],
    ['application/json, text/csv;q=0.5', 'application/json'],
    ['text/*', 'text/csv; charset=utf-8'],
    ['image/png', 'application/json'],
  ])('Accept: %s gives %s', async (accept, type) => {
    await withApp(database, {}, {}, async (app) => {
      expect((await app.fetch('/rows', { headers: { Accept: accept } })).headers.get('Content-Type')).toBe(
        type,
      );
    });
  });
});

test('an export that fails on the way breaks the connection off', async () => {
  const postgres = await sharedPostgres();
  const url = await postgres.database();
  const text = 'x'.repeat(2000);
  using folder = new Folder({
    'schema.graphql': sdl,
    'data.json': JSON.stringify({ rows: Array.from({ length: 20_000 }, () => ({ text })) }),
  });
  await using server = await Server.start(folder, { DATABASE_URL: url });
  const slow = await connect(server.url);
  slow.send('GET /rows HTTP/1.1\r\nHost: x\r\nAccept: application/x-ndjson\r\nConnection: close\r\n\r\n');
  await slow.begun();
  slow.pause();
  const admin = new Bun.SQL(url, { max: 1 });
  await admin.unsafe(
    'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()',
  );
  await admin.close();
  slow.resume();
  const answer = await slow.answer();
  expect(answer).toStartWith('HTTP/1.1 200 OK');
  // The last chunk, of no length, is the sign of a whole body.
  expect(answer).not.toEndWith('0\r\n\r\n');
  expect((await server.logged('failure')).cause).toContain('terminat');
  expect((await fetch(`${server.url}/rows/1`)).status).toBe(200);
});
