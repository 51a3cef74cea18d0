/** Upserts through both doors and on both databases: what is there is changed, what is not is created. */

import { beforeEach, describe, expect, test } from 'bun:test';
import { type AppUnderTest, type DatabaseKind, databases, openApp, openEmptied } from '../app.ts';
import { headersOf, SECRET } from './access-matrix.ts';

const sdl = `
  enum State { NEW SOLD }
  type Shop @resource { id: ID!  name: String!  products: [Product!]! }
  type Product @resource
    @unique(fields: ["shop", "code"])
    @check(where: { price: { gt: 0 } }, message: "A price is positive.")
  {
    id: ID!
    sku: String @unique
    name: String! @constraint(minLength: 1)
    price: Int! @default(value: 5)
    state: State! @default(value: NEW) @transitions(allow: { NEW: [SOLD] })
    shop: Shop
    code: String
    slot: String @unique
  }
  type Flag @resource { key: ID! @key  on: Boolean! @default(value: false)  note: String }
  type Log @resource(only: [CREATE, LIST]) { id: ID!  text: String! @unique }`;

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
    faults: (errors ?? []).map((each) => `${each.pointer.replace(prefix, '#')} ${each.code}`),
  });
  const list = async () => (await app.rest('GET', '/products?fields=sku,name,price,state,code')).body;
  const fields = '{ id sku name price state shopId code slot _version }';
  const shown = ({ _version, id: _, shopId, ...record }: any) => ({
    ...record,
    ...(shopId != null && { shopId: Number(shopId) }),
    version: _version,
  });

  /** The same upserts by either door. */
  const doors = {
    rest: {
      one: async (by: string, body: any) => {
        const path = `/products?upsert=${by}&fields=id,sku,name,price,state,shopId,code,slot,_version`;
        const answer = await app.rest('POST', path, body);
        return answer.status < 300 ? shown(answer.body) : failure(answer.body.code, answer.body.errors, /^#/);
      },
      many: async (by: string, body: any[]) => {
        const path = `/products?upsert=${by}&fields=sku,name,price,state,shopId,code,slot,_version`;
        const { status, body: told } = await app.rest('POST', '/transaction', {
          operations: [{ method: 'POST', path, body }],
        });
        if (status !== 200) return failure(told.code, told.errors, /^#\/operations\/0\/body/);
        expect(told.results[0].status).toBe(200);
        return told.results[0].body.map(shown);
      },
    },
    graphql: {
      one: async (by: string, body: any) => {
        const types: Record<string, string> = { price: 'Int', state: 'State', shopId: 'ID' };
        const names = Object.keys(body);
        const { data, errors } = await app.graphql(
          `mutation(${['$by: ProductBy!', ...names.map((name) => `$${name}: ${types[name] ?? 'String'}`)].join(', ')}) {
            it: upsertProduct(by: $by${names.map((name) => `, ${name}: $${name}`).join('')}) ${fields} }`,
          { by, ...body },
        );
        return errors
          ? failure(errors[0].extensions.code, errors[0].extensions.errors, /^#/)
          : shown(data.it);
      },
      many: async (by: string, records: any[]) => {
        const { data, errors } = await app.graphql(
          `mutation($by: ProductBy!, $records: [ProductUpsert!]!) { it: upsertProducts(by: $by, records: $records) ${fields} }`,
          { by, records },
        );
        return errors
          ? failure(errors[0].extensions.code, errors[0].extensions.errors, /^#/)
          : data.it.map(shown);
      },
    },
  };

  test('what a create may say beside its record, an update still may not', async () => {
    for (const name of ['Chai', 'Tea']) {
      const { body } = await app.rest('POST', '/products?upsert=sku&fields=id,name', { sku: 'a', name });
      expect(body.name).toBe(name);
      const path = `/products/${body.id}?upsert=sku&fields=id,name`;
      for (const method of ['PUT', 'GET'])
        expect(
          (await app.rest(method, path, method === 'GET' ? undefined : { name: 'x' })).body,
        ).toMatchObject({
          code: 'VALIDATION_FAILED',
          errors: [{ parameter: 'upsert', code: 'UNKNOWN' }],
        });
    }
  });

  describe.each(Object.entries(doors))('through %s', (_, { one, many }) => {
    test('creates, and then changes what is given, without defaults', async () => {
      const made = { sku: 'a', name: 'Chai', price: 5, state: 'NEW', code: null, slot: null };
      expect(await one('sku', { sku: 'a', name: 'Chai' })).toMatchObject({ ...made, version: 1 });
      expect(await one('sku', { sku: 'a', price: 9 })).toMatchObject({ ...made, price: 9, version: 2 });
      expect(await one('sku', { sku: 'a', name: 'Tea' })).toMatchObject({
        name: 'Tea',
        price: 9,
        version: 3,
      });
      expect(await list()).toHaveLength(1);
    });

    test('what a new record needs is told where there is none, and all at once', async () => {
      expect(await one('sku', { sku: 'a', price: 1 })).toEqual({
        code: 'VALIDATION_FAILED',
        faults: ['#/name REQUIRED'],
      });
      expect(await one('sku', { name: '', price: 1 })).toEqual({
        code: 'VALIDATION_FAILED',
        faults: ['#/name LENGTH'],
      });
      expect(await one('sku', { name: 'x' })).toEqual({
        code: 'VALIDATION_FAILED',
        faults: ['#/sku REQUIRED'],
      });
      expect(await one('sku', { name: 'x', sku: null })).toEqual({
        code: 'VALIDATION_FAILED',
        faults: ['#/sku REQUIRED'],
      });
      expect(await list()).toEqual([]);
    });

    test('by several fields together', async () => {
      const { body: shop } = await app.rest('POST', '/shops', { name: 'One' });
      const by = { shopId: shop.id, code: 'x' };
      expect(await one('shop_code', { ...by, name: 'a' })).toMatchObject({ ...by, name: 'a', version: 1 });
      expect(await one('shop_code', { ...by, name: 'b' })).toMatchObject({ ...by, name: 'b', version: 2 });
      expect(await one('shop_code', { ...by, code: 'y', name: 'c' })).toMatchObject({
        name: 'c',
        version: 1,
      });
      expect(await one('shop_code', { shopId: 999, code: 'y', name: 'c' })).toEqual({
        code: 'CONFLICT',
        faults: ['#/shopId REFERENCE_NOT_FOUND'],
      });
    });

    test('checks and states hold for both ways', async () => {
      expect(await one('sku', { sku: 'a', name: 'x', price: 0 })).toEqual({
        code: 'VALIDATION_FAILED',
        faults: ['# CHECK_FAILED'],
      });
      expect(await one('sku', { sku: 'a', name: 'x', state: 'SOLD' })).toEqual({
        code: 'CONFLICT',
        faults: ['#/state TRANSITION_NOT_ALLOWED'],
      });
      await one('sku', { sku: 'a', name: 'x' });
      expect(await one('sku', { sku: 'a', price: 0 })).toEqual({
        code: 'VALIDATION_FAILED',
        faults: ['# CHECK_FAILED'],
      });
      expect(await one('sku', { sku: 'a', state: 'SOLD' })).toMatchObject({ state: 'SOLD' });
      expect(await one('sku', { sku: 'a', state: 'NEW' })).toEqual({
        code: 'CONFLICT',
        faults: ['#/state TRANSITION_NOT_ALLOWED'],
      });
    });

    test('what else is taken is a conflict', async () => {
      await one('sku', { sku: 'a', name: 'x', slot: '1' });
      await one('sku', { sku: 'b', name: 'x' });
      const taken = { code: 'CONFLICT', faults: ['#/slot NOT_UNIQUE'] };
      expect(await one('sku', { sku: 'c', name: 'x', slot: '1' })).toEqual(taken);
      expect(await one('sku', { sku: 'b', slot: '1' })).toEqual(taken);
    });

    test('many at once, one after the other, all or none', async () => {
      await one('sku', { sku: 'a', name: 'old' });
      const changed = await many('sku', [
        { sku: 'a', price: 2 },
        { sku: 'b', name: 'new' },
        { sku: 'b', price: 7 },
      ]);
      expect(changed.map(({ sku, name, price, version }: any) => [sku, name, price, version])).toEqual([
        ['a', 'old', 2, 2],
        ['b', 'new', 5, 1],
        ['b', 'new', 7, 2],
      ]);
      expect(await many('sku', [{ sku: 'a', price: 3 }, { sku: 'c' }])).toEqual({
        code: 'VALIDATION_FAILED',
        faults: ['#/1/name REQUIRED'],
      });
      expect(
        await many('sku', [
          { sku: 'a', price: 3 },
          { sku: 'b', price: 0 },
        ]),
      ).toEqual({
        code: 'VALIDATION_FAILED',
        faults: ['#/1 CHECK_FAILED'],
      });
      expect((await list()).map(({ price }: any) => price)).toEqual([2, 7]);
    });

    test('of many who try the same at once, one creates and the others change', async () => {
      const tried = await Promise.all(
        Array.from({ length: 12 }, (_, index) => one('sku', { sku: 'hot', name: `n${index}` })),
      );
      expect(tried.map(({ version }) => version).sort((a, b) => a - b)).toEqual(
        Array.from({ length: 12 }, (_, index) => index + 1),
      );
      expect(await list()).toHaveLength(1);
    });
  });

  test('REST tells which of the two it was, and how to find it', async () => {
    const made = await app.rest('POST', '/flags?upsert=key', { key: 'dark', note: 'x' });
    expect([made.status, made.headers.get('Location'), made.body]).toEqual([
      201,
      '/flags/dark',
      { key: 'dark', on: false, note: 'x' },
    ]);
    const kept = await app.rest('POST', '/flags?upsert=key', { key: 'dark', on: true });
    expect([kept.status, kept.headers.get('Location'), kept.body]).toEqual([
      200,
      null,
      { key: 'dark', on: true, note: 'x' },
    ]);
    expect(kept.headers.get('ETag')).toStartWith('"2-');
    // Born again, it is still new.
    await app.rest('DELETE', '/flags/dark');
    const again = await app.rest('POST', '/flags?upsert=key', { key: 'dark' });
    expect([again.status, again.headers.get('ETag')?.slice(0, 3)]).toEqual([201, '"3-']);
  });

  test('a key makes it happen once, and tells the same again', async () => {
    const headers = { 'Idempotency-Key': crypto.randomUUID() };
    const send = (path = '/flags?upsert=key') => app.rest('POST', path, { key: 'k' }, headers);
    const [first, second] = [await send(), await send()];
    expect([first.status, first.body, second.status, second.body]).toEqual([
      201,
      first.body,
      201,
      first.body,
    ]);
    expect((await send('/flags')).body.code).toBe('IDEMPOTENCY_MISMATCH');
    expect((await app.rest('GET', '/flags/k')).headers.get('ETag')).toStartWith('"1-');
  });

  test('in a transaction its result can be used, whichever it was', async () => {
    const operations = [
      { method: 'POST', path: '/flags?upsert=key', body: { key: 'a' } },
      { method: 'POST', path: '/flags?upsert=key&fields=key', body: { key: 'a', note: 'n' }, as: 'f' },
      { method: 'POST', path: '/products?upsert=sku', body: { sku: { $ref: 'f.key' }, name: 'x' } },
    ];
    const { body } = await app.rest('POST', '/transaction', { operations });
    expect(body.results.map(({ status }: any) => status)).toEqual([201, 200, 201]);
    expect(body.results[1].body).toEqual({ key: 'a' });
    expect(body.results[2].body.sku).toBe('a');
    const hidden = [operations[1], { method: 'POST', path: '/products', body: { name: { $ref: 'f.note' } } }];
    const refused = await app.rest('POST', '/transaction', { operations: hidden });
    expect(refused.body.errors).toMatchObject([{ pointer: '#/operations/1/body/name', code: 'UNKNOWN' }]);
  });

  test('what it cannot be looked up by is told', async () => {
    const told = async (path: string) => (await app.rest('POST', path, { name: 'x' })).body.errors;
    expect(await told('/products?upsert=skue')).toMatchObject([
      {
        parameter: 'upsert',
        code: 'UNKNOWN',
        detail: 'No product can be looked up by "skue". Did you mean "sku"?',
      },
    ]);
    expect((await told('/products?upsert=name'))[0].detail).toContain('There are: sku, slot, shop_code.');
    // What cannot be changed cannot be upserted.
    expect(await told('/logs?upsert=text')).toMatchObject([{ parameter: 'upsert', code: 'UNKNOWN' }]);
    expect((await app.rest('POST', '/shops?upsert=id', { id: 1, name: 'x' })).status).toBe(400);
  });
});

describe.each([...databases])('with rules, on %s', (database) => {
  const ruled = `
    type Note @resource
      @unique(fields: ["owner", "tag"])
      @allow(to: [READ, CREATE, UPDATE], where: { owner: { eq: { claim: "sub" } } })
      @allow(to: [READ, CREATE], role: "reader")
    { id: ID!  owner: String! @set(claim: "sub")  tag: String!  text: String  slug: String @unique }`;
  test('a record that is not seen is a conflict, and what may not be changed is forbidden', async () => {
    const app = await openApp(database, { sdl: ruled, env: { AUTH_SECRET: SECRET } });
    try {
      const as = (sub: string, ...roles: string[]) =>
        headersOf({ name: `${sub}${roles}`, claims: { sub, roles } });
      const [ann, bob, reader] = [await as('ann'), await as('bob'), await as('rob', 'reader')];
      const put = async (by: string, body: object, who: any) => {
        const answer = await app.rest('POST', `/notes?upsert=${by}`, body, who);
        return [answer.status, answer.body.code ?? answer.body.text];
      };
      expect(await put('owner_tag', { tag: 't', text: 'a' }, ann)).toEqual([201, 'a']);
      expect(await put('owner_tag', { tag: 't', text: 'b', slug: 's' }, ann)).toEqual([200, 'b']);
      expect(await put('owner_tag', { tag: 't', text: 'c' }, bob)).toEqual([201, 'c']);
      expect(await put('slug', { slug: 's', tag: 'u', text: 'mine now' }, bob)).toEqual([409, 'CONFLICT']);
      expect(await put('slug', { slug: 's', text: 'mine now' }, reader)).toEqual([403, 'FORBIDDEN']);
      expect(await put('owner_tag', { tag: 't', text: 'x' }, {})).toEqual([401, 'UNAUTHENTICATED']);
      expect((await app.unguarded().rest('GET', '/notes?fields=owner,text')).body).toEqual([
        { owner: 'ann', text: 'b' },
        { owner: 'bob', text: 'c' },
      ]);
    } finally {
      await app.close();
    }
  });

  test('what only a claim can fill is not asked of the client', async () => {
    const set = `
      type Seat @resource @unique(fields: ["org", "nr"]) @allow(to: [READ, CREATE, UPDATE])
      { id: ID!  org: String! @set(claim: "org")  nr: Int!  note: String }
      type Mutation { book(org: String!, nr: Int!, note: String!): Seat! @action @allow }`;
    const logic = {
      Mutation: {
        *book({ tx }: any, input: any): any {
          return yield* tx.system.seats.upsert(['org', 'nr'], input);
        },
      },
    };
    const app = await openApp(database, { sdl: set, logic, env: { AUTH_SECRET: SECRET } });
    // The server itself gives it, whoever asks.
    for (const claims of [undefined, { sub: 'bob' }, { sub: 'ann', org: 'a' }])
      for (const org of ['a', 'b']) {
        const who = await headersOf({ name: `booking ${JSON.stringify(claims)}`, claims });
        const note = `${claims?.sub} ${org}`;
        const { body } = await app.rest('POST', '/actions/book', { org, nr: 1, note }, who);
        expect(body).toMatchObject({ id: org === 'a' ? 1 : 2, org, note });
      }
    for (const [claims, code] of [
      [undefined, 'UNAUTHENTICATED'],
      [{ sub: 'bob' }, 'FORBIDDEN'],
      [{ sub: 'bob', org: ['a', 'b'] }, 'FORBIDDEN'],
    ] as const) {
      const who = await headersOf({ name: 'without org', claims });
      const created = await app.rest('POST', '/seats', { nr: 1 }, who);
      const upserted = await app.rest('POST', '/seats?upsert=org_nr', { nr: 1 }, who);
      const { errors } = await app.graphql('mutation { upsertSeat(by: org_nr, nr: 1) { id } }', {}, who);
      expect([created.body.code, upserted.body.code, errors?.[0].extensions.code]).toEqual([
        code,
        code,
        code,
      ]);
    }
    await app.close();
  });

  test('who may not read a field may not look a record up by it', async () => {
    const hidden = `
      type Shop @resource
        @allow(to: [READ], where: { open: { eq: true } })
        @allow(to: [READ, CREATE], role: "admin")
      { id: ID!  open: Boolean!  people: [Person!]! }
      type Person @resource @unique(fields: ["shop", "desk"]) @allow(to: [READ, CREATE, UPDATE]) {
        id: ID!
        name: String! @unique
        email: String @unique @allow(to: [CREATE, UPDATE]) @allow(to: [READ], role: "admin")
        phone: String @unique @allow(to: [CREATE, UPDATE]) @allow(to: [READ], where: { name: { eq: "bob" } })
        shop: Shop
        desk: String
      }`;
    const app = await openApp(database, { sdl: hidden, env: { AUTH_SECRET: SECRET } });
    try {
      const eve = await headersOf({ name: 'ups eve', claims: { sub: 'eve' } });
      const admin = await headersOf({ name: 'ups admin', claims: { sub: 'adm', roles: ['admin'] } });
      const shopId = (await app.rest('POST', '/shops', { open: false }, admin)).body.id;
      const ann = { name: 'ann', email: 'a@x.org', phone: '1', shopId, desk: 'd' };
      expect((await app.rest('POST', '/persons?upsert=email', ann, admin)).status).toBe(201);
      const doors = {
        rest: async (by: string, body: object, who: any) => {
          const { status, body: told } = await app.rest('POST', `/persons?upsert=${by}`, body, who);
          return told.code ?? status;
        },
        graphql: async (by: string, { name, email, phone }: any, who: any) => {
          const { data, errors } = await app.graphql(
            'mutation($by: PersonBy!, $name: String, $email: String, $phone: String) { it: upsertPerson(by: $by, name: $name, email: $email, phone: $phone) { id } }',
            { by, name, email, phone },
            who,
          );
          return errors ? errors[0].extensions.code : data.it && 200;
        },
      };
      for (const run of Object.values(doors)) {
        // What is there and what is not are told alike.
        for (const email of ['a@x.org', 'none@x.org'])
          expect(await run('email', { name: 'ann', email }, eve)).toBe('FORBIDDEN');
        expect(await run('phone', { name: 'ann', phone: '1' }, eve)).toBe('FORBIDDEN');
        expect(await run('email', { name: 'ann', email: 'a@x.org' }, {})).toBe('UNAUTHENTICATED');
        expect(await run('name', { name: 'ann', phone: '2' }, eve)).toBe(200);
        expect(await run('email', { name: 'ann', email: 'a@x.org' }, admin)).toBe(200);
      }
      const many = [
        { method: 'POST', path: '/persons?upsert=email', body: [{ name: 'ann', email: 'a@x.org' }] },
      ];
      expect((await app.rest('POST', '/transaction', { operations: many }, eve)).body.code).toBe('FORBIDDEN');
      // A reference to what is hidden is null to the caller, whether or not it is guessed.
      for (const desk of ['d', 'none'])
        expect(await doors.rest('shop_desk', { shopId, desk }, eve)).toBe('VALIDATION_FAILED');
      expect((await app.unguarded().rest('GET', '/persons?fields=name,phone')).body).toEqual([
        { name: 'ann', phone: '2' },
      ]);
    } finally {
      await app.close();
    }
  });
});
