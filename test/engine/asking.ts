/** Many different requests of the same kind, for tests of what they have in common. */

import type { AppUnderTest } from '../app.ts';

export const RECORDS = 1000;
const AT_ONCE = 50;

export function rows() {
  const users = Array.from({ length: RECORDS }, (_, index) => ({
    id: index + 1,
    name: `n${index}`,
    email: `a${index}@example.com`,
  }));
  const posts = users.map(({ id }) => ({ id, title: `t${id}`, body: 'b', authorId: id }));
  return { users, posts, comments: posts.map(({ id }) => ({ id, body: 'c', postId: id })) };
}

export type Ask = (app: AppUnderTest, n: number) => Promise<{ readonly body: any }>;

export const one = 'query($id: ID!) { user(id: $id) { name } }';
export const nested =
  'query($id: ID!, $title: String) { user(id: $id) { posts(where: { title: { eq: $title } }) { comments { body } } } }';
export const page =
  'query($name: String) { usersConnection(first: 10, where: { name: { gte: $name } }) { edges { node { id } } } }';

/** Asks with each number, some at a time, as clients do. */
export async function askAll(app: AppUnderTest, ask: Ask, from: number, to: number): Promise<void> {
  for (let n = from; n <= to; n += AT_ONCE) {
    const numbers = Array.from({ length: Math.min(AT_ONCE, to - n + 1) }, (_, index) => n + index);
    const answers = await Promise.all(numbers.map((each) => ask(app, each)));
    for (const { body } of answers) if (body.errors !== undefined) throw new Error(JSON.stringify(body));
    app.observations.length = 0;
  }
}
