/** Functions that run after the commit: on every path each runs once per record, with what the record was and is. */

import { Database } from 'bun:sqlite';
import { beforeEach, describe, expect, test } from 'bun:test';
import {
  type AppUnderTest,
  type DatabaseKind,
  databases,
  openApp,
  openEmptied,
  sharedPostgres,
} from '../app.ts';
import { Folder } from '../process.ts';

const sdl = `
  type Author @resource { id: ID!  name: String!  books: [Book!]! }
  type Book @resource {
    id: ID!
    title: String!
    code: String @unique
    pages: Int! @default(value: 1)
    author: Author @onDelete(do: CASCADE)
    rack: Rack @onDelete(do: SET_NULL)
    tags: [Tag!]! @through(type: "BookTag")
    bookTags: [BookTag!]!
  }
  type Rack @resource { id: ID!  count: Int!  books: [Book!]! }
  type Lamp @resource { id: ID!  name: String!  rack: Rack @onDelete(do: SET_NULL)  house: House @onDelete(do: CASCADE) }
  type House @resource { id: ID!  name: String! }
  type Bell @resource { id: ID!  name: String! }
  type Tag @resource { name: ID! @key  bookTags: [BookTag!]! }
  type BookTag @resource { id: ID!  book: Book! @onDelete(do: CASCADE)  tag: Tag! @onDelete(do: CASCADE) }
  type Left @resource { id: ID!  name: String!  right: Right @onDelete(do: CASCADE)  rights: [Right!]! }
  type Right @resource { id: ID!  name: String!  left: Left @onDelete(do: CASCADE)  lefts: [Left!]! }
  type Plain @resource { id: ID!  n: Int! }
  type Mutation { shelve(book: ID!): Boolean @action }
`;

/** What the functions were called with, in order. */
let calls: string[] = [];

const told = (type: string, name: string) => ({
  async afterCreate({ record, before }: any) {
    calls.push(`+ ${type} ${record[name]} ${before} v${record._version}`);
  },
  async afterUpdate({ record, before }: any) {
    const changed = Object.keys(record).filter((key) => record[key] !== before[key]);
    calls.push(`~ ${type} ${record[name]} ${changed} v${before._version}→${record._version}`);
  },
  async afterDelete({ record, before }: any) {
    calls.push(`- ${type} ${record[name]} ${before[name]} v${record._version}`);
  },
});

const logic = {
  Author: told('author', 'name'),
  Book: {
    ...told('book', 'title'),
    *beforeUpdate({ tx, input, record }: any): any {
      if (input.title === 'counted') yield* tx.system.racks.update(record.rackId, { _inc: { count: 1 } });
    },
  },
  Rack: told('rack', 'count'),
  Lamp: told('lamp', 'name'),
  Bell: {
    *beforeCreate({ tx }: any): any {
      yield* tx.racks.create({ count: 5 });
    },
  },
  Tag: told('tag', 'name'),
  BookTag: told('link', 'tagId'),
  Left: told('left', 'name'),
  Right: told('right', 'name'),
  Mutation: {
    *shelve({ tx }: any, { book }: any): any {
      const rack = yield* tx.racks.create({ count: 1 });
      yield* tx.books.update(book, { rackId: rack.id });
    },
  },
};

const opened = new Map<DatabaseKind, Awaited<ReturnType<typeof openEmptied>>>();

async function until(what: string, holds: () => boolean | Promise<boolean>): Promise<void> {
  for (let tries = 0; tries < 1_500; tries++) {
    if (await holds()) return;
    await Bun.sleep(20);
  }
  throw new Error(`${what} did not happen`);
}

