/** All or nothing, through both doors: the same effects and errors as single writes, or no effect at all. */

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { type AppUnderTest, databases, openApp } from '../app.ts';

const sdl = `
  type User @resource { id: ID!  name: String! @constraint(minLength: 1)  email: String @unique  posts: [Post!]! }
  type Post @resource { id: ID!  title: String!  author: User!  extra: JSON }
  type Tag @resource { code: ID! @key  label: String  words: [String!] }
  type Log @resource(only: [LIST, GET]) { id: ID! }`;

describe.each([...databases])('on %s', (database) => {
  let app: AppUnderTest;
  beforeAll(async () => {
    app = await openApp(database, { sdl, env: { LIMIT_OPERATIONS: '20' } });
  });
  afterAll(() => app.close());

  const send = (operations: unknown) => app.rest('POST', '/transaction', { operations });
  const counts = async () =>
    Promise.all(['/users', '/posts', '/tags'].map(async (path) => (await app.rest('GET', path)).body.length));

  test('a list of values can be that of an earlier result, or have values of one in it', async () => {
    const { body } = await send([
      { method: 'POST', path: '/tags', body: { code: 'a', label: 'A', words: ['x', 'y'] }, as: 'a' },
      { method: 'POST', path: '/tags', body: { code: 'b', words: { $ref: 'a.words' } }, as: 'b' },
      { method: 'PUT', path: '/tags/b', body: { words: [{ $ref: 'a.label' }, 'z'] } },
      { method: 'DELETE', path: '/tags/a' },
      { method: 'DELETE', path: '/tags/b' },
    ]);
    expect(body.results.slice(1, 3).map((each: any) => each.body.words)).toEqual([
      ['x', 'y'],
      ['A', 'z'],
    ]);
  });

  test('operations can use the results of earlier ones', async () => {
    const { status, headers, body } = await send([
      { method: 'POST', path: '/users', body: { name: 'Ada', email: 'a@x' }, as: 'u' },
      {
        method: 'POST',
        path: '/posts',
        body: { title: 'One', authorId: { $ref: 'u.id' }, extra: { $ref: 'kept' } },
        as: 'p',
      },
      { method: 'POST', path: '/tags', body: { code: 't', label: { $ref: 'p.title' } } },
      { method: 'PUT', path: '/tags/t', body: { label: 'Two' } },
      { method: 'POST', path: '/tags', body: { code: 'gone' } },
      { method: 'DELETE', path: '/tags/gone' },
    ]);
    expect([status, headers.get('Content-Type')]).toEqual([200, 'application/json']);
    const [user, post, tag, changed, , deleted] = body.results;
    expect(user).toEqual({
      status: 201,
      headers: { Location: `/users/${user.body.id}`, ETag: expect.any(String) },
      body: { id: user.body.id, name: 'Ada', email: 'a@x' },
    });
    expect(post.body).toMatchObject({ authorId: user.body.id, extra: { $ref: 'kept' } });
    expect(tag.body.label).toBe('One');
    expect(changed).toMatchObject({ status: 200, body: { code: 't', label: 'Two' } });
    expect(deleted).toEqual({ status: 204, headers: {} });
    expect((await app.rest('GET', `/posts/${post.body.id}`)).body.authorId).toBe(user.body.id);
    expect((await app.rest('GET', '/tags/gone')).status).toBe(404);
  });

  test('results can be used in lists, in nested records and in writes on many', async () => {
    const { body } = await send([
      { method: 'POST', path: '/users/', body: { name: 'Bob', posts: [] }, as: 'b' },
      {
        method: 'POST',
        path: '/posts',
        body: [
          { title: 'x', authorId: { $ref: 'b.id' } },
          { title: { $ref: 'b.name' }, authorId: { $ref: 'b.id' } },
        ],
      },
      { method: 'POST', path: '/users', body: { name: 'Cy', posts: [{ title: { $ref: 'b.name' } }] } },
      {
        method: 'PUT',
        path: '/posts',
        where: { title: { eq: 'x' } },
        atMost: 5,
        body: { title: { $ref: 'b.name' } },
      },
    ]);
    expect(body.results.map(({ status }: any) => status)).toEqual([201, 201, 201, 200]);
    expect((await app.rest('GET', '/posts?title=Bob')).body.length).toBe(3);
    await send([{ method: 'DELETE', path: '/posts', where: { title: { eq: 'Bob' } }, atMost: 3 }]);
  });

  test('a guard that an operation does not have is not ignored', async () => {
    const { body } = await send([
      { method: 'DELETE', path: '/tags/t', where: {} },
      { method: 'PUT', path: '/tags', where: {}, atMost: 1, ifMatch: '"1-x"', body: { label: 'x' } },
      { method: 'POST', path: '/tags', body: { code: 'z' }, ifMatch: '*' },
      { method: 'POST', path: '/posts', body: { title: 't', authorId: { $ref: 'u.id.x' } } },
    ]);
    expect(body.errors.map((error: any) => `${error.pointer} ${error.code}`)).toEqual([
      '#/operations/0/where UNKNOWN',
      '#/operations/1/ifMatch UNKNOWN',
      '#/operations/2/ifMatch UNKNOWN',
      '#/operations/3/body/authorId UNKNOWN',
    ]);
    expect((await app.rest('POST', '/transaction?x=1', { operations: [] })).body.errors[0].code).toBe(
      'UNKNOWN',
    );
  });

  const first = { method: 'POST', path: '/users', body: { name: 'New' } };
  const failing: [string, Record<string, unknown>, number, string, string[]][] = [
    [
      'invalid fields',
      { method: 'POST', path: '/users', body: { name: '', email: 1 } },
      400,
      'VALIDATION_FAILED',
      ['#/operations/1/body/name LENGTH', '#/operations/1/body/email TYPE'],
    ],
    [
      'a collision',
      { method: 'POST', path: '/users', body: { name: 'x', email: 'a@x' } },
      409,
      'CONFLICT',
      ['#/operations/1/body/email NOT_UNIQUE'],
    ],
    [
      'a reference to nothing',
      { method: 'POST', path: '/posts', body: { title: 't', authorId: 4711 } },
      409,
      'CONFLICT',
      ['#/operations/1/body/authorId REFERENCE_NOT_FOUND'],
    ],
    ['a missing record', { method: 'PUT', path: '/users/4711', body: { name: 'x' } }, 404, 'NOT_FOUND', []],
    [
      'a stale version',
      { method: 'PUT', path: '/tags/t', body: { label: 'x' }, ifMatch: '"0-0"' },
      412,
      'VERSION_CONFLICT',
      [],
    ],
    [
      'a record that others point to',
      { method: 'DELETE', path: '/users/1' },
      409,
      'CONFLICT',
      ['#/operations/1/body STILL_REFERENCED'],
    ],
  ];
  test.each(failing)(
    '%s undoes everything, with the index of the one that failed',
    async (_, second, status, code, faults) => {
      const before = await counts();
      const answer = await send([first, second, first]);
      expect([answer.status, answer.body.code, answer.body.operation]).toEqual([status, code, 1]);
      expect((answer.body.errors ?? []).map((error: any) => `${error.pointer} ${error.code}`)).toEqual(
        faults,
      );
      expect(await counts()).toEqual(before);
    },
  );

  const malformed: [string, unknown, string[]][] = [
    ['no operations', undefined, ['#/operations REQUIRED']],
    ['an empty list', [], ['#/operations REQUIRED']],
    ['another method', [{ method: 'GET', path: '/users' }], ['#/operations/0/method ENUM']],
    ['an unknown path', [{ method: 'POST', path: '/nope', body: {} }], ['#/operations/0/path UNKNOWN']],
    [
      'a path that does not take it',
      [
        { method: 'POST', path: '/logs', body: {} },
        { method: 'POST', path: '/users/1', body: {} },
      ],
      ['#/operations/0/path UNKNOWN', '#/operations/1/path UNKNOWN'],
    ],
    [
      'a path longer than a URL may be',
      [{ ...first, path: `/users?fields=${'name,'.repeat(2000)}name` }],
      ['#/operations/0/path LENGTH'],
    ],
    ['no body', [{ method: 'POST', path: '/users' }], ['#/operations/0/body REQUIRED']],
    ['an unknown member', [{ ...first, foo: 1 }], ['#/operations/0/foo UNKNOWN']],
    [
      'a name twice',
      [
        { ...first, as: 'a' },
        { ...first, as: 'a' },
      ],
      ['#/operations/1/as FORMAT'],
    ],
    [
      'a result that is not there yet',
      [
        { method: 'POST', path: '/posts', body: { title: 't', authorId: { $ref: 'u.id' } } },
        { ...first, as: 'u' },
      ],
      ['#/operations/0/body/authorId UNKNOWN'],
    ],
    ...[['u.id'], { toString: 1, valueOf: 1 }, 1].map((text): (typeof malformed)[number] => [
      `a result that is named by ${JSON.stringify(text)}`,
      [
        { ...first, as: 'u' },
        { method: 'POST', path: '/posts', body: { title: 't', authorId: { $ref: text } } },
      ],
      ['#/operations/1/body/authorId UNKNOWN'],
    ]),
    [
      'a field that is not there',
      [
        { ...first, as: 'u' },
        { method: 'POST', path: '/posts', body: { title: 't', authorId: { $ref: 'u.nope' } } },
      ],
      ['#/operations/1/body/authorId UNKNOWN'],
    ],
  ];
  test.each(malformed)('%s is refused before anything is done', async (_, operations, faults) => {
    const before = app.statements.length;
    const { status, body } = await send(operations);
    expect([status, body.code]).toEqual([400, 'VALIDATION_FAILED']);
    expect(body.errors.map((error: any) => `${error.pointer} ${error.code}`)).toEqual(faults);
    expect(app.statements.length).toBe(before);
  });

  test('as many operations as the limit pass, one more does not', async () => {
    const many = (count: number) => Array.from({ length: count }, () => first);
    const before = await counts();
    expect((await send(many(21))).body.code).toBe('TOO_MANY_OPERATIONS');
    // They are counted before any of them is read.
    expect((await send(many(20).concat({} as any))).body.code).toBe('TOO_MANY_OPERATIONS');
    expect(await counts()).toEqual(before);
    expect((await send(many(20))).body.results.length).toBe(20);
  });

  test('only POST is answered', async () => {
    const { status, headers } = await app.rest('GET', '/transaction');
    expect([status, headers.get('Allow')]).toEqual([405, 'POST, OPTIONS']);
  });

  describe('mutation @atomic', () => {
    test('performs all fields, and each answers as it would alone', async () => {
      const { body } = await app.graphql(`mutation @atomic {
        a: createUser(name: "A") { id name posts { id } }
        ...More
        __typename
      }
      fragment More on Mutation { b: createTag(code: "atomic") { code } c: updateTag(code: "atomic", label: "l") { label _version } }`);
      expect(body).toEqual({
        data: {
          a: { id: expect.any(String), name: 'A', posts: [] },
          b: { code: 'atomic' },
          c: { label: 'l', _version: 2 },
          __typename: 'Mutation',
        },
      });
    });

    test.each([
      ['createUser(name: "") { id }', 'VALIDATION_FAILED'],
      ['createUser(name: "x", email: "a@x") { id }', 'CONFLICT'],
      ['createPost(title: "t", authorId: "4711") { id }', 'CONFLICT'],
      ['updateUser(id: "4711", name: "x") { id }', 'NOT_FOUND'],
      ['updateTag(code: "t", label: "x", ifVersion: 4711) { label }', 'VERSION_CONFLICT'],
    ])('%s undoes everything: data is null, and the path is told', async (field, code) => {
      const before = await counts();
      const { status, body } = await app.graphql(
        `mutation @atomic { one: createUser(name: "A") { id } two: ${field} three: createUser(name: "B") { id } }`,
      );
      expect(status).toBe(200);
      expect(body.data).toBeNull();
      expect(body.errors.length).toBe(1);
      expect([body.errors[0].path, body.errors[0].extensions.code]).toEqual([['two'], code]);
      expect(await counts()).toEqual(before);
    });

    test('too many fields are refused', async () => {
      const fields = Array.from({ length: 21 }, (_, index) => `f${index}: createUser(name: "A") { id }`).join(
        ' ',
      );
      const { body } = await app.graphql(`mutation @atomic { ${fields} }`);
      expect([body.data, body.errors[0].extensions.code]).toEqual([null, 'TOO_MANY_OPERATIONS']);
      // They are counted before any of them is read, as through REST.
      const faulty = await app.graphql(
        `mutation @atomic { a: deleteUsers(where: {}, atMost: -1) { id } ${fields} }`,
      );
      expect(faulty.body.errors[0].extensions.code).toBe('TOO_MANY_OPERATIONS');
    });

    test('belongs on mutations only', async () => {
      const { errors } = await app.graphql('query @atomic { users { id } }');
      expect(errors?.[0].extensions.code).toBe('GRAPHQL_VALIDATION_FAILED');
    });
  });
});
