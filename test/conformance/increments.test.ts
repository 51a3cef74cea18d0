/** `_inc`: numbers that go up and down by what a client says, whatever others do meanwhile. */

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import { type AppUnderTest, databases, openApp } from '../app.ts';
import { Deployment } from '../storage/deployment.ts';
import { headersOf, SECRET } from './access-matrix.ts';

const sdl = `
  type Item @resource {
    id: ID!
    name: String!
    quantity: Int! @constraint(min: 0) @default(value: 10)
    weight: Float @constraint(max: 100)
    price: Decimal! @decimal(scale: 2) @constraint(min: 0, max: 1000.5) @default(value: "1")
    views: BigInt! @default(value: "0")
    spare: Int
    sold: Int @readonly @default(value: 0)
    sizes: [Int!]
    at: DateTime! @updatedAt
  }
`;
const MOST = '9223372036854775807';
const data = {
  items: [
    { name: 'a', weight: 0.1 },
    { name: 'b', quantity: 3, price: '1000.49', views: MOST },
    { name: 'c', quantity: 2147483647, views: '-9223372036854775808' },
  ],
};

/** What is added to an item, and what comes of it: other values, or the code and the pointer of what is wrong. */
const rows: [string, number, object, object | [number, string, string]][] = [
  ['an Int goes down', 1, { quantity: -1 }, { quantity: 9 }],
  ['to its least', 1, { quantity: -10 }, { quantity: 0 }],
  ['and not beyond', 1, { quantity: -11 }, [409, 'OUT_OF_RANGE', '#/_inc/quantity']],
  ['nor beyond its type', 3, { quantity: 1 }, [409, 'OUT_OF_RANGE', '#/_inc/quantity']],
  ['nothing', 1, { quantity: 0 }, { quantity: 10 }],
  ['a Float', 1, { weight: 0.2 }, { weight: 0.1 + 0.2 }],
  ['a Float to nothing', 1, { weight: -0.1 }, { weight: 0 }],
  ['a Float beyond its bound', 1, { weight: 100 }, [409, 'OUT_OF_RANGE', '#/_inc/weight']],
  [
    'a Float beyond all bounds',
    1,
    { weight: 1.7976931348623157e308 },
    [409, 'OUT_OF_RANGE', '#/_inc/weight'],
  ],
  ['a Decimal', 2, { price: '0.01' }, { price: '1000.50' }],
  ['a Decimal with fewer digits', 2, { price: '-1000' }, { price: '0.49' }],
  ['a Decimal by less than a unit', 1, { price: '-0.05' }, { price: '0.95' }],
  ['a Decimal beyond its bound', 2, { price: '0.02' }, [409, 'OUT_OF_RANGE', '#/_inc/price']],
  ['a Decimal below its bound', 1, { price: '-1.01' }, [409, 'OUT_OF_RANGE', '#/_inc/price']],
  ['a BigInt', 1, { views: '9007199254740993' }, { views: '9007199254740993' }],
  ['a BigInt from one end', 2, { views: `-${MOST}` }, { views: '0' }],
  ['a BigInt to the other', 3, { views: MOST }, { views: '-1' }],
  ['a BigInt beyond 64 bits', 2, { views: '1' }, [409, 'OUT_OF_RANGE', '#/_inc/views']],
  ['a BigInt below 64 bits', 3, { views: '-1' }, [409, 'OUT_OF_RANGE', '#/_inc/views']],
  ['what has no value', 2, { weight: 1 }, [409, 'OUT_OF_RANGE', '#/_inc/weight']],
  ['nothing to what has no value', 1, { spare: 0 }, [409, 'OUT_OF_RANGE', '#/_inc/spare']],
  ['several', 1, { quantity: -1, price: '1' }, { quantity: 9, price: '2.00' }],
  ['an amount of the wrong type', 1, { quantity: '1' }, [400, 'TYPE', '#/_inc/quantity']],
  ['an amount that is no whole number', 1, { quantity: 0.5 }, [400, 'TYPE', '#/_inc/quantity']],
  ['a Decimal as a number', 1, { price: 1 }, [400, 'TYPE', '#/_inc/price']],
  ['a Decimal with more digits', 1, { price: '0.001' }, [400, 'FORMAT', '#/_inc/price']],
  ['a text', 1, { name: 'x' }, [400, 'TYPE', '#/_inc/name']],
  ['a list', 1, { sizes: 1 }, [400, 'TYPE', '#/_inc/sizes']],
  ['what the server sets', 1, { sold: 1 }, [400, 'READ_ONLY', '#/_inc/sold']],
  ['its key', 1, { id: 1 }, [400, 'TYPE', '#/_inc/id']],
  ['what there is not', 1, { quantiti: 1 }, [400, 'UNKNOWN', '#/_inc/quantiti']],
  ['null', 1, { quantity: null }, [400, 'REQUIRED', '#/_inc/quantity']],
  ['no field', 1, {}, [400, 'EMPTY', '#/_inc']],
];

