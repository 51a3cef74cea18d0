/** The costliest documents that the limits admit, beside a plain one of the same length. */

import { afterAll, beforeAll, expect, test } from 'bun:test';
import { type AppUnderTest, openApp } from '../app.ts';

/** Nine times as much was seen; what explodes is a thousand times as much, or never ends. */
const MOST_TIMES_PLAIN = 30;
const ROUNDS = 7;

const times = (count: number, each: (index: number) => string) =>
  Array.from({ length: count }, (_, index) => each(index)).join(' ');
const nested = (count: number, open: string, leaf: string, close: string) =>
  open.repeat(count) + leaf + close.repeat(count);

const plain = `{ ${times(25, (index) => `q${index}: posts(where: { title: { eq: "x" } }, first: 10) { ${times(5, () => 'id title body author { name } comments { id }')} }`)} }`;

const worst: Record<string, string> = {
  'a leaf again and again': `{ books { ${times(1990, () => 'id')} } }`,
  'a relation again and again': `{ users { ${times(398, () => 'posts { id }')} } }`,
  'a relation with arguments again and again': `{ users { ${times(190, () => 'posts(first: 10) { id }')} } }`,
  'relations again and again on every level': `{ users { ${times(10, () => `posts { ${times(12, () => `author { ${times(3, () => 'posts { id }')} }`)} }`)} } }`,
  'a deep selection again and again': `{ users { ${times(78, () => nested(4, 'posts { author { ', 'id', '} } '))} } }`,
  'many fragments that overlap': `{ users { ${times(150, (index) => `...F${index}`)} } } ${times(150, (index) => `fragment F${index} on User { id name }`)}`,
  'many fragments that are nowhere': `{ users { ${times(900, (index) => `...F${index}`)} } }`,
  'fragments that spread each other twice': `{ users { ...F0 } } ${times(140, (index) => `fragment F${index} on User { ...F${index + 1} ...F${index + 1} }`)} fragment F140 on User { id }`,
  'fragments that spread each other on every level': `{ users { ...F0 } } ${times(8, (index) => `fragment F${index} on ${index % 2 ? 'Post' : 'User'} { ${times(40, () => `${index % 2 ? 'author' : 'posts'} { ...F${index + 1} }`)} }`)} fragment F8 on User { id }`,
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
  'a long name': `{ books { ${'a'.repeat(900_000)} } }`,
  'lines of comments': `{ books { id } ${'#\n'.repeat(450_000)} }`,
  'a long text with escapes': `{ books(where: { title: { eq: "${'\\n'.repeat(200_000)}" } }) { id } }`,
  'a long text of empty lines': `{ books(where: { title: { eq: """${'\n'.repeat(400_000)}""" } }) { id } }`,
};

let app: AppUnderTest;
beforeAll(async () => {
  app = await openApp('sqlite');
});
afterAll(() => app.close());

/** Reads, counts and validates, but carries nothing out: there is no such operation. */
async function check(query: string): Promise<string[]> {
  const { body } = await app.rest('POST', '/graphql', { query, operationName: 'Missing' });
  return body.errors.map(({ extensions }: any) => extensions.code);
}

let turn = 0;
/** The least of many rounds: everything else that happens on the machine only adds to it. */
async function cost(query: string): Promise<number> {
  let least = Number.POSITIVE_INFINITY;
  for (let round = 0; round < ROUNDS; round++) {
    // Never the same text twice, or it would come from the cache.
    const text = `${query} # ${turn++}`;
    const started = performance.now();
    await check(text);
    least = Math.min(least, performance.now() - started);
  }
  return least;
}

test('every one of them is within the limits', async () => {
  for (const [name, query] of Object.entries({ plain, ...worst })) {
    const codes = new Set(await check(query));
    expect([name, [...codes].filter((code) => /^TOO_MANY|_TOO_DEEP$/.test(code))]).toEqual([name, []]);
    expect([name, codes.has('GRAPHQL_PARSE_FAILED')]).toEqual([name, false]);
  }
});

test('none costs much more than the plain one', async () => {
  expect(await check(plain)).toEqual(['OPERATION_RESOLUTION_FAILURE']);
  const usual = await cost(plain);
  const dear: string[] = [];
  for (const [name, query] of Object.entries(worst)) {
    const ratio = (await cost(query)) / usual;
    if (ratio > MOST_TIMES_PLAIN) dear.push(`${name}: ${Math.round(ratio)} times the plain one`);
  }
  expect(dear).toEqual([]);
});
