/** What a write contradicts is told at once, whatever kind of contradiction it is, and in good English. */

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { type AppUnderTest, databases, openApp } from '../app.ts';
import { headersOf, SECRET } from './access-matrix.ts';
import type { Who } from './access-world.ts';

const sdl = `
  type Employee @resource { id: ID!  badge: String @unique  email: String @unique  desk: Desk @unique  boss: Employee  orderLines: [OrderLine!]!  skills: [Skill!]! @through(type: "Skilled") }
  type Skill @resource { id: ID!  name: String }
  type Skilled @resource { id: ID!  employee: Employee!  skill: Skill! }
  type Desk @resource { id: ID!  name: String }
  type Place @resource @unique(fields: ["row", "hall"]) { id: ID!  hall: Int  row: Int }
  type OrderLine @resource { id: ID!  code: String! @key  employee: Employee!  hour: Hour }
  type Hour @resource { id: ID!  unit: Unit }
  type Unit @resource { id: ID!  user: User }
  type User @resource { id: ID!  name: String }`.replace('id: ID!  code: String! @key', 'code: String! @key');

const data = {
  desks: [{ name: 'a' }],
  skills: [{ name: 'a' }],
  employees: [
    { badge: 'A', email: 'a@x', deskId: 1 },
    { badge: 'B', email: 'b@x' },
  ],
  orderLines: [{ code: 'one', employeeId: 1 }],
};

