/** What the server sets may be repeated in an update of many, where every record has that very value, and only there. */

import { describe, expect, test } from 'bun:test';
import { databases, openApp } from '../app.ts';

const sdl = `
  type Book @resource {
    id: ID!
    shelf: Int!
    title: String!
    stamp: String @readonly
    tags: [String!] @readonly
    made: DateTime! @createdAt
    seen: DateTime! @updatedAt
  }
  type Code @resource { code: ID! @key  title: String! }`;

const early = '2020-01-01T00:00:00.000Z';
const late = '2021-01-01T00:00:00.000Z';
const book = (shelf: number, values: object = {}) => ({
  shelf,
  title: 'old',
  stamp: 'a',
  tags: ['x', 'y'],
  made: early,
  seen: early,
  ...values,
});
const data = {
  books: [
    ...[book(1), book(1), book(1)],
    ...[book(2, { stamp: 'b' }), book(2), book(2)],
    ...[book(3), book(3, { stamp: 'b' }), book(3)],
    ...[book(4), book(4), book(4, { stamp: null })],
    ...[book(5), book(5), book(5, { made: late })],
    ...[book(6), book(6, { tags: ['y', 'x'] })],
    ...[book(7), book(7, { seen: late })],
    book(8),
    ...[book(9, { stamp: null }), book(9, { stamp: null })],
  ],
  codes: [
    { code: 'a', title: 'old' },
    { code: 'b', title: 'old' },
  ],
};

/** Which shelf, what is repeated, and the field that is not what all of its books have. */
const rows: readonly (readonly [shelf: number, repeated: object, fault: string | undefined])[] = [
  [1, { stamp: 'a', tags: ['x', 'y'], made: early, seen: early }, undefined],
  [1, { stamp: 'b' }, 'stamp'],
  [1, { stamp: null }, 'stamp'],
  [2, { stamp: 'a' }, 'stamp'],
  [2, { stamp: 'b' }, 'stamp'],
  [3, { stamp: 'a' }, 'stamp'],
  [4, { stamp: 'a' }, 'stamp'],
  [4, { stamp: null }, 'stamp'],
  [5, { made: early }, 'made'],
  [5, { made: late }, 'made'],
  [6, { tags: ['x', 'y'] }, 'tags'],
  [7, { seen: early }, 'seen'],
  [8, { stamp: 'a', made: early, id: 20 }, undefined],
  [8, { id: 1 }, 'id'],
  [1, { id: 1 }, 'id'],
  [9, { stamp: null }, undefined],
  // Of no record at all, nothing has been set.
  [99, { stamp: 'a' }, 'stamp'],
];

describe.each([...databases])('on %s', (database) => {
  test.each(rows)('shelf %d, repeating %o', async (shelf, repeated, fault) => {
    const app = await openApp(database, { sdl, data });
    const before = (await app.rest('GET', '/books')).body;
    const where = { shelf: { eq: shelf } };
    const operation = {
      method: 'PUT',
      path: '/books',
      where,
      atMost: 9,
      body: { title: 'new', ...repeated },
    };
    const { status, body } = await app.rest('POST', '/transaction', { operations: [operation] });
    const after = (await app.rest('GET', '/books')).body;
    if (fault === undefined) {
      expect([status, body.errors]).toEqual([200, undefined]);
      expect(after).toEqual(
        before.map((each: any) =>
          each.shelf === shelf ? { ...each, title: 'new', seen: expect.any(String) } : each,
        ),
      );
    } else {
      const faults = body.errors?.map(({ pointer, code }: any) => [pointer, code]);
      expect([status, faults]).toEqual([400, [[`#/operations/0/body/${fault}`, 'READ_ONLY']]]);
      expect(after).toEqual(before);
    }
    await app.close();
  });

  test('a natural key', async () => {
    const app = await openApp(database, { sdl, data });
    const update = async (where: object, body: object) =>
      (
        await app.rest('POST', '/transaction', {
          operations: [{ method: 'PUT', path: '/codes', where, atMost: 9, body: { title: 'new', ...body } }],
        })
      ).status;
    expect(await update({}, { code: 'a' })).toBe(400);
    expect(await update({ code: { eq: 'b' } }, { code: 'a' })).toBe(400);
    expect(await update({ code: { eq: 'b' } }, { code: 'b' })).toBe(200);
    expect((await app.rest('GET', '/codes')).body).toEqual([
      { code: 'a', title: 'old' },
      { code: 'b', title: 'new' },
    ]);
    await app.close();
  });
});
