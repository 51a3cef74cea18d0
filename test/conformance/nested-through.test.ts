/** Connections and numbers of a record's lists, where the list is one through a join type, searched, or put into groups. */

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { type AppUnderTest, databases, openApp } from '../app.ts';
import { headersOf, SECRET } from './access-matrix.ts';

const sdl = `
  type Product @resource {
    id: ID!  name: String!
    tags: [Tag!]! @through(type: "ProductTag")
  }
  type Tag @resource @search(fields: ["name", "about"]) {
    id: ID!  name: String! @caseless  about: String!  rank: Int  kind: Kind
    products: [Product!]! @through(type: "ProductTag")
  }
  type Kind @resource { id: ID!  label: String!  tags: [Tag!]! }
  type ProductTag @resource { id: ID!  product: Product!  tag: Tag }`;

const data = {
  kinds: [{ label: 'warm' }, { label: 'cold' }, { label: 'none' }],
  products: [{ name: 'chai' }, { name: 'tea' }, { name: 'cup' }],
  tags: [
    { name: 'Hot', about: 'green tea', rank: 2, kindId: 1 },
    { name: 'new', about: 'hot tea', rank: 1, kindId: 2 },
    { name: 'old', about: 'nothing', rank: null, kindId: 2 },
    { name: 'red tea', about: 'hot', rank: 1, kindId: 1 },
    { name: 'RED', about: 'tea', rank: 5, kindId: null },
  ],
  // The first pair is there twice.
  productTags: [
    [1, 1],
    [1, 1],
    [1, 2],
    [1, 4],
    [1, 5],
    [2, 4],
    [2, null],
    [2, 3],
  ].map(([productId, tagId]) => ({ productId, tagId })),
};

const open = (database: (typeof databases)[number], more = {}) => openApp(database, { sdl, data, ...more });

