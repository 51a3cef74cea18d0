/** What the API reference shows of answers: records as they are answered, with values that could be theirs. */

import { afterAll, expect, test } from 'bun:test';
import { readSchema } from '../../src/console/browser/schema/merge.ts';
import { samples } from '../../src/console/browser/tools/samples.ts';
import { wrongIn } from '../../src/console/browser/typed.ts';
import { openApp } from '../app.ts';
import { museum } from './museum.ts';

const app = await openApp('sqlite', museum);
const bound = await openApp('sqlite', {
  sdl: `
    enum Size { SMALL LARGE }
    type Shop @resource { id: ID! name: String! goods: [Good!]! }
    type Good @resource {
      id: ID!
      code: String! @constraint(pattern: "^[A-Z]{2}-[0-9]{3}$")
      mail: String @constraint(format: "email")
      site: String @constraint(format: "uri")
      long: String @constraint(minLength: 9, maxLength: 11)
      short: String @constraint(maxLength: 2)
      count: Int! @constraint(min: 5, max: 9)
      below: Int @constraint(max: -3)
      ratio: Float
      sum: BigInt
      price: Decimal @decimal(scale: 2)
      sizes: [Size!]!
      from: Date
      at: DateTime
      token: UUID
      extra: JSON
      shop: Shop
    }`,
});
afterAll(() => Promise.all([app.close(), bound.close()]));

test.each([
  ['the museum', app],
  ['fields with bounds', bound],
])('samples of %s', async (_, { rest }) => {
  const document = (await rest('GET', '/openapi.json')).body;
  const all = samples(document.components.schemas);
  const { resources } = readSchema(document, undefined);
  expect(resources.length).toBeGreaterThan(1);
  for (const { name, columns } of resources) {
    const sample = all.get(name) ?? {};
    // Neither what it is related to nor its version.
    expect([name, Object.keys(sample)]).toEqual([name, columns.map((column) => column.name)]);
    for (const column of columns) expect(wrongIn(column, sample[column.name])).toBeUndefined();
  }
});

test('a decimal has all of its digits, as in answers', async () => {
  const { components } = (await bound.rest('GET', '/openapi.json')).body;
  expect(
    Object.values(Object.fromEntries(samples(components.schemas))).map(({ price }: any) => price),
  ).toContain('12.50');
});

test('a sample has the fields of the answer', async () => {
  const document = (await app.rest('GET', '/openapi.json')).body;
  const [exhibit] = (await app.rest('GET', '/exhibits?limit=1')).body;
  const sample = samples(document.components.schemas).get('Exhibit') ?? {};
  expect(Object.keys(sample)).toEqual(Object.keys(exhibit));
});
