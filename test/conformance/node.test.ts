/** `node(id:)`: a record by its UUID alone, with the rights, the fields and the faults of asking for it by its type. */

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { type AppUnderTest, databases, openApp } from '../app.ts';
import { headersOf, SECRET } from './access-matrix.ts';

const sdl = `
  type Author @resource @allow(to: [READ, CREATE]) { id: UUID! name: String! books: [Book!]! }
  type Book @resource @allow(to: [READ, CREATE]) { id: UUID! title: String! pages: Int! author: Author }
  type Diary @resource @allow(to: [READ, CREATE], role: "owner") { id: UUID! title: String! }
  type Note @resource(only: [LIST, CREATE]) @allow(to: [READ, CREATE]) { id: UUID! title: String! }
  type Tag @resource @allow(to: [READ]) { id: ID! name: String! }
`;
const memoSdl = `
  type Memo @resource @allow(to: [READ, CREATE, UPDATE, DELETE]) {
    id: UUID!
    text: String! @unique
    secret: String @allow(to: [READ], role: "owner") @allow(to: [CREATE])
    replies: [Reply!]!
  }
  type Reply @resource @allow(to: [READ]) { id: UUID! memo: Memo secret: String @allow(to: [READ], role: "owner") }
  type Letter @resource @allow(to: [READ]) { id: UUID! secret: String }
`;
const anyone = await headersOf({ name: 'anyone', claims: { sub: 'eve' } });
const owner = await headersOf({ name: 'the owner of diaries', claims: { sub: 'ann', roles: ['owner'] } });

