/** What a SQLite statement is estimated to cost, and how what is long is made in turns, where nothing but time would tell otherwise. */

import { Database } from 'bun:sqlite';
import { afterAll, expect, spyOn, test } from 'bun:test';
import { among } from '../../src/query/filter.ts';
import { WhereReader } from '../../src/query/where.ts';
import type { Column, Resource } from '../../src/schema/model.ts';
import { answers, jobs } from '../../src/storage/own.ts';
import { decodedInTurns } from '../../src/storage/sql/codec.ts';
import { heavyOf } from '../../src/storage/sql/long-answers.ts';
import { Bounds } from '../../src/storage/sqlite/bounds.ts';
import { waysIn } from '../../src/storage/sqlite/planning.ts';
import { compiler } from '../../src/storage/sqlite/runner.ts';
import { Sizes } from '../../src/storage/sqlite/sizes.ts';
import { type Row, type Statement, select } from '../../src/storage/statements.ts';
import { modelOf } from './deployment.ts';

const texts = Array.from({ length: 20 }, (_, at) => `t${at}`);
const marks = Array.from({ length: 20 }, (_, at) => `n${at}`);
const fields = Array.from({ length: 500 }, (_, at) => `f${at}`);
const wide = (name: string) =>
  `type ${name} @resource { id: ID! ${texts.map((text) => `${text}: String`).join(' ')} }`;
const { resources } = modelOf(`
  type Club @resource { id: ID!  seats: [Seat!]!  books: [Book!]! }
  type Seat @resource { id: ID!  n: Int  club: Club!  note: String }
  type Marked @resource { id: ID!  ${marks.map((mark) => `${mark}: Int @index`).join(' ')} }
  type Book @resource { id: ID!  text: String  code: String @constraint(maxLength: 20)  club: Club! }
  type Form @resource @search(fields: ["t"]) { id: ID!  t: String  ${fields.map((name) => `${name}: Float`).join(' ')} }
  ${wide('Upper')} ${wide('Lower')}
`);
const resourceOf = (name: string) => resources.find((each) => each.name === name) as Resource;
const [seat, book, upper, lower, marked] = ['Seat', 'Book', 'Upper', 'Lower', 'Marked'].map(resourceOf) as [
  Resource,
  Resource,
  Resource,
  Resource,
  Resource,
];

const database = new Database(':memory:');
afterAll(() => database.close());
const counting = (to: number) =>
  `WITH RECURSIVE n(v) AS (SELECT 1 UNION ALL SELECT v + 1 FROM n WHERE v < ${to})`;
for (const { table, columns, key } of [...resources, answers, jobs]) {
  const others = columns
    .filter((column) => column !== key)
    .map(({ stored }) => `"${stored}" ${stored.endsWith('Id') ? 'INTEGER' : ''}`);
  const first = `"${key.stored}" ${table.startsWith('_') ? '' : 'INTEGER PRIMARY KEY'}`;
  database.run(`CREATE TABLE "${table}" (${[first, ...others]})`);
}
database.run(`CREATE INDEX seats_of_club ON "${seat.table}" ("clubId")`);
database.run(`${counting(21_000)} INSERT INTO "${seat.table}" ("id", "n", "clubId") SELECT v, v, 1 FROM n`);
for (const { table } of [upper, lower])
  database.run(`${counting(7_000)} INSERT INTO "${table}" ("id") SELECT v FROM n`);

function admits(statement: Statement, on = database) {
  const { sql, parameters } = compiler.compile(statement);
  const until = new Bounds(on).admits(statement, sql, parameters);
  // Within ten milliseconds, or a hundred.
  return until === 0 ? false : until - performance.now() > 50 || 'watched';
}

function filterOf(resource: Resource, where: object) {
  const fails = (_: unknown, __: unknown, detail: string) => {
    throw new Error(detail);
  };
  return new WhereReader(
    (_, value) => value,
    fails as never,
    () => true,
  ).read(resource, where);
}

