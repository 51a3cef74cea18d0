/** What a mutation answers of its records is what a query answers of them, and needs the executor only where something is wrong. */

import { afterAll, beforeAll, describe, expect, spyOn, test } from 'bun:test';
import * as mutations from '../../src/graphql/mutations.ts';
import { type AppUnderTest, databases, openApp, withOwn } from '../app.ts';

const sdl = `
  enum Colour { RED GREEN }
  type User @resource { id: ID!  name: String! @unique  posts: [Post!]! }
  type Post @resource {
    id: UUID!  title: String!  tags: [String!]!  sizes: JSON  at: DateTime  colour: Colour  price: Decimal @decimal(scale: 2)
    author: User
  }`;

/** With their fragments. */
const selections: [string, string][] = [
  ['id name', ''],
  ['__typename as: name again: name id', ''],
  ['posts(orderBy: [{ title: ASC }]) { title tags sizes at colour price author { name } }', ''],
  ['first: posts(first: 1) { title } rest: posts(where: { title: { ne: "a" } }) { title __typename }', ''],
  ['postsConnection(first: 1) { totalCount edges { cursor node { id } } pageInfo { hasNextPage } }', ''],
  ['postsAggregate { count }', ''],
  [
    '...All posts @include(if: $yes) { title } name @skip(if: $yes)',
    'fragment All on User { _version posts { id } }',
  ],
  ['... on User { posts { ...Titles } }', 'fragment Titles on Post { title author { id posts { title } } }'],
];

describe.each([...databases])('on %s', (database) => {
  let app: AppUnderTest;
  beforeAll(async () => {
    app = await openApp(database, { sdl });
    const posts = [
      {
        title: 'a',
        tags: ['x', 'é'],
        sizes: { w: [1, 2.5] },
        at: '2026-01-02T03:04:05.006Z',
        colour: 'RED',
        price: '1.10',
      },
      { title: 'b', tags: [] },
    ];
    await app.rest('POST', '/users', { name: 'Ada', posts });
  });
  afterAll(() => app.close());

  /** Whether the executor was needed, too. */
  async function asked(query: string) {
    using completed = spyOn(mutations, 'completed');
    const { data, errors } = await app.graphql(query, { yes: true });
    const [made] = await Promise.all(completed.mock.results.map(({ value }) => value));
    return { data, errors, byExecutor: made === undefined };
  }

  test.each(selections)('{ %s }', async (selection, fragments) => {
    const all = `{ ${selection} conditional: __typename @include(if: $yes) } } ${fragments}`;
    for (const more of ['', '@atomic']) {
      const written = await asked(
        `mutation($yes: Boolean!) ${more} { user: updateUser(id: 1, name: "Ada") ${all}`,
      );
      const read = await app.graphql(`query($yes: Boolean!) { user(id: 1) ${all}`, { yes: true });
      expect(written).toEqual({ data: read.data, errors: undefined, byExecutor: false });
    }
  });

  test('several fields, one after the other', async () => {
    const { data, byExecutor } = await asked(
      `mutation($yes: Boolean!) { __typename one: createUser(name: "one") { name } two: updateUser(id: 1, name: "Ada") @include(if: $yes) { name }
        gone: deletePosts(where: { title: { eq: "c" } }, atMost: 3) { id } }`,
    );
    expect(data).toEqual({ __typename: 'Mutation', one: { name: 'one' }, two: { name: 'Ada' }, gone: [] });
    expect(byExecutor).toBeFalse();
  });

  test('what was written is told, however late, also by a document that has words of introspection in it', async () => {
    const now = performance.now.bind(performance);
    let later = 0;
    using _clock = spyOn(performance, 'now').mockImplementation(() => now() + later);
    const late = await openApp(database, {
      sdl,
      data: { users: Array.from({ length: 4_000 }, (_, at) => ({ name: `user ${at}` })) },
      around: (storage) => {
        const write: typeof storage.write = async (...given) => {
          const written = await storage.write(...given);
          later = 60_000;
          return written;
        };
        return withOwn(storage, { write });
      },
    });
    const { data, errors } = await late.graphql(
      'mutation { deleteUsers(where: {}, atMost: 4000) { id name posts { id } } } # __schema',
    );
    expect([errors, data?.deleteUsers.length]).toEqual([undefined, 4_000]);
    await late.close();
  });

  describe('the executor goes on', () => {
    const names = async () =>
      (await app.rest('GET', '/users?sort=id&fields=name')).body.map(({ name }: any) => name);

    test('after a field that can be null', async () => {
      const { data, errors, byExecutor } = await asked(
        'mutation { a: createUser(name: "a1") { name } b: updateUser(id: 999, name: "b1") { name } c: createUser(name: "c1") { name } }',
      );
      expect(data).toEqual({ a: { name: 'a1' }, b: null, c: { name: 'c1' } });
      expect(errors).toMatchObject([{ path: ['b'], extensions: { code: 'NOT_FOUND' } }]);
      expect(byExecutor).toBeTrue();
      expect((await names()).filter((name: string) => name.endsWith('1'))).toEqual(['a1', 'c1']);
    });

    test('and not after one that cannot', async () => {
      const { data, errors } = await asked(
        'mutation { a: createUser(name: "a2") { name } b: createUser(name: "a2") { name } c: createUser(name: "c2") { name } }',
      );
      expect(data).toBeNull();
      expect(errors).toMatchObject([{ path: ['b'], extensions: { code: 'CONFLICT' } }]);
      expect((await names()).filter((name: string) => name.endsWith('2'))).toEqual(['a2']);
    });

    test('where a name of the answer is no property, with nothing done twice', async () => {
      const { data, byExecutor } = await asked(
        'mutation { createUser(name: "a3") { __proto__: name posts { id } } }',
      );
      expect(Object.getOwnPropertyDescriptor(data.createUser, '__proto__')?.value).toBe('a3');
      expect(byExecutor).toBeTrue();
      expect((await names()).filter((name: string) => name.endsWith('3'))).toEqual(['a3']);
      const root = await asked('mutation { __proto__: __typename  updateUser(id: 1, name: "Ada") { name } }');
      expect(JSON.stringify(root.data)).toBe('{"__proto__":"Mutation","updateUser":{"name":"Ada"}}');
    });
  });
});
