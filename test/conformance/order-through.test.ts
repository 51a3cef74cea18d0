/** Order through references: the same through both doors, with cursors that work, and nothing told of what is hidden. */

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { type AppUnderTest, databases, openApp } from '../app.ts';
import { headersOf, SECRET } from './access-matrix.ts';

const sdl = `
type Category @resource {
  id: ID!
  name: String
  rank: Int! @default(value: 0)
  parent: Category
  products: [Product!]!
}
type Product @resource { id: ID!  title: String!  category: Category  maker: Maker!  reviews: [Review!]! }
type Maker @resource { code: ID! @key  name: String!  products: [Product!]! }
type Review @resource { id: ID!  text: String!  product: Product! }
type Knot @resource { id: ID!  a: Knot  b: Knot  c: Knot  knots: [Knot!]! @inverse(of: "a") }
type Closed @resource(rest: false, graphql: false) { id: ID!  name: String! }
type Door @resource { id: ID!  closed: Closed }
`;
const data = {
  categories: [
    { name: 'tea', rank: 2 },
    { name: 'cake', rank: 1, parentId: 1 },
    { name: null, rank: 3, parentId: 2 },
    { name: 'tea', rank: 1, parentId: 2 },
  ],
  makers: [
    { code: 'x', name: 'Zoe' },
    { code: 'y', name: 'Ann' },
  ],
  products: [
    { title: 'a', categoryId: 1, makerCode: 'x' },
    { title: 'b', categoryId: 2, makerCode: 'y' },
    { title: 'c', categoryId: null, makerCode: 'x' },
    { title: 'd', categoryId: 3, makerCode: 'y' },
    { title: 'e', categoryId: 4, makerCode: 'x' },
    { title: 'f', categoryId: 1, makerCode: 'y' },
  ].map(({ makerCode, ...rest }) => ({ ...rest, makerId: makerCode })),
  reviews: [2, 1, 1, 6].map((productId, index) => ({ productId, text: `r${index}` })),
};

/** An order as both doors write it, and the titles in it. */
const orders: [sort: string, orderBy: string, titles: string][] = [
  ['category.name', '{ category: { name: ASC } }', 'cdbaef'],
  ['-category.name', '{ category: { name: DESC } }', 'aefbcd'],
  ['category.name,-id', '{ category: { name: ASC } }, { id: DESC }', 'dcbfea'],
  ['-category.name,category.rank', '{ category: { name: DESC } }, { category: { rank: ASC } }', 'eafbcd'],
  ['category.parent.name,-title', '{ category: { parent: { name: ASC } } }, { title: DESC }', 'fcaedb'],
  ['-category.parent.parent.name', '{ category: { parent: { parent: { name: DESC } } } }', 'deabcf'],
  ['maker.name,category.rank', '{ maker: { name: ASC } }, { category: { rank: ASC } }', 'bfdcea'],
  ['maker.name,maker.name,-maker.code', '{ maker: { name: ASC } }, { maker: { code: DESC } }', 'bdface'],
  ['category.id', '{ category: { id: ASC } }', 'cafbde'],
];

