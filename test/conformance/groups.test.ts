/** Which groups of an aggregate are answered, in which order and how many, and the records that they are groups of. */

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { type AppUnderTest, databases, openApp } from '../app.ts';

const sdl = `
  type Country @resource { code: ID! @key name: String! customers: [Customer!]! }
  type Customer @resource { id: ID! name: String! country: Country orders: [Order!]! }
  type Order @resource {
    id: ID!
    customer: Customer
    orderedOn: Date!
    total: Decimal! @decimal(scale: 2)
    units: BigInt
    pieces: Int
    weight: Float
    note: String
    paid: Boolean!
  }
`;

const MOST = '9223372036854775807';

const data = {
  countries: [
    { code: 'at', name: 'Austria' },
    { code: 'be', name: 'Belgium' },
  ],
  customers: [
    { id: 1, name: 'Ann', countryId: 'at' },
    { id: 2, name: 'Bob', countryId: 'be' },
    { id: 3, name: 'Cy', countryId: null },
  ],
  orders: [
    // Customer 1: 30.00 in all, which no sum of floats is; 2 and 3: as much as each other.
    order(1, '2024-01-31', '10.10', { units: '9007199254740992', pieces: 1, weight: 0.1, note: 'a' }),
    order(1, '2024-02-01', '19.90', { units: '1', pieces: 2, weight: 0.2, note: 'c' }),
    order(2, '2024-01-01', '50.25', { units: '9007199254740992', pieces: 7, note: 'b', paid: true }),
    order(3, '2024-02-29', '40.25', { units: MOST, pieces: 3, weight: 4, note: 'b' }),
    order(3, '2024-02-29', '10.00', { units: '-1', pieces: 4, weight: 4, note: 'd', paid: true }),
    order(null, '2024-12-30', '0.01', { paid: true }),
  ],
};

function order(customerId: number | null, orderedOn: string, total: string, more: object) {
  const nothing = { units: null, pieces: null, weight: null, note: null, paid: false };
  return { customerId, orderedOn, total, ...nothing, ...more };
}

type Case = readonly [what: string, rest: string, graphql: string, wanted: readonly unknown[]];

