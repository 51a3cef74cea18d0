/** The limit on PostgreSQL: prepared statements through `Bun.SQL`, and one snapshot for what is nested. */

import { SQL } from 'bun';
import { type Book, type Delivery, graphql, json, type Rows } from './answers.ts';

const sql = new SQL(process.env['DATABASE_URL'] ?? '', { max: 10 });

async function book(id: number): Promise<Book | undefined> {
  const [found] = (await sql`SELECT id, title, author, pages FROM books WHERE id = ${id}`) as Book[];
  if (found) found.id = Number(found.id);
  return found;
}

async function books(first: number): Promise<Book[]> {
  const found = (await sql`SELECT id, title, author, pages FROM books ORDER BY id LIMIT ${first}`) as Book[];
  for (const each of found) each.id = Number(each.id);
  return found;
}

const idsOf = (rows: readonly { readonly id: number | string }[]) => `{${rows.map(({ id }) => id)}}`;

async function nested(first: number): Promise<Rows> {
  return sql.begin('isolation level repeatable read read only', async (tx) => {
    const users = await tx`SELECT id, name FROM users ORDER BY id LIMIT ${first}`;
    const posts =
      await tx`SELECT id, title, author_id FROM posts WHERE author_id = ANY(${idsOf(users)}::text::int8[]) ORDER BY id`;
    const comments =
      await tx`SELECT body, post_id FROM comments WHERE post_id = ANY(${idsOf(posts)}::text::int8[]) ORDER BY id`;
    return { users, posts, comments };
  });
}

function deliver(itemId: number): Promise<Delivery | undefined> {
  return sql.begin(async (tx) => {
    const [item] = await tx`SELECT id, name FROM items WHERE id = ${itemId}`;
    if (!item) return undefined;
    await tx`UPDATE items SET stock = stock + 1 WHERE id = ${itemId}`;
    const [delivery] =
      await tx`INSERT INTO deliveries (item_id, name) VALUES (${itemId}, ${item.name}) RETURNING id, item_id, name`;
    return delivery;
  });
}

Bun.serve({
  hostname: '127.0.0.1',
  port: Number(process.env['PORT']),
  routes: {
    '/books/:id': async (request) => {
      const found = await book(Number(request.params.id));
      return found ? json(found) : new Response(null, { status: 404 });
    },
    '/books': async ({ url }) => json(await books(Number(url.slice(url.lastIndexOf('=') + 1)))),
    '/actions/deliver': {
      POST: async (request) => {
        const { itemId } = (await request.json()) as { itemId: unknown };
        if (typeof itemId !== 'number') return new Response(null, { status: 400 });
        return json(await deliver(itemId));
      },
    },
    '/graphql': { POST: graphql({ book, nested }) },
  },
});
