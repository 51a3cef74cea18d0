/** Records that are looked for by key in one turn of the event loop, on PostgreSQL by one statement. */

import { describe, expect, test } from 'bun:test';
import { databases, openApp } from '../app.ts';

const sdl =
  'type Thing @resource { id: ID! name: String! } type Word @resource { text: ID! @key says: String }';
const data = {
  things: Array.from({ length: 5 }, (_, at) => ({ name: `thing ${at + 1}` })),
  words: [{ text: 'a,"b"', says: '{}' }, { text: '\\' }, { text: 'É' }],
};

/** A turn that takes too long, on a busy machine, is cut in two. */
const MOST = 2;

describe.each([...databases])('on %s', (database) => {
  test('each has its own, twice where two ask for it, and none where there is none', async () => {
    const app = await openApp(database, { sdl, data });
    const keys = [3, 1, 3, 99, 5, 1];
    app.statements.length = 0;
    const answers = await Promise.all(keys.map((key) => app.rest('GET', `/things/${key}`)));
    expect(answers.map(({ status, body }) => [status, body.name])).toEqual(
      keys.map((key) => (key === 99 ? [404, undefined] : [200, `thing ${key}`])),
    );
    const tags = answers.map(({ headers }) => headers.get('ETag'));
    expect([tags[2], tags[5], tags[3]]).toEqual([tags[0], tags[1], null]);
    expect(tags[0]).toMatch(/^"1-/);
    if (database === 'postgres') expect(app.statements.length).toBeLessThanOrEqual(MOST);

    const query = 'query ($id: ID!) { thing(id: $id) { name } }';
    app.statements.length = 0;
    const told = await Promise.all(keys.map((id) => app.graphql(query, { id: String(id) })));
    expect(told.map(({ body }) => body)).toEqual(
      keys.map((key) => ({ data: { thing: key === 99 ? null : { name: `thing ${key}` } } })),
    );
    if (database === 'postgres') expect(app.statements.length).toBeLessThanOrEqual(MOST);
    await app.close();
  });

  test('keys of any text', async () => {
    const app = await openApp(database, { sdl, data });
    const keys = ['a,"b"', '\\', 'É', 'é', 'a', '{}'];
    const answers = await Promise.all(
      keys.map((key) => app.rest('GET', `/words/${encodeURIComponent(key)}`)),
    );
    expect(answers.map(({ body }) => body.text)).toEqual([
      'a,"b"',
      '\\',
      'É',
      undefined,
      undefined,
      undefined,
    ]);
    await app.close();
  });
});