test.each([
  [1, 'watched'],
  [100, false],
] as const)('%d conditions on a long text, beside a rule that may look many up', (count, answer) => {
  const or = Array.from({ length: count }, (_, at) => ({ text: { contains: `b${at}` } }));
  const where = filterOf(book, { club: { seats: { some: { n: { eq: 1 } } } }, or });
  const rows: Row[] = [{ id: 1, text: 'a'.repeat(300_000), clubId: 1 }];
  expect(admits({ do: 'match', resource: book, rows, where })).toBe(answer);
});

test('what a list of records leads to is looked at by the clock: all of them may lead to the same', () => {
  const books = (id: object) => {
    const where = filterOf(book, { id, club: { books: { some: { code: { eq: 'x' } } } } });
    return select(book, [book.key], where, { limit: 10 });
  };
  expect([isSure(books({ eq: 1 })), isSure(books({ in: [1, 2] }))]).toEqual([true, false]);
});

/** Whether it is left to run without a look at the clock. */
function isSure(statement: Statement, isShared = false) {
  const { sql, parameters } = compiler.compile(statement);
  return new Bounds(database, isShared).admits(statement, sql, parameters) === Number.POSITIVE_INFINITY;
}

const ids = (count: number) => Array.from({ length: count }, (_, at) => at + 1);

test('what many lists answer, up to their limit, is looked at by the clock; so is one record of a list through links', () => {
  const per = { column: book.columns.find(({ name }) => name === 'clubId') as Column, values: ids(100) };
  const related = (limit: number) => select(book, [book.key], undefined, { per, limit });
  expect([isSure(related(10)), isSure(related(600))]).toEqual([true, false]);
  // The first page of an export has the lists of few records.
  const few = (limit: number) =>
    select(book, [book.key], undefined, { per: { ...per, values: ids(8) }, limit });
  const isRead = (statement: Statement) => {
    const { sql, parameters } = compiler.compile(statement);
    return new Bounds(database).allowance('each page').admits(statement, sql, parameters) > 0;
  };
  expect([isRead(few(10)), isRead(few(600))]).toEqual([true, false]);
  const through = { resource: seat, far: seat.key, where: undefined };
  const linked = select(book, [book.key], filterOf(book, { id: { eq: 1 } }), {
    per: { ...per, through },
    limit: 1,
  });
  expect(isSure(linked)).toBe(false);
});

test('where other processes write, too, nobody knows how much there is', () => {
  const scan = select(book, [book.key], filterOf(book, { text: { contains: 'x' } }), { limit: 10 });
  expect([isSure(scan), isSure(scan, true)]).toEqual([true, false]);
});

test('a table of very many values is not measured at once', () => {
  const values = texts.map(() => "'x'").join(', ');
  const names = upper.columns.filter(({ name }) => name !== 'id').map(({ stored }) => `"${stored}"`);
  const many = new Database(':memory:');
  many.run(`CREATE TABLE "${upper.table}" ("id" INTEGER PRIMARY KEY, ${names})`);
  many.run(`${counting(19_000)} INSERT INTO "${upper.table}" (${names}) SELECT ${values} FROM n`);
  expect(new Sizes(many).heldBy(upper)?.rows).toBe(19_000);
  const twice = { ...upper, columns: [...upper.columns, ...upper.columns.slice(1)] };
  expect(new Sizes(many).heldBy(twice)).toBeUndefined();
  many.close();
});

test('indexes of several columns are ways to plan', () => {
  const { resources: [way] = [] } = modelOf(`
    type Way @resource @index(fields: ["a", "b"]) @index(fields: ["b", "a"]) @index(fields: ["p", "a"]) {
      id: ID!  a: Int  b: Int  p: Way  ways: [Way!]! @inverse(of: "p")
    }`);
  const where = { a: { eq: 1 } };
  expect([
    waysIn(filterOf(way as Resource, where)),
    waysIn(filterOf(way as Resource, { p: { p: where } })),
  ]).toEqual([0, 8]);
});

