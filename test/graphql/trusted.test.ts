/** Trusted documents: named by id, checked when the server starts, and all that is carried out where so set. */

import { describe, expect, test } from 'bun:test';
import { command, Folder, Server } from '../process.ts';

const one = 'query One($id: ID!) { book(id: $id) { title } }';
const all = 'query All { books { id } }';
const hash = new Bun.CryptoHasher('sha256').update(all).digest('hex');
const flat = { one, [hash]: all };
const apollo = {
  format: 'apollo-persisted-query-manifest',
  version: 1,
  operations: [
    { id: 'one', name: 'One', type: 'query', body: one },
    { id: hash, name: 'All', type: 'query', body: all },
  ],
};

async function asker(manifest: unknown, env: Record<string, string>) {
  const folder = new Folder({ 'trusted.json': JSON.stringify(manifest) });
  const server = await Server.start(folder, { TRUSTED_DOCUMENTS: 'trusted.json', ...env });
  return {
    ask: async (body: unknown, Accept = 'application/json') => {
      const headers = { 'Content-Type': 'application/json', Accept };
      const init = { method: 'POST', headers, body: JSON.stringify(body) };
      const answer = await fetch(`${server.url}/graphql`, init);
      return { status: answer.status, body: (await answer.json()) as any };
    },
    url: server.url,
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]();
      folder[Symbol.dispose]();
    },
  };
}

describe.each([
  ['a flat object', flat],
  ['a manifest of Apollo', apollo],
])('%s', (_, manifest) => {
  test('names documents beside others', async () => {
    await using server = await asker(manifest, {});
    const dune = { data: { book: { title: 'Dune' } } };
    expect(await server.ask({ documentId: 'one', variables: { id: '1' } })).toEqual({
      status: 200,
      body: dune,
    });
    for (const documentId of [hash, `sha256:${hash}`])
      expect((await server.ask({ documentId })).body.data.books.length).toBeGreaterThan(1);
    expect((await server.ask({ query: all })).body.data.books.length).toBeGreaterThan(1);
    expect((await server.ask({ query: all, documentId: null })).status).toBe(200);
    for (const body of [{ query: all, documentId: 'one' }, { documentId: 1 }, {}]) {
      const answer = await server.ask(body);
      expect([answer.status, answer.body.errors[0].extensions.code]).toEqual([400, 'MALFORMED_BODY']);
    }
    for (const documentId of ['two', '', `md5:${hash}`, '__proto__', 'constructor']) {
      const answer = await server.ask({ documentId });
      expect([answer.status, answer.body.errors[0].extensions.code]).toEqual([200, 'DOCUMENT_NOT_FOUND']);
      const newer = await server.ask({ documentId }, 'application/graphql-response+json');
      expect([newer.status, newer.body.data]).toEqual([400, undefined]);
    }
  });
});

test('alone, where everything else is refused', async () => {
  await using server = await asker(flat, { TRUSTED_DOCUMENTS_ONLY: 'on' });
  expect((await server.ask({ documentId: hash })).body.data.books.length).toBeGreaterThan(1);
  for (const query of [
    all,
    '{ __schema { types { name } } }',
    'mutation { deleteBook(id: "1") { id } }',
    '{',
  ]) {
    const answer = await server.ask({ query }, 'application/graphql-response+json');
    expect([answer.status, answer.body.errors[0].extensions.code]).toEqual([400, 'DOCUMENT_NOT_TRUSTED']);
  }
  expect((await fetch(`${server.url}/books/1`)).status).toBe(200);
});

test('without a manifest, documentId is one of the keys that are ignored', async () => {
  using folder = new Folder();
  await using server = await Server.start(folder);
  const body = JSON.stringify({ query: all, documentId: 'one' });
  const init = { method: 'POST', headers: { 'Content-Type': 'application/json' }, body };
  expect((await fetch(`${server.url}/graphql`, init)).status).toBe(200);
});

describe('a manifest that is not sound is told at the start, and nothing is served', () => {
  const rows: [string, string, string][] = [
    ['{', '', 'duet: trusted.json is not valid JSON\n'],
    ['[]', '', 'duet: trusted.json must be an object: of documents by id, or a persisted query manifest\n'],
    ['{"a":1}', '', 'duet: trusted.json: every document must have an id and a text\n'],
    [
      '{"format":"apollo-persisted-query-manifest","operations":[{"id":"a"}]}',
      '',
      'duet: trusted.json: every document must have an id and a text\n',
    ],
    [
      '{"format":"x","operations":[]}',
      '',
      'duet: trusted.json has a format that is not known: apollo-persisted-query-manifest is\n',
    ],
    [
      JSON.stringify({ ...apollo, operations: [...apollo.operations, { id: 'one', body: all }] }),
      '',
      'duet: trusted.json: two documents have the id "one"\n',
    ],
    [
      '{"a":"{ nothing }","b":"{","c":"{ books { id } }"}',
      '',
      'duet: trusted.json: document "a": Cannot query field "nothing" on type "Query".\nduet: trusted.json: document "b": Syntax Error: Expected Name, found <EOF>.\n',
    ],
    ['{}', 'other.json', 'duet: cannot read other.json'],
  ];
  test.each(rows)('%s', async (manifest, file, message) => {
    using folder = new Folder({ 'trusted.json': manifest });
    const env = { TRUSTED_DOCUMENTS: file || 'trusted.json' };
    const { stdout, stderr, exit } = await command(folder, ['serve'], env);
    expect([stdout, exit]).toEqual(['', 2]);
    expect(stderr).toStartWith(message);
  });

  test('to trust nothing else, there must be something', async () => {
    using folder = new Folder();
    const { stderr, exit } = await command(folder, ['serve'], { TRUSTED_DOCUMENTS_ONLY: 'on' });
    expect([stderr, exit]).toEqual(['duet: TRUSTED_DOCUMENTS_ONLY needs TRUSTED_DOCUMENTS\n', 2]);
  });
});