/** Each asks for groups by customer, and is answered with their keys. */
const byCustomer: readonly Case[] = [
  ['as ever', '', '', [null, 1, 2, 3]],
  ['a count', 'having[count][gt]=1', 'having: { count: { gt: 1 } }', [1, 3]],
  ['a count that is not', 'having[count][ne]=1', 'having: { count: { ne: 1 } }', [1, 3]],
  ['a count among several', 'having[count][in]=1,5', 'having: { count: { in: [1, 5] } }', [null, 2]],
  [
    'different values',
    'having[countDistinct(weight)][eq]=1',
    'having: { countDistinct: { weight: { eq: 1 } } }',
    [3],
  ],
  ['a sum, exactly', 'having[sum(total)][eq]=30', 'having: { sum: { total: { eq: "30" } } }', [1]],
  ['a sum beyond', 'having[sum(total)][gt]=30', 'having: { sum: { total: { gt: "30.00" } } }', [2, 3]],
  [
    'a sum that no float tells from its neighbour',
    'having[sum(units)][gt]=9007199254740992',
    'having: { sum: { units: { gt: "9007199254740992" } } }',
    [1, 3],
  ],
  [
    'a sum that leaves 64 bits on the way',
    'having[sum(units)][gte]=9223372036854775806',
    'having: { sum: { units: { gte: "9223372036854775806" } } }',
    [3],
  ],
  [
    'a sum among several',
    'having[sum(units)][in]=9007199254740993,7',
    'having: { sum: { units: { in: ["9007199254740993", "7"] } } }',
    [1],
  ],
  [
    'no sum at all',
    'having[sum(pieces)][isNull]=true',
    'having: { sum: { pieces: { isNull: true } } }',
    [null],
  ],
  [
    'a sum of fractions as it is shown',
    'having[sum(weight)][eq]=0.3',
    'having: { sum: { weight: { eq: 0.3 } } }',
    [1],
  ],
  [
    'an average of whole numbers',
    'having[avg(pieces)][gte]=3.5',
    'having: { avg: { pieces: { gte: 3.5 } } }',
    [2, 3],
  ],
  [
    'an average of fractions',
    'having[avg(weight)][eq]=0.15',
    'having: { avg: { weight: { eq: 0.15 } } }',
    [1],
  ],
  [
    'the least number',
    'having[min(total)][lt]=10.1',
    'having: { min: { total: { lt: "10.1" } } }',
    [null, 3],
  ],
  ['the greatest number', 'having[max(units)][eq]=1', 'having: { max: { units: { eq: "1" } } }', []],
  [
    'the least text',
    'having[min(note)][startsWith]=b',
    'having: { min: { note: { startsWith: "b" } } }',
    [2, 3],
  ],
  [
    'the greatest day',
    'having[max(orderedOn)][gte]=2024-02-29',
    'having: { max: { orderedOn: { gte: "2024-02-29" } } }',
    [null, 3],
  ],
  [
    'the greatest flag',
    'having[max(paid)][eq]=true',
    'having: { max: { paid: { eq: true } } }',
    [null, 2, 3],
  ],
  ['the least key', 'having[min(id)][in]=1,4', 'having: { min: { id: { in: ["1", "4"] } } }', [1, 3]],
  [
    'two conditions',
    'having[count][gt]=1&having[sum(total)][gt]=30',
    'having: { count: { gt: 1 }, sum: { total: { gt: "30" } } }',
    [3],
  ],
  [
    'conditions in other ways',
    'having={"or":[{"count":{"gt":1}},{"not":{"sum":{"units":{"isNull":true}}}}]}&having[max(id)][lt]=5',
    'having: { or: [{ count: { gt: 1 } }, { not: { sum: { units: { isNull: true } } } }], max: { id: { lt: "5" } } }',
    [1, 2],
  ],
  ['everything', 'having={}', 'having: {}', [null, 1, 2, 3]],
  ['an order by a sum', 'sort=-sum(total)', 'orderBy: [{ sum: { total: DESC } }]', [2, 3, 1, null]],
  ['an order by a sum, upwards', 'sort=sum(total)', 'orderBy: [{ sum: { total: ASC } }]', [null, 1, 2, 3]],
  [
    'an order by sums that no float tells apart',
    'sort=sum(units)&customerId[in]=1,2',
    'where: { customerId: { in: ["1", "2"] } }, orderBy: [{ sum: { units: ASC } }]',
    [2, 1],
  ],
  [
    'an order by a sum that is null',
    'sort=sum(weight)',
    'orderBy: [{ sum: { weight: ASC } }]',
    [null, 2, 1, 3],
  ],
  ['an order by count', 'sort=-count', 'orderBy: [{ count: DESC }]', [1, 3, null, 2]],
  [
    'an order by two',
    'sort=count,-max(orderedOn)',
    'orderBy: [{ count: ASC }, { max: { orderedOn: DESC } }]',
    [null, 2, 3, 1],
  ],
  ['an order by the group', 'sort=-customerId', 'orderBy: [{ by: { customerId: DESC } }]', [3, 2, 1, null]],
  ['an order by an average', 'sort=-avg(pieces)', 'orderBy: [{ avg: { pieces: DESC } }]', [2, 3, 1, null]],
  ['the least text', 'sort=min(note)', 'orderBy: [{ min: { note: ASC } }]', [null, 1, 2, 3]],
  ['the first groups', 'sort=-sum(total)&limit=2', 'orderBy: [{ sum: { total: DESC } }], first: 2', [2, 3]],
  [
    'groups from further on',
    'sort=-sum(total)&limit=2&offset=1',
    'orderBy: [{ sum: { total: DESC } }], first: 2, offset: 1',
    [3, 1],
  ],
  ['the rest of the groups', 'offset=2', 'offset: 2', [2, 3]],
  ['none beyond the end', 'offset=4&limit=5', 'offset: 4, first: 5', []],
  [
    'which, in which order and how many',
    'having[sum(total)][gte]=30&sort=-count&limit=2',
    'having: { sum: { total: { gte: "30" } } }, orderBy: [{ count: DESC }], first: 2',
    [1, 3],
  ],
];

type Fault = readonly [what: string, rest: string, parameter: string, detail: string];

