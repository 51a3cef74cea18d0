/** GraphQL to the letter: documents, messages, nulls, the envelope, media types and statuses. */

import { Database } from 'bun:sqlite';
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildClientSchema, buildSchema, getIntrospectionQuery } from 'graphql';
import { type AppUnderTest, databases, JSON_HEADERS, openApp, shipped } from '../app.ts';

const GRAPHQL_TYPE = 'application/graphql-response+json';

describe.each([...databases])('on %s', (database) => {
  let app: AppUnderTest;
  beforeAll(async () => {
    app = await openApp(database);
  });
  afterAll(() => app.close());

  const code = (errors: any[] | undefined) => errors?.map((error) => error.extensions.code);

  describe('documents', () => {
    test('fragments, aliases and variables', async () => {
      const { body } = await app.graphql(
        `query Both($one: ID!, $two: ID!) {
          first: user(id: $one) { ...Person }
          second: user(id: $two) { ...Person ... on User { mail: email } }
        }
        fragment Person on User { name posts { ...Title } }
        fragment Title on Post { headline: title __typename }`,
        { one: '1', two: 2 },
      );
      expect(body.errors).toBeUndefined();
      expect(body.data.first).toEqual({
        name: 'Ada Lovelace',
        posts: [
          { headline: 'Notes on the Analytical Engine', __typename: 'Post' },
          { headline: 'On Bernoulli numbers', __typename: 'Post' },
        ],
      });
      expect(body.data.second.mail).toBe('grace@example.com');
    });

    test('the answer has the keys of the selection, in its order, and no others', async () => {
      const response = await app.fetch('/graphql', {
        method: 'POST',
        headers: JSON_HEADERS,
        body: JSON.stringify({ query: '{ book(id: 1) { pages b: id title } }' }),
      });
      expect(await response.text()).toBe('{"data":{"book":{"pages":412,"b":"1","title":"Dune"}}}');
    });

    test('one relation under two names, and an alias that is the name of a column', async () => {
      const { data } = await app.graphql(
        '{ user(id: 1) { id name: posts { id } posts: name again: posts { title comments { id } } } }',
      );
      expect(data.user.id).toBe('1');
      expect(data.user.posts).toBe('Ada Lovelace');
      expect(data.user.name).toEqual([{ id: '1' }, { id: '2' }]);
      expect(data.user.again[0].comments).toEqual([{ id: '1' }, { id: '2' }]);
    });

    test('the same relation selected twice is merged', async () => {
      const { data } = await app.graphql('{ post(id: 3) { author { id } author { name posts { id } } } }');
      expect(data.post.author).toEqual({ id: '2', name: 'Grace Hopper', posts: [{ id: '3' }] });
    });

    test('@skip and @include, with literals and variables, on fields and fragments', async () => {
      const { data } = await app.graphql(
        `query($no: Boolean!) { book(id: 1) {
          id @skip(if: true) title @include(if: true) pages @include(if: $no)
          ... @include(if: $no) { author }
        } post(id: 1) { id author @skip(if: true) { name } comments @include(if: $no) { id } } }`,
        { no: false },
      );
      expect(data).toEqual({ book: { title: 'Dune' }, post: { id: '1' } });
    });

    test('only __typename', async () => {
      expect((await app.graphql('{ __typename books { __typename } }')).data).toEqual({
        __typename: 'Query',
        books: Array(shipped.data.books.length).fill({ __typename: 'Book' }),
      });
    });

    test('the standard introspection query gives a whole schema', async () => {
      const { body } = await app.graphql(getIntrospectionQuery());
      expect(body.errors).toBeUndefined();
      expect(buildClientSchema(body.data).getQueryType()?.getFields()['books']).toBeDefined();
    });

    test('/schema.graphql is a schema, and the same one', async () => {
      const response = await app.fetch('/schema.graphql');
      const schema = buildSchema(await response.text());
      expect(Object.keys(schema.getMutationType()?.getFields() ?? {})).toContain('addTodo');
    });

    test('an ID is canonical digits, and no rounding finds a neighbour', async () => {
      for (const id of ['abc', '1.0', '01', '-1', '0', ' 1', '9007199254740993', ''])
        expect((await app.graphql('query($id: ID!) { book(id: $id) { id } }', { id })).body).toEqual({
          data: { book: null },
        });
      expect((await app.graphql('{ book(id: 9007199254740993) { id } }')).body).toEqual({
        data: { book: null },
      });
      const unsafe = await app.rest('POST', '/graphql', undefined);
      expect(unsafe.status).toBe(400);
      const response = await app.fetch('/graphql', {
        method: 'POST',
        headers: JSON_HEADERS,
        body: '{"query":"query($id: ID!) { book(id: $id) { id } }","variables":{"id":9007199254740993}}',
      });
      const answer = (await response.json()) as any;
      expect(answer.data).toBeUndefined();
      expect(code(answer.errors)).toEqual(['BAD_USER_INPUT']);
    });
  });

  describe('the choice of operation', () => {
    const query = 'query A { book(id: 1) { id } } query B { book(id: 2) { id } }';
    const send = (body: unknown) => app.rest('POST', '/graphql', body);

    test('is by name where there are several', async () => {
      expect((await send({ query, operationName: 'B' })).body).toEqual({ data: { book: { id: '2' } } });
    });

    test.each([
      [{ query }, 'Must provide operation name if query contains multiple operations.'],
      [{ query, operationName: 'C' }, 'Unknown operation named "C".'],
      [{ query, operationName: null }, 'Must provide operation name if query contains multiple operations.'],
    ])('fails for %j', async (envelope, message) => {
      const { body } = await send(envelope);
      expect(body).toEqual({ errors: [{ message, extensions: { code: 'OPERATION_RESOLUTION_FAILURE' } }] });
    });
  });

  describe('errors before execution have no data, and a code', () => {
    const rows: [string, string, unknown, string, string | RegExp][] = [
      ['a syntax error', '{ books { id }', {}, 'GRAPHQL_PARSE_FAILED', /^Syntax Error/],
      ['an empty document', '', {}, 'GRAPHQL_PARSE_FAILED', /^Syntax Error/],
      [
        'a misspelt field',
        '{ book(id: 1) { titel } }',
        {},
        'GRAPHQL_VALIDATION_FAILED',
        'Cannot query field "titel" on type "Book". Did you mean "title"?',
      ],
      [
        'an unknown field',
        '{ book(id: 1) { zzz } }',
        {},
        'GRAPHQL_VALIDATION_FAILED',
        'Cannot query field "zzz" on type "Book".',
      ],
      ['a missing argument', '{ book { id } }', {}, 'GRAPHQL_VALIDATION_FAILED', /of type "ID!" is required/],
      [
        'a wrong literal',
        'mutation { createBook(title: 1, pages: 1) { id } }',
        {},
        'GRAPHQL_VALIDATION_FAILED',
        /^String cannot represent/,
      ],
      ['a missing variable', 'query($id: ID!) { book(id: $id) { id } }', {}, 'BAD_USER_INPUT', /\$id/],
      [
        'a wrong variable',
        'mutation($p: Int!) { createBook(title: "t", pages: $p) { id } }',
        { p: '412' },
        'BAD_USER_INPUT',
        /Int cannot represent/,
      ],
      [
        'a fragment circle',
        '{ books { ...A } } fragment A on Book { ...A }',
        {},
        'GRAPHQL_VALIDATION_FAILED',
        /itself/,
      ],
      ['a subscription', 'subscription { books { id } }', {}, 'GRAPHQL_VALIDATION_FAILED', /subscription/],
      [
        'a leaf with a selection',
        '{ books { id { x } } }',
        {},
        'GRAPHQL_VALIDATION_FAILED',
        /must not have a selection/,
      ],
    ];
    test.each(rows)('%s', async (_, query, variables, wanted, message) => {
      const plain = await app.rest('POST', '/graphql', { query, variables });
      expect(plain.status).toBe(200);
      expect(Object.keys(plain.body)).toEqual(['errors']);
      expect(code(plain.body.errors)).toEqual([wanted]);
      expect(plain.body.errors[0].message).toMatch(message);
      const strict = await app.rest('POST', '/graphql', { query, variables }, { Accept: GRAPHQL_TYPE });
      expect(strict.status).toBe(400);
      expect(strict.body).toEqual(plain.body);
    });

    test('nothing is resolved before the whole operation is valid', async () => {
      const before = app.statements.length;
      await app.graphql('mutation { addTodo(title: "x") { id } nope }');
      expect(app.statements.length).toBe(before);
    });
  });

  describe('the envelope', () => {
    const good = '{ __typename }';
    const bad: [string, string, Record<string, string>?][] = [
      ['no body', ''],
      ['bad JSON', '{"query":'],
      ['an array', `[{"query":"${good}"}]`],
      ['no query', '{}'],
      ['query is null', '{"query":null}'],
      ['query is a number', '{"query":1}'],
      ['variables is an array', `{"query":"${good}","variables":[]}`],
      ['variables is a string', `{"query":"${good}","variables":"{}"}`],
      ['operationName is a number', `{"query":"${good}","operationName":1}`],
      ['extensions is a list', `{"query":"${good}","extensions":[]}`],
      ['text/plain', `{"query":"${good}"}`, { 'Content-Type': 'text/plain' }],
      ['application/graphql', good, { 'Content-Type': 'application/graphql' }],
    ];
    // All three are given: in place of one that is not, the runner would hand over a callback and wait for it.
    const whole = bad.map(([name, body, headers = {}]) => [name, body, headers] as const);
    test.each(whole)('%s is 400 with either media type', async (_, body, headers) => {
      for (const Accept of ['application/json', GRAPHQL_TYPE]) {
        const response = await app.fetch('/graphql', {
          method: 'POST',
          headers: { ...JSON_HEADERS, ...headers, Accept },
          body,
        });
        expect(response.status).toBe(400);
        expect(response.headers.get('Content-Type')).toBe(Accept);
        const answer = (await response.json()) as any;
        expect(Object.keys(answer)).toEqual(['errors']);
        expect(answer.errors[0].message).toBeString();
      }
    });

    test.each([
      { query: good, variables: null, operationName: null, extensions: null },
      { query: good, variables: {}, extensions: { a: 1 }, unknown: [1] },
    ])('%j is fine', async (envelope) => {
      expect((await app.rest('POST', '/graphql', envelope)).body).toEqual({ data: { __typename: 'Query' } });
    });

    test.each(['PUT', 'DELETE', 'PATCH'])('%s is 405', async (method) => {
      const { status, headers } = await app.rest(method, `/graphql?query=${encodeURIComponent(good)}`);
      expect([status, headers.get('Allow')]).toEqual([405, 'POST, OPTIONS']);
    });

    test('over 1 MiB is 413', async () => {
      const { status, body } = await app.rest('POST', '/graphql', {
        query: good,
        pad: 'a'.repeat(1_048_576),
      });
      expect([status, code(body.errors)]).toEqual([413, ['BODY_TOO_LARGE']]);
    });
  });

  describe('by GET', () => {
    const get = (parameters: Record<string, string>, headers?: Record<string, string>, method = 'GET') =>
      app.rest(method, `/graphql?${new URLSearchParams(parameters)}`, undefined, headers);
    const byId = 'query One($id: ID!) { book(id: $id) { id title } }  query Other { __typename }';

    test.each([
      [{ query: '{ __typename }' }, { __typename: 'Query' }],
      [
        { query: '{ __typename }', variables: '', operationName: '', extensions: '' },
        { __typename: 'Query' },
      ],
      [{ query: '{ __typename }', variables: 'null', extensions: '{}' }, { __typename: 'Query' }],
      [{ query: '{ __typename }', unknown: '1', documentId: 'x' }, { __typename: 'Query' }],
      [{ query: byId, operationName: 'Other' }, { __typename: 'Query' }],
    ])('%j is answered', async (parameters, data) => {
      const { status, body, headers } = await get(parameters);
      expect([status, body]).toEqual([200, { data }]);
      expect(headers.get('Content-Type')).toBe('application/json');
    });

    test('a query answers as by POST', async () => {
      const variables = { id: '1' };
      const posted = await app.rest('POST', '/graphql', { query: byId, variables, operationName: 'One' });
      const got = await get({ query: byId, variables: JSON.stringify(variables), operationName: 'One' });
      expect(got.body).toEqual(posted.body);
      expect(got.body.data.book.id).toBe('1');
      const head = await get({ query: '{ __typename }' }, {}, 'HEAD');
      expect([head.status, head.body]).toEqual([200, '']);
    });

    test.each([
      ['nothing', {}],
      ['an empty document', { query: '' }],
      ['a document that is not to be found here', { documentId: 'x' }],
      ['a mutation', { query: 'mutation { createNote(title: "by GET") { id } }' }],
      [
        'a mutation by name',
        { query: 'query A { __typename } mutation B { addTodo(title: "x") { id } }', operationName: 'B' },
      ],
    ])('%s is 405', async (_, parameters: Record<string, string>) => {
      const before = (await app.rest('GET', '/notes')).body.length;
      const { status, headers, body } = await get(parameters);
      expect([status, headers.get('Allow'), code(body.errors)]).toEqual([
        405,
        'POST, OPTIONS',
        ['METHOD_NOT_ALLOWED'],
      ]);
      expect((await app.rest('GET', '/notes')).body.length).toBe(before);
    });

    test.each(['[]', '1', '{', '"x"', '['.repeat(40)])('variables=%s are 400', async (variables) => {
      const { status, body } = await get({ query: '{ __typename }', variables });
      expect([status, code(body.errors)]).toEqual([400, ['VALIDATION_FAILED']]);
      expect(body.errors[0].extensions.errors[0].parameter).toBe('variables');
    });

    test('a parameter that is given twice is 400', async () => {
      const { status } = await app.rest('GET', '/graphql?query=%7Ba%7D&query=%7Bb%7D');
      expect(status).toBe(400);
    });

    test('request errors have the status of their media type', async () => {
      const type = 'application/graphql-response+json';
      expect((await get({ query: '{ nope }' })).status).toBe(200);
      expect((await get({ query: '{ nope }' }, { Accept: type })).status).toBe(400);
      expect((await get({ query: '{ __typename }' }, { Accept: 'text/html' })).status).toBe(406);
      expect((await get({ query: `{ ${'a'.repeat(9000)} }` })).status).toBe(414);
    });
  });

  describe('media types', () => {
    test.each([
      [undefined, 'application/json'],
      ['*/*', 'application/json'],
      ['application/*', 'application/json'],
      ['application/json', 'application/json'],
      [GRAPHQL_TYPE, GRAPHQL_TYPE],
      [`${GRAPHQL_TYPE}; charset=utf-8, application/json; charset=utf-8`, GRAPHQL_TYPE],
      [`application/json, ${GRAPHQL_TYPE}`, 'application/json'],
      [`application/json;q=0.5, ${GRAPHQL_TYPE};q=0.9`, GRAPHQL_TYPE],
      [`application/json;q=0.9, ${GRAPHQL_TYPE};q=0.5`, 'application/json'],
      [`${GRAPHQL_TYPE};q=0, */*`, 'application/json'],
      [`application/json;q=0, */*;q=0.1`, GRAPHQL_TYPE],
      [`text/html, ${GRAPHQL_TYPE};q=0.2`, GRAPHQL_TYPE],
      ['APPLICATION/JSON', 'application/json'],
    ])('Accept: %s gives %s', async (accept, type) => {
      const { status, headers } = await app.rest(
        'POST',
        '/graphql',
        { query: '{ __typename }' },
        accept ? { Accept: accept } : {},
      );
      expect([status, headers.get('Content-Type')]).toEqual([200, type]);
    });

    test.each(['text/html', 'image/*', 'application/json;q=0'])('Accept: %s is 406', async (accept) => {
      const { status, headers, body } = await app.rest(
        'POST',
        '/graphql',
        { query: '{ __typename }' },
        { Accept: accept },
      );
      expect([status, headers.get('Content-Type'), code(body.errors)]).toEqual([
        406,
        'application/json',
        ['NOT_ACCEPTABLE'],
      ]);
    });
  });

  describe('mutations', () => {
    test('run one after another, each with its own error and path; what is fine stays', async () => {
      const { status, body } = await app.graphql(`mutation {
        a: createTask(title: "one") { id title }
        b: updateTask(id: "4711", title: "none") { id }
        c: updateTask(id: "1", title: "") { id }
        d: deleteTask(id: "4711") { id }
        e: updateTask(id: "1", done: true) { id done }
      }`);
      expect(status).toBe(200);
      expect(body.data).toEqual({
        a: { id: '3', title: 'one' },
        b: null,
        c: null,
        d: null,
        e: { id: '1', done: true },
      });
      expect(body.errors.map((error: any) => [error.path, error.extensions.code])).toEqual([
        [['b'], 'NOT_FOUND'],
        [['c'], 'VALIDATION_FAILED'],
        [['d'], 'NOT_FOUND'],
      ]);
    });

    test('a create that fails bubbles to data, since it cannot be null', async () => {
      const { status, body } = await app.graphql('mutation { createBook(title: "", pages: 0) { id } }');
      expect(status).toBe(200);
      expect(body.data).toBeNull();
      expect(body.errors[0].extensions).toEqual({
        code: 'VALIDATION_FAILED',
        errors: [
          { pointer: '#/title', code: 'LENGTH', detail: 'title must have at least 1 character' },
          { pointer: '#/pages', code: 'OUT_OF_RANGE', detail: 'pages must be 1 or more' },
        ],
      });
    });

    test('a delete answers with the record as it was', async () => {
      const { data: made } = await app.graphql(
        'mutation { createComment(body: "bye", postId: 3) { id post { title } } }',
      );
      expect(made.createComment.post.title).toBe('The first bug');
      const { data } = await app.graphql(
        'mutation($id: ID!) { deleteComment(id: $id) { body post { author { name } } } }',
        {
          id: made.createComment.id,
        },
      );
      expect(data.deleteComment).toEqual({ body: 'bye', post: { author: { name: 'Grace Hopper' } } });
      expect((await app.rest('GET', `/comments/${made.createComment.id}`)).status).toBe(404);
    });

    test('deleting what others point to is CONFLICT', async () => {
      const { body } = await app.graphql('mutation { deleteUser(id: 1) { id } }');
      expect(body.data).toEqual({ deleteUser: null });
      expect(code(body.errors)).toEqual(['CONFLICT']);
    });

    test('ifVersion holds against _version', async () => {
      const { data: made } = await app.graphql('mutation { createNote(title: "v") { id _version } }');
      const { id, _version: first } = made.createNote;
      const update =
        'mutation($id: ID!, $v: Int) { updateNote(id: $id, title: "w", ifVersion: $v) { _version } }';
      const { data } = await app.graphql(update, { id, v: first });
      expect(data.updateNote._version).toBeGreaterThan(first);
      expect(code((await app.graphql(update, { id, v: first })).errors)).toEqual(['VERSION_CONFLICT']);
      const remove = 'mutation($id: ID!, $v: Int) { deleteNote(id: $id, ifVersion: $v) { id } }';
      expect(code((await app.graphql(remove, { id, v: first })).errors)).toEqual(['VERSION_CONFLICT']);
      expect((await app.graphql(remove, { id, v: data.updateNote._version })).errors).toBeUndefined();
    });

    test('an update without a field to change is refused', async () => {
      const { errors } = await app.graphql('mutation { updateNote(id: 1) { id } }');
      expect(errors?.[0].extensions.errors[0].code).toBe('EMPTY');
    });
  });
});