describe.each([...databases])('on %s', (database) => {
  let app: AppUnderTest;
  beforeEach(async () => {
    const emptied = opened.get(database) ?? (await openEmptied(database, { sdl, logic }));
    opened.set(database, emptied);
    app = await emptied.next();
    calls = [];
  });

  const sent = (method: string, path: string, body?: unknown) => app.rest(method, path, body);

  /** Once so many are there, time is given to those that should not be. */
  const allOf = async (count: number, wait = 50) => {
    await until(`${count} calls, not ${calls.length}: ${calls}`, () => calls.length >= count);
    await Bun.sleep(wait);
    return calls;
  };

  interface Row {
    readonly path: string;
    readonly rest: (b: number, a: number, s: number) => Promise<any>;
    readonly graphql: (b: number, a: number, s: number) => Promise<any>;
    readonly calls: readonly string[];
  }
  /** Of a book `B` of author `A` on rack 0, with the tag `x`; `C` stands on the rack too, and is nobody's; so does the lamp. */
  const rows: readonly Row[] = [
    {
      path: 'create',
      rest: () => sent('POST', '/racks', { count: 7 }),
      graphql: () => app.graphql('mutation { createRack(count: 7) { id } }'),
      calls: ['+ rack 7 null v1'],
    },
    {
      path: 'create with a natural key',
      rest: () => sent('POST', '/tags', { name: 'y' }),
      graphql: () => app.graphql('mutation { createTag(name: "y") { name } }'),
      calls: ['+ tag y null v1'],
    },
    {
      path: 'nested, with links',
      rest: () =>
        sent('POST', '/authors', { name: 'N', books: [{ title: 'n1', tagIds: ['x'] }, { title: 'n2' }] }),
      graphql: () =>
        app.graphql(
          'mutation { createAuthor(name: "N", books: [{ title: "n1", tagIds: ["x"] }, { title: "n2" }]) { id } }',
        ),
      calls: ['+ author N null v1', '+ book n1 null v1', '+ link x null v1', '+ book n2 null v1'],
    },
    {
      path: 'bulk create',
      rest: () =>
        sent('POST', '/transaction', {
          operations: [{ method: 'POST', path: '/books', body: [{ title: 'a' }, { title: 'b' }] }],
        }),
      graphql: () =>
        app.graphql('mutation { createBooks(records: [{ title: "a" }, { title: "b" }]) { id } }'),
      calls: ['+ book a null v1', '+ book b null v1'],
    },
    {
      path: 'update',
      rest: (b) => sent('PUT', `/books/${b}`, { title: 'x' }),
      graphql: (b) => app.graphql(`mutation { updateBook(id: ${b}, title: "x") { id author { name } } }`),
      calls: ['~ book x title,_version v1→2'],
    },
    {
      path: '_inc, alone',
      rest: (_b, _a, s) => sent('PUT', `/racks/${s}`, { _inc: { count: 3 } }),
      graphql: (_b, _a, s) => app.graphql(`mutation { updateRack(id: ${s}, _inc: { count: 3 }) { id } }`),
      calls: ['~ rack 3 count,_version v1→2'],
    },
    {
      path: 'links',
      rest: (b) => sent('PUT', `/books/${b}`, { tagIds: ['z'] }),
      graphql: (b) => app.graphql(`mutation { updateBook(id: ${b}, tagIds: ["z"]) { id } }`),
      calls: ['~ book B _version v1→2', '- link x x v1', '+ link z null v1'],
    },
    {
      path: 'bulk update',
      rest: (_b, _a, s) =>
        sent('POST', '/transaction', {
          operations: [
            { method: 'PUT', path: '/books', where: { rackId: { eq: s } }, atMost: 5, body: { pages: 7 } },
          ],
        }),
      graphql: (_b, _a, s) =>
        app.graphql(
          `mutation { updateBooks(where: { rackId: { eq: ${s} } }, set: { pages: 7 }, atMost: 5) { id } }`,
        ),
      calls: ['~ book B pages,_version v1→2', '~ book C pages,_version v1→2'],
    },
    {
      path: 'upsert of what is new',
      rest: () => sent('POST', '/books?upsert=code', { code: 'n', title: 'u' }),
      graphql: () => app.graphql('mutation { upsertBook(by: code, code: "n", title: "u") { id } }'),
      calls: ['+ book u null v1'],
    },
    {
      path: 'upsert of what is there',
      rest: () => sent('POST', '/books?upsert=code', { code: 'b', pages: 3 }),
      graphql: () => app.graphql('mutation { upsertBook(by: code, code: "b", pages: 3) { id } }'),
      calls: ['~ book B pages,_version v1→2'],
    },
    {
      path: 'transaction, the same record twice',
      rest: (b) =>
        sent('POST', '/transaction', {
          operations: [
            { method: 'PUT', path: `/books/${b}`, body: { pages: 2 } },
            { method: 'PUT', path: `/books/${b}`, body: { pages: 3 } },
            { method: 'POST', path: '/racks', body: { count: 9 } },
          ],
        }),
      graphql: (b) =>
        app.graphql(
          `mutation @atomic { a: updateBook(id: ${b}, pages: 2) { id } b: updateBook(id: ${b}, pages: 3) { id }
            c: createRack(count: 9) { id } }`,
        ),
      calls: ['~ book B pages,_version v1→2', '~ book B pages,_version v2→3', '+ rack 9 null v1'],
    },
    {
      path: 'delete',
      rest: (_b, _a, s) => sent('DELETE', `/racks/${s}`),
      graphql: (_b, _a, s) => app.graphql(`mutation { deleteRack(id: ${s}) { id } }`),
      calls: [
        '~ book B rackId,_version v1→2',
        '~ book C rackId,_version v1→2',
        '~ lamp L rackId,_version v1→2',
        '- rack 0 0 v1',
      ],
    },
    {
      path: 'bulk delete',
      rest: (_b, _a, s) =>
        sent('POST', '/transaction', {
          operations: [{ method: 'DELETE', path: '/books', where: { rackId: { eq: s } }, atMost: 5 }],
        }),
      graphql: (_b, _a, s) =>
        app.graphql(`mutation { deleteBooks(where: { rackId: { eq: ${s} } }, atMost: 5) { id } }`),
      calls: ['- link x x v1', '- book B B v1', '- book C C v1'],
    },
    {
      path: 'cascade',
      rest: (_b, a) => sent('DELETE', `/authors/${a}`),
      graphql: (_b, a) => app.graphql(`mutation { deleteAuthor(id: ${a}) { id } }`),
      calls: ['- link x x v1', '- book B B v1', '- author A A v1'],
    },
    {
      path: 'a write of another function',
      rest: (b) => sent('PUT', `/books/${b}`, { title: 'counted' }),
      graphql: (b) => app.graphql(`mutation { updateBook(id: ${b}, title: "counted") { id } }`),
      calls: ['~ rack 1 count,_version v1→2', '~ book counted title,_version v1→2'],
    },
    {
      path: 'an action',
      rest: (b) => sent('POST', '/actions/shelve', { book: b }),
      graphql: (b) => app.graphql(`mutation { shelve(book: ${b}) }`),
      calls: ['+ rack 1 null v1', '~ book B rackId,_version v1→2'],
    },
    {
      path: 'what nobody watches',
      rest: () => sent('POST', '/plains', { n: 1 }),
      graphql: () => app.graphql('mutation { createPlain(n: 1) { id } }'),
      calls: [],
    },
  ];

  describe.each(['rest', 'graphql'] as const)('through %s', (door) => {
    test.each([...rows])('$path', async (row) => {
      const { body: author } = await sent('POST', '/authors', { name: 'A' });
      const { body: rack } = await sent('POST', '/racks', { count: 0 });
      for (const name of ['x', 'z']) await sent('POST', '/tags', { name });
      const given = { title: 'B', code: 'b', authorId: author.id, rackId: rack.id, tagIds: ['x'] };
      const { body: book } = await sent('POST', '/books', given);
      await sent('POST', '/books', { title: 'C', rackId: rack.id });
      await sent('POST', '/lamps', { name: 'L', rackId: rack.id });
      await allOf(8, 0);
      calls = [];
      const answer = await row[door](book.id, author.id, rack.id);
      expect({ errors: answer.errors, status: answer.status }).toMatchObject({ errors: undefined });
      expect(answer.status).toBeLessThan(300);
      const found = await allOf(row.calls.length);
      expect([...found].sort()).toEqual([...row.calls].sort());
    });
  });

  test('records that go together though they point to each other', async () => {
    const { body: left } = await sent('POST', '/lefts', { name: 'l' });
    const { body: right } = await sent('POST', '/rights', { name: 'r', leftId: left.id });
    await sent('PUT', `/lefts/${left.id}`, { rightId: right.id });
    await allOf(3);
    calls = [];
    expect((await sent('DELETE', `/lefts/${left.id}`)).status).toBe(204);
    expect([...(await allOf(2))].sort()).toEqual(['- left l l v2', '- right r r v1']);
  });

  test('types that nobody watches lead to those that somebody does', async () => {
    const { body: house } = await sent('POST', '/houses', { name: 'h' });
    await sent('POST', '/lamps', { name: 'l', houseId: house.id });
    await allOf(1);
    calls = [];
    await sent('DELETE', `/houses/${house.id}`);
    expect(await allOf(1)).toEqual(['- lamp l l v1']);
    calls = [];
    await sent('POST', '/bells', { name: 'b' });
    expect(await allOf(1)).toEqual(['+ rack 5 null v1']);
  });

  test('what fails leaves no call behind', async () => {
    await sent('POST', '/books', { title: 'a', code: 'taken' });
    await allOf(1);
    calls = [];
    const { status } = await sent('POST', '/transaction', {
      operations: [
        { method: 'POST', path: '/racks', body: { count: 1 } },
        { method: 'POST', path: '/books', body: { title: 'b', code: 'taken' } },
      ],
    });
    expect(status).toBe(409);
    await Bun.sleep(100);
    expect(calls).toEqual([]);
  });
});

