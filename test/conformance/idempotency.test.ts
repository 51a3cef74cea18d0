/** A request that is sent twice with the same key happens once, and is answered alike. */

import { Database } from 'bun:sqlite';
import { describe, expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type AppUnderTest, type DatabaseKind, databases, openApp, sharedPostgres } from '../app.ts';

const sdl = `
  type Note @resource { id: ID!  title: String! @constraint(minLength: 1)  tags: [Tag!]! }
  type Tag @resource { id: ID!  name: String! @unique  note: Note }`;

async function withApp(
  database: DatabaseKind,
  env: Record<string, string>,
  work: (app: AppUnderTest, url: string) => Promise<void>,
) {
  const folder = mkdtempSync(join(tmpdir(), 'duet-'));
  const url =
    database === 'sqlite' ? `sqlite:${join(folder, 'x.db')}` : await (await sharedPostgres()).database();
  const app = await openApp(database, { sdl, url, env });
  try {
    await work(app, url);
  } finally {
    await app.close();
    rmSync(folder, { recursive: true });
  }
}

/** From beside the service. */
async function ask(database: DatabaseKind, url: string, text: string): Promise<Record<string, unknown>[]> {
  if (database === 'sqlite') {
    using file = new Database(url.slice('sqlite:'.length));
    return file.query(text).all() as Record<string, unknown>[];
  }
  await using sql = new Bun.SQL(url, { max: 1 });
  return await sql.unsafe(text);
}

const seen = ({ status, headers, body }: Awaited<ReturnType<AppUnderTest['rest']>>) => [
  status,
  headers.get('Location'),
  headers.get('ETag'),
  body,
];

