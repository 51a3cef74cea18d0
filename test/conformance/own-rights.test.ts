/** Nobody writes itself a right, and who may not write learns nothing of what is taken: the same by every way in. */

import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { type AppUnderTest, databases, openApp } from '../app.ts';
import { headersOf, SECRET } from './access-matrix.ts';

const sdl = `
enum Rank { CHAIR MEMBER }
type Club @resource @allow(to: [READ]) @allow(to: [CREATE], role: "authenticated") {
  id: ID!
  name: String
  seats: [Seat!]!
  steps: [Step!]!
  letters: [Letter!]!
}
type Seat @resource
  @allow(to: [READ])
  @allow(
    to: [CREATE, UPDATE, DELETE]
    where: { club: { seats: { some: { who: { eq: { claim: "sub" } }, rank: { eq: CHAIR } } } } }
  )
{
  id: ID!
  who: String!
  rank: Rank!
  tag: String @unique
  club: Club!
}
type Step @resource
  @allow(to: [READ])
  @allow(to: [CREATE], where: { or: [{ level: { eq: 1 } }, { club: { steps: { some: { level: { eq: 1 } } } } }] })
{
  id: ID!
  level: Int!
  club: Club!
}
type Letter @resource
  @allow(to: [READ], where: { reader: { eq: { claim: "sub" } } })
  @allow(to: [READ], where: { club: { seats: { some: { who: { eq: { claim: "sub" } } } } } })
  @allow(to: [CREATE, UPDATE], role: "authenticated")
{
  id: ID!
  reader: String
  tag: String @unique
  club: Club
}
type Firm @resource
  @allow(to: [READ], where: { staff: { some: { who: { eq: { claim: "sub" } }, post: { eq: "head" } } } })
  @allow(to: [CREATE], role: "authenticated")
{
  id: ID!
  name: String! @unique
  staff: [Staff!]!
}
type Staff @resource(plural: "staffers") @allow(to: [READ, CREATE], role: "authenticated") {
  id: ID!
  who: String @set(claim: "sub")
  post: String
  firm: Firm
}
type Card @resource
  @allow(to: [READ], where: { owner: { eq: { claim: "sub" } } })
  @allow(to: [CREATE, UPDATE], where: { owner: { eq: { claim: "sub" } } })
{
  id: ID!
  owner: String!
  number: String! @unique
  note: String @allow(to: [UPDATE], where: { number: { startsWith: "open" } })
}
`;
const data = {
  clubs: [{ name: 'one' }, { name: 'two' }],
  seats: [
    { who: 'ann', rank: 'CHAIR', clubId: 1, tag: 'taken' },
    { who: 'eve', rank: 'CHAIR', clubId: 2, tag: 'hers' },
  ],
  letters: [{ reader: 'ann', tag: 'taken', clubId: 1 }],
  firms: [{ name: 'taken' }],
  cards: [
    { owner: 'ann', number: 'taken' },
    { owner: 'eve', number: 'open 1', note: 'a' },
    { owner: 'eve', number: 'shut 2', note: 'b' },
  ],
};

const as = (sub: string) => headersOf({ name: `${sub} own rights`, claims: { sub } });
const ann = await as('ann');
const eve = await as('eve');
type Headers = Record<string, string>;

/** Where a function takes part, the records of a list are written one after the other. */
const parts = {
  'without functions': undefined,
  'with functions': { Step: { beforeCreate() {} }, Seat: { beforeCreate() {} }, Club: { beforeCreate() {} } },
};

/** In one word what came of a request: undefined when it was done. */
type Way = (app: AppUnderTest, path: string, body: object, headers: Headers) => Promise<string | undefined>;

const types: Readonly<Record<string, string>> = {
  seats: 'Seat',
  letters: 'Letter',
  steps: 'Step',
  cards: 'Card',
};
const literal = (value: any): string =>
  Array.isArray(value)
    ? `[${value.map(literal).join(', ')}]`
    : typeof value === 'object' && value !== null
      ? `{ ${members(value)} }`
      : JSON.stringify(value);
const members = (body: object) =>
  Object.entries(body)
    .map(([name, value]) => `${name}: ${name === 'rank' ? value : literal(value)}`)
    .join(', ');

const told = (code: string | undefined) =>
  code === 'FORBIDDEN' || code === 'UNAUTHENTICATED' ? 'denied' : code;
const byRest = async (app: AppUnderTest, method: string, path: string, body: unknown, headers: Headers) =>
  told((await app.rest(method, path, body, headers)).body.code);
const byGraphql = async (app: AppUnderTest, fields: string, headers: Headers, atomic = '') =>
  told((await app.graphql(`mutation ${atomic} { ${fields} }`, {}, headers)).errors?.[0].extensions.code);

