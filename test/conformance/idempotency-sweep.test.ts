/** Kept answers are thrown away once they have expired, after requests that come later, and none before. */

import { Database } from 'bun:sqlite';
import { describe, expect, test } from 'bun:test';
import { SMALL_FILE } from '../../src/storage/sqlite/sizes.ts';
import type { Storage } from '../../src/storage/storage.ts';
import { type DatabaseKind, databases, openApp, sharedPostgres, withOwn } from '../app.ts';
import { Folder } from '../process.ts';
import { seen } from '../storage/seen.ts';

const sdl = 'type Note @resource { id: ID!  title: String! }';
const HOUR = 3_600_000;
/** Whoever writes sweeps once in so many; a file is written to by two, one after the other. */
const ENOUGH = 2 * 256;
const AT_ONCE = 64;

async function others(database: DatabaseKind, url: string) {
  if (database === 'postgres') {
    const sql = new Bun.SQL(url, { max: 1 });
    return {
      run: (text: string): Promise<Record<string, string>[]> => sql.unsafe(text),
      close: () => sql.close(),
    };
  }
  const file = new Database(url.slice('sqlite:'.length));
  file.run('PRAGMA busy_timeout = 2000');
  return {
    run: async (text: string) => file.query(text).all() as Record<string, string>[],
    close: async () => file.close(),
  };
}

describe.each([...databases])('on %s', (database) => {
  test('what is older than a day goes, and nothing else', async () => {
    using folder = new Folder();
    const url =
      database === 'sqlite' ? `sqlite:${folder.file('x.db')}` : await (await sharedPostgres()).database();
    const app = await openApp(database, { sdl, url });
    const other = await others(database, url);
    const rest = (key: string) => app.rest('POST', '/notes', { title: key }, { 'Idempotency-Key': key });
    const graphql = (key: string) =>
      app.graphql(`mutation { createNote(title: "${key}") { id } }`, {}, { 'Idempotency-Key': key });
    const ages = { fresh: 0, 'of-an-hour': 1, 'of-23-hours': 23, 'of-25-hours': 25, 'of-a-year': 8760 };
    const answers = new Map<string, unknown>();
    for (const [age, hours] of Object.entries(ages))
      for (const [door, send] of [['rest', rest] as const, ['graphql', graphql] as const]) {
        const key = `${door}-${age}`;
        answers.set(key, (await send(key)).body);
        const at = new Date(Date.now() - hours * HOUR).toISOString();
        await other.run(`UPDATE "_duet_answers" SET "at" = '${at}' WHERE "key" = '${key}'`);
      }
    for (let sent = 0; sent < ENOUGH; sent += AT_ONCE) {
      const keys = Array.from({ length: AT_ONCE }, (_, index) => `later-${sent + index}`);
      const statuses = await Promise.all(
        keys.map(async (key, index) => (await (index % 2 === 0 ? rest : graphql)(key)).status),
      );
      expect(statuses.every((status) => status === 200 || status === 201)).toBe(true);
    }
    const expired = `SELECT "key" FROM "_duet_answers" WHERE "key" LIKE '%-of-25-hours' OR "key" LIKE '%-of-a-year'`;
    await until(async () => (await other.run(expired)).length === 0);
    const kept = await other.run('SELECT "key" FROM "_duet_answers"');
    const keys = new Set(kept.map(({ key }) => key));
    expect([...answers.keys()].filter((key) => !keys.has(key)).toSorted()).toEqual([
      'graphql-of-25-hours',
      'graphql-of-a-year',
      'rest-of-25-hours',
      'rest-of-a-year',
    ]);
    expect(kept).toHaveLength(ENOUGH + answers.size - 4);
    // What was kept is given again, and does not happen again.
    const count = async () => (await app.rest('GET', '/notes?aggregate=count')).body[0].count;
    const before = await count();
    for (const [key, answer] of answers)
      if (keys.has(key)) expect((await (key.startsWith('rest') ? rest : graphql)(key)).body).toEqual(answer);
    expect(await count()).toBe(before);
    await other.close();
    await app.close();
  });

  test('nobody has to throw away more than a thousand at a time', async () => {
    using folder = new Folder();
    const url =
      database === 'sqlite' ? `sqlite:${folder.file('x.db')}` : await (await sharedPostgres()).database();
    const app = await openApp(database, { sdl, url });
    const other = await others(database, url);
    const old = Array.from({ length: 5000 }, (_, index) => `('x', 'old-${index}', '', '', '2020-01-01')`);
    await other.run(
      `INSERT INTO "_duet_answers" ("caller", "key", "request", "answer", "at") VALUES ${old.join(', ')}`,
    );
    const left = async () => {
      const [row] = await other.run(`SELECT COUNT(*) AS n FROM "_duet_answers" WHERE "caller" = 'x'`);
      return Number(row?.['n']);
    };
    let before = await left();
    for (let sent = 0; before > 0 && sent < 6 * 256; sent++) {
      await app.rest('POST', '/notes', { title: 'x' }, { 'Idempotency-Key': `new-${sent}` });
      const now = await left();
      expect(before - now).toBeLessThanOrEqual(1024);
      before = now;
    }
    await until(async () => (await left()) === 0);
    await other.close();
    await app.close();
  });
});

