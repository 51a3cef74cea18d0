/** Filters and orders on keys, references, unique and indexed fields find an index, on every database. */

import { Database } from 'bun:sqlite';
import { describe, expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type DatabaseKind, databases, openApp, sharedPostgres } from '../app.ts';

const sdl = `
  type Shelf @resource(plural: "shelves") { id: ID!  books: [Book!]! }
  type Book @resource @index(fields: ["lang", "pages"]) {
    id: ID!
    title: String! @index
    isbn: String @unique
    pages: Int @index
    lang: String!
    at: DateTime @index
    author: String! @caseless @index
    mail: String @caseless @unique
    shelf: Shelf
  }
  type Tag @resource { code: ID! @key  label: String }
  type Event @resource @search(fields: ["note"]) { id: UUID!  note: String }
  type Page @resource @search(fields: ["title", "text"]) { id: ID!  title: String  text: String  words: String  rank: Int  shelf: Shelf }`;

const paths = [
  '/books/1',
  '/books?id=1',
  '/books?id[in]=1,2,3',
  '/books?id[gt]=5&limit=10',
  '/books?limit=10',
  '/books?shelfId=1',
  '/books?shelfId[in]=1,2',
  '/books?isbn=x',
  '/books?isbn[startsWith]=978',
  '/books?title=x',
  '/books?title[startsWith]=Du',
  '/books?title[gte]=a&sort=title&limit=5',
  '/books?pages=1',
  '/books?pages[gte]=1&pages[lt]=9&limit=5',
  '/books?pages[isNull]=true&limit=5',
  '/books?sort=title&limit=5',
  '/books?sort=pages&limit=5',
  '/books?sort=-pages&limit=5',
  '/books?sort=at&limit=5',
  '/books?lang=en&pages=3',
  '/books?author=x',
  '/books?author[startsWith]=Du',
  '/books?author[gte]=a&sort=author&limit=5',
  '/books?sort=author&limit=5',
  '/books?mail=x',
  '/books?mail[in]=x,y',
  '/tags/x',
  '/tags?code[startsWith]=a',
  '/events?id=0190f5a0-7c1e-7a64-b3f5-2b1f3c0e9a11',
  '/shelves?limit=3&include=books&books[limit]=2',
];

/** Found by their words, which no plan may look for in the records themselves. */
const searched = [
  '/pages?search=left+ha&limit=5',
  '/pages?search=left+ha&limit=5&sort=-id',
  '/pages?search=left&id[gt]=3',
  '/pages?search=left+ha&sort=_relevance&limit=5',
  '/pages?search=left&sort=title',
  '/pages?search=left&rank=1&count=true',
  '/pages?search=left&aggregate=count',
  '/events?search=left&limit=5',
];

/** Where a database says that it looks words up. */
const finds: Record<DatabaseKind, RegExp> = {
  sqlite: /VIRTUAL TABLE INDEX \d+:M/,
  postgres: /Bitmap Index Scan on "?\w*_search_/,
};

/** Groups of all records, and how SQLite comes to them: an index alone, or one that ends early, but never one that leads to each. */
const grouped = [
  ['/books?groupBy=shelfId&aggregate=sum(pages)&sort=-sum(pages)&limit=3', /^SCAN Book$/m],
  ['/books?groupBy=shelfId,month(at)&aggregate=sum(pages)', /^SCAN Book$/m],
  ['/books?groupBy=shelfId&aggregate=count&having[max(lang)][gt]=a', /^SCAN Book$/m],
  ['/books?groupBy=author&aggregate=count&lang[ne]=en', /^SCAN Book$/m],
  ['/books?groupBy=shelfId&aggregate=count', /^SCAN Book USING COVERING INDEX/m],
  ['/books?groupBy=lang&aggregate=sum(pages)&sort=-sum(pages)', /^SCAN Book USING COVERING INDEX/m],
  ['/books?groupBy=shelfId&aggregate=sum(pages)&sort=shelfId&limit=3', /^SCAN Book USING INDEX/m],
] as const;

/** Read in the order of their keys until there are enough: that is the table itself, and ends early. */
const inKeyOrder = ['/books?limit=10', '/shelves?limit=3&include=books&books[limit]=2'];

/** Where a database says that it reads a whole table. */
const scans: Record<DatabaseKind, RegExp> = {
  sqlite: /^SCAN \w+$/m,
  postgres: /Seq Scan/,
};

/** Where it says that it looks values up. */
const searches: Record<DatabaseKind, RegExp> = { sqlite: /^SEARCH \w+ USING/m, postgres: /Index Cond: / };

async function explain(database: DatabaseKind, url: string, sql: string): Promise<string> {
  if (database === 'sqlite') {
    const db = new Database(url.slice('sqlite:'.length));
    const rows = db.query(`EXPLAIN QUERY PLAN ${sql}`).all() as { detail: string }[];
    db.close();
    return rows.map(({ detail }) => detail).join('\n');
  }
  const admin = new Bun.SQL(url, { max: 1 });
  // The tables are empty, and of an empty table the cheapest plan is to read it.
  await admin.unsafe('SET enable_seqscan = off');
  const rows = await admin.unsafe(`EXPLAIN (GENERIC_PLAN) ${sql}`);
  await admin.close();
  return rows.map((row: Record<string, string>) => row['QUERY PLAN']).join('\n');
}