describe.each([...databases])('on %s', (database) => {
  let app: AppUnderTest;
  beforeAll(async () => {
    app = await openApp(database, { sdl, data });
  });
  afterAll(() => app.close());

  const titles = (records: readonly { title: string }[]) => records.map(({ title }) => title).join('');
  const nodes = (connection: any) => titles(connection.edges.map(({ node }: any) => node));

  test.each(orders)('%s', async (sort, orderBy, wanted) => {
    const [list, file, queried] = [
      await app.rest('GET', `/products?sort=${sort}`),
      await app.fetch(`/products?sort=${sort}&fields=title`, { headers: { Accept: 'text/csv' } }),
      await app.graphql(`{ products(orderBy: [${orderBy}]) { title } }`),
    ];
    expect([list.status, titles(list.body)]).toEqual([200, wanted]);
    expect((await file.text()).split('\r\n').join('')).toBe(`title${wanted}`);
    expect([queried.errors, titles(queried.data.products)]).toEqual([undefined, wanted]);
  });

  test.each(orders)(
    '%s: cursors lead to the end and back, through one door and the other',
    async (sort, orderBy, wanted) => {
      for (const size of [1, 2, 4]) {
        let at = 0;
        let url: string | undefined = `/products?sort=${sort}&limit=${size}&fields=title`;
        let prev: string | undefined;
        let after: string | null = null;
        while (url !== undefined) {
          const { body, headers }: { body: any; headers: Headers } = await app.rest('GET', url);
          const end = Math.min(at + size, wanted.length);
          expect(titles(body)).toBe(wanted.slice(at, end));
          const { data } = await app.graphql(
            `query ($after: String) { productsConnection(first: ${size}, after: $after, orderBy: [${orderBy}]) {
            edges { cursor node { title } } pageInfo { endCursor hasNextPage } } }`,
            { after },
          );
          expect(nodes(data.productsConnection)).toBe(wanted.slice(at, end));
          const link: string = headers.get('Link') ?? '';
          url = /<([^>]*)>; rel="next"/.exec(link)?.[1];
          prev = /<([^>]*)>; rel="prev"/.exec(link)?.[1];
          after = data.productsConnection.pageInfo.endCursor;
          expect(url && new URL(url, 'http://x').searchParams.get('after')).toBe(
            data.productsConnection.pageInfo.hasNextPage ? (after ?? '') : undefined,
          );
          at += size;
        }
        for (at -= size; prev !== undefined; at -= size) {
          const { body, headers }: { body: any; headers: Headers } = await app.rest('GET', prev);
          expect(titles(body)).toBe(wanted.slice(Math.max(0, at - size), at));
          prev = /<([^>]*)>; rel="prev"/.exec(headers.get('Link') ?? '')?.[1];
        }
        expect(at).toBe(0);
      }
    },
  );

  test('offset, counting, nested lists and exports page by page', async () => {
    const far = await app.rest('GET', '/products?sort=category.name&limit=2&offset=3&count=true');
    expect([titles(far.body), far.headers.get('X-Total-Count')]).toEqual(['ae', '6']);
    const { data } = await app.graphql(`{ makers(orderBy: [{ name: ASC }]) {
      all: products(orderBy: [{ category: { name: DESC } }]) { title }
      two: products(orderBy: [{ category: { name: ASC } }, { title: DESC }], first: 2) { title category { name } }
      rest: products(orderBy: [{ category: { name: ASC } }], first: 2, offset: 1) { title }
    } }`);
    expect(data.makers).toEqual([
      {
        all: [{ title: 'f' }, { title: 'b' }, { title: 'd' }],
        two: [
          { title: 'd', category: { name: null } },
          { title: 'b', category: { name: 'cake' } },
        ],
        rest: [{ title: 'b' }, { title: 'f' }],
      },
      {
        all: [{ title: 'a' }, { title: 'e' }, { title: 'c' }],
        two: [
          { title: 'c', category: null },
          { title: 'e', category: { name: 'tea' } },
        ],
        rest: [{ title: 'a' }, { title: 'e' }],
      },
    ]);
    const included = await app.rest(
      'GET',
      '/makers?include=products.reviews&products[sort]=-category.name,title&products[limit]=2&products.reviews[sort]=-product.category.name,-id&fields=code',
    );
    expect(included.body.map(({ products }: any) => titles(products))).toEqual(['ae', 'fb']);
    const lines = await app.fetch('/products?sort=-category.parent.name&limit=5&fields=title', {
      headers: { Accept: 'application/x-ndjson' },
    });
    expect(
      titles(
        (await lines.text())
          .trim()
          .split('\n')
          .map((line) => JSON.parse(line)),
      ),
    ).toBe('bdeac');
  });

  test('a long value is in no cursor, and its record is found again', async () => {
    const long = (end: string) => `${'é'.repeat(700)}${end}`;
    const own = await openApp(database, {
      sdl,
      data: {
        categories: [{ name: long('b') }, { name: long('a') }, { name: `${long('a')}a` }],
        makers: [{ code: 'x', name: 'X' }],
        products: [1, 2, 3, 2].map((categoryId, index) => ({
          title: 'abcd'[index],
          categoryId,
          makerId: 'x',
        })),
      },
    });
    try {
      let [seen, after, last] = ['', '', ''];
      for (let page = 0; page < 4; page++) {
        const { body, headers }: { body: any; headers: Headers } = await own.rest(
          'GET',
          `/products?sort=-category.name&limit=1${after}`,
        );
        seen += titles(body);
        const link: string = headers.get('Link') ?? '';
        expect(link.length).toBeLessThan(1024);
        after = /[?&](after=[^&>]*)>; rel="next"/.exec(link)?.[1] ?? '';
        after &&= `&${after}`;
        if (page === 2) last = after;
      }
      expect(seen).toBe('acbd');
      // The record that it was made from is no longer where it was: then nothing is left out that comes after.
      await own.rest('PUT', '/categories/2', { name: long('aa!') });
      const { status, body } = await own.rest('GET', `/products?sort=-category.name${last}`);
      expect([status, titles(body)]).toEqual([200, expect.stringContaining('d')]);
    } finally {
      await own.close();
    }
  });

  test('what cannot be followed is told, with the cure', async () => {
    const faults: [sort: string, code: string, detail: string][] = [
      ['categry.name', 'UNKNOWN', '"categry" is no reference of Product. Did you mean "category"?'],
      ['title.name', 'UNKNOWN', '"title" is no reference of Product. There are: category, maker.'],
      ['reviews.text', 'UNKNOWN', '"reviews" is no reference of Product. There are: category, maker.'],
      ['category.nme', 'UNKNOWN', '"nme" cannot stand in sort. Did you mean "name"?'],
      ['category', 'UNKNOWN', '"category" cannot stand in sort. Did you mean "categoryId"?'],
      ['category.', 'UNKNOWN', '"" cannot stand in sort. There are: id, name, rank, parentId.'],
      ['category.parent.parent.parent.parent.name', 'OUT_OF_RANGE', 'sort may follow 4 references at most'],
    ];
    for (const [sort, code, detail] of faults) {
      const { status, body } = await app.rest('GET', `/products?sort=${sort}`);
      expect([status, body.errors]).toEqual([400, [{ parameter: 'sort', code, detail }]]);
    }
    expect((await app.rest('GET', '/products?sort=category.parent.parent.parent.name')).status).toBe(200);
    const deep = '{ category: { parent: { parent: { parent: { parent: { name: ASC } } } } } }';
    const { errors } = await app.graphql(`{ makers { products(orderBy: [{ id: ASC }, ${deep}]) { id } } }`);
    expect(errors?.[0].extensions).toMatchObject({
      code: 'VALIDATION_FAILED',
      errors: [
        {
          pointer: '#/products/orderBy/1',
          code: 'OUT_OF_RANGE',
          detail: 'orderBy may follow 4 references at most',
        },
      ],
    });
    const ways = (count: number) =>
      ['a', 'b', 'c'].flatMap((one) => ['a', 'b', 'c'].map((two) => [one, two, 'a', 'id'])).slice(0, count);
    for (const [count, isFine] of [
      [6, true],
      [7, false],
    ] as const) {
      // Two or three at the first step, and two more for each way.
      const sort = ways(count)
        .map((way) => way.join('.'))
        .join();
      const orderBy = ways(count).map((way) =>
        way.reduceRight((inner, name) => `{ ${name}: ${inner} }`, 'ASC'),
      );
      const list = await app.rest('GET', `/knots?sort=${sort}`);
      const nested = await app.graphql(
        `{ knots { knotsConnection(orderBy: [${orderBy.join()}]) { totalCount } } }`,
      );
      expect([list.status, nested.errors === undefined]).toEqual([isFine ? 200 : 400, isFine]);
      if (isFine) continue;
      const code = 'OUT_OF_RANGE';
      const detail = (name: string) => `${name} may lead to 16 other records at most`;
      expect(list.body.errors).toEqual([{ parameter: 'sort', code, detail: detail('sort') }]);
      expect(nested.errors?.[0].extensions.errors).toEqual([
        { pointer: '#/knotsConnection/orderBy', code, detail: detail('orderBy') },
      ]);
    }
    const closed = await app.rest('GET', '/doors?sort=closed.name');
    expect(closed.body.errors[0].detail).toBe('"closed" is no reference of Door. There are: none.');
    const shut = await app.graphql('{ doors(orderBy: [{ closed: { name: ASC } }]) { id } }');
    expect(shut.errors?.[0].extensions.code).toBe('GRAPHQL_VALIDATION_FAILED');
    const two = await app.graphql('{ products(orderBy: [{ category: { name: ASC, rank: ASC } }]) { id } }');
    expect(two.errors?.[0].extensions.code).toBe('GRAPHQL_VALIDATION_FAILED');
    const first = (await app.rest('GET', '/products?sort=category.name&limit=1')).headers.get('Link') ?? '';
    const cursor = /after=([^>]*)/.exec(first)?.[1];
    for (const other of ['category.rank', '-category.name', 'maker.name', 'title'])
      expect((await app.rest('GET', `/products?sort=${other}&limit=1&after=${cursor}`)).body.errors).toEqual([
        expect.objectContaining({ parameter: 'after', code: 'CURSOR' }),
      ]);
  });
});

