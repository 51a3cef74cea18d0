/** Several nodes on one database: they start at once, they run side by side, and they write while tables change. */

import { Database } from 'bun:sqlite';
import { describe, expect, test } from 'bun:test';
import { rmSync } from 'node:fs';
import { type AppUnderTest, databases } from '../app.ts';
import { Folder, Server } from '../process.ts';
import { Deployment } from './deployment.ts';

const A = (fields: string) => `type A @resource { id: ID! ${fields} }`;
const old = A('n: Int s: String');
const next = `${A('n: Int @index s: String! @default(value: "d") u: String @unique')} type B @resource { id: ID! }`;

/** Starts processes at the same moment and answers with what each shows of its records. */
async function startAtOnce(count: number, url: string, sdl: string, data: unknown = {}): Promise<unknown[]> {
  using folder = new Folder({ 'schema.graphql': sdl, 'data.json': JSON.stringify(data) });
  const starting = Array.from({ length: count }, () => Server.start(folder, { DATABASE_URL: url }));
  const servers = await Promise.all(starting);
  try {
    return await Promise.all(servers.map(async (each) => (await fetch(`${each.url}/as`)).json()));
  } finally {
    for (const server of servers) await server[Symbol.asyncDispose]();
  }
}

const post = async (app: AppUnderTest, body: unknown) => (await app.rest('POST', '/as', body)).body;
const list = async (app: AppUnderTest) => (await app.rest('GET', '/as')).body;

describe.each([...databases])('on %s', (kind) => {
  test('four processes that start at once make and change the tables once', async () => {
    await using deployment = await Deployment.create(kind);
    const data = { as: [{ n: 1, s: 'x' }, { n: 2 }] };
    const before = [
      { id: 1, n: 1, s: 'x' },
      { id: 2, n: 2, s: null },
    ];
    expect(await startAtOnce(4, deployment.url, old, data)).toEqual(Array(4).fill(before));
    expect((await deployment.history()).map(({ steps }) => steps)).toEqual([['create table A']]);
    const after = before.map((row) => ({ ...row, s: row.s ?? 'd', u: null }));
    expect(await startAtOnce(4, deployment.url, next)).toEqual(Array(4).fill(after));
    expect((await deployment.history()).map(({ steps }) => steps.length)).toEqual([1, 6]);
  });

  test('nodes of one process that start at once', async () => {
    await using deployment = await Deployment.create(kind);
    for (const sdl of [old, next]) {
      const evolutions = await Promise.all([1, 2, 3].map(() => deployment.evolve(sdl)));
      expect(evolutions.filter(({ applied }) => applied.length > 0)).toHaveLength(1);
    }
    expect(await deployment.history()).toHaveLength(2);
  });

  test('old and new read and write the same rows during a rollout', async () => {
    await using deployment = await Deployment.create(kind);
    const renamed = `type C @resource(path: "as") @table(name: "A") {
      id: ID!  m: Int @column(name: "n")  s: String  d: [Int!]! @default(value: [7])  o: Boolean
    }`;
    const before = await deployment.app(old);
    await post(before, { n: 1, s: 'x' });
    const after = await deployment.app(renamed);
    expect(await post(after, { m: 2, d: [] })).toEqual({ id: 2, m: 2, s: null, d: [], o: null });
    expect(await post(before, { n: 3 })).toEqual({ id: 3, n: 3, s: null });
    expect((await before.rest('PUT', '/as/2', { s: 'y' })).body).toEqual({ id: 2, n: 2, s: 'y' });
    expect((await after.rest('PUT', '/as/1', { m: 9 })).body.m).toBe(9);
    expect(await list(before)).toEqual([
      { id: 1, n: 9, s: 'x' },
      { id: 2, n: 2, s: 'y' },
      { id: 3, n: 3, s: null },
    ]);
    expect(await list(after)).toEqual([
      { id: 1, m: 9, s: 'x', d: [7], o: null },
      { id: 2, m: 2, s: 'y', d: [], o: null },
      { id: 3, m: 3, s: null, d: [7], o: null },
    ]);
    expect((await before.rest('DELETE', '/as/2')).status).toBe(204);
    expect((await after.rest('GET', '/as/2')).status).toBe(404);
    await before.close();
    await after.close();
  });

  test('a value that only the new enum has is told by old nodes as it is, through either door', async () => {
    await using deployment = await Deployment.create(kind);
    const file = (values: string) =>
      `enum E { ${values} } type A @resource { id: ID!  e: E  r: E!  l: [E!] }`;
    const before = await deployment.app(file('X'));
    const after = await deployment.app(file('X Y'));
    await post(after, { e: 'Y', r: 'Y', l: ['X', 'Y'] });
    const told = [{ id: 1, e: 'Y', r: 'Y', l: ['X', 'Y'] }];
    expect(await list(before)).toEqual(told);
    const query = '{ as { id e r l } }';
    for (const asked of [query, query, query.replace('{', '{ __typename ')]) {
      const { data, errors } = await before.graphql(asked);
      expect([data.as, errors]).toEqual([[{ ...told[0], id: '1' }], undefined]);
    }
    await before.close();
    await after.close();
  });

  test('a node with the old schema is told of the new unique', async () => {
    await using deployment = await Deployment.create(kind);
    const before = await deployment.app(old);
    await post(before, { n: 1, s: 'x' });
    await deployment.evolve('type A @resource @unique(fields: ["n", "s"]) { id: ID! n: Int s: String }');
    const { status, body } = await before.rest('POST', '/as', { n: 1, s: 'x' });
    expect(status).toBe(409);
    expect(body.errors.map(({ pointer }: any) => pointer)).toEqual(['#/n', '#/s']);
    await before.close();
  });

  test('a column is added to many rows without rewriting them', async () => {
    await using deployment = await Deployment.create(kind);
    await deployment.evolve(old);
    const numbers =
      kind === 'sqlite'
        ? 'WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < 100000) SELECT x, 1 FROM c'
        : 'SELECT x, 1 FROM generate_series(1, 100000) x';
    await deployment.sql(`INSERT INTO "A" ("n", "_version") ${numbers}`);
    const file = async () =>
      kind === 'sqlite' ? [] : deployment.sql(`SELECT relfilenode FROM pg_class WHERE relname = 'A'`);
    const place = await file();
    const wider = A(
      'n: Int s: String t: String! @default(value: "d") b: [Boolean!]! @default(value: [true])',
    );
    await deployment.evolve(wider);
    expect(await file()).toEqual(place);
    await deployment.using(wider, async (app) => {
      expect((await app.rest('GET', '/as/99999')).body).toEqual({
        id: 99999,
        n: 99999,
        s: null,
        t: 'd',
        b: [true],
      });
    });
  });
});

