/** Stored computed fields: columns that functions make, true after every write, through both doors, on every database. */

import { beforeEach, describe, expect, test } from 'bun:test';
import { Validator } from '@seriousme/openapi-schema-validator';
import { readSchema } from '../../src/schema/read.ts';
import { type AppUnderTest, type DatabaseKind, databases, openApp, openEmptied } from '../app.ts';
import { headersOf, SECRET } from './access-matrix.ts';

const sdl = `
  type Order @resource {
    id: ID!
    code: String! @unique
    lines: [Line!]!
    tags: [Tag!]! @through(type: "Link")
  }
  type Tag @resource {
    id: ID!
    name: String!
    orders: [Order!]! @through(type: "Link")
  }
  type Link @resource @unique(fields: ["order", "tag"]) {
    id: ID!
    order: Order! @onDelete(do: CASCADE)
    tag: Tag! @onDelete(do: CASCADE)
    weight: Int! @default(value: 2)
    double: Int! @computed(from: ["weight"], stored: true)
  }
  "Nothing but its own values decides of it: a write is a single statement."
  type Counter @resource {
    id: ID!
    n: Int!
    m: Int
    twice: Int! @computed(from: ["n"], stored: true)
  }
  type Line @resource @search(fields: ["slug"]) @check(where: { total: { lt: "1000.00" } }, message: "too much") {
    id: ID!
    order: Order @onDelete(do: SET_NULL)
    price: Decimal! @decimal(scale: 2)
    quantity: Int!
    note: String
    "What it costs."
    total: Decimal! @decimal(scale: 2) @index @computed(from: ["price", "quantity"], stored: true)
    slug: String @unique @column(name: "the_slug") @computed(from: ["note"], stored: true)
    words: [String!] @computed(from: ["note"], stored: true)
  }
`;
const cents = (text: string) => Math.round(Number(text) * 100);
const totalOf = ({ price, quantity }: any) => ((cents(price) * quantity) / 100).toFixed(2);
let calls = 0;
const logic = {
  Counter: { twice: ({ n }: any) => n * 2 },
  Link: { double: ({ weight }: any) => weight * 2 },
  Line: {
    total: (values: any) => {
      calls++;
      expect(Object.keys(values).sort()).toEqual(['price', 'quantity']);
      if (values.quantity === 13) throw new Error('unlucky');
      return values.quantity === 17 ? 'nonsense' : totalOf(values);
    },
    slug: ({ note }: any) => note?.toLowerCase().replaceAll(' ', '-'),
    words: ({ note }: any) => note?.split(' '),
    beforeUpdate({ input }: any) {
      return input.note === 'hooked' ? { ...input, quantity: 7 } : undefined;
    },
  },
  Mutation: {},
};

const opened = new Map<DatabaseKind, Awaited<ReturnType<typeof openEmptied>>>();
const plain = new Map<DatabaseKind, Awaited<ReturnType<typeof openEmptied>>>();

/** Every record has what the functions make of it, and is found by it. */
async function mustBeTrue(app: AppUnderTest): Promise<any[]> {
  const { body: lines } = await app.rest('GET', '/lines');
  for (const line of lines) {
    const { id, total, slug, words, note } = line;
    expect(line).toMatchObject({ total: totalOf(line), slug: logic.Line.slug(line) ?? null });
    expect(words).toEqual(note?.split(' ') ?? null);
    const { body } = await app.rest('GET', `/lines?fields=id&total=${total}`);
    expect(body.map((each: any) => each.id)).toContain(id);
    if (slug === null) continue;
    expect((await app.rest('GET', `/lines?fields=id&slug=${slug}`)).body).toEqual([{ id }]);
    const word = slug.split('-').at(-1);
    const found = (await app.rest('GET', `/lines?fields=id&search=${word}`)).body;
    expect(found.map((each: any) => each.id)).toContain(id);
  }
  const sum = lines.reduce((all: number, { total }: any) => all + cents(total), 0);
  const { data } = await app.graphql('{ linesAggregate { sum { total } } links { weight double } }');
  expect(data.linesAggregate[0]?.sum.total ?? null).toEqual(
    lines.length === 0 ? null : (sum / 100).toFixed(2),
  );
  for (const { weight, double } of data.links) expect(double).toBe(2 * weight);
  return lines;
}

