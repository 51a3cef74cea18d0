/** How Duet's costs grow: with rows, connections, resources, the size of a document; and what it keeps in memory. */

import { Database } from 'bun:sqlite';
import { cpus } from 'node:os';
import { join } from 'node:path';
import type { Effort } from './compare.ts';
import { COMMENTS_PER_POST, POSTS_PER_USER } from './data.ts';
import { NESTED } from './documents.ts';
import { duet } from './duet.ts';
import { type Ask, get, median, type Pressure, post, send } from './load.ts';
import type { Databases } from './postgres.ts';
import { Process } from './process.ts';
import { FIRST_USERS, PAGE } from './rows.ts';

export interface Table {
  readonly title: string;
  readonly head: readonly string[];
  readonly rows: readonly (readonly (string | number)[])[];
  readonly note?: string;
}

export interface Growth {
  readonly tables: readonly Table[];
  /** Start to first answer in ms and memory at rest in MB, by number of resources. */
  readonly schemas: readonly {
    readonly resources: number;
    readonly firstAnswerMs: number;
    readonly memory: number;
  }[];
  /** Creates with two processes behind one port, of those with one. */
  readonly creates: number;
}

interface Bench {
  readonly effort: Effort;
  readonly folder: string;
  readonly databases: Databases;
}

const nested = post('/graphql', { query: NESTED, variables: { first: FIRST_USERS } });

export async function growth(bench: Bench): Promise<Growth> {
  const { table: bySchema, schemas } = await growthOfSchema(bench);
  const { table: byWorkers, creates } = await growthOfWorkers(bench);
  return {
    tables: [
      await growthOfRows(bench, 'SQLite'),
      await growthOfRows(bench, 'PostgreSQL'),
      ...(await growthOfLoad(bench)),
      byWorkers,
      bySchema,
    ],
    schemas,
    creates,
  };
}

async function perSecond({ effort }: Bench, server: Process, ask: Ask, more: Partial<Pressure> = {}) {
  const rounds: number[] = [];
  for (let round = 0; round < Math.max(1, Math.ceil(effort.rounds / 2)); round++)
    rounds.push((await server.press(ask, { seconds: effort.seconds, ...more })).perSecond);
  return Math.round(median(rounds));
}

async function growthOfRows(bench: Bench, database: 'SQLite' | 'PostgreSQL'): Promise<Table> {
  const table: (string | number)[][] = [];
  for (const count of bench.effort.quick ? [1_000, 10_000] : [1_000, 10_000, 100_000, 1_000_000]) {
    console.error(`bench: ${count} rows on ${database}`);
    const url = database === 'SQLite' ? undefined : await bench.databases.make();
    const command = duet({ folder: bench.folder, url });
    const server = await Process.start(command, bench.databases);
    try {
      await fill(count, url ?? join(command.cwd, 'duet.db'));
      const deep = get(`/books?limit=${PAGE}&after=${await lastPageBegins(server.url)}`);
      const asks = [get('/books/{id}'), get(`/books?limit=${PAGE}`), deep, nested];
      const cells: number[] = [];
      for (const ask of asks) cells.push(await perSecond(bench, server, ask, { most: count }));
      table.push([count, ...cells]);
    } finally {
      await server.stop();
    }
  }
  const [first = [], last = []] = [table[0], table.at(-1)];
  const ratio = last.slice(1).map((value, at) => (Number(value) / Number(first[at + 1])).toFixed(2));
  return {
    title: `Rows, ${database}: requests/s`,
    head: [
      'rows',
      '`GET /books/{id}`',
      'first page of 100',
      'last page of 100',
      '20 users → posts → comments',
    ],
    rows: [...table, ['last : first', ...ratio]],
  };
}

