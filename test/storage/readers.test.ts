/** The processes that read on SQLite: who waits for one hears of it when none can be started any more. */

import { Database } from 'bun:sqlite';
import { expect, test } from 'bun:test';
import { renameSync, symlinkSync } from 'node:fs';
import { Readers } from '../../src/storage/sqlite/readers.ts';
import { APART } from '../app.ts';
import { Folder } from '../process.ts';

test('where there is no room for another process, all who wait are told, and nobody else', async () => {
  using folder = new Folder({});
  const path = folder.file('duet.db');
  new Database(path).close();
  const command = folder.file('bun');
  const [bun = '', ...rest] = APART;
  symlinkSync(bun, command);
  const readers = new Readers({ command: [command, ...rest], path });
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
