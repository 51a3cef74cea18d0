/** What becomes of the records that point to a deleted one, in the odd graphs that schemas can draw. */

import { describe, expect, test } from 'bun:test';
import { type AppUnderTest, databases, openApp } from '../app.ts';

async function withApp(
  database: (typeof databases)[number],
  sdl: string,
  work: (app: AppUnderTest) => Promise<void>,
) {
  const app = await openApp(database, { sdl });
  try {
    await work(app);
  } finally {
    await app.close();
  }
}

async function counts(app: AppUnderTest, ...paths: string[]): Promise<number[]> {
  return Promise.all(paths.map(async (path) => (await app.rest('GET', path)).body.length));
}

describe.each([...databases])('on %s', (database) => {
  test('a diamond goes as a whole, whichever side is found first', async () => {
    const sdl = `
      type Top @resource { id: ID! }
      type Right @resource { id: ID!  top: Top! @onDelete(do: CASCADE)  left: Left! @onDelete(do: CASCADE) }
      type Left @resource { id: ID!  top: Top! @onDelete(do: CASCADE) }`;
    await withApp(database, sdl, async (app) => {
      await app.rest('POST', '/tops', {});
      await app.rest('POST', '/lefts', { topId: 1 });
      await app.rest('POST', '/rights', { topId: 1, leftId: 1 });
      expect((await app.rest('DELETE', '/tops/1')).status).toBe(204);
      expect(await counts(app, '/tops', '/lefts', '/rights')).toEqual([0, 0, 0]);
    });
  });

  test('a circle of nullable references goes as a whole', async () => {
    const sdl = `
      type A @resource { id: ID!  toString: String  b: B @onDelete(do: CASCADE) }
      type B @resource { id: ID!  a: A @onDelete(do: CASCADE) }`;
    await withApp(database, sdl, async (app) => {
      await app.rest('POST', '/as', { toString: 'kept until it goes' });
      await app.rest('POST', '/bs', { aId: 1 });
      await app.rest('PUT', '/as/1', { bId: 1 });
      expect((await app.rest('DELETE', '/bs/1')).status).toBe(204);
      expect(await counts(app, '/as', '/bs')).toEqual([0, 0]);
    });
  });

  test('what is restricted does not hold back what goes with it, but all else does', async () => {
    const sdl = `
      type Order @resource { id: ID! }
      type Line @resource { id: ID!  order: Order! @onDelete(do: CASCADE) }
      type Note @resource { id: ID!  order: Order! @onDelete(do: CASCADE)  line: Line }`;
    await withApp(database, sdl, async (app) => {
      for (const orderId of [1, 2]) {
        await app.rest('POST', '/orders', {});
        await app.rest('POST', '/lines', { orderId });
      }
      await app.rest('POST', '/notes', { orderId: 1, lineId: 1 });
      expect((await app.rest('DELETE', '/orders/1')).status).toBe(204);
      await app.rest('POST', '/orders', {});
      await app.rest('POST', '/notes', { orderId: 3, lineId: 2 });
      expect((await app.rest('DELETE', '/orders/2')).body.errors[0].code).toBe('STILL_REFERENCED');
      expect(await counts(app, '/orders', '/lines', '/notes')).toEqual([2, 1, 1]);
    });
  });

  test('SET_NULL lets go of the reference and of nothing else, and counts as a write', async () => {
    const sdl = `
      type P @resource { id: ID! }
      type C @resource {
        id: ID!
        valueOf: Boolean
        constructor: [String!]
        toString: JSON
        hasOwnProperty: String
        p: P @onDelete(do: SET_NULL)
        at: DateTime! @updatedAt
      }`;
    await withApp(database, sdl, async (app) => {
      await app.rest('POST', '/ps', {});
      const kept = { valueOf: true, constructor: ['keep'], toString: { keep: 1 }, hasOwnProperty: 'x' };
      const { body, headers } = await app.rest('POST', '/cs', { ...kept, pId: 1 });
      await Bun.sleep(2);
      expect((await app.rest('DELETE', '/ps/1')).status).toBe(204);
      const after = await app.rest('GET', '/cs/1');
      expect(after.body).toEqual({ ...body, pId: null, at: expect.any(String) });
      expect(after.body.at > body.at).toBe(true);
      expect(after.headers.get('ETag')).not.toBe(headers.get('ETag'));
    });
  });

  test('a claim that nobody made is no claim, whatever its name', async () => {
    const sdl = 'type A @resource { id: ID!  owner: String! @set(claim: "constructor") }';
    await withApp(database, sdl, async (app) => {
      expect((await app.rest('POST', '/as', {})).body.code).toBe('UNAUTHENTICATED');
    });
  });
});
