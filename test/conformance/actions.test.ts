/** Actions: root fields that functions carry out, through both doors, in one transaction, on every database. */

import { beforeEach, describe, expect, test } from 'bun:test';
import { Validator } from '@seriousme/openapi-schema-validator';
import { type AppUnderTest, type DatabaseKind, databases, openApp, openEmptied } from '../app.ts';
import { headersOf, SECRET } from './access-matrix.ts';

const sdl = `
  enum Speed { SLOW FAST }
  type Item @resource { id: ID!  name: String! @unique  price: Decimal! @decimal(scale: 2)  quantity: Int! @constraint(min: 0)  lines: [Line!]! }
  type Line @resource { id: ID!  item: Item!  quantity: Int!  note: String }
  input Wish { itemId: ID!  quantity: Int! = 1 @constraint(min: 1)  note: String }
  type Receipt { lines: [Line!]!  total: Decimal! @decimal(scale: 2)  best: Item  speed: Speed  part: Receipt }
  type Mutation {
    "Takes an item out of the stock."
    placeOrder(itemId: ID!, quantity: Int! @constraint(min: 1, max: 10), note: String @constraint(maxLength: 5)): Line! @action
    placeAll(wishes: [Wish!]!, speed: Speed = SLOW): Receipt! @action
    reset: Boolean! @action
    lastOne(itemId: ID!): Line @action
    misled(how: String!): Line @action
  }
  type Query {
    bestsellers(first: Int! = 2): [Item!]! @action
    total(ids: [ID!], wish: Wish): Decimal @action @decimal(scale: 2)
    tries: Boolean @action
    looks(how: String!): JSON @action
  }
`;

function* place(tx: any, refuse: any, itemId: string, quantity: number, note: string | null): any {
  const item = yield* tx.system.items.get(itemId);
  if (!item) throw refuse('There is no such item.', 'itemId');
  yield* tx.system.items.update(item.id, { _inc: { quantity: -quantity } });
  return yield* tx.system.lines.create({ itemId, quantity, note });
}

const logic = {
  Mutation: {
    *placeOrder({ tx, refuse }: any, { itemId, quantity, note }: any): any {
      if (note === 'no') throw refuse('Not this note.', 'note');
      if (note === 'oops') throw new TypeError('a mistake of mine');
      return yield* place(tx, refuse, itemId, quantity, note);
    },
    *placeAll({ tx, refuse }: any, { wishes, speed }: any): any {
      const lines = [];
      for (const { itemId, quantity, note } of wishes)
        lines.push(yield* place(tx, refuse, itemId, quantity, note));
      const best = yield* tx.items.list({ orderBy: [{ quantity: 'ASC' }], first: 1 });
      return {
        lines: lines.map(({ id }: any) => id),
        total: `${lines.length}.5`,
        best: best[0],
        speed,
        part: { lines: [], total: '0' },
      };
    },
    *lastOne({ tx }: any, { itemId }: any): any {
      const [{ count }] = yield* tx.lines.aggregate({ count: true });
      return count === 0 ? yield* tx.lines.create({ itemId, quantity: 1 }) : null;
    },
    *reset({ tx }: any): any {
      for (const { id } of yield* tx.system.lines.list()) yield* tx.system.lines.delete(id);
      return true;
    },
    misled: (_: any, { how }: any) => (how === 'missing' ? 999 : how === 'text' ? { id: {} } : null),
  },
  Query: {
    *bestsellers({ tx }: any, { first }: any): any {
      return yield* tx.items.list({ orderBy: [{ quantity: 'ASC' }], first });
    },
    *total({ tx }: any, { ids, wish }: any): any {
      const items = yield* tx.items.list(ids ? { where: { id: { in: ids } } } : {});
      return String(items.length + (wish?.quantity ?? 0));
    },
    *looks({ tx }: any, { how }: any): any {
      if (how === 'select')
        return yield* tx.items.get(1, {
          select: { name: true, lines: { select: { note: true, item: true }, first: 1 } },
        });
      if (how === 'include')
        return yield* tx.lines.list({
          include: { item: { select: { name: true } } },
          orderBy: { id: 'DESC' },
        });
      return yield* tx.items.get(1, { select: { nam: true } });
    },
    *tries({ tx }: any): any {
      yield* tx.system.items.create({ name: 'x', price: '1', quantity: 1 });
    },
  },
};