const guarded = `
type Team @resource
  @allow(to: [READ], where: { open: { eq: true } })
  @allow(to: [READ], where: { owner: { eq: { claim: "sub" } } })
  @allow(to: [READ], role: "admin")
{
  id: ID!
  name: String!
  open: Boolean!
  owner: String
  pay: Int @allow(to: [READ], role: "admin")
  boss: Person
  people: [Person!]!
}
type Person @resource(plural: "people") @allow(to: [READ]) {
  id: ID!
  name: String!
  team: Team
  desk: Desk @allow(to: [READ], role: "admin")
  safe: Safe
}
type Desk @resource @allow(to: [READ]) { id: ID!  place: String! }
type Safe @resource @allow(to: [READ], role: "admin") { id: ID!  place: String! }
`;

/** What the hidden teams are called, who leads them, and who is in them. */
function worldOf(name: string, bossId: number | null) {
  return {
    people: [
      { name: 'p1', teamId: 1 },
      { name: 'p2', teamId: 2 },
      { name: 'p3', teamId: null },
      { name: 'p4', teamId: 3 },
      { name: 'p5', teamId: 2 },
    ],
    teams: [
      { name: 'm', open: true, bossId: 3 },
      { name, open: false, bossId },
      { name: 'k', open: true, owner: null, bossId: 2 },
    ],
    desks: [{ place: 'window' }],
    safes: [{ place: 'cellar' }],
  };
}

