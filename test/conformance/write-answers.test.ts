/** What a write answers with: `fields` and `include`, as for reads, and `_version` wherever fields are named. */

import { beforeEach, describe, expect, test } from 'bun:test';
import { type AppUnderTest, type DatabaseKind, databases, openApp, openEmptied } from '../app.ts';
import { headersOf, SECRET } from './access-matrix.ts';

const sdl = `
  type User @resource { id: ID!  name: String!  posts: [Post!]! }
  type Post @resource { id: ID!  title: String!  body: String  author: User! }`;

const opened = new Map<DatabaseKind, Awaited<ReturnType<typeof openEmptied>>>();

describe.each([...databases])('on %s', (database) => {
  let app: AppUnderTest;
  let ann: number;
  beforeEach(async () => {
    const emptied = opened.get(database) ?? (await openEmptied(database, { sdl }));
    opened.set(database, emptied);
    app = await emptied.next();
    ann = (await app.rest('POST', '/users', { name: 'Ann' })).body.id;
  });
  const told = ({ status, body, headers }: any) => [status, body, headers.get('ETag')];

  test('a create and an update answer with what is asked for, without a tag', async () => {
    const made = await app.rest('POST', '/posts?fields=title,_version,author.name', {
      title: 'a',
      authorId: ann,
    });
    expect(told(made)).toEqual([201, { title: 'a', _version: 1, author: { name: 'Ann' } }, null]);
    const path = made.headers.get('Location') ?? '';
    expect(path).toMatch(/^\/posts\/\d+$/);
    const changed = await app.rest('PUT', `${path}?include=author`, { title: 'b' });
    expect(told(changed)).toEqual([
      200,
      { ...changed.body, title: 'b', authorId: ann, author: { id: ann, name: 'Ann' } },
      null,
    ]);
    const nested = { name: 'Bob', posts: [{ title: 'x' }, { title: 'y' }] };
    const bob = await app.rest(
      'POST',
      '/users?include=posts&fields=name,posts.title&posts[sort]=-title',
      nested,
    );
    expect(bob.body).toEqual({ name: 'Bob', posts: [{ title: 'y' }, { title: 'x' }] });
    expect((await app.rest('PUT', `${path}`, { title: 'c' })).headers.get('ETag')).toStartWith('"3-');
  });

  test('the version is a field that can be asked for, in lists and below', async () => {
    await app.rest('POST', '/posts', { title: 'a', authorId: ann });
    await app.rest('PUT', `/users/${ann}`, { name: 'Anna' });
    expect((await app.rest('GET', '/posts?fields=title,_version,author._version')).body).toEqual([
      { title: 'a', _version: 1, author: { _version: 2 } },
    ]);
    expect((await app.rest('GET', `/users/${ann}?fields=_version,posts._version`)).body).toEqual({
      _version: 2,
      posts: [{ _version: 1 }],
    });
    const file = await app.fetch('/users?fields=name,_version', { headers: { Accept: 'text/csv' } });
    expect((await file.text()).trim().split(/\r?\n/)).toEqual(['name,_version', 'Anna,2']);
    expect((await app.rest('GET', '/users?sort=_version')).status).toBe(400);
    expect((await app.rest('GET', '/users')).body).toEqual([{ id: ann, name: 'Anna' }]);
  });

  test('what is wrong with them is told, where a record is there', async () => {
    const wrong = async (method: string, path: string) => {
      const { status, body } = await app.rest(method, path, { name: 'x' });
      return [status, body.errors?.[0].parameter];
    };
    expect(await wrong('POST', '/users?fields=nam')).toEqual([400, 'fields']);
    expect(await wrong('POST', '/users?limit=1')).toEqual([400, 'limit']);
    expect(await wrong('PUT', `/users/${ann}?include=nothing`)).toEqual([400, 'include']);
    expect(await wrong('PUT', `/users/${ann}?upsert=id`)).toEqual([400, 'upsert']);
    expect(await wrong('PUT', '/users/999999?include=nothing')).toEqual([404, undefined]);
    expect(await wrong('DELETE', `/users/${ann}?fields=name`)).toEqual([400, 'fields']);
    expect((await app.rest('GET', '/users')).body).toEqual([{ id: ann, name: 'Ann' }]);
  });

  test('operations of a transaction have them in their paths', async () => {
    const { status, body } = await app.rest('POST', '/transaction', {
      operations: [
        { method: 'POST', path: '/posts?include=author&fields=title', body: { title: 'a', authorId: ann } },
        { method: 'POST', path: '/posts?fields=title,_version', body: [{ title: 'b', authorId: ann }] },
        { method: 'PUT', path: '/posts?fields=_version', where: {}, atMost: 9, body: { body: 'x' } },
        { method: 'DELETE', path: '/posts?fields=title', where: { title: { eq: 'b' } }, atMost: 9 },
      ],
    });
    expect(status).toBe(200);
    expect(body.results.map((each: any) => each.body)).toEqual([
      { title: 'a', author: { id: ann, name: 'Ann' } },
      [{ title: 'b', _version: 1 }],
      [{ _version: 2 }, { _version: 2 }],
      [{ title: 'b' }],
    ]);
    const refused = await app.rest('POST', '/transaction', {
      operations: [{ method: 'POST', path: '/users?fields=nam', body: { name: 'x' } }],
    });
    expect(refused.body.errors).toMatchObject([{ pointer: '#/operations/0/path', code: 'UNKNOWN' }]);
  });

  test('what the caller may not read is not shown, whatever is asked for', async () => {
    const ruled = `
      type User @resource @allow(to: [READ, CREATE]) { id: ID!  name: String!  secret: String @allow(to: [READ], role: "boss") @allow(to: [CREATE]) }`;
    const other = await openApp(database, { sdl: ruled, env: { AUTH_SECRET: SECRET } });
    try {
      const boss = await headersOf({ name: 'boss', claims: { sub: 'b', roles: ['boss'] } });
      const input = { name: 'x', secret: 'hush' };
      const path = '/users?fields=name,secret';
      expect((await other.rest('POST', path, input)).body).toEqual({ name: 'x' });
      expect((await other.rest('POST', path, input, boss)).body).toEqual(input);
    } finally {
      await other.close();
    }
  });
});