const opened = new Map<DatabaseKind, Awaited<ReturnType<typeof openEmptied>>>();

describe.each([...databases])('on %s', (database) => {
  let app: AppUnderTest;
  let items: number[];
  beforeEach(async () => {
    const emptied = opened.get(database) ?? (await openEmptied(database, { sdl, logic }));
    opened.set(database, emptied);
    app = await emptied.next();
    items = [];
    for (const name of ['a', 'b', 'c'])
      items.push((await app.rest('POST', '/items', { name, price: '2.50', quantity: 5 })).body.id);
  });
  const stock = async () =>
    (await app.rest('GET', '/items')).body.map(({ quantity }: any) => quantity).join();
  const lines = async () => (await app.rest('GET', '/lines')).body.length;
  const told = (errors: any[] | undefined) => errors?.map(({ pointer, code }) => `${pointer} ${code}`);

  const doors = {
    rest: async (args: object) => {
      const { status, body } = await app.rest('POST', '/actions/place-order', args);
      if (status !== 200) return { code: body.code, faults: told(body.errors) };
      return { line: { itemId: body.itemId, quantity: body.quantity, note: body.note } };
    },
    graphql: async (args: object) => {
      const { data, errors } = await app.graphql(
        `mutation($itemId: ID!, $quantity: Int!, $note: String) {
          placeOrder(itemId: $itemId, quantity: $quantity, note: $note) { itemId quantity note item { name } } }`,
        args as any,
      );
      if (errors) return { code: errors[0].extensions.code, faults: told(errors[0].extensions.errors) };
      const { itemId, quantity, note } = data.placeOrder;
      return { line: { itemId: Number(itemId), quantity, note } };
    },
  };

  describe.each(Object.entries(doors))('through %s', (_, run) => {
    test('it is done, and answered with the record as it is asked for', async () => {
      const [itemId] = items;
      expect(await run({ itemId, quantity: 2 })).toEqual({ line: { itemId, quantity: 2, note: null } });
      // An id may be a text, too.
      expect(await run({ itemId: String(itemId), quantity: 1, note: 'x' })).toEqual({
        line: { itemId, quantity: 1, note: 'x' },
      });
      expect([await stock(), await lines()]).toEqual(['2,5,5', 2]);
    });

    test('all that is wrong with its arguments is told at once, and nothing is run', async () => {
      const [itemId] = items;
      expect(await run({ itemId, quantity: 11, note: 'too long' })).toEqual({
        code: 'VALIDATION_FAILED',
        faults: ['#/quantity OUT_OF_RANGE', '#/note LENGTH'],
      });
    });

    test('what it refuses, and what fails, has not happened', async () => {
      const [itemId] = items;
      const code = 'VALIDATION_FAILED';
      expect(await run({ itemId, quantity: 1, note: 'no' })).toEqual({ code, faults: ['#/note REFUSED'] });
      expect(await run({ itemId: 999, quantity: 1 })).toEqual({ code, faults: ['#/itemId REFUSED'] });
      expect(await run({ itemId, quantity: 6 })).toEqual({ code: 'CONFLICT', faults: ['# OUT_OF_RANGE'] });
      app.observations.length = 0;
      expect(await run({ itemId, quantity: 1, note: 'oops' })).toEqual({
        code: 'INTERNAL',
        faults: undefined,
      });
      expect(app.observations).toContainEqual(
        expect.objectContaining({
          event: 'failure',
          cause: expect.objectContaining({ message: 'a mistake of mine' }),
        }),
      );
      expect([await stock(), await lines()]).toEqual(['5,5,5', 0]);
    });
  });

  test('what REST alone can send wrong', async () => {
    const post = (body?: unknown) => app.rest('POST', '/actions/place-order', body);
    expect(told((await post({ item: 1 })).body.errors)).toEqual([
      '#/item UNKNOWN',
      '#/itemId REQUIRED',
      '#/quantity REQUIRED',
    ]);
    expect(told((await post({ itemId: true, quantity: '1' })).body.errors)).toEqual([
      '#/itemId TYPE',
      '#/quantity TYPE',
    ]);
    expect((await app.rest('POST', '/actions/place-order?x=1', {})).status).toBe(400);
    expect((await app.rest('GET', '/actions/place-order')).status).toBe(405);
    expect((await app.rest('POST', '/actions/nothing', {})).status).toBe(404);
    expect((await app.rest('POST', '/actions/reset')).body).toBe(true);
  });

  test('a version that nothing can be held against is no reason to go ahead', async () => {
    const before = (await app.rest('GET', '/lines')).body.length;
    for (const [path, body] of [
      ['/actions/place-order', { itemId: 1, quantity: 1 }],
      [
        '/transaction',
        { operations: [{ method: 'POST', path: '/actions/place-order', body: { itemId: 1, quantity: 1 } }] },
      ],
    ] as const)
      for (const tag of ['"1"', '*']) {
        const { status, body: told } = await app.rest('POST', path, body, { 'If-Match': tag });
        expect([path, tag, status, told.code]).toEqual([path, tag, 412, 'VERSION_CONFLICT']);
      }
    expect((await app.rest('GET', '/lines')).body).toHaveLength(before);
  });

  test('inputs and plain types, through both doors', async () => {
    const wishes = [{ itemId: items[0] }, { itemId: items[1], quantity: 2, note: 'n' }];
    const { body } = await app.rest('POST', '/actions/place-all', { wishes, speed: 'FAST' });
    expect(body).toEqual({
      lines: [expect.objectContaining({ quantity: 1 }), expect.objectContaining({ quantity: 2, note: 'n' })],
      total: '2.50',
      best: expect.objectContaining({ name: 'b', quantity: 3 }),
      speed: 'FAST',
      part: { lines: [], total: '0.00', best: null, speed: null, part: null },
    });
    const { data } = await app.graphql(
      `mutation($wishes: [Wish!]!) { placeAll(wishes: $wishes) {
        first: lines { note } lines { item { name } } total best { ...It } speed part { total } } }
      fragment It on Item { name lines { quantity } }`,
      { wishes },
    );
    expect(data.placeAll).toEqual({
      first: [{ note: null }, { note: 'n' }],
      lines: [{ item: { name: 'a' } }, { item: { name: 'b' } }],
      total: '2.50',
      best: { name: 'b', lines: [{ quantity: 2 }, { quantity: 2 }] },
      speed: 'SLOW',
      part: { total: '0.00' },
    });
    const wrong = await app.rest('POST', '/actions/place-all', { wishes: [{ quantity: 0 }, 7], speed: 'NO' });
    expect(told(wrong.body.errors)).toEqual([
      '#/wishes/0/itemId REQUIRED',
      '#/wishes/0/quantity OUT_OF_RANGE',
      '#/wishes/1 TYPE',
      '#/speed ENUM',
    ]);
  });

  test('an action of Query reads, by GET and in a query beside others, and cannot write', async () => {
    await app.rest('POST', '/actions/place-order', { itemId: items[1], quantity: 1 });
    const names = ({ body }: any) => body.map(({ name }: any) => name);
    expect(names(await app.rest('GET', '/actions/bestsellers'))).toEqual(['b', 'a']);
    expect(names(await app.rest('GET', '/actions/bestsellers?first=1'))).toEqual(['b']);
    const wrong = await app.rest('GET', '/actions/bestsellers?first=x&more=1');
    expect(wrong.body.errors).toEqual([
      expect.objectContaining({ parameter: 'more', code: 'UNKNOWN' }),
      expect.objectContaining({ parameter: 'first', code: 'TYPE' }),
    ]);
    const ids = JSON.stringify(items.slice(0, 2));
    expect((await app.rest('GET', `/actions/total?ids=${ids}&wish={"itemId":1,"quantity":40}`)).body).toBe(
      '42.00',
    );
    const deep = encodeURIComponent(`${'{"part":'.repeat(33)}{}${'}'.repeat(33)}`);
    expect((await app.rest('GET', `/actions/total?wish=${deep}`)).body.code).toBe('JSON_TOO_DEEP');
    for (const parameter of ['__proto__', 'constructor'])
      expect((await app.rest('GET', `/actions/total?${parameter}=1`)).body.errors).toEqual([
        expect.objectContaining({ parameter, code: 'UNKNOWN' }),
      ]);
    expect((await app.rest('GET', '/actions/total?ids=1,2')).body.errors).toEqual([
      expect.objectContaining({ parameter: 'ids', code: 'TYPE' }),
    ]);
    const { data } = await app.graphql(
      `{ bestsellers(first: 1) { name lines { quantity } } total(ids: [${items[0]}]) items(first: 1) { name } }`,
    );
    expect(data).toEqual({
      bestsellers: [{ name: 'b', lines: [{ quantity: 1 }] }],
      total: '1.00',
      items: [{ name: 'a' }],
    });
    expect((await app.rest('GET', '/actions/tries')).body.code).toBe('INTERNAL');
    expect((await app.graphql('{ tries }')).errors?.[0].extensions.code).toBe('INTERNAL');
    expect(await stock()).toBe('5,4,5');
  });

  test('a function reads what it selects, with what is related', async () => {
    // Ids differ from one database to the other; the function asks for the first.
    for (const note of ['p', 'q'])
      await app.rest('POST', '/actions/place-order', { itemId: items[0], quantity: 1, note });
    const run = async (how: string) => (await app.rest('GET', `/actions/looks?how=${how}`)).body;
    const listed = await run('include');
    expect(listed.map(({ note, item }: any) => [note, item])).toEqual([
      ['q', { name: 'a' }],
      ['p', { name: 'a' }],
    ]);
    expect(listed[0]).toMatchObject({ quantity: 1, _version: 1 });
    if (items[0] === 1)
      expect(await run('select')).toMatchObject({
        name: 'a',
        lines: [{ note: 'p', item: { name: 'a', quantity: 3 } }],
      });
    app.observations.length = 0;
    expect((await run('wrong')).code).toBe('INTERNAL');
    const failed = app.observations.find(({ event }) => event === 'failure') as any;
    expect(failed.cause.message).toBe('"nam" cannot stand in select of tx.items. Did you mean "name"?');
  });

  test('an answer that breaks the promise of the file is a mistake of the function', async () => {
    const run = async (how: string) => (await app.rest('POST', '/actions/misled', { how })).body;
    expect(await run('nothing')).toBeNull();
    // Nobody can see it, and the file lets it be null.
    expect(await run('missing')).toBeNull();
    expect(await run('text')).toMatchObject({ code: 'INTERNAL' });
  });

  test('a key makes it happen once', async () => {
    const headers = { 'Idempotency-Key': 'k1' };
    const args = { itemId: items[0], quantity: 1 };
    const first = await app.rest('POST', '/actions/place-order', args, headers);
    const again = await app.rest('POST', '/actions/place-order', args, headers);
    expect([first.status, again.body]).toEqual([200, first.body]);
    expect((await app.rest('POST', '/actions/place-order', { ...args, quantity: 2 }, headers)).status).toBe(
      422,
    );
    const query = `mutation { placeOrder(itemId: ${items[0]}, quantity: 1) { id } }`;
    const once = await app.graphql(query, {}, { 'Idempotency-Key': 'k2' });
    const twice = await app.graphql(query, {}, { 'Idempotency-Key': 'k2' });
    expect(twice.data).toEqual(once.data);
    expect([await stock(), await lines()]).toEqual(['3,5,5', 2]);
  });

  test('it stands among others, and all of them happen or none', async () => {
    const act = (body: object) => ({ method: 'POST', path: '/actions/place-order', body });
    const item = { method: 'POST', path: '/items', body: { name: 'd', price: '1', quantity: 5 }, as: 'd' };
    const send = (...operations: object[]) => app.rest('POST', '/transaction', { operations });
    const done = await send(item, act({ itemId: { $ref: 'd.id' }, quantity: 1 }));
    expect(done.body.results[1]).toMatchObject({ status: 200, body: { quantity: 1 } });
    const failed = await send(
      act({ itemId: items[0], quantity: 1 }),
      act({ itemId: items[0], quantity: 1, note: 'no' }),
    );
    expect(failed.body).toMatchObject({ code: 'VALIDATION_FAILED', operation: 1 });
    expect(told(failed.body.errors)).toEqual(['#/operations/1/body/note REFUSED']);
    const field = (name: string, note: string) =>
      `${name}: placeOrder(itemId: ${items[0]}, quantity: 1, note: "${note}") { id }`;
    const atomic = await app.graphql(`mutation @atomic { ${field('a', 'x')} ${field('b', 'no')} }`);
    expect([atomic.data, atomic.errors?.[0].path]).toEqual([null, ['b']]);
    expect((await app.graphql(`mutation { ${field('a', 'x')} ${field('b', 'no')} }`)).data).toBeNull();
    expect(await stock()).toBe('4,5,5,4');
  });

  test('those that race are done one after the other', async () => {
    const body = { itemId: items[0], quantity: 1 };
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => app.rest('POST', '/actions/place-order', body)),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 200, 200, 200, 200, 409, 409, 409]);
    expect([await stock(), await lines()]).toEqual(['0,5,5', 5]);
    await app.rest('POST', '/actions/reset');
    const tried = await Promise.all(
      Array.from({ length: 6 }, () => app.rest('POST', '/actions/last-one', { itemId: items[0] })),
    );
    expect(tried.map(({ status }) => status)).toEqual(tried.map(() => 200));
    expect([tried.filter((each) => each.body !== null).length, await lines()]).toEqual([1, 1]);
  });
});

