/** Searches of a large table on SQLite leave the process, since nothing says how many records have a word; others stay. */

import { Database } from 'bun:sqlite';
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { splitsWords } from '../../src/storage/sqlite/words.ts';
import { openApp } from '../app.ts';
import { Folder } from '../process.ts';

const ROWS = 30_000;
const sdl = `
  type Shelf @resource(plural: "shelves") @search(fields: ["label"]) { id: ID!  label: String!  books: [Book!]! }
  type Book @resource @search(fields: ["title", "body"]) { id: ID!  title: String!  body: String  shelf: Shelf }`;

const folder = new Folder({});
const url = `sqlite:${folder.file('duet.db')}`;

beforeAll(async () => {
  await (await openApp('sqlite', { sdl, data: {}, url })).close();
  using db = new Database(folder.file('duet.db'));
  splitsWords(db);
  db.run('PRAGMA synchronous = OFF');
  const numbers = (count: number) =>
    `WITH RECURSIVE s(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM s WHERE i < ${count})`;
  db.run(`${numbers(10)} INSERT INTO "Shelf" (id, label, _version) SELECT i, 'shelf ' || i, 1 FROM s`);
  db.run(
    `${numbers(ROWS)} INSERT INTO "Book" (id, title, body, "shelfId", _version) SELECT i, 'book ' || i, 'word' || (i % 7), 1 + i % 10, 1 FROM s`,
  );
});

afterAll(() => folder[Symbol.dispose]());

const large = [
  '/books?search=book&limit=5',
  '/books?search=b&limit=5&sort=-id',
  '/books?search=17&limit=5&sort=_relevance',
  '/books?search=word3&aggregate=count',
  '/books?search=29999&count=true&limit=1',
  '/shelves?include=books&books[search]=word1&books[limit]=2&limit=2',
];

describe('a reader that cannot be', () => {
  const open = () => openApp('sqlite', { sdl, data: {}, url, apart: ['false'] });

  test.each(large)('%s leaves', async (path) => {
    const app = await open();
    expect((await app.rest('GET', path)).status).toBe(503);
    await app.close();
  });

  test.each(['/shelves?search=shelf', '/shelves?search=she&sort=_relevance&limit=3', '/books?limit=5'])(
    '%s stays',
    async (path) => {
      const app = await open();
      expect((await app.rest('GET', path)).status).toBe(200);
      await app.close();
    },
  );
});

/** Of a small table, what counts is how much of the index of words has to be read. */
describe('of records with many words', async () => {
  const own = new Folder({});
  const sheets = `type Sheet @resource @search(fields: ["a", "b", "c", "d"]) { id: ID!  a: String  b: String  c: String  d: String }`;
  const deployment = { sdl: sheets, data: {}, url: `sqlite:${own.file('duet.db')}` };
  await (await openApp('sqlite', deployment)).close();
  {
    using db = new Database(own.file('duet.db'));
    splitsWords(db);
    db.run('PRAGMA synchronous = OFF');
    const insert = db.query('INSERT INTO "Sheet" (a, b, _version) VALUES (?, ?, 1)');
    const common = Array.from({ length: 8 }, (_, word) => `common${word}`).join(' ');
    db.transaction(() => {
      for (let id = 0; id < 1500; id++) {
        const texts = Array.from({ length: 60 }, (_, word) => `x${(id * 31 + word * 7919) % 20_000}`);
        insert.run(`${texts.join(' ')} rare${id % 5}`, common);
      }
    })();
  }
  const app = await openApp('sqlite', { ...deployment, apart: ['false'] });
  afterAll(async () => {
    await app.close();
    own[Symbol.dispose]();
  });
  const words = (count: number) => Array.from({ length: count }, (_, word) => `common${word}`).join('+');

  test.each([
    ['rare3', true],
    ['rare', true],
    ['x12345', true],
    ['x', false],
    ['rare3+x', false],
    [words(8), true],
    ['rare3&sort=_relevance', true],
    [`${words(8)}&sort=_relevance`, false],
  ])('search=%s stays: %p', async (search, stays) => {
    const { status } = await app.rest('GET', `/sheets?search=${search}&limit=1`);
    expect(status).toBe(stays ? 200 : 503);
  });
});

