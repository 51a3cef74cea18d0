/** A record that collides in several ways is told all of them, its natural key too. */

import { describe, expect, test } from 'bun:test';
import { databases, openApp } from '../app.ts';

const sdl = `
  type Code @resource @unique(fields: ["row", "seat"]) {
    code: ID! @key
    label: String @unique
    row: Int
    seat: Int
  }`;
const data = {
  codes: [
    { code: 'a', label: 'first', row: 1, seat: 1 },
    { code: 'b', label: 'second', row: 1, seat: 2 },
  ],
};

const rows: readonly (readonly [record: object, taken: string[]])[] = [
  [{ code: 'a' }, ['code']],
  [{ code: 'a', label: 'first' }, ['code', 'label']],
  [{ code: 'a', label: 'second' }, ['code', 'label']],
  [{ code: 'a', label: 'new', row: 1, seat: 2 }, ['code', 'row', 'seat']],
  [{ code: 'b', label: 'first', row: 1, seat: 1 }, ['code', 'label', 'row', 'seat']],
  [{ code: 'c', label: 'first', row: 1, seat: 2 }, ['label', 'row', 'seat']],
  [{ code: 'c', label: 'first', row: 1, seat: null }, ['label']],
];

describe.each([...databases])('on %s', (database) => {
  test.each(rows)('%o', async (record, taken) => {
    const app = await openApp(database, { sdl, data });
    const { status, body } = await app.rest('POST', '/codes', record);
    const pointers = taken.map((name) => `#/${name}`);
    expect([status, body.errors.map(({ pointer }: any) => pointer)]).toEqual([409, pointers]);
    const { errors } = await app.graphql(
      'mutation($records: [CodeInput!]!) { createCodes(records: $records) { code } }',
      { records: [record] },
    );
    const told = errors?.[0].extensions.errors.map(({ pointer }: any) => pointer);
    expect(told).toEqual(taken.map((name) => `#/0/${name}`));
    await app.close();
  });

  test('a long list is told of at once, by few statements', async () => {
    const app = await openApp(database, { sdl, data });
    const taken = new Map<number, object>([
      [0, { code: 'a' }],
      [3, { label: 'second' }],
      [250, { row: 1, seat: 2 }],
      [251, { code: 'b', label: 'first' }],
      [999, { row: 1, seat: 1 }],
    ]);
    const records = Array.from({ length: 1000 }, (_, at) => ({
      code: `new ${at}`,
      label: `new ${at}`,
      row: at,
      seat: at + 2,
      ...taken.get(at),
    }));
    app.statements.length = 0;
    const { errors } = await app.graphql(
      'mutation($records: [CodeInput!]!) { createCodes(records: $records) { code } }',
      { records },
    );
    const told = errors?.[0].extensions.errors.map(({ pointer }: any) => pointer);
    const faults = [
      '0/code',
      '3/label',
      '250/row',
      '250/seat',
      '251/code',
      '251/label',
      '999/row',
      '999/seat',
    ];
    expect(told).toEqual(faults.map((each) => `#/${each}`));
    // Of 3,000 values that could be taken.
    expect(app.statements.length).toBeLessThan(200);
    await app.close();
  });

  test('so are the records that are nested in those of a long list', async () => {
    const nesting = `
      type Tag @resource { id: ID! }
      type Box @resource { id: ID!  label: Int @unique  items: [Item!]! }
      type Item @resource { id: ID!  mark: Int @unique  tag: Tag  box: Box }`;
    const app = await openApp(database, {
      sdl: nesting,
      data: { tags: [{}], boxes: [{ label: 0 }], items: [{ mark: 0 }] },
    });
    const records = Array.from({ length: 500 }, (_, label) => ({
      label,
      items: [{ mark: label === 300 ? 0 : label + 1, tagId: label === 400 ? 9 : 1 }],
    }));
    app.statements.length = 0;
    const { errors } = await app.graphql(
      'mutation($records: [BoxInput!]!) { createBoxes(records: $records) { id } }',
      { records },
    );
    const told = errors?.[0].extensions.errors.map(({ pointer }: any) => pointer);
    expect(told).toEqual(['#/0/label', '#/300/items/0/mark', '#/400/items/0/tagId']);
    // Of 1,500 values that could be taken, or not be there.
    expect(app.statements.length).toBeLessThan(100);
    await app.close();
  });
});
