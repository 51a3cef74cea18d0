/** What becomes of the answers and failures of functions: what is told of them, what they cost, and what has happened. */

import { describe, expect, test } from 'bun:test';
import { databases, openApp } from '../app.ts';
import { headersOf, SECRET } from './access-matrix.ts';

const sdl = `
  enum State { NEW SOLD GONE }
  type Stock @resource @allow(to: [READ, CREATE], role: "admin")
    @check(where: { quantity: { lt: 1000 } }, message: "Not that much.")
  {
    id: ID!
    name: String! @unique
    quantity: Int! @constraint(min: 0)
    state: State! @default(value: NEW) @transitions(allow: { NEW: [SOLD], SOLD: [GONE] })
    logs: [Log!]!
  }
  type Log @resource @allow(to: [READ, CREATE], role: "admin") { id: ID!  text: String!  stock: Stock }
  type Note @resource @allow(to: [READ], where: { public: { eq: true } }) { id: ID!  text: String!  public: Boolean! }
  type Line { label: String!  note: Note }
  type Page { lines: [Line!]! }
  type Mutation {
    take(stockId: ID!, quantity: Int!): Boolean @action @allow
    sell(stockId: ID!, state: State!): Boolean @action @allow
    rename(stockId: ID!, name: String!): Boolean @action @allow
    drop(stockId: ID!): Boolean @action @allow
    keep(text: String!, public: Boolean!): Note! @action @allow
    tolerant(how: String!): Int @action @allow
    writes(many: Int!, length: Int!): Page! @action @allow
  }
  type Query {
    fails: Int @action @allow
    refuses: Int @action @allow
    fine: Int! @action @allow
    shown(id: ID!): Note! @action @allow
    page(many: Int!, length: Int!): Page! @action @allow
    twice(many: Int!, id: ID!): [Note!]! @action @allow
  }
`;

function* pageOf(tx: any, many: number, length: number): any {
  const notes = yield* tx.system.notes.list();
  return {
    lines: Array.from({ length: many }, (_, index) => ({
      label: 'x'.repeat(length),
      note: notes[index % notes.length]?.id ?? null,
    })),
  };
}

const logic = {
  Log: {
    *beforeCreate({ tx, input }: any): any {
      if (input.text !== 'astray') return;
      yield* tx.system.notes.create({ text: 'left behind', public: true });
      yield* tx.system.stocks.update(999, { quantity: 1 });
    },
  },
  Mutation: {
    *take({ tx }: any, { stockId, quantity }: any): any {
      yield* tx.system.stocks.update(stockId, { _inc: { quantity: -quantity } });
    },
    *sell({ tx }: any, { stockId, state }: any): any {
      yield* tx.system.stocks.update(stockId, { state });
    },
    *rename({ tx }: any, { stockId, name }: any): any {
      yield* tx.system.stocks.update(stockId, { name });
    },
    *drop({ tx }: any, { stockId }: any): any {
      yield* tx.system.stocks.delete(stockId);
    },
    *keep({ tx }: any, args: any): any {
      return yield* tx.system.notes.create(args);
    },
    *tolerant({ tx }: any, { how }: any): any {
      try {
        if (how === 'astray') yield* tx.system.logs.create({ text: 'astray' });
        else yield* tx.system.stocks.update(999, { quantity: 1 });
      } catch {
        yield* tx.system.logs.create({ text: 'went on' });
      }
      return 1;
    },
    *writes({ tx }: any, { many, length }: any): any {
      yield* tx.system.logs.create({ text: 'written' });
      return yield* pageOf(tx, many, length);
    },
  },
  Query: {
    fails: () => {
      throw new TypeError('a mistake of mine');
    },
    refuses: ({ refuse }: any) => {
      throw refuse('Not now.');
    },
    fine: () => 1,
    shown: (_: any, { id }: any) => id,
    *page({ tx }: any, { many, length }: any): any {
      return yield* pageOf(tx, many, length);
    },
    twice: (_: any, { many, id }: any) => Array.from({ length: many }, () => id),
  },
};