for (const database of databases)
  describe(`on ${database}`, () => {
    let app: AppUnderTest;
    const ids: Record<string, string> = {};
    beforeAll(async () => {
      app = await openApp(database, { sdl, env: { AUTH_SECRET: SECRET } });
      const { data } = await app.graphql(
        `mutation {
          author: createAuthor(name: "Ann", books: [{ title: "One", pages: 3 }]) { id books { id } }
          diary: createDiary(title: "Mine") { id }
          note: createNote(title: "Listed") { id }
        }`,
        {},
        owner,
      );
      ids['author'] = data.author.id;
      ids['book'] = data.author.books[0].id;
      ids['diary'] = data.diary.id;
      ids['note'] = data.note.id;
    });
    afterAll(() => app.close());

    const query = `query($id: UUID!) {
      node(id: $id) {
        __typename
        id
        ...Named
        ... on Book { label: title pages author { ...Named } }
        ... on Diary { label: title }
      }
    }
    fragment Named on Author { name books { title } ... on Node { same: id } }`;
    const node = async (name: string, headers = {}) => app.graphql(query, { id: ids[name] ?? name }, headers);

    test('it is found whatever its type, with what the fragments on that type ask for', async () => {
      const author = { name: 'Ann', books: [{ title: 'One' }], same: ids['author'] };
      expect((await node('author')).data).toEqual({
        node: { __typename: 'Author', id: ids['author'], ...author },
      });
      expect((await node('book')).data).toEqual({
        node: { __typename: 'Book', id: ids['book'], label: 'One', pages: 3, author },
      });
      expect((await node('diary', owner)).data.node).toEqual({
        __typename: 'Diary',
        id: ids['diary'],
        label: 'Mine',
      });
    });

    test('what is not there, cannot be got or may not be read is null', async () => {
      for (const name of ['diary', 'note', '01890f5a-0000-7000-8000-000000000000', 'nonsense']) {
        const { data, errors } = await node(name);
        expect([name, data, errors]).toEqual([name, { node: null }, undefined]);
      }
    });

    test('each of the types is asked once, for what is wanted of it', async () => {
      await node('book');
      app.statements.length = 0;
      const { data } = await app.graphql(
        `{ node(id: "${ids['book']}") { ... on Diary { title } ... on Book { pages } } }`,
      );
      expect(data.node).toEqual({ pages: 3 });
      const reads = app.statements.filter((statement) => statement.startsWith('SELECT'));
      expect(reads.length).toBe(2);
      // What a fragment on another type asks for is not read.
      expect(reads.join()).not.toContain('title');
    });

    test('fields that cannot be merged are refused as the reference implementation does', async () => {
      const ask = async (selection: string) =>
        (await app.graphql(`{ node(id: "${ids['book']}") { ${selection} } }`)).errors?.[0]?.message;
      expect(await ask('... on Book { x: title } ... on Author { x: name }')).toBeUndefined();
      expect(await ask('... on Book { x: title } ... on Author { x: books { id } }')).toStartWith(
        'Fields "x" conflict because they return conflicting types "String!" and "[Book!]!".',
      );
      expect(await ask('... on Book { x: title x: pages }')).toStartWith(
        'Fields "x" conflict because "title" and "pages" are different fields.',
      );
      expect(await ask('title')).toStartWith('Cannot query field "title" on type "Node".');
    });

    test('fields of other types have names of their own, and count all the same', async () => {
      const memos = await openApp(database, { sdl: memoSdl, env: { LIMIT_FIELDS: '20' } });
      await memos.rest('POST', '/memos', { text: 'x' });
      const asked = (ofMemo: string, ofLetter: string) =>
        memos.graphql(`{ memos { x: ${ofMemo} ... on Node { ... on Letter { x: ${ofLetter} } } } }`);
      expect((await asked('__typename', 'secret')).data).toEqual({ memos: [{ x: 'Memo' }] });
      expect((await asked('text', 'secret')).errors?.[0].message).toContain('conflicting types');
      const ids = (many: number) => Array.from({ length: many }, (_, at) => `f${at}: id`).join(' ');
      const many = (field: string) =>
        memos.graphql(
          `{ memos { x: replies { ${field} } ... on Node { ... on Letter { x: __typename } } } }`,
        );
      expect((await many(ids(25))).errors?.[0].message).toBe('The operation has more than 20 fields.');
      await memos.close();
    });

    test('what a fragment asks of another type is not answered, whatever this one has by that name', async () => {
      const memos = await openApp(database, { sdl: memoSdl, env: { AUTH_SECRET: SECRET } });
      const { body } = await memos
        .unguarded()
        .rest('POST', '/memos', { text: 'x', secret: 'told to nobody' });
      const id = `id: "${body.id}"`;
      const asked = '{ ... on Node { ... on Letter { secret } } ...Of }';
      const of = 'fragment Of on Node { __typename ... on Letter { also: secret } }';
      const memo = { __typename: 'Memo' };
      for (const [operation, answer] of [
        [`{ all: memos ${asked} }`, [memo]],
        [`{ all: memo(${id}) ${asked} }`, memo],
        [`{ all: node(${id}) ${asked} }`, memo],
        [`mutation { all: createMemo(text: "y", secret: "mine") ${asked} }`, memo],
        [`mutation { all: createMemos(records: [{ text: "w", secret: "mine" }]) ${asked} }`, [memo]],
        [`mutation { all: updateMemo(${id}, text: "z") ${asked} }`, memo],
        [
          `mutation { all: updateMemos(where: { id: { eq: "${body.id}" } }, set: { text: "z" }, atMost: 1) ${asked} }`,
          [memo],
        ],
        [`mutation @atomic { all: updateMemo(${id}, text: "z") ${asked} }`, memo],
        [`mutation { all: upsertMemo(by: text, text: "z") ${asked} }`, memo],
        [`mutation { all: deleteMemo(${id}) ${asked} }`, memo],
      ] as const) {
        const { data, errors } = await memos.graphql(`${operation} ${of}`, {}, anyone);
        expect([operation, data, errors]).toEqual([operation, { all: answer }, undefined]);
      }
      await memos.close();
    });

    test('what may not be used in a question is refused, and not answered as if nothing were there', async () => {
      const memos = await openApp(database, { sdl: memoSdl, env: { AUTH_SECRET: SECRET } });
      const { body } = await memos
        .unguarded()
        .rest('POST', '/memos', { text: 'x', replies: [{ secret: 'y' }] });
      const asked = (id: string) =>
        memos.graphql(
          `{ node(id: "${id}") { __typename ... on Memo { replies(orderBy: [{ secret: ASC }]) { id } } } }`,
          {},
          anyone,
        );
      for (const id of [body.id, '01890f5a-0000-7000-8000-000000000000']) {
        const { data, errors } = await asked(id);
        expect([data, errors?.[0]?.extensions.code]).toEqual([{ node: null }, 'FORBIDDEN']);
      }
      const { body: letters } = await memos.unguarded().rest('POST', '/letters', { secret: 'z' });
      expect((await asked(letters.id)).data).toEqual({ node: { __typename: 'Letter' } });
      await memos.close();
    });

    test('the schema says which types there are', async () => {
      const { data } = await app.graphql('{ __type(name: "Node") { possibleTypes { name } } }');
      expect(data.__type.possibleTypes.map(({ name }: any) => name).sort()).toEqual([
        'Author',
        'Book',
        'Diary',
      ]);
    });
  });

test('a file that needs the names keeps them', async () => {
  for (const own of [
    'type Node @resource { id: UUID! name: String! }',
    'type Knot @resource(plural: "node") { id: UUID! }',
  ]) {
    const app = await openApp('sqlite', { sdl: `${own} type Book @resource { id: UUID! }` });
    const text = await (await app.fetch('/schema.graphql')).text();
    expect(text).not.toContain('interface Node');
    await app.close();
  }
});
