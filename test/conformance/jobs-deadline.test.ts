/** However many jobs have failed, an operator is answered within LIMIT_DEADLINE: what was done by then is told, and stays done. */

import { describe, expect, test } from 'bun:test';
import { enqueue, NEVER } from '../../src/engine/jobs/queue.ts';
import { everything } from '../../src/query/filter.ts';
import { jobs } from '../../src/storage/own.ts';
import { run, type Storage } from '../../src/storage/storage.ts';
import { databases, JSON_HEADERS, openApp, withOwn } from '../app.ts';

const sdl = 'type Item @resource { id: ID!  name: String! }';
const COUNT = 1_200;
const DEADLINE_MS = 3_000;

/** An application with jobs that have failed for good. */
async function opened(database: (typeof databases)[number]) {
  /** How many transactions there is time for. */
  let inTime = Number.POSITIVE_INFINITY;
  let own: Storage | undefined;
  const around = (storage: Storage) => {
    own = storage;
    const write: Storage['write'] = async (...asked) => {
      if (inTime-- === 0) await Bun.sleep(Math.max(0, asked[2] - performance.now()) + 1);
      return storage.write(...asked);
    };
    return withOwn(storage, { write });
  };
  const app = await openApp(database, { sdl, around, env: { LIMIT_DEADLINE: String(DEADLINE_MS) } });
  const storage = own as Storage;
  // Of a function that is there no more: nobody runs them.
  const failed = Array.from({ length: COUNT }, (_, version) => ({
    hook: 'Item.afterCreate',
    lane: `Item.afterCreate ${version}`,
    version,
    given: {},
    path: [],
  }));
  await storage.write(
    function* () {
      yield* enqueue(failed);
      yield* run({
        do: 'update',
        resource: jobs,
        set: { due: NEVER },
        where: everything,
        counts: false,
        isSilent: true,
      });
    },
    'many',
    performance.now() + 30_000,
  );
  const here = app.from({ address: '127.0.0.1', host: 'localhost:4000' });
  return {
    change: async (how: 'retry' | 'drop', transactions: number) => {
      inTime = transactions;
      const body = JSON.stringify({ failed: true });
      const answer = await here.fetch(`/_duet/jobs/${how}`, { method: 'POST', headers: JSON_HEADERS, body });
      inTime = Number.POSITIVE_INFINITY;
      const { code, count, more } = (await answer.json()) as any;
      return [answer.status, code ?? count, more];
    },
    left: async () => {
      const { waiting, failed } = (await (await here.fetch('/_duet/jobs')).json()) as any;
      return { waiting, failed };
    },
    close: app.close,
  };
}

describe.each([...databases])('on %s', (database) => {
  test.each(['retry', 'drop'] as const)('%s', async (how) => {
    const { change, left, close } = await opened(database);
    expect(await change(how, 2)).toEqual([200, 1_000, true]);
    expect(await left()).toEqual({ waiting: how === 'retry' ? 1_000 : 0, failed: COUNT - 1_000 });
    // Who would be told of nothing is told why.
    expect(await change(how, 0)).toEqual([503, 'DEADLINE_EXCEEDED', undefined]);
    expect((await left()).failed).toBe(COUNT - 1_000);
    expect(await change(how, Number.POSITIVE_INFINITY)).toEqual([200, COUNT - 1_000, false]);
    expect(await left()).toEqual({ waiting: how === 'retry' ? COUNT : 0, failed: 0 });
    await close();
  });
});
