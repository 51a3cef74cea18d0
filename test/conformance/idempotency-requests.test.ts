/** Which requests are the same under one Idempotency-Key: those that differ in nothing at all. */

import { describe, expect, test } from 'bun:test';
import { type AppUnderTest, databases, JSON_HEADERS, openApp } from '../app.ts';

const sdl = `
  type Note @resource { id: ID!  title: String!  label: Label }
  type Draft @resource { id: ID!  title: String!  label: Label }
  type Label @resource { name: ID! @key  title: String! }`;
const data = {
  labels: [
    { name: 'a', title: 'a' },
    { name: 'A', title: 'A' },
  ],
  notes: [{ title: 'n1' }, { title: 'n2' }, { title: 'n3' }],
  drafts: [{ title: 'd1' }, { title: 'd2' }],
};

type Sent = readonly [method: string, path: string, body?: unknown, headers?: Record<string, string>];

const renaming = 'mutation($id: ID!, $title: String) { updateNote(id: $id, title: $title) { id title } }';
const removing = 'mutation($id: ID!) { deleteNote(id: $id) { id } }';
const two =
  'mutation One { updateNote(id: "1", title: "x") { id } } mutation Two { updateNote(id: "2", title: "x") { id } }';
const graphql = (query: string, variables?: unknown, operationName?: string): Sent => [
  'POST',
  '/graphql',
  { query, variables, operationName },
];
const transaction = (...operations: unknown[]): Sent => ['POST', '/transaction', { operations }];
const title = { title: 'x' };

/** Each carried out with a key of its own would succeed; they differ in what the name says, and in nothing else. */
const pairs: Record<string, readonly [Sent, Sent]> = {
  'the record of an update': [
    ['PUT', '/notes/1', title],
    ['PUT', '/notes/2', title],
  ],
  'a digit of its number': [
    ['PUT', '/notes/1', title],
    ['PUT', '/notes/11', title],
  ],
  'the record of an update, by a natural key': [
    ['PUT', '/labels/a', title],
    ['PUT', '/labels/A', title],
  ],
  'the record of a delete': [
    ['DELETE', '/notes/1'],
    ['DELETE', '/notes/2'],
  ],
  'the resource of a create': [
    ['POST', '/notes', title],
    ['POST', '/drafts', title],
  ],
  'the resource of an update': [
    ['PUT', '/notes/1', title],
    ['PUT', '/drafts/1', title],
  ],
  'the resource of a delete': [
    ['DELETE', '/notes/1'],
    ['DELETE', '/drafts/1'],
  ],
  'create and update': [
    ['POST', '/notes', title],
    ['PUT', '/notes/1', title],
  ],
  'update and delete': [
    ['PUT', '/notes/1', title],
    ['DELETE', '/notes/1', title],
  ],
  'a field of the body': [
    ['PUT', '/notes/1', title],
    ['PUT', '/notes/1', { title: 'y' }],
  ],
  'a field more': [
    ['POST', '/notes', title],
    ['POST', '/notes', { ...title, labelId: null }],
  ],
  'a condition': [
    ['PUT', '/notes/1', title],
    ['PUT', '/notes/1', title, { 'If-Match': '*' }],
  ],
  'the condition of a delete': [
    ['DELETE', '/notes/1', undefined, { 'If-Match': '*' }],
    ['DELETE', '/notes/1'],
  ],
  'a variable that names a record to update': [
    graphql(renaming, { id: '1', title: 'x' }),
    graphql(renaming, { id: '2', title: 'x' }),
  ],
  'a variable that names a record to delete': [
    graphql(removing, { id: '1' }),
    graphql(removing, { id: '2' }),
  ],
  'a variable that is left out': [
    graphql(renaming, { id: '1', title: 'x' }),
    graphql('mutation($id: ID!, $title: String = "y") { updateNote(id: $id, title: $title) { id title } }', {
      id: '1',
    }),
  ],
  'the document': [
    graphql('mutation { createNote(title: "x") { id } }'),
    graphql('mutation { createDraft(title: "x") { id } }'),
  ],
  'what is selected': [
    graphql('mutation { createNote(title: "x") { id } }'),
    graphql('mutation { createNote(title: "x") { id title } }'),
  ],
  'which operation of a document': [graphql(two, undefined, 'One'), graphql(two, undefined, 'Two')],
  'the record of an operation of a transaction': [
    transaction({ method: 'PUT', path: '/notes/1', body: title }),
    transaction({ method: 'PUT', path: '/notes/2', body: title }),
  ],
  'the method of an operation of a transaction': [
    transaction({ method: 'PUT', path: '/notes/1', body: title }),
    transaction({ method: 'DELETE', path: '/notes/1' }),
  ],
  'the filter of a write on many': [
    transaction({ method: 'DELETE', path: '/notes', where: { id: { eq: 1 } }, atMost: 1 }),
    transaction({ method: 'DELETE', path: '/notes', where: { id: { eq: 2 } }, atMost: 1 }),
  ],
  'the door': [['PUT', '/notes/1', title], graphql(renaming, { id: '1', title: 'x' })],
};