test('alternatives are planned with all conditions beside them, each', () => {
  const eq = (count: number, from = 0) => ids(count).map((id) => ({ id: { eq: from + id } }));
  const isPlanned = (or: object[], operator = 'eq', beside = 150) =>
    plans(book, { or, and: ids(beside).map((at) => ({ code: { [operator]: `t${at}` } })) });
  const nested = (count: number) => ids(count).map((at) => ({ or: eq(count, at * count) }));
  expect([isPlanned(eq(2)), isPlanned(eq(170))]).toEqual([true, false]);
  expect([isPlanned(eq(50), 'contains', 60), isPlanned(eq(50), 'startsWith', 60)]).toEqual([true, false]);
  expect([isPlanned(eq(100)), isPlanned(eq(100), 'gt')]).toEqual([true, false]);
  expect([isPlanned(nested(8)), isPlanned(nested(15))]).toEqual([true, false]);
});

function plans(resource: Resource, where: object): boolean {
  const statement = select(resource, [resource.key], filterOf(resource, where), { limit: 1 });
  const { sql, parameters } = compiler.compile(statement);
  return new Bounds(database).admits(statement, sql, parameters) > 0;
}

test('every lower bound of a value is weighed up with every upper one', () => {
  const ranges = (count: number, ...operators: string[]) => ({
    and: ids(count).flatMap((at) => operators.map((operator) => ({ code: { [operator]: `t${at}` } }))),
  });
  const bounds: [number, ...string[]][] = [
    [80, 'gt', 'lte'],
    [120, 'gt', 'lte'],
    [200, 'gt', 'gte'],
    [80, 'startsWith'],
    [120, 'startsWith'],
  ];
  expect(bounds.map((each) => plans(book, ranges(...each)))).toEqual([true, false, true, true, false]);
});

test('of rows of values each is gone through for each of its values', () => {
  const resource = resourceOf('Form');
  const rows = (count: number) => Array.from({ length: count }, () => ({ t: 'x'.repeat(200_000) }));
  const checked = (count: number, of: number): Statement => ({
    do: 'match',
    resource,
    rows: rows(count),
    where: filterOf(resource, Object.fromEntries(fields.slice(0, of).map((name) => [name, { gte: -5 }]))),
  });
  expect([admits(checked(40, 20)), admits(checked(40, 500))]).toEqual([true, false]);
  const computed = (own: readonly Column[]): Statement => ({
    do: 'update',
    resource,
    set: {},
    where: among(resource.key, [1]),
    next: rows(1),
    own,
    counts: true,
  });
  const named = (...names: string[]) => resource.columns.filter(({ name }) => names.includes(name));
  expect([admits(computed(named('f1'))), admits(computed(named('t')))]).toEqual([true, false]);
  const long = Object.fromEntries(texts.map((name) => [name, 'x'.repeat(20_000)]));
  const many = (own: readonly Column[]): Statement => ({
    do: 'update',
    resource: upper,
    set: {},
    where: among(upper.key, [1]),
    next: [long],
    own,
    counts: true,
  });
  expect([admits(many(upper.columns.slice(1, 3))), admits(many(upper.columns))]).toEqual([true, false]);
});

test.each([
  [
    'related to',
    (values: unknown[]) =>
      select(seat, [seat.key], undefined, { per: { column: marked.key, values }, limit: 1 }),
  ],
  ['named by', (values: unknown[]) => select(marked, [marked.key], among(marked.key, values))],
])('records %s many or long keys take long to be sought, whether there is one or not', (_, asking) => {
  const of = (count: number, length: number) =>
    admits(asking(ids(count).map((id) => `${id}`.padStart(length, 'x'))));
  expect([of(5_000, 36), of(500, 300), of(5_000, 300)]).toEqual([true, true, false]);
  expect([of(900, 60), of(900, 1_000), of(20_000, 60)]).toEqual([true, false, false]);
  const numbers = (count: number) => admits(asking(ids(count)));
  expect([numbers(19_000), numbers(48_000)]).toEqual([true, false]);
});

