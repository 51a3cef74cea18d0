/** Numbers that are exact: what both doors take and give back, and what both databases find, order and add. */

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { type AppUnderTest, databases, openApp } from '../app.ts';

const sdl = `
  type Account @resource {
    id: ID!
    name: String!
    units: BigInt
    price: Decimal! @decimal(scale: 2) @default(value: "1.5")
    rate: Decimal @decimal(scale: 18)
    whole: Decimal @decimal(scale: 0)
    code: Decimal @decimal(scale: 3) @unique
    prices: [Decimal!] @decimal(scale: 1)
    lines: [Line!]!
  }
  type Line @resource { id: ID!  amount: Decimal! @decimal(scale: 2)  account: Account!  count: BigInt }
  type Bound @resource {
    id: ID!
    cents: Decimal @decimal(scale: 2) @constraint(min: 0.01, max: 92233720368547758.06)
    big: BigInt @constraint(min: -9007199254740993, max: 9007199254740993)
  }
`;
const MOST = '9223372036854775807';
const LEAST = '-9223372036854775808';
const data = {
  accounts: [
    { name: 'a', units: '9007199254740993', price: '12.5', rate: '0.1', code: '1' },
    { name: 'b', units: '9007199254740992', price: '-0.05', whole: '-7' },
    {
      name: 'c',
      units: MOST,
      price: '92233720368547758.07',
      rate: '-9.223372036854775807',
      prices: ['1', '-0'],
    },
    { name: 'd', units: LEAST, price: '-92233720368547758.07', rate: '0.000000000000000001' },
    { name: 'e', price: '0.05' },
  ],
  lines: [
    { amount: '0.01', accountId: 1, count: '1' },
    { amount: '0.02', accountId: 1, count: '2' },
    { amount: '-0.02', accountId: 2, count: MOST },
    { amount: '0.10', accountId: 2, count: MOST },
    { amount: '92233720368547758.07', accountId: 3, count: '-1' },
    { amount: '0.01', accountId: 3 },
    ...['0.02', '0.03'].map((amount) => ({ amount, accountId: 4 })),
    ...['-0.02', '-0.03'].map((amount) => ({ amount, accountId: 5 })),
  ],
};

/** A query string, the same in GraphQL, and the names of the accounts that both mean, in order. */
const lists: [string, string, string, string][] = [
  [
    'eq, where a float has the same for both',
    'units=9007199254740993',
    'where: { units: { eq: "9007199254740993" } }',
    'a',
  ],
  ['ne', 'units[ne]=9007199254740993', 'where: { units: { ne: "9007199254740993" } }', 'bcde'],
  ['gt', 'units[gt]=9007199254740992', 'where: { units: { gt: "9007199254740992" } }', 'ac'],
  ['lte the least', `units[lte]=${LEAST}`, `where: { units: { lte: "${LEAST}" } }`, 'd'],
  [
    'in',
    `units[in]=${MOST},9007199254740992`,
    `where: { units: { in: ["${MOST}", "9007199254740992"] } }`,
    'bc',
  ],
  ['a Decimal with fewer digits', 'price=12.5', 'where: { price: { eq: "12.5" } }', 'a'],
  [
    'a Decimal between others',
    'price[gt]=-0.05&price[lt]=12.50',
    'where: { price: { gt: "-0.05", lt: "12.50" } }',
    'e',
  ],
  ['Decimals in a list', 'price[in]=0.05,12.5', 'where: { price: { in: ["0.05", "12.5"] } }', 'ae'],
  [
    'the last of 18 digits',
    'rate[gte]=0.000000000000000001',
    'where: { rate: { gte: "0.000000000000000001" } }',
    'ad',
  ],
  ['zero below the point', 'whole[lt]=0', 'where: { whole: { lt: "0" } }', 'b'],
  ['isNull', 'rate[isNull]=true', 'where: { rate: { isNull: true } }', 'be'],
  [
    'through a list',
    'where={"lines":{"some":{"amount":{"eq":"0.10"}}}}',
    'where: { lines: { some: { amount: { eq: "0.10" } } } }',
    'b',
  ],
  ['in order', 'sort=units', 'orderBy: [{ units: ASC }]', 'edbac'],
  ['in the reverse order', 'sort=-units', 'orderBy: [{ units: DESC }]', 'cabde'],
  ['Decimals in order: not by their text', 'sort=price', 'orderBy: [{ price: ASC }]', 'dbeac'],
  ['Decimals of 18 digits', 'sort=-rate', 'orderBy: [{ rate: DESC }]', 'adcbe'],
];