async function until(holds: () => Promise<boolean>): Promise<void> {
  for (let tries = 0; tries < 500; tries++) {
    if (await holds()) return;
    await Bun.sleep(20);
  }
  throw new Error('what has expired is kept');
}

describe('in a large file, where much that is deleted is deleted by another process', () => {
  /** With so many expired answers, of which some are long. */
  async function large(count: number) {
    const folder = new Folder();
    const path = folder.file('x.db');
    const url = `sqlite:${path}`;
    await (await openApp('sqlite', { sdl, url })).close();
    using file = new Database(path);
    file.run('CREATE TABLE "filler" ("x" BLOB)');
    file.run('INSERT INTO "filler" VALUES (zeroblob(?))', [SMALL_FILE + 1024]);
    const insert = file.prepare(`INSERT INTO "_duet_answers" VALUES ('x', ?, '', ?, '2020-01-01')`);
    file.transaction(() => {
      for (let index = 0; index < count; index++)
        insert.run(`old-${index}`, index % 10 === 0 ? 'x'.repeat(100_000) : '{}');
    })();
    return { folder, url };
  }

  test('what has expired goes, some in each transaction', async () => {
    const { folder, url } = await large(2_000);
    let most = 0;
    const around = (storage: Storage) =>
      withOwn(
        storage,
        seen(storage, (statements) => {
          for (const each of statements)
            if (each.do === 'delete') most = Math.max(most, each.first?.limit ?? Number.POSITIVE_INFINITY);
        }),
      );
    const app = await openApp('sqlite', { sdl, url, around });
    const other = await others('sqlite', url);
    for (let sent = 0; sent < 3 * 256; sent++)
      await app.rest('POST', '/notes', { title: 'x' }, { 'Idempotency-Key': `new-${sent}` });
    await until(
      async () => (await other.run(`SELECT 1 FROM "_duet_answers" WHERE "caller" = 'x'`)).length === 0,
    );
    // A megabyte, with the answer with which there is more.
    expect(most).toBeWithin(100, 130);
    await other.close();
    await app.close();
    folder[Symbol.dispose]();
  });

  test('no request waits for that process', async () => {
    const { folder, url } = await large(10);
    // A process that cannot be: whatever needs one fails, and nothing else.
    const app = await openApp('sqlite', { sdl, url, apart: ['false'] });
    for (let sent = 0; sent < 3; sent++) {
      const { status } = await app.rest(
        'POST',
        '/notes',
        { title: 'x' },
        { 'Idempotency-Key': `new-${sent}` },
      );
      expect(status).toBe(201);
    }
    await app.close();
    folder[Symbol.dispose]();
  });
});
