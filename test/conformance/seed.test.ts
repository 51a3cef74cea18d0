/** Every row of every table that the service was asked for, on both doors. */

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { type AppUnderTest, databases, openApp } from '../app.ts';

const collections = {
  books: { valid: { title: 'Emma', pages: 474 }, change: { pages: 475 }, full: { author: null } },
  tasks: { valid: { title: 'Sweep' }, change: { done: true }, full: { description: null, done: false } },
  notes: { valid: { title: 'Idea' }, change: { body: 'more' }, full: { body: '' } },
  items: { valid: { name: 'Pen' }, change: { quantity: 0 }, full: { price: null, quantity: 1 } },
  users: { valid: { name: 'Eve', email: 'eve@example.com' }, change: { name: 'Eva' }, full: {} },
  posts: { valid: { title: 'T', body: '', authorId: 1 }, change: { body: 'b' }, full: {} },
  comments: { valid: { body: 'c', postId: 1 }, change: { postId: 2 }, full: {} },
  todos: { valid: { title: 'Rest' }, change: { done: true }, full: { done: false } },
} as const;

describe.each([...databases])('on %s', (database) => {
  let app: AppUnderTest;
  beforeAll(async () => {
    app = await openApp(database);
  });
  afterAll(() => app.close());

  describe.each(Object.entries(collections))('/%s', (name, { valid, change, full }) => {
    test('GET lists a bare array in the order of ids', async () => {
      const { status, headers, body } = await app.rest('GET', `/${name}`);
      expect(status).toBe(200);
      expect(headers.get('Content-Type')).toBe('application/json');
      const ids = body.map((record: { id: number }) => record.id);
      expect(ids.length).toBeGreaterThan(1);
      expect(ids).toEqual(ids.toSorted((a: number, b: number) => a - b));
      expect(ids[0]).toBe(1);
    });

    test('POST, GET, PUT, DELETE of one record', async () => {
      const created = await app.rest('POST', `/${name}`, valid);
      const { id } = created.body;
      expect(created.status).toBe(201);
      expect(created.headers.get('Location')).toBe(`/${name}/${id}`);
      expect(created.body).toEqual({ id, ...full, ...valid });

      const found = await app.rest('GET', `/${name}/${id}`);
      expect(found.status).toBe(200);
      expect(found.body).toEqual(created.body);

      const updated = await app.rest('PUT', `/${name}/${id}`, change);
      expect(updated.status).toBe(200);
      expect(updated.body).toEqual({ ...created.body, ...change });
      expect((await app.rest('GET', `/${name}/${id}`)).body).toEqual(updated.body);

      const deleted = await app.rest('DELETE', `/${name}/${id}`);
      expect(deleted.status).toBe(204);
      expect(deleted.body).toBe('');
      expect(deleted.headers.get('Content-Type')).toBeNull();
      for (const [method, input] of [['GET'], ['PUT', change], ['DELETE']] as const)
        expect((await app.rest(method, `/${name}/${id}`, input)).status).toBe(404);
    });

    test('POST without a required field is 400 and creates nothing', async () => {
      const before = (await app.rest('GET', `/${name}`)).body;
      const { status, body } = await app.rest('POST', `/${name}`, {});
      expect(status).toBe(400);
      expect(body.code).toBe('VALIDATION_FAILED');
      const pointers = body.errors.map((error: { pointer: string }) => error.pointer);
      expect(pointers).toEqual(Object.keys(valid).map((field) => `#/${field}`));
      expect((await app.rest('GET', `/${name}`)).body).toEqual(before);
    });

    test('other methods are 405 with what is allowed', async () => {
      const refused = [
        ['PUT', `/${name}`, 'GET, HEAD, POST, OPTIONS'],
        ['DELETE', `/${name}`, 'GET, HEAD, POST, OPTIONS'],
        ['PATCH', `/${name}`, 'GET, HEAD, POST, OPTIONS'],
        ['PATCH', `/${name}/1`, 'GET, HEAD, PUT, DELETE, OPTIONS'],
        ['POST', `/${name}/1`, 'GET, HEAD, PUT, DELETE, OPTIONS'],
        ['PROPFIND', `/${name}/1`, 'GET, HEAD, PUT, DELETE, OPTIONS'],
      ] as const;
      for (const [method, path, allow] of refused) {
        const { status, headers, body } = await app.rest(method, path);
        expect([method, path, status]).toEqual([method, path, 405]);
        expect(headers.get('Allow')).toBe(allow);
        expect(body.code).toBe('METHOD_NOT_ALLOWED');
      }
    });
  });

  describe('greetings', () => {
    const languages = ['en', 'es', 'fr', 'de', 'it', 'pt', 'nl', 'pl', 'ja', 'zh', 'ko', 'hi', 'ar'];
    test.each(languages)('GET /greet/%s is the same as greeting(lang:)', async (lang) => {
      const { status, body } = await app.rest('GET', `/greet/${lang}`);
      expect(status).toBe(200);
      expect(body).toEqual({ lang, greeting: expect.stringMatching(/.+/u) });
      const { data } = await app.graphql('query($lang: ID!) { greeting(lang: $lang) { lang greeting } }', {
        lang,
      });
      expect(data.greeting).toEqual(body);
    });

    test('an unknown language is 404, or null', async () => {
      expect((await app.rest('GET', '/greet/xx')).status).toBe(404);
      expect((await app.graphql('{ greeting(lang: "xx") { lang } }')).body).toEqual({
        data: { greeting: null },
      });
    });

    test('only GET is there, and no list', async () => {
      expect((await app.rest('GET', '/greet')).status).toBe(404);
      const put = await app.rest('PUT', '/greet/en', { greeting: 'Hi' });
      expect(put.status).toBe(405);
      expect(put.headers.get('Allow')).toBe('GET, HEAD, OPTIONS');
      expect((await app.graphql('{ greetings { lang } }')).errors?.[0].message).toStartWith(
        'Cannot query field "greetings" on type "Query".',
      );
    });
  });

  describe('GraphQL types and roots', () => {
    const types = {
      User: { id: 'ID!', name: 'String!', email: 'String!', posts: '[Post!]!' },
      Post: { id: 'ID!', title: 'String!', body: 'String!', comments: '[Comment!]!' },
      Book: { id: 'ID!', title: 'String!', pages: 'Int!' },
      Todo: { id: 'ID!', title: 'String!', done: 'Boolean!' },
      Comment: { body: 'String!' },
    };
    const roots = {
      Query: {
        user: '(id: ID!): User',
        users: ': [User!]!',
        book: '(id: ID!): Book',
        books: ': [Book!]!',
        todos: ': [Todo!]!',
      },
      Mutation: {
        createUser: '(name: String!, email: String!): User!',
        addTodo: '(title: String!): Todo!',
      },
    };

    test('every field has its type', async () => {
      for (const [type, fields] of Object.entries(types))
        for (const [field, wanted] of Object.entries(fields))
          expect([type, field, (await fieldsOf(app, type))[field]?.type]).toEqual([type, field, wanted]);
    });

    test('every root field has its required arguments and its return type', async () => {
      for (const [root, fields] of Object.entries(roots))
        for (const [field, wanted] of Object.entries(fields)) {
          const found = (await fieldsOf(app, root))[field];
          const required = found?.args.filter(({ type }) => type.endsWith('!')) ?? [];
          const list = required.map(({ name, type }) => `${name}: ${type}`).join(', ');
          expect(`${field}${list && `(${list})`}: ${found?.type}`).toBe(`${field}${wanted}`);
        }
    });

    test('every root field answers', async () => {
      const { body } = await app.graphql(`{
        user(id: 1) { id name email posts { id title body comments { body } } }
        users { id } book(id: "1") { id title pages } books { id } todos { id title done }
        nobody: user(id: 4711) { id } nothing: book(id: 4711) { id }
      }`);
      expect(body.errors).toBeUndefined();
      expect(body.data.user.posts[0].comments[0].body).toBe('A hundred years early.');
      expect(body.data.book).toEqual({ id: '1', title: 'Dune', pages: 412 });
      expect(body.data.users.length).toBeGreaterThan(0);
      expect([body.data.nobody, body.data.nothing]).toEqual([null, null]);
    });

    test('the mutations change what REST shows', async () => {
      const { data } = await app.graphql(`mutation {
        createUser(name: "Kay", email: "kay@example.com") { id name posts { id } }
        addTodo(title: "Sleep") { id title done }
      }`);
      expect(data.createUser).toEqual({ id: expect.any(String), name: 'Kay', posts: [] });
      expect(data.addTodo).toEqual({ id: expect.any(String), title: 'Sleep', done: false });
      expect((await app.rest('GET', `/users/${data.createUser.id}`)).body.email).toBe('kay@example.com');
      expect((await app.rest('GET', `/todos/${data.addTodo.id}`)).body.title).toBe('Sleep');
    });

    test('a write under query is refused, and nothing is written', async () => {
      const before = (await app.rest('GET', '/todos')).body;
      const { body } = await app.graphql('query { addTodo(title: "no") { id } }');
      expect(body).toEqual({
        errors: [
          expect.objectContaining({
            message: expect.stringMatching(/^Cannot query field "addTodo" on type "Query"\./),
          }),
        ],
      });
      expect((await app.rest('GET', '/todos')).body).toEqual(before);
    });

    test('nothing is appended to the endpoint', async () => {
      for (const path of ['/graphql/users', '/v1/books', '/graphql/graphql'])
        expect((await app.rest('POST', path, { query: '{ users { id } }' })).status).toBe(404);
    });
  });
});

interface Introspected {
  readonly type: string;
  readonly args: { readonly name: string; readonly type: string }[];
}

async function fieldsOf(app: AppUnderTest, type: string): Promise<Record<string, Introspected | undefined>> {
  const { data } = await app.graphql(
    `query($type: String!) {
      __type(name: $type) { fields { name type { ...T } args { name type { ...T } } } }
    }
    fragment T on __Type { kind name ofType { kind name ofType { kind name ofType { kind name } } } }`,
    { type },
  );
  const written = ({ kind, name, ofType }: any): string => {
    if (kind === 'NON_NULL') return `${written(ofType)}!`;
    return kind === 'LIST' ? `[${written(ofType)}]` : name;
  };
  const entries = data.__type.fields.map((field: any) => [
    field.name,
    {
      type: written(field.type),
      args: field.args.map((arg: any) => ({ name: arg.name, type: written(arg.type) })),
    },
  ]);
  return Object.fromEntries(entries);
}