describe.each([...databases])('on %s', (database) => {
  let app: AppUnderTest;
  beforeAll(async () => {
    app = await open(database);
  });
  afterAll(() => app.close());
  const graphql = async (query: string) => {
    const { data: found, errors } = await app.graphql(query);
    if (errors) throw new Error(JSON.stringify(errors));
    return found;
  };
  const rest = async (path: string) => {
    const { status, body } = await app.rest('GET', path);
    if (status !== 200) throw new Error(JSON.stringify(body));
    return body;
  };
  /** Of each product: the keys on the page, whether it goes on, and how many there are. */
  const pages = async (args: string) => {
    const { products } = await graphql(
      `{ products { page: tagsConnection${args} { totalCount edges { node { id } } pageInfo { hasNextPage hasPreviousPage } } } }`,
    );
    return products.map(({ page: { totalCount, edges, pageInfo } }: any) => [
      edges.map(({ node }: any) => node.id).join(''),
      pageInfo.hasNextPage,
      pageInfo.hasPreviousPage,
      totalCount,
    ]);
  };

  test('a list through a join type has its connection: each record once, and counted once', async () => {
    const none = ['', false, false, 0];
    expect(await pages('')).toEqual([['1245', false, false, 4], ['34', false, false, 2], none]);
    expect(await pages('(first: 2)')).toEqual([['12', true, false, 4], ['34', false, false, 2], none]);
    expect(await pages('(last: 1)')).toEqual([['5', false, true, 4], ['4', false, true, 2], none]);
    expect(await pages('(first: 1, offset: 1, orderBy: [{ kind: { label: DESC } }])')).toEqual([
      ['4', true, true, 4],
      ['3', false, true, 2],
      ['', false, true, 0],
    ]);
    expect(await pages('(where: { rank: { gt: 1 } }, first: 1)')).toEqual([
      ['1', true, false, 2],
      none,
      none,
    ]);
  });

  test('with cursors that lead on and back, by references and by relevance too', async () => {
    for (const [args, expected] of [
      ['orderBy: [{ name: DESC }]', '4521'],
      ['orderBy: [{ kind: { label: ASC } }, { rank: DESC }]', '5214'],
      ['search: "tea"', '1245'],
      ['search: "tea", orderBy: [{ _relevance: DESC }]', '4125'],
      ['search: "hot", orderBy: [{ _relevance: ASC }, { rank: ASC }]', '241'],
    ]) {
      const page = async (more: string) => {
        const { product } = await graphql(
          `{ product(id: 1) { page: tagsConnection(${args}, ${more}) { edges { cursor node { id } } pageInfo { hasNextPage endCursor } } } }`,
        );
        return product.page;
      };
      const there: any[] = [];
      for (let after = ''; there.length < 9; ) {
        const { edges, pageInfo } = await page(`first: 1${after}`);
        there.push(...edges);
        if (!pageInfo.hasNextPage) break;
        after = `, after: "${pageInfo.endCursor}"`;
      }
      const ids = (edges: any[]) => edges.map(({ node }) => node.id).join('');
      expect([args, ids(there)]).toEqual([args, expected]);
      const back = await page(`last: 2, before: "${there.at(-1).cursor}"`);
      expect([args, ids(back.edges)]).toEqual([args, expected?.slice(-3, -1)]);
    }
  });

  test('lists of records that point here are searched, and ordered by relevance, page by page', async () => {
    const tags = (args: string) =>
      `{ kinds { tagsConnection(${args}) { totalCount edges { cursor node { id } } } } }`;
    const { kinds } = await graphql(tags('search: "tea", orderBy: [{ _relevance: DESC }], first: 1'));
    expect(
      kinds.map(({ tagsConnection: { totalCount, edges } }: any) => [totalCount, edges[0]?.node.id]),
    ).toEqual([
      [2, '4'],
      [1, '2'],
      [0, undefined],
    ]);
    const { cursor } = kinds[0].tagsConnection.edges[0];
    const after = await graphql(tags(`search: "tea", orderBy: [{ _relevance: DESC }], after: "${cursor}"`));
    expect(after.kinds[0].tagsConnection.edges.map(({ node }: any) => node.id)).toEqual(['1']);
    // The same list by itself goes on there too.
    const going = await rest(`/tags?kindId=1&search=tea&sort=_relevance&after=${cursor}`);
    expect(going.map(({ id }: any) => id)).toEqual([1]);
  });

  test('numbers about lists through a join type: of each record once', async () => {
    const { products } = await graphql(`{ products {
      all: tagsAggregate { count sum { rank } max { name } }
      found: tagsAggregate(search: "hot") { count }
      kinds: tagsAggregate(groupBy: [kindId]) { by { kindId kind { label tagsAggregate { count } } } count }
    } }`);
    const warm = { kindId: '1', kind: { label: 'warm', tagsAggregate: [{ count: 2 }] } };
    const cold = { kindId: '2', kind: { label: 'cold', tagsAggregate: [{ count: 2 }] } };
    expect(products).toEqual([
      {
        all: [{ count: 4, sum: { rank: 9 }, max: { name: 'red tea' } }],
        found: [{ count: 3 }],
        kinds: [
          { by: { kindId: null, kind: null }, count: 1 },
          { by: warm, count: 2 },
          { by: cold, count: 1 },
        ],
      },
      {
        all: [{ count: 2, sum: { rank: 1 }, max: { name: 'red tea' } }],
        found: [{ count: 1 }],
        kinds: [
          { by: warm, count: 1 },
          { by: cold, count: 1 },
        ],
      },
      { all: [{ count: 0, sum: { rank: null }, max: { name: null } }], found: [{ count: 0 }], kinds: [] },
    ]);
  });

  test('which groups, in which order and how many, for each record as for the list by itself', async () => {
    for (const [args, parameters] of [
      ['groupBy: [rank], orderBy: [{ by: { rank: DESC } }], first: 1', 'groupBy=rank&sort=-rank&limit=1'],
      [
        'groupBy: [rank], orderBy: [{ count: DESC }], first: 1, offset: 1',
        'groupBy=rank&sort=-count&limit=1&offset=1',
      ],
      ['groupBy: [rank], offset: 1', 'groupBy=rank&offset=1'],
      [
        'groupBy: [name], having: { max: { rank: { gte: 1 } } }',
        'groupBy=name&having={"max":{"rank":{"gte":1}}}',
      ],
      ['having: { count: { gte: 2 } }', 'having={"count":{"gte":2}}'],
      ['having: { count: { lt: 2 } }', 'having={"count":{"lt":2}}'],
      [
        'having: { sum: { rank: { gt: 1 } } }, orderBy: [{ count: ASC }]',
        'having={"sum":{"rank":{"gt":1}}}&sort=count',
      ],
      ['offset: 1', 'offset=1'],
      ['having: { count: { lt: 2 } }, offset: 1', 'having={"count":{"lt":2}}&offset=1'],
    ] as const) {
      const { kinds } = await graphql(`{ kinds { it: tagsAggregate(${args}) { count sum { rank } } } }`);
      const own = [];
      for (const key of [1, 2, 3]) {
        const rows = await rest(`/tags?kindId=${key}&aggregate=count,sum(rank)&${parameters}`);
        own.push(rows.map(({ count, sum }: any) => ({ count, sum })));
      }
      expect([args, ...kinds.map(({ it }: any) => it)]).toEqual([args, ...own]);
      const { products } = await graphql(
        `{ products { it: tagsAggregate(${args}) { count sum { rank } } } }`,
      );
      const linked = [];
      for (const key of [1, 2, 3]) {
        const where = `{"products":{"some":{"id":{"eq":${key}}}}}`;
        const rows = await rest(`/tags?where=${where}&aggregate=count,sum(rank)&${parameters}`);
        linked.push(rows.map(({ count, sum }: any) => ({ count, sum })));
      }
      expect([args, ...products.map(({ it }: any) => it)]).toEqual([args, ...linked]);
    }
  });

  test('as many statements for all records as for one', async () => {
    const statements = async (records: string) => {
      const query = `{ ${records} { id
        tagsConnection(first: 1, search: "tea", orderBy: [{ _relevance: DESC }]) { totalCount edges { cursor node { id } } pageInfo { hasNextPage } }
        tagsAggregate(groupBy: [kindId], having: { count: { gt: 0 } }, orderBy: [{ count: DESC }], first: 1) { count by { kind { label } } }
        all: tagsAggregate(having: { count: { gt: 0 } }) { count }
      } }`;
      await graphql(query);
      app.statements.length = 0;
      await graphql(query);
      return app.statements.filter((sql) => /^(SELECT|WITH)/.test(sql)).length;
    };
    expect(await statements('products')).toBe(await statements('products(first: 1)'));
  });
});

