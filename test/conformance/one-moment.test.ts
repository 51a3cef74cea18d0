/** One answer shows one moment: whatever it takes to put it together, it never mixes before and after of a write. */

import { describe, expect, test } from 'bun:test';
import { databases, openApp } from '../app.ts';

const sdl = `
  type Pair @resource { id: ID!  value: Int!  halves: [Half!]! }
  type Half @resource(plural: "halves") { id: ID!  value: Int!  pair: Pair! }`;
const ROUNDS = 60;

describe.each([...databases])('on %s', (database) => {
  test('several root fields, nested records and included ones are all of the same state', async () => {
    const data = {
      pairs: [{ value: 0 }, { value: 0 }],
      halves: [
        { value: 0, pairId: 1 },
        { value: 0, pairId: 2 },
      ],
    };
    const app = await openApp(database, { sdl, data });
    let writing = true;
    const writer = (async () => {
      for (let value = 1; writing; value++) {
        const operations = ['/pairs/1', '/pairs/2', '/halves/1', '/halves/2'].map((path) => ({
          method: 'PUT',
          path,
          body: { value },
        }));
        expect((await app.rest('POST', '/transaction', { operations })).status).toBe(200);
      }
    })();
    const query =
      '{ a: pair(id: 1) { value halves { value } } b: pair(id: 2) { value } all: halves { value pair { value } } }';
    const lists = Array.from(
      { length: 20 },
      (_, index) => `h${index}: halves(first: ${index + 1}) { value }`,
    );
    const wide = `{ pairs { value ${lists.join(' ')} } }`;
    const seen = new Set<number>();
    for (let round = 0; round < ROUNDS; round++) {
      // Writes of SQLite wait for a turn of the event loop, which reads alone would never give them.
      await Bun.sleep(1);
      const [several, many, rest] = await Promise.all([
        app.graphql(query),
        app.graphql(wide),
        app.rest('GET', '/pairs?include=halves'),
      ]);
      for (const answer of [several.data, many.data, rest.body]) {
        const values = [...JSON.stringify(answer).matchAll(/"value":(\d+)/g)].map(([, value]) =>
          Number(value),
        );
        expect(values.length).toBeGreaterThan(3);
        expect(new Set(values).size).toBe(1);
        seen.add(values[0] ?? 0);
      }
    }
    writing = false;
    await writer;
    // Otherwise nothing was written in between, and nothing was shown.
    expect(seen.size).toBeGreaterThan(3);
    await app.close();
  });
});
