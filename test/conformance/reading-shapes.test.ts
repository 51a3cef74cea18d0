/** What an answer holds: chosen fields, included records, numbers about them, and never more than the budget. */

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { type AppUnderTest, databases, openApp } from '../app.ts';

const sdl = `
  type Author @resource { id: ID!  name: String!  books: [Book!]! }
  type Book @resource {
    id: ID!
    title: String!
    pages: Int
    price: Float
    lent: Boolean
    code: UUID
    author: Author
    chapters: [Chapter!]!
  }
  type Chapter @resource { id: ID!  title: String!  book: Book! }
`;
const codes = ['0190f5a0-7c1e-7a64-b3f5-2b1f3c0e9a11', '9190f5a0-7c1e-7a64-b3f5-2b1f3c0e9a11'];
const data = {
  authors: [{ name: 'Ann' }, { name: 'Bob' }, { name: 'Cid' }],
  books: [
    { title: 'A', pages: 10, price: 1e308, lent: true, code: codes[1], authorId: 1 },
    { title: 'B', pages: 20, price: 1e308, lent: false, code: codes[0], authorId: 1 },
    { title: 'C', pages: null, authorId: 1 },
    { title: 'D', pages: 20, authorId: 2 },
  ],
  chapters: [1, 1, 1, 2, 2, 4].map((bookId, index) => ({ title: `T${index}`, bookId })),
};

/** A query string, a selection, and the answer to both. */
const shapes: [string, string, string, unknown][] = [
  ['chosen fields', 'fields=title&id=1', 'books(where: { id: { eq: "1" } }) { title }', [{ title: 'A' }]],
  [
    'a reference',
    'id=4&fields=title,author.name',
    'books(where: { id: { eq: "4" } }) { title author { name } }',
    [{ title: 'D', author: { name: 'Bob' } }],
  ],
  [
    'a limit holds for each parent',
    'fields=name,books.title&books[limit]=1',
    'authors { name books(first: 1) { title } }',
    [
      { name: 'Ann', books: [{ title: 'A' }] },
      { name: 'Bob', books: [{ title: 'D' }] },
      { name: 'Cid', books: [] },
    ],
  ],
  [
    'order and filter of an included list',
    'fields=name,books.title&books[sort]=-pages,-title&books[where]={"title":{"ne":"A"}}&books[limit]=2',
    'authors { name books(orderBy: [{ pages: DESC }, { title: DESC }], where: { title: { ne: "A" } }, first: 2) { title } }',
    [
      { name: 'Ann', books: [{ title: 'B' }, { title: 'C' }] },
      { name: 'Bob', books: [{ title: 'D' }] },
      { name: 'Cid', books: [] },
    ],
  ],
  [
    'lists in lists',
    'id=1&fields=name,books.title,books.chapters.title&books[limit]=2&books.chapters[limit]=1&books.chapters[sort]=-id',
    'authors(where: { id: { eq: "1" } }) { name books(first: 2) { title chapters(first: 1, orderBy: [{ id: DESC }]) { title } } }',
    [
      {
        name: 'Ann',
        books: [
          { title: 'A', chapters: [{ title: 'T2' }] },
          { title: 'B', chapters: [{ title: 'T4' }] },
        ],
      },
    ],
  ],
];

const aggregates: [string, string, string, unknown][] = [
  ['how many', 'aggregate=count', 'booksAggregate { count }', [{ count: 4 }]],
  [
    'sums and averages leave nulls out',
    'aggregate=sum(pages),avg(pages)',
    'booksAggregate { sum { pages } avg { pages } }',
    [{ sum: { pages: 50 }, avg: { pages: 50 / 3 } }],
  ],
  [
    'of nothing there is no sum',
    'aggregate=count,sum(pages),max(title)&title=Z',
    'booksAggregate(where: { title: { eq: "Z" } }) { count sum { pages } max { title } }',
    [{ count: 0, sum: { pages: null }, max: { title: null } }],
  ],
  [
    'the least and the greatest of whatever has an order',
    'aggregate=min(title),max(lent),min(lent),max(code),min(code)',
    'booksAggregate { min { title lent code } max { lent code } }',
    [{ min: { title: 'A', lent: false, code: codes[0] }, max: { lent: true, code: codes[1] } }],
  ],
  [
    'for each group, null first',
    'aggregate=count,max(title)&groupBy=pages',
    'booksAggregate(groupBy: [pages]) { by { pages } count max { title } }',
    [
      { by: { pages: null }, count: 1, max: { title: 'C' } },
      { by: { pages: 10 }, count: 1, max: { title: 'A' } },
      { by: { pages: 20 }, count: 2, max: { title: 'D' } },
    ],
  ],
];