const guarded = `
  type Note @resource @allow(to: [READ], where: { public: { eq: true } }) { id: ID!  text: String!  public: Boolean! }
  type Mutation {
    write(text: String!, public: Boolean!): Note @action @allow(role: "writer")
    hello: String @action @allow
    known: String @action @allow(role: "authenticated")
    nobody: String @action
  }
`;
const guardedLogic = {
  Mutation: {
    *write({ tx }: any, args: any): any {
      return yield* tx.system.notes.create(args);
    },
    hello: ({ caller }: any) => caller.subject ?? 'stranger',
    known: ({ caller }: any) => caller.subject,
    nobody: () => 'x',
  },
};

describe.each([...databases])('who may run it, on %s', (database) => {
  test('a role, everybody, whoever is known, or nobody', async () => {
    await using emptied = await openEmptied(database, {
      sdl: guarded,
      logic: guardedLogic,
      env: { AUTH_SECRET: SECRET },
    });
    const app = await emptied.next();
    const ann = await headersOf({ name: 'act ann', claims: { sub: 'ann', roles: ['writer'] } });
    const bob = await headersOf({ name: 'act bob', claims: { sub: 'bob' } });
    const note = { text: 'a', public: true };
    const run = async (name: string, headers: any, body: any = {}) => {
      const { status, body: told } = await app.rest('POST', `/actions/${name}`, body, headers);
      const args = name === 'write' ? '(text: "a", public: true) { text }' : '';
      const { data, errors } = await app.graphql(`mutation { ${name}${args} }`, {}, headers);
      const code = errors?.[0].extensions.code;
      expect(code).toBe(told?.code);
      if (name !== 'write' && !code) expect(data[name]).toBe(told);
      return status;
    };
    expect([
      await run('write', {}, note),
      await run('write', bob, note),
      await run('write', ann, note),
    ]).toEqual([401, 403, 200]);
    expect([await run('hello', {}), await run('hello', bob)]).toEqual([200, 200]);
    expect([await run('known', {}), await run('known', bob)]).toEqual([401, 200]);
    expect([await run('nobody', {}), await run('nobody', ann)]).toEqual([401, 403]);
    // Whoever asks is told so before.
    const may = async (headers: any) => {
      const { Note: _, ...told } = (await app.rest('GET', '/access.json', undefined, headers)).body;
      return told;
    };
    const [yes, no] = [['RUN'], []];
    expect(await may({})).toEqual({ write: no, hello: yes, known: no, nobody: no });
    expect(await may(ann)).toEqual({ write: yes, hello: yes, known: yes, nobody: no });
    // What the caller may not see is not in the answer either, though it was written.
    const hidden = await app.rest('POST', '/actions/write', { text: 'h', public: false }, ann);
    expect([hidden.status, hidden.body]).toEqual([200, null]);
    expect((await app.unguarded().rest('GET', '/notes')).body).toHaveLength(3);
  });
});