// A row of the queue has eleven values, and SQLite takes 250,000 of them, or fewer, in one statement.
const MANY = 23_000;

test.each([...databases])('on %s, they may be as many as a write has records', async (database) => {
  using folder = new Folder();
  const url =
    database === 'sqlite' ? `sqlite:${folder.file('x.db')}` : await (await sharedPostgres()).database();
  const sdl = `
    type Tree @resource { id: ID!  leaves: [Leaf!]! }
    type Leaf @resource { id: ID!  tree: Tree! @onDelete(do: CASCADE) }
  `;
  let count = 0;
  const counted = { Leaf: { afterDelete: async () => void count++ } };
  // However slow the machine is: what is asked here is how many.
  const env = { LIMIT_WRITE_HOLD: '60000', LIMIT_DEADLINE: '60000' };
  const app = await openApp(database, { sdl, url, logic: counted, env });
  for (const tree of [1, 2]) {
    await app.rest('POST', '/trees', {});
    const leaves = `WITH RECURSIVE "n"("i") AS (SELECT 1 UNION ALL SELECT "i" + 1 FROM "n" WHERE "i" < ${MANY})
      INSERT INTO "Leaf" ("treeId", "_version") SELECT ${tree}, 1 FROM "n"`;
    if (database === 'postgres') {
      await using client = new Bun.SQL(url, { max: 1 });
      await client.unsafe(leaves);
    } else {
      using file = new Database(url.slice('sqlite:'.length));
      file.run(leaves);
    }
  }
  expect((await app.rest('DELETE', '/trees/1')).status).toBe(204);
  expect((await app.graphql('mutation { deleteTree(id: 2) { id } }')).body).toEqual({
    data: { deleteTree: { id: '2' } },
  });
  await until('a call', () => count > 0);
  await app.close();
});