describe.each([...databases].flatMap((database) => [[database, true] as const, [database, false] as const]))(
  'on %s, with a function of the write: %p',
  (database, isHooked) => {
    let app: AppUnderTest;
    let first: any;
    beforeEach(async () => {
      const { beforeUpdate: _, ...Line } = logic.Line;
      const kept = isHooked ? opened : plain;
      const given = isHooked ? logic : { ...logic, Line };
      const emptied = kept.get(database) ?? (await openEmptied(database, { sdl, logic: given }));
      kept.set(database, emptied);
      app = await emptied.next();
      const lines = [
        { price: '2.50', quantity: 2, note: 'Green tea' },
        { price: '1.00', quantity: 3 },
      ];
      await app.rest('POST', '/tags', { name: 'a' });
      await app.rest('POST', '/orders', {
        code: 'x',
        lines,
        tagIds: [(await app.rest('GET', '/tags')).body[0].id],
      });
      first = (await app.rest('GET', '/lines')).body[0];
      calls = 0;
    });

    /** Writes of many go through POST /transaction in REST. */
    const many = (method: string, body: unknown) =>
      app.rest('POST', '/transaction', {
        operations: [
          {
            method,
            path: '/lines',
            body,
            ...(method === 'PUT' && { where: { quantity: { gt: 0 } }, atMost: 10 }),
          },
        ],
      });

    test('nested creates and links have it', async () => {
      const lines = await mustBeTrue(app);
      expect(lines.map(({ total }) => total)).toEqual(['5.00', '3.00']);
      expect((await app.rest('GET', '/links')).body).toMatchObject([{ weight: 2, double: 4 }]);
    });

    const table: Record<string, (id: number) => Promise<any>> = {
      'PUT of one of its fields': (id) => app.rest('PUT', `/lines/${id}`, { quantity: 4 }),
      'PUT of another': (id) => app.rest('PUT', `/lines/${id}`, { note: 'Black tea' }),
      'PUT of what was read, changed': (id) => app.rest('PUT', `/lines/${id}`, { ...first, quantity: 9 }),
      'PUT of a function of its own': (id) => app.rest('PUT', `/lines/${id}`, { note: 'hooked' }),
      'PUT of null': (id) => app.rest('PUT', `/lines/${id}`, { note: null }),
      _inc: (id) => app.rest('PUT', `/lines/${id}`, { _inc: { quantity: 3 } }),
      '_inc of both': (id) => app.rest('PUT', `/lines/${id}`, { _inc: { quantity: 3, price: '0.25' } }),
      '_inc in GraphQL': (id) =>
        app.graphql(`mutation { updateLine(id: ${id}, _inc: { quantity: 2 }) { total } }`),
      'POST of one': () => app.rest('POST', '/lines', { price: '7.77', quantity: 3, note: 'Single' }),
      'POST of many': () =>
        many('POST', [
          { price: '1.10', quantity: 1, note: 'one' },
          { price: '2.20', quantity: 2, note: 'two' },
        ]),
      'an update of many': () => many('PUT', { quantity: 5 }),
      'an update of many by _inc': () => many('PUT', { _inc: { quantity: 5 } }),
      'an update of many in GraphQL': () =>
        app.graphql(
          'mutation { updateLines(where: { quantity: { gt: 0 } }, atMost: 9, set: { price: "3.30" }) { id } }',
        ),
      'what @onDelete does': async () => {
        const [{ id }] = (await app.rest('GET', '/orders')).body;
        return app.rest('DELETE', `/orders/${id}`);
      },
      'an update of links': async () => {
        const [{ id }] = (await app.rest('GET', '/orders')).body;
        const tag = (await app.rest('POST', '/tags', { name: 'b' })).body;
        return app.rest('PUT', `/orders/${id}`, { _tags: { add: [tag.id] } });
      },
      'a transaction': (id) =>
        app.rest('POST', '/transaction', {
          operations: [
            { method: 'PUT', path: `/lines/${id}`, body: { quantity: 8 } },
            { method: 'POST', path: '/lines', body: { price: '1.23', quantity: 4, note: 'in it' } },
            { method: 'PUT', path: `/lines/${id}`, body: { _inc: { price: '1.00' } } },
          ],
        }),
      '@atomic': (id) =>
        app.graphql(
          `mutation @atomic { a: updateLine(id: ${id}, quantity: 6) { total } b: createLine(price: "1.00", quantity: 1, note: "z") { slug } }`,
        ),
    };
    test.each(Object.keys(table))('%s', async (name) => {
      const before = (await app.rest('GET', '/lines')).body;
      const answer = await table[name]?.(first.id);
      expect([name, answer.status < 300, answer.errors]).toEqual([name, true, undefined]);
      const after = await mustBeTrue(app);
      if (!name.includes('links')) expect(after).not.toEqual(before);
      // A write answers with what it has made.
      for (const each of [answer.body].flat())
        if (each?.total) expect(each).toEqual(after.find(({ id }) => id === each.id));
    });

    test('a write that is a single statement', async () => {
      const { body } = await app.rest('POST', '/counters', { n: 2, m: 1 });
      expect(body).toMatchObject({ n: 2, twice: 4 });
      const path = `/counters/${body.id}`;
      expect((await app.rest('PUT', path, { _inc: { n: 3 } })).body).toMatchObject({ n: 5, twice: 10 });
      expect((await app.rest('PUT', path, { _inc: { m: 3 } })).body).toMatchObject({ m: 4, twice: 10 });
      const { data } = await app.graphql(
        `mutation { createCounter(n: 7) { twice } updateCounter(id: ${body.id}, _inc: { n: -1 }) { twice } }`,
      );
      expect(data).toEqual({ createCounter: { twice: 14 }, updateCounter: { twice: 8 } });
      expect((await app.rest('GET', '/counters?sort=twice&fields=twice')).body).toEqual([
        { twice: 8 },
        { twice: 14 },
      ]);
    });

    test('writes side by side leave it true', async () => {
      const { id } = (await app.rest('POST', '/counters', { n: 0, m: 0 })).body;
      const add = (by: object) => app.rest('PUT', `/counters/${id}`, { _inc: by });
      const set = (n: number) => app.graphql(`mutation { updateCounter(id: ${id}, n: ${n}) { n twice } }`);
      const answers = await Promise.all(
        Array.from({ length: 10 }, (_, turn) => [add({ n: 1 }), add({ m: 1 }), set(turn)]).flat(),
      );
      for (const { body } of answers) {
        const { n, twice } = body.data?.updateCounter ?? body;
        expect(twice).toBe(2 * n);
      }
      const { n, m, twice } = (await app.rest('GET', `/counters/${id}`)).body;
      expect([twice, m]).toEqual([2 * n, 10]);
    });

    test('an upsert', async () => {
      const upsert = (body: object) => app.rest('POST', '/orders?upsert=code', body);
      expect((await upsert({ code: 'x' })).status).toBe(200);
      const { data } = await app.graphql('mutation { upsertOrder(by: code, code: "y") { id } }');
      await app.rest('POST', '/lines', { orderId: Number(data.upsertOrder.id), price: '4.00', quantity: 2 });
      await mustBeTrue(app);
    });

    test('a function runs when one of its fields is written, and never when it is read', async () => {
      await app.rest('PUT', `/lines/${first.id}`, { note: 'Other' });
      await app.rest('GET', '/lines?sort=total');
      await app.graphql('{ lines { total } }');
      expect(calls).toBe(0);
      await app.rest('PUT', `/lines/${first.id}`, { quantity: 3 });
      expect(calls).toBe(1);
    });

    test('it is filtered, sorted, grouped, aggregated and paged by, and told of', async () => {
      await app.rest('POST', '/lines', { price: '10.00', quantity: 1, note: 'c' });
      const totals = async (query: string) =>
        (await app.rest('GET', `/lines?${query}`)).body.map((each: any) => each.total);
      expect(await totals('sort=-total')).toEqual(['10.00', '5.00', '3.00']);
      expect(await totals('total[gte]=5&sort=total')).toEqual(['5.00', '10.00']);
      expect(await totals('where={"words":{"has":"tea"}}')).toEqual(['5.00']);
      const { data } = await app.graphql(
        '{ lines(orderBy: [{ total: ASC }], first: 2) { total } linesAggregate(groupBy: [total]) { by { total } max { total } } linesConnection(orderBy: [{ total: DESC }], first: 1) { pageInfo { endCursor } edges { node { total } } } }',
      );
      expect(data.lines).toEqual([{ total: '3.00' }, { total: '5.00' }]);
      expect(data.linesAggregate).toHaveLength(3);
      const { endCursor } = data.linesConnection.pageInfo;
      const next = await app.graphql(
        '($after: String) { linesConnection(orderBy: [{ total: DESC }], first: 1, after: $after) { edges { node { total } } } }'.replace(
          /^/,
          'query ',
        ),
        { after: endCursor },
      );
      expect(next.data.linesConnection.edges).toEqual([{ node: { total: '5.00' } }]);
      const { data: introspected } = await app.graphql(
        '{ line: __type(name: "Line") { fields { name description } } where: __type(name: "LineWhere") { inputFields { name } } changes: __type(name: "LineChanges") { inputFields { name } } }',
      );
      const names = (fields: any[]) => fields.map(({ name }) => name);
      expect(introspected.line.fields).toContainEqual({
        name: 'total',
        description: 'What it costs.\n\nComputed from price, quantity.',
      });
      expect(names(introspected.where.inputFields)).toContain('total');
      expect(names(introspected.changes.inputFields)).not.toContain('total');
    });

    test('nobody can write it, and what was read can be sent', async () => {
      const path = `/lines/${first.id}`;
      const refused = [
        await app.rest('POST', '/lines', { price: '1', quantity: 1, total: '1.00' }),
        await app.rest('PUT', path, { total: '1.00' }),
      ];
      for (const { status, body } of refused)
        expect([status, body.errors]).toEqual([
          400,
          [{ pointer: '#/total', code: 'READ_ONLY', detail: 'total is computed by the server' }],
        ]);
      expect((await app.rest('PUT', path, first)).status).toBe(200);
      const { errors } = await app.graphql(
        'mutation { createLine(price: "1", quantity: 1, total: "1") { id } }',
      );
      expect(errors?.[0].message).toContain('Unknown argument "total"');
      const { body } = await app.rest('PUT', path, { _inc: { total: '1.00' } });
      expect(body.errors[0]).toMatchObject({ pointer: '#/_inc/total', code: 'READ_ONLY' });
    });

    test('what is unique and what is checked holds of it too', async () => {
      const twin = await app.rest('POST', '/lines', { price: '1', quantity: 1, note: 'green TEA' });
      expect([twin.status, twin.body.errors]).toEqual([
        409,
        [expect.objectContaining({ pointer: '#/slug', code: 'NOT_UNIQUE' })],
      ]);
      for (const { status, body } of [
        await app.rest('POST', '/lines', { price: '500', quantity: 2 }),
        await app.rest('PUT', `/lines/${first.id}`, { quantity: 400 }),
        await many('PUT', { quantity: 400 }),
      ])
        expect([status, body.errors]).toEqual([400, [expect.objectContaining({ detail: 'too much' })]]);
      expect(await mustBeTrue(app)).toHaveLength(2);
    });

    test('a function that fails or does not fit is a 500, and nothing has happened', async () => {
      const writes = (quantity: number) => [
        app.rest('POST', '/lines', { price: '1', quantity }),
        many('POST', [
          { price: '1', quantity: 1 },
          { price: '1', quantity },
        ]),
        app.rest('PUT', `/lines/${first.id}`, { quantity }),
        app.rest('PUT', `/lines/${first.id}`, { _inc: { quantity: quantity - 2 } }),
        many('PUT', { quantity }),
        app.rest('POST', '/orders', { code: 'z', lines: [{ price: '1', quantity }] }),
      ];
      for (const { status, body } of await Promise.all([...writes(13), ...writes(17)]))
        expect([status, body.code]).toEqual([500, 'INTERNAL']);
      expect(await mustBeTrue(app)).toHaveLength(2);
      expect((await app.rest('GET', '/orders')).body).toHaveLength(1);
    });
  },
);