describe.each([...databases])('with rules, on %s', (database) => {
  test('links that the caller does not see are none, nor is what they lead to', async () => {
    const ruled = sdl
      .replace('type Product @resource', 'type Product @resource @allow(to: [READ])')
      .replace('type Kind @resource', 'type Kind @resource @allow(to: [READ])')
      .replace(
        'type ProductTag @resource',
        'type ProductTag @resource @allow(to: [READ], role: "admin") @allow(to: [READ], where: { id: { ne: 3 } })',
      )
      .replace(
        'type Tag @resource',
        'type Tag @resource @allow(to: [READ], role: "admin") @allow(to: [READ], where: { id: { ne: 4 } })',
      );
    const app = await open(database, { sdl: ruled, env: { AUTH_SECRET: SECRET } });
    try {
      const query =
        '{ products { tagsConnection { totalCount edges { node { id } } } tagsAggregate { count } } }';
      const of = async (headers: Record<string, string>) => {
        const { data: found, errors } = await app.graphql(query, {}, headers);
        if (errors) throw new Error(JSON.stringify(errors));
        return found.products.map(({ tagsConnection: { totalCount, edges }, tagsAggregate }: any) => [
          edges.map(({ node }: any) => node.id).join(''),
          totalCount,
          tagsAggregate[0].count,
        ]);
      };
      expect(await of(await headersOf({ name: 'admin', claims: { sub: 'root', roles: ['admin'] } }))).toEqual(
        [
          ['1245', 4, 4],
          ['34', 2, 2],
          ['', 0, 0],
        ],
      );
      expect(await of({})).toEqual([
        ['15', 2, 2],
        ['3', 1, 1],
        ['', 0, 0],
      ]);
    } finally {
      await app.close();
    }
  });

  test('what they add counts for the limits', async () => {
    const app = await open(database, { env: { LIMIT_OBJECTS: '10' } });
    try {
      const code = async (query: string) => (await app.graphql(query)).errors?.[0].extensions.code;
      expect(await code('{ products { tagsConnection { edges { node { id } } } } }')).toBeUndefined();
      expect(await code('{ products { tagsConnection { edges { node { id kind { id } } } } } }')).toBe(
        'TOO_MANY_OBJECTS',
      );
      expect(await code('{ products { tagsAggregate(groupBy: [id], first: 2) { count } } }')).toBeUndefined();
      expect(
        await code('{ products { tagsAggregate(groupBy: [id]) { count by { kindId } } tags { id } } }'),
      ).toBe('TOO_MANY_OBJECTS');
      expect(await code('{ products { tagsAggregate(groupBy: [id, kindId]) { by { kind { id } } } } }')).toBe(
        'TOO_MANY_OBJECTS',
      );
    } finally {
      await app.close();
    }
  });
});
