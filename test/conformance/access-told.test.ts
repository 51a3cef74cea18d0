/** `/access.json`: what a caller is told that it may do, held against what it may. */

import { afterAll, describe, expect, test } from 'bun:test';
import { databases, openApp } from '../app.ts';
import { headersOf, SECRET } from './access-matrix.ts';
import type { Who } from './access-world.ts';

const sdl = `
type Post @resource
  @allow(to: [READ])
  @allow(to: [CREATE, UPDATE], where: { by: { eq: { claim: "sub" } } })
  @allow(to: [READ, CREATE, UPDATE, DELETE], role: "admin")
{
  id: ID!
  by: String!
}
type Drop @resource @allow(to: [CREATE]) { id: ID! by: String! }
type Deed @resource @journal(keep: "1d")
  @allow(to: [READ])
  @allow(to: [HISTORY], where: { by: { eq: { claim: "sub" } } })
{ id: ID! by: String! }
type Vault @resource(rest: false) @allow(to: [READ], role: "admin") { id: ID! by: String! }
type List @resource(only: [LIST, GET]) @allow(to: [READ, CREATE, UPDATE, DELETE]) { id: ID! by: String! }
type Page @resource @allow(to: [READ, CREATE, UPDATE])
{ id: ID! by: String! note: String @allow(to: [READ, UPDATE], role: "admin") }
`;
const data = { posts: [{ by: 'ann' }, { by: 'bob' }], vaults: [{ by: 'root' }], pages: [{ by: 'ann' }] };

const Page = ['READ', 'CREATE', 'UPDATE'];

const callers: [string, Who['claims'], object][] = [
  // Nobody without a token has the claim that the second rule asks for.
  [
    'anonymous',
    undefined,
    { Post: ['READ'], Drop: [], Deed: ['READ'], Vault: [], List: ['READ'], Page, 'Page.note': ['CREATE'] },
  ],
  [
    'ann',
    { sub: 'ann' },
    {
      Post: ['READ', 'CREATE', 'UPDATE'],
      Drop: [],
      Deed: ['READ', 'HISTORY'],
      Vault: [],
      List: ['READ'],
      Page,
      'Page.note': ['CREATE'],
    },
  ],
  [
    'root',
    { sub: 'root', roles: ['admin'] },
    {
      Post: ['READ', 'CREATE', 'UPDATE', 'DELETE'],
      Drop: [],
      Deed: ['READ', 'HISTORY'],
      Vault: ['READ'],
      List: ['READ'],
      Page,
      'Page.note': ['READ', 'CREATE', 'UPDATE'],
    },
  ],
];

/** One try of each action; the first post is ann's. */
const attempts: Record<string, (name: string) => string> = {
  READ: (name) => `{ ${name.toLowerCase()}s { id } }`,
  CREATE: (name) => `mutation { create${name}(by: "ann") { id } }`,
  UPDATE: (name) => `mutation { update${name}(id: 1, by: "ann") { id } }`,
  DELETE: (name) => `mutation { delete${name}(id: 2) { id } }`,
};

describe.each([...databases])('on %s', async (database) => {
  const app = await openApp(database, { sdl, data, env: { AUTH_SECRET: SECRET } });
  afterAll(() => app.close());

  test.each(callers)(
    '%s is told what it may do, and nothing else is done for it',
    async (name, claims, may) => {
      const headers = await headersOf({ name: `${name} told`, claims });
      const told = await app.rest('GET', '/access.json', undefined, headers);
      expect([told.status, told.body]).toEqual([200, may]);
      const { 'Page.note': note, ...types } = told.body;
      const kept = await app.rest('PUT', '/pages/1', { note: 'x' }, headers);
      expect(kept.status === 200).toBe(note.includes('UPDATE'));
      for (const [type, actions] of Object.entries<string[]>(types))
        for (const [action, attempt] of Object.entries(attempts)) {
          const { errors } = await app.graphql(attempt(type), undefined, headers);
          const refused = /^(UNAUTHENTICATED|FORBIDDEN|GRAPHQL_VALIDATION_FAILED)$/.test(
            errors?.[0].extensions.code,
          );
          expect([type, action, refused]).toEqual([type, action, !actions.includes(action)]);
        }
    },
  );

  test.each(callers)(
    '%s is told of HISTORY where it is shown what has happened',
    async (name, claims, may) => {
      for (const by of ['ann', 'root']) await app.unguarded().rest('POST', '/deeds', { by });
      const headers = await headersOf({ name: `${name} looking back`, claims });
      const { body } = await app.rest('GET', '/changes/deeds', undefined, headers);
      const { Deed } = may as { Deed: string[] };
      expect([name, body.length > 0]).toEqual([name, Deed.includes('HISTORY')]);
    },
  );

  test('without authentication everything, and nothing is told without introspection', async () => {
    const all = ['READ', 'CREATE', 'UPDATE', 'DELETE'];
    expect((await app.unguarded().rest('GET', '/access.json')).body).toEqual({
      Post: all,
      Drop: all,
      Deed: [...all, 'HISTORY'],
      Vault: all,
      List: ['READ'],
      Page: all,
      'Page.note': ['READ', 'CREATE', 'UPDATE'],
    });
    const closed = await openApp(database, { sdl, data, env: { INTROSPECTION: 'off' } });
    expect((await closed.rest('GET', '/access.json')).status).toBe(404);
    await closed.close();
  });
});
