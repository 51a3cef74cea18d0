/** On SQLite, what long writes leave of the index of words is merged behind them, a little at a time, and before there is too much of it. */

import { Database } from 'bun:sqlite';
import { afterAll, beforeAll, describe, expect, spyOn, test } from 'bun:test';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { among } from '../../src/query/filter.ts';
import type { Resource } from '../../src/schema/model.ts';
import { control } from '../../src/storage/sqlite/asking.ts';
import { Merging } from '../../src/storage/sqlite/merging.ts';
import { ProcessFault, StatementProcess } from '../../src/storage/sqlite/process.ts';
import { ProcessWriter } from '../../src/storage/sqlite/process-writer.ts';
import { mergingOf, splitsWords } from '../../src/storage/sqlite/words.ts';
import type { Outcome, Waiting } from '../../src/storage/sqlite/write-queue.ts';
import type { Row } from '../../src/storage/statements.ts';
import type { Program } from '../../src/storage/storage.ts';
import { APART, openApp } from '../app.ts';
import { Folder } from '../process.ts';
import { modelOf } from './deployment.ts';

const ROWS = 20_000;
const sdl = 'type Book @resource @search(fields: ["title"]) { id: ID!  title: String!  seen: Int }';

const folder = new Folder({});
const path = folder.file('duet.db');
const deployment = { sdl, data: {}, url: `sqlite:${path}` };
const [note, log] = [folder.file('note.ts'), folder.file('log')];

/** What the process that writes is asked: where FTS5 writes, what it knows of its segments changes, and their ids where it merges them. */
const noting = `
  import { Database } from 'bun:sqlite';
  import { appendFileSync } from 'node:fs';
  const { query } = Database.prototype;
  const tell = (text) => appendFileSync(${JSON.stringify(log)}, text + '\\n');
  let begun, pending;
  Database.prototype.query = function (sql) {
    const get = (text) => query.call(this, text).values().flat();
    const table = get("SELECT name FROM sqlite_master WHERE name GLOB '*_Book_data'")[0];
    if (!table) return query.call(this, sql);
    const known = () => get(\`SELECT hex(block) FROM "\${table}" WHERE id = 10\`)[0];
    const segments = () => get(\`SELECT DISTINCT segid FROM "\${table.replace('_data', '_idx')}"\`);
    if (sql === 'BEGIN IMMEDIATE') begun = segments();
    if (sql.includes("'automerge', 0")) tell('put off');
    if (sql.startsWith('SAVEPOINT')) pending = known();
    if (sql.includes('total_changes') && pending) {
      tell(known() === pending ? 'not written' : 'written');
      pending = undefined;
    }
    if (sql.includes("'merge', 250")) tell('a little');
    if (sql.includes("'crisismerge', 16")) tell('in time');
    if (sql === 'COMMIT') {
      const before = known();
      const merged = begun.every((each) => segments().includes(each)) ? 'unmerged' : 'merged';
      queueMicrotask(() => tell('commit ' + merged + (known() === before ? '' : ', late')));
    }
    return query.call(this, sql);
  };`;

beforeAll(async () => {
  await (await openApp('sqlite', deployment)).close();
  using db = new Database(path);
  splitsWords(db);
  db.run('PRAGMA synchronous = OFF');
  db.run(
    `WITH RECURSIVE s(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM s WHERE i < ${ROWS}) INSERT INTO "Book" (id, title, _version) SELECT i, 'book ' || i, 1 FROM s`,
  );
  writeFileSync(note, noting);
});

afterAll(() => folder[Symbol.dispose]());

function open() {
  const [bun, ...rest] = APART;
  return openApp('sqlite', {
    ...deployment,
    // Whatever else the machine does.
    env: { LIMIT_DEADLINE: '60000' },
    apart: [String(bun), '--preload', note, ...rest],
  });
}

