/** Lists through a join type, read: included, filtered, ordered, cut and paged as an inverse is, each record once. */

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { type AppUnderTest, databases, openApp } from '../app.ts';
import { headersOf, SECRET } from './access-matrix.ts';

/** The join type of products has a pair twice; that of films is keyed by texts, and hidden from both doors. */
const sdl = `
  type Product @resource {
    id: ID!  name: String!
    tags: [Tag!]! @through(type: "ProductTag")
    productTags: [ProductTag!]!
  }
  type Tag @resource {
    id: ID!  name: String!  rank: Int
    products: [Product!]! @through(type: "ProductTag")
    notes: [Note!]!
  }
  type ProductTag @resource { id: ID!  product: Product! @onDelete(do: CASCADE)  tag: Tag  place: Int }
  type Note @resource { id: ID!  text: String!  tag: Tag! }
  type Film @resource { code: String! @key  cast: [Actor!]! @through(type: "Role") }
  type Actor @resource { id: UUID!  name: String!  films: [Film!]! @through(type: "Role") }
  type Role @resource(rest: false, graphql: false) @unique(fields: ["film", "actor"]) { id: ID!  film: Film!  actor: Actor! }`;

const data = {
  products: [{ name: 'chai' }, { name: 'tea' }, { name: 'cup' }],
  tags: [
    { name: 'hot', rank: 2 },
    { name: 'new', rank: 1 },
    { name: 'old', rank: null },
    { name: 'red', rank: 1 },
  ],
  productTags: [
    [1, 4],
    [1, 1],
    [1, 2],
    [1, 1],
    [2, 1],
    [2, null],
    [2, 4],
  ].map(([productId, tagId], place) => ({ productId, tagId, place })),
  notes: [
    { text: 'a', tagId: 1 },
    { text: 'b', tagId: 1 },
    { text: 'c', tagId: 4 },
  ],
  films: [{ code: 'x/1' }, { code: "o'2" }],
  actors: ['Ann', 'Bob'].map((name, index) => ({ id: `00000000-0000-7000-8000-00000000000${index}`, name })),
  roles: [
    { filmCode: 'x/1', actorId: '00000000-0000-7000-8000-000000000001' },
    { filmCode: 'x/1', actorId: '00000000-0000-7000-8000-000000000000' },
    { filmCode: "o'2", actorId: '00000000-0000-7000-8000-000000000001' },
  ].map(({ filmCode, actorId }) => ({ filmId: filmCode, actorId })),
};

const names = (list: any[]) => list.map(({ name }) => name).join(' ');