describe.each([...databases])('on %s', (database) => {
  let app: AppUnderTest;
  beforeAll(async () => {
    app = await openApp(database, { sdl, data });
  });
  afterAll(() => app.close());

  test.each(shapes)('%s: %s', async (_, query, selection, wanted) => {
    const path = selection.replace(/\W.*/, '');
    expect((await app.rest('GET', `/${path}?${query}`)).body).toEqual(wanted);
    expect((await app.graphql(`{ ${selection} }`)).data[path]).toEqual(wanted);
  });

  test.each(aggregates)('%s: %s', async (_, query, selection, wanted) => {
    expect((await app.rest('GET', `/books?${query}`)).body).toEqual(wanted);
    expect((await app.graphql(`{ ${selection} }`)).data.booksAggregate).toEqual(wanted);
  });

  test('only the columns that are needed are read', async () => {
    const read = async (path: string) => {
      const before = app.statements.length;
      await app.rest('GET', path);
      const read = app.statements
        .slice(before)
        .flatMap((sql) => [...sql.matchAll(/(SELECT [^()]*?) FROM "[A-Z]/g)]);
      // SQLite has names in backticks: a text is never meant then.
      return read.map(([, columns]) => columns?.replaceAll(/`\w+` AS /g, ''));
    };
    expect(await read('/books?fields=title')).toEqual(['SELECT "title"']);
    expect(await read('/books?fields=title&sort=pages')).toEqual(['SELECT "title"']);
    expect(await read('/books?fields=title&sort=pages&limit=9')).toEqual(['SELECT "title", "pages", "id"']);
    expect(await read('/books/1?fields=title')).toEqual(['SELECT "title"']);
    expect(await read('/authors?fields=name,books.title')).toEqual([
      'SELECT "name", "id"',
      'SELECT "title", "authorId"',
    ]);
  });

  test('every fault of every list is told at once, with its place', async () => {
    const query = 'limit=0&include=books.chapters&books[limit]=0&books.chapters[after]=x';
    const { body } = await app.rest('GET', `/authors?${query}`);
    const places = body.errors.map(({ parameter, code }: Record<string, string>) => `${parameter} ${code}`);
    expect(places.sort()).toEqual([
      'books.chapters[after] CURSOR',
      'books[limit] OUT_OF_RANGE',
      'limit OUT_OF_RANGE',
    ]);
    const { errors } = await app.graphql(
      '{ authors(first: 0) { books(first: 0) { chapters(after: "x") { id } } } }',
    );
    const pointers = errors?.[0].extensions.errors.map(
      ({ pointer, code }: Record<string, string>) => `${pointer} ${code}`,
    );
    expect(pointers.sort()).toEqual([
      '#/books/chapters/after CURSOR',
      '#/books/first OUT_OF_RANGE',
      '#/first OUT_OF_RANGE',
    ]);
  });

  test('what is not the plain record has no tag', async () => {
    const tag = async (query: string) => (await app.rest('GET', `/books/1${query}`)).headers.get('ETag');
    expect(await tag('')).toMatch(/^"1-/);
    expect([await tag('?fields=title'), await tag('?include=author')]).toEqual([null, null]);
    expect((await app.rest('GET', '/books')).headers.get('ETag')).toBeNull();
  });

  test('a record that is not there is told before a shape that is wrong', async () => {
    expect((await app.rest('GET', '/books/99?fields=nothing')).status).toBe(404);
    expect((await app.rest('GET', '/books/1?fields=nothing')).status).toBe(400);
  });

  describe('the budget', () => {
    const rest = [
      ['/chapters', 6],
      ['/books?include=chapters', 10],
      ['/authors?include=books.chapters', 13],
      ['/books?include=author', 8],
      ['/authors/1?include=books', 4],
    ] as const;
    const graphql = [
      ['{ chapters { id } }', 6],
      ['{ books { chapters { id } } }', 10],
      ['{ authors { books { chapters { id } } } }', 13],
      ['{ books { author { id } } }', 8],
      ['{ author(id: 1) { books { id } } }', 4],
      ['{ books { id } chapters { id } }', 10],
    ] as const;
    const tooMany = (limit: number) =>
      `The answer would hold more than ${limit} objects. Ask for pages of it, or for fewer relations.`;

    test.each(rest)('%s holds %d objects', async (path, objects) => {
      for (const limit of [objects, objects - 1]) {
        const small = await openApp(database, { sdl, data, env: { LIMIT_OBJECTS: String(limit) } });
        const { status, body } = await small.rest('GET', path);
        if (limit === objects) expect(status).toBe(200);
        else expect(body).toMatchObject({ status: 400, code: 'TOO_MANY_OBJECTS', detail: tooMany(limit) });
        await small.close();
      }
    });

    test.each(graphql)('%s holds %d objects', async (query, objects) => {
      for (const limit of [objects, objects - 1]) {
        const small = await openApp(database, { sdl, data, env: { LIMIT_OBJECTS: String(limit) } });
        const { errors } = await small.graphql(query);
        if (limit === objects) expect(errors).toBeUndefined();
        else
          expect(errors?.[0]).toMatchObject({
            message: tooMany(limit),
            extensions: { code: 'TOO_MANY_OBJECTS' },
          });
        await small.close();
      }
    });

    test('what would exceed it is never loaded', async () => {
      const small = await openApp(database, { sdl, data, env: { LIMIT_OBJECTS: '5' } });
      await small.rest('GET', '/authors?include=books.chapters');
      expect(small.statements.filter((sql) => sql.includes('FROM "Chapter"'))).toEqual([]);
      // Six would be too many in any case.
      expect(small.statements.filter((sql) => sql.includes('FROM "Book"'))[0]).toEndWith('LIMIT 6');
      await small.close();
    });

    test('a page fits where the whole does not', async () => {
      const small = await openApp(database, { sdl, data, env: { LIMIT_OBJECTS: '5' } });
      expect((await small.rest('GET', '/chapters?limit=5')).body).toHaveLength(5);
      expect((await small.rest('GET', '/chapters?limit=6')).body.errors).toMatchObject([
        { parameter: 'limit', code: 'OUT_OF_RANGE', detail: 'limit must be 1 to 5' },
      ]);
      await small.close();
    });
  });
});