describe.each([...databases])('on %s', (database) => {
  test('a long answer is given again whole, and takes less room until then', async () => {
    await withApp(database, {}, async (app, url) => {
      const key = { 'Idempotency-Key': 'long' };
      const titles = Array.from({ length: 100 }, (_, index) => `${index} "\u{1f600}" ${'äb '.repeat(1_000)}`);
      const operations = [{ method: 'POST', path: '/notes', body: titles.map((title) => ({ title })) }];
      const records = titles.map((title) => ({ title }));
      const create = 'mutation ($records: [NoteInput!]!) { createNotes(records: $records) { id title } }';
      for (const send of [
        () => app.rest('POST', '/transaction', { operations }, key),
        () => app.graphql(create, { records }, { 'Idempotency-Key': 'longer' }),
      ]) {
        const first = await send();
        expect([first.status, JSON.stringify(first.body).includes(JSON.stringify(titles[99]))]).toEqual([
          200,
          true,
        ]);
        expect((await send()).body).toEqual(first.body);
      }
      expect((await app.rest('GET', '/notes?aggregate=count')).body[0].count).toBe(200);
      const sizes = 'SELECT length("answer") AS "size" FROM "_duet_answers"';
      for (const { size } of await ask(database, url, sizes)) expect(Number(size)).toBeWithin(1, 64 * 1024);
      // What is no longer can be read by a node of an older release.
      const note = { title: 'x', tags: [{ name: 'y' }] };
      const { body } = await app.rest('POST', '/notes', note, { 'Idempotency-Key': 'short' });
      const [short] = await ask(database, url, `SELECT "answer" FROM "_duet_answers" WHERE "key" = 'short'`);
      expect(JSON.parse(String(short?.['answer']))).toMatchObject({ id: body.id, title: 'x' });
    });
  });

  test('create, update, delete and transactions happen once', async () => {
    await withApp(database, {}, async (app) => {
      const key = (name: string) => ({ 'Idempotency-Key': name });
      const twice = async (method: string, path: string, body: unknown, name: string) => {
        const first = await app.rest(method, path, body, key(name));
        expect(seen(await app.rest(method, path, body, key(name)))).toEqual(seen(first));
        return first;
      };
      expect((await twice('POST', '/notes', { title: 'a' }, 'k1')).status).toBe(201);
      expect((await app.rest('GET', '/notes')).body.length).toBe(1);
      const put = await twice('PUT', '/notes/1', { title: 'b' }, 'k2');
      expect(put.headers.get('ETag')).toStartWith('"2-');
      // The answer is that of then, even when the record has changed since.
      await app.rest('PUT', '/notes/1', { title: 'c' });
      expect(seen(await app.rest('PUT', '/notes/1', { title: 'b' }, key('k2')))).toEqual(seen(put));
      expect((await app.rest('GET', '/notes/1')).body.title).toBe('c');
      const operations = [
        { method: 'POST', path: '/notes', body: { title: 't' }, as: 'n' },
        { method: 'POST', path: '/tags', body: { name: 'x', noteId: { $ref: 'n.id' } } },
      ];
      expect((await twice('POST', '/transaction', { operations }, 'k3')).status).toBe(200);
      expect((await app.rest('GET', '/tags')).body.length).toBe(1);
      expect((await twice('DELETE', '/notes/1', undefined, 'k4')).status).toBe(204);
      expect((await app.rest('DELETE', '/notes/1')).status).toBe(404);
    });
  });

  test('another payload under the same key is 422, on any route', async () => {
    await withApp(database, {}, async (app) => {
      const headers = { 'Idempotency-Key': 'k' };
      await app.rest('POST', '/notes', { title: 'a' }, headers);
      for (const [method, path, body] of [
        ['POST', '/notes', { title: 'b' }],
        ['POST', '/tags', { name: 'a' }],
        ['PUT', '/notes/1', { title: 'a' }],
        ['DELETE', '/notes/1', undefined],
      ] as const) {
        const answer = await app.rest(method, path, body, headers);
        expect([method, path, answer.status, answer.body.code]).toEqual([
          method,
          path,
          422,
          'IDEMPOTENCY_MISMATCH',
        ]);
      }
      expect((await app.rest('GET', '/notes')).body).toEqual([{ id: 1, title: 'a' }]);
    });
  });

  test('a key that cannot be used is told after existence and syntax, and before versions and fields', async () => {
    await withApp(database, {}, async (app) => {
      await app.rest('POST', '/notes', { title: 'a' }, { 'Idempotency-Key': 'k' });
      for (const [key, refusal] of [
        ['k', 422],
        ['not one', 400],
      ] as const) {
        const headers = { 'Idempotency-Key': key };
        const broken = { ...headers, 'Content-Type': 'text/plain' };
        const stale = { ...headers, 'If-Match': '"0-0"' };
        for (const [method, path, body, sent, status, code] of [
          ['PUT', '/notes/9', { title: 'b' }, headers, 404, 'NOT_FOUND'],
          ['DELETE', '/notes/9', undefined, headers, 404, 'NOT_FOUND'],
          ['PUT', '/notes/1', { title: 'b' }, broken, 400, 'UNSUPPORTED_CONTENT_TYPE'],
          ['POST', '/notes', { title: 'b' }, broken, 400, 'UNSUPPORTED_CONTENT_TYPE'],
          ['PUT', '/notes/1', { title: 'b' }, stale, refusal, undefined],
          ['PUT', '/notes/1', { title: '' }, headers, refusal, undefined],
          ['POST', '/notes', { title: '' }, headers, refusal, undefined],
        ] as const) {
          const answer = await app.rest(method, path, body, sent);
          const expected = code ?? (refusal === 422 ? 'IDEMPOTENCY_MISMATCH' : 'VALIDATION_FAILED');
          expect([method, path, answer.status, answer.body.code]).toEqual([method, path, status, expected]);
          if (status === 400 && code === undefined)
            expect(answer.body.errors[0].parameter).toBe('Idempotency-Key');
        }
      }
      expect((await app.rest('GET', '/notes')).body).toEqual([{ id: 1, title: 'a' }]);
    });
  });

  test('only what was committed is kept: a request that failed can be sent again', async () => {
    await withApp(database, {}, async (app) => {
      const headers = { 'Idempotency-Key': 'k' };
      expect((await app.rest('POST', '/notes', { title: '' }, headers)).status).toBe(400);
      expect((await app.rest('POST', '/tags', { name: 'n', noteId: 1 }, headers)).status).toBe(409);
      expect((await app.rest('PUT', '/notes/1', { title: 'x' }, headers)).status).toBe(404);
      expect((await app.rest('POST', '/notes', { title: 'a' }, headers)).status).toBe(201);
    });
  });

  test('a mutation with a key is atomic, and is answered again with its whole selection', async () => {
    await withApp(database, {}, async (app) => {
      const query =
        'mutation($t: String!) { a: createNote(title: $t) { id title tags { name } _version } b: createTag(name: $t, noteId: "1") { name note { title } } }';
      const send = (t: string, name: string) =>
        app.rest('POST', '/graphql', { query, variables: { t } }, { 'Idempotency-Key': name });
      const first = await send('x', 'g1');
      expect(first.body).toEqual({
        data: { a: { id: '1', title: 'x', tags: [], _version: 1 }, b: { name: 'x', note: { title: 'x' } } },
      });
      expect((await send('x', 'g1')).body).toEqual(first.body);
      const failed = await send('x', 'g2');
      expect([failed.body.data, failed.body.errors[0].path, failed.body.errors[0].extensions.code]).toEqual([
        null,
        ['b'],
        'CONFLICT',
      ]);
      expect((await app.rest('GET', '/notes')).body.length).toBe(1);
      expect((await send('y', 'g1')).body.errors[0].extensions.code).toBe('IDEMPOTENCY_MISMATCH');
      // A query has nothing to do twice.
      const read = { query: '{ notes { id } }' };
      expect(
        (await app.rest('POST', '/graphql', read, { 'Idempotency-Key': 'g1' })).body.data.notes.length,
      ).toBe(1);
    });
  });

  test('of many at once one happens, and all are answered alike', async () => {
    await withApp(database, {}, async (app) => {
      const answers = await Promise.all(
        Array.from({ length: 10 }, (_, key) => key).flatMap((key) =>
          Array.from({ length: 10 }, async (_, sender) => {
            const headers = { 'Idempotency-Key': `k${key}` };
            if (key % 2 === 0)
              return { key, ...(await app.rest('POST', '/notes', { title: `t${key}` }, headers)) };
            const query = `mutation { createNote(title: "t${key}") { id title } }`;
            return { key, sender, ...(await app.rest('POST', '/graphql', { query }, headers)) };
          }),
        ),
      );
      for (const group of Map.groupBy(answers, ({ key }) => key).values())
        expect(new Set(group.map(({ status, body }) => JSON.stringify([status, body]))).size).toBe(1);
      expect((await app.rest('GET', '/notes')).body.length).toBe(10);
    });
  });

  test('a key is free again after 24 hours, and must be plain text', async () => {
    await withApp(database, {}, async (app, url) => {
      const headers = { 'Idempotency-Key': 'k' };
      await app.rest('POST', '/notes', { title: 'a' }, headers);
      const age = `UPDATE "_duet_answers" SET "at" = '${new Date(Date.now() - 25 * 3_600_000).toISOString()}'`;
      await ask(database, url, age);
      expect((await app.rest('POST', '/notes', { title: 'b' }, headers)).body.id).toBe(2);
      for (const key of ['', 'a b', 'x'.repeat(256)])
        expect((await app.rest('POST', '/notes', { title: 'b' }, { 'Idempotency-Key': key })).status).toBe(
          400,
        );
    });
  });
});

test('one that is still under way elsewhere is waited for, and then 409', async () => {
  await withApp('postgres', { DATABASE_LOCK_TIMEOUT: '300' }, async (app, url) => {
    const other = new Bun.SQL(url, { max: 1 });
    const session = await other.reserve();
    await session.unsafe('BEGIN');
    await session.unsafe(
      `INSERT INTO "_duet_answers" ("caller", "key", "request", "at") VALUES ('', 'k', 'x', 'y')`,
    );
    const headers = { 'Idempotency-Key': 'k' };
    const busy = await app.rest('POST', '/notes', { title: 'a' }, headers);
    expect([busy.status, busy.body.code, busy.headers.get('Retry-After')]).toEqual([
      409,
      'IDEMPOTENCY_IN_PROGRESS',
      '1',
    ]);
    const waiting = app.rest('POST', '/notes', { title: 'a' }, headers);
    await Bun.sleep(50);
    await session.unsafe('ROLLBACK');
    expect((await waiting).status).toBe(201);
    await other.close({ timeout: 0 });
  });
});
