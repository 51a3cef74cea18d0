/** What functions ask of lists and groups: by the same arguments as clients, and with the same answers. */

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { type AppUnderTest, databases, openApp } from '../app.ts';
import { headersOf, SECRET } from './access-matrix.ts';

const sdl = `
  type Shelf @resource(plural: "shelves") @allow(to: [READ], where: { open: { eq: true } }) @allow(to: [READ], role: "admin")
  { id: ID!  label: String!  open: Boolean!  books: [Book!]! }
  type Book @resource @search(fields: ["title", "note"]) @allow(to: [READ]) {
    id: ID!  title: String!  note: String  pages: Int!  on: Date!  shelf: Shelf
    secret: Int @allow(to: [READ], role: "admin")
  }
  type Query {
    list(options: JSON!): JSON @action @allow
    numbers(options: JSON!): JSON @action @allow
    kept(options: JSON!): JSON @action @allow
    leftOut(at: Int!): JSON @action @allow
    first: Shelf @action @allow
  }
`;
/** As only code can have them: a list of one that nobody has put there, and what has no fields of its own. */
const unsaid = [
  Promise.resolve({ id: { eq: 1 } }),
  new Map([['id', { eq: 1 }]]),
  Object.create({ id: { eq: 1 } }),
  { id: { eq: undefined } },
  { and: new Array(1) },
  { or: new Array(1) },
  { id: { in: new Array(1) } },
];
const logic = {
  Query: {
    *list({ tx }: any, { options }: any): any {
      return (yield* tx.books.list(options)).map(({ id }: any) => id);
    },
    *numbers({ tx }: any, { options }: any): any {
      return yield* tx.books.aggregate(options);
    },
    *kept({ tx }: any, { options }: any): any {
      const shelf = yield* tx.shelves.get(1, { include: { books: options } });
      return shelf.books.map(({ id }: any) => id);
    },
    first: () => 1,
    *leftOut({ tx }: any, { at }: any): any {
      return yield* tx.books.list({ where: unsaid[at] });
    },
  },
};
const books = Array.from({ length: 12 }, (_, index) => ({
  title: index % 2 ? `left ${index}` : `right ${index}`,
  note: index % 3 ? 'hand' : `foot ${'x'.repeat(600)}${index}`,
  pages: (index * 7) % 5,
  on: `2024-0${1 + (index % 3)}-05`,
  shelfId: index % 4 === 3 ? null : 1 + (index % 3),
  secret: index,
}));
const shelves = ['c', 'a', 'b'].map((label, index) => ({ label, open: index !== 2 }));

