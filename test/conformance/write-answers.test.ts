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

  test('an update answers with what a read then answers with, whatever was written how', async () => {
    const kinds = `
      enum Hue { RED GREEN }
      type Thing @resource {
        id: ID!  soft: String @caseless @unique  part: Float  long: BigInt  price: Decimal @decimal(scale: 2)
        flag: Boolean  at: DateTime  day: Date  mark: UUID  any: JSON  hue: Hue  words: [String!]  numbers: [Int!]
        near: Thing  changedAt: DateTime! @updatedAt
      }`;
    const other = await openApp(database, { sdl: kinds });
    const changes: object[] = [
      { soft: 'Straße', part: 1, long: '7', price: '1.5', flag: true, words: [], hue: 'RED', nearId: 1 },
      {
        part: -1.0,
        long: '-9223372036854775808',
        price: '-0.1',
        flag: false,
        at: '2024-02-29T01:02:03+02:00',
      },
      {
        part: 1e21,
        day: '2024-02-29',
        mark: 'C9A646D3-9C61-4CB7-BFCD-EE2522C8F633',
        any: { b: [1, null], a: 'é' },
      },
      { any: null, words: ['a', ''], numbers: [1, 1], hue: 'GREEN', nearId: null },
      { any: 'text', soft: null, part: 5e-324, long: null, price: null, at: null, day: null, mark: null },
      { _inc: { part: 0.1 } },
      { part: 0.2, long: '5', price: '0.10', any: [] },
      { _inc: { part: 0.1, long: '3', price: '0.25' }, soft: 'x' },
      { _inc: { long: '-9', price: '0.75' } },
    ];
    try {
      await other.rest('POST', '/things', {});
      for (const change of changes) {
        for (const path of ['/things/1', '/things/1?fields=id,part,long,price,any,changedAt,_version']) {
          const changed = await other.rest('PUT', path, change);
          const read = await other.rest('GET', path);
          expect([200, changed.body, changed.headers.get('ETag')]).toEqual([
            changed.status,
            read.body,
            path.includes('?') ? null : read.headers.get('ETag'),
          ]);
        }
      }
      expect((await other.rest('GET', '/things/1')).headers.get('ETag')).toStartWith('"19-');
    } finally {
      await other.close();
    }
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