/** Of few records, too, each word is looked for in each field, and that anew for each word and field that counts for relevance. */
describe('of records with many fields', async () => {
  const own = new Folder({});
  const fields = Array.from({ length: 16 }, (_, field) => `f${field}`);
  const forms = `type Form @resource @search(fields: ${JSON.stringify(fields)}) { id: ID!  ${fields.map((field) => `${field}: String`).join('  ')} }`;
  const slips = forms.replace('Form', 'Slip').replace('id: ID!', 'id: String! @key');
  const deployment = { sdl: forms + slips, data: {}, url: `sqlite:${own.file('duet.db')}` };
  const words = ['alpha', 'beta', 'gamma', 'delta', 'epsilon', 'zeta', 'eta', 'theta'];
  const filling = await openApp('sqlite', deployment);
  for (let id = 1; id <= 6; id++) {
    const texts = { f0: `no${id}`, f15: words.join(' ') };
    await filling.rest('POST', '/forms', texts);
    await filling.rest('POST', '/slips', { id: `s${id}`, ...texts });
  }
  await filling.close();
  const app = await openApp('sqlite', { ...deployment, apart: ['false'] });
  afterAll(async () => {
    await app.close();
    own[Symbol.dispose]();
  });

  test.each([
    ['8 words', words, '', 200],
    ['2 words by relevance', words.slice(0, 2), '&sort=_relevance', 200],
    ['8 words by relevance', words, '&sort=_relevance', 503],
  ])('%s', async (_, searched, more, expected) => {
    const { status } = await app.rest('GET', `/forms?search=${searched.join('+')}${more}&limit=2`);
    expect(status).toBe(expected);
  });

  test.each(['forms', 'slips'])('behind a cursor, relevance of %s is found out once', async (list) => {
    const page = async (more: string) => {
      const from = app.statements.length;
      const { body } = await app.graphql(
        `{ ${list}Connection(first: 2, search: "alpha be", orderBy: [{ f1: ASC }, { _relevance: DESC }]${more}) { edges { cursor node { f0 } } } }`,
      );
      const { edges } = body.data[`${list}Connection`];
      const asked = app.statements.slice(from).join('').split(' MATCH ').length - 1;
      return {
        asked,
        names: edges.map(({ node }: { node: { f0: string } }) => node.f0),
        last: edges.at(-1).cursor,
      };
    };
    const first = await page('');
    const second = await page(`, after: "${first.last}"`);
    const third = await page(`, after: "${second.last}"`);
    const again = await page(`, after: "${first.last}", before: "${third.last}"`);
    expect([first, second, third, again].map(({ names }) => names)).toEqual([
      ['no1', 'no2'],
      ['no3', 'no4'],
      ['no5', 'no6'],
      ['no3', 'no4'],
    ]);
    for (const { asked } of [second, third, again]) expect(asked).toBe(first.asked);
  });
});

/** As many characters as a text may have that is split here, and many more. */
const texts = {
  short: 'left hand '.repeat(500),
  long: 'left hand '.repeat(30_000),
  han: '左手'.repeat(30_000),
};
const writes: [string, string, (text: string) => [string, string, object]][] = [
  ['a create', 'short long han', (text) => ['POST', '/books', { title: 'new', body: text }]],
  [
    'a create of a record that refers to others',
    'short long',
    (text) => ['POST', '/books', { title: 'new', body: text, shelfId: 1 }],
  ],
  ['an upsert', 'short long', (text) => ['POST', '/pages?upsert=name', { name: 'new', body: text }]],
  [
    'creates of many',
    'short long',
    (text) => operation({ method: 'POST', path: '/books', body: [{ title: 'new', body: text }] }),
  ],
  // Of a short title, whose record has a long text beside it.
  [
    'an update',
    'short long',
    (text) => ['PUT', `/pages/${text === texts.long ? 1 : 2}`, { name: `new ${text.length}` }],
  ],
  [
    'an update of many',
    'short long',
    (text) =>
      operation({
        method: 'PUT',
        path: '/pages',
        where: { id: { eq: text === texts.long ? 1 : 2 } },
        body: { note: 'new' },
        atMost: 9,
      }),
  ],
];