describe.each([...databases])('on %s', (database) => {
  let app: AppUnderTest;
  beforeEach(async () => {
    app = await openApp(database, { sdl, data });
  });
  afterEach(() => app.close());

  for (const [name, id, inc, wanted] of rows)
    test(name, async () => {
      const before = await app.rest('GET', `/items/${id}`);
      const put = await app.rest('PUT', `/items/${id}`, { _inc: inc });
      if (!Array.isArray(wanted))
        expect([put.status, put.body]).toEqual([200, expect.objectContaining(wanted)]);
      else {
        const [status, code, pointer] = wanted;
        expect([put.status, put.body.code]).toEqual([
          status,
          status === 409 ? 'CONFLICT' : 'VALIDATION_FAILED',
        ]);
        expect(put.body.errors).toMatchObject([{ code, pointer }]);
        expect((await app.rest('GET', `/items/${id}`)).body).toEqual(before.body);
      }
      // The same through the other door, from the same beginning.
      const { quantity, weight, price, views } = before.body;
      await app.rest('PUT', `/items/${id}`, { quantity, weight, price, views });
      const { data, errors } = await app.graphql(
        'mutation ($id: ID!, $inc: ItemIncrements) { it: updateItem(id: $id, _inc: $inc) { quantity weight price views } }',
        { id: String(id), inc },
      );
      if (!Array.isArray(wanted)) expect(data.it).toMatchObject(wanted);
      else if (errors?.[0].extensions.code !== 'BAD_USER_INPUT')
        expect(errors?.[0].extensions).toMatchObject({
          code: put.body.code,
          errors: put.body.errors.map(({ pointer, code, detail }: any) => ({ pointer, code, detail })),
        });
      else expect(wanted[0]).toBe(400);
    });

  test('a refusal says what it would be, and what it adds to', async () => {
    const told = async (_inc: unknown, more: object = {}) =>
      (await app.rest('PUT', '/items/1', { _inc, ...more })).body.errors.map(({ detail }: any) => detail);
    expect(await told({ quantity: -11 })).toEqual(['quantity must be 0 or more, and would be -1 in item 1']);
    expect(await told({ price: '1000' })).toEqual([
      'price must be 1000.50 or less, and would be 1001.00 in item 1',
    ]);
    expect(await told({ name: 1 })).toEqual([
      'name is no number; _inc adds to: quantity, weight, price, views, spare',
    ]);
    expect(await told(5)).toEqual([
      '_inc must be an object of numbers to add; it adds to: quantity, weight, price, views, spare',
    ]);
    expect(await told({ quantity: 1 }, { quantity: 5 })).toEqual([
      'quantity is set by the same update; set it, or add to it',
    ]);
    expect(await told({ quantity: 'x', name: 1 }, { name: 5, nothing: 1 })).toHaveLength(4);
    expect(
      (await app.rest('POST', '/items', { name: 'x', _inc: { quantity: 1 } })).body.errors,
    ).toMatchObject([{ pointer: '#/_inc', code: 'UNKNOWN' }]);
    expect((await app.rest('PUT', '/items/9', { _inc: { quantity: 1 } })).status).toBe(404);
  });

  test('together with other fields, under a version, and it is a change like any other', async () => {
    const first = await app.rest('GET', '/items/1');
    const tag = first.headers.get('ETag') ?? '';
    const both = await app.rest(
      'PUT',
      '/items/1',
      { name: 'z', _inc: { quantity: -4 } },
      { 'If-Match': tag },
    );
    expect(both.body).toMatchObject({ name: 'z', quantity: 6 });
    expect(both.body.at >= first.body.at).toBe(true);
    const stale = await app.rest('PUT', '/items/1', { _inc: { quantity: -4 } }, { 'If-Match': tag });
    expect(stale.status).toBe(412);
    const alone = await app.graphql(
      'mutation { updateItem(id: 1, _inc: { quantity: -1 }) { quantity _version } }',
    );
    expect(alone.data.updateItem).toEqual({ quantity: 5, _version: 3 });
    const key = { 'Idempotency-Key': 'k' };
    for (const _ of [1, 2]) {
      const { body } = await app.rest('PUT', '/items/1', { _inc: { quantity: -1 } }, key);
      expect(body.quantity).toBe(4);
    }
  });

  test('alone it is one statement, whatever comes of it', async () => {
    const lone = async (path: string, _inc: object) => {
      const before = app.statements.length;
      const { status } = await app.rest('PUT', path, { _inc });
      return [status, app.statements.slice(before).map((sql) => sql.split(' ')[0])];
    };
    // SQLite takes longer to answer with a row than to be asked for it.
    const done = database === 'sqlite' ? ['UPDATE', 'SELECT'] : ['UPDATE'];
    expect(await lone('/items/1', { quantity: -1, price: '0.5', views: '7' })).toEqual([200, done]);
    expect(await lone('/items/1', { quantity: -100 })).toEqual([409, ['UPDATE', 'SELECT']]);
    expect(await lone('/items/9', { quantity: -1 })).toEqual([404, ['UPDATE', 'SELECT']]);
  });

  test('of many at once: all of them, or none', async () => {
    const update = (by: number, where: string) =>
      app.graphql(
        `mutation { updateItems(where: ${where}, set: { name: "n", _inc: { quantity: ${by}, price: "0.01" } }, atMost: 9) { id name quantity price } }`,
      );
    const few = '{ id: { in: ["1", "2"] } }';
    expect((await update(-3, few)).data.updateItems).toEqual([
      { id: '1', name: 'n', quantity: 7, price: '1.01' },
      { id: '2', name: 'n', quantity: 0, price: '1000.50' },
    ]);
    const refused = await update(-1, few);
    expect(refused.errors?.[0].extensions).toMatchObject({
      code: 'CONFLICT',
      errors: [
        { pointer: '#/_inc/quantity', code: 'OUT_OF_RANGE' },
        { pointer: '#/_inc/price', code: 'OUT_OF_RANGE' },
      ],
    });
    const { body } = await app.rest('POST', '/transaction', {
      operations: [
        { method: 'PUT', path: '/items/1', body: { _inc: { quantity: -1 } }, as: 'i' },
        {
          method: 'PUT',
          path: '/items',
          where: { id: { eq: 1 } },
          atMost: 1,
          body: { _inc: { quantity: -1 } },
        },
        { method: 'PUT', path: '/items/1', body: { _inc: { quantity: { $ref: 'i.quantity' } } } },
      ],
    });
    expect(body.results.map(({ body: of }: any) => [of].flat()[0].quantity)).toEqual([6, 5, 11]);
    const failed = await app.rest('POST', '/transaction', {
      operations: [
        { method: 'PUT', path: '/items/1', body: { _inc: { quantity: 5 } } },
        { method: 'PUT', path: '/items/2', body: { _inc: { quantity: -1 } } },
      ],
    });
    expect(failed.body).toMatchObject({
      status: 409,
      operation: 1,
      errors: [{ pointer: '#/operations/1/body/_inc/quantity', code: 'OUT_OF_RANGE' }],
    });
    const atomic = await app.graphql(
      'mutation @atomic { a: updateItem(id: 1, _inc: { quantity: 5 }) { id } b: updateItem(id: 2, _inc: { quantity: -1 }) { id } }',
    );
    expect(atomic.data).toBeNull();
    expect((await app.rest('GET', '/items/1')).body.quantity).toBe(11);
  });
});