test('the description and the schema tell of them', async () => {
  const app = await openApp('sqlite', { sdl, logic });
  const { body } = await app.rest('GET', '/openapi.json');
  const { valid, errors } = await new Validator().validate(structuredClone(body));
  expect([errors ?? [], valid]).toEqual([[], true]);
  const { post } = body.paths['/actions/place-order'];
  expect(post).toMatchObject({ operationId: 'placeOrder', summary: 'Takes an item out of the stock.' });
  expect(post.requestBody.content['application/json'].schema).toMatchObject({
    required: ['itemId', 'quantity'],
    properties: { itemId: { type: ['string', 'integer'] }, quantity: { minimum: 1, maximum: 10 } },
  });
  expect(post.responses[200].content['application/json'].schema).toEqual({
    $ref: '#/components/schemas/Line',
  });
  expect(body.paths['/actions/bestsellers'].get.parameters[0]).toMatchObject({
    name: 'first',
    required: false,
    schema: { $ref: '#/components/schemas/Int', default: 2 },
  });
  expect(body.components.schemas.Wish.required).toEqual(['itemId']);
  expect(body.components.schemas.Receipt.properties.part.anyOf[0]).toEqual({
    $ref: '#/components/schemas/Receipt',
  });
  const printed = (await app.rest('GET', '/schema.graphql')).body;
  expect(printed).toContain('placeAll(wishes: [Wish!]!, speed: Speed = SLOW): Receipt!');
  expect(printed).toContain('bestsellers(first: Int! = 2): [Item!]!');
  expect(printed).toContain('quantity: Int! = 1');
  await app.close();
});

