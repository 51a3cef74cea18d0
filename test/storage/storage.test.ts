/** Stored names that differ from the fields': whatever they are, constraints hold and order is kept. */

import { describe, expect, test } from 'bun:test';
import { databases, openApp } from '../app.ts';

describe.each([...databases])('on %s', (database) => {
  test('names that swap places do not swap the order', async () => {
    const sdl = 'type A @resource { lang: ID! @key @column(name: "x")  x: String @column(name: "lang") }';
    const app = await openApp(database, { sdl });
    for (const [lang, x] of [
      ['a', '3'],
      ['b', '2'],
      ['c', '1'],
    ])
      await app.rest('POST', '/as', { lang, x });
    expect((await app.rest('GET', '/as')).body.map(({ lang }: any) => lang)).toEqual(['a', 'b', 'c']);
    await app.close();
  });

  test('two unique constraints whose names could be read alike both hold', async () => {
    const sdl = `type A @resource @unique(fields: ["a", "b"]) {
      id: ID!  a: String  b: String  c: String @unique @column(name: "a_b")
    }`;
    const app = await openApp(database, { sdl });
    await app.rest('POST', '/as', { a: 'x', b: 'y', c: 'z' });
    expect((await app.rest('POST', '/as', { a: 'x', b: 'y' })).status).toBe(409);
    const { body } = await app.rest('POST', '/as', { c: 'z' });
    expect(body.errors).toEqual([
      { pointer: '#/c', code: 'NOT_UNIQUE', detail: 'c is taken by another record' },
    ]);
    await app.close();
  });

  test('odd stored names', async () => {
    const sdl = `type A @resource @table(name: "select \\" from") @unique(fields: ["p", "n"]) {
      id: ID!  p: Int @column(name: "a.b; --")  n: Int @column(name: "it's \\"quoted\\"")
    }`;
    const app = await openApp(database, { sdl });
    expect((await app.rest('POST', '/as', { p: 1, n: 2 })).body).toEqual({ id: 1, p: 1, n: 2 });
    const { body } = await app.rest('POST', '/as', { p: 1, n: 2 });
    expect(body.errors.map(({ pointer }: any) => pointer)).toEqual(['#/p', '#/n']);
    await app.close();
  });
});
