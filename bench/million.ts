/** Search and totals over a million records on both databases, beside the same written by hand in SQL. */

import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import type { Effort } from './compare.ts';
import { duet } from './duet.ts';
import { type Ask, get, median, send } from './load.ts';
import { fillDuet, fillDuetPostgres, fillHand, fillHandPostgres } from './million-data.ts';
import type { Databases } from './postgres.ts';
import { type Command, Process } from './process.ts';

const schema = `
type Article @resource @search(fields: ["title", "text"]) { id: ID!  title: String!  text: String! }
type Customer @resource { id: ID!  name: String!  orders: [Order!]! }
type Order @resource { id: ID!  customer: Customer!  total: Decimal! @decimal(scale: 2)  at: DateTime! }
`;

const PAGE = 20;
/** Totals of a million records take a second, and many of them on a machine that does other things. */
const env = { DATABASE_STATEMENT_TIMEOUT: '60000', LIMIT_DEADLINE: '60000' };
/** No question is asked for longer, however slow the machine is; but it is asked a few times at least. */
const LONGEST_MS = 60_000;
const FEWEST = 3;

const found = {
  SQLite: (word: string) =>
    `SELECT a.id, a.title, a.text FROM words CROSS JOIN articles a ON a.id = words.rowid WHERE words MATCH '${word}*' ORDER BY words.rowid LIMIT ${PAGE}`,
  PostgreSQL: (word: string) =>
    `SELECT id, title, text FROM articles WHERE words @@ '${word}:*'::tsquery ORDER BY id LIMIT ${PAGE}`,
};

/** By hand as quick as it gets: `+` keeps SQLite from following the index of customers to each order. */
export const questions = {
  search: {
    title: `search, a page of ${PAGE} by a word that one record in 50 has`,
    ask: get(`/articles?search=w7x&limit=${PAGE}`),
    SQLite: found.SQLite('w7x'),
    PostgreSQL: found.PostgreSQL('w7x'),
    most: 3,
  },
  rare: {
    title: 'search by a word that few records have',
    ask: get(`/articles?search=r123x&limit=${PAGE}`),
    SQLite: found.SQLite('r123x'),
    // The statement above would follow the order of keys through 400,000 records, for seconds.
    PostgreSQL: `WITH found AS MATERIALIZED (SELECT id, title, text FROM articles WHERE words @@ 'r123x:*'::tsquery) SELECT * FROM found ORDER BY id LIMIT ${PAGE}`,
    most: 3,
  },
  groups: {
    title: 'totals per customer and month',
    ask: get('/orders?groupBy=customerId,month(at)&aggregate=sum(total)'),
    SQLite:
      'SELECT customer_id, substr(at, 1, 7) AS month, SUM(total) AS total FROM orders GROUP BY +customer_id, 2 ORDER BY 1, 2',
    PostgreSQL:
      "SELECT customer_id, date_trunc('month', at AT TIME ZONE 'UTC')::date AS month, SUM(total)::text AS total FROM orders GROUP BY 1, 2 ORDER BY 1, 2",
    most: 1.3,
  },
  top: {
    title: 'the ten best customers',
    ask: get('/orders?groupBy=customerId&aggregate=sum(total)&sort=-sum(total)&limit=10'),
    SQLite:
      'SELECT customer_id, SUM(total) AS total FROM orders GROUP BY +customer_id ORDER BY 2 DESC, 1 LIMIT 10',
    PostgreSQL:
      'SELECT customer_id, SUM(total)::text AS total FROM orders GROUP BY 1 ORDER BY SUM(total) DESC, 1 LIMIT 10',
    most: 1.3,
  },
} as const satisfies Record<string, { title: string; ask: Ask; most: number } & Record<Base, string>>;

export type Question = keyof typeof questions;
export type Base = keyof typeof found;

/** Milliseconds; the ratio is the median of those of each round. */
export interface Compared {
  readonly duet: number;
  readonly hand: number;
  readonly ratio: number;
  readonly p99: number;
}

export interface Million {
  readonly records: number;
  readonly found: Readonly<Record<Base, Readonly<Record<Question, Compared>>>>;
}

export async function million(effort: Effort, folder: string, databases: Databases): Promise<Million> {
  const records = effort.quick ? 20_000 : 1_000_000;
  return {
    records,
    found: {
      SQLite: await onSqlite(records, effort, folder, databases),
      PostgreSQL: await onPostgres(records, effort, folder, databases),
    },
  };
}

async function onSqlite(records: number, effort: Effort, folder: string, databases: Databases) {
  const command = duet({ folder, schema, env, ready: get('/healthz') });
  await (await Process.start(command, databases)).stop();
  console.error(`bench: ${records} articles and orders in SQLite`);
  fillDuet(join(command.cwd, 'duet.db'), records);
  const file = join(command.cwd, 'hand.db');
  fillHand(file, records);
  return compareAll('SQLite', command, { DATABASE_FILE: file }, effort, folder, databases);
}

async function onPostgres(records: number, effort: Effort, folder: string, databases: Databases) {
  const [own, hand] = [await databases.make(), await databases.make()];
  const command = duet({ folder, schema, env, url: own, ready: get('/healthz') });
  await (await Process.start(command, databases)).stop();
  console.error(`bench: ${records} articles and orders in PostgreSQL`);
  await fillDuetPostgres(own, records);
  await fillHandPostgres(hand, records);
  return compareAll('PostgreSQL', command, { DATABASE_URL: hand }, effort, folder, databases);
}

async function compareAll(
  base: Base,
  command: Command,
  hands: Record<string, string>,
  effort: Effort,
  folder: string,
  databases: Databases,
) {
  const names = Object.keys(questions) as Question[];
  const statements = Object.fromEntries(names.map((name) => [name, questions[name][base]]));
  const server = await Process.start(command, databases);
  const hand = await Process.start(
    {
      run: [process.execPath, '--no-env-file', join(import.meta.dir, 'limit/million.ts')],
      env: { ...hands, STATEMENTS: JSON.stringify(statements) },
      cwd: mkdtempSync(join(folder, 'hand-')),
      ready: get('/rare'),
    },
    databases,
  );
  try {
    const all = {} as Record<Question, Compared>;
    for (const name of names) {
      console.error(`bench: ${base}: ${questions[name].title}`);
      const outcome = await compared(server.url, hand.url, name, effort);
      console.error(`bench: ${JSON.stringify(outcome)}`);
      all[name] = outcome;
    }
    return all;
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
  const until = performance.now() + LONGEST_MS;
  for (let round = 0; round <= times; round++) {
    if (round > FEWEST && performance.now() > until) break;
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
