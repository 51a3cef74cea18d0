/** What the journal says, applied to an empty copy, is what the tables have: after any writes, at any position, by either door. */

import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { type AppUnderTest, databases, openEmptied } from '../app.ts';

const sdl = `
type Author @resource @journal { id: ID! name: String! @unique books: [Book!]! @inverse(of: "author") }
type Book @resource @journal {
  id: ID!
  title: String!
  pages: Int! @default(value: 1)
  author: Author @onDelete(do: CASCADE)
  editor: Author @onDelete(do: SET_NULL)
  updated: DateTime! @updatedAt
}
`;

const id = fc.integer({ min: 1, max: 3 });
const name = fc.constantFrom('Ann', 'Bob', 'Cid');
const step = fc.oneof(
  fc.record({ do: fc.constant('author'), name, books: fc.integer({ min: 0, max: 2 }) }),
  fc.record({ do: fc.constant('upsert'), name }),
  fc.record({ do: fc.constant('book'), author: fc.option(id), editor: fc.option(id) }),
  fc.record({ do: fc.constant('edit'), id, pages: fc.integer({ min: 1, max: 9 }), editor: fc.option(id) }),
  fc.record({ do: fc.constant('add'), id }),
  fc.record({ do: fc.constant('edit many'), least: fc.integer({ min: 1, max: 4 }) }),
  fc.record({ do: fc.constant('delete book'), id }),
  fc.record({ do: fc.constant('delete author'), id }),
  fc.record({ do: fc.constant('restore'), id, version: fc.option(fc.integer({ min: 1, max: 4 })) }),
  fc.record({ do: fc.constant('both'), id, aborts: fc.boolean() }),
);

/** So that most of what follows has something to do. */
const begin = [
  { do: 'author', name: 'Ann', books: 1 },
  { do: 'upsert', name: 'Bob' },
  { do: 'book', author: null, editor: 2 },
];

/** Whether it succeeds does not matter: what fails has not happened. */
async function perform(app: AppUnderTest, each: any): Promise<void> {
  switch (each.do) {
    case 'author': {
      const books = Array.from({ length: each.books }, (_, index) => ({ title: `b${index}` }));
      await app.rest('POST', '/authors', { name: each.name, books });
      return;
    }
    case 'upsert':
      await app.rest('POST', '/authors?upsert=name', { name: each.name });
      return;
    case 'book':
      await app.rest('POST', '/books', { title: 't', authorId: each.author, editorId: each.editor });
      return;
    case 'edit':
      await app.rest('PUT', `/books/${each.id}`, { pages: each.pages, editorId: each.editor });
      return;
    case 'add':
      await app.graphql(`mutation { updateBook(id: ${each.id}, _inc: { pages: 1 }) { id } }`);
      return;
    case 'edit many':
      await app.graphql(
        `mutation { updateBooks(where: { pages: { gte: ${each.least} } }, set: { title: "many" }, atMost: 99) { id } }`,
      );
      return;
    case 'delete book':
      await app.graphql(`mutation { deleteBook(id: ${each.id}) { id } }`);
      return;
    case 'delete author':
      await app.rest('DELETE', `/authors/${each.id}`);
      return;
    case 'restore':
      await app.rest('POST', `/books/${each.id}/restore`, { version: each.version ?? undefined });
      return;
    case 'both':
      await app.graphql(
        `mutation @atomic { createBook(title: "x") { id } updateBook(id: ${each.id}, pages: 7) { id } ${each.aborts ? 'deleteBook(id: 999) { id }' : ''} }`,
      );
  }
}

type Copy = Map<string, any>;

function applied(copy: Copy, { resource, key, kind, before, after }: any): void {
  const at = `${resource} ${key}`;
  // What it was before is what the copy has: nothing was left out, and nothing came twice.
  expect([at, kind, copy.get(at) ?? null]).toEqual([at, kind, before]);
  if (after) copy.set(at, after);
  else copy.delete(at);
}

async function tables(app: AppUnderTest): Promise<Copy> {
  const copy: Copy = new Map();
  for (const [path, type] of [
    ['/authors', 'Author'],
    ['/books', 'Book'],
  ])
    for (const record of (await app.rest('GET', path as string)).body)
      copy.set(`${type} ${record.id}`, record);
  return copy;
}

const inOrder = (copy: Copy) => [...copy].sort(([a], [b]) => (a < b ? -1 : 1));

describe.each([...databases])('on %s', (database) => {
  test('a copy that follows is the same as the tables, after every write', async () => {
    await using worlds = await openEmptied(database, { sdl });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 6, maxLength: 16 }), async (steps) => {
        const app = await worlds.next();
        const copy: Copy = new Map();
        let after = '';
        for (const each of [...begin, ...steps]) {
          await perform(app, each);
          const { body, headers } = await app.rest('GET', `/changes?limit=1000${after}`);
          for (const change of body) applied(copy, change);
          after = `&after=${headers.get('Changes-Position')}`;
          expect(inOrder(copy)).toEqual(inOrder(await tables(app)));
        }
        const { data } = await app.graphql('{ changes(first: 1000) { resource key kind before after } }');
        const other: Copy = new Map();
        for (const change of data.changes) applied(other, change);
        expect(inOrder(other)).toEqual(inOrder(copy));
      }),
      { numRuns: database === 'sqlite' ? 60 : 15 },
    );
  });
});
