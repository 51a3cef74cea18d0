/**
 * The number of statements depends on the shape of a query and never on the number of rows: on SQLite, one for each
 * relation of each level; on PostgreSQL, one for each root.
 */

import { afterAll, describe, expect, test } from 'bun:test';
import { databases, openApp } from '../app.ts';

function rows(parents: number) {
  const users = Array.from({ length: parents }, (_, index) => ({
    id: index + 1,
    name: 'n',
    email: 'a@example.com',
  }));
  const posts = users.flatMap(({ id }) =>
    [0, 1].map((n) => ({ id: id * 2 + n, title: 't', body: 'b', authorId: id })),
  );
  const comments = posts.map(({ id }) => ({ id, body: 'c', postId: id }));
  return { users, posts, comments };
}

const shapes: [shape: string, query: string, onSqlite: number, onPostgres: number][] = [
  ['one resource', '{ users { id } }', 1, 1],
  ['two levels', '{ users { posts { title } } }', 2, 1],
  ['three levels', '{ users { posts { comments { body } } } }', 3, 1],
  ['down and up again', '{ users { posts { author { posts { author { name } } } } } }', 5, 1],
  ['two relations of one level', '{ posts { author { name } comments { body } } }', 3, 1],
  ['one relation under two names', '{ users { a: posts { id } b: posts { title } } }', 2, 1],
  [
    'one relation with different arguments',
    '{ users { a: posts(first: 1) { id } b: posts(first: 2) { title } } }',
    3,
    1,
  ],
  ['lists with a limit', '{ users(first: 1000) { posts(first: 1) { comments(first: 1) { body } } } }', 3, 1],
  [
    'lists with a filter, an order and a limit',
    '{ users { posts(first: 1, orderBy: [{ title: DESC }], where: { comments: { some: {} } }) { author { name } } } }',
    3,
    1,
  ],
  ['two roots', '{ users { posts { id } } posts { author { id } } }', 4, 2],
];

describe.each([...databases])('on %s', (database) => {
  describe.each([1, 10, 1000])('with %d parents', async (parents) => {
    const app = await openApp(database, { data: rows(parents) });
    afterAll(() => app.close());

    test.each(shapes)('%s', async (_, query, onSqlite, onPostgres) => {
      const before = app.statements.length;
      const { body } = await app.graphql(query);
      expect(body.errors).toBeUndefined();
      expect(Object.values<unknown[]>(body.data)[0]?.length).toBeGreaterThanOrEqual(parents);
      expect(app.statements.slice(before)).toHaveLength(database === 'sqlite' ? onSqlite : onPostgres);
    });

    test.each([
      ['/users?include=posts', 2, 1],
      ['/users?include=posts.comments&posts[limit]=1&posts.comments[limit]=1', 3, 1],
      ['/users?include=posts.author&posts[limit]=1&posts[sort]=-title', 3, 1],
      ['/users?limit=1000&count=true&include=posts', 3, 2],
      ['/posts?include=author,comments&comments[limit]=1', 3, 1],
    ])('%s', async (path, onSqlite, onPostgres) => {
      const before = app.statements.length;
      const { body } = await app.rest('GET', path);
      expect(body.length).toBeGreaterThanOrEqual(parents);
      expect(app.statements.slice(before)).toHaveLength(database === 'sqlite' ? onSqlite : onPostgres);
    });

    test('each child is under its own parent', async () => {
      const { data } = await app.graphql(
        '{ users { id posts { authorId author { id } comments { postId } id } } }',
      );
      for (const user of data.users) {
        expect(user.posts).toHaveLength(2);
        for (const post of user.posts) {
          expect([post.authorId, post.author.id]).toEqual([user.id, user.id]);
          expect(post.comments).toEqual([{ postId: post.id }]);
        }
      }
    });
  });

  test('only the columns that are asked for are read', async () => {
    const app = await openApp(database, { data: rows(1) });
    await app.graphql('{ users { name posts { title } } }');
    const read = app.statements.flatMap((sql) => [...sql.matchAll(/(SELECT [^()]*?) FROM "(?:User|Post)"/g)]);
    // SQLite has names in backticks: a text is never meant then.
    const columns = read.map(([, each]) => each?.replaceAll(/`\w+` AS /g, ''));
    expect(columns).toEqual(['SELECT "name", "id"', 'SELECT "title", "authorId"']);
    await app.close();
  });

  test('nothing is asked where there are no parents', async () => {
    const app = await openApp(database, {});
    await app.graphql('{ users { posts { comments { id } } } }');
    expect(app.statements).toHaveLength(1);
    await app.close();
  });
});