const faults: readonly Fault[] = [
  ['an average that is exact', 'sort=avg(total)', 'sort', 'use sum(total) and count'],
  [
    'an average that is exact',
    'having[avg(units)][gt]=1',
    'having[avg(units)][gt]',
    'use sum(units) and count',
  ],
  ['an average that is exact', 'having={"avg":{"total":{"gt":"1"}}}', 'having', 'use sum(total) and count'],
  ['an operator that is none', 'having[count][contains]=1', 'having[count][contains]', 'There are: eq'],
  ['a field that is none', 'having[sum(totl)][gt]=1', 'having[sum(totl)][gt]', 'Did you mean "total"?'],
  ['a function that is none', 'having[som(total)][gt]=1', 'having[som(total)][gt]', 'There are: count'],
  ['a sum of texts', 'having={"sum":{"note":{"gt":"1"}}}', 'having', 'There are: total, units'],
  ['no JSON', 'having=count', 'having', 'must be JSON'],
  ['nothing said', 'having={"sum":{}}', 'having', 'sum is empty'],
  ['nothing said of a field', 'having={"sum":{"total":{}}}', 'having', 'sum(total) is empty'],
  ['a filter where numbers stand', 'having={"total":{"eq":"1"}}', 'having', 'There are: count'],
  ['conditions inside of a function', 'having={"sum":{"not":{"total":{"eq":"1"}}}}', 'having', 'no field'],
  ['a number that is none', 'having[sum(total)][gt]=ten', 'having[sum(total)][gt]', 'sum(total) gt must be'],
  ['too many digits', 'having[sum(total)][gt]=1.001', 'having[sum(total)][gt]', 'sum(total) gt must'],
  ['an order by a field that is not common', 'sort=total', 'sort', 'There are: customerId'],
  ['an order by a part that is not common', 'sort=month(orderedOn)', 'sort', 'There are: customerId'],
  ['a page of none', 'limit=0', 'limit', 'limit must be 1 to'],
  ['cursors', 'after=x', 'after', 'does not go with aggregates'],
  ['a record that is not common', 'include=orders', 'include', 'There are: customer'],
  ['fields of the records', 'fields=total', 'fields', 'does not go with aggregates'],
];

