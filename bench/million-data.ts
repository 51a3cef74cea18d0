/** A million articles and orders, as Duet keeps them and as a person would; written past Duet, which would take its time. */

import { Database } from 'bun:sqlite';
import { splitsWords } from '../src/storage/sqlite/words.ts';

const CUSTOMERS = 1_000;

/** The numbers from 1 to n, as `i`. */
const numbers = (n: number) =>
  `(WITH RECURSIVE s(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM s WHERE i < ${n}) SELECT i FROM s)`;
/** Twenty words in all, of which one is that of 50 records and the others are those of many. */
const title = (n: number) => `'r' || (i % ${Math.ceil(n / 50)}) || 'x'`;
const text = Array.from(
  { length: 19 },
  (_, at) => `'w' || (i * ${2 * at + 3} / 7 % ${950 + at}) || 'x'`,
).join(" || ' ' || ");
const time = `strftime('%Y-%m-%dT%H:%M:%S.000Z', 1600000000 + i * 97 % 63000000, 'unixepoch')`;

/** With the words that its triggers keep. */
export function fillDuet(path: string, records: number): void {
  const db = new Database(path);
  splitsWords(db);
  db.run(
    `INSERT INTO "Article" ("id", "title", "text", "_version") SELECT i, ${title(records)}, ${text}, 1 FROM ${numbers(records)}`,
  );
  db.run(
    `INSERT INTO "Customer" ("id", "name", "_version") SELECT i, 'Customer ' || i, 1 FROM ${numbers(CUSTOMERS)}`,
  );
  db.run(
    `INSERT INTO "Order" ("id", "customerId", "total", "at", "_version") SELECT i, 1 + i * 7919 % ${CUSTOMERS}, i * 31 % 100000, ${time}, 1 FROM ${numbers(records)}`,
  );
  db.run('ANALYZE');
  db.close();
}

export function fillHand(path: string, records: number): void {
  const db = new Database(path, { create: true });
  db.run('PRAGMA journal_mode = WAL');
  db.run('CREATE TABLE articles (id INTEGER PRIMARY KEY, title TEXT NOT NULL, text TEXT NOT NULL)');
  db.run(`INSERT INTO articles SELECT i, ${title(records)}, ${text} FROM ${numbers(records)}`);
  db.run("CREATE VIRTUAL TABLE words USING fts5(title, text, content='articles', content_rowid='id')");
  db.run("INSERT INTO words (words) VALUES ('rebuild')");
  db.run(
    'CREATE TABLE orders (id INTEGER PRIMARY KEY, customer_id INTEGER NOT NULL, total INTEGER NOT NULL, at TEXT NOT NULL)',
  );
  db.run(
    `INSERT INTO orders SELECT i, 1 + i * 7919 % ${CUSTOMERS}, i * 31 % 100000, ${time} FROM ${numbers(records)}`,
  );
  db.run('CREATE INDEX orders_customer ON orders (customer_id, id)');
  db.run('ANALYZE');
  db.close();
}

/** The same there: each number in a row of its own, and times. */
const series = (n: number) => `generate_series(1::bigint, ${n}) AS i`;
const moment = 'to_timestamp(1600000000 + i * 97 % 63000000)';

async function runAll(url: string, statements: readonly string[]): Promise<void> {
  const sql = new Bun.SQL(url, { max: 1 });
  for (const statement of statements) await sql.unsafe(statement);
  await sql.close();
}

/** With the words that a server splits: those of the first field begin with 0, those of the second with 1. */
export async function fillDuetPostgres(url: string, records: number): Promise<void> {
  const sql = new Bun.SQL(url, { max: 1 });
  const [{ words }] = await sql`SELECT attname AS words FROM pg_attribute
    WHERE attrelid = '"Article"'::regclass AND atttypid = 'tsvector'::regtype`;
  const [index] = await sql`SELECT indexname AS name, indexdef AS made FROM pg_indexes
    WHERE tablename = 'Article' AND indexdef LIKE '%USING gin%'`;
  await sql.close();
  await runAll(url, [
    // To make it afterwards takes a fraction of the time.
    `DROP INDEX "${index.name}"`,
    `INSERT INTO "Article" ("id", "title", "text", "_version", "${words}")
      SELECT i, title, text, 1, ('0' || title || ' 1' || replace(text, ' ', ' 1'))::tsvector
      FROM (SELECT i, ${title(records)} AS title, ${text} AS text FROM ${series(records)}) AS made`,
    index.made,
    `INSERT INTO "Customer" ("id", "name", "_version") SELECT i, 'Customer ' || i, 1 FROM ${series(CUSTOMERS)}`,
    `INSERT INTO "Order" ("id", "customerId", "total", "at", "_version")
      SELECT i, 1 + i * 7919 % ${CUSTOMERS}, (i * 31 % 100000) / 100.0, ${moment}, 1 FROM ${series(records)}`,
    'VACUUM ANALYZE',
  ]);
}

export async function fillHandPostgres(url: string, records: number): Promise<void> {
  await runAll(url, [
    'CREATE TABLE articles (id bigint PRIMARY KEY, title text NOT NULL, text text NOT NULL, words tsvector NOT NULL)',
    `INSERT INTO articles SELECT i, title, text, to_tsvector('simple', title || ' ' || text)
      FROM (SELECT i, ${title(records)} AS title, ${text} AS text FROM ${series(records)}) AS made`,
    'CREATE INDEX articles_words ON articles USING gin (words)',
    'CREATE TABLE orders (id bigint PRIMARY KEY, customer_id bigint NOT NULL, total numeric(19,2) NOT NULL, at timestamptz NOT NULL)',
    `INSERT INTO orders SELECT i, 1 + i * 7919 % ${CUSTOMERS}, (i * 31 % 100000) / 100.0, ${moment} FROM ${series(records)}`,
    'CREATE INDEX orders_customer ON orders (customer_id, id)',
    'VACUUM ANALYZE',
  ]);
}
