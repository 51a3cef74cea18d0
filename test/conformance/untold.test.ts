/** What else goes wrong with a write tells nobody what is taken who is not to know, nor anything of records that are hidden. */

import { describe, expect, test } from 'bun:test';
import { type AppUnderTest, databases, openApp } from '../app.ts';
import { headersOf, SECRET } from './access-matrix.ts';

const env = { AUTH_SECRET: SECRET };
const eve = await headersOf({ name: 'eve, who is not told', claims: { sub: 'eve', team: 'red' } });

describe.each([...databases])('on %s', (database) => {
  const opened = async (
    { sdl, data, logic }: { sdl: string; data: unknown; logic?: object },
    work: (app: AppUnderTest) => Promise<void>,
  ) => {
    const app = await openApp(database, { sdl, data, env, ...(logic && { logic }) });
    try {
      await work(app);
    } finally {
      await app.close();
    }
  };

  /** All that eve is told of a write, by each door. */
  const told = async (app: AppUnderTest, type: string, body: object, plural = `${type}s`) => {
    const { body: rest } = Array.isArray(body)
      ? await app.rest(
          'POST',
          '/transaction',
          { operations: [{ method: 'POST', path: `/${plural.toLowerCase()}`, body }] },
          eve,
        )
      : await app.rest('POST', `/${plural.toLowerCase()}`, body, eve);
    const records = Array.isArray(body) ? body : [body];
    const mutation = `mutation($records: [${type}Input!]!) { create${plural}(records: $records) { id } }`;
    const { errors } = await app.graphql(mutation, { records }, eve);
    const [first] = errors ?? [];
    const faults = (list: any[] = []) => list.map(({ pointer, code }) => `${pointer} ${code}`);
    return {
      rest: [rest.code, rest.detail, faults(rest.errors)],
      graphql: [first?.extensions.code, first?.message, faults(first?.extensions.errors)],
    };
  };

  /** The same with each of these values is told alike. */
  const alike = async <T>(values: readonly T[], telling: (value: T) => Promise<unknown>) => {
    const [first, ...others] = values;
    const expected = await telling(first as T);
    for (const each of others) expect(await telling(each)).toEqual(expected);
    return expected as Awaited<ReturnType<typeof told>>;
  };

  const firms = {
    sdl: `
      type User @resource @allow(to: [READ], role: "authenticated") { code: ID! @key  team: String }
      type Firm @resource
        @allow(to: [CREATE], role: "authenticated")
        @allow(to: [READ], where: { user: { team: { eq: { claim: "team" } } } })
      { id: ID!  name: String @unique  user: User  members: [Member!]! }
      type Member @resource
        @allow(to: [READ], where: { firm: { name: { eq: { claim: "sub" } } } })
        @allow(to: [CREATE], where: { post: { ne: "head" } })
        @check(where: { post: { ne: "odd" } }, message: "A post is not odd")
      { id: ID!  firm: Firm  user: User  post: String }
      type Town @resource @allow(to: [READ, CREATE], role: "authenticated")
      { id: ID!  user: User  shops: [Shop!]!  parks: [Park!]! }
      type Shop @resource
        @allow(to: [CREATE], role: "authenticated")
        @allow(to: [READ], where: { user: { team: { eq: { claim: "team" } } } })
      { id: ID!  town: Town  user: User  name: String @unique }
      type Park @resource @allow(to: [READ, CREATE], role: "authenticated") { id: ID!  town: Town  user: User }`,
    data: {
      users: [{ code: 'ann', team: 'blue' }],
      firms: [{ name: 'taken' }],
      shops: [{ name: 'taken' }],
    },
  };
  const values = ['taken', 'free'];

  test('what is wrong with a record that comes after one which the caller will not see', async () => {
    await opened(firms, async (app) => {
      const member = (each: object) => alike(values, (name) => told(app, 'Firm', { name, members: [each] }));
      for (const each of [{ userId: 'none' }, { post: 'head' }, { post: 'any' }])
        expect((await member(each)).rest[0]).toBe('FORBIDDEN');
      // What breaks a check is told of the input alone, before anything is stored or looked for.
      expect((await member({ post: 'odd' })).rest[0]).toBe('VALIDATION_FAILED');
      const list = await alike(values, (name) => told(app, 'Firm', [{ name }, { userId: 'none' }]));
      expect(list.rest[0]).toBe('FORBIDDEN');
      const shops = (name: string) => [{ name, userId: 'ann' }];
      const parks = [{ userId: 'none' }];
      await alike(values, (name) => told(app, 'Town', { shops: shops(name), parks }));
      await alike(values, (name) => told(app, 'Town', [{ shops: shops(name) }, { userId: 'none' }]));
    });
  });

  test('the same where a function takes part', async () => {
    const logic = { Firm: { beforeCreate: ({ input }: { input: object }) => input } };
    await opened({ ...firms, logic }, async (app) => {
      await alike(values, (name) => told(app, 'Firm', [{ name }, { userId: 'none' }]));
    });
  });

  test('what is wrong with the links of a record that the caller will not see any more', async () => {
    const sdl = `
      type Tag @resource @allow(to: [READ], where: { owner: { eq: { claim: "sub" } } }) { id: ID!  owner: String }
      type Team @resource @allow(to: [READ], role: "authenticated") { id: ID!  name: String }
      type Post @resource
        @allow(to: [UPDATE], role: "authenticated")
        @allow(to: [READ], where: { team: { name: { eq: { claim: "team" } } } })
      { id: ID!  title: String @unique  team: Team  tags: [Tag!]! @through(type: "Tagging") }
      type Tagging @resource @allow(to: [READ, CREATE, DELETE], role: "authenticated") { id: ID!  post: Post  tag: Tag }`;
    const data = {
      teams: [{ name: 'red' }, { name: 'blue' }],
      tags: [{ owner: 'ann' }],
      posts: [
        { title: 'mine', teamId: 1 },
        { title: 'taken', teamId: 2 },
      ],
    };
    await opened({ sdl, data }, async (app) => {
      const body = (title: string) => ({ title, teamId: 2, tagIds: [1] });
      const put = async (title: string) => {
        const { status, body: answer } = await app.rest('PUT', '/posts/1', body(title), eve);
        return [status, answer.detail];
      };
      expect(await alike(values, put)).toEqual([
        403,
        'The updated post would violate an access rule.',
      ] as any);
      const update =
        'mutation($set: PostChanges!) { updatePosts(where: { id: { eq: 1 } }, set: $set, atMost: 1) { id } }';
      const many = await alike(values, async (title) => {
        const { errors } = await app.graphql(update, { set: body(title) }, eve);
        return [errors?.[0].extensions.code, errors?.[0].message];
      });
      expect(many).toEqual(['FORBIDDEN', 'The updated post would violate an access rule.'] as any);
    });
  });

  test('what a hidden record is like that a new one refers to', async () => {
    const sdl = `
      type Club @resource @allow(to: [READ], where: { owner: { eq: { claim: "sub" } } })
      { code: ID! @key  owner: String  open: Boolean }
      type Seat @resource
        @allow(to: [CREATE], role: "authenticated")
        @allow(to: [READ], where: { or: [{ mine: { eq: { claim: "sub" } } }, { club: { open: { eq: true } } }] })
      { id: ID!  tag: String @unique  mine: String  club: Club }
      type User @resource @allow(to: [READ], where: { handle: { eq: { claim: "sub" } } })
      { id: ID!  handle: String  team: String }
      type Firm @resource
        @allow(to: [CREATE], role: "authenticated")
        @allow(to: [READ], where: { members: { some: { user: { team: { eq: { claim: "team" } } } } } })
      { id: ID!  name: String @unique  members: [Member!]! }
      type Member @resource @allow(to: [READ, CREATE], role: "authenticated") { id: ID!  firm: Firm  user: User }
      type Desk @resource @allow(to: [READ]) { id: ID! }
      type Place @resource @allow(to: [READ, CREATE], role: "authenticated")
      { id: ID!  club: Club @unique  desk: Desk }`;
    const data = {
      clubs: [
        { code: 'open', owner: 'ann', open: true },
        { code: 'shut', owner: 'ann', open: false },
      ],
      seats: [{ tag: 'taken' }],
      users: [
        { handle: 'ann', team: 'red' },
        { handle: 'bob', team: 'blue' },
        { handle: 'eve', team: 'red' },
      ],
      firms: [{ name: 'taken' }],
      places: [{ clubId: 'open' }],
    };
    await opened({ sdl, data }, async (app) => {
      const clubs = ['open', 'shut', 'none'];
      await alike(clubs, (clubId) => told(app, 'Seat', [{ tag: 'taken', mine: 'eve' }, { clubId }]));
      await alike([1, 2, 99], (userId) => told(app, 'Firm', { name: 'taken', members: [{ userId }] }));
      // One that she sees, and that lets her see the firm, is enough to be told.
      const own = await told(app, 'Firm', { name: 'taken', members: [{ userId: 3 }] });
      expect(own.rest[2]).toEqual(['#/name NOT_UNIQUE']);
      const place = await alike(clubs, (clubId) => told(app, 'Place', [{ clubId }, { deskId: 99 }]));
      expect(place.graphql[2]).toEqual(['#/1/deskId REFERENCE_NOT_FOUND']);
    });
  });

  test('a link to what is hidden is told at its place', async () => {
    const sdl = `
      type Tag @resource @allow(to: [READ], where: { owner: { eq: { claim: "sub" } } }) { id: ID!  owner: String }
      type Post @resource @allow(to: [READ, CREATE, UPDATE], role: "authenticated")
      { id: ID!  title: String  tags: [Tag!]! @through(type: "Tagging") }
      type Tagging @resource @allow(to: [READ, CREATE, DELETE], role: "authenticated") { id: ID!  post: Post!  tag: Tag }`;
    const data = { tags: [{ owner: 'eve' }, { owner: 'ann' }, { owner: 'ann' }], posts: [{}] };
    await opened({ sdl, data }, async (app) => {
      const { rest, graphql } = await told(app, 'Post', { title: 'new', tagIds: [1, 2, 99] });
      const faults = ['#/tagIds/1 REFERENCE_NOT_FOUND', '#/tagIds/2 REFERENCE_NOT_FOUND'];
      expect(rest[2]).toEqual(faults);
      expect(graphql[2]).toEqual(faults.map((each) => each.replace('#', '#/0')));
      const { body } = await app.rest('PUT', '/posts/1', { tagIds: [1, 3] }, eve);
      expect(body.errors.map(({ pointer }: { pointer: string }) => pointer)).toEqual(['#/tagIds/1']);
    });
  });
});
