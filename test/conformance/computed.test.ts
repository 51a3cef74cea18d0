/** Computed fields: made of others by a function whenever they are read, through both doors, on every database. */

import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import { Validator } from '@seriousme/openapi-schema-validator';
import { readLogic } from '../../src/engine/logic/logic.ts';
import { readSchema } from '../../src/schema/read.ts';
import { type AppUnderTest, type DatabaseKind, databases, openApp, openEmptied } from '../app.ts';
import { Folder } from '../process.ts';
import { headersOf, SECRET } from './access-matrix.ts';

const sdl = `
  type Order @resource {
    id: ID!
    code: String! @unique
    lines: [Line!]!
    label: String! @computed(from: ["code"])
  }
  type Line @resource {
    id: ID!
    order: Order!
    price: Decimal! @decimal(scale: 2)
    quantity: Int!
    note: String
    "What it costs."
    total: Decimal! @decimal(scale: 2) @computed(from: ["price", "quantity"])
    words: [String!] @computed(from: ["note"])
  }
`;
let given: object[] = [];
const logic = {
  Order: { label: ({ code }: any) => `#${code}` },
  Line: {
    total: (values: any) => {
      given.push(values);
      if (values.quantity === 13) return 'nonsense';
      return (Number(values.price) * values.quantity).toFixed(2);
    },
    words: ({ note }: any) => note?.split(' '),
  },
};

const opened = new Map<DatabaseKind, Awaited<ReturnType<typeof openEmptied>>>();

