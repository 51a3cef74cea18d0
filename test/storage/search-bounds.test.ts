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

test('and is answered there', async () => {
  const app = await openApp('sqlite', { sdl, data: {}, url });
  for (const path of large) expect([path, (await app.rest('GET', path)).status]).toEqual([path, 200]);
  expect((await app.rest('GET', '/books?search=word3&aggregate=count')).body).toEqual([{ count: 4286 }]);
  const { body } = await app.rest('GET', '/books?search=17&limit=2&sort=_relevance&fields=id');
  expect(body).toEqual([{ id: 17 }, { id: 170 }]);
  await app.close();
});
