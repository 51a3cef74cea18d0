/** The rows of the comparison: what is asked, and the content that every server must answer with. */

import { BOOKS, records } from './data.ts';

export const rows = {
  keyed: { title: '`GET /books/{id}`', database: 'SQLite', compare: 'book' },
  list: { title: 'list of 100 books', database: 'SQLite', compare: 'books' },
  book: { title: 'GraphQL `book(id)`', database: 'SQLite', compare: 'book' },
  nested: { title: 'GraphQL 20 users → posts → comments', database: 'SQLite', compare: 'users' },
  create: { title: 'create, durable', database: 'SQLite', compare: 'note' },
  _inc: { title: '`_inc` on one record, durable', database: 'SQLite', compare: 'stock' },
  upsert: { title: 'upsert of what is there, durable', database: 'SQLite', compare: 'item' },
  'pg-keyed': { title: 'PostgreSQL: `GET /books/{id}`', database: 'PostgreSQL', compare: 'book' },
  'pg-list': { title: 'PostgreSQL: list of 100 books', database: 'PostgreSQL', compare: 'books' },
  'pg-book': { title: 'PostgreSQL: GraphQL `book(id)`', database: 'PostgreSQL', compare: 'book' },
  'pg-nested': { title: 'PostgreSQL: 20 users → posts → comments', database: 'PostgreSQL', compare: 'users' },
} as const;

export type Row = keyof typeof rows;
export const rowNames = Object.keys(rows) as Row[];

export const PAGE = 100;
export const FIRST_USERS = 20;
/** The ids by which rows with an id are compared: one of the first, the last and one between. */
export const sampleIds = [2, 4711, BOOKS];

type Fields = Readonly<Record<string, unknown>>;

function bookOf({ id, title, author, pages }: Fields) {
  return { id: Number(id), title, author, pages };
}

/** One shape for all: ids as numbers, no field that was not asked for, lists without wrappers. */
export function content(row: Row, answer: unknown): unknown {
  const body = answer as Fields;
  const data = (body['data'] ?? body) as Fields;
  switch (rows[row].compare) {
    case 'book':
      return bookOf((data['book'] ?? data) as Fields);
    case 'books':
      return (answer as Fields[]).map(bookOf);
    case 'note': {
      const note = ((data['createNote'] as Fields | undefined)?.['note'] ?? data) as Fields;
      return { title: note['title'], body: note['body'], hasId: Number(note['id']) > 0 };
    }
    // How many there are by now hangs on who has asked before.
    case 'stock':
      return { id: Number(data['id']), sku: data['sku'], hasMore: Number(data['stock']) > 100 };
    case 'item':
      return { id: Number(data['id']), sku: data['sku'], name: data['name'], stock: data['stock'] };
    case 'users':
      return (data['users'] as Fields[]).map(({ name, posts }) => ({
        name,
        posts: (posts as Fields[]).map(({ title, comments }) => ({
          title,
          comments: (comments as Fields[]).map(({ body: text }) => ({ body: text })),
        })),
      }));
  }
}

/** What the data says that the answer is. */
export function expected(row: Row, id: number): unknown {
  const { users, posts, comments, books } = records();
  switch (rows[row].compare) {
    case 'book':
      return books[id - 1];
    case 'books':
      return books.slice(0, PAGE);
    case 'note':
      return { title: `Note ${id}`, body: 'Written down.', hasId: true };
    case 'stock':
      return { id: 1, sku: 'sku-1', hasMore: true };
    case 'item':
      return { id, sku: `sku-${id}`, name: `Item of ${id}`, stock: 7 };
    case 'users': {
      const byUser = Map.groupBy(posts, ({ authorId }) => authorId);
      const byPost = Map.groupBy(comments, ({ postId }) => postId);
      return users.slice(0, FIRST_USERS).map((user) => ({
        name: user.name,
        posts: (byUser.get(user.id) ?? []).map((post) => ({
          title: post.title,
          comments: (byPost.get(post.id) ?? []).map(({ body }) => ({ body })),
        })),
      }));
    }
  }
}