describe.each([...databases])('on %s', (database) => {
  let app: AppUnderTest;
  beforeAll(async () => {
    app = await openApp(database, { sdl, data });
  });
  afterAll(() => app.close());
  const rest = async (path: string) => {
    const { status, body } = await app.rest('GET', path);
    if (status !== 200) throw new Error(JSON.stringify(body));
    return body;
  };
  const graphql = async (query: string) => {
    const { data: found, errors } = await app.graphql(query);
    if (errors) throw new Error(JSON.stringify(errors));
    return found;
  };

  test('included: each record once, in the order of its key', async () => {
    const included = await rest('/products?include=tags');
    expect(included.map((each: any) => [each.name, names(each.tags)])).toEqual([
      ['chai', 'hot new red'],
      ['tea', 'hot red'],
      ['cup', ''],
    ]);
    expect(included[1]).toEqual({
      id: 2,
      name: 'tea',
      tags: [
        { id: 1, name: 'hot', rank: 2 },
        { id: 4, name: 'red', rank: 1 },
      ],
    });
    expect(await graphql('{ products { name tags { id name rank } } }')).toEqual({
      products: included.map(({ name, tags }: any) => ({
        name,
        tags: tags.map((tag: any) => ({ ...tag, id: String(tag.id) })),
      })),
    });
    expect((await rest('/products/1?include=tags&fields=name,tags.name')).tags).toEqual([
      { name: 'hot' },
      { name: 'new' },
      { name: 'red' },
    ]);
  });

  test('ordered, filtered, cut and left out of, for each parent', async () => {
    const asked: [string, string, string[]][] = [
      ['tags[sort]=-name', 'orderBy: [{ name: DESC }]', ['red new hot', 'red hot', '']],
      ['tags[sort]=rank,-name', 'orderBy: [{ rank: ASC }, { name: DESC }]', ['red new hot', 'red hot', '']],
      ['tags[limit]=2', 'first: 2', ['hot new', 'hot red', '']],
      ['tags[limit]=1&tags[offset]=1', 'first: 1, offset: 1', ['new', 'red', '']],
      ['tags[offset]=2', 'offset: 2', ['red', '', '']],
      ['tags[where]={"rank":{"eq":1}}', 'where: { rank: { eq: 1 } }', ['new red', 'red', '']],
      [
        'tags[where]={"rank":{"eq":1}}&tags[limit]=1&tags[sort]=-id',
        'where: { rank: { eq: 1 } }, first: 1, orderBy: [{ id: DESC }]',
        ['red', 'red', ''],
      ],
    ];
    for (const [parameters, args, expected] of asked) {
      const found = await rest(`/products?include=tags&${parameters}`);
      expect([parameters, ...found.map(({ tags }: any) => names(tags))]).toEqual([parameters, ...expected]);
      const { products } = await graphql(`{ products { tags(${args}) { name } } }`);
      expect([args, ...products.map(({ tags }: any) => names(tags))]).toEqual([args, ...expected]);
    }
    const { tagsConnection } = await graphql('{ tagsConnection(first: 1) { pageInfo { endCursor } } }');
    const { endCursor } = tagsConnection.pageInfo;
    const after = await graphql(`{ products { tags(after: "${endCursor}", first: 1) { name } } }`);
    expect(after.products.map(({ tags }: any) => names(tags))).toEqual(['new', 'red', '']);
    const { body } = await app.rest('GET', `/products?include=tags&tags[after]=${endCursor}`);
    expect(body.map(({ tags }: any) => names(tags))).toEqual(['new red', 'red', '']);
  });

  test('some and none, counted and summed up', async () => {
    const asked: [unknown, string, string][] = [
      [
        { tags: { some: { name: { eq: 'hot' } } } },
        '{ tags: { some: { name: { eq: "hot" } } } }',
        'chai tea',
      ],
      [{ tags: { some: { name: { eq: 'new' } } } }, '{ tags: { some: { name: { eq: "new" } } } }', 'chai'],
      [{ tags: { some: {} } }, '{ tags: { some: {} } }', 'chai tea'],
      [{ tags: { none: {} } }, '{ tags: { none: {} } }', 'cup'],
      [
        { tags: { none: { rank: { isNull: false } } } },
        '{ tags: { none: { rank: { isNull: false } } } }',
        'cup',
      ],
      [
        { tags: { some: { products: { some: { name: { eq: 'tea' } } }, notes: { none: {} } } } },
        '{ tags: { some: { products: { some: { name: { eq: "tea" } } }, notes: { none: {} } } } }',
        '',
      ],
    ];
    for (const [where, literal, expected] of asked) {
      const path = `/products?where=${encodeURIComponent(JSON.stringify(where))}`;
      expect([literal, names(await rest(path))]).toEqual([literal, expected]);
      const { products, productsConnection, productsAggregate } = await graphql(`{
        products(where: ${literal}) { name }
        productsConnection(where: ${literal}) { totalCount }
        productsAggregate(where: ${literal}) { count } }`);
      const count = expected === '' ? 0 : expected.split(' ').length;
      expect([names(products), productsConnection.totalCount, productsAggregate[0].count]).toEqual([
        expected,
        count,
        count,
      ]);
      expect(await rest(`${path}&aggregate=count`)).toEqual([{ count }]);
    }
    const { status, body } = await app.rest('GET', '/products?where={"tags":{"every":{}}}');
    expect([status, body.errors[0].detail]).toEqual([
      400,
      '"every" is not known of a list. There are: some, none.',
    ]);
  });

  test('as deep as filters go, of which each list is two levels', async () => {
    const nested = (depth: number) => {
      let where: object = { name: { ne: '' } };
      for (let level = depth; level > 0; level--)
        where = { [level % 2 === 1 ? 'tags' : 'products']: { some: where } };
      return where;
    };
    const ask = async (depth: number) => {
      const where = nested(depth);
      const { status, body } = await app.rest('GET', `/products?where=${JSON.stringify(where)}`);
      const { data: found, errors } = await app.graphql(
        'query($where: ProductWhere) { products(where: $where) { name } }',
        { where },
      );
      const byRest = status === 200 ? names(body) : body.errors[0].code;
      expect(errors ? errors[0].extensions.errors[0].code : names(found.products)).toBe(byRest);
      return byRest;
    };
    expect(await ask(9)).toBe('chai tea');
    expect(await ask(10)).toBe('OUT_OF_RANGE');
  });

  test('below a list that many lead to, and back again', async () => {
    const back = await rest('/products?include=tags.products,tags.notes&tags.notes[limit]=1');
    const shape = (products: any[]) =>
      products.map(({ tags }: any) =>
        tags.map((tag: any) => [
          tag.name,
          names(tag.products),
          tag.notes.map(({ text }: any) => text).join(),
        ]),
      );
    const expected = [
      [
        ['hot', 'chai tea', 'a'],
        ['new', 'chai', ''],
        ['red', 'chai tea', 'c'],
      ],
      [
        ['hot', 'chai tea', 'a'],
        ['red', 'chai tea', 'c'],
      ],
      [],
    ];
    expect(shape(back)).toEqual(expected);
    const { products } = await graphql(
      '{ products { tags { name products { name } notes(first: 1) { text } } } }',
    );
    expect(shape(products)).toEqual(expected);
    const deep = await graphql(
      '{ product(id: 2) { tags { products(first: 1) { tags(first: 2) { name } } } } }',
    );
    expect(deep.product.tags.map((tag: any) => tag.products.map((each: any) => names(each.tags)))).toEqual([
      ['hot new'],
      ['hot new'],
    ]);
  });

  test('keys that are texts, over a type that no door shows', async () => {
    const films = await rest('/films?include=cast');
    expect(films.map((film: any) => [film.code, names(film.cast)])).toEqual([
      ["o'2", 'Bob'],
      ['x/1', 'Ann Bob'],
    ]);
    const { actors } = await graphql('{ actors { films(orderBy: [{ code: DESC }], first: 1) { code } } }');
    expect(actors.map((actor: any) => actor.films[0].code)).toEqual(['x/1', 'x/1']);
    expect((await app.rest('GET', '/roles')).status).toBe(404);
  });

  test('one statement for each level, however many records', async () => {
    const count = async (ask: () => Promise<unknown>) => {
      app.statements.length = 0;
      await ask();
      return app.statements.filter((sql) => sql.includes('SELECT')).length;
    };
    const most = database === 'sqlite' ? 3 : 1;
    expect(await count(() => rest('/products?include=tags.products'))).toBe(most);
    expect(await count(() => graphql('{ products { tags(first: 1) { products { name } } } }'))).toBe(most);
    const query = '{ products { tags { name } } }';
    for (const _ of [1, 2, 3]) expect(await count(() => graphql(query))).toBe(database === 'sqlite' ? 2 : 1);
  });

  test('what a record that many lead to takes in the answer is counted for each of them', async () => {
    const small = await openApp(database, { sdl, data, env: { LIMIT_OBJECTS: '8' } });
    // Three products with five tags, of which three are different.
    expect((await small.rest('GET', '/products?include=tags')).status).toBe(200);
    const tiny = await openApp(database, { sdl, data, env: { LIMIT_OBJECTS: '7' } });
    expect((await tiny.rest('GET', '/products?include=tags')).body.code).toBe('TOO_MANY_OBJECTS');
    expect((await tiny.graphql('{ products { tags { id } } }')).errors?.[0].extensions.code).toBe(
      'TOO_MANY_OBJECTS',
    );
    await Promise.all([small.close(), tiny.close()]);
  });
});

