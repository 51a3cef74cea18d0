/** The budget of objects counts an answer as it is written out: what many refer to stands there once for each of them. */

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { type AppUnderTest, type DatabaseKind, databases, openApp, sharedPostgres } from '../app.ts';
import { Folder } from '../process.ts';

const sdl = `
  type User @resource {
    id: ID!
    posts: [Post!]! @inverse(of: "author")
    edited: [Post!]! @inverse(of: "editor")
  }
  type Post @resource { id: ID!  author: User!  editor: User  comments: [Comment!]! }
  type Comment @resource { id: ID!  post: Post!  answerTo: Comment  answers: [Comment!]! }`;
const data = {
  users: [{}, {}, {}],
  // One user wrote most of them, one some, one none; not all of them were edited.
  posts: [
    ...Array.from({ length: 4 }, (_, index) => ({ authorId: 1, editorId: index % 2 === 0 ? 2 : null })),
    { authorId: 2, editorId: 2 },
    { authorId: 2, editorId: 3 },
  ],
  comments: [
    { postId: 1 },
    { postId: 1, answerToId: 1 },
    { postId: 1, answerToId: 1 },
    { postId: 2, answerToId: 2 },
    { postId: 5 },
  ],
};

/** What REST includes, and the same by GraphQL; each shows records in more than one place. */
const reads: readonly (readonly [path: string, query: string])[] = [
  ['/posts?include=author', '{ posts { id author { id } } }'],
  ['/posts?include=author.posts', '{ posts { id author { id posts { id } } } }'],
  ['/posts?include=author.posts.comments', '{ posts { id author { id posts { id comments { id } } } } }'],
  ['/posts?include=author.posts.author', '{ posts { id author { id posts { id author { id } } } } }'],
  [
    '/posts?include=author.posts.author.posts',
    '{ posts { id author { id posts { id author { id posts { id } } } } } }',
  ],
  ['/posts?include=editor.edited', '{ posts { id editor { id edited { id } } } }'],
  [
    '/posts?include=author.posts,editor.posts',
    '{ posts { id author { id posts { id } } editor { id posts { id } } } }',
  ],
  ['/posts?include=editor.posts.editor', '{ posts { id editor { id posts { id editor { id } } } } }'],
  [
    '/users?include=posts.author.posts.comments',
    '{ users { id posts { id author { id posts { id comments { id } } } } } }',
  ],
  ['/users?include=edited.author.posts', '{ users { id edited { id author { id posts { id } } } } }'],
  ['/users/1?include=posts.author.posts', '{ user(id: 1) { id posts { id author { id posts { id } } } } }'],
  ['/comments?include=post.author.posts', '{ comments { id post { id author { id posts { id } } } } }'],
  [
    '/comments?include=answerTo.answers.answerTo.answers',
    '{ comments { id answerTo { id answers { id answerTo { id answers { id } } } } } }',
  ],
  [
    '/posts?include=author.posts&author.posts[limit]=2',
    '{ posts { id author { id posts(first: 2) { id } } } }',
  ],
  [
    '/posts?limit=3&sort=-id&include=author.posts',
    '{ posts(first: 3, orderBy: [{ id: DESC }]) { id author { id posts { id } } } }',
  ],
];

/** What only GraphQL can say. */
const queries: readonly string[] = [
  '{ posts { id a: author { id posts { id } } b: author { id posts { id } } } }',
  '{ users { id a: posts { id } b: posts { id x: author { id } y: author { id } } } }',
  '{ a: posts { id author { id posts { id } } } b: posts { id author { id posts { id } } } }',
  '{ posts { id ...A ...B } } fragment A on Post { author { id ...C } } fragment B on Post { author { posts { id comments { id } } } } fragment C on User { posts { id } }',
  '{ users { id posts { id author { id } } } user(id: 1) { id posts { id author { id posts { id } } } } }',
  '{ postsConnection { edges { node { id author { id posts { id } } } } } }',
];

/** Every record has its key in these answers, and nothing else has. */
function objectsIn(answer: unknown): number {
  if (typeof answer !== 'object' || answer === null) return 0;
  const below = Object.values(answer).reduce((sum, each) => sum + objectsIn(each), 0);
  return below + (Object.hasOwn(answer, 'id') ? 1 : 0);
}

describe.each([...databases])('on %s', (database: DatabaseKind) => {
  const folder = new Folder();
  let url: string;
  let wide: AppUnderTest;
  beforeAll(async () => {
    url = database === 'sqlite' ? `sqlite:${folder.file('x.db')}` : await (await sharedPostgres()).database();
    wide = await openApp(database, { sdl, data, url });
  });
  afterAll(async () => {
    await wide.close();
    folder[Symbol.dispose]();
  });

  const within = async <T>(limit: number, ask: (app: AppUnderTest) => Promise<T>): Promise<T> => {
    const app = await openApp(database, { sdl, data, url, env: { LIMIT_OBJECTS: String(limit) } });
    return ask(app).finally(() => app.close());
  };

  test.each(reads)('%s and %s', async (path, query) => {
    const objects = objectsIn((await wide.rest('GET', path)).body);
    expect(objects).toBeGreaterThan(6);
    expect(objectsIn((await wide.graphql(query)).data)).toBe(objects);
    const asked = (app: AppUnderTest) => Promise.all([app.rest('GET', path), app.graphql(query)]);
    const [enough, alike] = await within(objects, asked);
    expect([enough.status, objectsIn(enough.body), objectsIn(alike.data)]).toEqual([200, objects, objects]);
    for (const limit of [objects - 1, Math.ceil(objects / 2)]) {
      const [refused, too] = await within(limit, asked);
      expect([refused.status, refused.body.code]).toEqual([400, 'TOO_MANY_OBJECTS']);
      expect(too.errors?.map(({ extensions }) => extensions.code)).toEqual(['TOO_MANY_OBJECTS']);
    }
  });

  test.each(queries)('%s', async (query) => {
    const objects = objectsIn((await wide.graphql(query)).data);
    expect(objectsIn((await within(objects, (app) => app.graphql(query))).data)).toBe(objects);
    const { errors } = await within(objects - 1, (app) => app.graphql(query));
    expect(new Set(errors?.map(({ extensions }) => extensions.code))).toEqual(new Set(['TOO_MANY_OBJECTS']));
  });

  test('what a write answers with counts alike, and too much of it writes nothing', async () => {
    const answer = '{ id posts { id author { id posts { id author { id } } } } }';
    const write = `mutation { updatePost(id: 6, editorId: 1) { id author ${answer} } }`;
    const objects = objectsIn((await wide.graphql(write)).data);
    const { body } = await wide.rest('PUT', '/posts/6', { editorId: 2 });
    const refused = await within(objects - 2, (app) => app.graphql(write));
    expect(refused.errors?.[0].extensions.code).toBe('TOO_MANY_OBJECTS');
    expect((await wide.rest('GET', '/posts/6')).body).toEqual(body);
  });
});
