/** Durable writes on PostgreSQL beside `pgbench`, which sends one prepared statement for each over as many connections. */

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Effort } from './compare.ts';
import { BOOKS, fillFile } from './data.ts';
import { duet } from './duet.ts';
import { type Ask, median, post, put } from './load.ts';
import type { Databases } from './postgres.ts';
import { Process } from './process.ts';

/** `DATABASE_CONNECTIONS` as it comes. */
const CONNECTIONS = 10;

interface Write {
  readonly title: string;
  readonly ask: Ask;
  /** The same as one statement on the same table. */
  readonly sql: string;
}

const writes: readonly Write[] = [
  {
    title: 'creates',
    ask: post('/notes', { title: 'Note {id}', body: 'Written down.' }),
    sql: `INSERT INTO "Note" ("title", "body", "_version") VALUES ('Note ' || :id, 'Written down.', 1) RETURNING *;`,
  },
  {
    title: 'updates',
    ask: put('/books/{id}', { title: 'Book {id} again' }),
    sql: `UPDATE "Book" SET "title" = 'Book ' || :id || ' again', "_version" = "_version" + 1 WHERE "id" = (:id)::bigint RETURNING *;`,
  },
];

export interface Written {
  readonly title: string;
  /** A second. */
  readonly duet: number;
  readonly pgbench: number;
  /** The median of the ratios of each round. */
  readonly share: number;
}

/** Nothing where there is no `pgbench`: it comes with the server of PostgreSQL, not with the one that npm installs. */
export async function pgbenchBench(
  effort: Effort,
  folder: string,
  databases: Databases,
): Promise<Written[] | undefined> {
  if (!Bun.which('pgbench')) {
    console.error('bench: `pgbench` is not installed, so writes are not held against it');
    return undefined;
  }
  const data = join(folder, 'pgbench.json');
  fillFile(data);
  const url = await databases.make();
  const server = await Process.start(duet({ folder, data, url }), databases);
  try {
    await databases.analyze();
    const all: Written[] = [];
    for (const { title, ask, sql } of writes) {
      console.error(`bench: ${title} on PostgreSQL beside pgbench`);
      const script = join(folder, `${title}.sql`);
      writeFileSync(script, `\\set id random(1, ${BOOKS})\n${sql}\n`);
      const rounds: { own: number; other: number }[] = [];
      // The first round only warms up.
      for (let round = 0; round <= effort.rounds; round++) {
        const { perSecond: own } = await server.press(ask, effort);
        const other = await perSecond(script, url, effort.seconds);
        if (round > 0) rounds.push({ own, other });
      }
      all.push({
        title,
        duet: median(rounds.map(({ own }) => own)),
        pgbench: median(rounds.map(({ other }) => other)),
        share: median(rounds.map(({ own, other }) => own / other)),
      });
    }
    return all;
  } finally {
    await server.stop();
  }
}

async function perSecond(script: string, url: string, seconds: number): Promise<number> {
  const load = ['-c', String(CONNECTIONS), '-j', '1', '-T', String(seconds)];
  const child = Bun.spawn(['pgbench', '-n', '-M', 'prepared', ...load, '-f', script, url], {
    stdout: 'pipe',
    stderr: 'pipe',
  });
  const [text, trouble, exit] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
  const found = /^tps = ([\d.]+)/m.exec(text)?.[1];
  if (exit !== 0 || found === undefined) throw new Error(`pgbench: ${trouble}${text}`);
  return Number(found);
}
