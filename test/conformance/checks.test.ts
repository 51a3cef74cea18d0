/** What must be true of a record, through both doors and on both databases: @check and @transitions. */

import { beforeEach, describe, expect, test } from 'bun:test';
import { type AppUnderTest, type DatabaseKind, databases, openApp, openEmptied } from '../app.ts';
import { headersOf, SECRET } from './access-matrix.ts';

/** Kinds of values that have an order: two of each, the lower one first. */
const spans: readonly [name: string, type: string, low: unknown, high: unknown][] = [
  ['text', 'String', 'Z', 'a'],
  ['mark', 'ID', '10', '9'],
  ['sign', 'String', '\u{ffff}', '\u{1f600}'],
  ['whole', 'Int', -2, 10],
  ['part', 'Float', 9.5, 10],
  ['day', 'Date', '2026-01-31', '2026-02-01'],
  ['at', 'DateTime', '2026-01-31T23:59:59.999Z', '2026-02-01T00:00:00+00:00'],
  ['uuid', 'UUID', '0190f5a0-7c1e-7a64-b3f5-00000000000a', '0190f5a0-7c1e-7a64-b3f5-0000000000b0'],
];

const sdl = `
  enum State { NEW PAID SHIPPED CANCELLED }
  enum Mood { GOOD BAD UGLY }
  type Customer @resource { id: ID!  name: String!  orders: [Order!]! }
  type Order @resource
    @check(where: { or: [{ shippedOn: { isNull: true } }, { shippedOn: { gte: { field: "orderedOn" } } }] }, message: "An order is shipped after it was made.")
    @check(where: { or: [{ low: { isNull: true } }, { low: { lt: { field: "high" } } }] }, message: "low is below high.")
    @check(where: { not: { and: [{ customerId: { isNull: true } }, { text: { eq: "kept" } }] } }, message: "What is kept has a customer.")
  {
    id: ID!
    orderedOn: Date!
    shippedOn: Date
    low: Int
    high: Int
    text: String
    other: String
    state: State! @default(value: NEW) @transitions(allow: { NEW: [PAID, CANCELLED], PAID: [SHIPPED, CANCELLED] })
    mood: Mood @transitions(allow: { GOOD: [BAD], BAD: [UGLY, GOOD] })
    customer: Customer @onDelete(do: SET_NULL)
  }
  type Span @resource
    ${spans.map(([name]) => `@check(where: { or: [{ ${name}1: { isNull: true } }, { ${name}1: { lte: { field: "${name}2" } } }] }, message: "${name}")`).join('\n')}
    @check(where: { or: [{ flag1: { isNull: true } }, { flag1: { eq: { field: "flag2" } } }] }, message: "flag")
    @check(where: { or: [{ state1: { isNull: true } }, { state1: { eq: { field: "state2" } } }] }, message: "state")
    { id: ID!  ${spans.map(([name, type]) => `${name}1: ${type}  ${name}2: ${type}`).join('  ')}
      flag1: Boolean  flag2: Boolean  state1: State  state2: State }
  type Pair @resource
    @check(where: { a: { ne: { field: "b" } } }, message: "a is not b.")
    { code: ID! @key  a: String  b: String }`;

const AFTER = 'An order is shipped after it was made.';

const opened = new Map<DatabaseKind, Awaited<ReturnType<typeof openEmptied>>>();

