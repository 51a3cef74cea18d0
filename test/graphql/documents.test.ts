/** Documents that are kept: those that are sent again and again, whatever else is sent. */

import { heapStats } from 'bun:jsc';
import { expect, spyOn, test } from 'bun:test';
import { buildSchema, getIntrospectionQuery, parse, validate } from 'graphql';
import { Documents } from '../../src/graphql/documents.ts';
import { graphqlDoor } from '../../src/graphql/schema.ts';
import { watchLag } from '../../src/http/guard/load.ts';
import { openApp } from '../app.ts';
import { modelOf } from '../storage/deployment.ts';

const sdl = 'type Book @resource { id: ID! title: String }';
const limits = {
  tokens: 1000,
  depth: 10,
  introspectionDepth: 10,
  aliases: 10,
  rootFields: 10,
  directives: 10,
  fields: 1000,
};

test('a document that is sent often is read once, however many others are sent', () => {
  const door = graphqlDoor(modelOf(sdl));
  if (!door) throw new Error('There is no query.');
  const documents = new Documents(door, true, limits, 1000);
  const hot = documents.check('{ books { id } }').document;
  expect(hot).toBeDefined();
  for (let unique = 0; unique < 3000; unique++) {
    documents.check(`query Unique${unique} { books { id } }`);
    expect(documents.check('{ books { id } }').document).toBe(hot);
  }
});

test('what is kept is bounded by its fields and tokens, too: few words spread thousands', () => {
  const door = graphqlDoor(modelOf('type Book @resource { id: ID! title: String parts: [Book!]! of: Book }'));
  if (!door) throw new Error('There is no query.');
  const documents = new Documents(door, true, { ...limits, aliases: 100, rootFields: 100 }, 1000);
  const inner = (depth: number): string => (depth === 0 ? 'id' : `id title parts { ${inner(depth - 1)} }`);
  const spreads = Array.from({ length: 38 }, (_, at) => `a${at}: books { ...A }`).join(' ');
  const hot = documents.check('{ books { id } }').document;
  const sent = (text: (unique: number) => string) => {
    for (let unique = 0; unique < 300; unique++) {
      expect(documents.check(text(unique)).document).toBeDefined();
      expect(documents.check('{ books { id } }').document).toBe(hot);
    }
    return documents.cache.size;
  };
  // With nearly 1000 fields each.
  const fields = sent((unique) => `query Q${unique} { ${spreads} } fragment A on Book { ${inner(8)} }`);
  expect(fields).toBeLessThan(60);
  const many = Array.from({ length: 950 }, (_, at) => at).join(' ');
  const tokens = sent((unique) => `query Q${unique} { books(where: { id: { in: [${many}] } }) { id } }`);
  expect(tokens).toBeLessThan(200);
  const light = sent((unique) => `query Light${unique} { books { id } }`);
  expect(light).toBeGreaterThanOrEqual(300);
});

test('what is under way is done once for all who ask for the same, and anew for whoever comes later', async () => {
  const door = graphqlDoor(modelOf(sdl));
  const document = door && new Documents(door, true, limits, 1000).check('{ __typename }').document;
  if (!document) throw new Error('There is no document.');
  const ends: PromiseWithResolvers<string>[] = [];
  const ask = (name: string) =>
    document.shared(name, () => {
      const end = Promise.withResolvers<string>();
      ends.push(end);
      return end.promise;
    });
  const asked = [ask('a'), ask('b'), ask('a'), ask('a')];
  expect(ends).toHaveLength(2);
  ends[0]?.resolve('of a');
  ends[1]?.reject('not of b');
  expect(
    (await Promise.allSettled(asked)).map((each) => ('value' in each ? each.value : each.reason)),
  ).toEqual(['of a', 'not of b', 'of a', 'of a']);
  for (const name of ['a', 'b']) ask(name).catch(() => {});
  expect(ends).toHaveLength(4);
});

