/** The parity law as a table: the same input through either door has the same effect or the same error. */

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { type AppUnderTest, databases, openApp } from '../app.ts';
import { printedClient } from '../client/printed.ts';

const sdl = `
  enum Color { RED GREEN }
  type Thing @resource {
    id: UUID!
    text: String @constraint(minLength: 2, maxLength: 4, pattern: "^[a-zé]*$")
    mail: String @constraint(format: "email")
    int: Int
    float: Float
    bool: Boolean
    color: Color
    colors: [Color!]
    words: [String!]! @default(value: [])
    at: DateTime
    day: Date
    uuid: UUID
    json: JSON
    jsons: [JSON!]
    owner: Owner
    parent: Thing @onDelete(do: CASCADE)
    children: [Thing!]!
    label: Label
    code: String @unique
    serverSays: String @readonly @default(value: "fixed")
    createdAt: DateTime! @createdAt
    updatedAt: DateTime! @updatedAt
    constructor: String @column(name: "con_structor")
  }
  type Owner @resource { id: ID! }
  type Label @resource @table(name: "labels") @unique(fields: ["a", "b"]) {
    name: String! @key
    a: Int
    b: Int
    toString: String
    things: [Thing!]!
  }
`;

const types: Record<string, string> = {
  text: 'String',
  mail: 'String',
  int: 'Int',
  float: 'Float',
  bool: 'Boolean',
  color: 'Color',
  colors: '[Color!]',
  words: '[String!]',
  at: 'DateTime',
  day: 'Date',
  uuid: 'UUID',
  json: 'JSON',
  jsons: '[JSON!]',
  ownerId: 'ID',
  parentId: 'UUID',
  labelId: 'String',
  code: 'String',
  constructor: 'String',
};
const names = ['id', ...Object.keys(types), 'serverSays', 'createdAt', 'updatedAt'];

function nested(levels: number): unknown {
  return levels === 0 ? 1 : [nested(levels - 1)];
}

const nowhere = '0190f5a0-7c1e-7a64-b3f5-2b1f3c0e9a11';