const creating: Readonly<Record<string, Way>> = {
  POST: (app, path, body, headers) => byRest(app, 'POST', `/${path}`, body, headers),
  'a list in a transaction': (app, path, body, headers) =>
    byRest(
      app,
      'POST',
      '/transaction',
      { operations: [{ method: 'POST', path: `/${path}`, body: [body] }] },
      headers,
    ),
  'a transaction': (app, path, body, headers) =>
    byRest(
      app,
      'POST',
      '/transaction',
      { operations: [{ method: 'POST', path: `/${path}`, body }] },
      headers,
    ),
  'a mutation': (app, path, body, headers) =>
    byGraphql(app, `create${types[path]}(${members(body)}) { id }`, headers),
  'a list in a mutation': (app, path, body, headers) =>
    byGraphql(app, `create${types[path]}s(records: [${literal(body)}]) { id }`, headers),
  'an atomic mutation': (app, path, body, headers) =>
    byGraphql(app, `create${types[path]}(${members(body)}) { id }`, headers, '@atomic'),
};

/** What every record of a path is tried to be changed to, where it has this key. */
const updating: Readonly<
  Record<
    string,
    (
      app: AppUnderTest,
      path: string,
      id: number,
      set: object,
      headers: Headers,
    ) => Promise<string | undefined>
  >
> = {
  PUT: (app, path, id, set, headers) => byRest(app, 'PUT', `/${path}/${id}`, set, headers),
  'many in a transaction': (app, path, id, set, headers) =>
    byRest(
      app,
      'POST',
      '/transaction',
      { operations: [{ method: 'PUT', path: `/${path}`, where: { id: { eq: id } }, atMost: 1, body: set }] },
      headers,
    ),
  'a mutation': (app, path, id, set, headers) =>
    byGraphql(app, `update${types[path]}(id: ${id}, ${members(set)}) { id }`, headers),
  'many in a mutation': (app, path, id, set, headers) =>
    byGraphql(
      app,
      `update${types[path]}s(where: { id: { eq: ${id} } }, set: ${literal(set)}, atMost: 1) { id }`,
      headers,
    ),
};

