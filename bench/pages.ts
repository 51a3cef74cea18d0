/** What the last page of a million rows costs beside the first, on every database, in one run. */

import { Database } from 'bun:sqlite';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readConfig } from '../src/config.ts';
import { openWriter } from '../src/deployment.ts';
import { everything } from '../src/query/filter.ts';
import { cursorOf, type OrderBy, queryName, totalOrder } from '../src/query/order.ts';
import { readSchema } from '../src/schema/read.ts';
import { createApp } from '../src/server.ts';
import { evolve } from '../src/storage/evolve/evolve.ts';
import { openDatabase } from '../src/storage/open.ts';
import { endAll, Postgres } from '../test/postgres.ts';

const ROWS = 1_000_000;
const PAGE = 100;
const ROUNDS = 41;

const { model } = readSchema('type Row @resource { id: ID!  n: Int! @index  text: String! }');
const resource = model?.resources[0];
if (!model || !resource) throw new Error('the schema is not sound');

const folder = mkdtempSync(join(tmpdir(), 'duet-bench-'));
const postgres = await Postgres.start();
const urls = { SQLite: `sqlite:${join(folder, 'x.db')}`, PostgreSQL: await postgres.database() };

async function fill(url: string): Promise<void> {
  const n = '(i * 7919) % 1000003';
  if (url.startsWith('sqlite:')) {
    const db = new Database(url.slice('sqlite:'.length));
    db.run(
      `WITH RECURSIVE s(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM s WHERE i < ${ROWS}) INSERT INTO "Row" ("id", "n", "text", "_version") SELECT i, ${n}, 'row ' || i, 1 FROM s`,
    );
    db.run('ANALYZE');
    return db.close();
  }
  const sql = new Bun.SQL(url, { max: 1 });
  await sql.unsafe(
    `INSERT INTO "Row" ("id", "n", "text", "_version") SELECT i, ${n}, 'row ' || i, 1 FROM generate_series(1::bigint, ${ROWS}) AS s(i)`,
  );
  await sql.unsafe('ANALYZE "Row"');
  await sql.close();
}

const median = (values: number[]) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;

console.log(
  `| ${ROWS} rows, pages of ${PAGE} | page 1, µs | page ${ROWS / PAGE}, µs | ratio |\n|---|---|---|---|`,
);
for (const [name, url] of Object.entries(urls)) {
  const { config } = readConfig([], { DATABASE_URL: url });
  if (!config) throw new Error('the settings are not sound');
  const database = openDatabase(config, model);
  const { deprecatedSince } = await evolve(database, model, function* () {});
  await fill(url);
  const writer = openWriter(config, model, database, console.error);
  const app = createApp({ model, storage: database, writer, config, deprecatedSince, observe: () => {} });
  for (const sort of ['id', 'n']) {
    const column = resource.columns.find((each) => each.name === sort);
    const wanted: OrderBy[] = column ? [{ column, descending: false }] : [];
    const order = totalOrder(resource, wanted);
    const beforeLast = (await (
      await app.fetch(new Request(`http://x/rows?sort=-${sort}&limit=${PAGE + 1}`))
    ).json()) as Record<string, unknown>[];
    const after = cursorOf(queryName(resource, everything, order), order, beforeLast.at(-1) ?? {});
    const first = `http://x/rows?sort=${sort}&limit=${PAGE}`;
    const last = `${first}&after=${after}`;
    const time = async (path: string) => {
      const start = performance.now();
      const rows = (await (await app.fetch(new Request(path))).json()) as unknown[];
      if (rows.length !== PAGE) throw new Error(`${path} gave ${rows.length} rows`);
      return (performance.now() - start) * 1000;
    };
    const rounds: { first: number; last: number }[] = [];
    for (let round = 0; round < ROUNDS; round++)
      rounds.push({ first: await time(first), last: await time(last) });
    const ratio = median(rounds.map((round) => round.last / round.first));
    const [a, b] = [median(rounds.map((round) => round.first)), median(rounds.map((round) => round.last))];
    console.log(`| ${name}, sort=${sort} | ${a.toFixed(0)} | ${b.toFixed(0)} | ${ratio.toFixed(2)} |`);
  }
  await database.close();
}
await endAll();
rmSync(folder, { recursive: true });