describe.each([...databases])('who may read it, on %s', (database) => {
  const guarded = `
    type Person @resource @allow(to: [READ, CREATE, UPDATE]) {
      id: ID!
      name: String!
      pay: Int @allow(to: [READ], role: "boss") @allow(to: [READ], where: { name: { eq: { claim: "sub" } } }) @allow(to: [CREATE, UPDATE])
      age: Int @allow(to: [READ], role: "doctor") @allow(to: [READ], role: "boss") @allow(to: [CREATE, UPDATE])
      yearly: Int @computed(from: ["pay"], stored: true)
      both: Int @computed(from: ["pay", "age"], stored: true)
      band: String @computed(from: ["pay"], stored: true) @allow(to: [READ])
      hint: String @computed(from: ["pay"], stored: true) @allow(to: [READ], role: "doctor")
      initial: String @computed(from: ["name"]) @allow(to: [READ], where: { name: { eq: { claim: "sub" } } })
    }`;
  const functions = {
    Person: {
      yearly: ({ pay }: any) => pay * 12,
      both: ({ pay, age }: any) => pay + age,
      band: ({ pay }: any) => (pay > 100 ? 'high' : 'low'),
      hint: ({ pay }: any) => `about ${pay}`,
      initial: ({ name }: any) => name[0],
    },
  };

  test('whoever may read all that it is made of, unless a rule of its own says otherwise', async () => {
    await using emptied = await openEmptied(database, {
      sdl: guarded,
      logic: functions,
      env: { AUTH_SECRET: SECRET },
    });
    const app = await emptied.next();
    for (const [name, pay] of [
      ['ann', 100],
      ['bob', 200],
    ])
      await app.unguarded().rest('POST', '/persons', { name, pay, age: 30 });
    const as = (sub: string, ...roles: string[]) =>
      headersOf({ name: `stored ${sub}`, claims: { sub, roles } });
    const [ann, boss, doctor] = await Promise.all([as('ann'), as('eve', 'boss'), as('dan', 'doctor')]);
    const fields = ['yearly', 'both', 'band', 'hint', 'initial'];
    const seen = async (headers: any) => {
      const { body } = await app.rest('GET', `/persons?fields=${fields.join()}`, undefined, headers);
      const { data, errors = [] } = await app.graphql(`{ persons { ${fields.join(' ')} } }`, {}, headers);
      const shown = data.persons.map((each: any) =>
        Object.fromEntries(Object.entries(each).filter(([, value]) => value !== null)),
      );
      expect(shown).toEqual(body);
      const hidden = body.map((each: any) => fields.filter((name) => !(name in each)).length);
      expect(errors.map((each: any) => each.extensions.code)).toEqual(
        Array(hidden[0] + hidden[1]).fill('FORBIDDEN'),
      );
      return body;
    };
    expect(await seen(boss)).toEqual([
      { yearly: 1200, both: 130, band: 'low' },
      { yearly: 2400, both: 230, band: 'high' },
    ]);
    expect(await seen(ann)).toEqual([{ yearly: 1200, band: 'low', initial: 'a' }, { band: 'high' }]);
    expect(await seen(doctor)).toEqual([
      { band: 'low', hint: 'about 100' },
      { band: 'high', hint: 'about 200' },
    ]);
    expect(await seen({})).toEqual([{ band: 'low' }, { band: 'high' }]);
    // To filter, sort or count by it tells what it is.
    for (const [headers, name, status] of [
      [boss, 'yearly', 200],
      [ann, 'yearly', 403],
      [doctor, 'both', 403],
      [{}, 'band', 200],
      [boss, 'hint', 403],
      [doctor, 'hint', 200],
    ] as const)
      for (const query of [`sort=${name}`, `where={"${name}":{"isNull":false}}`, `aggregate=max(${name})`]) {
        const answer = await app.rest('GET', `/persons?${query}`, undefined, headers);
        expect([name, query, answer.status]).toEqual([name, query, status]);
      }
    // What a write answers with is what its caller may read.
    const { body } = await app.rest('PUT', '/persons/2', { pay: 50 }, doctor);
    expect(body).toMatchObject({ band: 'low', hint: 'about 50' });
    expect('yearly' in body).toBeFalse();
    const told = await app.rest('PUT', '/persons/2', { yearly: 7 }, doctor);
    expect(told.body.errors).toEqual([expect.objectContaining({ code: 'READ_ONLY' })]);
    const openapi = (await app.rest('GET', '/openapi.json', undefined, boss)).body;
    const { Person, PersonFields } = openapi.components.schemas;
    const { yearly, band } = { ...PersonFields.properties, ...Person.properties };
    expect([yearly.readOnly, band.readOnly]).toEqual([true, true]);
    expect(yearly.description).toBe('Computed from pay.\n\nAbsent for callers who may not read it.');
  });
});