describe('a null where the schema promises a value', () => {
  const folder = mkdtempSync(join(tmpdir(), 'duet-'));
  const path = join(folder, 'broken.db');
  let app: AppUnderTest;
  beforeAll(async () => {
    app = await openApp('sqlite', { ...shipped, url: `sqlite:${path}` });
    // What another program may have done to the file: posts of nobody.
    const other = new Database(path);
    other.run('PRAGMA foreign_keys = OFF');
    other.run('DELETE FROM "User" WHERE "id" = 1');
    other.close();
  });
  afterAll(async () => {
    await app.close();
    rmSync(folder, { recursive: true });
  });

  test('bubbles to the nearest nullable place with its path, and siblings survive', async () => {
    const { status, body } = await app.graphql(
      '{ broken: post(id: 1) { title author { name } } whole: post(id: 3) { author { name } } book(id: 1) { title } }',
    );
    expect(status).toBe(200);
    expect(body).toEqual({
      errors: [
        {
          message: 'Cannot return null for non-nullable field Post.author.',
          locations: [{ line: 1, column: 31 }],
          path: ['broken', 'author'],
          extensions: { code: 'INTERNAL' },
        },
      ],
      data: { broken: null, whole: { author: { name: 'Grace Hopper' } }, book: { title: 'Dune' } },
    });
  });

  test('bubbles through lists to data', async () => {
    const { status, body } = await app.graphql('{ posts { author { name } } }');
    expect(status).toBe(200);
    expect(body.data).toBeNull();
    expect(body.errors[0].path).toEqual(['posts', 0, 'author']);
  });
});