test("descriptions that are asked for at once are each caller's own, by document, operation and variables", async () => {
  const app = await openApp('sqlite', { sdl, data: { books: [{ title: 'one' }, { title: 'two' }] } });
  const query = `
    query Type($name: String!, $with: Boolean = true) { __type(name: $name) { name fields @include(if: $with) { name } } }
    query Other($name: String!) { __type(name: $name) { kind } }
    query Both($name: String!) { __type(name: $name) { name } books { title } }`;
  const ask = (operationName: string, name: string, more = {}) =>
    app.rest('POST', '/graphql', { query, operationName, variables: { name, ...more } });
  const fields = [{ name: 'id' }, { name: 'title' }, { name: '_version' }];
  const answers = await Promise.all([
    ask('Type', 'Book'),
    ask('Type', 'Book'),
    ask('Type', 'Query', { with: false }),
    ask('Type', 'Book', { with: false }),
    ask('Other', 'Book'),
    ask('Both', 'Book'),
    ask('Type', 'Book', { name: 5 }),
  ]);
  await app.close();
  const book = { data: { __type: { name: 'Book', fields } } };
  expect(answers.slice(0, -1).map(({ body }) => body)).toEqual([
    book,
    book,
    { data: { __type: { name: 'Query' } } },
    { data: { __type: { name: 'Book' } } },
    { data: { __type: { kind: 'OBJECT' } } },
    { data: { __type: { name: 'Book' }, books: [{ title: 'one' }, { title: 'two' }] } },
  ]);
  expect(answers.at(-1)?.body.errors[0].extensions.code).toBe('BAD_USER_INPUT');
});

test.each([
  ['interface', 'interface Named { name: String } type Cat implements Named { name: String }'],
  ['union', 'type Dog { size: Int } type Cat { size: String } union Named = Dog | Cat'],
])(
  'a schema with abstract types (%s) is refused: their fields could not be merged by their names',
  (_, types) => {
    const door = graphqlDoor(modelOf(sdl));
    if (!door) throw new Error('There is no query.');
    const schema = buildSchema(`${types} type Query { named: Named }`);
    expect(() => new Documents({ ...door, schema }, true, limits, 1000)).toThrow(
      '"Named" is an interface or a union',
    );
  },
);

test('the first errors say what may have been meant; a hundred of them would be held against all names of a schema', () => {
  const door = graphqlDoor(modelOf(sdl));
  if (!door) throw new Error('There is no query.');
  const documents = new Documents(door, true, limits, 1000);
  const asked = (count: number, unknown: (at: number) => string) => {
    const text = `{ books { ${Array.from({ length: count }, (_, at) => unknown(at)).join(' ')} } }`;
    const told = documents.check(text).errors?.map((error) => error.toJSON());
    return { told, plain: validate(door.schema, parse(text)).map((error) => error.toJSON()) };
  };
  const bare = (message: string) => message.replace(/ Did you mean .*/, '');
  for (const unknown of [(at: number) => `... on Bok${at} { id }`, (at: number) => `titel${at}`]) {
    for (let few = 1; few <= 3; few++) {
      const { told, plain } = asked(few, unknown);
      expect(told).toEqual(plain);
      expect(told?.every(({ message }) => message.includes('Did you mean "'))).toBe(true);
    }
    for (const many of [4, 100, 110]) {
      const { told, plain } = asked(many, unknown);
      expect(told).toEqual(
        plain.map((each, at) => (at < 3 ? each : { ...each, message: bare(each.message) })),
      );
      expect(told?.filter(({ message }) => message.includes('Did you mean "'))).toHaveLength(3);
    }
  }
});

test('who asks for a description that somebody else has no time left for has it all the same', async () => {
  const types = Array.from({ length: 20 }, (_, at) => `type T${at} @resource { id: ID!  a: String  b: Int }`);
  const app = await openApp('sqlite', { sdl: types.join(' '), env: { LIMIT_DEADLINE: '120000' } });
  const query = getIntrospectionQuery();
  const whole = await app.graphql(query);
  let now = performance.now();
  // Each look takes a while, so that it is made in many turns.
  using _clock = spyOn(performance, 'now').mockImplementation(() => ++now);
  const turned = async () => {
    for (let turns = 0; turns < 5; turns++) await new Promise(setImmediate);
  };
  const first = app.graphql(query);
  await turned();
  now += 90_000;
  const second = app.graphql(query);
  await turned();
  now += 31_000;
  const [late, told] = await Promise.all([first, second]);
  await app.close();
  expect([late.errors?.[0].extensions.code, told.errors]).toEqual(['DEADLINE_EXCEEDED', undefined]);
  expect(told.data).toEqual(whole.data);
});

