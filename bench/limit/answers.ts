/** What the handlers written by hand share: the shapes of their answers. */

import { BOOK, NESTED } from '../documents.ts';

export interface Book {
  id: number | string;
  readonly title: string;
  readonly author: string | null;
  readonly pages: number;
}

export interface Note {
  id: number | string;
  readonly title: string;
  readonly body: string;
}

export interface Item {
  readonly id: number | string;
  readonly sku: string;
  readonly name: string;
  readonly stock: number;
}

export interface Delivery {
  readonly id: number | string;
  readonly item_id: number | string;
  readonly name: string;
}

export interface Rows {
  readonly users: readonly { readonly id: number | string; readonly name: string }[];
  readonly posts: readonly {
    readonly id: number | string;
    readonly title: string;
    readonly author_id: number | string;
  }[];
  readonly comments: readonly { readonly body: string; readonly post_id: number | string }[];
}

export function json(body: unknown, status = 200): Response {
  return new Response(JSON.stringify(body), { status, headers: { 'Content-Type': 'application/json' } });
}

/** Three flat lists → the tree that was asked for. */
export function tree({ users, posts, comments }: Rows) {
  const userById = new Map<number | string, { title: string; comments: { body: string }[] }[]>();
  const postById = new Map<number | string, { body: string }[]>();
  const found = users.map(({ id, name }) => {
    const of: { title: string; comments: { body: string }[] }[] = [];
    userById.set(id, of);
    return { name, posts: of };
  });
  for (const { id, title, author_id } of posts) {
    const of: { body: string }[] = [];
    postById.set(id, of);
    userById.get(author_id)?.push({ title, comments: of });
  }
  for (const { body, post_id } of comments) postById.get(post_id)?.push({ body });
  return found;
}

interface Door {
  readonly book: (id: number) => Promise<Book | undefined> | Book | undefined;
  readonly nested: (first: number) => Promise<Rows> | Rows;
}

/** Not a GraphQL server: it answers the two documents that it knows by their text. */
export function graphql({ book, nested }: Door): (request: Request) => Promise<Response> {
  return async (request) => {
    const { query, variables } = (await request.json()) as {
      query: string;
      variables: { id: string; first: number };
    };
    if (query === BOOK) {
      const found = await book(Number(variables.id));
      if (found) found.id = String(found.id);
      return json({ data: { book: found ?? null } });
    }
    if (query === NESTED) return json({ data: { users: tree(await nested(variables.first)) } });
    return json({ errors: [{ message: 'unknown document' }] }, 400);
  };
}