describe.each([...databases])('who may, on %s', (database) => {
  const guarded = `
    type Item @resource
      @allow(to: [READ, UPDATE], role: "authenticated")
      @allow(to: [UPDATE], role: "taker", where: { stock: { gte: 0 } })
    {
      id: ID!
      stock: Int @allow(to: [READ], where: { open: { eq: true } }) @allow(to: [UPDATE], role: "authenticated")
      fixed: Int @allow(to: [READ], role: "authenticated") @allow(to: [UPDATE], role: "admin")
      open: Boolean!
    }
    type Till @resource
      @allow(to: [READ], role: "authenticated")
      @allow(to: [UPDATE], role: "authenticated", where: { cash: { gte: "5.00" } })
    { id: ID!  cash: Decimal! @decimal(scale: 2) }
  `;
  let app: AppUnderTest;
  beforeAll(async () => {
    app = await openApp(database, {
      sdl: guarded,
      data: {
        items: [
          { stock: 1, fixed: 1, open: true },
          { stock: 1, fixed: 1, open: false },
        ],
        tills: [{ cash: '7' }],
      },
      env: { AUTH_SECRET: SECRET },
    });
  });
  afterAll(() => app.close());

  test('it takes the right to read and to change the field, and the record must match before and after', async () => {
    const headers = await headersOf({ name: 'ann', claims: { sub: 'ann' } });
    const put = (path: string, _inc: object) => app.rest('PUT', path, { _inc }, headers);
    expect((await put('/items/1', { stock: 1 })).body).toMatchObject({ stock: 2 });
    for (const [path, inc, pointer] of [
      ['/items/2', { stock: 1 }, '#/_inc/stock'],
      ['/items/2', { stock: -100 }, '#/_inc/stock'],
      ['/items/1', { fixed: 1 }, '#/_inc/fixed'],
    ] as const) {
      const { status, body } = await put(path, inc);
      expect([status, body.errors]).toEqual([403, [expect.objectContaining({ pointer, code: 'FORBIDDEN' })]]);
    }
    expect((await put('/tills/1', { cash: '-2' })).body).toMatchObject({ cash: '5.00' });
    expect((await put('/tills/1', { cash: '-0.01' })).status).toBe(403);
    const { errors } = await app.graphql(
      'mutation { updateItems(where: {}, set: { _inc: { stock: 1 } }, atMost: 5) { id } }',
      {},
      headers,
    );
    expect(errors?.[0].extensions.code).toBe('FORBIDDEN');
  });
});

