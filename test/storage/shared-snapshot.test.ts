/** Reads of one turn of the event loop share a transaction on SQLite, and yet each shows what was committed before it. */

import { Database } from 'bun:sqlite';
import { expect, spyOn, test } from 'bun:test';
import { openApp } from '../app.ts';
import { Folder } from '../process.ts';

const sdl = 'type A @resource { id: ID! n: Int! bs: [B!]! } type B @resource { id: ID! a: A! }';

async function opened(folder: Folder) {
  const file = folder.file('test.db');
  const app = await openApp('sqlite', { sdl, url: `sqlite:${file}`, data: { as: [{ n: 0 }] } });
  const other = new Database(file, { strict: true });
  const shown = async () => (await app.rest('GET', '/as/1')).body.n;
  const nested = async () => (await app.graphql('{ as { n bs { id } } }')).data.as[0].n;
  return { app, other, shown, nested };
}

test('whoever else commits is seen at once', async () => {
  using folder = new Folder();
  const { app, other, shown, nested } = await opened(folder);
  // The clock stands still: a turn of the event loop has an end, too, where a commit takes long.
  using _clock = spyOn(performance, 'now').mockReturnValue(performance.now());
  for (let n = 1; n <= 20; n++) {
    // Nothing here waits for more than answers: all of it happens in one turn of the event loop.
    let hasTurned = false;
    const first = shown().then((told) => {
      setImmediate(() => {
        hasTurned = true;
      });
      return told;
    });
    const before = [await first, await shown()];
    other.run('UPDATE "A" SET "n" = ?1', [n]);
    const after = [await shown(), await shown()];
    expect([before, after, hasTurned]).toEqual([[n - 1, n - 1], [n, n], false]);
    expect(await nested()).toBe(n);
  }
  await app.close();
});

test('when the event loop turns, nobody is kept from emptying the log', async () => {
  using folder = new Folder();
  const { app, other, shown } = await opened(folder);
  for (let round = 0; round < 5; round++) {
    other.run('UPDATE "A" SET "n" = 7');
    await Promise.all([shown(), shown(), shown()]);
    await Bun.sleep(1);
    expect(other.query('PRAGMA wal_checkpoint(TRUNCATE)').get()).toEqual({
      busy: 0,
      log: 0,
      checkpointed: 0,
    });
  }
  await app.close();
});

test('an index that was replaced by another file is not taken for the present one', async () => {
  using folder = new Folder();
  for (let round = 0; round < 3; round++) {
    // The last one to close a database deletes its log and the index of that.
    const { app, other, shown } = await opened(folder);
    other.run('UPDATE "A" SET "n" = ?1', [round]);
    const before = await shown();
    other.run('UPDATE "A" SET "n" = ?1', [round + 10]);
    expect([before, await shown()]).toEqual([round, round + 10]);
    other.close();
    await app.close();
  }
});