describe.each([...databases])('on %s', (database) => {
  let app: AppUnderTest;
  beforeEach(async () => {
    const emptied = opened.get(database) ?? (await openEmptied(database, { sdl }));
    opened.set(database, emptied);
    app = await emptied.next();
  });

  const failure = (code: string, errors: any[] | undefined, prefix: RegExp) => ({
    code,
    faults: (errors ?? []).map((each) => `${each.pointer.replace(prefix, '#')} ${each.code}: ${each.detail}`),
  });
  const fields = '{ id orderedOn shippedOn low high text state mood }';
  const told = ({ data, errors }: any) =>
    errors ? failure(errors[0].extensions.code, errors[0].extensions.errors, /^#/) : data.it;
  const sent = ({ status, body }: any) =>
    status < 300
      ? (body?.results?.[0].body ?? body)
      : failure(body.code, body.errors, /^#(\/operations\/0\/body)?/);
  const transact = (...operations: unknown[]) => app.rest('POST', '/transaction', { operations });

  /** The same writes by either door. */
  const doors = {
    rest: {
      create: async (body: any) => sent(await app.rest('POST', '/orders', body)),
      update: async (id: any, body: any) => sent(await app.rest('PUT', `/orders/${id}`, body)),
      createMany: async (body: any[]) => sent(await transact({ method: 'POST', path: '/orders', body })),
      updateMany: async (where: any, body: any) =>
        sent(await transact({ method: 'PUT', path: '/orders', where, atMost: 100, body })),
      nested: async (body: any) => sent(await app.rest('POST', '/customers', body)),
      remove: async (id: any) => sent(await app.rest('DELETE', `/customers/${id}`)),
    },
    graphql: {
      create: async (body: any) =>
        told(await app.graphql(`mutation { it: createOrder(${written(body)}) ${fields} }`)),
      update: async (id: any, body: any) =>
        told(await app.graphql(`mutation { it: updateOrder(id: ${id}, ${written(body)}) ${fields} }`)),
      createMany: async (records: any[]) =>
        told(
          await app.graphql(
            `mutation($r: [OrderInput!]!) @atomic { it: createOrders(records: $r) ${fields} }`,
            {
              r: records,
            },
          ),
        ),
      updateMany: async (where: any, set: any) =>
        told(
          await app.graphql(
            `mutation($w: OrderWhere!, $s: OrderChanges!) { it: updateOrders(where: $w, set: $s, atMost: 100) ${fields} }`,
            { w: where, s: set },
          ),
        ),
      nested: async ({ name, orders }: any) =>
        told(
          await app.graphql(
            'mutation($o: [OrderInputWithoutCustomer!], $n: String!) { it: createCustomer(name: $n, orders: $o) { id } }',
            {
              o: orders,
              n: name,
            },
          ),
        ),
      remove: async (id: any) => told(await app.graphql(`mutation { it: deleteCustomer(id: ${id}) { id } }`)),
    },
  };
  const written = (body: Record<string, unknown>) =>
    Object.entries(body)
      .map(
        ([name, value]) => `${name}: ${name === 'state' || name === 'mood' ? value : JSON.stringify(value)}`,
      )
      .join(', ');
  const stored = async () => (await app.rest('GET', '/orders')).body;

  describe.each(Object.entries(doors))('through %s', (_, door) => {
    const orderedOn = '2026-02-01';
    const checked = (at: string, message = AFTER) => ({
      code: 'VALIDATION_FAILED',
      faults: [`${at} CHECK_FAILED: ${message}`],
    });
    const stuck = (at: string, detail: string) => ({
      code: 'CONFLICT',
      faults: [`${at} TRANSITION_NOT_ALLOWED: ${detail}`],
    });

    test('a new record must match every check, and all that do not are told', async () => {
      expect(await door.create({ orderedOn, shippedOn: '2026-01-31' })).toEqual(checked('#'));
      expect(await door.create({ orderedOn, shippedOn: '2026-01-31', low: 2, high: 2 })).toEqual({
        code: 'VALIDATION_FAILED',
        faults: [`# CHECK_FAILED: ${AFTER}`, '# CHECK_FAILED: low is below high.'],
      });
      // Null is below nothing.
      expect(await door.create({ orderedOn, low: 1 })).toEqual(checked('#', 'low is below high.'));
      expect(await stored()).toEqual([]);
      expect(await door.create({ orderedOn, shippedOn: orderedOn, low: 1, high: 2 })).toMatchObject({
        shippedOn: orderedOn,
      });
    });

    test('an update is held against the record as it becomes', async () => {
      const { id } = await door.create({ orderedOn, shippedOn: '2026-02-03', low: 1, high: 5 });
      expect(await door.update(id, { shippedOn: '2026-01-01' })).toEqual(checked('#'));
      expect(await door.update(id, { orderedOn: '2026-02-04' })).toEqual(checked('#'));
      expect(await door.update(id, { high: 1 })).toEqual(checked('#', 'low is below high.'));
      expect(await door.update(id, { high: null })).toEqual(checked('#', 'low is below high.'));
      expect(await door.update(id, { orderedOn: '2026-03-01', shippedOn: '2026-03-02' })).toMatchObject({
        shippedOn: '2026-03-02',
      });
      expect(await door.update(id, { low: null, high: null })).toMatchObject({ low: null });
    });

    test('many records: one that does not match keeps all from being written', async () => {
      const bad = { orderedOn, shippedOn: '2026-01-01' };
      expect(await door.createMany([{ orderedOn }, bad, { orderedOn }, bad])).toEqual({
        code: 'VALIDATION_FAILED',
        faults: [`#/1 CHECK_FAILED: ${AFTER}`, `#/3 CHECK_FAILED: ${AFTER}`],
      });
      expect(await stored()).toEqual([]);
      await door.createMany([{ orderedOn: '2026-01-01' }, { orderedOn: '2026-05-01' }]);
      expect(await door.updateMany({}, { shippedOn: '2026-03-01' })).toEqual(checked('#'));
      expect((await stored()).map((each: any) => each.shippedOn)).toEqual([null, null]);
      const where = { orderedOn: { lt: '2026-03-01' } };
      expect(await door.updateMany(where, { shippedOn: '2026-03-01' })).toHaveLength(1);
    });

    test('records that are nested in a new one', async () => {
      const orders = [{ orderedOn }, { orderedOn, shippedOn: '2026-01-01' }];
      expect(await door.nested({ name: 'Ann', orders })).toEqual(checked('#/orders/1'));
      expect((await app.rest('GET', '/customers')).body).toEqual([]);
      expect(await door.nested({ name: 'Ann', orders: [{ orderedOn, state: 'PAID' }] })).toEqual(
        stuck('#/orders/0/state', 'state starts as NEW'),
      );
    });

    test('what lets a record go when another is deleted must leave it true', async () => {
      const { id } = await door.nested({ name: 'Ann', orders: [{ orderedOn, text: 'kept' }] });
      expect(await door.remove(id)).toEqual(checked('#', 'What is kept has a customer.'));
      expect((await app.rest('GET', '/customers')).body).toHaveLength(1);
    });

    test('a state goes only where it can', async () => {
      expect(await door.create({ orderedOn, state: 'PAID' })).toEqual(
        stuck('#/state', 'state starts as NEW'),
      );
      const { id } = await door.create({ orderedOn, state: 'NEW' });
      expect(await door.update(id, { state: 'SHIPPED' })).toEqual(
        stuck('#/state', 'state cannot go from NEW to SHIPPED; it can go to PAID, CANCELLED'),
      );
      expect(await door.update(id, { state: 'NEW', text: 'x' })).toMatchObject({ state: 'NEW', text: 'x' });
      expect(await door.update(id, { state: 'PAID' })).toMatchObject({ state: 'PAID' });
      expect(await door.update(id, { state: 'CANCELLED' })).toMatchObject({ state: 'CANCELLED' });
      expect(await door.update(id, { state: 'NEW' })).toEqual(
        stuck('#/state', 'state cannot go from CANCELLED to NEW; CANCELLED is an end'),
      );
    });

    test('a state without a default starts anywhere, and does not become null again', async () => {
      const { id, mood } = await door.create({ orderedOn });
      expect(mood).toBeNull();
      expect(await door.create({ orderedOn, mood: 'UGLY' })).toMatchObject({ mood: 'UGLY' });
      expect(await door.update(id, { mood: 'BAD' })).toMatchObject({ mood: 'BAD' });
      expect(await door.update(id, { mood: null })).toEqual(
        stuck('#/mood', 'mood cannot go from BAD to null; it can go to UGLY, GOOD'),
      );
    });

    test('states of many records', async () => {
      await door.createMany([{ orderedOn }, { orderedOn }, { orderedOn }]);
      const [first] = await stored();
      await door.update(first.id, { state: 'PAID' });
      expect(await door.updateMany({}, { state: 'SHIPPED' })).toEqual({
        code: 'CONFLICT',
        faults: Array(2).fill(
          '#/state TRANSITION_NOT_ALLOWED: state cannot go from NEW to SHIPPED; it can go to PAID, CANCELLED',
        ),
      });
      expect((await stored()).map(({ state }: any) => state)).toEqual(['PAID', 'NEW', 'NEW']);
      expect(await door.updateMany({}, { state: 'CANCELLED' })).toHaveLength(3);
      expect(await door.createMany([{ orderedOn }, { orderedOn, state: 'SHIPPED' }])).toEqual(
        stuck('#/1/state', 'state starts as NEW'),
      );
    });
  });

  test('two fields are compared as their type is, on every database alike', async () => {
    const pairs: [name: string, low: unknown, high: unknown][] = [
      ...spans.map(([name, , low, high]): [string, unknown, unknown] => [name, low, high]),
      ['flag', true, true],
      ['state', 'PAID', 'PAID'],
    ];
    const made = async (name: string, one: unknown, two: unknown) => {
      const { status, body } = await app.rest('POST', '/spans', { [`${name}1`]: one, [`${name}2`]: two });
      return [name, status, body.errors?.[0].detail];
    };
    for (const [name, low, high] of pairs) {
      expect(await made(name, low, high)).toEqual([name, 201, undefined]);
      expect(await made(name, low, low)).toEqual([name, 201, undefined]);
      expect(await made(name, low, null)).toEqual([name, 400, name]);
    }
    for (const [name, , low, high] of spans) expect(await made(name, high, low)).toEqual([name, 400, name]);
    expect(await made('flag', true, false)).toEqual(['flag', 400, 'flag']);
    expect(await made('state', 'PAID', 'NEW')).toEqual(['state', 400, 'state']);
  });

  test('null is not equal to anything, another null included', async () => {
    const pair = async (code: string, a: string | null, b: string | null) =>
      (await app.rest('POST', '/pairs', { code, a, b })).status;
    expect([
      await pair('1', null, null),
      await pair('2', 'x', null),
      await pair('3', 'x', 'x'),
      await pair('4', 'x', 'X'),
    ]).toEqual([201, 201, 400, 201]);
    expect((await app.rest('PUT', '/pairs/4', { b: 'x' })).body).toMatchObject({
      code: 'VALIDATION_FAILED',
      detail: 'a is not b.',
      errors: [{ pointer: '#', code: 'CHECK_FAILED', detail: 'a is not b.' }],
    });
  });

  test('where a state can go is told to those who may read it', async () => {
    const hidden = `
      enum State { NEW DONE }
      type Job @resource @allow(to: [READ, CREATE, UPDATE]) {
        id: ID!
        state: State @default(value: NEW) @transitions(allow: { NEW: [DONE] }) @allow(to: [READ], role: "clerk")
      }`;
    const other = await openApp(database, {
      sdl: hidden,
      data: { jobs: [{ state: 'DONE' }] },
      env: { AUTH_SECRET: SECRET },
    });
    try {
      const put = async (claims: object) =>
        (
          await other.rest(
            'PUT',
            '/jobs/1',
            { state: 'NEW' },
            await headersOf({ name: JSON.stringify(claims), claims: { sub: 'x', ...claims } }),
          )
        ).body.detail;
      expect(await put({})).toBe('state cannot go to NEW from where it is.');
      expect(await put({ roles: ['clerk'] })).toBe('state cannot go from DONE to NEW; DONE is an end.');
    } finally {
      await other.close();
    }
  });

  test('a file of records is held against the checks, but may have any state', async () => {
    const orders = [{ orderedOn: '2026-01-01', state: 'SHIPPED' }];
    const loaded = await openApp(database, { sdl, data: { orders } });
    expect((await loaded.rest('GET', '/orders')).body).toMatchObject(orders);
    await loaded.close();
    const data = { orders: [...orders, { orderedOn: '2026-01-02', shippedOn: '2026-01-01' }] };
    expect(openApp(database, { sdl, data })).rejects.toThrow(`orders[1]: ${AFTER}`);
  });

  test('what the server says of a type and a field tells them', async () => {
    const { data } = await app.graphql(
      '{ order: __type(name: "Order") { description fields { name description } } }',
    );
    expect(data.order.description).toContain(`Checked on every write: ${AFTER}`);
    const line = 'Changes only so: NEW → PAID, CANCELLED; PAID → SHIPPED, CANCELLED.';
    expect(data.order.fields.find(({ name }: any) => name === 'state').description).toBe(line);
    const gone = 'Emptied when its customer is deleted.';
    expect(data.order.fields.find(({ name }: any) => name === 'customer').description).toBe(gone);
    const { body } = await app.rest('GET', '/openapi.json');
    expect(body.components.schemas.OrderFields.properties.state.description).toContain(line);
    expect(body.components.schemas.Order.description).toContain(`Checked on every write: ${AFTER}`);
    expect(body.components.schemas.Order.properties.customer.description).toContain(gone);
  });
});
