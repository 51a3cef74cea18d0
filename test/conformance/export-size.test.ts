/** An export has any number of records, and each of them what one answer may have: one that includes too much is refused. */

import { describe, expect, test } from 'bun:test';
import type { Storage } from '../../src/storage/storage.ts';
import { type AppUnderTest, databases, openApp } from '../app.ts';

const sdl = `
  type User @resource { id: ID!  name: String  posts: [Post!]! }
  type Post @resource { id: ID!  text: String  author: User! }`;

const users = (count: number) => Array.from({ length: count }, () => ({ name: 'a' }));
const posts = (count: number, of: number, text = 'b') =>
  Array.from({ length: count }, () => ({ text, authorId: of }));

const lines = (app: AppUnderTest, path: string) =>
  app.fetch(path, { headers: { Accept: 'application/x-ndjson' } });

describe.each([...databases])('on %s', (database) => {
  const refusals: [what: string, env: Record<string, string>, include: string, code: string][] = [
    ['objects', { LIMIT_OBJECTS: '100' }, 'posts.author.posts', 'TOO_MANY_OBJECTS'],
    ['bytes', { LIMIT_BYTES: '3000' }, 'posts.author.posts', 'ANSWER_TOO_LARGE'],
    ['what is written out for each path', {}, 'posts.author.posts.author.posts', 'TOO_MANY_OBJECTS'],
  ];
  test.each(refusals)('one record with too much below it: %s', async (_, env, include, code) => {
    const data = { users: users(3), posts: posts('LIMIT_BYTES' in env ? 10 : 40, 2) };
    const app = await openApp(database, { sdl, data, env });
    const path = `/users?where={"id":{"eq":2}}&include=${include}`;
    const response = await lines(app, path);
    expect([response.status, ((await response.json()) as { code: string }).code]).toEqual([400, code]);
    expect((await app.rest('GET', path)).status).toBe(400);
    expect((await lines(app, path.replace('2', '1'))).status).toBe(200);
    await app.close();
  });

  test.each([[{ LIMIT_OBJECTS: '30' }], [{ LIMIT_BYTES: '2000' }]])(
    'any number of records with as much as fits: %j',
    async (env: Record<string, string>) => {
      const data = { users: users(90), posts: [7, 8, 9, 50, 80].flatMap((id) => posts(20, id)) };
      const app = await openApp(database, { sdl, data, env });
      expect((await app.rest('GET', '/users?include=posts')).status).toBe(400);
      const response = await lines(app, '/users?include=posts');
      expect(response.status).toBe(200);
      const read = (await response.text())
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line));
      expect(read.map(({ id }) => id)).toEqual(Array.from({ length: 90 }, (_, index) => index + 1));
      expect(read.flatMap((user) => (user.posts.length > 0 ? [user.id] : []))).toEqual([7, 8, 9, 50, 80]);
      expect(read.flatMap((user) => user.posts).length).toBe(100);
      await app.close();
    },
  );

  test('whoever leaves while the next records are read is no failure', async () => {
    const data = { users: users(1500), posts: [] };
    const app = await openApp(database, { sdl, data });
    for (let taken = 1; taken <= 3; taken++) {
      const response = await lines(app, '/users');
      const reader = (response.body as ReadableStream<Uint8Array>).getReader();
      for (let time = 1; time < taken; time++) await reader.read();
      // It is being read when its reader goes.
      const next = reader.read().catch(() => {});
      await reader.cancel();
      await next;
    }
    await Bun.sleep(50);
    expect(app.observations.filter(({ event }) => event === 'failure')).toEqual([]);
    await app.close();
  });

  test('where the database ends a statement that reads too much, fewer are read of the same moment', async () => {
    const env = { LIMIT_BYTES: '100000' };
    const data = {
      users: users(40),
      posts: users(40).flatMap((_, at) => posts(8, at + 1, 'x'.repeat(10_000))),
    };
    const app = await openApp(database, { sdl, data, env });
    const response = await lines(app, '/users?include=posts');
    expect(response.status).toBe(200);
    expect((await response.text()).split('\n').length).toBe(41);
    await app.close();
  });

  test('a slow reader keeps little of it in memory, and others of the same size are refused when many are slow', async () => {
    // Small ones first, which tell nothing of those that follow.
    const sizes = [...Array(20).fill(1), ...Array(20).fill(200_000)];
    const data = { users: sizes.map((size: number) => ({ name: 'x'.repeat(size) })) };
    let read = 0;
    const around = (storage: Storage): Storage => {
      const open = storage.snapshot.bind(storage);
      storage.snapshot = async () => {
        const snapshot = await open();
        const run: typeof snapshot.run = async (program) => {
          const result = await snapshot.run(program);
          const { nodes } = result as unknown as { nodes: { name: string }[] };
          read += nodes.reduce((sum, { name }) => sum + name.length, 0);
          return result;
        };
        return { ...snapshot, run };
      };
      return storage;
    };
    const app = await openApp(database, { sdl, data, around });
    const slow = [];
    const most = database === 'postgres' ? 10 : 32;
    for (let count = 0; count < most; count++) slow.push(await lines(app, '/users?offset=20'));
    expect(new Set(slow.map(({ status }) => status))).toEqual(new Set([200]));
    expect(read).toBeLessThan(most * 1_200_000);
    const other = await lines(app, '/users');
    expect([other.status, other.headers.get('Retry-After')]).toEqual([503, '1']);
    for (const { body } of slow) await body?.cancel();
    read = 0;
    const reader = (await lines(app, '/users')).body?.getReader();
    let taken = 0;
    while (taken < 1_000_000) {
      const part = (await reader?.read())?.value as Uint8Array;
      taken += part.byteLength;
      expect([part.byteLength <= 256 * 1024, read - taken < 1_200_000]).toEqual([true, true]);
    }
    await reader?.cancel();
    await app.close();
  });

  test('large records count as long answers do, until they are taken', async () => {
    const env = { LIMIT_BYTES: '2000000' };
    const data = { users: users(2), posts: posts(19, 1, 'x'.repeat(100_000)) };
    const app = await openApp(database, { sdl, data, env });
    const exported = () => lines(app, '/users?include=posts');
    const unsent = async () =>
      Number(/^duet_unsent_bytes (\d+)$/m.exec((await app.rest('GET', '/metrics')).body)?.[1]);
    const slow = [];
    for (let count = 0; count < 8; count++) slow.push(await exported());
    expect(await unsent()).toBeGreaterThan(8 * 1_900_000);
    const statuses = [...slow, await exported()].map(({ status }) => status);
    expect(statuses).toEqual([...Array(8).fill(200), 503]);
    expect((await slow[0]?.text())?.split('\n').length).toBe(3);
    const again = await exported();
    expect(again.status).toBe(200);
    for (const { body } of [...slow.slice(1), again]) await body?.cancel();
    expect(await unsent()).toBe(0);
    await app.close();
  });

  test('one that comes later breaks the file off, and the log says why', async () => {
    const env = { LIMIT_OBJECTS: '50' };
    const data = { users: users(100), posts: posts(50, 70) };
    const app = await openApp(database, { sdl, data, env });
    const response = await lines(app, '/users?include=posts');
    expect(response.status).toBe(200);
    expect(await response.text().catch(() => 'broken off')).toBe('broken off');
    const causes = app.observations.flatMap((each) => (each.event === 'failure' ? [each.cause] : []));
    expect(causes).toEqual([expect.objectContaining({ code: 'TOO_MANY_OBJECTS' })]);
    await app.close();
  });
});
