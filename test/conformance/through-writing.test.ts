/** Lists through a join type, written along with their record: exactly these, or some more and some fewer. */

import { beforeEach, describe, expect, test } from 'bun:test';
import { type AppUnderTest, type DatabaseKind, databases, openEmptied } from '../app.ts';

const sdl = `
  type Shop @resource { id: ID!  name: String!  products: [Product!]! }
  type Product @resource {
    id: ID!  sku: String @unique  name: String!  stock: Int! @default(value: 0)
    shop: Shop
    tags: [Tag!]! @through(type: "ProductTag")
    labels: [Label!]! @through(type: "Labelled")
    parts: [Part!]! @through(type: "Piece")
    rows: [Part!]! @through(type: "Row")
  }
  type Tag @resource { id: ID!  name: String!  products: [Product!]! @through(type: "ProductTag") }
  type ProductTag @resource @unique(fields: ["product", "tag"]) {
    id: ID!  product: Product! @onDelete(do: CASCADE)  tag: Tag! @onDelete(do: CASCADE)
    since: DateTime! @createdAt  weight: Int! @default(value: 7)
    audits: [Audit!]!
  }
  type Audit @resource { id: ID!  text: String!  link: ProductTag! }
  type Label @resource { code: String! @key  products: [Product!]! @through(type: "Labelled") }
  type Labelled @resource { id: ID!  product: Product!  label: Label! }
  type Part @resource { id: ID!  name: String! }
  type Piece @resource { id: ID!  product: Product!  part: Part!  count: Int! }
  type Row @resource(only: [LIST, GET, CREATE]) { id: ID!  product: Product!  part: Part! }`;

const opened = new Map<DatabaseKind, Awaited<ReturnType<typeof openEmptied>>>();

