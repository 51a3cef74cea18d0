/** Writes that arrive together share a commit, but not a fate. */

import { describe, expect, test } from 'bun:test';
import { databases, openApp } from '../app.ts';

const sdl = `
  type Author @resource { id: ID!  nick: String @unique  books: [Book!]! }
  type Book @resource { id: ID!  title: String!  author: Author! @onDelete(do: CASCADE) }`;

describe.each([...databases])('on %s', (database) => {
  test('one that fails does so alone, and leaves nothing behind', async () => {
    const app = await openApp(database, {
      sdl,
      data: { authors: [{ nick: 'taken' }, { nick: 'doomed' }], books: [{ title: 'b', authorId: 2 }] },
    });
    const answers = await Promise.all([
      ...Array.from({ length: 60 }, (_, index) => app.rest('POST', '/authors', { nick: `n${index}` })),
      ...Array.from({ length: 30 }, () => app.rest('POST', '/authors', { nick: 'taken' })),
      ...Array.from({ length: 30 }, () => app.rest('POST', '/books', { title: 't', authorId: 4711 })),
      ...Array.from({ length: 30 }, () => app.rest('PUT', '/authors/1', { nick: 'doomed' })),
      app.rest('DELETE', '/authors/2'),
      ...Array.from({ length: 30 }, () => app.rest('POST', '/books', { title: 't', authorId: 1 })),
    ]);
    const statuses = Map.groupBy(answers, ({ status }) => status);
    expect(statuses.get(204)?.length).toBe(1);
    expect(statuses.get(201)?.length).toBe(90);
    // Whether an update still collides depends on whether the delete came before it.
    expect((statuses.get(409)?.length ?? 0) + (statuses.get(200)?.length ?? 0)).toBe(90);
    const ids = answers.filter(({ status }) => status === 201).map(({ body }) => body.id);
    expect(ids.length).toBe(90);
    const authors = (await app.rest('GET', '/authors')).body;
    expect(authors.filter(({ nick }: any) => /^n\d+$/.test(nick)).length).toBe(60);
    expect((await app.rest('GET', '/books')).body.every(({ authorId }: any) => authorId === 1)).toBe(true);
    expect((await app.rest('GET', '/books')).body.length).toBe(30);
    await app.close();
  });

  test('of many writers with one version exactly one wins, through any mix of doors', async () => {
    const app = await openApp(database, { sdl, data: { authors: [{}] } });
    for (let round = 0; round < 10; round++) {
      const { headers } = await app.rest('GET', '/authors/1');
      const tag = headers.get('ETag') ?? '';
      const version = Number(/\d+/.exec(tag)?.[0]);
      const query =
        'mutation($nick: String, $v: Int) { updateAuthor(id: 1, nick: $nick, ifVersion: $v) { nick } }';
      const outcomes = await Promise.all(
        Array.from({ length: 24 }, async (_, index) => {
          const nick = `r${round}w${index}`;
          if (index % 2 === 0) {
            const { status } = await app.rest('PUT', '/authors/1', { nick }, { 'If-Match': tag });
            return status === 200 ? nick : status;
          }
          const { errors } = await app.graphql(query, { nick, v: version });
          return errors ? errors[0].extensions.code : nick;
        }),
      );
      const winners = outcomes.filter((outcome) => /^r\d+w/.test(String(outcome)));
      expect(winners.length).toBe(1);
      expect(new Set(outcomes.filter((outcome) => outcome !== winners[0]))).toEqual(
        new Set([412, 'VERSION_CONFLICT']),
      );
      expect((await app.rest('GET', '/authors/1')).body.nick).toBe(winners[0]);
    }
    await app.close();
  });
});