const guarded = `
  type Product @resource @allow(to: [READ], where: { tags: { some: { public: { eq: true } } } }) @allow(to: [READ], role: "all") {
    id: ID!  name: String!
    tags: [Tag!]! @through(type: "ProductTag")
    hidden: [Tag!] @through(type: "ProductTag") @allow(to: [READ], role: "all")
  }
  type Tag @resource @allow(to: [READ], where: { public: { eq: true } }) @allow(to: [READ], role: "all") { id: ID!  name: String!  public: Boolean! }
  type ProductTag @resource @allow(to: [READ], where: { kept: { eq: false } }) @allow(to: [READ], role: "all") {
    id: ID!  product: Product  tag: Tag  kept: Boolean!
  }`;

describe.each([...databases])('rules, on %s', (database) => {
  let app: AppUnderTest;
  beforeAll(async () => {
    app = await openApp(database, {
      sdl: guarded,
      data: {
        products: [{ name: 'chai' }, { name: 'tea' }, { name: 'cup' }],
        tags: [
          { name: 'hot', public: true },
          { name: 'new', public: true },
          { name: 'old', public: false },
        ],
        productTags: [
          [1, 1, false],
          [1, 2, true],
          [1, 3, false],
          [2, 2, true],
          [3, 3, false],
        ].map(([productId, tagId, kept]) => ({ productId, tagId, kept })),
      },
      env: { AUTH_SECRET: SECRET },
    });
  });
  afterAll(() => app.close());

  test('a link that is not seen is no link, nor is one to what is not seen; rules themselves see all', async () => {
    const all = await headersOf({ name: 'all', claims: { sub: 'a', roles: ['all'] } });
    const read = async (headers: any) =>
      (await app.rest('GET', '/products?include=tags', undefined, headers)).body.map((each: any) => [
        each.name,
        names(each.tags),
      ]);
    expect(await read({})).toEqual([
      ['chai', 'hot'],
      ['tea', ''],
    ]);
    expect(await read(all)).toEqual([
      ['chai', 'hot new old'],
      ['tea', 'new'],
      ['cup', 'old'],
    ]);
    const query = '{ products { name tags(first: 5) { name } } }';
    const seen = async (headers: any) =>
      (await app.graphql(query, {}, headers)).data.products.map((each: any) => [each.name, names(each.tags)]);
    expect(await seen({})).toEqual(await read({}));
    expect(await seen(all)).toEqual(await read(all));
    const where = '/products?where={"tags":{"some":{"name":{"eq":"new"}}}}';
    expect((await app.rest('GET', where)).body).toEqual([]);
    expect(names((await app.rest('GET', where, undefined, all)).body)).toBe('chai tea');
  });

  test('a list that only some may read', async () => {
    const all = await headersOf({ name: 'all', claims: { sub: 'a', roles: ['all'] } });
    expect((await app.rest('GET', '/products/1?include=hidden')).body).toEqual({ id: 1, name: 'chai' });
    expect(names((await app.rest('GET', '/products/1?include=hidden', undefined, all)).body.hidden)).toBe(
      'hot new old',
    );
    expect((await app.graphql('{ product(id: 1) { hidden { name } } }')).errors?.[0].extensions.code).toBe(
      'FORBIDDEN',
    );
    const denied = await app.rest('GET', '/products?where={"hidden":{"some":{}}}');
    expect(denied.body.code).toBe('UNAUTHENTICATED');
  });
});
