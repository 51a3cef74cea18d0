/** Writes on a slow disk: it is waited for in the background, and nobody is told before. */

import { Database } from 'bun:sqlite';
import { expect, test } from 'bun:test';
import { fstatSync, readFileSync, statSync } from 'node:fs';
import { openApp } from '../app.ts';
import { Folder } from '../process.ts';
import { attach, traceable } from '../trace.ts';

const sdl = `
  type Counter @resource { id: ID!  count: Int!  marks: [Mark!]! }
  type Mark @resource { id: ID!  name: String! @unique  counter: Counter }
  type Word @resource { word: ID! @key  text: String }`;
const data = { counters: [{ count: 0 }] };

test('what others have written meanwhile is seen', async () => {
  using folder = new Folder();
  const app = await openApp('sqlite', { sdl, data, url: `sqlite:${folder.file('x.db')}` });
  using other = new Database(folder.file('x.db'));
  other.run('PRAGMA busy_timeout = 2000');
  const mark = (name: string) => app.rest('POST', '/marks', { name, counterId: 1 });
  for (let round = 0; round < 20; round++) {
    for (let calm = 0; calm < 3; calm++) expect((await mark(`calm ${round} ${calm}`)).status).toBe(201);
    other.run(`INSERT INTO "Mark" (name, "counterId", _version) VALUES ('other ${round}', 1, 1)`);
    const answers = await Promise.all([mark(`other ${round}`), mark(`after ${round}`)]);
    expect(answers.map(({ status }) => status)).toEqual([409, 201]);
  }
  const { body } = await app.rest('GET', '/marks');
  expect(body).toHaveLength(20 * 5);
  expect(new Set(body.map(({ id }: any) => id)).size).toBe(20 * 5);
  await app.close();
});

/** A disk that has what was written when it is told to. */
class Disk {
  readonly synced: number[] = [];
  readonly #waiting: { resolve: () => void; reject: (why: Error) => void }[] = [];
  isSlow = false;

