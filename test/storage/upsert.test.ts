/** Upserts and deletes of the first few, as every table can have them: Duet's own are written so, and others can be. */

import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import { readConfig } from '../../src/config/config.ts';
import { equal, everything, type Filter } from '../../src/query/filter.ts';
import type { Column, Resource } from '../../src/schema/model.ts';
import { readSchema } from '../../src/schema/read.ts';
import { evolve } from '../../src/storage/evolve/evolve.ts';
import { type Database, openDatabase } from '../../src/storage/open.ts';
import { answers } from '../../src/storage/own.ts';
import { type Row, type Statement, select, type Upsert } from '../../src/storage/statements.ts';
import { run } from '../../src/storage/storage.ts';
import { databases, sharedPostgres } from '../app.ts';

const sdl = `type Thing @resource @unique(fields: ["shelf", "place"]) {
  id: ID!  shelf: String!  place: Int! @column(name: "Place of it")
  what: String  flags: [Boolean!]  at: DateTime  isOpen: Boolean  day: Date
}`;
const { model, faults } = readSchema(sdl);
if (!model) throw new Error(JSON.stringify(faults));
const thing = model.byType.get('Thing') as Resource;
const column = (name: string) => thing.columns.find((each) => each.name === name) as Column;

describe.each([...databases])('on %s', (kind) => {
  let storage: Database;
  const late = () => performance.now() + 60_000;
  const carryOut = async (statement: Statement): Promise<Row[]> => [
    ...(await storage.write(() => run(statement), 'one', late())),
  ];
  const upsert = (values: Row, set: readonly string[], where?: Filter) => {
    const statement: Upsert = {
      do: 'upsert',
      resource: thing,
      values: { shelf: 'a', what: null, flags: null, at: null, isOpen: null, day: null, ...values },
      version: 1,
      conflict: [column('shelf'), column('place')],
      set: set.map(column),
    };
    return carryOut(where ? { ...statement, where } : statement);
  };
  const stored = async () =>
    (await storage.prepare(select(thing, [...thing.columns, thing.version]))(undefined, late())).map(
      ({ id, ...rest }) => rest,
    );

  beforeAll(async () => {
    const url = kind === 'sqlite' ? 'sqlite::memory:' : await (await sharedPostgres()).database();
    const { config } = readConfig([], { DATABASE_URL: url });
    if (!config) throw new Error('no settings');
    storage = openDatabase(config, model, () => {}, {});
    await evolve(storage, model, function* () {});
  });
  beforeEach(async () => {
    await carryOut({ do: 'delete', resource: thing, where: everything });
  });
  afterAll(() => storage.close());

  const values = {
    shelf: 'a',
    place: 1,
    what: 'old',
    flags: [true, false],
    at: '2024-05-01T12:30:00.120Z',
    isOpen: true,
    day: '0001-01-01',
  };

  test('what is new is inserted, and answered as it would be read', async () => {
    expect(await upsert(values, ['what'])).toMatchObject([{ ...values, _version: 1 }]);
    expect(await stored()).toEqual([{ ...values, _version: 1 }]);
  });

  test('of what is there only that is changed which is named, and its version is raised', async () => {
    await upsert(values, []);
    const next = { place: 1, what: 'new', flags: [], isOpen: false, at: null };
    const changed = { ...values, what: 'new', flags: [], _version: 2 };
    expect(await upsert(next, ['what', 'flags'])).toMatchObject([changed]);
    expect(await stored()).toEqual([changed]);
  });

  test('what does not meet the condition stays, and nothing is answered', async () => {
    await upsert(values, []);
    const isNew = equal(column('what'), 'new');
    expect(await upsert({ place: 1, what: 'other' }, ['what'], isNew)).toEqual([]);
    expect(await stored()).toEqual([{ ...values, _version: 1 }]);
    // The condition is about the row that is there, and not about the one that is given.
    expect(await upsert({ place: 1, what: 'new' }, ['what'], isNew)).toEqual([]);
    expect(await upsert({ place: 1, what: 'new' }, ['what'], equal(column('what'), 'old'))).toHaveLength(1);
    expect(await upsert({ place: 1, what: 'newer' }, ['what'], isNew)).toMatchObject([
      { what: 'newer', _version: 3 },
    ]);
    // Nor is it asked of a new row.
    expect(await upsert({ place: 2, what: 'first' }, ['what'], isNew)).toMatchObject([
      { place: 2, _version: 1 },
    ]);
  });

  test('with nothing to change, what is there stays', async () => {
    await upsert(values, []);
    expect(await upsert({ place: 1, what: 'other' }, [])).toEqual([]);
    expect(await stored()).toEqual([{ ...values, _version: 1 }]);
  });

  test('of many, the first few are deleted', async () => {
    for (const place of [3, 1, 4, 2, 5]) await upsert({ place, what: place === 1 ? 'kept' : null }, []);
    const where: Filter = { is: 'ne', column: column('what'), value: 'kept' };
    const order = [{ column: column('place'), descending: false }];
    await carryOut({ do: 'delete', resource: thing, where, first: { order, limit: 2 } });
    expect((await stored()).map(({ place }) => place).sort()).toEqual([1, 4, 5]);
  });

  test('a key of several columns tells rows apart', async () => {
    const row = (caller: string, key: string, at: string): Statement => ({
      do: 'upsert',
      resource: answers,
      values: { caller, key, request: '', answer: null, at },
      conflict: answers.primary,
      set: [answers.column.at],
    });
    for (const [caller, key, at] of [
      ['a', 'x', '1'],
      ['a', 'y', '2'],
      ['b', 'x', '3'],
      ['b', 'x', '4'],
    ] as const)
      expect(await carryOut(row(caller, key, at))).toMatchObject([{ caller, key, at }]);
    const order = [{ column: answers.column.at, descending: false }];
    await carryOut({ do: 'delete', resource: answers, where: everything, first: { order, limit: 1 } });
    const left = await storage.prepare(select(answers, answers.columns))(undefined, late());
    expect(left.map(({ caller, key, at }) => [caller, key, at].join()).sort()).toEqual(['a,y,2', 'b,x,4']);
  });
});
