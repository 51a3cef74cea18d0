/** The limit on SQLite: what a person writes by hand for these requests alone, with nothing in between. */

import { Database } from 'bun:sqlite';
import { type Book, type Delivery, graphql, type Item, json, type Note, type Rows } from './answers.ts';

const db = new Database(process.env['DATABASE_FILE'] ?? '', { strict: true });
db.run('PRAGMA journal_mode = WAL');
db.run('PRAGMA synchronous = FULL');

const oneBook = db.query<Book, [number]>('SELECT id, title, author, pages FROM books WHERE id = ?');
const someBooks = db.query<Book, [number]>('SELECT id, title, author, pages FROM books ORDER BY id LIMIT ?');
const someUsers = db.query<Rows['users'][number], [number]>('SELECT id, name FROM users ORDER BY id LIMIT ?');
/** Prepared by how many there are: a third less than `json_each` takes, and in the order of the index nothing is sorted. */
function byCount<Row>(
  sql: (marks: string) => string,
): (rows: readonly { readonly id: number | string }[]) => Row[] {
  const prepared = new Map<number, ReturnType<typeof db.query<Row, (number | string)[]>>>();
  return (rows) => {
    let query = prepared.get(rows.length);
    if (!query) {
      query = db.query(sql(rows.map(() => '?').join()));
      prepared.set(rows.length, query);
    }
    return query.all(...rows.map(({ id }) => id));
  };
}

const postsOf = byCount<Rows['posts'][number]>(
  (marks) => `SELECT id, title, author_id FROM posts WHERE author_id IN (${marks}) ORDER BY author_id, id`,
);
const commentsOf = byCount<Rows['comments'][number]>(
  (marks) => `SELECT body, post_id FROM comments WHERE post_id IN (${marks}) ORDER BY post_id, id`,
);
const addNote = db.query<Note, [string, string]>(
  'INSERT INTO notes (title, body) VALUES (?, ?) RETURNING id, title, body',
);
const addStock = db.query<Item, [number, number]>(
  'UPDATE items SET stock = stock + ? WHERE id = ? RETURNING id, sku, name, stock',
);
const putItem = db.query<Item, [string, string, number]>(
  'INSERT INTO items (sku, name, stock) VALUES (?, ?, ?) ON CONFLICT (sku) DO UPDATE SET name = excluded.name, stock = excluded.stock RETURNING id, sku, name, stock',
);
const oneItem = db.query<Item, [number]>('SELECT id, sku, name, stock FROM items WHERE id = ?');
const addDelivery = db.query<Delivery, [number, string]>(
  'INSERT INTO deliveries (item_id, name) VALUES (?, ?) RETURNING id, item_id, name',
);
const begin = db.query('BEGIN');
const beginWriting = db.query('BEGIN IMMEDIATE');
const commit = db.query('COMMIT');

function nested(first: number): Rows {
  begin.run();
  const users = someUsers.all(first);
  const posts = postsOf(users);
  const comments = commentsOf(posts);
  commit.run();
  return { users, posts, comments };
}

function deliver(itemId: number): Delivery | null {
  const item = oneItem.get(itemId);
  if (!item) return null;
  addStock.get(1, itemId);
  return addDelivery.get(itemId, item.name);
}

type Written = Note | Item | Delivery | null;
interface Waiting {
  readonly work: () => Written;
  readonly settle: (written: Written) => void;
}
let waiting: Waiting[] = [];

/** Writes that arrive together share one commit, and with it one wait for the disk. */
function commitAll(): void {
  const batch = waiting;
  waiting = [];
  beginWriting.run();
  const written = batch.map(({ work }) => work());
  commit.run();
  batch.forEach(({ settle }, at) => {
    settle(written[at] ?? null);
  });
}

function write(work: () => Written): Promise<Written> {
  return new Promise((settle) => {
    waiting.push({ work, settle });
    if (waiting.length === 1) setImmediate(commitAll);
  });
}

Bun.serve({
  hostname: '127.0.0.1',
  port: Number(process.env['PORT']),
  routes: {
    '/books/:id': (request) => {
      const book = oneBook.get(Number(request.params.id));
      return book ? json(book) : new Response(null, { status: 404 });
    },
    '/books': ({ url }) => json(someBooks.all(Number(url.slice(url.lastIndexOf('=') + 1)))),
    '/graphql': { POST: graphql({ book: (id) => oneBook.get(id) ?? undefined, nested }) },
    '/notes': {
      POST: async (request) => {
        const { title, body = '' } = (await request.json()) as { title: unknown; body: unknown };
        if (typeof title !== 'string' || typeof body !== 'string') return new Response(null, { status: 400 });
        return json(await write(() => addNote.get(title, body)), 201);
      },
    },
    '/actions/deliver': {
      POST: async (request) => {
        const { itemId } = (await request.json()) as { itemId: unknown };
        if (typeof itemId !== 'number') return new Response(null, { status: 400 });
        return json(await write(() => deliver(itemId)));
      },
    },
    '/items/:id': {
      PUT: async (request) => {
        const { _inc } = (await request.json()) as { _inc: { stock: unknown } };
        const { stock } = _inc;
        if (typeof stock !== 'number') return new Response(null, { status: 400 });
        return json(await write(() => addStock.get(stock, Number(request.params.id))));
      },
    },
    '/items': {
      POST: async (request) => {
        const { sku, name, stock } = (await request.json()) as Record<keyof Item, unknown>;
        if (typeof sku !== 'string' || typeof name !== 'string' || typeof stock !== 'number')
          return new Response(null, { status: 400 });
        return json(await write(() => putItem.get(sku, name, stock)));
      },
    },
  },
});
