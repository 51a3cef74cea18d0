/** What a caller may not see is not counted: two worlds that differ in nothing else give it the same answers at the limits. */

import { afterAll, describe, expect, test } from 'bun:test';
import { type AppUnderTest, databases, openApp } from '../app.ts';
import { headersOf, SECRET } from './access-matrix.ts';

const own = '@allow(to: [READ], where: { owner: { eq: { claim: "sub" } } })';
const sdl = `
type User @resource @allow(to: [READ]) { id: ID!  docs: [Doc!]!  posts: [Post!]! }
type Post @resource @allow(to: [READ]) { id: ID!  title: String!  user: User! }
type Ghost @resource @allow(to: [READ], role: "admin") { name: ID! @key  docs: [Doc!]! }
type Tag @resource @allow(to: [READ]) { name: ID! @key  docs: [Doc!]! }
type Doc @resource @allow(to: [READ, UPDATE, DELETE]) {
  id: ID!
  owner: String!
  title: String
  secret: String ${own}
  data: JSON ${own}
  never: String @allow(to: [READ], role: "admin")
  author: User ${own}
  tag: Tag ${own}
  ghost: Ghost
  lines: [Line!] ${own}
}
type Line @resource @allow(to: [READ]) { id: ID!  text: String!  doc: Doc! @onDelete(do: CASCADE) }
type Mark @resource @allow(to: [READ]) { id: ID!  doc: Doc! @onDelete(do: CASCADE) }
`;

const BYTES = 20_000;
/** So many that PostgreSQL reads what is below along with the rest. */
const OBJECTS = 1000;
/** Enough for a statement to be counted while it runs; the last of them is the caller's own. */
const DOCS = 150;
const OWN = DOCS + 1;

/** As large in both in what can be seen; of whose list the lines are is hidden with the lists. */
function world(long: boolean) {
  const text = (length: number) => 'x'.repeat(long ? length : 1);
  const docs = Array.from({ length: DOCS }, (_, index) => ({
    owner: 'ann',
    secret: text(index === 0 ? 2 * BYTES : BYTES / 10),
    data: { list: [text(BYTES / 10)] },
    never: text(BYTES / 10),
    authorId: long ? 2 : 1,
    tagId: long ? 'l'.repeat(500) : 's',
    ghostId: long ? 'l'.repeat(500) : 's',
  }));
  const posts = Array.from({ length: OBJECTS + 10 }, () => ({ title: 'x'.repeat(BYTES / 100), userId: 2 }));
  const lines = Array.from({ length: OBJECTS + 10 }, () => ({ text: 'x', docId: long ? 1 : OWN }));
  return {
    users: [{}, {}],
    posts,
    ghosts: [{ name: 's' }, { name: 'l'.repeat(500) }],
    tags: [{ name: 's' }, { name: 'l'.repeat(500) }],
    docs: [...docs, { owner: 'eve', secret: 'x'.repeat(2 * BYTES), authorId: 2 }],
    lines,
    marks: Array.from({ length: 120 }, (_, index) => ({ docId: index + 1 })),
  };
}

const eve = await headersOf({ name: 'eve of the sizes', claims: { sub: 'eve' } });
const others = 'where: { owner: { eq: "ann" } }';
const path = { method: 'PUT', path: '/docs', where: { owner: { eq: 'ann' } }, atMost: 500 };