describe.each([...databases])('on %s', (database) => {
  let app: AppUnderTest;
  beforeAll(async () => {
    app = await openApp(database, { sdl, data });
  });
  afterAll(() => app.close());

  const told = (code: string, errors: any[], prefix = '') => ({
    code,
    faults: errors.map((error) => `${error.pointer.replace(prefix, '')} ${error.code}`),
  });
  const badgeAndBoss = {
    code: 'CONFLICT',
    faults: ['#/bossId REFERENCE_NOT_FOUND', '#/badge NOT_UNIQUE'],
  };

  test('what is taken together is told in the order of its @unique, stored or new', async () => {
    const place = { hall: 1, row: 2 };
    const taken = (errors: any[]) =>
      errors.map(({ pointer, detail }) => `${pointer.replace(/^.*\//, '')}: ${detail}`);
    const many = (body: unknown) =>
      app.rest('POST', '/transaction', { operations: [{ method: 'POST', path: '/places', body }] });
    const twins = taken((await many([place, place])).body.errors);
    expect((await app.rest('POST', '/places', place)).status).toBe(201);
    expect(taken((await app.rest('POST', '/places', place)).body.errors)).toEqual(twins);
    expect(twins.map((each) => each.split(':')[0])).toEqual(['row', 'hall']);
  });

  test.each<[string, Record<string, unknown>, string[]]>([
    ['a missing reference and a taken value', { badge: 'A', bossId: 99 }, badgeAndBoss.faults],
    [
      'two of each',
      { badge: 'A', email: 'b@x', bossId: 99, deskId: 98 },
      [
        '#/deskId REFERENCE_NOT_FOUND',
        '#/bossId REFERENCE_NOT_FOUND',
        '#/badge NOT_UNIQUE',
        '#/email NOT_UNIQUE',
      ],
    ],
    ['only a missing reference', { badge: 'new', bossId: 99 }, ['#/bossId REFERENCE_NOT_FOUND']],
    ['only a taken value', { badge: 'A', bossId: 1 }, ['#/badge NOT_UNIQUE']],
  ])('%s', async (_, input, faults) => {
    const expected = { code: 'CONFLICT', faults };
    const posted = await app.rest('POST', '/employees', input);
    expect(posted.status).toBe(409);
    expect(told(posted.body.code, posted.body.errors)).toEqual(expected);
    const operations = [{ method: 'POST', path: '/employees', body: input }];
    const { body } = await app.rest('POST', '/transaction', { operations });
    expect(told(body.code, body.errors, '/operations/0/body')).toEqual(expected);
    const ids = Object.fromEntries(
      Object.entries(input).map(([name, value]) => [name, name.endsWith('Id') ? String(value) : value]),
    );
    const { errors } = await app.graphql(
      'mutation($badge: String, $email: String, $bossId: ID, $deskId: ID) { createEmployee(badge: $badge, email: $email, bossId: $bossId, deskId: $deskId) { id } }',
      ids,
    );
    expect(told(errors?.[0].extensions.code, errors?.[0].extensions.errors)).toEqual(expected);
  });

  test('an update', async () => {
    const { body } = await app.rest('PUT', '/employees/2', { badge: 'A', bossId: 99 });
    expect(told(body.code, body.errors)).toEqual(badgeAndBoss);
    const { errors } = await app.graphql(
      'mutation { updateEmployee(id: 2, badge: "A", bossId: "99") { id } }',
    );
    expect(told(errors?.[0].extensions.code, errors?.[0].extensions.errors)).toEqual(badgeAndBoss);
    const own = await app.rest('PUT', '/employees/2', { badge: 'B', bossId: 99 });
    expect(told(own.body.code, own.body.errors).faults).toEqual(['#/bossId REFERENCE_NOT_FOUND']);
  });

  test('an update of many that is one of one record', async () => {
    const ofThose = async (least: number, badge: string) => {
      const body = { badge, bossId: 99 };
      const operations = [
        { method: 'PUT', path: '/employees', where: { id: { gte: least } }, atMost: 9, body },
      ];
      const { body: answer } = await app.rest('POST', '/transaction', { operations });
      const rest = told(answer.code, answer.errors, '/operations/0/body');
      const { errors } = await app.graphql(
        `mutation { updateEmployees(where: { id: { gte: ${least} } }, set: { badge: "${badge}", bossId: 99 }, atMost: 9) { id } }`,
      );
      expect(told(errors?.[0].extensions.code, errors?.[0].extensions.errors)).toEqual(rest);
      return rest;
    };
    expect(await ofThose(2, 'A')).toEqual(badgeAndBoss);
    const [boss = ''] = badgeAndBoss.faults;
    expect(await ofThose(2, 'B')).toEqual({ code: 'CONFLICT', faults: [boss] });
    // Of several, each would be in the way of the others.
    for (const badge of ['A', 'B'])
      expect(await ofThose(1, badge)).toEqual({ code: 'CONFLICT', faults: [boss] });
    expect(await ofThose(9, 'A')).toEqual({ code: 'CONFLICT', faults: [boss] });
  });

  test('a nested record, with its place', async () => {
    const { body } = await app.rest('POST', '/employees', {
      orderLines: [{ code: 'new' }, { code: 'one', hourId: 99 }],
    });
    expect(told(body.code, body.errors).faults).toEqual([
      '#/orderLines/1/hourId REFERENCE_NOT_FOUND',
      '#/orderLines/1/code NOT_UNIQUE',
    ]);
  });

  const create = 'mutation($records: [EmployeeInput!]!) { createEmployees(records: $records) { id } }';
  /** What is told of many records, by both doors alike. */
  const ofMany = async (records: readonly object[]) => {
    const operations = [{ method: 'POST', path: '/employees', body: records }];
    const { body } = await app.rest('POST', '/transaction', { operations });
    const rest = told(body.code, body.errors, '/operations/0/body');
    const { errors } = await app.graphql(create, { records });
    expect(told(errors?.[0].extensions.code, errors?.[0].extensions.errors)).toEqual(rest);
    expect((await app.rest('GET', '/employees')).body).toHaveLength(2);
    return rest.faults;
  };

  test('links that lead to nothing, with what is taken', async () => {
    const wrong = { badge: 'A', bossId: 99, skillIds: [1, 9, 8] };
    const faults = [
      '#/bossId REFERENCE_NOT_FOUND',
      '#/skillIds/2 REFERENCE_NOT_FOUND',
      '#/skillIds/1 REFERENCE_NOT_FOUND',
      '#/badge NOT_UNIQUE',
    ];
    const given = 'badge: "A", bossId: 99, skillIds: [1, 9, 8]';
    for (const [method, path, mutation] of [
      ['POST', '/employees', `createEmployee(${given})`],
      ['PUT', '/employees/2', `updateEmployee(id: 2, ${given})`],
    ] as const) {
      const { body } = await app.rest(method, path, wrong);
      expect(told(body.code, body.errors)).toEqual({ code: 'CONFLICT', faults });
      const { errors } = await app.graphql(`mutation { ${mutation} { id } }`);
      expect(told('CONFLICT', errors?.[0].extensions.errors)).toEqual({ code: 'CONFLICT', faults });
    }
    expect(await ofMany([{ badge: 'new' }, wrong])).toEqual(faults.map((each) => each.replace('#', '#/1')));
    const operations = [
      {
        method: 'PUT',
        path: '/employees',
        where: { id: { gte: 1 } },
        atMost: 9,
        body: { bossId: 99, skillIds: [9] },
      },
    ];
    const { body } = await app.rest('POST', '/transaction', { operations });
    expect(told(body.code, body.errors, '/operations/0/body').faults).toEqual([
      '#/bossId REFERENCE_NOT_FOUND',
      '#/skillIds/0 REFERENCE_NOT_FOUND',
    ]);
    expect((await app.rest('GET', '/skilleds')).body).toEqual([]);
  });

  test('each record of a list', async () => {
    const list = [
      { badge: 'new' },
      { badge: 'A' },
      { bossId: 99, email: 'free@x' },
      { badge: 'new too' },
      { badge: 'B', email: 'a@x', deskId: 98 },
    ];
    expect(await ofMany(list)).toEqual([
      '#/1/badge NOT_UNIQUE',
      '#/2/bossId REFERENCE_NOT_FOUND',
      '#/4/deskId REFERENCE_NOT_FOUND',
      '#/4/badge NOT_UNIQUE',
      '#/4/email NOT_UNIQUE',
    ]);
    // A missing reference first, and then a value that is taken.
    expect(await ofMany([{ bossId: 99 }, { badge: 'A' }])).toEqual([
      '#/0/bossId REFERENCE_NOT_FOUND',
      '#/1/badge NOT_UNIQUE',
    ]);
    const lines = [{ code: 'one' }, { code: 'two', hourId: 9 }];
    expect(await ofMany([{ orderLines: lines }, { badge: 'A' }])).toEqual([
      '#/0/orderLines/0/code NOT_UNIQUE',
      '#/0/orderLines/1/hourId REFERENCE_NOT_FOUND',
      '#/1/badge NOT_UNIQUE',
    ]);
  });

  test('names have the right article', async () => {
    const detail = async (path: string, body: object) => (await app.rest('POST', path, body)).body.detail;
    expect(await detail('/employees', { bossId: 99 })).toBe('bossId names an employee that does not exist.');
    expect(await detail('/employees', { deskId: 99 })).toBe('deskId names a desk that does not exist.');
    expect(await detail('/order-lines', { code: 'x', employeeId: 1, hourId: 9 })).toBe(
      'hourId names an hour that does not exist.',
    );
    expect(await detail('/hours', { unitId: 99 })).toBe('unitId names a unit that does not exist.');
    expect(await detail('/units', { userId: 99 })).toBe('userId names a user that does not exist.');
    expect((await app.rest('DELETE', '/employees/1')).body.detail).toStartWith('An orderLine ');
    const text = await (await app.fetch('/schema.graphql')).text();
    expect(text).toContain('Creates an employee.');
    expect(text).toContain('Creates a user.');
    expect(text).toContain('Creates an orderLine.');
    const openapi = await (await app.fetch('/openapi.json')).text();
    for (const written of [text, openapi])
      expect(written).not.toMatch(/\b[Aa] (?:employee|orderLine|hour)\b/);
  });
});