/** So many books and comments, with posts and users in proportion, written past Duet: only reads follow. */
async function fill(count: number, target: string): Promise<void> {
  const posts = Math.ceil(count / COMMENTS_PER_POST);
  const users = Math.ceil(posts / POSTS_PER_USER);
  const inserts = (numbers: (n: number) => string) => [
    `INSERT INTO "User" ("id", "name", "email", "_version") SELECT i, 'User ' || i, 'user' || i || '@example.com', 1 FROM ${numbers(users)}`,
    `INSERT INTO "Post" ("id", "title", "body", "authorId", "_version") SELECT i, 'Post ' || i, 'b', (i - 1) / ${POSTS_PER_USER} + 1, 1 FROM ${numbers(posts)}`,
    `INSERT INTO "Comment" ("id", "body", "postId", "_version") SELECT i, 'Comment ' || i, (i - 1) / ${COMMENTS_PER_POST} + 1, 1 FROM ${numbers(count)}`,
    `INSERT INTO "Book" ("id", "title", "author", "pages", "_version") SELECT i, 'Book ' || i, 'Author ' || i % 500, 1 + i % 900, 1 FROM ${numbers(count)}`,
  ];
  if (target.startsWith('postgres:')) {
    const sql = new Bun.SQL(target, { max: 1 });
    for (const insert of inserts((n) => `generate_series(1, ${n}) AS s(i)`)) await sql.unsafe(insert);
    await sql.unsafe('ANALYZE');
    return sql.close();
  }
  const db = new Database(target);
  // A server that has just begun may write there, too.
  db.run('PRAGMA busy_timeout = 10000');
  const numbers = (n: number) =>
    `(WITH RECURSIVE s(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM s WHERE i < ${n}) SELECT i FROM s)`;
  for (const insert of inserts(numbers)) db.run(insert);
  db.run('ANALYZE');
  db.close();
}

/** A cursor of one door works at the other: GraphQL can look from the end. */
async function lastPageBegins(url: string): Promise<string> {
  const query = `{ booksConnection(last: ${PAGE + 1}) { pageInfo { startCursor } } }`;
  const answer = await send(url, post('/graphql', { query }));
  const { data } = (await answer.json()) as {
    data: { booksConnection: { pageInfo: { startCursor: string } } };
  };
  return data.booksConnection.pageInfo.startCursor;
}

/** Up to `LIMIT_ROOT_FIELDS` and `LIMIT_ALIASES` as they come. */
const ROOT_FIELDS = [1, 3, 10, 30];

/** Connections, documents and memory, on one server with the data of the comparison. */
async function growthOfLoad(bench: Bench): Promise<Table[]> {
  const command = duet({ folder: bench.folder });
  const server = await Process.start(command, bench.databases);
  try {
    await fill(10_000, join(command.cwd, 'duet.db'));
    const memory = await memoryUnderLoad(bench, server);
    return [await growthOfConnections(bench, server), await growthOfDocuments(bench, server), memory];
  } finally {
    await server.stop();
  }
}

async function memoryUnderLoad({ effort }: Bench, server: Process): Promise<Table> {
  await Bun.sleep(1000);
  const table: (string | number)[][] = [['at rest', Math.round(server.memory().now), '']];
  const loads: [string, Ask, number][] = [
    ['`GET /books/{id}`, 32 connections', get('/books/{id}'), 32],
    ['list of 100 books, 32 connections', get(`/books?limit=${PAGE}`), 32],
    ['20 users → posts → comments, 32 connections', nested, 32],
    ['create, 32 connections', post('/notes', { title: 'Note {id}' }), 32],
    ['20 users → posts → comments, 1,000 connections', nested, 1000],
  ];
  for (const [name, ask, connections] of loads) {
    const seconds = effort.seconds * (effort.quick ? 1 : 3);
    await server.press(ask, { seconds, connections, mayRefuse: true });
    const { now, most } = server.memory();
    table.push([name, Math.round(now), Math.round(most)]);
  }
  await Bun.sleep(effort.quick ? 1000 : 10_000);
  table.push(['at rest again', Math.round(server.memory().now), '']);
  return {
    title: 'Resident memory, SQLite, 10,000 books: MB',
    head: ['', 'after it', 'most so far'],
    rows: table,
  };
}

async function growthOfConnections({ effort }: Bench, server: Process): Promise<Table> {
  const table: (string | number)[][] = [];
  for (const connections of [1, 10, 32, 100, 316, 1000]) {
    const found = await server.press(get('/books/{id}'), { seconds: effort.seconds, connections });
    table.push([connections, Math.round(found.perSecond), found.p50.toFixed(2), found.p99.toFixed(2)]);
  }
  return {
    title: 'Connections, SQLite, `GET /books/{id}`',
    head: ['connections', 'requests/s', 'p50, ms', 'p99, ms'],
    rows: table,
  };
}

