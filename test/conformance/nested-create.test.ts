/** A record and those that point to it, created together, through both doors. */

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { type AppUnderTest, databases, openApp } from '../app.ts';

const sdl = `
  type User @resource { id: ID!  name: String!  posts: [Post!]!  secrets: [Secret!]!  logs: [Log!]!  stamps: [Stamp!]!  seals: [Seal!]! }
  type Post @resource { id: UUID!  title: String! @constraint(minLength: 1)  slug: String @unique  author: User!  category: Category  comments: [Comment!]! }
  type Category @resource { id: ID!  posts: [Post!]!  marks: [Mark!]! }
  type Mark @resource { id: ID!  category: Category! }
  type Comment @resource { id: ID!  body: String!  post: Post! }
  type Secret @resource(rest: false) { id: ID!  user: User! }
  type Log @resource(only: [LIST, GET]) { id: ID!  user: User! }
  type Stamp @resource { id: ID!  text: String  user: User @readonly }
  type Seal @resource { id: ID!  text: String  user: User @set(claim: "sub") }`;

describe.each([...databases])('on %s', (database) => {
  let app: AppUnderTest;
  beforeAll(async () => {
    app = await openApp(database, { sdl });
    await app.rest('POST', '/categories', {});
  });
  afterAll(() => app.close());
  const counts = async () =>
    Promise.all(
      ['/users', '/posts', '/comments'].map(async (path) => (await app.rest('GET', path)).body.length),
    );

  const nested = {
    name: 'Ada',
    posts: [
      { title: 'One', categoryId: 1, comments: [{ body: 'a' }, { body: 'b' }] },
      { title: 'Two', slug: 'two' },
    ],
  };

  test('in a REST body', async () => {
    const before = await counts();
    const { status, body } = await app.rest('POST', '/users', nested);
    expect([status, body]).toEqual([201, { id: body.id, name: 'Ada' }]);
    const whole = (await app.rest('GET', `/users/${body.id}?include=posts.comments&posts[sort]=title`)).body;
    expect(
      whole.posts.map((post: any) => [
        post.title,
        post.slug,
        post.categoryId,
        post.authorId,
        post.comments.map((each: any) => each.body),
      ]),
    ).toEqual([
      ['One', null, 1, body.id, ['a', 'b']],
      ['Two', 'two', null, body.id, []],
    ]);
    expect(await counts()).toEqual([(before[0] ?? 0) + 1, (before[1] ?? 0) + 2, (before[2] ?? 0) + 2]);
  });

  test('in the arguments of a mutation', async () => {
    const { data, errors } = await app.graphql(
      'mutation($posts: [PostInputWithoutAuthor!]) { createUser(name: "Eve", posts: $posts) { name posts(orderBy: [{ title: ASC }]) { title category { id } comments { body } } } }',
      { posts: [{ title: 'One', categoryId: '1', comments: [{ body: 'a' }] }, { title: 'Two' }] },
    );
    expect(errors).toBeUndefined();
    expect(data.createUser).toEqual({
      name: 'Eve',
      posts: [
        { title: 'One', category: { id: '1' }, comments: [{ body: 'a' }] },
        { title: 'Two', category: null, comments: [] },
      ],
    });
  });

  test('inputs keep what is required, and leave out what a record is nested in', async () => {
    const fieldsOf = async (name: string) => {
      const { data } = await app.graphql(
        'query($name: String!) { __type(name: $name) { inputFields { name type { kind name ofType { name } } } } }',
        { name },
      );
      const spelt = ({ name: field, type }: any) =>
        `${field}: ${type.kind === 'NON_NULL' ? `${type.ofType.name}!` : (type.name ?? '[]')}`;
      return data.__type.inputFields.map(spelt);
    };
    const rest = ['title: String!', 'slug: String'];
    expect(await fieldsOf('PostInput')).toEqual([...rest, 'authorId: ID!', 'categoryId: ID', 'comments: []']);
    expect(await fieldsOf('PostInputWithoutAuthor')).toEqual([...rest, 'categoryId: ID', 'comments: []']);
    expect(await fieldsOf('PostInputWithoutCategory')).toEqual([...rest, 'authorId: ID!', 'comments: []']);
    const { errors } = await app.graphql('mutation { createPosts(records: [{ title: "x" }]) { id } }');
    expect(errors?.[0]).toMatchObject({
      message:
        'Expected value of type "PostInput" to include required field "authorId", found: { title: "x" }.',
      extensions: { code: 'GRAPHQL_VALIDATION_FAILED' },
    });
    const { data } = await app.graphql(
      `mutation { createCategory(posts: [{ title: "x", authorId: 1 }], marks: [{}]) { posts { title } marks { id } } }`,
    );
    expect(data.createCategory).toEqual({ posts: [{ title: 'x' }], marks: [{ id: expect.any(String) }] });
  });

  test('every fault of every level is told at once, with its place, and nothing is created', async () => {
    const before = await counts();
    const wrong = {
      name: 'x',
      posts: [{ title: '', comments: [{ body: 'fine' }, {}] }, { title: 't', nope: 1, authorId: 1 }, 3],
    };
    const { status, body } = await app.rest('POST', '/users', wrong);
    expect(status).toBe(400);
    expect(body.errors.map((error: any) => `${error.pointer} ${error.code}`)).toEqual([
      '#/posts/0/title LENGTH',
      '#/posts/0/comments/1/body REQUIRED',
      '#/posts/1/nope UNKNOWN',
      '#/posts/1/authorId READ_ONLY',
      '#/posts/2 TYPE',
    ]);
    expect((await app.rest('POST', '/users', { name: 'x', posts: {} })).body.errors[0]).toMatchObject({
      pointer: '#/posts',
      code: 'TYPE',
    });
    expect(await counts()).toEqual(before);
  });

  test('conflicts are told with their place, and undo everything, on both doors', async () => {
    const before = await counts();
    for (const [posts, fault] of [
      [[{ title: 'a' }, { title: 'b', slug: 'two' }], '#/posts/1/slug NOT_UNIQUE'],
      [
        [
          { title: 'a', slug: 'same' },
          { title: 'b', slug: 'same' },
        ],
        '#/posts/1/slug NOT_UNIQUE',
      ],
      [[{ title: 'a', categoryId: 4711 }], '#/posts/0/categoryId REFERENCE_NOT_FOUND'],
    ] as const) {
      const { status, body } = await app.rest('POST', '/users', { name: 'x', posts });
      expect([status, body.errors.map((error: any) => `${error.pointer} ${error.code}`)]).toEqual([
        409,
        [fault],
      ]);
      const { errors } = await app.graphql(
        'mutation($posts: [PostInputWithoutAuthor!]) { createUser(name: "x", posts: $posts) { id } }',
        {
          posts: posts.map((post) =>
            'categoryId' in post ? { ...post, categoryId: String(post.categoryId) } : post,
          ),
        },
      );
      expect(errors?.[0].extensions).toEqual({ code: 'CONFLICT', errors: body.errors });
    }
    expect(await counts()).toEqual(before);
  });

  test('what a door does not lead to, or cannot be created, cannot be nested either', async () => {
    for (const name of ['secrets', 'logs']) {
      const { body } = await app.rest('POST', '/users', { name: 'x', [name]: [{}] });
      expect(body.errors.map((error: any) => `${error.pointer} ${error.code}`)).toEqual([
        `#/${name} UNKNOWN`,
      ]);
    }
    expect(
      (await app.graphql('mutation { createUser(name: "x", secrets: [{}]) { secrets { id } } }')).data
        .createUser.secrets.length,
    ).toBe(1);
    expect(
      (await app.graphql('mutation { createUser(name: "x", logs: [{}]) { id } }')).errors?.[0].extensions
        .code,
    ).toBe('GRAPHQL_VALIDATION_FAILED');
  });

  /** Whoever chose what a record is nested in would choose its reference: the author of a letter, the tenant of a bill. */
  test('what the server sets cannot be set by nesting', async () => {
    const described = JSON.stringify((await app.rest('GET', '/openapi.json')).body);
    for (const [name, field] of [
      ['stamps', 'Stamp.user'],
      ['seals', 'Seal.user'],
    ] as const) {
      const nesting = { name: 'x', [name]: [{ text: 'y' }] };
      const detail = `${name} cannot be written here, as ${field} is set by the server; write ${name} themselves`;
      const { status, body } = await app.rest('POST', '/users', nesting);
      expect([status, body.errors]).toEqual([400, [{ pointer: `#/${name}`, code: 'UNKNOWN', detail }]]);
      const operations = [{ method: 'POST', path: '/users', body: [nesting] }];
      expect((await app.rest('POST', '/transaction', { operations })).status).toBe(400);
      const { errors } = await app.graphql(`mutation { createUser(name: "x", ${name}: [{}]) { id } }`);
      expect(errors?.[0].message).toContain(`Unknown argument "${name}" on field "Mutation.createUser".`);
      expect(described).not.toContain(`${field.split('.')[0]}CreateWithoutUser`);
      expect((await app.rest('GET', `/${name}`)).body).toEqual([]);
    }
  });
});