describe('root fields of the file', () => {
  test('replace derived ones and keep what they leave out away, but can take a version', async () => {
    const app = await openApp('sqlite', {
      sdl: `
        type Note @resource { id: ID!  title: String!  body: String! @default(value: "") }
        type Query { note(id: ID!): Note  allNotes: [Note!]! @operation(is: LIST) }
        type Mutation {
          createNote(title: String!): Note!
          rename(id: ID!, title: String!, ifVersion: Int): Note @operation(is: UPDATE)
          drop(id: ID!, ifVersion: Int!): Note @operation(is: DELETE)
        }`,
    });
    const { errors } = await app.graphql('mutation { createNote(title: "a", body: "b") { id } }');
    expect(errors?.[0].message).toStartWith('Unknown argument "body" on field "Mutation.createNote".');
    await app.graphql('mutation { createNote(title: "a") { id } }');
    const stale = await app.graphql('mutation { rename(id: 1, title: "b", ifVersion: 7) { id } }');
    expect(stale.errors?.[0].extensions.code).toBe('VERSION_CONFLICT');
    expect(
      (await app.graphql('mutation { rename(id: 1, title: "b", ifVersion: 1) { title } }')).data.rename.title,
    ).toBe('b');
    expect((await app.graphql('{ allNotes { title _version } }')).data.allNotes).toEqual([
      { title: 'b', _version: 2 },
    ]);
    expect((await app.graphql('mutation { drop(id: 1, ifVersion: 2) { title } }')).data.drop.title).toBe('b');
    await app.close();
  });
});

describe('with introspection off', () => {
  let app: AppUnderTest;
  beforeAll(async () => {
    app = await openApp('sqlite', { ...shipped, env: { INTROSPECTION: 'off' } });
  });
  afterAll(() => app.close());

  test('nothing tells the schema', async () => {
    const { errors } = await app.graphql('{ __schema { types { name } } }');
    expect(errors?.[0].message).toContain('introspection');
    const misspelt = await app.graphql('{ book(id: 1) { titel } }');
    expect(misspelt.errors?.[0].message).toBe('Cannot query field "titel" on type "Book".');
    for (const path of ['/schema.graphql', '/']) expect((await app.rest('GET', path)).status).toBe(404);
    expect((await app.graphql('{ book(id: 1) { title } }')).data.book.title).toBe('Dune');
  });
});