const refused: [string, unknown, string][] = [
  ['units', 5, 'TYPE'],
  ['units', 2 ** 53, 'TYPE'],
  ['units', '5.0', 'FORMAT'],
  ['units', '1e3', 'FORMAT'],
  ['units', '+1', 'FORMAT'],
  ['units', '01', 'FORMAT'],
  ['units', ' 1', 'FORMAT'],
  ['units', '', 'FORMAT'],
  ['units', '9223372036854775808', 'OUT_OF_RANGE'],
  ['units', '-9223372036854775809', 'OUT_OF_RANGE'],
  ['price', 12.5, 'TYPE'],
  ['price', '12.505', 'FORMAT'],
  ['price', '12.', 'FORMAT'],
  ['price', '.5', 'FORMAT'],
  ['price', '1e2', 'FORMAT'],
  ['price', '1,5', 'FORMAT'],
  ['price', 'NaN', 'FORMAT'],
  ['price', '92233720368547758.08', 'OUT_OF_RANGE'],
  ['price', '-92233720368547758.08', 'OUT_OF_RANGE'],
  ['whole', '1.0', 'FORMAT'],
];

describe.each([...databases])('on %s', (database) => {
  let app: AppUnderTest;
  beforeAll(async () => {
    app = await openApp(database, { sdl, data });
  });
  afterAll(() => app.close());

  const names = (records: { name: string }[]) => records.map(({ name }) => name).join('');

  test.each(lists)('%s', async (_, query, args, wanted) => {
    const { body } = await app.rest('GET', `/accounts?${encodeURI(query)}`);
    expect(names(body)).toBe(wanted);
    const { data } = await app.graphql(`{ accounts(${args}) { name } }`);
    expect(names(data.accounts)).toBe(wanted);
  });

  test('values come back in one form, whatever their length', async () => {
    const { body } = await app.rest(
      'GET',
      '/accounts?include=lines&fields=units,price,rate,whole,code,prices,lines.amount',
    );
    expect(body[0]).toEqual({
      ...{
        units: '9007199254740993',
        price: '12.50',
        rate: '0.100000000000000000',
        whole: null,
        code: '1.000',
      },
      ...{ prices: null, lines: [{ amount: '0.01' }, { amount: '0.02' }] },
    });
    expect(body[2]).toMatchObject({
      ...{
        units: MOST,
        price: '92233720368547758.07',
        rate: '-9.223372036854775807',
        prices: ['1.0', '0.0'],
      },
    });
    const { data } = await app.graphql(
      '{ accounts { units price rate whole code prices lines { amount } } }',
    );
    expect(data.accounts).toEqual(body);
  });

  test('pages of them follow each other', async () => {
    for (const sort of ['units', '-units', 'price', '-price', 'rate', '-rate,price']) {
      const whole = await app.rest('GET', `/accounts?sort=${sort}`);
      let next: string | undefined = `/accounts?sort=${sort}&limit=1`;
      let seen = '';
      while (next) {
        const { body, headers } = await app.rest('GET', next);
        seen += names(body);
        next = /<([^>]*)>; rel="next"/.exec(headers.get('Link') ?? '')?.[1];
      }
      expect(seen).toBe(names(whole.body));
    }
  });

  test.each(refused)('%s: %p is refused with %s', async (field, value, code) => {
    const wanted = [expect.objectContaining({ pointer: `#/${field}`, code })];
    const { status, body } = await app.rest('POST', '/accounts', { name: 'x', [field]: value });
    expect({ status, errors: body.errors }).toEqual({ status: 400, errors: wanted });
    const type = field === 'units' ? 'BigInt' : 'Decimal';
    const { errors } = await app.graphql(
      `mutation ($it: ${type}) { createAccount(name: "x", ${field}: $it) { id } }`,
      { it: value },
    );
    expect(errors?.[0].extensions).toMatchObject({ code: 'VALIDATION_FAILED', errors: wanted });
  });

  test('a create has defaults, an update changes, and one value has one form', async () => {
    const created = await app.rest('POST', '/accounts', { name: 'x', units: '-0', code: '-0.5' });
    expect(created.body).toMatchObject({ units: '0', price: '1.50', code: '-0.500' });
    const taken = await app.rest('POST', '/accounts', { name: 'y', code: '-0.50' });
    expect(taken.body).toMatchObject({
      code: 'CONFLICT',
      errors: [{ pointer: '#/code', code: 'NOT_UNIQUE' }],
    });
    const path = `/accounts/${created.body.id}`;
    const updated = await app.rest('PUT', path, { price: '-0.1', units: LEAST, prices: ['5'] });
    expect(updated.body).toMatchObject({ price: '-0.10', units: LEAST, prices: ['5.0'] });
    expect((await app.rest('GET', path)).body).toEqual(updated.body);
    const { data } = await app.graphql(
      `mutation ($id: ID!) { updateAccount(id: $id, price: "3", code: null) { price code units } }`,
      { id: String(created.body.id) },
    );
    expect(data.updateAccount).toEqual({ price: '3.00', code: null, units: LEAST });
    expect((await app.rest('DELETE', path)).status).toBe(204);
  });

  test('bounds are read from their digits', async () => {
    const cases: [string, string, string | undefined][] = [
      ['big', '9007199254740993', undefined],
      ['big', '9007199254740994', 'must be 9007199254740993 or less'],
      ['big', '-9007199254740994', 'must be -9007199254740993 or more'],
      ['cents', '0.01', undefined],
      ['cents', '0', 'must be 0.01 or more'],
      ['cents', '92233720368547758.06', undefined],
      ['cents', '92233720368547758.07', 'must be 92233720368547758.06 or less'],
    ];
    for (const [field, value, told] of cases) {
      const { status, body } = await app.rest('POST', '/bounds', { [field]: value });
      const errors = told && [{ pointer: `#/${field}`, code: 'OUT_OF_RANGE', detail: `${field} ${told}` }];
      expect({ value, status, errors: body.errors }).toEqual({ value, status: told ? 400 : 201, errors });
    }
  });

  const wanted = 'aggregate=count,sum(amount),avg(amount),min(amount),max(amount),sum(count),avg(count)';

  test('sums, averages, the least and the greatest are exact', async () => {
    const query = `/lines?${wanted}&groupBy=accountId`;
    const where = '&accountId[in]=1';
    const { body } = await app.rest('GET', query + where);
    const group = {
      ...{ count: 2, sum: { amount: '0.03', count: '3' } },
      // 0.015 is as far from either: the even digit it is.
      ...{ avg: { amount: '0.02', count: '1.500000' }, min: { amount: '0.01' }, max: { amount: '0.02' } },
    };
    expect(body).toEqual([{ by: { accountId: 1 }, ...group }]);
    const { data } = await app.graphql(
      `{ linesAggregate(where: { accountId: { in: ["1"] } }) {
        count sum { amount count } avg { amount count } min { amount } max { amount }
      } }`,
    );
    expect(data.linesAggregate).toEqual([group]);
  });

  test('an average is rounded half to even', async () => {
    const { body } = await app.rest(
      'GET',
      '/lines?groupBy=accountId&aggregate=avg(amount)&accountId[in]=1,4,5',
    );
    const averages = body.map(({ avg }: { avg: { amount: string } }) => avg.amount);
    expect(averages).toEqual(['0.02', '0.02', '-0.02']);
  });

  test('a sum that leaves 64 bits on the way is none the less right', async () => {
    const { body } = await app.rest(
      'GET',
      `/lines?aggregate=sum(count)&where={"or":[{"accountId":{"eq":3}},{"amount":{"eq":"0.10"}}]}`,
    );
    expect(body).toEqual([{ sum: { count: '9223372036854775806' } }]);
    const units = await app.rest(
      'GET',
      '/accounts?aggregate=sum(units),sum(price),avg(units),min(units),max(units)',
    );
    expect(units.body).toEqual([
      {
        ...{ sum: { units: '18014398509481984', price: '12.50' }, avg: { units: '4503599627370496.000000' } },
        ...{ min: { units: LEAST }, max: { units: MOST } },
      },
    ]);
  });

  test('a total beyond 64 bits is an error, the average is not', async () => {
    const beyond = {
      code: 'VALIDATION_FAILED',
      errors: [{ code: 'OUT_OF_RANGE', detail: 'A sum is beyond 64 bits; ask for fewer records' }],
    };
    for (const [field, account] of [
      ['count', 2],
      ['amount', 3],
    ] as const) {
      const asked = await app.rest('GET', `/lines?accountId=${account}&aggregate=sum(${field})`);
      expect(asked.status).toBe(400);
      expect(asked.body).toMatchObject(beyond);
      const { errors } = await app.graphql(
        `{ linesAggregate(where: { accountId: { eq: "${account}" } }) { avg { ${field} } sum { ${field} } } }`,
      );
      expect(errors?.[0].extensions).toMatchObject(beyond);
    }
    const { body } = await app.rest(
      'GET',
      '/lines?accountId[in]=2,3&groupBy=accountId&aggregate=avg(count),avg(amount)',
    );
    expect(body).toEqual([
      { by: { accountId: 2 }, avg: { count: `${MOST}.000000`, amount: '0.04' } },
      { by: { accountId: 3 }, avg: { count: '-1.000000', amount: '46116860184273879.04' } },
    ]);
  });

  test('groups are those of equal numbers', async () => {
    const { body } = await app.rest(
      'GET',
      '/lines?groupBy=amount&aggregate=count&amount[lt]=0.1&accountId[in]=1,2,3',
    );
    expect(body).toEqual([
      { by: { amount: '-0.02' }, count: 1 },
      { by: { amount: '0.01' }, count: 2 },
      { by: { amount: '0.02' }, count: 1 },
    ]);
  });

  test('exports have their digits', async () => {
    const query = '/accounts?fields=units,price&sort=name&limit=3';
    const csv = await app.fetch(query, { headers: { Accept: 'text/csv' } });
    expect(await csv.text()).toBe(
      `units,price\r\n9007199254740993,12.50\r\n9007199254740992,-0.05\r\n${MOST},92233720368547758.07\r\n`,
    );
    const ndjson = await app.fetch(query, { headers: { Accept: 'application/x-ndjson' } });
    expect((await ndjson.text()).split('\n')[0]).toBe('{"units":"9007199254740993","price":"12.50"}');
  });

  test('many at once, and what an operation takes of another', async () => {
    const { data } = await app.graphql(
      `mutation { createAccounts(records: [{ name: "m", price: "0.1" }, { name: "m", price: "0.2" }]) { price } }`,
    );
    expect(data.createAccounts).toEqual([{ price: '0.10' }, { price: '0.20' }]);
    const { body } = await app.rest('POST', '/transaction', {
      operations: [
        {
          method: 'POST',
          path: '/accounts',
          body: { name: 'm', price: '7.1', lines: [{ amount: '2' }] },
          as: 'a',
        },
        {
          method: 'POST',
          path: '/lines',
          body: { amount: { $ref: 'a.price' }, accountId: { $ref: 'a.id' } },
        },
      ],
    });
    expect(body.results[1].body.amount).toBe('7.10');
    const gone = await app.graphql(
      'mutation { deleteLines(where: { account: { name: { eq: "m" } } }, atMost: 5) { amount } deleteAccounts(where: { name: { eq: "m" } }, atMost: 5) { price } }',
    );
    expect(gone.data).toEqual({
      deleteLines: [{ amount: '2.00' }, { amount: '7.10' }],
      deleteAccounts: [{ price: '0.10' }, { price: '0.20' }, { price: '7.10' }],
    });
  });

  test('both descriptions tell what they are', async () => {
    const { schemas } = (await app.rest('GET', '/openapi.json')).body.components;
    expect(schemas.Decimal).toMatchObject({ type: 'string', format: 'decimal' });
    expect(schemas.AccountFields.properties.price.$ref).toBe('#/components/schemas/Decimal2');
    expect(schemas.Decimal2).toMatchObject({
      $ref: '#/components/schemas/Decimal',
      pattern: '^-?(?:0|[1-9][0-9]*)(?:\\.[0-9]{1,2})?$',
    });
    expect(schemas.BoundFields.properties.cents.description).toEndWith(
      'At least 0.01. At most 92233720368547758.06.',
    );
    const sdl = await (await app.fetch('/schema.graphql')).text();
    expect(sdl).toContain('scalar Decimal');
    expect(sdl).toContain('price: Decimal!');
    expect(sdl).toContain('units: BigInt');
  });
});
