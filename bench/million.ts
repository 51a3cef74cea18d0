/** Search and totals over a million records on SQLite, beside the same written by hand in SQL. */

import { Database } from 'bun:sqlite';
import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { splitsWords } from '../src/storage/sqlite/words.ts';
import type { Effort } from './compare.ts';
import { duet } from './duet.ts';
import { type Ask, get, median, send } from './load.ts';
import type { Databases } from './postgres.ts';
import { Process } from './process.ts';

const schema = `
type Article @resource @search(fields: ["title", "text"]) { id: ID!  title: String!  text: String! }
type Customer @resource { id: ID!  name: String!  orders: [Order!]! }
type Order @resource { id: ID!  customer: Customer!  total: Decimal! @decimal(scale: 2)  at: DateTime! }
`;

const CUSTOMERS = 1_000;
const PAGE = 20;

/** By hand as quick as it gets: `+` keeps SQLite from following the index of customers to each order. */
export const questions = {
  search: {
    title: `search, a page of ${PAGE} by a word that one record in 50 has`,
    ask: get(`/articles?search=w7x&limit=${PAGE}`),
    sql: `SELECT a.id, a.title, a.text FROM words CROSS JOIN articles a ON a.id = words.rowid WHERE words MATCH 'w7x*' ORDER BY words.rowid LIMIT ${PAGE}`,
    most: 3,
  },
  rare: {
    title: 'search by a word that few records have',
    ask: get(`/articles?search=r123x&limit=${PAGE}`),
    sql: `SELECT a.id, a.title, a.text FROM words CROSS JOIN articles a ON a.id = words.rowid WHERE words MATCH 'r123x*' ORDER BY words.rowid LIMIT ${PAGE}`,
    most: 3,
  },
  groups: {
    title: 'totals per customer and month',
    ask: get('/orders?groupBy=customerId,month(at)&aggregate=sum(total)'),
    sql: 'SELECT customer_id, substr(at, 1, 7) AS month, SUM(total) AS total FROM orders GROUP BY +customer_id, 2 ORDER BY 1, 2',
    most: 1.3,
  },
  top: {
    title: 'the ten best customers',
    ask: get('/orders?groupBy=customerId&aggregate=sum(total)&sort=-sum(total)&limit=10'),
    sql: 'SELECT customer_id, SUM(total) AS total FROM orders GROUP BY +customer_id ORDER BY 2 DESC, 1 LIMIT 10',
    most: 1.3,
  },
} as const satisfies Record<string, { title: string; ask: Ask; sql: string; most: number }>;

export type Question = keyof typeof questions;

export interface Million {
  readonly records: number;
  /** Milliseconds; the ratio is the median of those of each round. */
  readonly found: Readonly<
    Record<
      Question,
      { readonly duet: number; readonly hand: number; readonly ratio: number; readonly p99: number }
    >
  >;
}

export async function million(effort: Effort, folder: string, databases: Databases): Promise<Million> {
  const records = effort.quick ? 20_000 : 1_000_000;
  const command = duet({ folder, schema, ready: get('/healthz') });
  await (await Process.start(command, databases)).stop();
  console.error(`bench: ${records} articles and orders`);
  fillDuet(join(command.cwd, 'duet.db'), records);
  const file = join(command.cwd, 'hand.db');
  fillByHand(file, records);
  const names = Object.keys(questions) as Question[];
  const statements = Object.fromEntries(names.map((name) => [name, questions[name].sql]));
  const server = await Process.start(command, databases);
  const hand = await Process.start(
    {
      run: [process.execPath, '--no-env-file', join(import.meta.dir, 'limit/million.ts')],
      env: { DATABASE_FILE: file, STATEMENTS: JSON.stringify(statements) },
      cwd: mkdtempSync(join(folder, 'hand-')),
      ready: get('/rare'),
    },
    databases,
  );
  try {
    const found = {} as Record<Question, Million['found'][Question]>;
    for (const name of names) {
      console.error(`bench: ${questions[name].title}`);
      found[name] = await compared(server.url, hand.url, name, effort);
    }
    return { records, found };
  } finally {
    await server.stop();
    await hand.stop();
  }
}

async function compared(url: string, hand: string, name: Question, { rounds, quick }: Effort) {
  const { ask } = questions[name];
  const own: number[] = [];
  const others: number[] = [];
  const times = (name === 'rare' ? 40 : 4) * (quick ? 1 : rounds);
  for (let round = 0; round <= times; round++) {
    const [mine, theirs] = [await timed(url, ask), await timed(hand, get(`/${name}`))];
    if (mine.length !== theirs.length)
      throw new Error(`${ask.path}: ${mine.length} records instead of ${theirs.length}`);
    // The first round only warms up.
    if (round === 0) continue;
    own.push(mine.ms);
    others.push(theirs.ms);
  }
  const p99 = own.toSorted((a, b) => a - b)[Math.floor(own.length * 0.99)] ?? Number.NaN;
  const ratio = median(own.map((each, at) => each / (others[at] ?? Number.NaN)));
  return { duet: median(own), hand: median(others), ratio, p99 };
}

async function timed(url: string, ask: Ask): Promise<{ readonly ms: number; readonly length: number }> {
  const begun = performance.now();
  const answer = await send(url, ask);
  const body = await answer.text();
  const ms = performance.now() - begun;
  if (!answer.ok) throw new Error(`${ask.path}: ${answer.status} ${body.slice(0, 500)}`);
  return { ms, length: (JSON.parse(body) as unknown[]).length };
}

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

/** Written past Duet, but with the words that its triggers keep. */
function fillDuet(path: string, records: number): void {
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

function fillByHand(path: string, records: number): void {
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