describe.each([...databases])('on %s', (database) => {
  let app: AppUnderTest;
  let order: any;
  beforeEach(async () => {
    const emptied = opened.get(database) ?? (await openEmptied(database, { sdl, logic }));
    opened.set(database, emptied);
    app = await emptied.next();
    const lines = [
      { price: '2.50', quantity: 2, note: 'a b' },
      { price: '1.00', quantity: 3 },
    ];
    order = (await app.rest('POST', '/orders', { code: 'x', lines })).body;
    given = [];
  });
  const line = async () => (await app.rest('GET', '/lines')).body[0];

  test('it is read everywhere, and never stored', async () => {
    expect(order).toEqual({ id: order.id, code: 'x', label: '#x' });
    const { id } = await line();
    const whole = {
      id,
      orderId: order.id,
      price: '2.50',
      quantity: 2,
      note: 'a b',
      total: '5.00',
      words: ['a', 'b'],
    };
    const all = (await app.rest('GET', '/lines')).body;
    expect([all[0], all[1].total, all[1].words]).toEqual([whole, '3.00', null]);
    expect((await app.rest('GET', `/lines/${id}`)).body).toEqual(whole);
    const included = (await app.rest('GET', '/orders?include=lines')).body[0];
    expect([included.label, included.lines.map((each: any) => each.total)]).toEqual(['#x', ['5.00', '3.00']]);
    const { data } = await app.graphql(
      '{ lines { total order { label lines { total } } } orders { label } }',
    );
    const sums = [{ total: '5.00' }, { total: '3.00' }];
    expect(data).toEqual({
      lines: sums.map(({ total }) => ({ total, order: { label: '#x', lines: sums } })),
      orders: [{ label: '#x' }],
    });
    // A second time, by what was kept of the document.
    expect(
      (await app.graphql('{ lines { total order { label lines { total } } } orders { label } }')).data,
    ).toEqual(data);
    expect(app.statements.join()).not.toContain('total');
  });

  test('the function is given its fields and no others', async () => {
    await app.graphql('{ lines { note total } }');
    expect(given).toEqual([
      { price: '2.50', quantity: 2 },
      { price: '1.00', quantity: 3 },
    ]);
  });

  test('what one function does in place to the JSON that it is given is nothing to another', async () => {
    const several = await openApp(database, {
      sdl: 'type Doc @resource { id: ID!  body: JSON!  a: Int @computed(from: ["body"])  b: Int @computed(from: ["body"]) }',
      logic: { Doc: { a: ({ body }: any) => ++body.n, b: ({ body }: any) => ++body.n } },
    });
    const doc = { id: 1, body: { n: 1 }, a: 2, b: 2 };
    expect((await several.rest('POST', '/docs', { body: { n: 1 } })).body).toEqual(doc);
    expect((await several.rest('GET', '/docs')).body).toEqual([doc]);
    expect((await several.rest('GET', '/docs/1')).body).toEqual(doc);
    expect((await several.graphql('{ docs { b a } }')).data).toEqual({ docs: [{ b: 2, a: 2 }] });
    await several.close();
  });

  test('JSON is weighed as often as functions of its record read it', async () => {
    const names = ['a', 'b', 'c', 'd', 'e'];
    const several = await openApp(database, {
      sdl: `type Doc @resource { id: ID!  body: JSON!  ${names.map((name) => `${name}: Int @computed(from: ["body"])`).join(' ')} }`,
      logic: { Doc: Object.fromEntries(names.map((name) => [name, ({ body }: any) => body.length])) },
    });
    // Of nothing is more made than of empty objects.
    const body = Array.from({ length: 130_000 }, () => ({}));
    for (let each = 0; each < 2; each++)
      expect((await several.rest('POST', '/docs', { body })).status).toBe(201);
    expect((await several.graphql('{ docs { a } }')).data).toEqual({
      docs: [{ a: 130_000 }, { a: 130_000 }],
    });
    const { errors } = await several.graphql(`{ docs { ${names.join(' ')} } }`);
    expect(errors?.map(({ extensions }) => extensions?.['code'])).toEqual(['ANSWER_TOO_LARGE']);
    const one = await several.graphql(`{ doc(id: 1) { ${names.join(' ')} } }`);
    expect(Object.values(one.data.doc)).toEqual(names.map(() => 130_000));
    await several.close();
  });

  test('one can ask for it alone, or not at all', async () => {
    const { id } = await line();
    given = [];
    expect((await app.rest('GET', `/lines/${id}?fields=total`)).body).toEqual({ total: '5.00' });
    expect((await app.rest('GET', '/lines?fields=total')).body).toEqual([
      { total: '5.00' },
      { total: '3.00' },
    ]);
    given.length = 1;
    expect((await app.rest('GET', `/lines/${id}?fields=note`)).body).toEqual({ note: 'a b' });
    expect((await app.graphql(`{ line(id: ${id}) { note } }`)).data).toEqual({ line: { note: 'a b' } });
    expect(given).toHaveLength(1);
    const csv = await app.fetch('/lines?fields=quantity,total', { headers: { Accept: 'text/csv' } });
    expect(await csv.text()).toBe('quantity,total\r\n2,5.00\r\n3,3.00\r\n');
  });

  test('writes answer with it, and nobody can write it', async () => {
    const { id } = await line();
    expect((await app.rest('PUT', `/lines/${id}`, { quantity: 4 })).body.total).toBe('10.00');
    expect((await app.rest('PUT', `/lines/${id}`, { _inc: { quantity: 1 } })).body.total).toBe('12.50');
    const { data } = await app.graphql(
      `mutation { updateLine(id: ${id}, _inc: { quantity: -1 }) { total } }`,
    );
    expect(data.updateLine).toEqual({ total: '10.00' });
    const upserted = await app.graphql('mutation { upsertOrder(by: code, code: "y") { label } }');
    expect(upserted.data.upsertOrder).toEqual({ label: '#y' });
    const many = await app.rest('POST', '/transaction', {
      operations: [{ method: 'POST', path: '/orders', body: [{ code: 'z' }] }],
    });
    expect(many.body.results[0].body).toEqual([{ id: expect.any(Number), code: 'z', label: '#z' }]);
    const created = await app.rest('POST', '/orders', { code: 'w', label: 'mine' });
    expect(created.body.errors).toEqual([expect.objectContaining({ pointer: '#/label', code: 'READ_ONLY' })]);
    // What was read can be sent as it is.
    const read = await line();
    expect((await app.rest('PUT', `/lines/${id}`, read)).status).toBe(200);
    const changed = await app.rest('PUT', `/lines/${id}`, { ...read, total: '1.00' });
    expect(changed.body.errors).toEqual([expect.objectContaining({ pointer: '#/total', code: 'READ_ONLY' })]);
  });

  test('it is no field of filters, order and aggregates', async () => {
    for (const query of ['total=1', 'sort=total', 'aggregate=sum(total)'])
      expect((await app.rest('GET', `/lines?${query}`)).status).toBe(400);
    expect((await app.graphql('{ lines(where: { total: { eq: "1" } }) { id } }')).errors).toHaveLength(1);
  });

  test('what does not fit is a mistake of the function', async () => {
    app.observations.length = 0;
    const body = { orderId: order.id, price: '1', quantity: 13 };
    expect((await app.rest('POST', '/lines', body)).body.code).toBe('INTERNAL');
    const failed = app.observations.find(({ event }) => event === 'failure') as any;
    expect(failed.cause.message).toContain('a computed field gave what does not fit: total must be');
    expect((await app.rest('GET', '/lines')).body).toHaveLength(2);
  });
});

