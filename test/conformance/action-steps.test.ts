/** What a function has written itself is not read again: on PostgreSQL every look can make another transaction lose. */

import { afterAll, describe, expect, test } from 'bun:test';
import { SQL } from 'bun';
import { type AppUnderTest, databases, openApp, sharedPostgres } from '../app.ts';

const sdl = `
  type Item @resource { id: ID!  name: String!  stock: Int! @constraint(min: 0) }
  type Order @resource {
    id: ID!
    number: Int! @unique
    item: Item!
    lines: [Line!]!
    label: String! @computed(from: ["number"])
  }
  type Line @resource { id: ID!  order: Order! @onDelete(do: CASCADE)  item: Item! }
  type Mutation {
    place(itemId: ID!, number: Int!): Order! @action
    placeLast(itemId: ID!, number: Int!): Order! @action
    placeAndChange(itemId: ID!, number: Int!): Order! @action
    drop(itemId: ID!, number: Int!): Line @action
    next(itemId: ID!): Order! @action
  }
`;

const logic = {
  Order: { label: ({ number }: any) => `No. ${number}` },
  Mutation: {
    *place({ tx }: any, { itemId, number }: any): any {
      const order = yield* tx.orders.create({ itemId, number });
      yield* tx.lines.create({ orderId: order.id, itemId });
      return order;
    },
    *placeLast({ tx }: any, { itemId, number }: any): any {
      yield* tx.items.update(itemId, { _inc: { stock: 1 } });
      return yield* tx.orders.create({ itemId, number });
    },
    *placeAndChange({ tx }: any, { itemId, number }: any): any {
      const order = yield* tx.orders.create({ itemId, number });
      yield* tx.orders.update(order.id, { number: number + 1 });
      return order;
    },
    *drop({ tx }: any, { itemId, number }: any): any {
      const order = yield* tx.orders.create({ itemId, number });
      yield* tx.orders.delete(order.id);
      return yield* tx.lines.create({ orderId: order.id, itemId });
    },
    *next({ tx }: any, { itemId }: any): any {
      const [row] = yield* tx.orders.aggregate({ max: 'number' });
      return yield* tx.orders.create({ itemId, number: (row.max.number ?? 0) + 1 });
    },
  },
};

const AT_ONCE = 32;

describe.each(databases)('on %s', (database) => {
  const url = database === 'postgres' ? sharedPostgres().then((server) => server.database()) : undefined;
  const open = async () =>
    openApp(database, {
      sdl,
      logic,
      data: { items: [1, 2].map((id) => ({ id, name: 'cup', stock: 0 })) },
      env: { METRICS: 'true' },
      ...(url && { url: await url }),
    });
  const opened = open();
  afterAll(async () => (await opened).close());

  /** The tables that were looked into. */
  const looked = async (ask: (app: AppUnderTest) => Promise<unknown>) => {
    const app = await opened;
    app.statements.length = 0;
    await ask(app);
    return app.statements.flatMap((text) => /^SELECT.* FROM "(\w+)"/.exec(text)?.[1] ?? []);
  };

  test('what it answers with, if it was written last', async () => {
    const tables = await looked(async ({ rest, graphql }) => {
      const answer = await rest('POST', '/actions/place-last', { itemId: 1, number: 10 });
      expect(answer.body).toEqual({ id: expect.any(Number), number: 10, itemId: 1, label: 'No. 10' });
      const { data } = await graphql(
        'mutation { placeLast(itemId: 1, number: 11) { number label lines { id } item { name stock } } }',
      );
      expect(data).toEqual({
        placeLast: { number: 11, label: 'No. 11', lines: [], item: { name: 'cup', stock: 2 } },
      });
    });
    expect(tables).not.toContain('Order');
  });

  test('what its other records refer to', async () => {
    const tables = await looked(async ({ rest }) => {
      const { status, body } = await rest('POST', '/actions/place', { itemId: 1, number: 20 });
      expect([status, body.number]).toEqual([200, 20]);
    });
    // As it is when all is written, the older record is what is answered.
    expect(tables.filter((table) => table === 'Order')).toEqual(['Order']);
  });

  test('what it has changed since is answered as it is now', async () => {
    const { rest } = await opened;
    const { body } = await rest('POST', '/actions/place-and-change', { itemId: 1, number: 30 });
    expect(body).toMatchObject({ number: 31, label: 'No. 31' });
  });

  test('what it has deleted since is not there', async () => {
    const { rest, graphql } = await opened;
    const { status, body } = await rest('POST', '/actions/drop', { itemId: 1, number: 40 });
    expect([status, body.errors]).toEqual([
      409,
      [{ code: 'REFERENCE_NOT_FOUND', pointer: '#', detail: expect.stringContaining('orderId') }],
    ]);
    const { errors } = await graphql('mutation { drop(itemId: 1, number: 41) { id } }');
    expect(errors?.[0].extensions.code).toBe('CONFLICT');
  });

  test(`${AT_ONCE} who all need what the others write get it done, hardly any for nothing`, async () => {
    const { rest, fetch } = await opened;
    const before = (await rest('GET', '/orders?sort=-number&limit=1')).body[0]?.number ?? 0;
    let left = 160;
    const numbers: number[] = [];
    const client = async () => {
      while (left-- > 0) {
        const { status, body } = await rest('POST', '/actions/next', { itemId: 1 });
        expect([status, body.detail]).toEqual([200, undefined]);
        numbers.push(body.number);
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, client));
    expect(numbers.sort((one, other) => one - other)).toEqual(
      Array.from({ length: 160 }, (_, index) => before + 1 + index),
    );
    const metrics = await (await fetch('/metrics')).text();
    const retries = Number(/^duet_database_retries_total (\d+)/m.exec(metrics)?.[1] ?? 0);
    // One or two each, with busy processors three; where all run side by side it is five.
    expect(retries).toBeLessThan(4 * 160);
  });

  if (url)
    test('who comes new waits for none that have lost', async () => {
      const { rest } = await opened;
      const other = new SQL(await url, { max: 1 });
      try {
        await other`BEGIN`;
        await other`SELECT 1 FROM "Item" WHERE id = 1 FOR UPDATE`;
        const held = Array.from({ length: 4 }, (_, index) =>
          rest('POST', '/actions/place-last', { itemId: 1, number: 9000 + index }),
        );
        const { status } = await rest('POST', '/actions/place-last', { itemId: 2, number: 9100 });
        expect(status).toBe(200);
        await other`COMMIT`;
        const statuses = (await Promise.all(held)).map((answer) => answer.status);
        expect(statuses).toEqual([200, 200, 200, 200]);
      } finally {
        await other.close({ timeout: 0 });
      }
    });
});
