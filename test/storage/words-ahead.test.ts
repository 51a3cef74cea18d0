/** Words that PostgreSQL keeps are split by this process: others have their turn meanwhile, however long the texts are. */

import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { inField, wordsOf, wordsOfAll } from '../../src/query/words.ts';
import { readSchema } from '../../src/schema/read.ts';
import { splitAhead, words } from '../../src/storage/postgres/words.ts';
import type { Row, Statement } from '../../src/storage/statements.ts';
import { openApp } from '../app.ts';

const { model } = readSchema(
  'type Book @resource @search(fields: ["title", "body"]) { id: ID!  title: String!  body: String  pages: Int }',
);
const resource = model?.resources[0] as any;
const numbers = (count: number, letter: string) =>
  Array.from({ length: count }, (_, index) => `${letter}${index}`).join(' ');
const long = (id: number): Row => ({ id, title: 'left', body: numbers(10_000, `w${id}`) });
const update = { do: 'update', resource, set: { title: 'left' }, where: { is: 'all', of: [] }, counts: true };

/** How many turns others had while it was split. */
async function turnsDuring(statements: object[]): Promise<number> {
  let turns = 0;
  let isDone = false;
  const count = () => {
    turns++;
    if (!isDone) setImmediate(count);
  };
  setImmediate(count);
  await splitAhead(statements as Statement[], Number.POSITIVE_INFINITY);
  isDone = true;
  return turns;
}

const rows = Array.from({ length: 20 }, (_, id) => long(id));
const unspaced = {
  id: 1,
  title: 'x',
  body: Array.from({ length: 60_000 }, (_, at) => String.fromCodePoint(0x4e00 + (at % 19_000))).join(''),
};
const oneText = (body: string) => ({
  do: 'insert',
  resource,
  values: { id: 1, title: 'x', body },
  version: 1,
});
const split: [string, object, number][] = [
  ['the rows of an update', { ...update, next: rows }, rows.length],
  ['new rows', { do: 'insert all', resource, rows }, rows.length],
  ['old rows', { do: 'stale words', resource, rows }, rows.length],
  ['one new row', { do: 'insert', resource, values: long(1), version: 1 }, 3],
  ['the same words again', oneText('left hand '.repeat(20_000)), 10],
  // One letter, which is four words of eighteen.
  ['a text that grows when its letters are taken apart', oneText('\ufdfa'.repeat(100_000)), 5],
  ['a text without spaces', { do: 'insert', resource, values: unspaced, version: 1 }, 3],
];

test.each(split)('%s', async (_, statement, least) => {
  expect(await turnsDuring([statement])).toBeGreaterThanOrEqual(least);
});

test('pieces of a text have the words of the whole', () => {
  const part = fc.constantFrom(
    'left',
    'Ärger',
    'e\u0301a',
    '\u{1d400}b',
    '漢字',
    'ｶﾞ',
    '가',
    '\ufb03',
    '9',
    'x'.repeat(90),
  );
  const between = fc.constantFrom(' ', '. ', '\n', '、', '', '', '\u00b4', '\u2025', '-');
  const text = fc
    .array(fc.tuple(part, between), { minLength: 1, maxLength: 12 })
    .map((parts) => parts.flat().join(''));
  fc.assert(
    fc.property(text, fc.integer({ min: 0, max: 9 }), (some, shift) => {
      const whole = `${'y'.repeat(shift)} ${`${some} `.repeat(Math.ceil(40_000 / some.length))}${some}end`;
      expect(wordsOfAll([whole])).toEqual([...new Set(wordsOf(whole))].map((word) => inField(word, 0)));
    }),
    { numRuns: 60 },
  );
});

test('what is split ahead is what is written, once', async () => {
  const row: Row = long(7);
  const before = words.kept?.of(resource, row);
  await turnsDuring([{ ...update, next: [row] }]);
  expect(words.kept?.of(resource, row)).toEqual(before as Row);
  // Whoever changes the row is not told what it was.
  row['body'] = 'right';
  expect(words.kept?.of(resource, row)).not.toEqual(before as Row);
});

test('what has few texts, or changes none, waits for nobody', async () => {
  const short = { id: 1, title: 'left', body: 'hand' };
  expect(await turnsDuring([{ ...update, next: [short] }])).toBe(0);
  expect(await turnsDuring([{ ...update, set: { pages: 1 }, next: rows }])).toBe(0);
});

test('who is late is told so', async () => {
  const splitting = splitAhead([{ ...update, next: rows }] as object[] as Statement[], performance.now() - 1);
  expect(await splitting.catch(({ code }) => code)).toBe('DEADLINE_EXCEEDED');
});

test('a write that others wait for', async () => {
  const app = await openApp('postgres', {
    sdl: 'type Book @resource @search(fields: ["title", "body"]) { id: ID!  title: String!  body: String }',
    data: { books: rows.map(({ title, body }) => ({ title, body })) },
    // So that the end of each statement is told, too.
    env: { LOG_SLOW: '0' },
  });
  app.observations.length = 0;
  let turns = 0;
  let isDone = false;
  const ended = (text: string) =>
    app.observations.some(
      (each) => each.event === 'slow' && each.sql.startsWith(text) && each.sql.includes('"Book"'),
    );
  const look = () => {
    const isBetween = ended('SELECT') && !app.statements.some((sql) => sql.startsWith('UPDATE "Book"'));
    if (isBetween) turns++;
    if (!isDone) setImmediate(look);
  };
  look();
  const operations = [{ method: 'PUT', path: '/books', where: {}, body: { title: 'right' }, atMost: 100 }];
  expect((await app.rest('POST', '/transaction', { operations })).status).toBe(200);
  isDone = true;
  expect(turns).toBeGreaterThanOrEqual(rows.length);
  expect((await app.rest('GET', '/books?search=right w73&aggregate=count')).body).toEqual([{ count: 1 }]);
  await app.close();
});