describe.each([...databases])('on %s', (database) => {
  let app: AppUnderTest;
  beforeEach(async () => {
    app = await openApp(database, { sdl, data, env: { AUTH_SECRET: SECRET } });
  });
  afterEach(() => app.close());
  const seats = async () => (await app.unguarded().rest('GET', '/seats')).body;

  describe.each(Object.entries(creating))('%s', (_, create) => {
    test('an outsider cannot make itself the chair, and then send the chair away', async () => {
      const before = await seats();
      expect(await create(app, 'seats', { who: 'eve', rank: 'CHAIR', clubId: 1 }, eve)).toBe('denied');
      expect((await app.rest('DELETE', '/seats/1', undefined, eve)).status).toBe(403);
      expect(await seats()).toEqual(before);
      expect(await create(app, 'seats', { who: 'bob', rank: 'MEMBER', clubId: 1 }, ann)).toBeUndefined();
      expect(await seats()).toHaveLength(3);
    });

    test('who may not write is told the same of what is taken and what is free, and no key is used up', async () => {
      const tried = { who: 'eve', rank: 'MEMBER', clubId: 1 };
      app.statements.length = 0;
      for (const tag of ['taken', 'free', 'hers'])
        expect(await create(app, 'seats', { ...tried, tag }, eve)).toBe('denied');
      expect(app.statements.filter((sql) => sql.startsWith('INSERT'))).toEqual([]);
      expect(await create(app, 'seats', { ...tried, tag: 'hers' }, ann)).toBe('CONFLICT');
      for (const number of ['taken', 'free'])
        expect(await create(app, 'cards', { owner: 'ann', number }, eve)).toBe('denied');
      // The collision of who may write is told, whoever has the other record.
      expect(await create(app, 'cards', { owner: 'eve', number: 'taken' }, eve)).toBe('CONFLICT');
    });

    test('who may write, but would not see the record, is not told either', async () => {
      for (const tag of ['taken', 'free']) {
        expect(await create(app, 'letters', { reader: 'ann', tag, clubId: 1 }, eve)).toBe('denied');
        expect(await create(app, 'letters', { tag }, eve)).toBe('denied');
      }
      expect(await create(app, 'letters', { reader: 'bob', tag: 'taken', clubId: 2 }, eve)).toBe('CONFLICT');
      expect(await create(app, 'letters', { reader: 'bob', tag: 'free', clubId: 2 }, eve)).toBeUndefined();
    });
  });

  test('keys go on where they were, however often somebody tried in vain', async () => {
    for (const create of Object.values(creating))
      await create(app, 'seats', { who: 'eve', rank: 'CHAIR', clubId: 1 }, eve);
    const { body } = await app.rest('POST', '/seats', { who: 'bob', rank: 'MEMBER', clubId: 1 }, ann);
    expect(body.id).toBe(3);
  });

  describe.each(Object.entries(updating))('%s', (_, update) => {
    test('a record that is moved does not bring its own right along', async () => {
      const before = await seats();
      expect(await update(app, 'seats', 2, { clubId: 1 }, eve)).toBe('denied');
      expect(await seats()).toEqual(before);
      expect(await update(app, 'seats', 2, { who: 'eva' }, eve)).toBeUndefined();
    });

    test('a change that is not allowed does not tell what is taken', async () => {
      app.statements.length = 0;
      for (const number of ['taken', 'free'])
        expect(await update(app, 'cards', 2, { owner: 'bob', number }, eve)).toBe('denied');
      expect(app.statements.filter((sql) => sql.startsWith('UPDATE'))).toEqual([]);
      expect(await update(app, 'cards', 2, { number: 'taken' }, eve)).toBe('CONFLICT');
      await app.unguarded().rest('POST', '/letters', { reader: 'eve', tag: 'hers' });
      for (const tag of ['taken', 'free'])
        expect(await update(app, 'letters', 2, { reader: 'bob', tag }, eve)).toBe('denied');
      expect(await update(app, 'letters', 2, { tag: 'taken' }, eve)).toBe('CONFLICT');
    });
  });

  for (const [how, logic] of Object.entries(parts)) {
    const name = (what: string) => `${what}, ${how}`;
    const opened = async () => {
      if (logic) {
        await app.close();
        app = await openApp(database, { sdl, data, logic, env: { AUTH_SECRET: SECRET } });
      }
    };

    test(
      name('nested records are judged with what they are nested in, and not with each other'),
      async () => {
        await opened();
        const nested = {
          name: 'new',
          seats: [
            { who: 'eve', rank: 'CHAIR' },
            { who: 'eve', rank: 'MEMBER' },
          ],
        };
        expect(await byRest(app, 'POST', '/clubs', nested, eve)).toBe('denied');
        expect(await byGraphql(app, `createClub(${members(nested)}) { id }`, eve)).toBe('denied');
        expect((await app.unguarded().rest('GET', '/clubs')).body).toHaveLength(2);
        const steps = (levels: number[]) => ({ name: 'new', steps: levels.map((level) => ({ level })) });
        expect(await byRest(app, 'POST', '/clubs', steps([1, 2]), eve)).toBe('denied');
        expect(await byRest(app, 'POST', '/clubs', steps([1, 1]), eve)).toBeUndefined();
      },
    );

    test(
      name('what an earlier write has stored counts; what stands beside it in a list does not'),
      async () => {
        await opened();
        const step = (level: number) => ({ level, clubId: 1 });
        const operations = [1, 2].map((level) => ({ method: 'POST', path: '/steps', body: step(level) }));
        const list = [{ method: 'POST', path: '/steps', body: [step(1), step(2)] }];
        expect(await byRest(app, 'POST', '/transaction', { operations: list }, eve)).toBe('denied');
        expect(await byGraphql(app, `createSteps(records: ${literal([step(1), step(2)])}) { id }`, eve)).toBe(
          'denied',
        );
        expect(await byRest(app, 'POST', '/transaction', { operations: operations.toReversed() }, eve)).toBe(
          'denied',
        );
        expect(await byRest(app, 'POST', '/transaction', { operations }, eve)).toBeUndefined();
        const both = [1, 2].map((level) => `level${level}: createStep(level: ${level}, clubId: 2) { id }`);
        expect(await byGraphql(app, both.join(' '), eve, '@atomic')).toBeUndefined();
        expect((await app.unguarded().rest('GET', '/steps')).body).toHaveLength(4);
      },
    );
  }

  test('a reference to what is not seen is told as missing, whatever the rule would have made of it', async () => {
    const sealed = await openApp(database, {
      sdl: `
        type Room @resource
          @allow(to: [READ], where: { public: { eq: true } })
          @allow(to: [CREATE], role: "authenticated")
        { code: ID! @key public: Boolean! open: Boolean! near: Room visits: [Visit!]! }
        type Visit @resource @allow(to: [READ]) @allow(to: [CREATE, UPDATE], where: { room: { open: { eq: true } } })
        { id: ID! room: Room }`,
      data: {
        rooms: [
          { code: 'hidden and open', public: false, open: true },
          { code: 'hidden and shut', public: false, open: false },
        ],
      },
      env: { AUTH_SECRET: SECRET },
    });
    const errors = async (body: object) => {
      const operations = [
        { method: 'POST', path: Array.isArray(body) && 'code' in body[0] ? '/rooms' : '/visits', body },
      ];
      const answer = await sealed.rest('POST', '/transaction', { operations }, eve);
      return [answer.status, answer.body.errors?.[0].code];
    };
    try {
      const rooms = ['hidden and open', 'hidden and shut', 'absent'];
      const alone = await Promise.all(rooms.map((roomId) => errors({ roomId })));
      expect(alone).toEqual(rooms.map(() => [409, 'REFERENCE_NOT_FOUND']));
      // A record of a list may refer to one that comes before it, so that these are judged as if they led nowhere yet.
      const listed = await Promise.all(rooms.map((roomId) => errors([{ roomId }, { roomId }])));
      expect(listed).toEqual(rooms.map(() => [403, undefined]));
      const row = (code: string, nearId?: string) => ({
        code,
        public: true,
        open: true,
        ...(nearId && { nearId }),
      });
      expect(await errors([row('a'), row('b', 'a')])).toEqual([200, undefined]);
      expect(await errors([row('c', 'd'), row('d')])).toEqual([409, 'REFERENCE_NOT_FOUND']);
    } finally {
      await sealed.close();
    }
  });

  test('who founds what it sees by what is nested in it is told of a collision; who would not see it is not', async () => {
    const found = async (name: string, staff: object[]) => [
      await byRest(app, 'POST', '/firms', { name, staff }, eve),
      await byGraphql(app, `createFirm(name: "${name}", staff: ${literal(staff)}) { id }`, eve),
    ];
    const head = [{ post: 'hand' }, { post: 'head' }];
    expect(await found('taken', head)).toEqual(['CONFLICT', 'CONFLICT']);
    for (const staff of [[], [{ post: 'hand' }]])
      for (const name of ['taken', 'free']) expect(await found(name, staff)).toEqual(['denied', 'denied']);
    expect(await found('free', head)).toEqual([undefined, 'CONFLICT']);
  });

  test('a rule that nobody without a claim can meet is closed to the anonymous', async () => {
    const tried = async (headers: Headers) => [
      (await app.rest('GET', '/cards', undefined, headers)).status,
      (await app.rest('GET', '/cards/1', undefined, headers)).status,
      (await app.rest('POST', '/cards', { owner: 'x', number: 'x' }, headers)).status,
      (await app.graphql('{ cards { id } }', {}, headers)).errors?.[0].extensions.code,
      (await app.graphql('{ cardsAggregate { count } }', {}, headers)).errors?.[0].extensions.code,
      (await app.rest('PUT', '/seats/1', { who: 'x' }, headers)).status,
    ];
    expect(await tried({})).toEqual([401, 401, 401, 'UNAUTHENTICATED', 'UNAUTHENTICATED', 401]);
    // Somebody who is known has none of them, which is no secret.
    expect(await tried(await as('bob'))).toEqual([200, 404, 403, undefined, undefined, 403]);
    expect((await app.rest('GET', '/access.json')).body).toEqual({
      Club: ['READ'],
      Seat: ['READ'],
      Step: ['READ', 'CREATE'],
      Letter: [],
      Firm: [],
      Staff: [],
      Card: [],
      'Card.note': [],
    });
  });

  test('many records are changed like each of them alone: a condition of a field is asked where the field changes', async () => {
    const cards = async () => (await app.unguarded().rest('GET', '/cards?owner=eve&fields=note')).body;
    const body = { note: 'b' };
    for (const id of [2, 3]) expect(await byRest(app, 'PUT', `/cards/${id}`, body, eve)).toBeUndefined();
    await app.unguarded().rest('PUT', '/cards/2', { note: 'a' });
    const operations = [{ method: 'PUT', path: '/cards', where: {}, atMost: 9, body }];
    expect(await byRest(app, 'POST', '/transaction', { operations }, eve)).toBeUndefined();
    expect(await cards()).toEqual([body, body]);
    await app.unguarded().rest('PUT', '/cards/2', { note: 'a' });
    expect(
      await byGraphql(app, 'updateCards(where: {}, set: { note: "b" }, atMost: 9) { id }', eve),
    ).toBeUndefined();
    expect(await byGraphql(app, 'updateCards(where: {}, set: { note: "c" }, atMost: 9) { id }', eve)).toBe(
      'denied',
    );
    expect(await cards()).toEqual([body, body]);
  });
});