function many(method: string, from: number, body?: unknown): [string, string, object] {
  const chosen = { where: { id: { gt: from, lte: from + 5_000 } }, atMost: 5_000 };
  const one = { method, path: '/books', body, ...(method !== 'POST' && chosen) };
  return ['POST', '/transaction', { operations: [one] }];
}

function kindOf(outcome: Outcome | undefined): string {
  return typeof outcome === 'object' && 'result' in outcome ? 'done' : String(outcome);
}

/** What has been noted, when nothing is left to merge. */
async function noted(): Promise<string[]> {
  const lines = () => (existsSync(log) ? readFileSync(log, 'utf8').trim().split('\n') : []);
  for (let tries = 0; tries < 1_000 && lines().at(-2) !== 'in time'; tries++) await Bun.sleep(10);
  const found = lines();
  writeFileSync(log, '');
  return found;
}

function inFile<T>(work: (db: Database, words: string) => T): T {
  using db = new Database(path);
  const [[words] = []] = db
    .query(`SELECT name FROM sqlite_master WHERE name GLOB '_duet_search_*_Book'`)
    .values();
  return work(db, String(words));
}

/** From COMMIT on nothing is ended, and before it the write would take seconds where a tenth of the index is outdated. */
describe('another process', () => {
  test.each([
    ['DELETE', 1, undefined],
    ['PUT', 5_000, { title: 'another' }],
    ['POST', 1, Array.from({ length: 4_000 }, (_, book) => ({ title: `new ${book}` }))],
  ])('has the words of a %s written before it commits, and merges behind it', async (method, from, body) => {
    const app = await open();
    const { status } = await app.rest(...many(method, from, body));
    const lines = await noted();
    await app.close();
    expect(status).toBe(200);
    const [putOff, written, commit, ...behind] = lines;
    expect([putOff, written, commit]).toEqual(['put off', 'written', 'commit unmerged']);
    expect(behind.slice(0, 2)).toEqual(['a little', 'commit merged']);
    expect(behind.slice(-4)).toEqual(['a little', 'commit unmerged', 'in time', 'commit unmerged']);
  });

  /** A search looks into each segment. */
  test('merges some before it leaves more than there may be', async () => {
    inFile((db, words) => db.run(`INSERT INTO "${words}" ("${words}", rank) VALUES ('hashsize', 100)`));
    const model = modelOf(sdl);
    const [book] = model.resources as [Resource];
    const options = { launch: { command: APART, path }, model, holdMs: 60_000, trace: undefined, look() {} };
    const writer = new ProcessWriter({ ...options, isLogLong: () => true });
    const titles = ['one', 'two', 'three'];
    const came: string[] = [];
    const write = async (set: Row) => {
      function* program(): Program<void> {
        const where = among(
          book.key,
          Array.from({ length: 5_000 }, (_, at) => 10_001 + at),
        );
        yield [{ do: 'update', resource: book, set, where, counts: true, isSilent: true }];
      }
      const waiting: Waiting = { program, steps: 'many', deadline: performance.now() + 60_000 };
      for (let outcome: Outcome | undefined = 'again'; outcome === 'again'; came.push(kindOf(outcome)))
        [outcome] = (await writer.commit(waiting, () => false)) ?? [];
    };
    for (const title of titles) await write({ title });
    // Nor does anybody wait who changes no words, or for what cannot be merged.
    came.push('others');
    const { ask } = StatementProcess.prototype;
    const damaged = { code: 'SQLITE_CORRUPT_VTAB', message: 'malformed', at: 1, inTransaction: false };
    using spy = spyOn(StatementProcess.prototype, 'ask').mockImplementation(function (
      this: StatementProcess,
      group,
    ) {
      const isPortion = group.some(({ sql }) => sql.includes("'merge'"));
      return isPortion ? Promise.reject(new ProcessFault(damaged)) : ask.call(this, group);
    });
    await write({ seen: 1 });
    await write({ title: 'three' });
    spy.mockRestore();
    writer.close();
    expect(came).toEqual([
      ...['done', 'again', 'again', 'done', 'again', 'again', 'done', 'others'],
      ...['done', 'again', 'done'],
    ]);
    const app = await open();
    const counts = await Promise.all(
      titles.map((title) => app.rest('GET', `/books?search=${title}&aggregate=count`)),
    );
    await app.close();
    expect(counts.map(({ body }) => body)).toEqual([[{ count: 0 }], [{ count: 0 }], [{ count: 5_000 }]]);
  });

  test('merges what a server that is gone has left; nobody else ends that before', async () => {
    const [book] = modelOf(sdl).resources as [Resource];
    const settings = () =>
      Object.fromEntries(inFile((db, words) => db.query(`SELECT k, v FROM "${words}_config"`).values()));
    const leave = (first: number) =>
      inFile((db, words) => {
        for (const putOff of mergingOf(book).putOff) db.run(putOff);
        const insert = db.query(`INSERT INTO "${words}" (rowid, "words") VALUES (?, '0gone')`);
        for (let id = first; id < first + 40; id++) insert.run(id);
        for (const inTime of mergingOf(book).inTime) db.run(inTime);
      });
    leave(100_000);
    expect(settings()).toMatchObject({ automerge: 0, crisismerge: 1_000 });
    const app = await open();
    expect((await app.rest('POST', '/books', { title: 'one' })).status).toBe(201);
    expect(await noted()).toEqual(expect.arrayContaining(['a little', 'in time']));
    // One that ends later is not forgotten, either.
    leave(101_000);
    const { now } = performance;
    using _ = spyOn(performance, 'now').mockImplementation(() => now.call(performance) + 61_000);
    expect((await app.rest('POST', '/books', { title: 'one' })).status).toBe(201);
    expect(await noted()).toEqual(expect.arrayContaining(['a little', 'in time']));
    await app.close();
    expect(settings()).toMatchObject({ automerge: 4, crisismerge: 16 });
  });

  test('goes on where others have left more meanwhile, or a later write is not committed; and begins nothing once it is closed', async () => {
    const [book] = modelOf(sdl).resources as [Resource];
    await (await open()).close();
    const process = new StatementProcess({ command: APART, path }, 'writer', () => {});
    const asked: string[] = [];
    const using = async <T>(work: (process: StatementProcess) => Promise<T>) => {
      asked.push('portion');
      return work(process);
    };
    const merging = new Merging({ using, isWriting: () => false, isLogLong: () => false });
    inFile((db) => {
      for (const putOff of mergingOf(book).putOff) db.run(putOff);
    });
    merging.leave(book, 5);
    merging.leave(book, 0);
    await merging.little();
    // Nothing was to be merged; now there is.
    inFile((db, words) => {
      const insert = db.query(`INSERT INTO "${words}" (rowid, "words") VALUES (?, '0gone')`);
      for (let id = 200_000; id < 200_050; id++) insert.run(id);
    });
    const isOff = () =>
      inFile(
        (db, words) =>
          db.query(`SELECT 1 FROM "${words}_config" WHERE k = 'automerge' AND v = 0`).values().length > 0,
      );
    for (let tries = 0; tries < 500 && isOff(); tries++) await Bun.sleep(10);
    expect(isOff()).toBeFalse();
    merging.close();
    await Bun.sleep(50);
    asked.length = 0;
    merging.leave(book, 70);
    await Bun.sleep(50);
    process.end(new Error('the test is over'));
    expect([asked, merging.isBehind(book)]).toEqual([[], false]);
  });

  test('takes those first that have the most', async () => {
    const two =
      'type Ant @resource @search(fields: ["name"]) { id: ID!  name: String } type Bee @resource @search(fields: ["name"]) { id: ID!  name: String }';
    const [ant, bee] = modelOf(two).resources as [Resource, Resource];
    const asked: string[] = [];
    const process = { ask: (group: { sql: string }[]) => Promise.reject(asked.push(group[1]?.sql ?? '')) };
    const options = { using: (work: any) => work(process), isWriting: () => true, isLogLong: () => false };
    const merging = new Merging(options);
    merging.leave(ant, 5);
    merging.leave(bee, 70);
    await merging.little().catch(() => {});
    merging.close();
    expect(asked).toEqual(mergingOf(bee).little.slice(0, 1));
  });

  test('has short writes wait for a little where each would leave one more of too many', async () => {
    const [book] = modelOf(sdl).resources as [Resource];
    await (await open()).close();
    inFile((db, words) => {
      for (const putOff of mergingOf(book).putOff) db.run(putOff);
      const insert = db.query(`INSERT INTO "${words}" (rowid, "words") VALUES (?, ?)`);
      // Each of them has a page of its own.
      const textOf = (id: number) => Array.from({ length: 400 }, (_, at) => `0w${at}x${id}`).join(' ');
      for (let id = 300_000; id < 300_600; id++) insert.run(id, textOf(id));
    });
    const { ask } = StatementProcess.prototype;
    using merges = spyOn(StatementProcess.prototype, 'ask').mockImplementation(function (
      this: StatementProcess,
      group,
    ) {
      // As where others leave as much meanwhile.
      return ask.call(
        this,
        group.map((each) => ({ ...each, sql: each.sql.replace("('merge', 250)", "('merge', 1)") })),
      );
    });
    using waits = spyOn(ProcessWriter.prototype, 'mergeLittle');
    const app = await open();
    for (let tries = 0; tries < 200 && waits.mock.calls.length === 0; tries++) {
      expect((await app.rest('POST', '/books', { title: 'one' })).status).toBe(201);
      await Bun.sleep(5);
    }
    merges.mockRestore();
    expect(waits.mock.calls.length).toBeGreaterThan(0);
    await noted();
    await app.close();
  });

  test('goes on after a portion has failed', async () => {
    const { ask } = StatementProcess.prototype;
    let failed = 0;
    using _ = spyOn(StatementProcess.prototype, 'ask').mockImplementation(function (
      this: StatementProcess,
      group,
    ) {
      const isPortion = group.some(({ sql }) => sql.includes("'merge'"));
      return isPortion && failed++ === 0 ? Promise.reject(new Error('ended')) : ask.call(this, group);
    });
    const app = await open();
    expect((await app.rest(...many('PUT', 5_000, { title: 'once more' }))).status).toBe(200);
    expect(await noted()).toEqual(expect.arrayContaining(['a little', 'in time']));
    await app.close();
    expect(failed).toBeGreaterThan(1);
  });

  test('of the older file still deletes many after a newer one has given up the words', async () => {
    const app = await open();
    inFile((db, words) => {
      const triggers = `SELECT name FROM sqlite_master WHERE type = 'trigger' AND name GLOB '${words}*'`;
      for (const [name] of db.query(triggers).values()) db.run(`DROP TRIGGER "${name}"`);
      db.run(`DROP TABLE "${words}"`);
    });
    const { status } = await app.rest(...many('DELETE', 15_000));
    await app.close();
    expect(status).toBe(200);
    const [book] = modelOf(sdl).resources as [Resource];
    const process = new StatementProcess({ command: APART, path }, 'writer', () => {});
    const merging = new Merging({
      using: (work) => work(process),
      isWriting: () => true,
      isLogLong: () => false,
    });
    merging.leave(book, 70);
    expect([await merging.little(), merging.isBehind(book)]).toEqual([true, false]);
    merging.close();
    // Nothing is left open for whoever writes next.
    const [begun] = await process.ask(['BEGIN IMMEDIATE', 'ROLLBACK'].map(control));
    expect(begun).toEqual([]);
    process.end(new Error('the test is over'));
  });
});
