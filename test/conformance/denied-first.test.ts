/** What is denied in the end is denied whatever else is wrong with it, and no second look lets through what the first denies. */

import { describe, expect, test } from 'bun:test';
import { type AppUnderTest, databases, openApp, sharedPostgres } from '../app.ts';
import { headersOf, SECRET } from './access-matrix.ts';

const env = { AUTH_SECRET: SECRET };
const eve = await headersOf({ name: 'eve, who is denied', claims: { sub: 'eve' } });

describe.each([...databases])('on %s', (database) => {
  const opened = async <T>(
    sdl: string,
    data: unknown,
    work: (app: AppUnderTest) => Promise<T>,
  ): Promise<T> => {
    const app = await openApp(database, { sdl, data, env });
    try {
      return await work(app);
    } finally {
      await app.close();
    }
  };

  /** The same request with a value that is taken and one that is free. */
  const alike = async (app: AppUnderTest, method: string, path: string, body: (value: string) => unknown) => {
    for (const value of ['taken', 'free']) {
      const answer = await app.rest(method, path, body(value), eve);
      expect([value, answer.status, answer.body.code]).toEqual([value, 403, 'FORBIDDEN']);
    }
  };

  test('a record that comes into sight with its list is held against the rule then', async () => {
    const sdl = `
      type Club @resource @allow(to: [READ], role: "authenticated") { id: ID!  seats: [Seat!]!  rooms: [Room!]! }
      type Room @resource
        @allow(to: [READ], where: { or: [
          { owner: { eq: { claim: "sub" } } },
          { club: { seats: { some: { who: { eq: { claim: "sub" } } } } } }
        ] })
        @allow(to: [CREATE], where: { not: { parent: { sealed: { eq: true } } } })
      {
        code: ID! @key
        owner: String @set(claim: "sub")
        sealed: Boolean! @default(value: false)
        club: Club
        parent: Room
        rooms: [Room!]!
        seats: [Seat!]!
      }
      type Seat @resource @allow(to: [READ, CREATE], role: "authenticated") {
        id: ID!
        who: String @set(claim: "sub")
        club: Club
        room: Room
      }`;
    const data = { clubs: [{}], rooms: [{ code: 'vault', sealed: true, clubId: 1 }] };
    await opened(sdl, data, async (app) => {
      const create = (records: string) =>
        app.graphql(`mutation { createRooms(records: [${records}]) { code } }`, {}, eve);
      const sneaked = await create('{ code: "a", seats: [{ clubId: 1 }] }, { code: "b", parentId: "vault" }');
      expect(sneaked.errors?.[0].extensions.code).toBe('FORBIDDEN');
      const nested = await create('{ code: "s", sealed: true }, { code: "t", parentId: "s" }');
      expect(nested.errors?.[0].extensions.code).toBe('FORBIDDEN');
      expect((await app.unguarded().rest('GET', '/rooms?fields=code')).body).toEqual([{ code: 'vault' }]);
      expect((await create('{ code: "s" }, { code: "t", parentId: "s" }')).errors).toBeUndefined();
    });
  });

  test('a nested record that will be denied shows nothing of the one that it is nested in', async () => {
    const sdl = `
      type Firm @resource
        @allow(to: [READ], where: { staff: { some: { who: { eq: { claim: "sub" } }, post: { eq: "head" } } } })
        @allow(to: [CREATE], role: "authenticated")
      { id: ID!  name: String! @unique  staff: [Staff!]! }
      type Staff @resource(plural: "staffers")
        @allow(to: [READ], role: "authenticated")
        @allow(to: [CREATE], where: { post: { ne: "head" } })
      { id: ID!  who: String @set(claim: "sub")  post: String  firm: Firm }`;
    await opened(sdl, { firms: [{ name: 'taken' }] }, (app) =>
      alike(app, 'POST', '/firms', (name) => ({ name, staff: [{ post: 'head' }] })),
    );
  });

  test('a nested record that may hide the one that it is nested in tells nothing', async () => {
    const sdl = `
      type Club @resource
        @allow(to: [CREATE], role: "authenticated")
        @allow(to: [READ], where: { bans: { none: { who: { eq: { claim: "sub" } } } } })
      { id: ID!  name: String! @unique  bans: [Ban!]! }
      type Ban @resource
        @allow(to: [CREATE], role: "authenticated")
        @allow(to: [READ], where: { club: { name: { ne: "" } } })
      { id: ID!  who: String!  club: Club }`;
    await opened(sdl, { clubs: [{ name: 'taken' }] }, async (app) => {
      await alike(app, 'POST', '/clubs', (name) => ({ name, bans: [{ who: 'ann' }, { who: 'eve' }] }));
      const bans = [{ who: 'ann' }];
      const told = await app.rest('POST', '/clubs', { name: 'taken', bans }, eve);
      expect([told.status, told.body.code]).toEqual([409, 'CONFLICT']);
      expect((await app.rest('POST', '/clubs', { name: 'free', bans }, eve)).status).toBe(201);
    });
  });

  test('what is nested in a record that one will not see tells nothing', async () => {
    const sdl = `
      type Club @resource @allow(to: [READ], role: "authenticated") { id: ID!  seats: [Seat!]!  projs: [Proj!]! }
      type Seat @resource @allow(to: [READ], role: "authenticated") { id: ID!  who: String!  club: Club! }
      type Proj @resource
        @allow(to: [CREATE], where: { owner: { eq: { claim: "sub" } } })
        @allow(to: [READ], where: { club: { seats: { some: { who: { eq: { claim: "sub" } } } } } })
      { id: ID!  owner: String!  club: Club!  items: [Item!]! }
      type Item @resource @allow(to: [READ, CREATE], where: { proj: { owner: { eq: { claim: "sub" } } } })
      { id: ID!  slug: String! @unique  proj: Proj }`;
    const data = { clubs: [{}], projs: [{ owner: 'ann', clubId: 1 }], items: [{ slug: 'taken', projId: 1 }] };
    await opened(sdl, data, (app) =>
      alike(app, 'POST', '/projs', (slug) => ({ owner: 'eve', clubId: 1, items: [{ slug }] })),
    );
  });

  test('a record that would hide itself tells nothing', async () => {
    const sdl = `
      type Club @resource @allow(to: [READ]) { id: ID!  letters: [Letter!]! }
      type Letter @resource
        @allow(to: [CREATE, UPDATE], role: "authenticated")
        @allow(to: [READ], where: { club: { letters: { none: { secret: { eq: true } } } } })
      { id: ID!  tag: String! @unique  secret: Boolean!  club: Club! }`;
    const data = {
      clubs: [{}, {}],
      letters: [
        { tag: 'taken', secret: false, clubId: 1 },
        { tag: 'mine', secret: false, clubId: 2 },
      ],
    };
    await opened(sdl, data, async (app) => {
      await alike(app, 'POST', '/letters', (tag) => ({ tag, secret: true, clubId: 2 }));
      await alike(app, 'PUT', '/letters/2', (tag) => ({ tag, secret: true }));
    });
  });

  test('who changes what no rule hangs on is told what is taken, also of the record by which it sees', async () => {
    const sdl = `
      type Club @resource @allow(to: [READ]) { id: ID!  posts: [Post!]! }
      type Post @resource
        @allow(to: [READ], where: { club: { posts: { some: { who: { eq: { claim: "sub" } } } } } })
        @allow(to: [UPDATE])
      { id: ID!  club: Club!  who: String  nr: Int @unique }`;
    const data = {
      clubs: [{}, {}],
      posts: [
        { clubId: 1, who: 'eve', nr: 1 },
        { clubId: 1, who: 'bob', nr: 77 },
      ],
    };
    await opened(sdl, data, async (app) => {
      const put = async (body: object) => (await app.rest('PUT', '/posts/1', body, eve)).body.code;
      expect(await put({ nr: 77 })).toBe('CONFLICT');
      expect(await put({ nr: 5 })).toBeUndefined();
      // By these it would no longer be seen.
      for (const nr of [77, 6])
        for (const change of [{ who: 'ann' }, { clubId: 2, who: 'ann' }])
          expect([change, await put({ nr, ...change })]).toEqual([change, 'FORBIDDEN']);
    });
  });

  test('what is asked of many new records is asked of all at once, where they have lists and what is to come', async () => {
    const sdl = `
      type Owner @resource @allow(to: [READ]) { code: ID! @key }
      type Club @resource
        @allow(to: [CREATE], where: { or: [{ name: { ne: "" } }, { name: { ne: "x" } }, { owner: { code: { eq: { claim: "sub" } } } }] })
        @allow(to: [READ], where: { or: [{ name: { ne: "" } }, { name: { ne: "x" } }, { seats: { some: { who: { eq: { claim: "sub" } } } } }] })
      { id: ID!  name: String! @unique  owner: Owner  seats: [Seat!]! }
      type Seat @resource { id: ID!  who: String!  club: Club }`;
    await opened(sdl, {}, async (app) => {
      const asked = async (length: number, ownerId?: string) => {
        const body = Array.from({ length }, (_, at) => ({ name: `${length} ${ownerId} ${at}`, ownerId }));
        const before = app.statements.length;
        const operations = [{ method: 'POST', path: '/clubs', body }];
        const { status } = await app.rest('POST', '/transaction', { operations }, eve);
        const asks = app.statements.slice(before).filter((sql) => sql.startsWith('SELECT "_row"'));
        return [status, asks.length > 0, asks.length];
      };
      expect(await asked(30)).toEqual(await asked(3));
      expect(await asked(30, 'nobody')).toEqual(await asked(3, 'nobody'));
    });
  });

  test('a kept answer is shown under the rights that it was made with, and under no other', async () => {
    const sdl = (rule: string) => `
      type Note @resource @allow(to: [READ, CREATE], where: { org: { eq: { claim: "org" } } }) {
        id: ID!
        org: String!
        text: String ${rule}
      }`;
    const claims = (org: unknown) =>
      headersOf({ name: `eve of ${JSON.stringify(org)}`, claims: { sub: 'eve', org } });
    const [one, twice] = [await claims(['a']), await claims(['a', 'a'])];
    const key = { 'Idempotency-Key': 'k' };
    const body = { org: 'a', text: 'hush' };
    const url = database === 'postgres' ? await (await sharedPostgres()).database() : undefined;
    const open = (rule: string) => openApp(database, { sdl: sdl(rule), data: {}, env, ...(url && { url }) });
    const app = await open('');
    expect((await app.rest('POST', '/notes', body, { ...one, ...key })).status).toBe(201);
    expect((await app.rest('POST', '/notes', body, { ...one, ...key })).body.id).toBe(1);
    expect((await app.rest('POST', '/notes', body, { ...twice, ...key })).status).toBe(403);
    await app.close();
    if (!url) return;
    // Another rule may hide what the kept answer shows.
    const stricter = await open('@allow(to: [READ], role: "boss")');
    const again = await stricter.rest('POST', '/notes', body, { ...one, ...key });
    expect([again.status, again.body.code]).toEqual([422, 'IDEMPOTENCY_MISMATCH']);
    expect(JSON.stringify(again.body)).not.toContain(body.text);
    await stricter.close();
  });

  test('a claim that JSON cannot carry exactly, or that says nothing, matches nothing', async () => {
    const sdl = `
      type Note @resource
        @allow(to: [READ], where: { org: { eq: { claim: "org" } } })
        @allow(to: [READ], where: { path: { startsWith: { claim: "path" } } })
      { id: ID!  org: String!  path: String! }`;
    const data = { notes: [{ org: '9007199254740992', path: '/a' }] };
    await opened(sdl, data, async (app) => {
      const seen = async (claims: Record<string, unknown>) => {
        const headers = await headersOf({ name: JSON.stringify(claims), claims: { sub: 'eve', ...claims } });
        return (await app.rest('GET', '/notes', undefined, headers)).body.length;
      };
      expect(await seen({ org: '9007199254740992' })).toBe(1);
      expect(await seen({ org: 9007199254740992 })).toBe(0);
      expect(await seen({ path: '/' })).toBe(1);
      expect(await seen({ path: '' })).toBe(0);
    });
  });
});