test('the description tells of it', async () => {
  const app = await openApp('sqlite', { sdl, logic });
  const { body } = await app.rest('GET', '/openapi.json');
  const { valid, errors } = await new Validator().validate(structuredClone(body));
  expect([errors ?? [], valid]).toEqual([[], true]);
  const { LineFields, LineCreate, LineWhere } = body.components.schemas;
  const { Line } = (await app.rest('GET', '/openapi.json?profile=client')).body.components.schemas;
  expect(LineFields.properties.total).toMatchObject({
    readOnly: true,
    description: 'What it costs.\n\nComputed from price, quantity.',
  });
  expect([Line.required.includes('total'), LineCreate.properties.total]).toEqual([true, false]);
  expect('total' in LineWhere.properties).toBeTrue();
  expect((await app.rest('GET', '/schema.graphql')).body).toContain('total: Decimal!');
  await app.close();
});

test('a data file leaves it out, or has something that is made anew', async () => {
  const lines = [
    { id: 1, price: '2.00', quantity: 2, note: null },
    { id: 2, price: '3.00', quantity: 2, note: 'b', total: '9999.00' },
  ];
  for (const database of databases) {
    const app = await openApp(database, { sdl, logic, data: { lines } });
    expect((await app.rest('GET', '/lines?sort=-total&fields=total')).body).toEqual([
      { total: '6.00' },
      { total: '4.00' },
    ]);
    await app.close();
  }
});

