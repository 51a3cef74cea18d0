/** The lists of records as connections and as numbers: as the root fields have them, with one statement for all records. */

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { type AppUnderTest, databases, openApp } from '../app.ts';
import { headersOf, SECRET } from './access-matrix.ts';

const sdl = `
type User @resource { id: ID!  name: String!  posts: [Post!]! }
type Tag @resource { id: ID!  label: String!  posts: [Post!]! }
type Post @resource { id: ID!  title: String  stars: Int!  price: Decimal @decimal(scale: 2)  author: User!  tag: Tag  comments: [Comment!]! }
type Comment @resource { id: ID!  text: String!  post: Post }
`;
const data = {
  users: ['Ann', 'Bob', 'Cid'].map((name) => ({ name })),
  tags: [{ label: 'red' }, { label: 'blue' }],
  posts: [
    { title: 'e', stars: 1, price: '1.50', authorId: 1, tagId: 1 },
    { title: 'd', stars: 2, price: '2.25', authorId: 2, tagId: 2 },
    { title: null, stars: 3, authorId: 1, tagId: 2 },
    { title: 'b', stars: 4, price: '0.10', authorId: 1 },
    { title: 'a', stars: 5, authorId: 1, tagId: 1 },
  ],
  comments: [1, 1, 3, 5].map((postId, index) => ({ text: `c${index}`, postId })),
};