describe('on postgres', () => {
  test('an index is built while others write, and waits for them only', async () => {
    await using deployment = await Deployment.create('postgres');
    await deployment.evolve(old, { as: [{ n: 1 }] });
    const app = await deployment.app(old);
    const other = new Bun.SQL(deployment.url, { max: 1 });
    const session = await other.reserve();
    await session.unsafe('BEGIN');
    await session.unsafe('UPDATE "A" SET "n" = 5 WHERE "id" = 1');
    const building = Promise.all([1, 2].map(() => deployment.evolve(A('n: Int @index s: String'))));
    // The builder is seen to wait for the writer; then still others write.
    for (let waiting = 0; waiting === 0; await Bun.sleep(10)) {
      const sql = `SELECT 1 FROM pg_stat_activity WHERE query LIKE 'CREATE INDEX%' AND wait_event_type = 'Lock' AND datname = current_database()`;
      waiting = (await deployment.sql(sql)).length;
    }
    expect(await post(app, { n: 2 })).toEqual({ id: 2, n: 2, s: null });
    await session.unsafe('COMMIT');
    expect((await building).map(({ applied }) => applied).sort()).toEqual([[], ['create index on A (n)']]);
    expect(await list(app)).toMatchObject([{ n: 5 }, { n: 2 }]);
    await app.close();
    await other.close({ timeout: 0 });
  });

  test('a change of a table that must wait does not make everybody else wait', async () => {
    await using deployment = await Deployment.create('postgres');
    await deployment.evolve(old, { as: [{ n: 1 }] });
    const app = await deployment.app(old);
    const other = new Bun.SQL(deployment.url, { max: 1 });
    const session = await other.reserve();
    await session.unsafe('BEGIN');
    await session.unsafe('SELECT * FROM "A"');
    const wider = A('n: Int s: String t: String');
    const changing = deployment.evolve(wider);
    const sql = `SELECT 1 FROM pg_stat_activity WHERE query LIKE 'ALTER TABLE%' AND wait_event_type = 'Lock' AND datname = current_database()`;
    while ((await deployment.sql(sql)).length === 0) await Bun.sleep(10);
    expect(await post(app, { n: 2 })).toEqual({ id: 2, n: 2, s: null });
    await session.unsafe('COMMIT');
    expect((await changing).applied).toEqual(['add column A.t']);
    expect((await deployment.history()).map(({ steps }) => steps.length)).toEqual([1, 1]);
    await app.close();
    await other.close({ timeout: 0 });
  });

  test('an index whose building was broken off is built anew', async () => {
    await using deployment = await Deployment.create('postgres');
    const unique = A('n: Int @unique s: String');
    await deployment.evolve(unique, { as: [{ n: 1 }] });
    const state = () =>
      deployment.sql(
        `SELECT relname, indisvalid FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid WHERE indrelid = '"A"'::regclass AND NOT indisprimary`,
      );
    const [{ relname }] = await state();
    const breakOff = () =>
      deployment.sql(`UPDATE pg_index SET indisvalid = false WHERE indexrelid = '"${relname}"'::regclass`);
    await breakOff();
    expect((await deployment.evolve(unique)).applied).toEqual(['create unique index on A (n)']);
    expect(await state()).toEqual([{ relname, indisvalid: true }]);
    await breakOff();
    expect((await deployment.evolve(old)).applied).toEqual(['drop unique index on A (n)']);
    expect(await state()).toEqual([]);
  });

  test('a duplicate that comes while a unique index is built refuses it, and nothing is left of it', async () => {
    await using deployment = await Deployment.create('postgres');
    await deployment.evolve(old, { as: [{ n: 1 }] });
    const other = new Bun.SQL(deployment.url, { max: 1 });
    const session = await other.reserve();
    await session.unsafe('BEGIN');
    await session.unsafe('INSERT INTO "A" ("n", "_version") VALUES (1, 1)');
    const refusing = deployment.refusals(A('n: Int @unique s: String'));
    for (let waiting = 0; waiting === 0; await Bun.sleep(10))
      waiting = (
        await deployment.sql(
          `SELECT 1 FROM pg_stat_activity WHERE query LIKE 'CREATE UNIQUE INDEX%' AND datname = current_database()`,
        )
      ).length;
    await session.unsafe('COMMIT');
    expect(await refusing).toEqual([
      'A(n): it is now unique, but there are records with the same value: 1 and 2. Change such records first, or drop the @unique.',
    ]);
    await deployment.using(old, async (app) => {
      expect(await post(app, { n: 1 })).toEqual({ id: 3, n: 1, s: null });
    });
    await other.close({ timeout: 0 });
  });

  // An index that is built concurrently waits for the end of each transaction that it has seen reading.
  test('a node that waits for another keeps no transaction open', async () => {
    await using deployment = await Deployment.create('postgres');
    await deployment.evolve(old);
    const other = new Bun.SQL(deployment.url, { max: 1 });
    await other.unsafe('BEGIN; SELECT 1 FROM "_duet_lock" FOR UPDATE').simple();
    const evolution = deployment.evolve(next);
    const idle = () =>
      deployment.sql(`SELECT query_start::text AS "at" FROM pg_stat_activity
        WHERE datname = current_database() AND state = 'idle' AND query = 'ROLLBACK'`);
    // It asks, and has let go of everything, again and again.
    const attempts = new Set<unknown>();
    for (let tries = 0; tries < 1000 && attempts.size < 3; tries++) {
      for (const { at } of await idle()) attempts.add(at);
      await Bun.sleep(10);
    }
    expect(attempts.size).toBe(3);
    await other.unsafe('ROLLBACK');
    expect((await evolution).applied.length).toBe(5);
    await other.close({ timeout: 0 });
  });

  test('a schema whose name must be quoted', async () => {
    await using deployment = await Deployment.create('postgres');
    const database = new URL(deployment.url).pathname.slice(1);
    await deployment.sql('CREATE SCHEMA "Sales; it\'s"');
    await deployment.sql(`ALTER DATABASE "${database}" SET search_path = "Sales; it's"`);
    await deployment.evolve(old, { as: [{ n: 1 }] });
    await deployment.sql('CREATE TABLE public."Theirs" ("x" integer)');
    expect(await deployment.evolve(A('n: Int @index'))).toMatchObject({
      applied: ['create index on A (n)'],
      surplus: ['A.s'],
    });
    expect(await deployment.prune(A('n: Int @index'), ['A.s'])).toEqual(['A.s']);
    expect(await deployment.records(A('n: Int'))).toEqual({ as: [{ id: 1, n: 1 }] });
  });
});

test('a SQLite file that is new is opened by any number of processes', async () => {
  using folder = new Folder();
  const file = folder.file('new.db');
  for (let round = 0; round < 3; round++) {
    for (const end of ['', '-wal', '-shm']) rmSync(`${file}${end}`, { force: true });
    expect(await startAtOnce(8, `sqlite:${file}`, old, { as: [{ n: 1 }] })).toHaveLength(8);
  }
}, 120_000);

test('a SQLite file that somebody else has just begun to write is waited for', async () => {
  using folder = new Folder();
  using other = new Database(folder.file('new.db'), { create: true });
  other.run('CREATE TABLE "theirs" (a)');
  // Not yet in WAL mode: to get there, SQLite asks for a lock for which it never waits.
  other.run('BEGIN IMMEDIATE');
  const starting = Server.start(folder, { DATABASE_URL: `sqlite:${folder.file('new.db')}` });
  await Bun.sleep(1000);
  other.run('ROLLBACK');
  await using server = await starting;
  expect((await fetch(`${server.url}/books`)).status).toBe(200);
});