describe.each([...databases])('groups on %s', (database) => {
  let app: AppUnderTest;
  beforeAll(async () => {
    app = await openApp(database, { sdl, data });
  });
  afterAll(() => app.close());

  const graphql = async (args: string, selection: string) => {
    const { data: found, errors } = await app.graphql(`{ it: ordersAggregate(${args}) { ${selection} } }`);
    return errors ?? found.it;
  };

  test.each(byCustomer)('%s: %s', async (_, query, args, wanted) => {
    const { body } = await app.rest('GET', `/orders?aggregate=count&groupBy=customerId&${query}`);
    expect(body.map?.((row: any) => row.by.customerId) ?? body).toEqual(wanted);
    const relay = await graphql(`groupBy: [customerId], ${args}`, 'by { customerId }');
    expect(relay.map((row: any) => row.by?.customerId ?? (row.by ? null : row))).toEqual(
      wanted.map((id) => (id === null ? null : String(id))),
    );
  });

  test.each(faults)('%s is refused: %s', async (_, query, parameter, detail) => {
    const { status, body } = await app.rest('GET', `/orders?aggregate=count&groupBy=customerId&${query}`);
    expect([status, body.code]).toEqual([400, 'VALIDATION_FAILED']);
    expect(body.errors.map((fault: any) => fault.parameter)).toEqual([parameter]);
    expect(body.errors[0].detail).toContain(detail);
  });

  test('what is asked of groups goes with groups alone', async () => {
    for (const query of ['having={"count":{"gt":1}}', 'having[count][gt]=1']) {
      const { body } = await app.rest('GET', `/orders?${query}`);
      expect(body.errors?.[0]?.detail).toContain('goes with aggregate or groupBy');
    }
  });

  test('GraphQL names where something is wrong, and knows no average that is exact', async () => {
    const [wrong] = await graphql(
      'groupBy: [customerId], having: { sum: { total: { gt: "ten" } } }',
      'count',
    );
    expect(wrong.extensions.errors[0].pointer).toBe('#/having/sum/total/gt');
    const [foreign] = await graphql('groupBy: [customerId], orderBy: [{ by: { paid: ASC } }]', 'count');
    expect(foreign.extensions.errors).toMatchObject([{ pointer: '#/orderBy/0', code: 'UNKNOWN' }]);
    const [most] = await graphql('groupBy: [customerId], first: 0', 'count');
    expect(most.extensions.errors).toMatchObject([{ pointer: '#/first', code: 'OUT_OF_RANGE' }]);
    for (const args of ['having: { avg: { total: { gt: "1" } } }', 'orderBy: [{ avg: { total: ASC } }]']) {
      const [unknown] = await graphql(`groupBy: [customerId], ${args}`, 'count');
      expect(unknown.message).toContain('unknown field "total"');
    }
  });

  test('a variable that was not sent never means all', async () => {
    const query =
      'query ($n: Int) { it: ordersAggregate(groupBy: [paid], having: { count: { gt: $n } }) { count } }';
    for (let times = 0; times < 3; times++) {
      const { errors } = await app.graphql(query, {});
      expect(errors?.[0].extensions.errors).toMatchObject([
        { pointer: '#/having/count/gt', code: 'REQUIRED' },
      ]);
    }
    const { data: found } = await app.graphql(query, { n: 2 });
    expect(found.it).toEqual([{ count: 3 }, { count: 3 }]);
  });

  test('without groups, having is asked of all records together', async () => {
    const sum = { sum: { total: '130.51' } };
    const query = '/orders?aggregate=sum(total)&having[count]';
    expect((await app.rest('GET', `${query}[eq]=6`)).body).toEqual([sum]);
    expect((await app.rest('GET', `${query}[gt]=6`)).body).toEqual([]);
    expect(await graphql('having: { count: { eq: 6 } }', 'sum { total }')).toEqual([sum]);
    expect(await graphql('having: { count: { gt: 6 } }', 'sum { total }')).toEqual([]);
  });

  test('ties go by what the groups have in common', async () => {
    const { body } = await app.rest(
      'GET',
      '/orders?groupBy=paid,month(orderedOn)&aggregate=count&sort=-count,month(orderedOn)&limit=4',
    );
    const wanted = [
      ['2024-02-01', false, 2],
      ['2024-01-01', false, 1],
      ['2024-01-01', true, 1],
      ['2024-02-01', true, 1],
    ].map(([orderedOnMonth, paid, count]) => ({ by: { paid, orderedOnMonth }, count }));
    wanted[0] = { by: { paid: false, orderedOnMonth: '2024-02-01' }, count: 2 };
    expect(body).toEqual(wanted);
    expect(
      await graphql(
        'groupBy: [paid, orderedOnMonth], orderBy: [{ count: DESC }, { by: { orderedOnMonth: ASC } }], first: 4',
        'by { paid orderedOnMonth } count',
      ),
    ).toEqual(wanted);
  });

  test('a total that does not fit is an error where its group is answered, also where only the order asks for it', async () => {
    await app.rest('POST', '/orders', order(2, '2024-01-01', '0.00', { units: MOST }));
    const beyond = { code: 'OUT_OF_RANGE', detail: 'A sum is beyond 64 bits; ask for fewer records' };
    const ask = async (query: string) => {
      const { body } = await app.rest('GET', `/orders?groupBy=customerId&aggregate=count&${query}`);
      return body.errors ?? body.map((row: any) => row.by.customerId);
    };
    try {
      expect(await ask('sort=-sum(units)&limit=1')).toMatchObject([beyond]);
      expect(await ask('sort=-sum(units)&limit=2&offset=1')).toEqual([3, 1]);
      expect(await ask('sort=sum(units)&limit=3')).toEqual([null, 1, 3]);
      expect(await ask(`having[sum(units)][gt]=${MOST}`)).toMatchObject([beyond]);
      expect(await ask(`having[sum(units)][lte]=${MOST}`)).toEqual([1, 3]);
      expect(
        await graphql('groupBy: [customerId], orderBy: [{ sum: { units: DESC } }], first: 1', 'count'),
      ).toMatchObject([{ extensions: { errors: [beyond] } }]);
    } finally {
      await app.rest('DELETE', '/orders/7');
    }
  });

  const three = [
    { by: { customerId: 1, customer: { id: 1, name: 'Ann', countryId: 'at' } }, count: 2 },
    { by: { customerId: 3, customer: { id: 3, name: 'Cy', countryId: null } }, count: 2 },
    { by: { customerId: null, customer: null }, count: 1 },
  ];

  test('the record that a group is of, in one statement for all groups', async () => {
    app.statements.length = 0;
    const { body } = await app.rest(
      'GET',
      '/orders?groupBy=customerId&aggregate=count&include=customer&sort=-count&limit=3',
    );
    expect(body).toEqual(three);
    expect(app.statements.filter((sql) => /"Customer"/.test(sql))).toHaveLength(1);
    app.statements.length = 0;
    const relay = await graphql(
      'groupBy: [customerId], orderBy: [{ count: DESC }], first: 3',
      'by { customerId customer { id name countryId } } count',
    );
    expect(relay).toEqual(
      three.map(({ by: { customerId, customer }, count }) => ({
        by: {
          customerId: customerId && String(customerId),
          customer: customer && { ...customer, id: String(customer.id) },
        },
        count,
      })),
    );
    expect(app.statements.filter((sql) => /"Customer"/.test(sql))).toHaveLength(1);
  });

  test('what lies behind it, and only what is asked for', async () => {
    const wanted = [
      { by: { customerId: 1, customer: { name: 'Ann', country: { name: 'Austria' } } } },
      { by: { customerId: 2, customer: { name: 'Bob', country: { name: 'Belgium' } } } },
      { by: { customerId: 3, customer: { name: 'Cy', country: null } } },
    ];
    const { body } = await app.rest(
      'GET',
      '/orders?groupBy=customerId&customerId[isNull]=false&fields=customer.name,customer.country.name',
    );
    expect(body).toEqual(wanted);
    // The same once more: from the second time on, answers are made by code of their own.
    for (let times = 0; times < 3; times++)
      expect(
        await graphql(
          'groupBy: [customerId], where: { customerId: { isNull: false } }',
          'by { customer { name country { name } } also: customer { name } }',
        ),
      ).toEqual(wanted.map(({ by: { customer } }) => ({ by: { customer, also: { name: customer.name } } })));
  });

  test('a record that the groups have not in common is null', async () => {
    for (let times = 0; times < 3; times++)
      expect(await graphql('groupBy: [paid]', 'by { paid customer { name } } count')).toEqual([
        { by: { paid: false, customer: null }, count: 3 },
        { by: { paid: true, customer: null }, count: 3 },
      ]);
    expect(await graphql('first: 1', 'by { customer { name } }')).toEqual([{ by: { customer: null } }]);
    const { body } = await app.rest('GET', '/orders?groupBy=paid&include=customer');
    expect(body.errors).toMatchObject([{ parameter: 'include', code: 'UNKNOWN' }]);
  });

  test('the records of groups count as objects and bytes of the answer', async () => {
    const small = await openApp(database, { sdl, data, env: { LIMIT_OBJECTS: '6' } });
    const query = '/orders?groupBy=customerId&aggregate=count';
    expect((await small.rest('GET', query)).body).toHaveLength(4);
    expect((await small.rest('GET', `${query}&include=customer`)).body.code).toBe('TOO_MANY_OBJECTS');
    expect((await small.rest('GET', `${query}&include=customer&limit=3`)).body).toHaveLength(3);
    const asked = (first: number) =>
      small.graphql(
        `{ ordersAggregate(groupBy: [customerId], first: ${first}) { by { customer { name } } } }`,
      );
    expect((await asked(4)).errors?.[0].extensions.code).toBe('TOO_MANY_OBJECTS');
    expect((await asked(3)).data.ordersAggregate).toHaveLength(3);
    expect((await small.rest('GET', `${query}&limit=7`)).body.errors).toMatchObject([{ parameter: 'limit' }]);
    await small.close();
  });
});

