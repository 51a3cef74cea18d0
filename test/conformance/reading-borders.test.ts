/** Where reading meets its borders: odd names, sums beyond all numbers, filters without end, fields said twice. */

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { type AppUnderTest, databases, openApp } from '../app.ts';

const sdl = `
  type listed @resource { id: ID!  value: Int  up: listed  downs: [listed!]!  constructor: Int }
  type t1 @resource { id: ID!  up: t1  downs: [t1!]! }
  type Thing @resource { id: ID!  size: Float  done: Boolean  code: UUID  at: DateTime }
`;
const codes = ['0190f5a0-7c1e-7a64-b3f5-2b1f3c0e9a11', '9190f5a0-7c1e-7a64-b3f5-2b1f3c0e9a11'];
const at = '2024-05-01T12:30:00.000Z';
const data: Record<string, object[]> = {
  listeds: [{ value: 1 }, { value: 2, upId: 1, constructor: 5 }, { value: 3, upId: 1 }],
  t1s: [{}, { upId: 1 }, { upId: 2 }],
  things: [
    { size: 1e308, done: true, code: codes[1], at },
    { size: 1e308, done: false, code: codes[0], at },
  ],
};

describe.each([...databases])('on %s', (database) => {
  let app: AppUnderTest;
  beforeAll(async () => {
    app = await openApp(database, { sdl, data });
  });
  afterAll(() => app.close());

  test('types may have names that SQL text could mix up with its own', async () => {
    const where = encodeURIComponent('{"up":{"up":{"id":{"eq":1}}}}');
    expect((await app.rest('GET', `/t1s?where=${where}`)).body).toEqual([{ id: 3, upId: 2 }]);
    const query = '{ listeds(where: { value: { lt: 3 } }) { value downs(first: 1) { value } } }';
    expect((await app.graphql(query)).data.listeds).toEqual([
      { value: 1, downs: [{ value: 2 }] },
      { value: 2, downs: [] },
    ]);
  });

  test('booleans and UUIDs have a least and a greatest', async () => {
    const wanted = [{ min: { done: false, code: codes[0] }, max: { done: true, code: codes[1] } }];
    const query = 'aggregate=min(done),min(code),max(done),max(code)';
    expect((await app.rest('GET', `/things?${query}`)).body).toEqual(wanted);
    const { data: seen } = await app.graphql(
      '{ it: thingsAggregate { min { done code } max { done code } } }',
    );
    expect(seen.it).toEqual(wanted);
  });

  test('a sum that no number can hold is an error, and no null', async () => {
    const { status, body } = await app.rest('GET', '/things?aggregate=sum(size)');
    expect([status, body.code, body.errors[0].code]).toEqual([400, 'VALIDATION_FAILED', 'OUT_OF_RANGE']);
    const { errors } = await app.graphql('{ thingsAggregate { avg { size } } }');
    expect(errors).toMatchObject([
      { extensions: { code: 'VALIDATION_FAILED', errors: [{ code: 'OUT_OF_RANGE' }] } },
    ]);
  });

  test('a column that is sorted by twice is read once', async () => {
    for (const sort of ['at,-at', '-done,done,at']) {
      const { status, headers } = await app.rest('GET', `/things?fields=id&limit=1&sort=${sort}`);
      const [, url = ''] = /<([^>]*)>; rel="next"/.exec(headers.get('Link') ?? '') ?? [];
      expect([status, (await app.rest('GET', url)).body]).toEqual([200, [{ id: 2 }]]);
    }
  });

  test('a field may be named like a property of every object', async () => {
    const query = 'query ($where: listedWhere) { listeds(where: $where) { id } }';
    expect((await app.graphql(query, { where: { id: { eq: 1 } } })).body).toEqual({
      data: { listeds: [{ id: '1' }] },
    });
    const { data: seen } = await app.graphql(query, { where: { constructor: { eq: 5 } } });
    expect(seen.listeds).toEqual([{ id: '2' }]);
    const groups =
      '{ all: listedsAggregate { ...A }  each: listedsAggregate(groupBy: [id], where: { id: { eq: 2 } }) { ...A } }';
    const { body } = await app.graphql(
      `${groups} fragment A on listedAggregate { by { id constructor } max { constructor } }`,
    );
    expect(body).toEqual({
      data: {
        all: [{ by: { id: null, constructor: null }, max: { constructor: 5 } }],
        each: [{ by: { id: '2', constructor: null }, max: { constructor: 5 } }],
      },
    });
  });

  test('a filter may ask for hundreds of relations at once', async () => {
    // As one join, their plan would take PostgreSQL longer than a statement may.
    const and = Array.from({ length: 190 }, (_, each) => ({
      up: { up: { downs: { some: { id: { lt: String(100 + each) } } } } },
    }));
    const query = 'query ($where: t1Where) { t1s(where: $where) { id } }';
    expect((await app.graphql(query, { where: { and } })).data).toEqual({ t1s: [{ id: '3' }] });
  });

  test('a filter can be so long and so deep, and no more', async () => {
    const list = (length: number) => ({ or: Array.from({ length }, () => ({ id: { eq: 1 } })) });
    const deep = (depth: number): object => (depth === 1 ? { id: { eq: 1 } } : { not: deep(depth - 1) });
    const through = (depth: number, last: object): object =>
      depth === 1 ? last : { up: { downs: { some: through(depth - 2, last) } } };
    const rest = async (where: object) => {
      const text = encodeURIComponent(JSON.stringify(where));
      const { status, body } = await app.rest('GET', `/t1s?where=${text}`);
      return [status, body.errors?.map((error: { code: string }) => error.code)];
    };
    for (const where of [list(150), deep(20), through(19, {}), through(17, list(50))])
      expect(await rest(where)).toEqual([200, undefined]);
    for (const where of [deep(21), through(21, {})])
      expect(await rest(where)).toEqual([400, ['OUT_OF_RANGE']]);
    const query = 'query ($where: t1Where) { t1s(where: $where) { id } }';
    for (const where of [list(499), through(13, list(450))])
      expect((await app.graphql(query, { where })).errors).toBeUndefined();
    const { errors } = await app.graphql(query, { where: list(500) });
    expect(errors).toMatchObject([
      { extensions: { code: 'VALIDATION_FAILED', errors: [{ code: 'OUT_OF_RANGE' }] } },
    ]);
  });

  test.each([
    ['value.x.value=1', 'UNKNOWN'],
    ['value.value=1', 'UNKNOWN'],
    [`${'up.'.repeat(20)}value=1`, 'UNKNOWN'],
    ['id=1.0', 'TYPE'],
    ['id=1e0', 'TYPE'],
    ['upId[in]=1,01', 'TYPE'],
  ])('%s is no way to say it', async (query, code) => {
    const { status, body } = await app.rest('GET', `/listeds?${query}`);
    expect([status, body.errors?.map((error: { code: string }) => error.code)]).toEqual([400, [code]]);
  });
});