describe.each([...databases])('on %s', async (database) => {
  const folder = mkdtempSync(join(tmpdir(), 'duet-'));
  const url =
    database === 'sqlite' ? `sqlite:${join(folder, 'x.db')}` : await (await sharedPostgres()).database();
  const app = await openApp(database, { sdl, url });
  // Not with the tables: an index that is made of one record would tell PostgreSQL that there is but one.
  for (const [path, body] of [
    ['/shelves', {}],
    ['/books', { title: 'a', author: 'A', lang: 'en', shelfId: 1 }],
  ] as const)
    expect((await app.rest('POST', path, body)).status).toBe(201);

  test.each(paths)('%s', async (path) => {
    const before = app.statements.length;
    expect((await app.rest('GET', path)).status).toBeLessThan(405);
    const statements = app.statements.slice(before);
    expect(statements.length).toBeGreaterThan(0);
    for (const sql of statements) {
      const plan = await explain(database, url, sql);
      const table = plan.replaceAll(/^SCAN (json_each|\().*$/gm, '');
      const isFilter = !inKeyOrder.includes(path) && !path.includes('sort=');
      if (isFilter) expect(plan, sql).toMatch(searches[database]);
      if (!inKeyOrder.includes(path)) expect(table, sql).not.toMatch(scans[database]);
      // Rows that come out of an index in their order need not be sorted; a tie-break by key may be.
      if (/sort=(title|pages|at)&/.test(path))
        expect(plan, sql).not.toMatch(/USE TEMP B-TREE FOR ORDER BY|Sort {2}\(/);
    }
  });

  test.each(searched)('%s', async (path) => {
    const before = app.statements.length;
    expect((await app.rest('GET', path)).status).toBe(200);
    const statements = app.statements.slice(before);
    expect(statements.length).toBe(path.includes('count=true') ? 2 : 1);
    for (const sql of statements) {
      const plan = await explain(database, url, sql);
      expect(plan, sql).toMatch(finds[database]);
      expect(plan, sql).not.toMatch(scans[database]);
      // In the order of keys it need not find all before the first: FTS5 has them in that order.
      if (
        database === 'sqlite' &&
        /limit=5($|&sort=-id)/.test(path) &&
        !path.includes('_relevance') &&
        path.startsWith('/pages')
      )
        expect(plan, sql).not.toMatch(/USE TEMP B-TREE|LIST SUBQUERY/);
    }
  });

  test.each(grouped)('%s', async (path, wanted) => {
    const before = app.statements.length;
    expect((await app.rest('GET', path)).status).toBe(200);
    const [sql = ''] = app.statements.slice(before);
    if (database === 'sqlite') expect(await explain(database, url, sql), sql).toMatch(wanted);
  });

  test('closes', async () => {
    await app.close();
    rmSync(folder, { recursive: true });
  });
});

test('PostgreSQL plans a statement once for all requests of a connection, also one without parameters', async () => {
  const url = await (await sharedPostgres()).database();
  const data = { tags: [{ code: 'a', label: 'x' }] };
  const app = await openApp('postgres', { sdl, url, data, env: { DATABASE_CONNECTIONS: '1' } });
  await using other = new Bun.SQL(url, { max: 1 });
  await other.unsafe(`
    ALTER TABLE "Tag" RENAME TO "_Tag";
    CREATE VIEW "Tag" AS SELECT code, _version, (
      SELECT string_agg((generic_plans + custom_plans)::text, '') FROM pg_prepared_statements WHERE statement LIKE '%"Tag"%'
    ) AS label FROM "_Tag"`);
  const plans = async () => (await app.rest('GET', '/tags?limit=10')).body[0].label;
  const first = Number(await plans());
  expect(await plans()).toBe(String(first + 1));
  await app.close();
});

test('PostgreSQL does not keep ever more statements, however many ways there are to ask', async () => {
  const url = await (await sharedPostgres()).database();
  const app = await openApp('postgres', { sdl, url, env: { DATABASE_CONNECTIONS: '2' } });
  await using other = new Bun.SQL(url, { max: 1 });
  await other.unsafe(`
    ALTER TABLE "Tag" RENAME TO "_Tag";
    CREATE VIEW "Tag" AS SELECT 'a' AS code, 1 AS _version, (SELECT count(*)::text FROM pg_prepared_statements) AS label`);
  let most = 0;
  for (let limit = 1; limit <= 1000; limit += 4) {
    const paths = [0, 1, 2, 3].map((more) => `/tags?limit=${limit + more}`);
    const wide = paths.map((path) => `${path}&code[gte]=a`);
    const answers = await Promise.all([...paths, ...wide].map((path) => app.rest('GET', path)));
    for (const { body } of answers) most = Math.max(most, Number(body[0].label));
  }
  expect(most).toBeGreaterThan(400);
  expect(most).toBeLessThan(600);
  await app.close();
});

test('PostgreSQL keeps few statements that are long', async () => {
  const url = await (await sharedPostgres()).database();
  const app = await openApp('postgres', { sdl, url, env: { DATABASE_CONNECTIONS: '1' } });
  await using other = new Bun.SQL(url, { max: 1 });
  await other.unsafe(`
    ALTER TABLE "Tag" RENAME TO "_Tag";
    CREATE VIEW "Tag" AS SELECT 'a' AS code, 1 AS _version,
      (SELECT sum(length(statement))::text FROM pg_prepared_statements) AS label`);
  let most = 0;
  for (let conditions = 450; conditions > 350; conditions--) {
    const where = { or: Array.from({ length: conditions }, () => ({ code: { eq: 'a' } })) };
    const { data } = await app.graphql('query ($where: TagWhere) { tags(where: $where) { label } }', {
      where,
    });
    most = Math.max(most, Number(data?.tags[0].label));
  }
  // The last of them may go beyond a million.
  expect(most).toBeGreaterThan(500_000);
  expect(most).toBeLessThan(1_100_000);
  await app.close();
}, 60_000);

test('PostgreSQL reads the table for totals of each shelf and month, and does not follow an index to each of its rows', async () => {
  const url = await (await sharedPostgres()).database();
  const app = await openApp('postgres', { sdl, url });
  await app.rest('GET', '/books?groupBy=shelfId,month(at)&aggregate=sum(pages)');
  const sql = app.statements.at(-1) ?? '';
  await app.close();
  await using other = new Bun.SQL(url, { max: 1 });
  await other.unsafe(`
    INSERT INTO "Shelf" (_version) SELECT 1 FROM generate_series(1, 100);
    INSERT INTO "Book" (title, author, lang, pages, at, "shelfId", _version)
      SELECT 'x', 'y', 'en', i, to_timestamp(1600000000 + i * 97 % 63000000), 1 + i % 100, 1 FROM generate_series(1::bigint, 20000) AS i;
    ANALYZE`);
  // However little it costs to follow one.
  await other.unsafe('SET random_page_cost = 0');
  const plan = await other.unsafe(`EXPLAIN ${sql}`);
  const text = plan.map((row: Record<string, string>) => row['QUERY PLAN']).join('\n');
  expect(text).toMatch(/Seq Scan on "Book"/);
  expect(text).not.toMatch(/Index/);
});

test('PostgreSQL looks a word up that few records have, also where it believes that many do', async () => {
  const url = await (await sharedPostgres()).database();
  const given = { sdl, url, env: { DATABASE_CONNECTIONS: '1' } };
  const app = await openApp('postgres', { ...given, data: {} });
  await using other = new Bun.SQL(url, { max: 1 });
  const [{ words }] = await other`SELECT attname AS words FROM pg_attribute
    WHERE attrelid = '"Page"'::regclass AND atttypid = 'tsvector'::regtype`;
  await other.unsafe(
    `INSERT INTO "Page" (title, _version, "${words}")
      SELECT 'w' || i % 50 || 'x r' || i % 2500 || 'x', 1, ('0w' || i % 50 || 'x 0r' || i % 2500 || 'x')::tsvector
      FROM generate_series(1, 10000) AS i`,
  );
  await other.unsafe('ANALYZE "Page"');
  const found = async (path: string) => (await app.rest('GET', path)).body.map(({ id }: any) => id);
  const every = (from: number, step: number, count: number) =>
    Array.from({ length: count }, (_, at) => from + step * at);
  expect(await found('/pages?search=w7x&limit=3')).toEqual([7, 57, 107]);
  expect(await found('/pages?search=w7x&limit=3&sort=-id')).toEqual([9957, 9907, 9857]);
  expect(await found('/pages?search=w7x&limit=3&offset=2')).toEqual([107, 157, 207]);
  // Six are among the first 300, and the others behind them.
  expect(await found('/pages?search=w7x&limit=20')).toEqual(every(7, 50, 20));
  expect(await found('/pages?search=w7x&limit=20&sort=-id')).toEqual(every(9957, -50, 20));
  expect(await found('/pages?search=w7x&limit=20&offset=5')).toEqual(every(257, 50, 20));
  expect(await found('/pages?search=w7x&limit=20&id[gt]=57')).toEqual(every(107, 50, 20));
  // There are too few for the page; of these one is among the first, and leads nowhere by itself.
  expect(await found('/pages?search=w7x&limit=20&id[gt]=9500')).toEqual(every(9507, 50, 10));
  expect(await found('/pages?search=nowhere&limit=5')).toEqual([]);
  for (let at = 0; at < 5; at++)
    expect(await found('/pages?search=r7x&limit=20')).toEqual([7, 2507, 5007, 7507]);
  await app.close();
  // A connection tells what it has read when it ends.
  const read = async () => {
    const [row] = await other`SELECT seq_tup_read + idx_tup_fetch AS read
      FROM pg_stat_user_tables WHERE relname = 'Page'`;
    return Number(row.read);
  };
  while ((await read()) === 0) await Bun.sleep(20);
  expect(await read()).toBeLessThan(13_000);
});