describe.each([...databases])('with rules, on %s', (database) => {
  test('who may not write, or not see, learns nothing of what is taken', async () => {
    const guarded = `
      type Desk @resource @allow(to: [READ], where: { owner: { eq: { claim: "sub" } } }) @allow(to: [READ, CREATE], role: "all") { id: ID!  owner: String }
      type Own @resource @allow(to: [READ, CREATE, UPDATE], where: { owner: { eq: { claim: "sub" } } }) { id: ID!  owner: String!  badge: String @unique  desk: Desk }
      type Free @resource @allow(to: [READ, CREATE, UPDATE], role: "authenticated") { id: ID!  badge: String @unique  desk: Desk @unique }`;
    const app = await openApp(database, {
      sdl: guarded,
      data: {
        desks: [{ owner: 'ann' }],
        owns: [{ owner: 'ann', badge: 'A', deskId: 1 }, { owner: 'bob' }],
        frees: [{ badge: 'A', deskId: 1 }, {}],
      },
      env: { AUTH_SECRET: SECRET },
    });
    const bob = await headersOf({ name: 'bob of conflicts', claims: { sub: 'bob' } } as Who);
    const post = async (path: string, body: object) => {
      const { body: answer } = await app.rest('POST', path, body, bob);
      return (answer.errors ?? []).map((error: any) => `${error.pointer} ${error.code}`);
    };
    expect(await post('/owns', { owner: 'ann', badge: 'A', deskId: 9 })).toEqual([
      '#/deskId REFERENCE_NOT_FOUND',
    ]);
    // The desk is there, and taken, but not for everybody to know.
    expect(await post('/frees', { badge: 'A', deskId: 1 })).toEqual([
      '#/deskId REFERENCE_NOT_FOUND',
      '#/badge NOT_UNIQUE',
    ]);
    const many = async (path: string, body: readonly object[]) => {
      const faults = await post('/transaction', { operations: [{ method: 'POST', path, body }] });
      return faults.map((each: string) => each.replace('/operations/0/body', ''));
    };
    expect(await many('/frees', [{ badge: 'A' }, { deskId: 1 }, { badge: 'A' }])).toEqual([
      '#/0/badge NOT_UNIQUE',
      '#/1/deskId REFERENCE_NOT_FOUND',
      '#/2/badge NOT_UNIQUE',
    ]);
    // The second is not for bob to create: of the others he is told what leads nowhere, and nothing of what is taken.
    const [mine, theirs] = [
      { owner: 'bob', badge: 'A' },
      { owner: 'ann', badge: 'A' },
    ];
    expect(await many('/owns', [mine, theirs])).toEqual([]);
    expect(await many('/owns', [mine, { ...theirs, deskId: 1 }])).toEqual(['#/1/deskId REFERENCE_NOT_FOUND']);
    expect(await many('/owns', [mine, { ...mine, badge: 'B' }, mine])).toEqual([
      '#/0/badge NOT_UNIQUE',
      '#/2/badge NOT_UNIQUE',
    ]);
    const change = async (path: string) => {
      const operation = { method: 'PUT', path, where: { id: { eq: 2 } }, atMost: 1 };
      const faults = await post('/transaction', {
        operations: [{ ...operation, body: { badge: 'A', deskId: 1 } }],
      });
      return faults.map((each: string) => each.replace('/operations/0/body', ''));
    };
    expect(await change('/owns')).toEqual(['#/deskId REFERENCE_NOT_FOUND']);
    expect(await change('/frees')).toEqual(['#/deskId REFERENCE_NOT_FOUND', '#/badge NOT_UNIQUE']);
    await app.close();
  });
});