test('the file says what is wrong with it', async () => {
  const { readSchema } = await import('../../src/schema/read.ts');
  const { readLogic } = await import('../../src/engine/logic/logic.ts');
  const faultsOf = (text: string) => readSchema(text).faults?.map(({ message }) => message) ?? [];
  const base = 'type Item @resource { id: ID! } ';
  expect(faultsOf(`${base} input In { x: Int } type Plain { x: Int }`)).toEqual([
    'An input object type definition cannot stand here. A Duet file holds types with @resource, enums, Query and Mutation.',
    'Type "Plain" is not a resource. Write: type Plain @resource { … }',
    expect.any(String),
  ]);
  expect(
    faultsOf(`${base} type Mutation {
      a(x: Item!): Int @action
      b(x: Itn): Strin @action @index
      c(x: [Int]): Int @action @allow(to: [READ])
      d(x: Int @constraint(maxLength: 3)): Int @action
      e(x: Int = "s"): Decimal @action
      createItem: Int @action
    }`),
  ).toEqual([
    '"Mutation.a.x" cannot take a record. Take its key: ID!',
    expect.stringContaining('Unknown type "Itn" on Mutation.b.x. Did you mean "Int"?'),
    expect.stringContaining('Unknown type "Strin" on Mutation.b. Did you mean "String"'),
    '"@index" does not fit the action "Mutation.b". Remove it.',
    '"Mutation.c.x" must be a list of non-null items: [Int!] or [Int!]!',
    '"to" does not fit the action "Mutation.c". Write: @allow(role: "…"), or @allow',
    '"maxLength" on "Mutation.d.x" needs a String or ID field. Remove it.',
    expect.stringContaining('The default of "Mutation.e.x" does not fit'),
    expect.stringContaining('"Mutation.e" is a Decimal, and nothing says how many digits'),
    '"Mutation.createItem" needs the root field Mutation.createItem, which Item has. Rename it.',
  ]);
  expect(faultsOf('type Act @resource(path: "actions") { id: ID! } type Query { a: Int @action }')).toEqual([
    'The path "/actions" of Act is taken by Duet. Choose one: @resource(path: "…")',
  ]);
  const { model } = readSchema(`${base} type Query { best(first: Int!): Int @action  other: Int @action }`);
  expect(
    readLogic({ Query: { bets: () => 1, async other() {} }, Mutation: { x() {} } }, model).faults,
  ).toEqual([
    '"Query.bets" is no @action of the schema file. Did you mean "best"?',
    expect.stringContaining('"Query.other" is async, but runs inside of the transaction'),
    '"Query.best" is an @action of the schema file, and has no function. Write: Query: { *best({ tx }, { first }) { … } }',
    '"Mutation.x" is no @action of the schema file. Add to its type Mutation: x: Boolean @action',
  ]);
});