describe.each([...databases])('the end of a year, on %s', (database) => {
  /** The last moment of a year, the first of the next, and the days around them whose weeks belong to the other year. */
  const moments = ['2020-12-31T23:59:59.999Z', '2021-01-01T00:00:00.000Z', '2021-01-03T12:00:00.000Z'];
  const later = ['2021-01-04T00:00:00.000Z', '2024-12-29T23:59:59.999Z', '2024-12-30T00:00:00.000Z'];
  const wanted = {
    year: { '2020-01-01': 1, '2021-01-01': 3, '2024-01-01': 2 },
    month: { '2020-12-01': 1, '2021-01-01': 3, '2024-12-01': 2 },
    week: { '2020-12-28': 3, '2021-01-04': 1, '2024-12-23': 1, '2024-12-30': 1 },
    day: Object.fromEntries([...moments, ...later].map((at) => [at.slice(0, 10), 1])),
  };

  test('each part begins where it does', async () => {
    const events = [...moments, ...later].map((at) => ({ at, day: at.slice(0, 10) }));
    const times = 'type Event @resource { id: ID!  at: DateTime!  day: Date! }';
    const app = await openApp(database, { sdl: times, data: { events } });
    for (const [part, counts] of Object.entries(wanted))
      for (const of of ['at', 'day']) {
        const name = `${of}${part[0]?.toUpperCase()}${part.slice(1)}`;
        const { body } = await app.rest('GET', `/events?groupBy=${part}(${of})&aggregate=count`);
        const { data: answer } = await app.graphql(
          `{ eventsAggregate(groupBy: [${name}]) { by { ${name} } count } }`,
        );
        const found = (groups: any[]) =>
          Object.fromEntries(groups.map(({ by, count, ...own }) => [(by ?? own)[name], count]));
        expect([name, found(body), found(answer.eventsAggregate)]).toEqual([name, counts, counts]);
      }
    await app.close();
  });
});
