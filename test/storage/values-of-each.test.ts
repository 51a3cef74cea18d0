/** An update whose rows have values of their own names its records once: a list of keys beside them is looked through for each. */

import { expect, test } from 'bun:test';
import { databases, openApp } from '../app.ts';

const sdl = `type Line @resource {
  id: ID!  quantity: Int!  twice: Int! @computed(from: ["quantity"], stored: true)
}`;
const logic = { Line: { twice: ({ quantity }: { quantity: number }) => 2 * quantity } };
const data = { lines: [1, 2, 3].map((quantity) => ({ quantity })) };

test.each([...databases])('on %s', async (database) => {
  const app = await openApp(database, { sdl, logic, data });
  const { data: done } = await app.graphql(
    'mutation { updateLines(where: { quantity: { gte: 2 } }, set: { _inc: { quantity: 1 } }, atMost: 9) { twice } }',
  );
  expect(done.updateLines).toEqual([{ twice: 6 }, { twice: 8 }]);
  const [update = ''] = app.statements.filter((sql) => sql.startsWith('UPDATE "Line"'));
  expect(update).toContain(' FROM ');
  expect(update).not.toMatch(/"Line"\."id" (IN|= ANY)/);
  const twice = (await app.rest('GET', '/lines')).body.map((line: { twice: number }) => line.twice);
  expect(twice).toEqual([2, 6, 8]);
  await app.close();
});