describe.each([...databases])('thirty buyers, on %s', (database) => {
  const shop =
    'type Item @resource { id: ID!  quantity: Int! @constraint(min: 0)  cash: Decimal! @decimal(scale: 2) }';

  /** Each asks once. */
  async function buy(
    nodes: readonly AppUnderTest[],
    asks: (node: AppUnderTest, buyer: number) => Promise<number>,
  ) {
    const buyers = Array.from({ length: 30 }, (_, buyer) =>
      asks(nodes[buyer % nodes.length] as AppUnderTest, buyer),
    );
    const statuses = await Promise.all(buyers);
    return [200, 409].map((status) => statuses.filter((each) => each === status).length);
  }

  for (const count of [1, 2])
    test(`of ten pieces, through ${count} node${count > 1 ? 's' : ''}: ten have one each`, async () => {
      await using deployment = await Deployment.create(database);
      const nodes: AppUnderTest[] = [];
      for (let index = 0; index < count; index++) nodes.push(await deployment.app(shop));
      const [node] = nodes as [AppUnderTest];
      const create = async () => (await node.rest('POST', '/items', { quantity: 10, cash: '0' })).body.id;
      const bought = { _inc: { quantity: -1, cash: '9.99' } };
      const left = async (id: number) => (await node.rest('GET', `/items/${id}`)).body;

      const first = await create();
      expect(
        await buy(nodes, async (at) => (await at.rest('PUT', `/items/${first}`, bought)).status),
      ).toEqual([10, 20]);
      expect(await left(first)).toMatchObject({ quantity: 0, cash: '99.90' });

      const second = await create();
      const document =
        'mutation ($id: ID!) { updateItem(id: $id, _inc: { quantity: -1, cash: "9.99" }) { id } }';
      const asked = await buy(nodes, async (at) => {
        const { errors } = await at.graphql(document, { id: String(second) });
        return errors ? (errors[0].extensions.code === 'CONFLICT' ? 409 : 0) : 200;
      });
      expect(asked).toEqual([10, 20]);
      expect(await left(second)).toMatchObject({ quantity: 0, cash: '99.90' });

      const third = await create();
      const operations = [{ method: 'PUT', path: `/items/${third}`, body: bought }];
      expect(
        await buy(nodes, async (at) => (await at.rest('POST', '/transaction', { operations })).status),
      ).toEqual([10, 20]);
      expect(await left(third)).toMatchObject({ quantity: 0, cash: '99.90' });
    });
});