/** The input, and what both doors answer: the stored values, or a code with its faults. */
const rows: [string, Record<string, unknown>, Record<string, unknown> | [string, ...string[]]][] = [
  ['nothing at all', {}, { text: null, words: [], json: null, serverSays: 'fixed' }],
  ['text', { text: 'abé' }, { text: 'abé' }],
  ['text that is too short', { text: 'a' }, ['VALIDATION_FAILED', '#/text LENGTH']],
  ['text that is too long', { text: 'abcde' }, ['VALIDATION_FAILED', '#/text LENGTH']],
  ['text that does not match', { text: 'aB' }, ['VALIDATION_FAILED', '#/text PATTERN']],
  ['NUL', { mail: 'a\0b' }, ['VALIDATION_FAILED', '#/mail TEXT']],
  ['half a surrogate pair', { code: 'a\ud800' }, ['VALIDATION_FAILED', '#/code TEXT']],
  ['an address', { mail: 'a.b+c@example.com' }, { mail: 'a.b+c@example.com' }],
  ['no address', { mail: 'a@b@c' }, ['VALIDATION_FAILED', '#/mail FORMAT']],
  ['the largest Int', { int: 2147483647 }, { int: 2147483647 }],
  ['the smallest Int', { int: -2147483648 }, { int: -2147483648 }],
  ['a Float', { float: 0.1 }, { float: 0.1 }],
  ['a whole Float', { float: 5 }, { float: 5 }],
  ['the smallest Float', { float: 5e-324 }, { float: 5e-324 }],
  ['minus zero', { float: -0, int: -0 }, { float: 0, int: 0 }],
  ['booleans', { bool: false }, { bool: false }],
  ['an enum value', { color: 'GREEN', colors: ['RED', 'RED'] }, { color: 'GREEN', colors: ['RED', 'RED'] }],
  ['empty lists', { colors: [], words: [] }, { colors: [], words: [] }],
  ['lists', { words: ['', 'a"b', '[]'] }, { words: ['', 'a"b', '[]'] }],
  ['a bad item', { words: ['ok', 'a\0'] }, ['VALIDATION_FAILED', '#/words/1 TEXT']],
  ['a time in another zone', { at: '2024-03-01T01:30:00+02:00' }, { at: '2024-02-29T23:30:00.000Z' }],
  ['a time to the millisecond', { at: '2024-03-01T01:30:00.120Z' }, { at: '2024-03-01T01:30:00.120Z' }],
  ['a time that is too fine', { at: '2024-03-01T01:30:00.1234Z' }, ['VALIDATION_FAILED', '#/at FORMAT']],
  ['a time without a zone', { at: '2024-03-01T01:30:00' }, ['VALIDATION_FAILED', '#/at FORMAT']],
  ['a number for a time', { at: 1 }, ['VALIDATION_FAILED', '#/at TYPE']],
  ['a day', { day: '2024-02-29' }, { day: '2024-02-29' }],
  ['a day that never was', { day: '2023-02-29' }, ['VALIDATION_FAILED', '#/day FORMAT']],
  ['a UUID in capitals', { uuid: nowhere.toUpperCase() }, { uuid: nowhere }],
  ['no UUID', { uuid: 'x' }, ['VALIDATION_FAILED', '#/uuid FORMAT']],
  [
    'JSON',
    { json: { a: [1, null, { b: 'é' }], 'c/d': false } },
    { json: { a: [1, null, { b: 'é' }], 'c/d': false } },
  ],
  ['JSON scalars', { json: 'text' }, { json: 'text' }],
  ['JSON false', { json: false }, { json: false }],
  ['deep JSON', { json: nested(24) }, { json: nested(24) }],
  ['deeper JSON', { json: nested(25) }, ['VALIDATION_FAILED', '#/json TYPE']],
  ['JSON with NUL', { json: { a: 'x\0' } }, ['VALIDATION_FAILED', '#/json TEXT']],
  ['a field named like a method', { constructor: 'c' }, { constructor: 'c' }],
  ['a reference to nothing', { parentId: nowhere }, ['CONFLICT', '#/parentId REFERENCE_NOT_FOUND']],
  [
    'two references to nothing',
    { parentId: nowhere, labelId: 'no' },
    ['CONFLICT', '#/parentId REFERENCE_NOT_FOUND', '#/labelId REFERENCE_NOT_FOUND'],
  ],
  ['a reference', { labelId: 'L' }, { labelId: 'L' }],
  ['a value that is taken', { code: 'taken' }, ['CONFLICT', '#/code NOT_UNIQUE']],
  [
    'two faults',
    { text: 'A', day: 'x' },
    ['VALIDATION_FAILED', '#/text LENGTH', '#/text PATTERN', '#/day FORMAT'],
  ],
];

type Seen = { record: Record<string, unknown> } | { failure: [string, ...string[]]; errors: unknown };

async function byRest(
  app: AppUnderTest,
  method: 'POST' | 'PUT',
  path: string,
  input: unknown,
): Promise<Seen> {
  const { status, body } = await app.rest(method, path, input);
  return status < 300 ? { record: body } : failed(body.code, body.errors);
}

async function byGraphql(
  app: AppUnderTest,
  field: string,
  input: Record<string, unknown>,
  id?: string,
): Promise<Seen> {
  const given = Object.keys(input);
  const declared = [...(id ? ['$id: UUID!'] : []), ...given.map((name) => `$${name}: ${types[name]}`)];
  const passed = [...(id ? ['id: $id'] : []), ...given.map((name) => `${name}: $${name}`)];
  const list = (parts: string[]) => (parts.length > 0 ? `(${parts.join(', ')})` : '');
  const query = `mutation${list(declared)} { it: ${field}${list(passed)} { ${names.join(' ')} } }`;
  const { data, errors } = await app.graphql(query, { ...input, id });
  return errors ? failed(errors[0].extensions.code, errors[0].extensions.errors) : { record: data.it };
}

/** The same by the typed client. */
async function byClient(write: Promise<Record<string, unknown>>): Promise<Seen> {
  return write.then(
    ({ _version, ...record }) => ({ record }),
    ({ code, errors }) => failed(code, errors),
  );
}

function failed(code: string, errors: { pointer: string; code: string }[]): Seen {
  return { failure: [code, ...(errors ?? []).map((error) => `${error.pointer} ${error.code}`)], errors };
}

const clientOf = await printedClient(sdl);