describe.each([...databases])('on %s', (database) => {
  const open = (env: Record<string, string> = {}) =>
    openApp(database, { sdl, logic, env: { AUTH_SECRET: SECRET, ...env } });
  const eve = () => headersOf({ name: 'answers eve', claims: { sub: 'eve' } });
  const admin = () => headersOf({ name: 'answers admin', claims: { sub: 'adm', roles: ['admin'] } });
  const path = (name: string) =>
    `/actions/${name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;

  test('what is wrong with a write of the server is told without what is stored', async () => {
    await using app = { ...(await open()), [Symbol.asyncDispose]: () => app.close() };
    const adm = await admin();
    const stock = async (name: string, quantity: number) =>
      (await app.rest('POST', '/stocks', { name, quantity }, adm)).body.id;
    const stockId = await stock('secret-one', 963);
    await stock('secret-two', 5);
    const doors = {
      rest: async (name: string, args: any) => (await app.rest('POST', path(name), args, await eve())).body,
      graphql: async (name: string, { stockId, ...args }: any) => {
        const more = Object.entries(args).map(
          ([key, value]) => `${key}: ${key === 'state' ? value : JSON.stringify(value)}`,
        );
        const query = `mutation { ${name}(${[`stockId: ${stockId}`, ...more].join(', ')}) }`;
        const { errors } = await app.graphql(query, {}, await eve());
        return { detail: errors?.[0].message, ...errors?.[0].extensions };
      },
    };
    for (const run of Object.values(doors)) {
      const told = async (name: string, args: object) => {
        const body = await run(name, { stockId, ...args });
        expect(JSON.stringify([body.detail, body.errors])).not.toMatch(/963|964|-1|-37|NEW|SOLD|stock \d/);
        return [body.code, body.errors?.map((each: any) => `${each.pointer} ${each.code}`), body.detail];
      };
      expect(await told('take', { quantity: 1000 })).toEqual([
        'CONFLICT',
        ['# OUT_OF_RANGE'],
        'quantity of a stock: The number is outside of what the type or a `@constraint` allows.',
      ]);
      // The words of the file are nobody's secret.
      expect(await told('take', { quantity: -100 })).toEqual([
        'VALIDATION_FAILED',
        ['# CHECK_FAILED'],
        'Not that much.',
      ]);
      expect((await told('sell', { state: 'GONE' })).slice(0, 2)).toEqual([
        'CONFLICT',
        ['# TRANSITION_NOT_ALLOWED'],
      ]);
      expect((await told('rename', { name: 'secret-two' })).slice(0, 2)).toEqual([
        'CONFLICT',
        ['# NOT_UNIQUE'],
      ]);
    }
    await app.rest('POST', '/logs', { text: 'x', stockId }, adm);
    expect((await doors.rest('drop', { stockId })).errors).toMatchObject([
      { pointer: '#', code: 'STILL_REFERENCED' },
    ]);
  });

  test('a missing record can be caught, but nothing that came after a write', async () => {
    await using app = { ...(await open()), [Symbol.asyncDispose]: () => app.close() };
    const run = async (how: string) => (await app.rest('POST', '/actions/tolerant', { how })).body;
    expect(await run('missing')).toBe(1);
    expect(await run('astray')).toMatchObject({ code: 'NOT_FOUND' });
    const stored = async (list: string) => (await app.unguarded().rest('GET', list)).body;
    expect((await stored('/logs')).map(({ text }: any) => text)).toEqual(['went on']);
    expect(await stored('/notes')).toEqual([]);
  });

  test('a record that must be answered, and is hidden, is forbidden, and nothing has happened', async () => {
    await using app = { ...(await open()), [Symbol.asyncDispose]: () => app.close() };
    const who = await eve();
    const codes = async (isPublic: boolean, headers: any) => [
      (await app.rest('POST', '/actions/keep', { text: 'a', public: isPublic }, headers)).body.code,
      (await app.graphql(`mutation { keep(text: "a", public: ${isPublic}) { text } }`, {}, headers))
        .errors?.[0].extensions.code,
    ];
    expect(await codes(false, who)).toEqual(['FORBIDDEN', 'FORBIDDEN']);
    expect(await codes(false, {})).toEqual(['UNAUTHENTICATED', 'UNAUTHENTICATED']);
    expect((await app.unguarded().rest('GET', '/notes')).body).toEqual([]);
    expect(await codes(true, who)).toEqual([undefined, undefined]);
    const hidden = (await app.unguarded().rest('POST', '/notes', { text: 'h', public: false })).body.id;
    // What is hidden and what is not there are told alike.
    for (const id of [hidden, 999]) {
      expect((await app.rest('GET', `/actions/shown?id=${id}`, undefined, who)).body.code).toBe('FORBIDDEN');
      const { errors } = await app.graphql(`{ shown(id: ${id}) { text } }`, {}, who);
      expect(errors?.[0].extensions.code).toBe('FORBIDDEN');
    }
  });

  test('a failing action fails alone', async () => {
    await using app = { ...(await open()), [Symbol.asyncDispose]: () => app.close() };
    const { data, errors } = await app.graphql('{ fails fine refuses notes { text } again: fails }');
    expect(data).toEqual({ fails: null, fine: 1, refuses: null, notes: [], again: null });
    expect(errors?.map(({ path, extensions }) => [path[0], extensions.code])).toEqual([
      ['fails', 'INTERNAL'],
      ['refuses', 'VALIDATION_FAILED'],
      ['again', 'INTERNAL'],
    ]);
    const failures = app.observations.filter(({ event }) => event === 'failure');
    expect(failures).toMatchObject([
      { cause: { message: 'a mistake of mine' } },
      { cause: { message: 'a mistake of mine' } },
    ]);
    expect((await app.rest('GET', '/actions/fails')).body.code).toBe('INTERNAL');
    expect((await app.rest('GET', '/actions/fine')).body).toBe(1);
  });

  test('the records of an answer are read together', async () => {
    await using app = { ...(await open()), [Symbol.asyncDispose]: () => app.close() };
    for (const text of ['a', 'b', 'c']) await app.rest('POST', '/actions/keep', { text, public: true });
    const reads = async (many: number) => {
      app.statements.length = 0;
      const { body } = await app.rest('GET', `/actions/page?many=${many}&length=1`);
      expect(body.lines.map(({ note }: any) => note.text).join('')).toBe('abcabcabc'.slice(0, many));
      return app.statements.filter((sql) => sql.includes('"Note"')).length;
    };
    expect(await reads(9)).toBe(await reads(1));
  });

  const limits: [string, Record<string, string>, string, number, number][] = [
    ['objects', { LIMIT_OBJECTS: '20' }, 'TOO_MANY_OBJECTS', 20, 1],
    ['bytes', { LIMIT_BYTES: '20000' }, 'ANSWER_TOO_LARGE', 2, 15_000],
  ];
  test.each(limits)('answers are within the limit on %s', async (_, env, code, many, length) => {
    await using app = { ...(await open(env)), [Symbol.asyncDispose]: () => app.close() };
    const { body: note } = await app.rest('POST', '/actions/keep', {
      text: 'n'.repeat(length),
      public: true,
    });
    const args = { many, length };
    const query = (times: number, of: number, root = 'page') =>
      Array.from(
        { length: times },
        (_, index) => `f${index}: ${root}(many: ${of}, length: ${length}) { lines { label } }`,
      );
    expect((await app.rest('GET', `/actions/page?many=${many}&length=${length}`)).body.code).toBe(code);
    expect((await app.rest('GET', `/actions/page?many=1&length=5`)).status).toBe(200);
    expect((await app.rest('GET', `/actions/twice?many=${many + 1}&id=${note.id}`)).body.code).toBe(code);
    // Also what is too much only together, under several names, or beside others.
    const told = async (text: string, headers = {}) =>
      (await app.graphql(text, {}, headers)).errors?.[0].extensions.code;
    expect(await told(`{ ${query(2, many / 2).join(' ')} }`)).toBe(code);
    expect(
      await told(`{ page(many: ${many / 2}, length: ${length}) { a: lines { label } b: lines { label } } }`),
    ).toBe(code);
    expect((await app.rest('POST', '/actions/writes', args)).body.code).toBe(code);
    expect(await told(`mutation { ${query(2, many / 2, 'writes').join(' ')} }`)).toBe(code);
    expect(await told(`mutation @atomic { ${query(2, many / 2, 'writes').join(' ')} }`)).toBe(code);
    const operations = [1, 2].map(() => ({
      method: 'POST',
      path: '/actions/writes',
      body: { many: many / 2, length },
    }));
    expect((await app.rest('POST', '/transaction', { operations })).body.code).toBe(code);
    // Of the two that stood beside each other, the first had happened.
    expect((await app.unguarded().rest('GET', '/logs')).body).toHaveLength(1);
  });
});