async function growthOfDocuments(bench: Bench, server: Process): Promise<Table> {
  const table: (string | number)[][] = [];
  for (const fields of ROOT_FIELDS) {
    const text = `{ ${Array.from({ length: fields }, (_, i) => `b${i}: book(id: ${i + 1}) { id title author pages }`).join(' ')} }`;
    const known = await perSecond(bench, server, post('/graphql', { query: text }));
    const anew = await perSecond(bench, server, post('/graphql', { query: `#{id}\n${text}` }), { most: 1e9 });
    table.push([fields, text.length, known, anew]);
  }
  return {
    title: 'Size of a GraphQL document, SQLite: requests/s',
    head: ['root fields', 'characters', 'the same text each time', 'a new text each time'],
    rows: table,
  };
}

/** Round by round with one process and with several: what each more gives while `wrk` takes its share of the machine. */
async function growthOfWorkers(bench: Bench): Promise<{ table: Table; creates: number }> {
  const asks: [string, Ask][] = [
    ['`GET /books/{id}`', get('/books/{id}')],
    ['list of 100 books', get(`/books?limit=${PAGE}`)],
    ['20 users → posts → comments', nested],
    ['create', post('/notes', { title: 'Note {id}' })],
  ];
  const counts = [1, 2];
  const servers: Process[] = [];
  try {
    for (const workers of counts) {
      const command = duet({ folder: bench.folder, workers });
      servers.push(await Process.start(command, bench.databases));
      await fill(10_000, join(command.cwd, 'duet.db'));
    }
    const table: (string | number)[][] = [];
    let creates = Number.NaN;
    for (const [title, ask] of asks) {
      const rounds: number[][] = counts.map(() => []);
      for (let round = 0; round < bench.effort.rounds; round++)
        for (const [at, server] of servers.entries())
          rounds[at]?.push((await server.press(ask, { seconds: bench.effort.seconds })).perSecond);
      const [alone = Number.NaN, ...more] = rounds.map(median);
      if (title === 'create') creates = (more[0] ?? Number.NaN) / alone;
      table.push([title, alone, ...more.flatMap((found) => [found, (found / alone).toFixed(2)])]);
    }
    return {
      table: {
        title: 'Processes behind one port (`WORKERS`), SQLite: requests/s',
        head: [
          '',
          ...counts.flatMap((count, at) => (at === 0 ? [`${count}`] : [`${count}`, `${count} : 1`])),
        ],
        rows: table,
        note: `The machine has ${cpus().length} cores, of which \`wrk\` keeps one busy for part of the time.`,
      },
      creates,
    };
  } finally {
    for (const server of servers) await server.stop();
  }
}

async function growthOfSchema(bench: Bench) {
  const table: (string | number)[][] = [];
  const schemas: { resources: number; firstAnswerMs: number; memory: number }[] = [];
  for (const resources of bench.effort.quick ? [5, 50] : [5, 50, 500]) {
    console.error(`bench: ${resources} resources`);
    const command = duet({ folder: bench.folder, schema: schemaOf(resources), ready: get('/t1s?limit=1') });
    const made = await Process.start(command, bench.databases);
    await made.stop();
    const taken: number[] = [];
    for (let start = 0; start < (bench.effort.quick ? 1 : 5); start++) {
      const server = await Process.start(command, bench.databases);
      taken.push(server.firstAnswerMs);
      await server.stop();
    }
    const server = await Process.start(command, bench.databases);
    try {
      await Bun.sleep(1000);
      const memory = server.memory().now;
      const created = await send(server.url, post(`/t${resources}s`, { title: 'x' }));
      if (created.status !== 201)
        throw new Error(`creating a record of ${resources}: ${await created.text()}`);
      const reads = await perSecond(bench, server, get(`/t${resources}s/1`));
      const firstAnswerMs = median(taken);
      schemas.push({ resources, firstAnswerMs, memory });
      table.push([
        resources,
        Math.round(made.firstAnswerMs),
        Math.round(firstAnswerMs),
        Math.round(memory),
        reads,
      ]);
    } finally {
      await server.stop();
    }
  }
  return {
    schemas,
    table: {
      title: 'Size of the schema, SQLite',
      head: [
        'resources',
        'first start, with tables to make: ms to an answer',
        'start: ms to an answer',
        'memory at rest, MB',
        'keyed reads/s',
      ],
      rows: table,
    },
  };
}

/** Each refers to the one before it. */
function schemaOf(resources: number): string {
  return Array.from({ length: resources }, (_, i) => {
    const links = `${i > 0 ? ` before: T${i}` : ''}${i + 1 < resources ? ` after: [T${i + 2}!]!` : ''}`;
    return `type T${i + 1} @resource { id: ID! title: String! @constraint(maxLength: 500) note: String pages: Int${links} }`;
  }).join('\n');
}