describe.each([...databases])('on %s', (database) => {
  let app: AppUnderTest;
  let api: any;
  beforeAll(async () => {
    app = await openApp(database, { sdl });
    api = clientOf(app);
    expect((await app.rest('POST', '/labels', { name: 'L' })).status).toBe(201);
    expect((await app.rest('POST', '/things', { code: 'taken' })).status).toBe(201);
  });
  afterAll(() => app.close());

  const check = (seen: Seen, wanted: (typeof rows)[number][2]) => {
    if (Array.isArray(wanted)) expect(seen).toMatchObject({ failure: wanted });
    else expect(seen).toMatchObject({ record: wanted });
  };

  test.each(rows)('creating with %s', async (_, input, wanted) => {
    const rest = await byRest(app, 'POST', '/things', input);
    const graphql = await byGraphql(app, 'createThing', input);
    const client = await byClient(api.things.create(input));
    for (const seen of [rest, graphql, client]) check(seen, wanted);
    if ('record' in client) expect(await api.things.get(client.record['id'])).toMatchObject(client.record);
    if ('errors' in rest && 'errors' in graphql) expect(graphql.errors).toEqual(rest.errors);
    else if ('record' in rest && 'record' in graphql) {
      expect(Object.keys(graphql.record).sort()).toEqual(Object.keys(rest.record).sort());
      // Whichever door wrote it, the other shows it as it is.
      for (const { record } of [rest, graphql]) {
        expect((await app.rest('GET', `/things/${record['id']}`)).body).toEqual(record);
        const { data } = await app.graphql(`query($id: UUID!) { thing(id: $id) { ${names.join(' ')} } }`, {
          id: record['id'],
        });
        expect(data.thing).toEqual(record);
      }
    }
  });

  test.each(rows.filter(([, input]) => Object.keys(input).length > 0))(
    'updating with %s',
    async (_, input, wanted) => {
      const make = async () =>
        (await app.rest('POST', '/things', { text: 'old', words: ['old'] })).body.id as string;
      const [first, second, third] = [await make(), await make(), await make()];
      const rest = await byRest(app, 'PUT', `/things/${first}`, input);
      const graphql = await byGraphql(app, 'updateThing', input, second);
      const client = await byClient(api.things.update(await api.things.get(third), input));
      for (const seen of [rest, graphql, client]) check(seen, wanted);
      if ('errors' in rest && 'errors' in graphql) expect(graphql.errors).toEqual(rest.errors);
    },
  );

  test('the server sets its own fields, and a client cannot', async () => {
    const { body: thing } = await app.rest('POST', '/things', {});
    expect(thing.id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(thing.createdAt).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    expect(thing.updatedAt).toBe(thing.createdAt);
    await Bun.sleep(2);
    const { body: later } = await app.rest('PUT', `/things/${thing.id}`, { int: 1 });
    expect(later.createdAt).toBe(thing.createdAt);
    expect(later.updatedAt > thing.updatedAt).toBe(true);
    const forged = { id: nowhere, createdAt: thing.createdAt, updatedAt: thing.createdAt, serverSays: 'x' };
    const refused = await app.rest('POST', '/things', forged);
    expect(refused.body.errors.map((error: any) => `${error.pointer} ${error.code}`)).toEqual(
      Object.keys(forged).map((name) => `#/${name} READ_ONLY`),
    );
    expect((await app.rest('PUT', `/things/${thing.id}`, later)).status).toBe(200);
    expect((await app.rest('PUT', `/things/${thing.id}`, { ...later, serverSays: 'x' })).status).toBe(400);
  });

  test('a list never holds null, not even of JSON, which GraphQL tells by its types', async () => {
    const { body } = await app.rest('POST', '/things', { jsons: [1, null] });
    expect(body.errors.map((error: any) => `${error.pointer} ${error.code}`)).toEqual(['#/jsons/1 REQUIRED']);
    const { errors } = await app.graphql('mutation { createThing(jsons: [1, null]) { id } }');
    expect(errors?.[0].extensions.code).toBe('GRAPHQL_VALIDATION_FAILED');
  });

  test('a combination is unique, and nulls never collide', async () => {
    const label = (name: string, a: number | null, b: number | null) =>
      app.rest('POST', '/labels', { name, a, b });
    expect((await label('p', 1, 2)).status).toBe(201);
    expect((await label('q', 1, null)).status).toBe(201);
    expect((await label('r', 1, null)).status).toBe(201);
    const { status, body } = await label('s', 1, 2);
    expect([status, body.errors.map((error: any) => error.pointer)]).toEqual([409, ['#/a', '#/b']]);
  });

  test('a key that can name nothing has the same fault on both doors', async () => {
    for (const [key, fault] of [
      [0, 'OUT_OF_RANGE'],
      [-1, 'OUT_OF_RANGE'],
      [2 ** 53, 'OUT_OF_RANGE'],
    ] as const) {
      const rest = await byRest(app, 'POST', '/things', { ownerId: key });
      const graphql = await byGraphql(app, 'createThing', { ownerId: String(key) });
      expect(rest).toMatchObject({ failure: ['VALIDATION_FAILED', `#/ownerId ${fault}`] });
      expect(graphql).toEqual(rest);
    }
    expect(await byGraphql(app, 'createThing', { ownerId: '01' })).toMatchObject({
      failure: ['VALIDATION_FAILED', '#/ownerId TYPE'],
    });
  });

  test('a natural key is given on create, is unique, and cannot change', async () => {
    const odd = 'a/b c%?é';
    const { status, headers } = await app.rest('POST', '/labels', { name: odd });
    expect([status, headers.get('Location')]).toEqual([201, '/labels/a%2Fb%20c%25%3F%C3%A9']);
    expect((await app.rest('GET', headers.get('Location') ?? '')).body.name).toBe(odd);
    expect(
      (await app.graphql('query($name: String!) { label(name: $name) { name } }', { name: odd })).data.label
        .name,
    ).toBe(odd);
    expect((await app.rest('POST', '/labels', { name: odd })).body.errors[0].code).toBe('NOT_UNIQUE');
    expect((await app.rest('PUT', '/labels/L', { name: 'M' })).body.errors[0].code).toBe('READ_ONLY');
    const longest = '😀'.repeat(512);
    expect((await app.rest('POST', '/labels', { name: longest })).status).toBe(201);
    expect((await app.rest('GET', `/labels/${encodeURIComponent(longest)}`)).body.name).toBe(longest);
    expect((await app.rest('POST', '/labels', { name: `${longest}a` })).body.errors[0].code).toBe('LENGTH');
    for (const name of ['', '.', '..'])
      expect((await app.rest('POST', '/labels', { name })).body.errors[0].code).toBe('FORMAT');
  });

  test('an update that collides names what collides, and not its own key', async () => {
    await app.rest('POST', '/labels', { name: 'u1', a: 71, b: 1 });
    await app.rest('POST', '/labels', { name: 'u2', a: 72, b: 1 });
    const { status, body } = await app.rest('PUT', '/labels/u2', { a: 71 });
    expect([status, body.errors.map((error: any) => error.pointer)]).toEqual([409, ['#/a', '#/b']]);
  });

  test('a version never repeats for a key, not even after delete and re-create', async () => {
    const version = async () =>
      Number(/^"(\d+)/.exec((await app.rest('GET', '/labels/V')).headers.get('ETag') ?? '')?.[1]);
    const seen: number[] = [];
    for (let round = 0; round < 3; round++) {
      await app.rest('POST', '/labels', { name: 'V' });
      seen.push(await version());
      await app.rest('PUT', '/labels/V', { a: round });
      seen.push(await version());
      await app.rest('DELETE', '/labels/V');
    }
    expect(seen).toEqual([1, 2, 3, 4, 5, 6]);
  });

  test('a self-reference cascades to every level', async () => {
    const make = async (parentId: string | null) =>
      (await app.rest('POST', '/things', { parentId })).body.id as string;
    const root = await make(null);
    const [left, right] = [await make(root), await make(root)];
    const leaf = await make(left);
    const { data } = await app.graphql(
      'mutation($id: UUID!) { deleteThing(id: $id) { children { children { id } id } } }',
      { id: root },
    );
    expect(data.deleteThing.children.map((child: any) => child.id)).toEqual([left, right]);
    expect(data.deleteThing.children[0].children).toEqual([{ id: leaf }]);
    for (const id of [root, left, right, leaf])
      expect((await app.rest('GET', `/things/${id}`)).status).toBe(404);
  });
});