describe.each([...databases])('on %s', (database) => {
  let app: AppUnderTest;
  beforeAll(async () => {
    app = await openApp(database, { sdl, logic, data: { shelves, books }, env: { AUTH_SECRET: SECRET } });
  });
  afterAll(() => app.close());
  const asked = async (action: string, options: object, headers = {}) => {
    const path = `/actions/${action}?options=${encodeURIComponent(JSON.stringify(options))}`;
    const { status, body } = await app.rest('GET', path, undefined, headers);
    return status === 200 ? body : (body.errors?.map(({ code }: any) => code) ?? body.code);
  };
  /** As GraphQL writes it: names without quotes, and ASC and DESC without any. */
  const written = (options: object): string =>
    Object.entries(options)
      .map(([name, value]) => `${name}: ${literal(value)}`)
      .join(', ');
  const literal = (value: unknown): string => {
    if (value === 'ASC' || value === 'DESC') return value;
    if (Array.isArray(value)) return `[${value.map(literal).join(', ')}]`;
    return typeof value === 'object' && value !== null ? `{ ${written(value)} }` : JSON.stringify(value);
  };
  const same = async (options: object, headers = {}) => {
    const { data } = await app.graphql(`{ books(${written(options)}) { id } }`, {}, headers);
    const ids = data.books.map(({ id }: any) => Number(id));
    expect([options, await asked('list', options, headers)]).toEqual([options, ids]);
    return ids;
  };

  test.each([
    { search: 'left ha' },
    { search: 'foot', orderBy: [{ _relevance: 'DESC' }, { id: 'DESC' }] },
    { orderBy: [{ shelf: { label: 'ASC' } }, { pages: 'DESC' }] },
    { orderBy: [{ shelf: { label: 'DESC' } }], first: 3, offset: 2 },
    { where: { pages: { gte: 2 } }, search: 'hand', orderBy: [{ title: 'DESC' }], first: 2 },
  ])('a list: %j', async (options) => {
    expect((await same(options)).length).toBeGreaterThan(0);
    await same(options, await headersOf({ name: 'args admin', claims: { sub: 'adm', roles: ['admin'] } }));
  });

  test.each([{ title: 'ASC' }, { note: 'DESC' }, { shelf: { label: 'ASC' } }])(
    'from a cursor on: %j',
    async (order) => {
      const list = { orderBy: [order] };
      const { data } = await app.graphql(
        `{ booksConnection(${written(list)}) { edges { cursor node { id } } } }`,
      );
      const { edges } = data.booksConnection;
      const ids = edges.map(({ node }: any) => Number(node.id));
      for (const index of [0, 5, 9]) {
        const { cursor } = edges[index];
        expect(await asked('list', { ...list, first: 3, after: cursor })).toEqual(
          ids.slice(index + 1, index + 4),
        );
        expect(await asked('list', { ...list, last: 2, before: cursor })).toEqual(
          ids.slice(Math.max(0, index - 2), index),
        );
      }
      // It came from a client: what is no cursor is the client's to know.
      expect(await asked('list', { after: edges[0].cursor })).toEqual(['CURSOR']);
      expect(await asked('list', { ...list, after: 'nonsense' })).toEqual(['CURSOR']);
    },
  );

  test('lists of a record take them too', async () => {
    const { data } = await app.graphql(
      '{ shelf(id: 1) { booksConnection(orderBy: [{ note: ASC }]) { edges { cursor node { id } } } } }',
    );
    const { edges } = data.shelf.booksConnection;
    const ids = edges.map(({ node }: any) => Number(node.id));
    expect(await asked('kept', { orderBy: [{ note: 'ASC' }] })).toEqual(ids);
    expect(await asked('kept', { orderBy: [{ note: 'ASC' }], after: edges[0].cursor, first: 1 })).toEqual([
      ids[1],
    ]);
    expect(await asked('kept', { search: 'hand', orderBy: { _relevance: 'ASC' } })).toEqual(
      (await app.rest('GET', '/books?search=hand&shelfId=1&sort=_relevance')).body.map(({ id }: any) => id),
    );
  });

  test('the answer of an action goes on from a cursor too', async () => {
    const nested = (page: string) =>
      `booksConnection(orderBy: [{ note: ASC }]${page}) { edges { cursor node { id } } }`;
    const { data } = await app.graphql(`{ first { ${nested('')} } }`);
    const { edges } = data.first.booksConnection;
    const next = await app.graphql(`{ first { ${nested(`, first: 2, after: "${edges[0].cursor}"`)} } }`);
    expect(next.data.first.booksConnection.edges).toEqual(edges.slice(1, 3));
  });

  const groups: [object, string][] = [
    [
      { groupBy: ['pages'], count: true, having: { count: { gte: 3 } } },
      'aggregate=count&groupBy=pages&having={"count":{"gte":3}}',
    ],
    [
      { groupBy: ['onMonth'], sum: ['pages'], orderBy: [{ sum: { pages: 'DESC' } }], first: 2 },
      'aggregate=sum(pages)&groupBy=month(on)&sort=-sum(pages)&limit=2',
    ],
    [
      { groupBy: 'pages', max: 'title', orderBy: { by: { pages: 'DESC' } }, first: 2, offset: 1 },
      'aggregate=max(title)&groupBy=pages&sort=-pages&limit=2&offset=1',
    ],
    [{ search: 'left', count: true }, 'aggregate=count&search=left'],
    [
      { groupBy: 'pages', count: true, orderBy: [{ count: 'DESC' }], having: { max: { pages: { gt: 0 } } } },
      'aggregate=count&groupBy=pages&sort=-count&having={"max":{"pages":{"gt":0}}}',
    ],
  ];
  test.each(groups)('groups: %j', async (options, query) => {
    const flat = ({ by, ...numbers }: any) => ({ by: Object.values(by ?? {}), ...numbers });
    const { status, body } = await app.rest('GET', `/books?${query}`);
    expect([status, (await asked('numbers', options)).map(flat)]).toEqual([200, body.map(flat)]);
    expect(body.length).toBeGreaterThan(0);
  });

  test('rules hold for all of it', async () => {
    for (const [action, options] of [
      ['list', { orderBy: [{ secret: 'ASC' }] }],
      ['list', { where: { secret: { gt: 1 } } }],
      ['numbers', { groupBy: 'pages', orderBy: [{ sum: { secret: 'ASC' } }], count: true }],
      ['numbers', { groupBy: 'pages', having: { max: { secret: { gt: 1 } } }, count: true }],
    ] as const)
      expect([options, await asked(action, options)]).toEqual([options, ['FORBIDDEN']]);
  });

  const wrong: [string, object, string][] = [
    [
      'list',
      { orderBy: [{ titel: 'ASC' }] },
      'tx.books.list: orderBy.0: "titel" cannot be sorted by. Did you mean "title"?',
    ],
    ['list', { orderBy: [{ title: 'UP' }] }, `tx.books.list: orderBy.0: title must be 'ASC' or 'DESC'`],
    [
      'list',
      { orderBy: [{ shelf: 'ASC' }] },
      'tx.books.list: orderBy.0: shelf must be an object of its fields',
    ],
    [
      'list',
      { orderBy: [{ _relevance: 'ASC' }] },
      'tx.books.list: orderBy.0: _relevance needs search; say what to look for, or order by a field',
    ],
    ['list', { first: 0 }, 'tx.books.list: first: first must be 1 to 50000'],
    ['list', { where: { titel: { eq: 'x' } } }, 'tx.books.list: where.titel: '],
    ['list', { serch: 'x' }, 'tx.books.list takes no "serch". Did you mean "search"?'],
    ['numbers', { having: { sum: { title: { gt: 1 } } } }, 'tx.books.aggregate: having.sum.title: '],
    ['numbers', { groupBy: 'pages', orderBy: [{ by: { title: 'ASC' } }] }, 'tx.books.aggregate: orderBy.0: '],
    ['numbers', { orderBy: [{ sum: { title: 'ASC' } }] }, 'tx.books.aggregate: orderBy.0: '],
    ['numbers', { orderBy: [{ sums: 'ASC' }] }, 'tx.books.aggregate: orderBy.0: '],
  ];
  test.each(wrong)('a mistake of the function: %s %j', async (action, options, told) => {
    app.observations.length = 0;
    expect(await asked(action, options)).toBe('INTERNAL');
    const failed = app.observations.find(({ event }) => event === 'failure') as any;
    expect(failed.cause.message).toStartWith(told);
  });

  test('what was not said never means all', async () => {
    for (const at of unsaid.keys())
      expect([at, (await app.rest('GET', `/actions/left-out?at=${at}`)).body.code]).toEqual([at, 'INTERNAL']);
    for (const search of ['', '!?', 'x '.repeat(600)])
      expect(await asked('list', { search })).toHaveLength(1);
  });
});
