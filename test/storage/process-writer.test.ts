/** The process that writes for another on SQLite is ended when nobody has needed it for a while, and never under whoever does. */

import { Database } from 'bun:sqlite';
import { afterEach, expect, spyOn, test } from 'bun:test';
import { StatementProcess } from '../../src/storage/sqlite/process.ts';
import { ProcessWriter } from '../../src/storage/sqlite/process-writer.ts';
import type { Program } from '../../src/storage/storage.ts';
import { APART, openApp } from '../app.ts';
import { childrenOf, Folder } from '../process.ts';
import { modelOf } from './deployment.ts';

const sdl = 'type Note @resource { id: ID!  text: String }';
const IDLE_MS = 30_000;

const spies = [spyOn(globalThis, 'setTimeout'), spyOn(globalThis, 'clearTimeout')] as const;
afterEach(() => {
  for (const spy of spies) spy.mockRestore();
});

/** The timers that would end it. */
function waiting(): unknown[] {
  const [set, cleared] = spies;
  const ended = new Set(cleared.mock.calls.map(([timer]): unknown => timer));
  const timers = set.mock.results.map(({ value }, at) => ({ timer: value, ms: set.mock.calls[at]?.[1] }));
  return timers.filter(({ timer, ms }) => ms === IDLE_MS && !ended.has(timer));
}

test('while the log is carried over behind one write, the next begins', async () => {
  using folder = new Folder({});
  const path = folder.file('duet.db');
  await (await openApp('sqlite', { sdl, data: {}, url: `sqlite:${path}` })).close();
  const writer = new ProcessWriter({
    launch: { command: APART, path },
    model: modelOf(sdl),
    holdMs: 2_000,
    isLogLong: () => true,
    trace: undefined,
    look() {},
  });
  const seen: number[] = [];
  const write = async () => {
    // biome-ignore lint/correctness/useYield: it asks for nothing.
    function* program(): Program<void> {
      seen.push(waiting().length);
    }
    await writer.commit({ program, steps: 'many', deadline: performance.now() + 10_000 }, () => false);
  };
  for (let count = 0; count < 20; count++) await write();
  for (let tries = 0; tries < 500 && waiting().length === 0; tries++) await Bun.sleep(10);
  const idle = waiting().length;
  writer.close();
  expect([seen, idle]).toEqual([Array(20).fill(0), 1]);
});

test('while somebody else has the file for a moment, as who opens or closes it has, it waits', async () => {
  using folder = new Folder({});
  const path = folder.file('duet.db');
  using other = new Database(path);
  other.run('PRAGMA journal_mode = WAL');
  other.run('PRAGMA locking_mode = EXCLUSIVE');
  other.run('CREATE TABLE t (x)');
  const process = new StatementProcess({ command: APART, path }, 'writer', () => {});
  const asked = process.ask([{ sql: 'SELECT COUNT(*) AS "count" FROM t', parameters: [] }]);
  // It takes less to start.
  await Promise.race([asked.catch(() => {}), Bun.sleep(1_000)]);
  other.close();
  expect(await asked).toEqual([[{ count: 0 }]]);
  process.end(new Error('done'));
});

test('what others have changed is looked at once nobody else can write any more, before statements are made', async () => {
  using folder = new Folder({});
  const path = folder.file('duet.db');
  await (await openApp('sqlite', { sdl, data: {}, url: `sqlite:${path}` })).close();
  using other = new Database(path);
  const order: string[] = [];
  const writer = new ProcessWriter({
    launch: { command: APART, path },
    model: modelOf(sdl),
    holdMs: 2_000,
    isLogLong: () => false,
    trace: undefined,
    look() {
      order.push('look');
      expect(() => other.run('BEGIN IMMEDIATE')).toThrow('locked');
    },
  });
  // biome-ignore lint/correctness/useYield: it asks for nothing.
  function* program(): Program<void> {
    order.push('statements');
  }
  await writer.commit({ program, steps: 'many', deadline: performance.now() + 10_000 }, () => false);
  expect(order).toEqual(['look', 'statements']);
  writer.close();
});

test('whoever asks one that was killed is told so, whether or not that is known by then', async () => {
  using folder = new Folder({});
  const path = folder.file('duet.db');
  new Database(path).close();
  const query = [{ sql: 'SELECT 1 AS one', parameters: [] }];
  const told = new Set<string>();
  for (let round = 0; round < 10; round++) {
    const asked = new StatementProcess({ command: APART, path }, 'reader', () => {});
    await asked.ask(query);
    for (const pid of childrenOf(process.pid, path)) process.kill(pid, 'SIGKILL');
    const answers: Promise<unknown>[] = [];
    const ask = () => answers.push(asked.ask(query).catch((error) => told.add(error.code)));
    while (!asked.ended) {
      ask();
      await new Promise(setImmediate);
    }
    ask();
    await Promise.all(answers);
  }
  expect([...told]).toEqual(['UNAVAILABLE']);
});