  readonly sync = (file: number) => {
    this.synced.push(fstatSync(file).ino);
    if (!this.isSlow) return Promise.resolve();
    return new Promise<void>((resolve, reject) => this.#waiting.push({ resolve, reject }));
  };

  async awaited(): Promise<void> {
    for (let round = 0; round < 1000 && this.#waiting.length === 0; round++) await Bun.sleep(1);
    expect(this.#waiting.length).toBe(1);
  }

  done(): void {
    for (const { resolve } of this.#waiting.splice(0)) resolve();
  }

  fail(): void {
    for (const { reject } of this.#waiting.splice(0)) reject(new Error('EIO: i/o error, fdatasync'));
  }
}

test('nobody is told of a write before the disk has it, and reads go on meanwhile', async () => {
  using folder = new Folder();
  const disk = new Disk();
  const app = await openApp('sqlite', { sdl, data, url: `sqlite:${folder.file('x.db')}`, sync: disk.sync });
  disk.isSlow = true;
  let told = 0;
  const writes = [
    app.rest('PUT', '/counters/1', { count: 5 }),
    app.rest('POST', '/marks', { name: 'first', counterId: 1 }),
  ].map((write) => write.finally(() => told++));
  await disk.awaited();
  // One that comes later, and fails because of them, waits for them.
  writes.push(app.rest('POST', '/marks', { name: 'first' }).finally(() => told++));
  for (let round = 0; round < 3; round++) {
    expect((await app.rest('GET', '/counters/1')).status).toBe(200);
    expect((await app.graphql('{ counters { marks { name } } }')).errors).toBeUndefined();
    await Bun.sleep(5);
  }
  expect(told).toBe(0);
  disk.isSlow = false;
  disk.done();
  expect((await Promise.all(writes)).map(({ status }) => status)).toEqual([200, 201, 409]);
  expect(new Set(disk.synced)).toEqual(new Set([statSync(folder.file('x.db-wal')).ino]));
  await app.close();
});

test('a disk that fails is told as such, and later writes are durable again', async () => {
  using folder = new Folder();
  const disk = new Disk();
  const path = folder.file('x.db');
  const app = await openApp('sqlite', { sdl, data, url: `sqlite:${path}`, sync: disk.sync });
  disk.isSlow = true;
  const failing = app.rest('POST', '/marks', { name: 'in doubt' });
  await disk.awaited();
  disk.fail();
  const { status, body } = await failing;
  expect([status, body.code]).toEqual([503, 'OUTCOME_UNKNOWN']);
  disk.isSlow = false;
  expect((await app.rest('POST', '/marks', { name: 'after' })).status).toBe(201);
  // The log, of which nobody knows what the disk has, was carried over and begun anew.
  expect(statSync(`${path}-wal`).size).toBeLessThan(30_000);
  expect((await app.rest('GET', '/marks')).body.map(({ name }: any) => name)).toEqual(['in doubt', 'after']);
  await app.close();
});

test('nothing is written after a disk has failed before the log was begun anew', async () => {
  using folder = new Folder();
  const disk = new Disk();
  const path = folder.file('x.db');
  const words = Array.from({ length: 3_000 }, (_, index) => ({ word: `w${index}` }));
  const app = await openApp('sqlite', {
    sdl,
    data: { ...data, words },
    url: `sqlite:${path}`,
    sync: disk.sync,
  });
  disk.isSlow = true;
  const first = app.rest('POST', '/marks', { name: 'first' });
  await disk.awaited();
  const failing = app.rest('POST', '/marks', { name: 'in doubt' });
  await Bun.sleep(100);
  // Behind it in the same batch, but too long for it: it is carried out by a process.
  const long = app.graphql(
    'mutation { deleteWords(where: { text: { isNull: true } }, atMost: 5000) { word } }',
  );
  await Bun.sleep(500);
  disk.done();
  expect((await first).status).toBe(201);
  await disk.awaited();
  using other = new Database(path, { readonly: true });
  other.run('BEGIN');
  other.query('SELECT 1 FROM "Mark"').get();
  disk.isSlow = false;
  disk.fail();
  const statuses = [failing, long.then(({ errors }) => ({ status: errors?.[0].extensions.code }))];
  expect((await Promise.all(statuses)).map(({ status }) => status)).toEqual([503, 'UNAVAILABLE']);
  // Who reads keeps the log from being begun anew.
  const refused = await app.rest('POST', '/marks', { name: 'refused' });
  expect([refused.status, refused.body.code]).toEqual([503, 'UNAVAILABLE']);
  other.run('COMMIT');
  expect((await app.rest('POST', '/marks', { name: 'after' })).status).toBe(201);
  expect((await app.rest('GET', '/words?aggregate=count')).body).toEqual([{ count: 3_000 }]);
  await app.close();
});

test('a checkpoint that does not end keeps nobody beyond the deadline', async () => {
  using folder = new Folder();
  const env = { LIMIT_DEADLINE: '700' };
  const app = await openApp('sqlite', {
    sdl,
    data: {},
    env,
    url: `sqlite:${folder.file('x.db')}`,
    apart: ['sh', '-c', 'exec sleep 60'],
    slowMs: 0,
  });
  const text = 'x'.repeat(90_000);
  const create = (word: string) => app.rest('POST', '/words', { word, text });
  const statuses: number[] = [];
  for (let round = 0; round < 60; round++) statuses.push((await create(`${round}`)).status);
  // The log is long enough to be carried over once, which `sleep` never does: who waits for it is told in time.
  expect(statuses.filter((status) => status !== 201 && status !== 503)).toEqual([]);
  expect(statuses.filter((status) => status === 503).length).toBeLessThan(2);
  await app.close();
});

test('the log does not grow for ever', async () => {
  using folder = new Folder();
  const path = folder.file('x.db');
  const app = await openApp('sqlite', { sdl, data: {}, url: `sqlite:${path}` });
  const text = 'x'.repeat(20_000);
  for (let round = 0; round < 60; round++) {
    const words = Array.from({ length: 25 }, (_, index) => ({ word: `${round} ${index}`, text }));
    const created = words.map((word) => app.rest('POST', '/words', word));
    expect(new Set((await Promise.all(created)).map(({ status }) => status))).toEqual(new Set([201]));
  }
  // 30 MB were written; four thousand pages are 16 MB, and a batch may go beyond them.
  expect(statSync(`${path}-wal`).size).toBeLessThan(20_000_000);
  await app.close();
});

test.if(traceable)('the disk is waited for by a real system call', async () => {
  using folder = new Folder();
  const app = await openApp('sqlite', { sdl, data: {}, url: `sqlite:${folder.file('x.db')}` });
  const trace = folder.file('trace');
  const tracing = await attach(process.pid, trace, '-y', '-e', 'trace=fdatasync');
  expect((await app.rest('POST', '/words', { word: 'one' })).status).toBe(201);
  await tracing.release();
  // What happens to another thread meanwhile stands between its two lines.
  expect(await Bun.file(trace).text()).toMatch(
    /fdatasync\(\d+<[^>]*x\.db-wal>( <unfinished \.\.\.>[\s\S]*fdatasync resumed>)?\) += 0/,
  );
  await app.close();
});

test('two servers on one file lose no update, and each is told what happened', async () => {
  using folder = new Folder();
  const url = `sqlite:${folder.file('x.db')}`;
  const apps = [await openApp('sqlite', { sdl, data, url }), await openApp('sqlite', { sdl, data, url })];
  let won = 0;
  const clients = Array.from({ length: 8 }, async (_, client) => {
    const app = apps[client % 2];
    for (let round = 0; app && round < 40; round++) {
      const { body, headers } = await app.rest('GET', '/counters/1');
      const tag = { 'If-Match': headers.get('ETag') ?? '' };
      const { status } = await app.rest('PUT', '/counters/1', { count: body.count + 1 }, tag);
      if (status === 200) won++;
      const created = await app.rest('POST', '/marks', { name: `${client} ${round}`, counterId: 1 });
      expect(created.status).toBe(201);
      const found = await app.rest('GET', `/marks/${created.body.id}`);
      expect(found.body.name).toBe(`${client} ${round}`);
    }
  });
  await Promise.all(clients);
  expect((await apps[0]?.rest('GET', '/counters/1'))?.body.count).toBe(won);
  expect((await apps[1]?.rest('GET', '/marks?aggregate=count'))?.body).toEqual([{ count: 320 }]);
  for (const app of apps) await app.close();
});

test('what fails leaves nothing behind, and natural keys keep their versions', async () => {
  using folder = new Folder();
  const app = await openApp('sqlite', { sdl, data, url: `sqlite:${folder.file('x.db')}` });
  await app.rest('POST', '/words', { word: 'first' });
  for (let round = 0; round < 10; round++) {
    const answers = await Promise.all([
      app.rest('POST', '/words', { word: 'again', text: `${round}` }),
      app.rest('POST', '/words', { word: 'first' }),
      app.rest('POST', '/transaction', {
        operations: [
          { method: 'POST', path: '/words', body: { word: `lost ${round}` } },
          { method: 'POST', path: '/words', body: { word: 'first' } },
        ],
      }),
      app.rest('POST', '/words', { word: `kept ${round}` }, { 'Idempotency-Key': `key-${round}` }),
    ]);
    expect(answers.map(({ status }) => status)).toEqual([201, 409, 409, 201]);
    expect(answers[0]?.headers.get('ETag')).toStartWith(`"${round + 1}-`);
    expect((await app.rest('DELETE', '/words/again')).status).toBe(204);
  }
  const words = (await app.rest('GET', '/words')).body.map(({ word }: any) => word);
  expect(words).toEqual(['first', ...Array.from({ length: 10 }, (_, round) => `kept ${round}`)]);
  await app.close();
});

test('what a long write has made of the log is carried over once the write is told', async () => {
  using folder = new Folder();
  const path = folder.file('x.db');
  const app = await openApp('sqlite', { sdl, data, url: `sqlite:${path}` });
  // What the header of the index says: the frames of the log, and how many the file has (fileformat2, section 4).
  const log = () => {
    const header = readFileSync(`${path}-shm`);
    return { frames: header.readUInt32LE(16), carried: header.readUInt32LE(96) };
  };
  {
    using filling = new Database(path);
    const insert = filling.query('INSERT INTO "Word" (word, text, _version) VALUES (?, ?, 1)');
    filling.transaction(() => {
      for (let word = 0; word < 6_000; word++) insert.run(`${word}`, 'x'.repeat(3_800));
    })();
    filling.run('PRAGMA wal_checkpoint(TRUNCATE)');
  }
  const update = `mutation ($text: String!) { updateWords(where: {}, set: { text: $text }, atMost: 6000) { word } }`;
  expect((await app.graphql(update, { text: 'y'.repeat(3_800) })).errors).toBeUndefined();
  const told = log();
  expect(told.frames).toBeGreaterThan(4_000);
  expect(told.carried).toBeLessThan(told.frames);
  for (let tries = 0; tries < 500 && log().carried < told.frames; tries++) await Bun.sleep(20);
  expect(log()).toEqual({ frames: told.frames, carried: told.frames });
  await app.close();
});

test('a log that has become long while somebody was reading is carried over elsewhere', async () => {
  using folder = new Folder();
  const path = folder.file('x.db');
  // A process that cannot be: what it would have carried over stays in the log.
  const app = await openApp('sqlite', { sdl, data, url: `sqlite:${path}`, apart: ['false'] });
  const write = async (count: number, text: string) => {
    for (let left = count; left > 0; left--)
      expect((await app.rest('POST', '/words', { word: crypto.randomUUID(), text })).status).toBe(201);
  };
  // What is read by its key shows how long it is.
  expect((await app.rest('GET', '/counters/1')).status).toBe(200);
  {
    using reader = new Database(path, { readonly: true });
    reader.run('BEGIN');
    reader.query('SELECT 1 FROM "Mark"').get();
    await write(100, 'a'.repeat(900_000));
  }
  // So many that the disk counts as quick again.
  await write(500, 'short');
  expect(statSync(path).size).toBeLessThan(1_000_000);
  expect(statSync(`${path}-wal`).size).toBeGreaterThan(80_000_000);
  expect((await app.rest('GET', '/words?fields=word')).body).toHaveLength(600);
  await app.close();
});
