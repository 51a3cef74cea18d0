/** The costliest documents that the limits admit, beside a plain one of the same length. */

import { afterAll, beforeAll, expect, test } from 'bun:test';
import { buildSchema, parse, validate } from 'graphql';
import { type AppUnderTest, openApp, shipped } from '../app.ts';

/**
 * Two or three times as much was seen, and seven times for what is hundreds of times as long. What compares each selection with
 * each takes nine times as much, what looks for the line of each error hundreds of times, and what explodes never ends.
 */
const MOST_TIMES_PLAIN = 5;
const MOST_TIMES_WHEN_LONG = 15;
/** Until the plain one is compiled, and how often another may be measured before it counts as dear. */
const WARM_UP = 20;
const MOST_ROUNDS = 30;
/** What is so many times too dear is never cheap. */
const HOPELESS = 4;

const times = (count: number, each: (index: number) => string) =>
  Array.from({ length: count }, (_, index) => each(index)).join(' ');
const nested = (count: number, open: string, leaf: string, close: string) =>
  open.repeat(count) + leaf + close.repeat(count);

/** It asks for the schema too, so that graphql-js validates it, as it does most of the others. */
const plain = `{ __schema { __typename } ${times(25, (index) => `q${index}: posts(where: { title: { eq: "x" } }, first: 10) { ${times(5, () => 'id title body author { name } comments { id }')} }`)} }`;

const RELATIONS = ['a', 'b', 'c', 'd'];
const knots = `type Knot @resource { id: ID! ${RELATIONS.map((name) => `${name}: Knot`).join(' ')} }`;

/**
 * Twelve fragments on each of five levels, where every relation leads from each to another one of the next level: which
 * of them are merged is another set on nearly every one of thousands of paths.
 */
function meeting(operations: number): string {
  const places = [...Array(12).keys()];
  const fragments = [...Array(5).keys()].flatMap((level) => {
    const next = RELATIONS.map((name) => shuffled(places, `${name}${level}`));
    return places.map((place) => {
      const fields = RELATIONS.map((name, index) => `${name} { ...F${level + 1}x${next[index]?.[place]} }`);
      return `fragment F${level}x${place} on Knot { ${fields.join(' ')} }`;
    });
  });
  const last = places.map((place) => `fragment F5x${place} on Knot { id }`);
  const asked = times(operations, (index) => {
    const spreads = shuffled(places, `start${index}`).map((place) => `...F0x${place}`);
    return `query Q${index} { knots { ${spreads.slice(6).join(' ')} } k: knots { ${spreads.slice(0, 6).join(' ')} } }`;
  });
  return [asked, ...fragments, ...last].join(' ');
}

/** In any order, and always in the same. */
function shuffled(places: readonly number[], name: string): number[] {
  const chance = (place: number) => Bun.hash.crc32(`${name} ${place}`);
  return places.toSorted((one, other) => chance(one) - chance(other));
}

const worst: Record<string, string> = {
  'a leaf again and again': `{ books { ${times(1990, () => 'id')} } }`,
  'a relation again and again': `{ users { ${times(398, () => 'posts { id }')} } }`,
  'a relation with arguments again and again': `{ users { ${times(190, () => 'posts(first: 10) { id }')} } }`,
  'relations again and again on every level': `{ users { ${times(10, () => `posts { ${times(12, () => `author { ${times(3, () => 'posts { id }')} }`)} }`)} } }`,
  'a relation again and again, with other fields each time': `{ users { ${times(330, (index) => `posts { ${['id', 'title', 'body'][index % 3]} ${['id', 'body'][index % 2]} }`)} } }`,
  'relations whose last selection conflicts': `{ users { ${times(390, () => 'posts { id }')} posts { id: title } } }`,
  'a conflict of each with each': `{ users { ${times(25, (index) => `a: ${['id', 'name'][index % 2]}`)} ${times(140, (index) => `posts(first: ${index}) { id }`)} } }`,
  'long arguments again and again': `{ users { ${times(21, () => `posts(where: { or: [${times(9, (index) => `{ id: { eq: "${index}" } }`)}] }) { id }`)} } }`,
  'inline fragments in one another': `{ users { ${nested(480, '... { id ', '', '} ')} } }`,
  'inline fragments again and again': `{ users { ${times(280, () => '... { posts { id } }')} } }`,
  'a large fragment on every level': `{ users { ...U posts { ...P author { ...U posts { ...P author { ...U posts { ...P author { ...U } } } } } } } } fragment U on User { ${times(600, () => 'id')} } fragment P on Post { ${times(1200, () => 'id')} }`,
  'a deep selection again and again': `{ users { ${times(78, () => nested(4, 'posts { author { ', 'id', '} } '))} } }`,
  'many fragments that overlap': `{ users { ${times(150, (index) => `...F${index}`)} } } ${times(150, (index) => `fragment F${index} on User { id name }`)}`,
  'many fragments that are nowhere': `{ users { ${times(900, (index) => `...F${index}`)} } }`,
  'fragments that spread each other twice': `{ users { ...F0 } } ${times(140, (index) => `fragment F${index} on User { ...F${index + 1} ...F${index + 1} }`)} fragment F140 on User { id }`,
  'fragments that spread each other on every level': `{ users { ...F0 } } ${times(8, (index) => `fragment F${index} on ${index % 2 ? 'Post' : 'User'} { ${times(40, () => `${index % 2 ? 'author' : 'posts'} { ...F${index + 1} }`)} }`)} fragment F8 on User { id }`,
  'fragments that meet in ever new ways': meeting(1),
  'fragments that meet in ever new ways, in many operations': meeting(9),
  'fragments in circles': `{ users { ...F0 } } ${times(30, (at) => `fragment F${at} on User { ${times(18, (by) => `...F${(at + by) % 30}`)} }`)}`,
  'many operations that share fragments': `${times(60, (index) => `query Q${index}($v: Int) { users { ...F0 } }`)} ${times(60, (index) => `fragment F${index} on User { ...F${index + 1} posts(first: $v) { id } }`)} fragment F60 on User { id }`,
  'many variables': `query (${times(115, (index) => `$v${index}: ID`)}) { books(where: { or: [${times(115, (index) => `{ id: { eq: $v${index} } }`)}] }) { id } }`,
  'variables that nobody uses': `query (${times(390, (index) => `$v${index}: ID`)}) { books { id } }`,
  'a deep filter': `{ books(where: ${nested(300, '{ and: [', '{ id: { eq: "1" } }', '] }')}) { id } }`,
  'a deep list': `{ books(where: ${nested(980, '[', '1', ']')}) { id } }`,
  'a wide filter': `{ books(where: { or: [${times(215, (index) => `{ id: { eq: "${index}" } }`)}] }) { id } }`,
  'directives that do not exist': `{ books { id ${times(40, (index) => `@includ${index}`)} } }`,
  'fields that do not exist': `{ books { ${times(1990, (index) => `titel${index}`)} } }`,
  'arguments that do not exist': `{ books(${times(600, (index) => `wher${index}: 1`)}) { id } }`,
  'types that do not exist': `query (${times(390, (index) => `$v${index}: BookWher`)}) { books { id } }`,
};