test('an order of many columns counts with each of them', () => {
  const by = (count: number) =>
    select(upper, [upper.key], undefined, {
      order: upper.columns.slice(1, 1 + count).map((column) => ({ column, descending: false })),
      limit: 10,
    });
  expect([admits(by(3)), admits(by(20))]).toEqual([true, false]);
});

test('of many tables that nobody has measured yet some are, and the others a moment later', async () => {
  const sizes = new Sizes(database);
  expect([sizes.heldBy(upper)?.rows, sizes.heldBy(lower)]).toEqual([7_000, undefined]);
  await Bun.sleep(600);
  expect([sizes.heldBy(upper)?.rows, sizes.heldBy(lower)?.rows]).toEqual([7_000, 7_000]);
});

test('texts that are answered count from as many on as could be too much', () => {
  const bytes = 32 * 1024 * 1024;
  const column = (name: string) => book.columns.filter((each) => each.name === name);
  const isCounted = (names: string[], limit: number) =>
    heavyOf(select(book, names.flatMap(column), undefined, { limit, most: 1000, bytes })) !== undefined;
  expect(isCounted(['text', 'code'], 101)).toBe(false);
  expect(isCounted(['text', 'code'], 102)).toBe(true);
  expect(isCounted(['code'], 1000)).toBe(false);
  const all = upper.columns.filter(({ name }) => name !== 'id');
  expect(heavyOf(select(upper, all, undefined, { limit: 6, most: 1000, bytes }))).toBeDefined();
});

test('what is outdated in a large file is swept elsewhere', () => {
  const before = { is: 'lt', column: answers.column.at, value: '2020-01-01' } as const;
  const sweep: Statement = { do: 'delete', resource: answers, where: before };
  const one: Statement = { ...sweep, where: among(answers.key, ['a']) };
  expect([admits(sweep), admits(one)]).toEqual([true, true]);
  database.run('CREATE TABLE filler (bytes)');
  database.run('INSERT INTO filler VALUES (zeroblob(70000000))');
  expect([admits(sweep), admits(one)]).toEqual([false, true]);
});

test('in a large file rows count with the indexes that have what changes, and with the texts that are sorted along', () => {
  const update = (resource: Resource, names: readonly string[]): Statement => ({
    do: 'update',
    resource,
    set: Object.fromEntries(names.map((name) => [name, 1])),
    counts: true,
    where: among(
      resource.key,
      Array.from({ length: 200 }, (_, at) => at),
    ),
  });
  expect([admits(update(marked, ['n0'])), admits(update(marked, marks))]).toEqual([true, false]);
  database.run(`UPDATE "${seat.table}" SET "note" = printf('%.*c', 3000000, 'a') WHERE "id" = 1`);
  const order = [{ column: seat.columns.find(({ name }) => name === 'n') ?? seat.key, descending: false }];
  const noted = (columns: typeof seat.columns, count = 2) =>
    select(seat, columns, among(seat.key, ids(count)), { order, limit: count });
  expect([admits(noted([seat.key])), admits(noted(seat.columns))]).toEqual([true, false]);
  // All of a row may have to be gone through to come to what it is put in order by.
  expect(admits(noted([seat.key], 100))).toBe(true);
  database.run(`UPDATE "${seat.table}" SET "note" = printf('%.*c', 600000, 'a') WHERE "id" <= 100`);
  expect(admits(noted([seat.key], 100))).toBe(false);
  database.run(`UPDATE "${seat.table}" SET "note" = NULL`);
});