describe.each([...databases])('on %s', (database) => {
  let app: AppUnderTest;
  beforeEach(async () => {
    const emptied = opened.get(database) ?? (await openEmptied(database, { sdl }));
    opened.set(database, emptied);
    app = await emptied.next();
    for (const name of ['hot', 'new', 'old', 'red']) await app.rest('POST', '/tags', { name });
    for (const code of ['b', 'a']) await app.rest('POST', '/labels', { code });
  });
  const links = async () =>
    (await app.rest('GET', '/product-tags?sort=id')).body.map(
      (each: any) => `${each.productId}-${each.tagId}`,
    );
  const failure = (code: string, errors: any[] | undefined) => ({
    code,
    faults: (errors ?? []).map((each) => `${each.pointer} ${each.code}`),
  });
  const shown = ({ tags, _version }: any) => ({
    tags: tags.map(({ name }: any) => name).join(' '),
    version: _version,
  });

  const query = 'include=tags&fields=tags.name,_version';
  const variables: Record<string, string> = {
    name: 'String!',
    stock: 'Int',
    sku: 'String',
    tagIds: '[ID!]',
    _tags: 'IDLinks',
    labelIds: '[String!]',
    _labels: 'StringLinks',
    _inc: 'ProductIncrements',
  };
  const mutation = async (field: string, own: string, body: any) => {
    const names = Object.keys(body);
    const declared = names.map(
      (name) => `$${name}: ${(variables[name] ?? 'String').replace(/!$/, own ? '' : '!')}`,
    );
    const { data, errors } = await app.graphql(
      `mutation(${declared.join(', ')}) { it: ${field}(${[own, ...names.map((name) => `${name}: $${name}`)].filter(Boolean).join(', ')}) { tags { name } _version } }`,
      body,
    );
    return errors ? failure(errors[0].extensions.code, errors[0].extensions.errors) : shown(data.it);
  };
  /** The same writes by either door. */
  const doors = {
    rest: {
      create: async (body: any) => {
        const answer = await app.rest('POST', `/products?${query}`, body);
        return answer.status === 201 ? shown(answer.body) : failure(answer.body.code, answer.body.errors);
      },
      update: async (id: number, body: any) => {
        const answer = await app.rest('PUT', `/products/${id}?${query}`, body);
        return answer.status === 200 ? shown(answer.body) : failure(answer.body.code, answer.body.errors);
      },
    },
    graphql: {
      create: (body: any) => mutation('createProduct', '', body),
      update: (id: number, body: any) => mutation('updateProduct', `id: ${id}`, body),
    },
  };

  describe.each(Object.entries(doors))('through %s', (door, { create, update }) => {
    test('exactly these, and more and fewer', async () => {
      expect(await create({ name: 'chai', tagIds: [3, 1, 3] })).toEqual({ tags: 'hot old', version: 1 });
      expect(await links()).toEqual(['1-1', '1-3']);
      expect(await create({ name: 'tea', _tags: { add: [2], remove: [1] } })).toEqual({
        tags: 'new',
        version: 1,
      });
      expect(await update(1, { tagIds: [3, 4] })).toEqual({ tags: 'old red', version: 2 });
      expect(await links()).toEqual(['1-3', '2-2', '1-4']);
      expect(await update(1, { name: 'Chai', _tags: { add: [1, 4], remove: [3, 2] } })).toEqual({
        tags: 'hot red',
        version: 3,
      });
      expect(await update(1, { _inc: { stock: 2 }, _tags: { remove: [4] } })).toMatchObject({ tags: 'hot' });
      // What is so already is no change of any link.
      const before = (await app.rest('GET', '/product-tags')).body;
      expect(await update(1, { tagIds: [1] })).toMatchObject({ tags: 'hot' });
      expect(await update(1, { _tags: { add: [1], remove: [4] } })).toMatchObject({ tags: 'hot' });
      expect((await app.rest('GET', '/product-tags')).body).toEqual(before);
      expect(before[0]).toMatchObject({ weight: 7, since: expect.any(String) });
      expect(await update(1, { tagIds: [] })).toMatchObject({ tags: '' });
      expect(await links()).toEqual(['2-2']);
      expect((await app.rest('GET', '/products/1')).body).toEqual({
        id: 1,
        sku: null,
        name: 'Chai',
        stock: 2,
        shopId: null,
      });
    });

    test('what is wrong is told where it stands, and nothing has happened', async () => {
      await create({ name: 'chai', tagIds: [1] });
      const wrong: [any, string, string[]][] = [
        [{ tagIds: [1, 9] }, 'CONFLICT', ['#/tagIds/1 REFERENCE_NOT_FOUND']],
        [
          { tagIds: [9, 8, 1] },
          'CONFLICT',
          ['#/tagIds/1 REFERENCE_NOT_FOUND', '#/tagIds/0 REFERENCE_NOT_FOUND'],
        ],
        [{ _tags: { add: [2, 9] } }, 'CONFLICT', ['#/_tags/add/1 REFERENCE_NOT_FOUND']],
        [{ tagIds: [1], _tags: { add: [2] } }, 'VALIDATION_FAILED', ['#/_tags UNKNOWN']],
        [{ tagIds: null }, 'VALIDATION_FAILED', ['#/tagIds REQUIRED']],
        [{ _tags: {} }, 'VALIDATION_FAILED', ['#/_tags EMPTY']],
        [{ _tags: null }, 'VALIDATION_FAILED', ['#/_tags TYPE']],
        [{ _tags: { add: null } }, 'VALIDATION_FAILED', ['#/_tags/add REQUIRED']],
        [{ _tags: { add: [1, 2], remove: [3, 2] } }, 'VALIDATION_FAILED', ['#/_tags/remove/1 UNKNOWN']],
        [{ tagIds: Array(10_001).fill(1) }, 'VALIDATION_FAILED', ['#/tagIds OUT_OF_RANGE']],
        [{ labelIds: ['a', 'c'] }, 'CONFLICT', ['#/labelIds/1 REFERENCE_NOT_FOUND']],
      ];
      if (door === 'rest')
        wrong.push(
          [{ tagIds: ['1'] }, 'VALIDATION_FAILED', ['#/tagIds/0 TYPE']],
          [{ tagIds: [1, null] }, 'VALIDATION_FAILED', ['#/tagIds/1 REQUIRED']],
          [{ tagIds: 1 }, 'VALIDATION_FAILED', ['#/tagIds TYPE']],
          [{ _tags: { put: [1] } }, 'VALIDATION_FAILED', ['#/_tags/put UNKNOWN']],
          [{ tags: [1] }, 'VALIDATION_FAILED', ['#/tags UNKNOWN']],
          [{ partIds: [1] }, 'VALIDATION_FAILED', ['#/partIds UNKNOWN']],
          [{ _rows: { add: [1] } }, 'VALIDATION_FAILED', ['#/_rows UNKNOWN']],
        );
      for (const [body, code, faults] of wrong) {
        expect([body, await update(1, body)]).toEqual([body, { code, faults }]);
        expect([body, await create({ name: 'tea', ...body })]).toEqual([body, { code, faults }]);
      }
      expect(await links()).toEqual(['1-1']);
      expect((await app.rest('GET', '/products?fields=_version')).body).toEqual([{ _version: 1 }]);
    });

    test('a link that others refer to stays, and with it all of the update', async () => {
      await create({ name: 'chai', tagIds: [1, 2] });
      await app.rest('POST', '/audits', { text: 'x', linkId: 1 });
      const restricted = (at: string) => ({ code: 'CONFLICT', faults: [`${at} STILL_REFERENCED`] });
      expect(await update(1, { name: 'x', tagIds: [2] })).toEqual(restricted('#/tagIds'));
      expect(await update(1, { _tags: { add: [3], remove: [1] } })).toEqual(restricted('#/_tags/remove'));
      expect(await update(1, { _tags: { remove: [2] } })).toEqual({ tags: 'hot', version: 2 });
      expect((await app.rest('GET', '/products/1')).body.name).toBe('chai');
    });

    test('keys that are texts, and links without a unique pair', async () => {
      await create({ name: 'chai', labelIds: ['b', 'a', 'b'] });
      const labels = async () =>
        (await app.rest('GET', '/products/1?include=labels')).body.labels.map(({ code }: any) => code);
      expect(await labels()).toEqual(['a', 'b']);
      await app.rest('POST', '/labelleds', { productId: 1, labelId: 'a' });
      await update(1, { _labels: { add: ['a'] } });
      expect((await app.rest('GET', '/labelleds')).body).toHaveLength(3);
      await update(1, { labelIds: ['b'] });
      expect(await labels()).toEqual(['b']);
      expect((await app.rest('GET', '/labelleds')).body).toHaveLength(1);
    });
  });

  test('why a list cannot be written', async () => {
    const detail = async (body: any) =>
      (await app.rest('POST', '/products', { name: 'x', ...body })).body.errors[0].detail;
    expect(await detail({ partIds: [1] })).toBe(
      'parts cannot be written here, as a new Piece needs count too; write pieces themselves',
    );
    expect(await detail({ _rows: {} })).toBe(
      'rows cannot be written here, as Row does not offer DELETE; write rows themselves',
    );
    expect(await detail({ tags: [1] })).toMatch(
      /"tags" cannot be written; the fields are .*\. Write "tagIds"\.$/,
    );
    const { errors } = await app.graphql('mutation { createProduct(name: "x", partIds: [1]) { id } }');
    expect(errors?.[0].message).toMatch(/Unknown argument "partIds"/);
  });

  test('many at once: created, updated, upserted, nested, and in one transaction', async () => {
    const { data, errors } = await app.graphql(`mutation {
      made: createProducts(records: [{ name: "a", sku: "a", tagIds: [1, 2] }, { name: "b", sku: "b", _tags: { add: ["3"] } }]) { tags { id } }
      changed: updateProducts(where: {}, atMost: 5, set: { _tags: { add: [4], remove: [1] } }) { tags { id } }
      one: upsertProduct(by: sku, sku: "a", tagIds: [1]) { tags { id } _version }
      several: upsertProducts(by: sku, records: [{ sku: "b", _tags: { add: [1] } }, { sku: "c", name: "c", tagIds: [2] }]) { tags { id } }
      shop: createShop(name: "s", products: [{ name: "d", tagIds: [2, 1] }, { name: "e" }]) { products { tags { id } } }
    }`);
    expect(errors).toBeUndefined();
    const ids = (tags: any[]) => tags.map(({ id }) => id).join('');
    expect(data.made.map(({ tags }: any) => ids(tags))).toEqual(['12', '3']);
    expect(data.changed.map(({ tags }: any) => ids(tags))).toEqual(['24', '34']);
    expect([ids(data.one.tags), data.one._version]).toEqual(['1', 3]);
    expect(data.several.map(({ tags }: any) => ids(tags))).toEqual(['134', '2']);
    expect(data.shop.products.map(({ tags }: any) => ids(tags))).toEqual(['12', '']);

    const operations = [
      { method: 'POST', path: '/tags', as: 't', body: { name: 'fresh' } },
      {
        method: 'POST',
        path: '/products?include=tags',
        as: 'p',
        body: { name: 'f', tagIds: [1, { $ref: 't.id' }] },
      },
      {
        method: 'PUT',
        path: '/products/1?include=tags',
        body: { _tags: { add: [{ $ref: 't.id' }], remove: [1] } },
      },
      {
        method: 'PUT',
        path: '/products',
        where: { id: { in: [2, 3] } },
        atMost: 2,
        body: { tagIds: [{ $ref: 't.id' }] },
      },
      {
        method: 'POST',
        path: '/shops',
        body: { name: 'x', products: [{ name: 'g', tagIds: [{ $ref: 't.id' }] }] },
      },
    ];
    const done = await app.rest('POST', '/transaction', { operations });
    expect(done.status).toBe(200);
    const [, p, one] = done.body.results;
    expect([ids(p.body.tags), ids(one.body.tags)]).toEqual(['15', '5']);
    expect((await app.rest('GET', '/products?include=tags')).body.map(({ tags }: any) => ids(tags))).toEqual([
      '5',
      '5',
      '5',
      '12',
      '',
      '15',
      '5',
    ]);

    const before = await links();
    const failed = await app.rest('POST', '/transaction', {
      operations: [
        { method: 'PUT', path: '/products/1', body: { tagIds: [1, 2] } },
        { method: 'PUT', path: '/products', where: {}, atMost: 9, body: { tagIds: [1, 99] } },
      ],
    });
    expect([failed.status, failed.body.errors[0].pointer]).toEqual([409, '#/operations/1/body/tagIds/1']);
    const atomic = await app.graphql(
      'mutation @atomic { a: updateProduct(id: 1, tagIds: [1]) { id } b: createShop(name: "y", products: [{ name: "h", tagIds: [1, 99] }]) { id } }',
    );
    expect(atomic.errors?.[0].extensions.errors[0].pointer).toBe('#/products/0/tagIds/1');
    expect(await links()).toEqual(before);
  });

  test('an update of links has the version of the record, and an idempotency key works for it', async () => {
    const made = await app.rest('POST', '/products', { name: 'a', tagIds: [1] });
    const tag = made.headers.get('ETag') ?? '';
    const ok = await app.rest('PUT', '/products/1', { tagIds: [2] }, { 'If-Match': tag });
    const stale = await app.rest('PUT', '/products/1', { tagIds: [3] }, { 'If-Match': tag });
    expect([ok.status, stale.status, await links()]).toEqual([200, 412, ['1-2']]);
    const keyed = { 'Idempotency-Key': 'k' };
    const body = { _tags: { add: [3] } };
    expect((await app.rest('PUT', '/products/1', body, keyed)).status).toBe(200);
    await app.rest('PUT', '/products/1', { tagIds: [] });
    expect((await app.rest('PUT', '/products/1', body, keyed)).status).toBe(200);
    expect(await links()).toEqual([]);
  });

  test('too many links for one write', async () => {
    const { body: made } = await app.rest('POST', '/transaction', {
      operations: [{ method: 'POST', path: '/products', body: Array(101).fill({ name: 'x' }) }],
    });
    expect(made.results).toHaveLength(1);
    const tags = Array.from({ length: 96 }, () => ({ name: 'x' }));
    await app.rest('POST', '/transaction', { operations: [{ method: 'POST', path: '/tags', body: tags }] });
    const tagIds = Array.from({ length: 100 }, (_, index) => index + 1);
    const { status, body } = await app.rest('POST', '/transaction', {
      operations: [{ method: 'PUT', path: '/products', where: {}, atMost: 200, body: { tagIds } }],
    });
    expect([status, body.errors]).toEqual([
      400,
      [
        {
          pointer: '#/operations/0/body/tagIds',
          code: 'OUT_OF_RANGE',
          detail: '101 records with 100 links each are more than 10000 in one request; change fewer at once',
        },
      ],
    ]);
    // Nor by parts of one request.
    const put = {
      method: 'PUT',
      path: '/products',
      where: { id: { lte: 51 } },
      atMost: 200,
      body: { tagIds },
    };
    const parts = await app.rest('POST', '/transaction', { operations: [put, put] });
    expect([parts.status, parts.body.errors?.[0].pointer]).toEqual([400, '#/operations/1/body/tagIds']);
    expect(await links()).toEqual([]);
    const field = `updateProducts(where: { id: { lte: 51 } }, set: { tagIds: [${tagIds}] }, atMost: 99) { id }`;
    const { errors } = await app.graphql(`mutation { a: ${field} b: ${field} }`);
    expect(errors?.map(({ path, extensions }) => [path[0], extensions.errors[0].code])).toEqual([
      ['b', 'OUT_OF_RANGE'],
    ]);
  });

  test('too many links of new records', async () => {
    const tagIds = Array(100).fill(1);
    const products = Array.from({ length: 101 }, (_, index) => ({
      name: 'x',
      sku: `s${index}`,
      ...(index % 2 ? { tagIds } : { _tags: { add: tagIds } }),
    }));
    const fault = (pointer: string) => ({
      pointer,
      code: 'OUT_OF_RANGE',
      detail: 'these are more than 10000 links in one request; link fewer at once',
    });
    app.statements.length = 0;
    const post = (path: string, body: unknown) => ({ method: 'POST', path, body });
    for (const [operations, pointer] of [
      [[post('/products', products)], '#/operations/0/body/100/_tags'],
      [[post('/products?upsert=sku', products)], '#/operations/0/body/100/_tags'],
      [[post('/shops', { name: 'x', products })], '#/operations/0/body/products/100/_tags'],
    ] as const) {
      const { status, body } = await app.rest('POST', '/transaction', { operations });
      expect([status, body.errors]).toEqual([400, [fault(pointer)]]);
    }
    const shop = await app.rest('POST', '/shops', { name: 'x', products });
    expect([shop.status, shop.body.errors]).toEqual([400, [fault('#/products/100/_tags')]]);
    const told = async (type: string, field: string) => {
      const { errors } = await app.graphql(`mutation ($it: [${type}!]!) { ${field} { id } }`, {
        it: products,
      });
      return errors?.[0].extensions.errors;
    };
    expect(await told('ProductInput', 'createProducts(records: $it)')).toEqual([fault('#/100/_tags')]);
    expect(await told('ProductUpsert', 'upsertProducts(by: sku, records: $it)')).toEqual([
      fault('#/100/_tags'),
    ]);
    expect(app.statements.filter((sql) => /INSERT|SELECT/.test(sql))).toEqual([]);
    // Nor by parts of one request.
    const parts = await app.rest('POST', '/transaction', {
      operations: [post('/products', products.slice(0, 51)), post('/products', products.slice(51))],
    });
    expect([parts.status, parts.body.errors]).toEqual([400, [fault('#/operations/1/body/49/_tags')]]);
    expect(await links()).toEqual([]);
  });

  test('writers from both ends make no twins, and none of them fails', async () => {
    for (const name of ['a', 'b', 'c']) await app.rest('POST', '/products', { name });
    const writes: Promise<{ status: number }>[] = [];
    for (let round = 0; round < 8; round++)
      for (const one of [1, 2, 3]) {
        writes.push(app.rest('PUT', `/products/${one}`, { _tags: { add: [3, 1, 2] } }));
        writes.push(app.rest('PUT', `/tags/${one}`, { _products: { add: [2, 3, 1] } }));
        writes.push(app.rest('PUT', `/products/${one}`, { labelIds: round % 2 ? ['a', 'b'] : ['b'] }));
        writes.push(app.rest('PUT', `/labels/a`, { productIds: [3, 1, 2] }));
      }
    const answers = await Promise.all(writes);
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    expect((await links()).sort()).toEqual(['1-1', '1-2', '1-3', '2-1', '2-2', '2-3', '3-1', '3-2', '3-3']);
    const pairs = (await app.rest('GET', '/labelleds')).body.map(
      (each: any) => `${each.productId}-${each.labelId}`,
    );
    expect(new Set(pairs).size).toBe(pairs.length);
  });
});
