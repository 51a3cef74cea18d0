/** Fastify and Mercurius with its JIT over `node:sqlite`, written by hand: loaders, prepared statements, one commit per write. */

import { DatabaseSync } from 'node:sqlite';
import Fastify from 'fastify';
import mercurius from 'mercurius';

const db = new DatabaseSync(process.env.DATABASE_FILE);
db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL');

const oneBook = db.prepare('SELECT id, title, author, pages FROM books WHERE id = ?');
const someBooks = db.prepare('SELECT id, title, author, pages FROM books ORDER BY id LIMIT ?');
const someUsers = db.prepare('SELECT id, name, email FROM users ORDER BY id LIMIT ?');
const postsOf = db.prepare(
  'SELECT id, title, body, author_id FROM posts WHERE author_id IN (SELECT value FROM json_each(?)) ORDER BY id',
);
const commentsOf = db.prepare(
  'SELECT id, body, post_id FROM comments WHERE post_id IN (SELECT value FROM json_each(?)) ORDER BY id',
);
const addNote = db.prepare('INSERT INTO notes (title, body) VALUES (?, ?) RETURNING id, title, body');

/** The rows of many parents by one statement. */
function children(statement, reference) {
  return async (queries) => {
    const byParent = Map.groupBy(
      statement.all(JSON.stringify(queries.map(({ obj }) => obj.id))),
      (row) => row[reference],
    );
    return queries.map(({ obj }) => byParent.get(obj.id) ?? []);
  };
}

const app = Fastify({ logger: false });

app.register(mercurius, {
  jit: 1,
  schema: `
    type User { id: ID! name: String! email: String! posts: [Post!]! }
    type Post { id: ID! title: String! body: String! comments: [Comment!]! }
    type Comment { id: ID! body: String! }
    type Book { id: ID! title: String! author: String pages: Int! }
    type Query { book(id: ID!): Book users(first: Int!): [User!]! }
  `,
  resolvers: {
    Query: {
      book: (_, { id }) => oneBook.get(Number(id)),
      users: (_, { first }) => someUsers.all(first),
    },
  },
  loaders: {
    User: { posts: { loader: children(postsOf, 'author_id'), opts: { cache: false } } },
    Post: { comments: { loader: children(commentsOf, 'post_id'), opts: { cache: false } } },
  },
});

const book = {
  type: 'object',
  properties: {
    id: { type: 'integer' },
    title: { type: 'string' },
    author: { type: 'string', nullable: true },
    pages: { type: 'integer' },
  },
};
const note = {
  type: 'object',
  properties: { id: { type: 'integer' }, title: { type: 'string' }, body: { type: 'string' } },
};

app.get('/books/:id', { schema: { response: { 200: book } } }, async (request, reply) => {
  const found = oneBook.get(Number(request.params.id));
  return found ?? reply.code(404).send();
});
app.get('/books', { schema: { response: { 200: { type: 'array', items: book } } } }, async (request) =>
  someBooks.all(Number(request.query.limit)),
);
app.post(
  '/notes',
  {
    schema: {
      body: { ...note, required: ['title'] },
      response: { 201: note },
    },
  },
  async (request, reply) => reply.code(201).send(addNote.get(request.body.title, request.body.body ?? '')),
);

await app.listen({ host: '127.0.0.1', port: Number(process.env.PORT) });
