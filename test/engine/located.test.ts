/** A write on many whose records were looked for beforehand: what others change before it begins. */

import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import type { Storage } from '../../src/storage/storage.ts';
import { type AppUnderTest, databases, openApp, withOwn } from '../app.ts';

const MANY = 20;

describe.each([...databases])('on %s', (database) => {
  let app: AppUnderTest;
  let meanwhile: (() => Promise<unknown>) | undefined;

  /** Every such write looks for its records by a read, and then something else is written. */
  const around = (storage: Storage): Storage => {
    const read: Storage['read'] = async (program, steps, deadline) => {
      const answer = await storage.read(program, steps, deadline);
      const write = meanwhile;
      meanwhile = undefined;
      await write?.();
      return answer;
    };
    return withOwn(storage, { delays: () => true, read });
  };

  beforeAll(async () => {
    const items = Array.from({ length: MANY }, () => ({ state: 'new' }));
    app = await openApp(database, {
      sdl: 'type Item @resource { id: ID! state: String! other: String }',
      data: { items },
      around,
    });
  });
  afterAll(() => app.close());
  beforeEach(() => {
    meanwhile = () => app.rest('PUT', '/items/1', { state: 'moved' });
  });

  const where = { state: { eq: 'new' } };
  const ways = {
    'PUT of many': { method: 'PUT', body: { state: 'done' } },
    'DELETE of many': { method: 'DELETE' },
  };
  const transact = (operation: object) =>
    app.rest('POST', '/transaction', { operations: [{ path: '/items', where, ...operation }] });
  const states = async () =>
    (await app.rest('GET', '/items?groupBy=state&aggregate=count')).body.map(({ by, count }: any) => [
      by.state,
      count,
    ]);

  test.each(Object.entries(ways))('%s: more matched than it may write', async (_, way) => {
    const { body } = await transact({ ...way, atMost: 5 });
    expect(body.code).toBe('TOO_MANY_MATCHES');
    expect(await states()).toEqual([
      ['moved', 1],
      ['new', MANY - 1],
    ]);
    await app.rest('PUT', '/items/1', { state: 'new' });
  });

  test('what no longer matches is not written', async () => {
    const { status, body } = await transact({ ...ways['PUT of many'], atMost: MANY });
    expect([status, body.results[0].body.length]).toEqual([200, MANY - 1]);
    expect(await states()).toEqual([
      ['done', MANY - 1],
      ['moved', 1],
    ]);
  });
});
