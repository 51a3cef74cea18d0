/** The processes that read on SQLite: who waits for one hears of it when none can be started any more. */

import { Database } from 'bun:sqlite';
import { expect, test } from 'bun:test';
import { renameSync, statSync, symlinkSync } from 'node:fs';
import { control } from '../../src/storage/sqlite/asking.ts';
import { Readers } from '../../src/storage/sqlite/readers.ts';
import { APART, openApp } from '../app.ts';
import { Folder } from '../process.ts';

test('where there is no room for another process, all who wait are told, and nobody else', async () => {
  using folder = new Folder({});
  const path = folder.file('duet.db');
  new Database(path).close();
  const command = folder.file('bun');
  const [bun = '', ...rest] = APART;
  symlinkSync(bun, command);
  const readers = new Readers({ command: [command, ...rest], path }, () => 0);
  const far = performance.now() + 60_000;
  const ends = [1, 2].map(() => Promise.withResolvers<void>());
  const busy = ends.map(({ promise }, at) =>
    readers.lend(far, async (reader) => {
      await promise;
      reader.end(new Error(`${at}`));
    }),
  );
  await Bun.sleep(0);
  const codes = Promise.all(
    [1, 2, 3].map(() =>
      readers.lend(far, () => Promise.resolve('read')).catch((error: { code: string }) => error.code),
    ),
  );
  await Bun.sleep(0);
  renameSync(command, folder.file('gone'));
  ends[0]?.resolve();
  await busy[0];
  expect(readers.state).toEqual({ idle: 0, busy: 1, waiting: 2 });
  ends[1]?.resolve();
  await busy[1];
  expect(readers.state).toEqual({ idle: 0, busy: 0, waiting: 0 });
  expect(await codes).toEqual(['UNAVAILABLE', 'UNAVAILABLE', 'UNAVAILABLE']);
  renameSync(folder.file('gone'), command);
  expect(await readers.lend(far, () => Promise.resolve('read'))).toBe('read');
  readers.close();
});

test('who waits for one when the database is closed is told, and no other is started', async () => {
  using folder = new Folder({});
  const path = folder.file('duet.db');
  new Database(path).close();
  const readers = new Readers({ command: APART, path }, () => 0);
  const far = performance.now() + 60_000;
  const reads = [1, 2, 3, 4].map(() =>
    readers
      .lend(far, (reader) =>
        reader.ask([
          control('WITH RECURSIVE s(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM s) SELECT count(*) FROM s'),
        ]),
      )
      .catch((error: { code: string }) => error.code),
  );
  await Bun.sleep(200);
  readers.close();
  expect(await Promise.all(reads)).toEqual(Array(4).fill('UNAVAILABLE'));
  expect(readers.state).toEqual({ idle: 0, busy: 0, waiting: 0 });
});

test('where somebody always reads for long, the log is emptied for all that, and nobody is refused', async () => {
  using folder = new Folder();
  const path = folder.file('duet.db');
  const sdl = 'type Text @resource { id: ID!  text: String! }';
  const app = await openApp('sqlite', { sdl, data: {}, url: `sqlite:${path}` });
  using db = new Database(path);
  db.run('PRAGMA synchronous = OFF');
  db.run('PRAGMA wal_autocheckpoint = 0');
  db.run('PRAGMA busy_timeout = 5000');
  db.run(
    `WITH RECURSIVE s(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM s WHERE i < 20000) INSERT INTO "Text" (text, _version) SELECT hex(zeroblob(500)), 1 FROM s`,
  );
  let isOver = false;
  const told = new Set<number>();
  // Each begins before another has ended.
  const reading = [1, 2, 3].map(async (each) => {
    while (!isOver)
      told.add((await app.rest('GET', `/texts?aggregate=count&text[contains]=${each}z`)).status);
  });
  const sizes: number[] = [];
  const isEmptied = () => sizes.some((size, at) => size < (sizes[at - 1] ?? 0));
  // Of one record, again and again: what it was before stays in the log for as long as somebody reads.
  for (let count = 0; count < 450 && !isEmptied(); count++) {
    const bytes = (sizes.at(-1) ?? 0) < 140e6 ? 2_500_000 : 1_000;
    db.run(`UPDATE "Text" SET text = hex(randomblob(${bytes})) WHERE id = 1`);
    sizes.push(statSync(`${path}-wal`).size);
    await Bun.sleep(50);
  }
  isOver = true;
  await Promise.all(reading);
  await app.close();
  expect([[...told], isEmptied()]).toEqual([[200], true]);
  expect(Math.max(...sizes)).toBeGreaterThan(32_000 * 4096);
}, 120_000);

test('the longer the log has become, the longer are those waited for that read from it', async () => {
  using folder = new Folder({});
  const path = folder.file('duet.db');
  using db = new Database(path);
  db.run('PRAGMA journal_mode = WAL');
  db.run('PRAGMA wal_autocheckpoint = 0');
  db.run('CREATE TABLE "Text" AS SELECT hex(zeroblob(1000000)) AS text');
  const readers = new Readers({ command: APART, path }, () => 10);
  const far = performance.now() + 60_000;
  const events: unknown[] = [];
  const first = readers.lend(far, async () => {
    // Longer than they are where the log has only just become too long.
    await Bun.sleep(3_000);
    events.push('ended');
  });
  await Bun.sleep(1_000);
  await readers.lend(far, async () => events.push(statSync(`${path}-wal`).size));
  await first;
  readers.close();
  expect(events).toEqual(['ended', 0]);
}, 60_000);