describe.each([...databases])('on %s', (database) => {
  let app: AppUnderTest;
  beforeAll(async () => {
    app = await openApp(database, { sdl, data });
  });
  afterAll(() => app.close());

  const ask = async (query: string, variables: Record<string, unknown> = {}) => {
    const { data, errors } = await app.graphql(query, variables);
    expect(errors).toBeUndefined();
    return data;
  };
  const all =
    '{ totalCount edges { cursor node { id title } } pageInfo { hasNextPage hasPreviousPage startCursor endCursor } }';

  /** Arguments that both take; those of the root field say besides whose posts are meant. */
  const pages: [args: string, where: string][] = [
    ['', ''],
    ['first: 2', ''],
    ['first: 9', ''],
    ['last: 1', ''],
    ['last: 3, orderBy: [{ title: ASC }]', ''],
    ['first: 1, orderBy: [{ title: DESC }]', ''],
    ['first: 2, offset: 1, orderBy: [{ tag: { label: ASC } }]', ''],
    ['offset: 2', ''],
    ['first: 1, offset: 9', ''],
    ['first: 2, orderBy: [{ tag: { label: DESC } }, { title: ASC }]', 'stars: { gt: 1 }'],
    ['last: 2, orderBy: [{ author: { name: DESC } }]', 'comments: { some: {} }'],
  ];

  test.each(pages)('postsConnection(%s), where %s', async (args, where) => {
    for (let time = 0; time < 3; time++) {
      const { users } = await ask(`{ users { id postsConnection(where: { ${where} }, ${args}) ${all} } }`);
      const own = await ask(
        `{ ${[1, 2, 3].map((id) => `u${id}: postsConnection(where: { authorId: { eq: "${id}" } ${where} }, ${args}) ${all}`).join(' ')} }`,
      );
      expect(users.map((user: any) => user.postsConnection)).toEqual([own.u1, own.u2, own.u3]);
    }
  });

  test.each(['title: ASC', 'title: DESC', 'tag: { label: ASC }', 'stars: DESC'])(
    'cursors by %s lead on and back, here, at the root and in REST',
    async (order) => {
      const sort = order.startsWith('tag')
        ? 'tag.label'
        : order.endsWith('DESC')
          ? `-${order.split(':')[0]}`
          : order.split(':')[0];
      const whole = (await app.rest('GET', `/posts?authorId=1&sort=${sort}`)).body.map(({ id }: any) =>
        String(id),
      );
      const page = async (args: string) =>
        (await ask(`{ user(id: 1) { it: postsConnection(${args}, orderBy: [{ ${order} }]) ${all} } }`)).user
          .it;
      const ids = ({ edges }: any) => edges.map(({ node }: any) => node.id);
      const cursors: string[] = [];
      let after = '';
      for (let at = 0; at < 4; at++) {
        const read = await page(`first: 1${after}`);
        expect(ids(read)).toEqual([whole[at]]);
        expect([read.totalCount, read.pageInfo.hasNextPage, read.pageInfo.hasPreviousPage]).toEqual([
          4,
          at < 3,
          at > 0,
        ]);
        cursors.push(read.pageInfo.endCursor);
        after = `, after: "${read.pageInfo.endCursor}"`;
      }
      for (let at = 3; at > 0; at--) {
        const read = await page(`last: 2, before: "${cursors[at]}"`);
        expect(ids(read)).toEqual(whole.slice(Math.max(0, at - 2), at));
        expect([read.pageInfo.hasNextPage, read.pageInfo.hasPreviousPage]).toEqual([true, at > 2]);
      }
      // The cursor of an edge goes on in REST and in a root field, and the link of REST goes on in the list of the record.
      const rest = await app.rest('GET', `/posts?authorId=1&sort=${sort}&limit=2&after=${cursors[0]}`);
      expect([rest.status, rest.body.map(({ id }: any) => String(id))]).toEqual([200, whole.slice(1, 3)]);
      const next = /after=([^&>]+)>; rel="next"/.exec(rest.headers.get('Link') ?? '')?.[1];
      expect(next).toBe(cursors[2] as string);
      expect(ids(await page(`first: 5, after: "${next}"`))).toEqual(whole.slice(3));
      const root = await ask(
        `{ postsConnection(where: { authorId: { eq: "1" } }, after: "${cursors[1]}", orderBy: [{ ${order} }]) { edges { node { id } } } }`,
      );
      expect(ids(root.postsConnection)).toEqual(whole.slice(2));
      const list = await ask(
        `{ user(id: 1) { posts(after: "${cursors[1]}", orderBy: [{ ${order} }]) { id } } }`,
      );
      expect(list.user.posts.map(({ id }: any) => id)).toEqual(whole.slice(2));
      const included = await app.rest(
        'GET',
        `/users/1?include=posts&posts[sort]=${sort}&posts[after]=${cursors[1]}`,
      );
      expect(included.body.posts.map(({ id }: any) => String(id))).toEqual(whole.slice(2));
    },
  );

  test('a cursor that was made before lists of records had them is still taken', async () => {
    const { headers } = await app.rest('GET', '/posts?authorId=1&limit=2');
    const cursor = /after=([^&>]+)>/.exec(headers.get('Link') ?? '')?.[1] ?? '';
    const [name, ...place] = JSON.parse(Buffer.from(cursor, 'base64url').toString());
    const before = Buffer.from(JSON.stringify([name.split('.')[0], ...place])).toString('base64url');
    expect(before).not.toBe(cursor);
    const { body } = await app.rest('GET', `/posts?authorId=1&limit=2&after=${before}`);
    expect(body.map(({ id }: any) => id)).toEqual([4, 5]);
  });

  test('a cursor of another list is refused', async () => {
    const { user } = await ask('{ user(id: 1) { postsConnection(first: 1) { pageInfo { endCursor } } } }');
    const cursor = user.postsConnection.pageInfo.endCursor;
    for (const path of [
      '/posts?limit=1',
      '/posts?authorId=2',
      '/posts?authorId=1&stars=1',
      '/posts?authorId=1&sort=-id',
      '/posts?tagId=1',
      '/comments',
    ])
      expect(
        (await app.rest('GET', `${path}${path.includes('?') ? '&' : '?'}after=${cursor}`)).body.errors?.[0]
          .code,
      ).toBe('CURSOR');
    for (const args of [
      'where: { stars: { eq: 1 } }',
      'orderBy: [{ id: DESC }]',
      'where: { tagId: { eq: "1" } }',
    ]) {
      const { errors } = await app.graphql(
        `{ users { postsConnection(after: "${cursor}", ${args}) { totalCount } } }`,
      );
      expect(errors?.[0].extensions).toMatchObject({
        code: 'VALIDATION_FAILED',
        errors: [{ pointer: '#/postsConnection/after', code: 'CURSOR' }],
      });
    }
    const { errors } = await app.graphql(`{ tags { postsConnection(after: "${cursor}") { totalCount } } }`);
    expect(errors).toBeUndefined();
    const both = await app.graphql('{ users { postsConnection(first: 1, last: 1) { totalCount } } }');
    expect(both.errors?.[0].extensions.errors[0].pointer).toBe('#/postsConnection/last');
  });

  test('one statement for the pages of all records, and one for each number that is wanted of them', async () => {
    const statements = async (query: string) => {
      await ask(query);
      app.statements.length = 0;
      await ask(query);
      return app.statements.filter((sql) => /^(SELECT|WITH)/.test(sql)).length;
    };
    const counted = async (fields: string) => [
      await statements(`{ users(first: 1) { ${fields} } }`),
      await statements(`{ users { ${fields} } }`),
    ];
    const [one, all] = database === 'postgres' ? [1, 1] : [2, 3];
    expect(await counted('postsConnection(first: 1) { edges { cursor node { id } } }')).toEqual([one, one]);
    expect(await counted('postsConnection(first: 1) { edges { cursor } pageInfo { hasNextPage } }')).toEqual([
      all,
      all,
    ]);
    const [few, many] = await counted(
      'postsConnection(first: 1) { totalCount pageInfo { hasNextPage } } postsAggregate { count } posts { commentsAggregate { count } }',
    );
    expect(few).toBe(many as number);
  });

  test('below others, below itself, and under several names', async () => {
    const query = `{ users {
      a: postsConnection(first: 2, orderBy: [{ id: DESC }]) { edges { node { id commentsConnection(last: 1) { totalCount edges { node { id } } } } } }
      b: postsConnection(first: 2, orderBy: [{ id: DESC }]) { n: totalCount edges { node { author { posts(first: 1) { id } } } } }
      posts(first: 1) { id commentsAggregate { count max { text } } }
    } }`;
    for (let time = 0; time < 3; time++)
      expect((await ask(query)).users).toEqual([
        {
          a: {
            edges: [
              { node: { id: '5', commentsConnection: { totalCount: 1, edges: [{ node: { id: '4' } }] } } },
              { node: { id: '4', commentsConnection: { totalCount: 0, edges: [] } } },
            ],
          },
          b: {
            n: 4,
            edges: [
              { node: { author: { posts: [{ id: '1' }] } } },
              { node: { author: { posts: [{ id: '1' }] } } },
            ],
          },
          posts: [{ id: '1', commentsAggregate: [{ count: 2, max: { text: 'c1' } }] }],
        },
        {
          a: { edges: [{ node: { id: '2', commentsConnection: { totalCount: 0, edges: [] } } }] },
          b: { n: 1, edges: [{ node: { author: { posts: [{ id: '2' }] } } }] },
          posts: [{ id: '2', commentsAggregate: [{ count: 0, max: { text: null } }] }],
        },
        { a: { edges: [] }, b: { n: 0, edges: [] }, posts: [] },
      ]);
  });

  const numbers = [
    ['', ''],
    ['groupBy: [tagId]', ''],
    ['groupBy: [authorId, title]', ''],
    ['', 'stars: { gt: 1 }'],
    ['groupBy: [title]', 'tag: { label: { eq: "red" } }'],
  ];
  test.each(numbers)('postsAggregate(%s), where %s', async (args, where) => {
    const fields =
      '{ count by { tagId authorId title } countDistinct { tagId } sum { stars price } avg { price } min { title } max { id } }';
    const { users } = await ask(`{ users { postsAggregate(where: { ${where} }, ${args}) ${fields} } }`);
    const own = await ask(
      `{ ${[1, 2, 3].map((id) => `u${id}: postsAggregate(where: { authorId: { eq: "${id}" } ${where} }, ${args}) ${fields}`).join(' ')} }`,
    );
    expect(users.map((user: any) => user.postsAggregate)).toEqual([own.u1, own.u2, own.u3]);
  });

  test('in the answer to a write', async () => {
    const fields =
      '{ id posts { id } postsConnection(first: 1) { totalCount edges { node { title } } pageInfo { hasNextPage } } postsAggregate { sum { stars } } }';
    const own = await openApp(database, { sdl, data });
    try {
      const { data, errors } = await own.graphql(
        `mutation { createUser(name: "Dan", posts: [{ title: "x", stars: 2 }, { title: "y", stars: 3 }]) ${fields} updateUser(id: 3, name: "Sid") ${fields} }`,
      );
      expect(errors).toBeUndefined();
      expect(data.createUser).toMatchObject({
        postsConnection: {
          totalCount: 2,
          edges: [{ node: { title: 'x' } }],
          pageInfo: { hasNextPage: true },
        },
        postsAggregate: [{ sum: { stars: 5 } }],
      });
      expect(data.updateUser).toMatchObject({
        postsConnection: { totalCount: 0, edges: [], pageInfo: { hasNextPage: false } },
        postsAggregate: [{ sum: { stars: null } }],
      });
    } finally {
      await own.close();
    }
  });

  test('what they add counts for the limits', async () => {
    const limited = (env: Record<string, string>) => openApp(database, { sdl, data, env });
    const few = await limited({ LIMIT_OBJECTS: '8' });
    const small = await limited({ LIMIT_BYTES: '1024' });
    try {
      const code = async (of: AppUnderTest, query: string) =>
        (await of.graphql(query)).errors?.[0].extensions.code;
      // Three users and five posts; the page that ends just there is whole, and whether more follow is told all the same.
      expect(await code(few, '{ users { postsConnection { edges { node { id } } } } }')).toBeUndefined();
      expect(
        await code(
          few,
          '{ users { postsConnection(first: 4) { edges { node { id } } pageInfo { hasNextPage } totalCount } } }',
        ),
      ).toBeUndefined();
      expect(
        await code(few, '{ users { postsConnection { edges { node { id } } } postsAggregate { count } } }'),
      ).toBe('TOO_MANY_OBJECTS');
      expect(await code(few, '{ users { postsAggregate(groupBy: [id]) { count } } }')).toBeUndefined();
      expect(await code(few, '{ users { postsAggregate(groupBy: [id]) { count } } tags { id } }')).toBe(
        'TOO_MANY_OBJECTS',
      );
      expect(await code(few, '{ users { a: postsAggregate { count } b: postsAggregate { count } } }')).toBe(
        'TOO_MANY_OBJECTS',
      );
      const long = 'x'.repeat(80);
      expect(
        await code(small, '{ users { postsConnection(first: 1) { edges { node { id } } } } }'),
      ).toBeUndefined();
      expect(
        await code(
          small,
          '{ users { postsConnection(first: 1, orderBy: [{ title: ASC }]) { edges { cursor } pageInfo { startCursor endCursor } } } }',
        ),
      ).toBe('ANSWER_TOO_LARGE');
      expect(
        await code(
          small,
          `{ users { postsConnection(first: 1) { ${long}a: totalCount ${long}b: totalCount ${long}c: totalCount ${long}d: totalCount } } }`,
        ),
      ).toBe('ANSWER_TOO_LARGE');
      expect(
        await code(
          small,
          `{ users { postsAggregate { ${long}a: count ${long}b: count ${long}c: count ${long}d: count } } }`,
        ),
      ).toBe('ANSWER_TOO_LARGE');
    } finally {
      await few.close();
      await small.close();
    }
  });
});