describe.each([...databases])('who may read it, on %s', (database) => {
  const guarded = `
    type Person @resource @allow(to: [READ, CREATE]) {
      id: ID!
      name: String!
      pay: Int @allow(to: [READ], role: "boss") @allow(to: [READ], where: { name: { eq: { claim: "sub" } } }) @allow(to: [CREATE])
      yearly: Int @computed(from: ["pay"])
    }`;
  const twelve = { Person: { yearly: ({ pay }: any) => pay * 12 } };

  test('whoever may read all that it is made of', async () => {
    await using emptied = await openEmptied(database, {
      sdl: guarded,
      logic: twelve,
      env: { AUTH_SECRET: SECRET },
    });
    const app = await emptied.next();
    for (const name of ['ann', 'bob']) await app.unguarded().rest('POST', '/persons', { name, pay: 100 });
    const ann = await headersOf({ name: 'computed ann', claims: { sub: 'ann' } });
    const boss = await headersOf({ name: 'computed boss', claims: { sub: 'eve', roles: ['boss'] } });
    const seen = async (headers: any) => {
      const rest = (await app.rest('GET', '/persons?fields=yearly', undefined, headers)).body;
      const { data, errors } = await app.graphql('{ persons { yearly } }', {}, headers);
      expect(data.persons.map((each: any) => each.yearly ?? undefined)).toEqual(
        rest.map((each: any) => each.yearly),
      );
      return {
        yearly: rest.map((each: any) => each.yearly),
        codes: errors?.map((each: any) => each.extensions.code),
      };
    };
    expect(await seen(boss)).toEqual({ yearly: [1200, 1200], codes: undefined });
    expect(await seen(ann)).toEqual({ yearly: [1200, undefined], codes: ['FORBIDDEN'] });
    expect(await seen({})).toEqual({ yearly: [undefined, undefined], codes: ['FORBIDDEN', 'FORBIDDEN'] });
  });

  /** An update takes back what was read: of what was not, it would tell which guess is right. */
  test('who may not read it cannot find it out by sending it', async () => {
    const rules = [
      '@allow(to: [READ], role: "boss")',
      '@allow(to: [READ], where: { name: { eq: { claim: "sub" } } })',
    ];
    for (const rule of rules) {
      await using emptied = await openEmptied(database, {
        sdl: `type Person @resource @allow(to: [READ, CREATE, UPDATE]) {
          id: ID!  name: String! @unique  note: String  risk: String @computed(from: ["name"]) ${rule} }`,
        logic: { Person: { risk: ({ name }: any) => (name === 'ann' ? 'high' : 'low') } },
        env: { AUTH_SECRET: SECRET },
      });
      const app = await emptied.next();
      for (const name of ['ann', 'bob']) await app.unguarded().rest('POST', '/persons', { name });
      const told = async (claims: object, risk: string) => {
        const headers = await headersOf({
          name: 'computed writer',
          claims: { ...claims } as { sub: string },
        });
        const where = { name: { eq: 'ann' } };
        const operations = [{ method: 'PUT', path: '/persons', where, atMost: 2, body: { risk } }];
        const { id } = (await app.rest('GET', '/persons?name=ann', undefined, headers)).body[0];
        const answers = [
          await app.rest('PUT', `/persons/${id}`, { risk }, headers),
          await app.rest('POST', '/transaction', { operations }, headers),
          await app.rest('POST', '/persons?upsert=name', { name: 'ann', risk }, headers),
        ];
        return answers.map(({ status }) => status);
      };
      for (const risk of ['high', 'low']) expect(await told({ sub: 'eve' }, risk)).toEqual([400, 400, 400]);
      const reader = { sub: 'ann', roles: ['boss'] };
      expect((await told(reader, 'high')).slice(0, 2)).toEqual([200, 200]);
      expect((await told(reader, 'low')).slice(0, 2)).toEqual([400, 400]);
    }
  });
});

