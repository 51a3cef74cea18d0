/** Duet beside handlers written by hand for one request each, in one run: medians of interleaved rounds, as ratios. */

import { Database } from 'bun:sqlite';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readConfig } from '../src/config.ts';
import { openWriter } from '../src/deployment.ts';
import { loading } from '../src/engine/load.ts';
import { readSchema } from '../src/schema/read.ts';
import { createApp } from '../src/server.ts';
import { evolve } from '../src/storage/evolve/evolve.ts';
import { SqliteStorage } from '../src/storage/sqlite.ts';

const ROUNDS = 9;
const ROUND_MS = 150;
const JSON_HEADERS = { 'Content-Type': 'application/json' };

const folder = mkdtempSync(join(tmpdir(), 'duet-bench-'));
const path = join(folder, 'bench.db');

function rows() {
  const users = Array.from({ length: 1000 }, (_, i) => ({
    id: i + 1,
    name: `User ${i}`,
    email: `u${i}@example.com`,
  }));
  const posts = users.flatMap(({ id }) =>
    [1, 2, 3, 4, 5].map((n) => ({ id: (id - 1) * 5 + n, title: `Post ${n}`, body: 'b', authorId: id })),
  );
  const comments = posts.flatMap(({ id }) =>
    [1, 2, 3].map((n) => ({ id: (id - 1) * 3 + n, body: `Comment ${n}`, postId: id })),
  );
  const books = Array.from({ length: 100 }, (_, i) => ({
    id: i + 1,
    title: `Book ${i}`,
    author: null,
    pages: i + 1,
  }));
  return { users: users.slice(0, 20), posts: posts.slice(0, 100), comments: comments.slice(0, 300), books };
}

const sdl = await Bun.file(join(import.meta.dir, '../schema.graphql')).text();
const { model } = readSchema(sdl);
const { config } = readConfig([], { DATABASE_URL: `sqlite:${path}` });
if (!model || !config) throw new Error('the shipped schema is not sound');
const load = loading(model, rows());
if (!load.program) throw new Error(load.faults.join('\n'));
const storage = new SqliteStorage({ path, model });
const { deprecatedSince } = await evolve(storage, model, load.program);
const app = createApp({
  model,
  storage,
  writer: openWriter(config, model, storage, console.error),
  config,
  deprecatedSince,
  observe: () => {},
});

const db = new Database(path, { strict: true });
db.run('PRAGMA synchronous = FULL');
db.run('PRAGMA busy_timeout = 2000');
const oneBook = db.query('SELECT "id", "title", "author", "pages" FROM "Book" WHERE "id" = ?');
const allBooks = db.query(
  'SELECT "id", "title", "author", "pages" FROM "Book" WHERE "id" <= 100 ORDER BY "id"',
);
const allUsers = db.query('SELECT "id", "name" FROM "User" ORDER BY "id"');
const postsOf = db.query(
  'SELECT "id", "title", "authorId" FROM "Post" WHERE "authorId" IN (SELECT value FROM json_each(?)) ORDER BY "id"',
);
const commentsOf = db.query(
  'SELECT "body", "postId" FROM "Comment" WHERE "postId" IN (SELECT value FROM json_each(?)) ORDER BY "id"',
);
const addTask = db.query(
  'INSERT INTO "Task" ("title", "done", "_version") VALUES (?, 0, 1) RETURNING "id", "title", "description", "done"',
);

type Row = Record<string, unknown>;
const json = (body: unknown, status = 200) =>
  new Response(JSON.stringify(body), { status, headers: JSON_HEADERS });
const get = (url: string) => () => new Request(`http://x${url}`);
const post = (url: string, body: unknown) => {
  const text = JSON.stringify(body);
  return () => new Request(`http://x${url}`, { method: 'POST', headers: JSON_HEADERS, body: text });
};

function nested() {
  const users = allUsers.all() as Row[];
  const posts = postsOf.all(JSON.stringify(users.map((user) => user['id']))) as Row[];
  const comments = commentsOf.all(JSON.stringify(posts.map((each) => each['id']))) as Row[];
  const byPost = Map.groupBy(comments, (comment) => comment['postId']);
  const byUser = Map.groupBy(posts, (each) => each['authorId']);
  return users.map((user) => ({
    name: user['name'],
    posts: (byUser.get(user['id']) ?? []).map((each) => ({
      title: each['title'],
      comments: (byPost.get(each['id']) ?? []).map((comment) => ({ body: comment['body'] })),
    })),
  }));
}

const work: [string, () => Request, (request: Request) => Promise<Response> | Response][] = [
  [
    'GET /books/{id}',
    get('/books/7'),
    (request) => json(oneBook.get(Number(request.url.slice(request.url.lastIndexOf('/') + 1)))),
  ],
  ['list of 100 books', get('/books'), () => json(allBooks.all())],
  [
    'GraphQL book(id)',
    post('/graphql', {
      query: 'query($id: ID!) { book(id: $id) { id title pages } }',
      variables: { id: '7' },
    }),
    async (request) => {
      const { variables } = (await request.json()) as { variables: { id: string } };
      const { id, title, pages } = oneBook.get(Number(variables.id)) as Row;
      return json({ data: { book: { id: String(id), title, pages } } });
    },
  ],
  [
    'GraphQL users → posts → comments',
    post('/graphql', { query: '{ users { name posts { title comments { body } } } }' }),
    async (request) => {
      await request.json();
      return json({ data: { users: nested() } });
    },
  ],
  [
    'create, durable',
    post('/tasks', { title: 'x' }),
    async (request) => {
      const { title } = (await request.json()) as { title: string };
      return json(addTask.get(title), 201);
    },
  ],
];

async function perSecond(
  make: () => Request,
  handle: (request: Request) => Promise<Response> | Response,
): Promise<number> {
  const start = performance.now();
  let count = 0;
  while (performance.now() - start < ROUND_MS) {
    await (await handle(make())).text();
    count++;
  }
  return (count * 1000) / (performance.now() - start);
}

const median = (values: number[]) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;

console.log('| work (in process, one at a time) | by hand /s | Duet /s | ratio |\n|---|---|---|---|');
for (const [name, make, byHand] of work) {
  const same =
    name.startsWith('create') ||
    (await (await app.fetch(make())).text()) === (await (await byHand(make())).text());
  if (!same) throw new Error(`${name}: the answers differ`);
  const rounds: { hand: number; duet: number }[] = [];
  for (let round = 0; round < ROUNDS; round++)
    rounds.push({ hand: await perSecond(make, byHand), duet: await perSecond(make, app.fetch) });
  const hand = median(rounds.map((round) => round.hand));
  const duet = median(rounds.map((round) => round.duet));
  const ratio = median(rounds.map((round) => round.duet / round.hand));
  console.log(`| ${name} | ${Math.round(hand)} | ${Math.round(duet)} | ${ratio.toFixed(2)} |`);
}

db.close();
await storage.close();
rmSync(folder, { recursive: true });