const EMPTY = '\n'.repeat(450_000);

/** Few tokens and many bytes. */
const long: Record<string, string> = {
  'a long name': `{ books { ${'a'.repeat(900_000)} } }`,
  'many faults after half a million lines': `${EMPTY} { books { ${times(990, (index) => `titel${index}`)} } }`,
  'many conflicts after half a million lines': `${EMPTY} { ${times(30, (index) => `q${index}: users { posts { id } posts(first: 1) { id } }`)} }`,
  'lines of comments': `{ books { id } ${'#\n'.repeat(450_000)} }`,
  'a long text with escapes': `{ books(where: { title: { eq: "${'\\n'.repeat(200_000)}" } }) { id } }`,
  'a long text of empty lines': `{ books(where: { title: { eq: """${'\n'.repeat(400_000)}""" } }) { id } }`,
};

/** Refused, but only after it was found out. */
const beyond: Record<string, string> = {
  'more fields than anybody can answer': `{ knots { ...F0 } } ${times(8, (index) => `fragment F${index} on Knot { ${RELATIONS.map((name) => `${name} { ...F${index + 1} }`).join(' ')} }`)} fragment F8 on Knot { id }`,
};

let app: AppUnderTest;
beforeAll(async () => {
  app = await openApp('sqlite', { ...shipped, sdl: shipped.sdl + knots });
});
afterAll(() => app.close());

/** Reads, counts and validates, but carries nothing out: there is no such operation. */
async function check(query: string): Promise<string[]> {
  const { body } = await app.rest('POST', '/graphql', { query, operationName: 'Missing' });
  return body.errors.map(({ extensions }: any) => extensions.code);
}

let turn = 0;
/** Processor time, in microseconds: who waits for a busy machine uses none. */
async function cost(query: string): Promise<number> {
  // Never the same text twice, or it would come from the cache.
  const text = `${query} # ${turn++}`;
  const before = process.cpuUsage();
  await check(text);
  const { user, system } = process.cpuUsage(before);
  return user + system;
}

/** The least that the plain one has ever cost: whatever else happens, in the caches or in the collector, only adds to it. */
let usual = Number.POSITIVE_INFINITY;

/** Measured in turns with the plain one, and only until it is known to be cheap enough. */
async function timesPlain(query: string, enough: number): Promise<number> {
  let least = Number.POSITIVE_INFINITY;
  for (let round = 0; round < MOST_ROUNDS && least > enough * usual; round++) {
    usual = Math.min(usual, await cost(plain));
    least = Math.min(least, await cost(query));
    if (round > 1 && least > HOPELESS * enough * usual) break;
  }
  return least / usual;
}

test('every one of them is within the limits', async () => {
  for (const [name, query] of Object.entries({ plain, ...worst, ...long })) {
    const codes = new Set(await check(query));
    expect([name, [...codes].filter((code) => /^TOO_MANY|_TOO_DEEP$/.test(code))]).toEqual([name, []]);
    expect([name, codes.has('GRAPHQL_PARSE_FAILED')]).toEqual([name, false]);
  }
});

test.each([
  { of: 'many tokens', documents: { ...worst, ...beyond }, most: MOST_TIMES_PLAIN },
  { of: 'many bytes', documents: long, most: MOST_TIMES_WHEN_LONG },
])('none of $of costs much more than the plain one', async ({ documents, most }) => {
  expect(await check(plain)).toEqual(['OPERATION_RESOLUTION_FAILURE']);
  for (let round = 0; round < WARM_UP; round++) usual = Math.min(usual, await cost(plain));
  const dear: string[] = [];
  for (const [name, query] of Object.entries(documents)) {
    const ratio = await timesPlain(query, most);
    if (ratio > most) dear.push(`${name}: ${Math.round(ratio)} times the plain one`);
  }
  expect(dear).toEqual([]);
});

test('an error is where it is, below whatever', async () => {
  const query = '\r\n#\r{ books(where: { title: { eq: """\n\r\n x\n""" } }) {\n\n\tid titel } }';
  const { body } = await app.rest('POST', '/graphql', { query });
  const [expected] = validate(buildSchema(await (await app.fetch('/schema.graphql')).text()), parse(query));
  expect(body.errors[0].locations).toEqual(expected?.locations);
});
