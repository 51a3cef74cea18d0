/** A function that gives a record means it as it was read: without its version it is a mistake, and nothing is overwritten. */

import { describe, expect, test } from 'bun:test';
import { databases, openApp } from '../app.ts';

const sdl = `
  type Item @resource { id: ID!  quantity: Int! }
  type Mutation { change(how: String!): Int @action  drop(how: String!): Int @action }
`;

const given: Readonly<Record<string, (item: any) => unknown>> = {
  whole: (item) => item,
  'its key': ({ id }) => id,
  'without its version': ({ id, quantity }) => ({ id, quantity }),
  'with a version that is text': (item) => ({ ...item, _version: String(item._version) }),
};

const logic = {
  Mutation: {
    *change({ tx }: any, { how }: any): any {
      const item = yield* tx.items.get(1);
      yield* tx.items.update(1, { quantity: 5 });
      const { quantity } = yield* tx.items.update(given[how]?.(item), { quantity: 6 });
      return quantity;
    },
    *drop({ tx }: any, { how }: any): any {
      const item = yield* tx.items.get(1);
      yield* tx.items.update(1, { quantity: 5 });
      return (yield* tx.items.delete(given[how]?.(item))).quantity;
    },
  },
};

describe.each([...databases])('on %s', (database) => {
  test.each([
    ['whole', 412, 'VERSION_CONFLICT'],
    ['its key', 200, undefined],
    ['without its version', 500, 'INTERNAL'],
    ['with a version that is text', 500, 'INTERNAL'],
  ])('a record %s', async (how, status, code) => {
    for (const action of ['change', 'drop']) {
      const app = await openApp(database, { sdl, logic, data: { items: [{ id: 1, quantity: 1 }] } });
      const answer = await app.rest('POST', `/actions/${action}`, { how });
      expect([action, answer.status, answer.body?.code]).toEqual([action, status, code]);
      if (status !== 200) expect((await app.rest('GET', '/items/1')).body).toMatchObject({ quantity: 1 });
      await app.close();
    }
  });
});