test('the files say what is wrong with them', () => {
  const faultsOf = (fields: string) =>
    readSchema(
      `type B @resource { id: ID! }
       type A @resource { id: ID! n: Int b: B at: DateTime! @updatedAt secret: Int @allow(to: [READ], role: "x") ${fields} }`,
    ).faults?.map(({ message }) => message);
  const cure = 'Leave that out, or drop "stored: true".';
  expect(faultsOf('t: Int @computed(from: ["id"], stored: true)')).toEqual([
    `"A.t" is stored and computed from "id", which a record is given when it is stored. ${cure}`,
  ]);
  expect(faultsOf('t: Int @computed(from: ["bId"], stored: true)')).toEqual([
    `"A.t" is stored and computed from "bId", which is a reference: whoever may not see what it leads to does not see it. ${cure}`,
  ]);
  expect(faultsOf('t: Int @computed(from: ["at"], stored: true)')).toEqual([
    `"A.t" is stored and computed from "at", which changes with every write. ${cure}`,
  ]);
  expect(faultsOf('t: Int @computed(from: ["n"], stored: true) u: Int @computed(from: ["t"])')).toEqual([
    '"A.u" is computed from "t", which is computed too. Name what that is made of.',
  ]);
  expect(faultsOf('t: Int @default(value: 1) @computed(from: ["n"], stored: true)')).toEqual([
    '"@default" does not fit "A.t", which is computed. Remove it.',
  ]);
  expect(faultsOf('t: Int @computed(from: ["n"], stored: true) @allow(to: [UPDATE])')).toEqual([
    '"A.t" is computed: a rule on it can allow READ alone.',
  ]);
  expect(faultsOf('t: Int @computed(from: ["secret"]) @allow(to: [READ])')).toEqual([
    '"A.t" has a rule of its own, and is computed from "secret", which has one. Store it: @computed(from: […], stored: true), or drop the rule.',
  ]);
  expect(faultsOf('t: Int! @computed(from: ["n"]) @allow(to: [READ])')).toEqual([
    '"A.t" has a rule on who may READ it and can be null for the others. Drop its "!".',
  ]);
  expect(faultsOf('n: Int @computed(from: ["n"], stored: true)')).toEqual([
    expect.stringContaining('exists twice'),
  ]);
});