function operation(one: object): [string, string, object] {
  return ['POST', '/transaction', { operations: [one] }];
}

describe('a writer that cannot be', () => {
  const pages = `type Page @resource @search(fields: ["name", "note", "body"]) { id: ID!  name: String! @unique  note: String  body: String  seen: Int }`;
  test.each(writes)('long texts of %s leave, short ones stay', async (_, sizes, request) => {
    const own = new Folder({});
    const deployment = { sdl: sdl + pages, url: `sqlite:${own.file('duet.db')}` };
    const filling = await openApp('sqlite', deployment);
    await filling.rest('POST', '/shelves', { label: 'x' });
    for (const body of [texts.long, texts.short])
      await filling.rest('POST', '/pages', { name: `n${body.length}`, body });
    await filling.close();
    const app = await openApp('sqlite', { ...deployment, apart: ['false'] });
    for (const size of sizes.split(' ') as (keyof typeof texts)[]) {
      const { status } = await app.rest(...request(texts[size]));
      expect([size, size === 'short' ? status < 300 : status]).toEqual([size, size === 'short' ? true : 503]);
    }
    // What is not searched is not split.
    expect((await app.rest('PUT', '/pages/1', { seen: 1 })).status).toBe(200);
    await app.close();
    const whole = await openApp('sqlite', deployment);
    for (const size of sizes.split(' ') as (keyof typeof texts)[])
      expect((await whole.rest(...request(texts[size]))).status).toBeLessThan(300);
    for (const path of ['/books?search=new&aggregate=count', '/pages?search=new&aggregate=count'])
      expect((await whole.rest('GET', path)).status).toBe(200);
    await whole.close();
    own[Symbol.dispose]();
  });
});

test('and is answered there', async () => {
  const app = await openApp('sqlite', { sdl, data: {}, url });
  for (const path of large) expect([path, (await app.rest('GET', path)).status]).toEqual([path, 200]);
  expect((await app.rest('GET', '/books?search=word3&aggregate=count')).body).toEqual([{ count: 4286 }]);
  const { body } = await app.rest('GET', '/books?search=17&limit=2&sort=_relevance&fields=id');
  expect(body).toEqual([{ id: 17 }, { id: 170 }]);
  await app.close();
});

/** Where words are removed FTS5 merges as the transaction ends, which nothing can end here. */
describe('of a writer that cannot be', () => {
  const of = (count: number, from: number) => Array.from({ length: count }, (_, at) => from + at);
  const deletes = (ids: number[]) =>
    operation({ method: 'DELETE', path: '/books', where: { id: { in: ids } }, atMost: 999 });
  const updates = (ids: number[], body: object) =>
    operation({ method: 'PUT', path: '/books', where: { id: { in: ids } }, atMost: 999, body });
  const creates = (count: number) =>
    operation({
      method: 'POST',
      path: '/books',
      body: of(count, 1).map((book) => ({ title: `new ${book}` })),
    });
  const oneByOne = (ids: number[]): [string, string, object] => [
    'POST',
    '/transaction',
    { operations: ids.map((id) => ({ method: 'DELETE', path: `/books/${id}` })) },
  ];

  test.each([
    ['few that are deleted stay', deletes(of(100, 1)), 200],
    ['many that are deleted leave', deletes(of(300, 1_000)), 503],
    ['many that are deleted one by one leave', oneByOne(of(300, 2_000)), 503],
    ['few that are created stay', creates(20), 200],
    ['many that are created leave', creates(300), 503],
    ['few with other words stay', updates(of(50, 3_000), { title: 'other' }), 200],
    ['many with other words leave', updates(of(300, 4_000), { title: 'other' }), 503],
    ['many whose words stay as they are stay', updates(of(300, 5_000), { shelfId: 3 }), 200],
  ])('%s', async (_, request, expected) => {
    const app = await openApp('sqlite', { sdl, data: {}, url, apart: ['false'] });
    const { status } = await app.rest(...request);
    await app.close();
    expect(status).toBe(expected);
  });
});