const guarded = `
type Club @resource @allow(to: [READ]) {
  id: ID!
  members: [Member!]!
  guests: [Guest!] @allow(to: [READ], role: "admin")
}
type Member @resource @allow(to: [READ], where: { open: { eq: true } }) @allow(to: [READ], role: "admin") {
  id: ID!
  name: String!
  open: Boolean!
  fee: Int @allow(to: [READ], role: "admin")
  club: Club
}
type Guest @resource @allow(to: [READ]) { id: ID!  name: String!  club: Club @allow(to: [READ], role: "admin") }
`;
const members = (hidden: string[]) => ({
  clubs: [{}, {}],
  members: [
    { name: 'a', open: true, fee: 1, clubId: 1 },
    { name: 'b', open: true, fee: 2, clubId: 1 },
    { name: 'c', open: true, fee: 4, clubId: 2 },
    ...hidden.map((name) => ({ name, open: false, fee: 3, clubId: 1 })),
  ],
  guests: [{ name: 'g', clubId: 1 }],
});
const ann = await headersOf({ name: 'ann', claims: { sub: 'ann' } });
const admin = await headersOf({ name: 'admin', claims: { sub: 'root', roles: ['admin'] } });

test.each([...databases])(
  'what the caller may not see is in no page, no total and no number, on %s',
  async (database) => {
    const worlds = await Promise.all(
      [['0', 'z'], []].map((hidden) =>
        openApp(database, { sdl: guarded, data: members(hidden), env: { AUTH_SECRET: SECRET } }),
      ),
    );
    try {
      const query = `{ clubs {
      id
      membersConnection(first: 2, orderBy: [{ name: ASC }]) { totalCount edges { cursor node { name } } pageInfo { hasNextPage endCursor } }
      last: membersConnection(last: 1) { edges { node { name } } pageInfo { hasPreviousPage } }
      membersAggregate { count min { name } max { name } }
    } }`;
      const [one, other] = await Promise.all(worlds.map((app) => app.graphql(query, {}, ann)));
      expect(one?.errors).toBeUndefined();
      expect(one?.data).toEqual(other?.data);
      expect(one?.data.clubs[0]).toMatchObject({
        membersConnection: {
          totalCount: 2,
          edges: [{ node: { name: 'a' } }, { node: { name: 'b' } }],
          pageInfo: { hasNextPage: false },
        },
        membersAggregate: [{ count: 2, min: { name: 'a' }, max: { name: 'b' } }],
      });
      const [app] = worlds;
      const seen = await app?.graphql(query, {}, admin);
      expect(seen?.data.clubs[0].membersAggregate[0].count).toBe(4);
      const refused: [field: string, whole: boolean][] = [
        ['membersAggregate { sum { fee } }', true],
        ['membersAggregate(groupBy: [fee]) { count }', true],
        ['membersConnection(orderBy: [{ fee: ASC }]) { totalCount }', true],
        ['membersConnection(where: { fee: { gt: 1 } }) { totalCount }', true],
        ['guestsConnection { totalCount }', false],
        ['guestsAggregate { count }', false],
      ];
      for (const [field, whole] of refused) {
        const { data, errors } = (await app?.graphql(`{ clubs { id ${field} } }`, {}, ann)) ?? {};
        expect([field, errors?.[0].extensions.code]).toEqual([field, 'FORBIDDEN']);
        if (whole) expect(data).toBeNull();
        else expect(data.clubs.map((club: any) => club[field.split(' ')[0] ?? ''])).toEqual([null, null]);
        expect((await app?.graphql(`{ clubs { id ${field} } }`, {}, admin))?.errors).toBeUndefined();
      }
    } finally {
      await Promise.all(worlds.map((app) => app.close()));
    }
  },
);
