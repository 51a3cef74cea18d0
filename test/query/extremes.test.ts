/** Least and greatest values, of every type that has an order. */

import { describe, expect, test } from 'bun:test';
import { databases, openApp } from '../app.ts';

const sdl = `
  enum Size { SMALL BIG }
  type Thing @resource {
    id: UUID!
    flag: Boolean
    uuid: UUID
    size: Size
    text: String
    int: Int
    float: Float
    at: DateTime
    day: Date
    owner: Owner
  }
  type Owner @resource { id: ID! }
`;

const low = {
  flag: false,
  uuid: '0fffffff-ffff-4fff-8fff-ffffffffffff',
  size: 'BIG',
  text: 'Z',
  int: -3,
  float: -0.5,
  at: '1999-12-31T23:59:59.999Z',
  day: '0999-01-01',
  ownerId: 1,
};
const high = {
  flag: true,
  uuid: 'a0000000-0000-4000-8000-000000000000',
  size: 'SMALL',
  text: 'é',
  int: 12,
  float: 1e300,
  at: '2000-01-01T00:00:00.000Z',
  day: '1000-01-01',
  ownerId: 2,
};

for (const database of databases)
  describe(`on ${database}`, () => {
    test('both doors tell the least and the greatest of each type, and null of none', async () => {
      const app = await openApp(database, { sdl, data: { owners: [{ id: 1 }, { id: 2 }] } });
      const fields = Object.keys(low);
      const wanted = fields.flatMap((name) => [`min(${name})`, `max(${name})`]).join();
      const nothing = Object.fromEntries(fields.map((name) => [name, null]));
      const rest = async () => (await app.rest('GET', `/things?aggregate=${wanted}`)).body[0];
      expect(await rest()).toEqual({ min: nothing, max: nothing });
      await app.rest('POST', '/things', high);
      await app.rest('POST', '/things', low);
      await app.rest('POST', '/things', {});
      expect(await rest()).toEqual({ min: low, max: high });
      const selection = `{ ${fields.join(' ')} }`;
      const { data } = await app.graphql(`{ thingsAggregate { min ${selection} max ${selection} } }`);
      const named = (values: typeof low) => ({ ...values, ownerId: String(values.ownerId) });
      expect(data.thingsAggregate).toEqual([{ min: named(low), max: named(high) }]);
      const ids = (await app.rest('GET', '/things')).body.map((thing: { id: string }) => thing.id);
      const { body } = await app.rest('GET', '/things?aggregate=min(id),max(id)');
      expect(body).toEqual([{ min: { id: ids[0] }, max: { id: ids.at(-1) } }]);
      await app.close();
    });
  });
