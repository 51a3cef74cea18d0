/** What the journal says, applied to an empty copy, is what the tables have: after any writes, at any position, by either door. */

import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { type AppUnderTest, databases, openApp, openEmptied } from '../app.ts';

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

const things = `
enum Size { S M L }
type Thing @resource @journal {
  id: ID!  text: String  fold: String @caseless  int: Int  float: Float  flag: Boolean  size: Size  uuid: UUID
  on: Date  at: DateTime  price: Decimal @decimal(scale: 2)  big: BigInt  tags: [String!]  more: JSON
}
`;
const uuids = ['01890a5d-ac96-774b-bcce-b302099a8057', '01890A5D-AC96-774B-BCCE-B302099A8058'];
const samples: Record<string, readonly unknown[]> = {
  text: ['', 'a', 'A', 'ab', '\u{10000}', '\uffff', null],
  fold: ['ä', 'Ä', 'b', null],
  int: [-1, 0, 7, null],
  float: [0.5, 7, -0.25, 1e21, 1e-7, null],
  flag: [true, false, null],
  size: ['S', 'L', null],
  uuid: [...uuids, null],
  on: ['2026-01-01', '2026-01-02', null],
  at: [
    '0001-01-01T00:00:00.000Z',
    '2026-01-01T00:00:00.000Z',
    '2026-01-01T01:00:00+01:00',
    '2026-01-02T00:00:00.001Z',
    null,
  ],
  price: ['1.00', '0.99', null],
  big: ['9007199254740993', '-1', null],
  tags: [[], ['a'], ['a', 'b'], null],
};
/** Operators that a column does not have are refused alike. */
const condition = fc.constantFrom(...Object.keys(samples)).chain((column) => {
  const given = (samples[column] ?? []).flat().filter((each) => each !== null);
  const value = fc.constantFrom(...given);
  const values = fc.array(value, { minLength: 1, maxLength: 3 });
  const one = fc.constantFrom('eq', 'ne', 'gt', 'gte', 'lt', 'lte', 'contains', 'startsWith', 'endsWith');
  const operator = fc.oneof(
    fc.tuple(one, value),
    fc.tuple(fc.constantFrom('in', 'hasSome', 'hasEvery'), values),
    fc.tuple(fc.constant('isNull'), fc.boolean()),
  );
  return operator.map(([name, operand]) => ({ [column]: { [name]: operand } }));
});
const { where } = fc.letrec<{ where: object }>((tie) => ({
  where: fc.oneof(
    { maxDepth: 2 },
    condition,
    fc.record({ not: tie('where') }),
    fc.record({ or: fc.array(tie('where'), { minLength: 1, maxLength: 3 }) }),
    fc.record({ and: fc.array(tie('where'), { minLength: 1, maxLength: 3 }) }),
  ),
}));

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

  test('a filter asked of changes matches what it does of records', async () => {
    const app = await openApp(database, { sdl: things });
    for (let row = 0; row < 12; row++) {
      const values = Object.entries(samples).map(([name, of], at) => [name, of[(row + at) % of.length]]);
      const more = { b: row / 3, a: [null, '"\u{1f600}\n'] };
      const { status } = await app.rest('POST', '/things', { ...Object.fromEntries(values), more });
      expect(status).toBe(201);
    }
    const { body: records } = await app.rest('GET', '/things');
    const { body: changes } = await app.rest('GET', '/changes/things');
    expect(changes.map(({ after }: any) => after)).toEqual(records);
    const keys = async (path: string, where: object, of: (each: any) => unknown) => {
      const { status, body } = await app.rest(
        'GET',
        `${path}?where=${encodeURIComponent(JSON.stringify(where))}`,
      );
      return status === 200 ? body.map(of) : body.errors.map(({ code }: any) => code);
    };
    await fc.assert(
      fc.asyncProperty(where, async (asked) => {
        const listed = await keys('/things', asked, ({ id }) => id);
        expect([asked, await keys('/changes/things', asked, ({ key }) => key)]).toEqual([asked, listed]);
      }),
      { numRuns: database === 'sqlite' ? 300 : 100 },
    );
    await app.close();
  });
});