test('a document whose last answer was long does not keep those waiting that came with it', async () => {
  const titles = Array.from({ length: 100 }, (_, at) => ({ title: `${at} ${'x'.repeat(1_000)}` }));
  const app = await openApp('sqlite', { sdl, data: { books: titles } });
  const told = async () => {
    const done: string[] = [];
    const ask = async (name: string, query: string, variables = {}) => {
      expect((await app.graphql(query, variables)).errors).toBeUndefined();
      done.push(name);
    };
    const list = 'query ($first: Int) { books(first: $first) { title } }';
    using _clock = spyOn(performance, 'now').mockReturnValue(performance.now());
    await Promise.all([ask('one', list), ask('other', list), ask('short', '{ book(id: 1) { id } }')]);
    await ask('last', list, { first: 1 });
    return done;
  };
  expect(await told()).toEqual(['one', 'short', 'other', 'last']);
  await app.graphql('query ($first: Int) { books(first: $first) { title } }');
  expect(await told()).toEqual(['short', 'one', 'other', 'last']);
  // Once its last answer was short, it has its turn with those, until the first is long again.
  expect(await told()).toEqual(['one', 'short', 'other', 'last']);
  // Whoever waits for that turn for too long is turned away, as all are who wait.
  await app.graphql('query ($first: Int) { books(first: $first) { title } }');
  const unwatch = watchLag();
  let now = performance.now();
  const clock = spyOn(performance, 'now').mockImplementation(() => now);
  const late = app.graphql('query ($first: Int) { books(first: $first) { title } }');
  // It is read in this turn and the next.
  await new Promise(setImmediate);
  now += 60_000;
  expect((await late).errors?.[0].extensions.code).toBe('UNAVAILABLE');
  clock.mockRestore();
  unwatch();
  await app.close();
});

test('nor do many that are new, once the first of them had a long answer', async () => {
  const titles = Array.from({ length: 100 }, (_, at) => ({ title: `${at} ${'x'.repeat(1_000)}` }));
  const app = await openApp('sqlite', { sdl, data: { books: titles } });
  const short = '{ book(id: 1) { id } }';
  await app.graphql(short);
  const done: string[] = [];
  const ask = async (query: string) => {
    expect((await app.graphql(query)).errors).toBeUndefined();
    done.push(query);
  };
  using _clock = spyOn(performance, 'now').mockReturnValue(performance.now());
  const [one, other] = ['{ one: books { title } }', '{ other: books { title } }'] as const;
  await Promise.all([ask(one), ask(other), ask(short)]);
  expect(done).toEqual([one, short, other]);
  await app.close();
});

function size(): number {
  Bun.gc(true);
  const { heapSize, extraMemorySize } = heapStats();
  return heapSize + extraMemorySize;
}

test('of a document with many lists, those of few arguments are kept for each', async () => {
  const app = await openApp('sqlite', { sdl });
  const names = Array.from({ length: 25 }, (_, at) => `v${at}`);
  const fields = names.map((name) => `${name}: books(first: $${name}) { id }`).join(' ');
  const query = `query (${names.map((name) => `$${name}: Int`).join(' ')}) { ${fields} }`;
  const ask = (first: number) => app.graphql(query, Object.fromEntries(names.map((name) => [name, first])));
  for (let first = 1; first <= 10; first++) expect((await ask(first)).errors).toBeUndefined();
  const before = size();
  for (let first = 11; first <= 100; first++) await ask(first);
  // Kept for each of its lists, they are twice as much.
  expect(size() - before).toBeLessThan(6_000_000);
  await app.close();
});

test('names of operations that a document does not have are not kept', async () => {
  const app = await openApp('sqlite', { sdl });
  const ask = (operationName: string) =>
    app.fetch('/graphql', {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', Accept: 'application/graphql-response+json' },
      body: JSON.stringify({ query: 'query Known { books { id } }', operationName }),
    });
  expect((await ask('Known')).status).toBe(200);
  expect((await ask('Unknown')).status).toBe(400);
  const before = size();
  for (let sent = 0; sent < 200; sent++)
    expect((await ask(`${'x'.repeat(100_000)}${sent}`)).status).toBe(400);
  expect(size() - before).toBeLessThan(10_000_000);
  await app.close();
});
