/** What the clients of this folder are let loose on: a Duet server on SQLite, at an address of its own. */

import { type AppUnderTest, type Deployment, openApp } from '../test/app.ts';

/** Keys of both kinds, a reference and its list, an enum, a list of texts, and a default. */
export const sdl = `
  enum Genre { NOVEL ESSAY }
  type Author @resource { id: UUID! name: String! @constraint(minLength: 1) books: [Book!]! }
  type Book @resource {
    id: UUID!
    title: String! @constraint(minLength: 1)
    pages: Int! @default(value: 1) @constraint(min: 1)
    genre: Genre
    tags: [String!]! @default(value: [])
    author: Author!
  }
  type Note @resource { id: ID! title: String! done: Boolean! @default(value: false) }
  type Label @resource { name: String! @key color: String }
`;

const author = '018f0000-0000-7000-8000-000000000001';

/** Thirty books of one author, with 10, 20 … 300 pages, and three notes. */
export const data = {
  authors: [{ id: author, name: 'Ann' }],
  books: Array.from({ length: 30 }, (_, index) => ({
    id: `018f0000-0000-7000-8000-${String(index + 101).padStart(12, '0')}`,
    title: `Book ${index + 1}`,
    pages: (index + 1) * 10,
    genre: index % 2 === 0 ? 'NOVEL' : 'ESSAY',
    authorId: author,
  })),
  notes: ['one', 'two', 'three'].map((title, index) => ({ id: index + 1, title })),
};

export interface Served extends AsyncDisposable {
  readonly url: string;
  readonly app: AppUnderTest;
  /** Methods and paths of the requests so far. */
  readonly requests: string[];
}

export async function served(deployment: Deployment = { sdl, data }): Promise<Served> {
  const app = await openApp('sqlite', deployment);
  const requests: string[] = [];
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    async fetch(request) {
      const { pathname, search } = new URL(request.url);
      requests.push(`${request.method} ${pathname}`);
      // `app.fetch` takes its own requests apart; this one is handed over as it came.
      return app.fetch(pathname + search, request);
    },
  });
  return {
    url: server.url.origin,
    app,
    requests,
    async [Symbol.asyncDispose]() {
      await server.stop(true);
      await app.close();
    },
  };
}