describe.each([...databases])('what takes long on %s', (database) => {
  const slow = `
    type List @resource { id: ID!  name: String  slips: [Slip!]! }
    type Slip @resource { id: ID!  list: List  n: Int!  name: String  twice: Int! @computed(from: ["n"])
      kept: Int! @computed(from: ["n"], stored: true) }
  `;
  const SLIPS = 400;
  let runs = 0;
  const twice = ({ n }: any) => {
    runs++;
    const begun = performance.now();
    while (performance.now() - begun < 0.5);
    return 2 * n;
  };
  const folder = new Folder();
  let app: AppUnderTest;
  beforeAll(async () => {
    const slips = Array.from({ length: SLIPS }, (_, n) => ({ id: n + 1, n, listId: 1 }));
    app = await openApp(database, {
      sdl: slow,
      data: { lists: [{ id: 1 }], slips },
      logic: { Slip: { twice, kept: twice } },
      ...(database === 'sqlite' && { url: `sqlite:${folder.file('x.db')}` }),
    });
  });
  afterAll(async () => {
    await app.close();
    folder[Symbol.dispose]();
  });

  /** How often others had their turn while the functions were run, and what came of it. */
  async function between<T>(work: () => Promise<T>): Promise<{ readonly answer: T; readonly turns: number }> {
    runs = 0;
    const seen = new Set<number>();
    let isOver = false;
    const look = () => {
      seen.add(runs);
      if (!isOver) setImmediate(look);
    };
    look();
    const answer = await work();
    isOver = true;
    return { answer, turns: [...seen].filter((each) => each > 0 && each < runs).length };
  }

  test.each<[string, (app: AppUnderTest) => Promise<any[]>]>([
    ['a list', async () => (await app.rest('GET', `/slips?limit=${SLIPS}`)).body],
    ['a related list', async () => (await app.rest('GET', `/lists/1?include=slips`)).body.slips],
    [
      'an export',
      async () => {
        const answer = await app.fetch('/slips', { headers: { Accept: 'application/x-ndjson' } });
        return (await answer.text())
          .trim()
          .split('\n')
          .map((line) => JSON.parse(line));
      },
    ],
    ['a list by GraphQL', async () => (await app.graphql(`{ slips(first: ${SLIPS}) { twice } }`)).data.slips],
    [
      'an update of many',
      async () =>
        (
          await app.graphql(
            `mutation { updateSlips(where: { id: { gte: 1 } }, set: { name: "x" }, atMost: ${SLIPS}) { twice } }`,
          )
        ).data.updateSlips,
    ],
  ])('others have their turn between the records of %s', async (_, read) => {
    const { answer, turns } = await between(() => read(app));
    expect(answer.map(({ twice }: any) => twice)).toEqual(Array.from({ length: SLIPS }, (_, n) => 2 * n));
    expect(turns).toBeGreaterThan(10);
  });

  test('so they have while what is stored is made, for an update of many and for a create', async () => {
    const updated = await between(() =>
      app.graphql(
        `mutation { updateSlips(where: { id: { gte: 1 } }, set: { n: 7 }, atMost: ${SLIPS}) { kept } }`,
      ),
    );
    const kept = updated.answer.data.updateSlips.map((slip: any) => slip.kept);
    expect([kept.length, new Set(kept)]).toEqual([SLIPS, new Set([14])]);
    expect(updated.turns).toBeGreaterThan(10);
    const slips = Array.from({ length: SLIPS }, () => ({ n: 9 }));
    const created = await between(() => app.rest('POST', '/lists?fields=id', { slips }));
    expect(created.answer.status).toBe(201);
    const { body } = await app.rest('GET', '/slips?aggregate=count&kept=18');
    expect(body).toEqual([{ count: SLIPS }]);
    expect(created.turns).toBeGreaterThan(10);
  });
});