describe.each(databases)('on %s', (kind) => {
  test('a sum is held against what must be true of the record, and no upsert adds', async () => {
    const app = await openApp(kind, {
      sdl: `type Seat @resource @check(where: { sold: { lte: { field: "places" } } }, message: "It is full.") {
        id: ID!  code: String! @unique  places: Int!  sold: Int! @default(value: 0)
      }`,
      data: { seats: [{ code: 'a', places: 2, sold: 1 }] },
    });
    const put = async (sold: number) => {
      const { status, body } = await app.rest('PUT', '/seats/1', { _inc: { sold } });
      return [status, body.sold ?? body.errors[0].code];
    };
    const set = async (sold: number) => {
      const query = `mutation { updateSeat(id: 1, _inc: { sold: ${sold} }) { sold } }`;
      const { data, errors } = await app.graphql(query);
      return data.updateSeat?.sold ?? errors?.[0].extensions.errors[0].code;
    };
    expect([await put(2), await set(2)]).toEqual([[400, 'CHECK_FAILED'], 'CHECK_FAILED']);
    expect([await put(1), await put(1), await set(1)]).toEqual([
      [200, 2],
      [400, 'CHECK_FAILED'],
      'CHECK_FAILED',
    ]);
    expect([await set(-1), await set(1)]).toEqual([1, 2]);
    const many = {
      operations: [{ method: 'PUT', path: '/seats', where: {}, atMost: 9, body: { _inc: { sold: 1 } } }],
    };
    expect((await app.rest('POST', '/transaction', many)).body.errors[0].code).toBe('CHECK_FAILED');
    const upsert = await app.rest('POST', '/seats?upsert=code', { code: 'a', _inc: { sold: -1 } });
    expect([upsert.status, upsert.body.errors[0]]).toMatchObject([
      400,
      { pointer: '#/_inc', code: 'UNKNOWN' },
    ]);
    expect((await app.rest('GET', '/seats/1')).body.sold).toBe(2);
    await app.close();
  });
});