/** What has no twin in REST has a path that asks for as much of it as there is. */
const requests: [string, [string, string, unknown?], string][] = [
  ['one record', ['GET', '/docs/1'], '{ doc(id: 1) { id secret data } }'],
  [
    'one record and what it refers to',
    ['GET', '/docs/1?include=author.posts'],
    '{ doc(id: 1) { author { posts { id } } } }',
  ],
  [
    'posts of a certain user',
    ['GET', '/docs/1?include=author.posts&fields=id,author.posts.title'],
    '{ doc(id: 1) { author { posts(where: { userId: { eq: 2 } }) { title } } } }',
  ],
  ['a hidden list', ['GET', '/docs/1?include=lines'], '{ doc(id: 1) { id lines { id } } }'],
  ['a list', ['GET', `/docs?owner=ann&fields=id,secret`], `{ docs(${others}) { id secret } }`],
  ['JSON', ['GET', `/docs?owner=ann&fields=id,data`], `{ docs(${others}) { id data } }`],
  [
    'keys of what is referred to',
    ['GET', '/docs?owner=ann&fields=id,tagId,ghostId'],
    `{ docs(${others}) { id tagId ghostId } }`,
  ],
  [
    'records behind them',
    ['GET', '/docs?owner=ann&fields=id,tag.name,ghost.name&include=tag,ghost'],
    `{ docs(${others}) { id tag { name } ghost { name } } }`,
  ],
  [
    'fields of a level below',
    ['GET', '/marks?include=doc&fields=id,doc.secret,doc.tagId'],
    '{ marks { doc { secret tagId } } }',
  ],
  [
    'levels below what is hidden',
    ['GET', '/marks?include=doc.author.posts&fields=id,doc.author.posts.id'],
    '{ marks { doc { id author { posts { id } } lines { id } } } }',
  ],
  [
    'records that groups are of',
    ['GET', '/marks?groupBy=docId&fields=doc.secret,doc.tagId&aggregate=count'],
    '{ marksAggregate(groupBy: [docId]) { by { doc { secret tagId } } count } }',
  ],
  [
    'what lies behind records that groups are of',
    ['GET', '/marks?groupBy=docId&fields=doc.id,doc.author.id,doc.author.posts.id'],
    '{ marksAggregate(groupBy: [docId]) { by { doc { author { posts { id } } lines { id } } } } }',
  ],
  [
    'a page',
    ['GET', '/docs?owner=ann&fields=id,secret&limit=120'],
    `{ docsConnection(${others}, first: 120) { edges { node { secret } } totalCount } }`,
  ],
  [
    'an update',
    ['PUT', '/docs/1', { title: 'new' }],
    'mutation { updateDoc(id: 1, title: "new") { secret author { posts { id } } } }',
  ],
  [
    'updates in a transaction',
    [
      'POST',
      '/transaction',
      { operations: Array(12).fill({ method: 'PUT', path: '/docs/1', body: { title: 'x' } }) },
    ],
    'mutation @atomic { a: updateDoc(id: 1, title: "x") { secret lines { id } } b: updateDoc(id: 2, title: "x") { secret } }',
  ],
  [
    'a write on many',
    ['POST', '/transaction', { operations: [{ ...path, atMost: 149, body: { title: 'x' } }] }],
    `mutation { updateDocs(${others}, atMost: 500, set: { title: "x" }) { id } }`,
  ],
  [
    'a write on many that shows it',
    ['POST', '/transaction', { operations: [{ ...path, where: { id: { lte: 30 } }, body: { title: 'x' } }] }],
    'mutation { updateDocs(where: { id: { lte: 30 } }, atMost: 500, set: { title: "x" }) { secret author { posts { id } } } }',
  ],
  [
    'deletions of a few',
    [
      'POST',
      '/transaction',
      {
        operations: [{ method: 'DELETE', path: '/docs', where: { id: { gt: 120, lte: 130 } }, atMost: 500 }],
      },
    ],
    'mutation { deleteDocs(where: { id: { gt: 130, lte: 140 } }, atMost: 500) { secret author { posts { id } } } }',
  ],
  ['deletions', ['DELETE', '/docs/1'], `mutation { deleteDocs(${others}, atMost: 500) { id } }`],
];

describe.each([...databases])('on %s', async (database) => {
  const env = { AUTH_SECRET: SECRET, LIMIT_BYTES: String(BYTES), LIMIT_OBJECTS: String(OBJECTS) };
  const open = (long: boolean) => openApp(database, { sdl, data: world(long), env });
  const [short, long] = [await open(false), await open(true)];
  afterAll(() => Promise.all([short.close(), long.close()]));

  test.each(requests)('%s', async (_, [method, url, body], query) => {
    const ask = async (app: AppUnderTest) => {
      const answers = [await app.rest(method, url, body, eve), await app.graphql(query, {}, eve)];
      return answers.map(({ status, body }) => [status, { ...body, requestId: undefined }]);
    };
    const expected = await ask(short);
    expect(JSON.stringify(expected)).not.toMatch(/ANSWER_TOO_LARGE|TOO_MANY_OBJECTS/);
    expect(await ask(long)).toEqual(expected);
  });

  test.each<[string, string, string, string]>([
    ['a field', `/docs/${OWN}`, `{ doc(id: ${OWN}) { secret } }`, 'ANSWER_TOO_LARGE'],
    [
      'a reference',
      `/docs/${OWN}?include=author.posts&fields=id,author.posts.id`,
      `{ doc(id: ${OWN}) { author { posts { id } } } }`,
      'TOO_MANY_OBJECTS',
    ],
    [
      'a list',
      `/docs/${OWN}?include=lines&fields=id,lines.id`,
      `{ doc(id: ${OWN}) { lines { id } } }`,
      'TOO_MANY_OBJECTS',
    ],
  ])('what is shown to the caller counts: %s', async (_, url, query, code) => {
    expect((await short.rest('GET', url, undefined, eve)).body.code).toBe(code);
    expect((await short.graphql(query, {}, eve)).errors?.[0].extensions.code).toBe(code);
  });
});