test('the description and the schema tell of it', async () => {
  const app = await openApp('sqlite', { sdl, logic });
  const { body } = await app.rest('GET', '/openapi.json');
  const { valid, errors } = await new Validator().validate(structuredClone(body));
  expect([errors ?? [], valid]).toEqual([[], true]);
  const { Line, LineFields } = body.components.schemas;
  const plain = (await app.rest('GET', '/openapi.json?profile=client')).body.components.schemas;
  expect(Line.properties.total).toMatchObject({
    readOnly: true,
    description: expect.stringContaining('What it costs.'),
  });
  expect([plain.Line.required.includes('total'), 'total' in LineFields.properties]).toEqual([true, false]);
  expect((await app.rest('GET', '/schema.graphql')).body).toContain('total: Decimal!');
  await app.close();
});

test('another function gives another tag to the same record', async () => {
  await using emptied = await openEmptied('sqlite', { sdl, logic });
  const app = await emptied.next();
  await app.rest('POST', '/orders', { code: 'x' });
  const before = (await app.rest('GET', '/orders/1')).headers.get('ETag') ?? '';
  const unchanged = await app.rest('GET', '/orders/1', undefined, { 'If-None-Match': before });
  const changed = await openApp('sqlite', { sdl, logic: { ...logic, Order: { label: () => 'new' } } });
  await changed.rest('POST', '/orders', { code: 'x' });
  const after = await changed.rest('GET', '/orders/1', undefined, { 'If-None-Match': before });
  expect([unchanged.status, after.status, after.body.label]).toEqual([304, 200, 'new']);
  await changed.close();
});

test('the files say what is wrong with them', () => {
  const faultsOf = (fields: string) =>
    readSchema(
      `type A @resource { id: ID! n: Int secret: Int @allow(to: [READ], role: "x") ${fields} }`,
    ).faults?.map(({ message }) => message);
  expect(faultsOf('t: Int @computed(from: ["m"])')).toEqual([
    '"A.t" is computed from "m", which is no stored field of A. Did you mean "n"?',
  ]);
  expect(faultsOf('t: Int @computed(from: [])')).toEqual([
    '"A.t" is computed from nothing. Name the fields: @computed(from: ["…"])',
  ]);
  expect(faultsOf('t: Int! @computed(from: ["secret"])')).toEqual([
    '"A.t" is computed from "secret", which some may not read, so it must be nullable. Drop the "!".',
  ]);
  expect(faultsOf('t: Int @index @computed(from: ["n"])')).toEqual([
    '"@index" does not fit "A.t", which nothing stores. Remove it, or store it: @computed(from: […], stored: true)',
  ]);
  expect(faultsOf('n: Int @computed(from: ["n"])')).toEqual(['A field "n" exists twice. Remove one.']);
  const { model } = readSchema(
    'type A @resource { id: ID! n: Int t: Int @computed(from: ["n"]) u: Int @computed(from: ["n"]) }',
  );
  expect(readLogic({ A: { *t() {}, v() {} } }, model).faults).toEqual([
    expect.stringContaining('"A.v" is not known.'),
    '"A.t" must be a plain function of these fields. Write: A: { t: ({ n }) => … }',
    '"A.u" is @computed in the schema file, and has no function. Write: A: { u: ({ n }) => … }',
  ]);
});