describe.each([...databases])('on %s', (database) => {
  const headers = { 'Idempotency-Key': 'k' };
  const send = (app: AppUnderTest, [method, path, body, more]: Sent) =>
    app.rest(method, path, body, { ...headers, ...more });
  const state = async (app: AppUnderTest) =>
    Promise.all(['notes', 'drafts', 'labels'].map(async (name) => (await app.rest('GET', `/${name}`)).body));
  const withEleven = { ...data, notes: [...data.notes, ...Array.from({ length: 8 }, () => title)] };

  test.each(Object.entries(pairs))('%s makes it another request', async (_, pair) => {
    for (const [first, second] of [pair, pair.toReversed() as [Sent, Sent]]) {
      const app = await openApp(database, { sdl, data: withEleven });
      const answer = await send(app, first);
      expect([answer.status < 300, answer.body.errors]).toEqual([true, undefined]);
      const after = await state(app);
      const { status, body } = await send(app, second);
      // What was deleted is told to be missing, whatever the key.
      const isGone = first[0] === 'DELETE' && first[1] === second[1];
      const told = body.code ?? body.errors?.[0].extensions.code;
      expect(told).toBe(isGone ? 'NOT_FOUND' : 'IDEMPOTENCY_MISMATCH');
      if (second[1] !== '/graphql') expect(status).toBe(isGone ? 404 : 422);
      expect(await state(app)).toEqual(after);
      const again = await send(app, first);
      expect([again.status, again.body]).toEqual([answer.status, answer.body]);
      expect(await state(app)).toEqual(after);
      await app.close();
    }
  });

  test('the record of an update, by a natural key that ends as another body begins', async () => {
    const labels = ['a', 'a\n', 'a\\n'].map((name) => ({ name, title: name }));
    const app = await openApp(database, { sdl, data: { labels } });
    const put = async (path: string, body: string) => {
      const init = { method: 'PUT', headers: { ...JSON_HEADERS, ...headers }, body };
      return (await app.fetch(path, init)).status;
    };
    const body = JSON.stringify(title);
    expect(await put('/labels/a', `\n${body}`)).toBe(200);
    for (const path of ['/labels/a%0A', '/labels/a%5Cn']) expect(await put(path, body)).toBe(422);
    await app.close();
  });

  test('the same record by another spelling of its path is the same request', async () => {
    const app = await openApp(database, { sdl, data });
    const first = await app.rest('PUT', '/notes/1', title, headers);
    for (const path of ['/notes/%31', '/notes/1/']) {
      const again = await app.rest('PUT', path, title, headers);
      expect([path, again.status, again.headers.get('ETag')]).toEqual([path, 200, first.headers.get('ETag')]);
    }
    await app.close();
  });
});
