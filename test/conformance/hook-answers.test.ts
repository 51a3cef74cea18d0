/** Functions of what is written along write the record that it belongs to: the answer is what is stored in the end, with its version. */

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { type AppUnderTest, databases, openApp } from '../app.ts';

const sdl = `
  type Order @resource {
    id: ID!
    code: String @unique
    total: Int! @default(value: 0)
    lines: [Line!]!
    tags: [Tag!]! @through(type: "OrderTag")
  }
  type Line @resource { id: ID!  n: Int!  order: Order! @onDelete(do: CASCADE)  parts: [Part!]! }
  type Part @resource { id: ID!  n: Int!  line: Line! @onDelete(do: CASCADE) }
  type Tag @resource { id: ID! }
  type OrderTag @resource { id: ID!  order: Order! @onDelete(do: CASCADE)  tag: Tag! @onDelete(do: CASCADE) }`;

const logic = {
  Part: {
    *beforeCreate({ tx, input }: any): any {
      const line = yield* tx.system.lines.get(input.lineId);
      yield* tx.system.orders.update(line.orderId, { _inc: { total: input.n } });
    },
  },
  OrderTag: {
    *beforeCreate({ tx, input }: any): any {
      yield* tx.system.orders.update(input.orderId, { _inc: { total: 100 } });
    },
  },
};

describe.each([...databases])('on %s', (database) => {
  let app: AppUnderTest;
  beforeAll(async () => {
    app = await openApp(database, { sdl, logic, data: { tags: [{}, {}] } });
  });
  afterAll(() => app.close());

  const lines = [{ n: 1, parts: [{ n: 5 }] }];
  const nested = '{ lines: [{ n: 1, parts: [{ n: 5 }] }] }';
  const writes: Readonly<Record<string, () => Promise<unknown>>> = {
    'a create': async () => (await app.rest('POST', '/orders?fields=id,total,_version', { lines })).body,
    'a create by GraphQL': async () =>
      (await app.graphql(`mutation { createOrder(lines: ${nested.slice(9, -2)}) { id total _version } }`))
        .body.data.createOrder,
    'an upsert': async () =>
      (await app.rest('POST', '/orders?upsert=code&fields=id,total,_version', { code: 'new', tagIds: [1] }))
        .body,
    'links of a new record': async () =>
      (await app.rest('POST', '/orders?fields=id,total,_version', { tagIds: [1] })).body,
    'links of a record': async () =>
      (await app.rest('PUT', '/orders/1?fields=id,total,_version', { _tags: { add: [2] } })).body,
    'a create of many': async () =>
      (await app.graphql(`mutation { createOrders(records: [${nested}, ${nested}]) { id total _version } }`))
        .body.data.createOrders,
    'links of many': async () =>
      (
        await app.graphql(
          'mutation { updateOrders(where: { id: { in: [2, 3] } }, atMost: 2, set: { _tags: { add: [2] } }) { id total _version } }',
        )
      ).body.data.updateOrders,
  };

  test.each(Object.keys(writes))('%s', async (name) => {
    const answered = [await writes[name]?.()].flat() as { id: unknown }[];
    const ids = answered.map(({ id }) => id).join();
    const { body } = await app.rest('GET', `/orders?id[in]=${ids}&fields=id,total,_version&sort=id`);
    expect(answered.map((each) => ({ ...each, id: Number(each.id) }))).toEqual(body);
    expect(body.every(({ total }: any) => total > 0)).toBe(true);
  });

  test('its tag is that of the record', async () => {
    const { body, headers } = await app.rest('POST', '/orders', { lines });
    const ifMatch = { 'If-Match': headers.get('ETag') ?? '' };
    expect((await app.rest('PUT', `/orders/${body.id}`, { code: 'tag' }, ifMatch)).status).toBe(200);
  });
});