const ann = await headersOf({ name: 'ann', claims: { sub: 'ann' } });
const admin = await headersOf({ name: 'admin', claims: { sub: 'root', roles: ['admin'] } });

describe.each([...databases])('what the caller may not see, on %s', (database) => {
  const worlds: AppUnderTest[] = [];
  beforeAll(async () => {
    for (const data of [worldOf('a', 1), worldOf('z'.repeat(900), null)])
      worlds.push(await openApp(database, { sdl: guarded, data, env: { AUTH_SECRET: SECRET } }));
  });
  afterAll(() => Promise.all(worlds.map((app) => app.close())));

  const sorts = [
    'team.name',
    '-team.name',
    'team.boss.name',
    '-team.boss.team.name',
    'team.id',
    '-team.open',
  ];

  test.each(sorts)(
    '%s is the same in two worlds that differ in nothing else, cursors included',
    async (sort) => {
      const answers = await Promise.all(
        worlds.map(async (app) => {
          const told: unknown[] = [];
          const whole = await app.rest('GET', `/people?sort=${sort}`, undefined, ann);
          expect(whole.status).toBe(200);
          told.push(whole.body);
          for (let url: string | undefined = `/people?sort=${sort}&limit=1`; url !== undefined; ) {
            const { body, headers }: { body: any; headers: Headers } = await app.rest(
              'GET',
              url,
              undefined,
              ann,
            );
            const link: string = headers.get('Link') ?? '';
            told.push(body, link);
            url = /<([^>]*)>; rel="next"/.exec(link)?.[1];
          }
          const [descending, ...path] = sort.startsWith('-')
            ? [true, ...sort.slice(1).split('.')]
            : [false, ...sort.split('.')];
          const orderBy = path.reduceRight<unknown>(
            (inner, name) => ({ [String(name)]: inner }),
            descending ? 'DESC' : 'ASC',
          );
          const asked = await app.graphql(
            `query ($orderBy: [PersonOrder!]) {
            peopleConnection(orderBy: $orderBy) { edges { cursor node { id } } }
            teams { id people(orderBy: $orderBy, first: 2) { id } }
          }`,
            { orderBy: [orderBy] },
            ann,
          );
          expect(asked.errors).toBeUndefined();
          return [...told, asked.data];
        }),
      );
      expect(answers[0]).toEqual(answers[1] as unknown[]);
    },
  );

  test('a hidden record is like none', async () => {
    const [first, second] = await Promise.all(
      worlds.map(async (app) => {
        const names = async (headers: Record<string, string>) =>
          (await app.rest('GET', '/people?sort=team.name', undefined, headers)).body.map(({ id }: any) => id);
        return { ann: await names(ann), admin: await names(admin) };
      }),
    );
    expect(first).toEqual({ ann: [2, 3, 5, 4, 1], admin: [3, 2, 5, 4, 1] });
    expect(second).toEqual({ ann: [2, 3, 5, 4, 1], admin: [3, 4, 1, 2, 5] });
  });

  test('what may not be read cannot be sorted by', async () => {
    const [app] = worlds;
    const refused: [sort: string, orderBy: string, detail: string][] = [
      [
        'team.pay',
        '{ team: { pay: ASC } }',
        'You may not read each Team.pay, so it cannot be used in the order of a list.',
      ],
      [
        'desk.place',
        '{ desk: { place: ASC } }',
        'You may not read each Person.desk, so it cannot be used in the order of a list.',
      ],
      ['safe.place', '{ safe: { place: ASC } }', 'You may not read safes.'],
      [
        'team.boss.teamId',
        '{ team: { boss: { teamId: ASC } } }',
        'You may not read each Person.teamId, so it cannot be used in the order of a list.',
      ],
    ];
    for (const [sort, orderBy, detail] of refused) {
      const { status, body } = (await app?.rest('GET', `/people?sort=${sort}`, undefined, ann)) ?? {};
      expect([status, body.code, body.detail]).toEqual([403, 'FORBIDDEN', detail]);
      for (const query of [
        `{ people(orderBy: [${orderBy}]) { id } }`,
        `{ teams { people(orderBy: [${orderBy}]) { id } } }`,
      ]) {
        const { errors } = (await app?.graphql(query, {}, ann)) ?? {};
        expect([errors?.[0].extensions.code, errors?.[0].message]).toEqual(['FORBIDDEN', detail]);
      }
      expect((await app?.rest('GET', `/people?sort=${sort}`, undefined, admin))?.status).toBe(200);
      expect((await app?.rest('GET', `/people?sort=${sort}`))?.status).toBe(401);
    }
  });
});