test('of related records in a large file few are measured: each may be on a page of its own', () => {
  const clubId = seat.columns.find(({ name }) => name === 'clubId') as Column;
  for (const [club, count] of [
    [2, 4_900],
    [3, 5_100],
  ] as const)
    database.run(`${counting(count)} INSERT INTO "${seat.table}" ("clubId") SELECT ${club} FROM n`);
  const isMeasured = (club: number) => {
    using asked = spyOn(database, 'query');
    admits(select(seat, seat.columns, undefined, { per: { column: clubId, values: [club] }, limit: 10 }));
    return asked.mock.calls.some(([sql]) => sql.includes('octet_length') && sql.includes('"clubId"'));
  };
  expect([isMeasured(2), isMeasured(3)]).toEqual([true, false]);
});

test('what there is of many in its own tables is looked up elsewhere, where the file is large', () => {
  const first = (count: number) => {
    const values = ids(count);
    return select(jobs, [jobs.key], undefined, { per: { column: jobs.column.hook, values }, limit: 1 });
  };
  database.run(`${counting(21_000)} INSERT INTO "${jobs.table}" ("id", "hook") SELECT v, v FROM n`);
  expect([admits(first(3_000)), admits(first(9_000))]).toEqual([true, false]);
  database.run(`DELETE FROM "${jobs.table}"`);
});

test('all jobs at once are changed elsewhere, where there are many', () => {
  const where = { is: 'eq', column: jobs.column.error, value: 'x' } as const;
  const retry: Statement = { do: 'update', resource: jobs, set: { error: null }, where, counts: false };
  expect(admits(retry)).toBe(true);
  database.run(`${counting(3_000)} INSERT INTO "${jobs.table}" ("id", "error") SELECT v, 'x' FROM n`);
  expect(admits(retry)).toBe(false);
});

test('after one was late all others may take a tenth, however they are written', () => {
  const where = among(
    marked.key,
    Array.from({ length: 25 }, (_, at) => at),
  );
  const update: Statement = { do: 'update', resource: marked, set: { n0: 1 }, where, counts: true };
  const bounds = new Bounds(database);
  const left = () => bounds.admits(update, '', []) - performance.now();
  expect(left()).toBeGreaterThan(50);
  bounds.wasLong('another');
  expect(left()).toBeWithin(0, 11);
});

test('once whole lists had many rows, they are counted beforehand', () => {
  const bounds = new Bounds(database);
  const clubId = seat.columns.find(({ name }) => name === 'clubId') as Column;
  const admitted = (club: number) => {
    const listed = select(seat, seat.columns, undefined, {
      per: { column: clubId, values: [club] },
      most: 50_001,
    });
    const { sql, parameters } = compiler.compile(listed);
    return { sql, isHere: bounds.admits(listed, sql, parameters) > 0 };
  };
  const { sql, isHere } = admitted(1);
  expect(isHere).toBeTrue();
  bounds.hadMany(sql);
  expect([admitted(1).isHere, admitted(2).isHere]).toEqual([false, true]);
});

test('texts count for as many values as they are long', async () => {
  const rows = Array.from({ length: 40 }, (): Row => ({ n: 'x'.repeat(100_000) }));
  let left = rows.length;
  const heard: number[] = [];
  const hear = () => {
    heard.push(left);
    if (left > 0) setImmediate(hear);
  };
  setImmediate(hear);
  const lengthOf = (value: unknown) => {
    left--;
    return String(value).length;
  };
  expect(await decodedInTurns(rows, [{ name: 'n', decode: lengthOf }])).toEqual(
    Array.from({ length: 40 }, () => ({ n: 100_000 })),
  );
  expect(new Set(heard).size).toBeGreaterThan(2);
});

test('many values are decoded in turns, in their order', async () => {
  const rows = Array.from({ length: 120_000 }, (_, n): Row => ({ n }));
  let turns = 0;
  const other = setInterval(() => turns++, 0);
  const made = await decodedInTurns(rows, [{ name: 'n', decode: (value) => `${value}` }]);
  clearInterval(other);
  expect(made.length).toBe(120_000);
  expect([made[0], made[60_000], made[119_999]]).toEqual([{ n: '0' }, { n: '60000' }, { n: '119999' }]);
  expect(turns).toBeGreaterThan(0);
});
