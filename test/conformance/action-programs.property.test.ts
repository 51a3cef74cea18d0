/**
 * What a function does to a record that it has read or written need not be waited for on PostgreSQL. Random functions are answered
 * the same there as on SQLite, where every statement is, step by step, and leave the same behind.
 */

import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test';
import fc from 'fast-check';
import { type AppUnderTest, openApp } from '../app.ts';

setDefaultTimeout(60_000);

const RUNS = Number(process.env['RUNS'] ?? 80);

const sdl = `
  type Room @resource { id: ID!  name: String! }
  type Book @resource @journal {
    id: ID!
    title: String! @constraint(minLength: 1, maxLength: 5)
    code: String @unique
    pages: Int @constraint(min: 0, max: 9)
    price: Decimal @decimal(scale: 2)
    weight: Float
    lent: Boolean! @default(value: false)
    tags: [String!]
    room: Room
    at: DateTime! @updatedAt
  }
  type Cup @resource { id: ID!  name: String!  size: Int! @constraint(min: 0, max: 9)  day: Date }
  type Mutation { run(steps: String!): String! @action }
`;

const needed: Record<string, object> = { books: { title: 'n' }, cups: { size: 1 } };

const logic = {
  Mutation: {
    *run({ tx, refuse }: any, { steps }: any): any {
      const told: unknown[] = [];
      for (const { what, of, id, input } of JSON.parse(steps)) {
        const records = tx[of];
        const { _inc: _, ...fields } = input;
        if (what === 'get') told.push(yield* records.get(id));
        if (what === 'set') told.push(yield* records.update(id, input));
        if (what === 'guarded') told.push(yield* records.update({ id, _version: 1 }, input));
        if (what === 'create') told.push(yield* records.create({ ...needed[of], ...fields }));
        if (what === 'delete') told.push(yield* records.delete(id));
        if (what === 'list') told.push(yield* records.list());
        if (what === 'refuse') throw refuse('no');
      }
      return JSON.stringify(told);
    },
  },
};

// Mostly left out: of many fields at once one is nearly always wrong.
const some = <T>(...values: T[]) =>
  fc.oneof(
    { weight: 4, arbitrary: fc.constant(undefined) },
    { weight: 1, arbitrary: fc.constantFrom(...values) },
  );
const book = fc.record({
  title: some('d', 'e', 'f', ''),
  code: some('p', 'q', 'r', null),
  pages: some(3, 9, 10, null),
  price: some('1.5', '2', null),
  weight: some(0.1, 3, null),
  lent: fc.boolean(),
  tags: some(['a'], [], null),
  roomId: some(1, 9, null),
  _inc: some({ pages: 1 }, { pages: -2 }, { price: '0.10' }, { pages: 1, weight: 0.2 }),
});
const cup = fc.record({
  name: fc.constantFrom('d', 'e'),
  size: some(2, 9, 11),
  day: some('2026-01-31', null),
  _inc: some({ size: 1 }, { size: -3 }),
});
const step = (of: string, input: fc.Arbitrary<object>) =>
  fc.record({
    what: fc.oneof(
      { weight: 12, arbitrary: fc.constantFrom('get', 'set', 'set', 'guarded') },
      { weight: 2, arbitrary: fc.constantFrom('create', 'list') },
      { weight: 1, arbitrary: fc.constantFrom('delete', 'refuse') },
    ),
    of: fc.constant(of),
    // The third is not there.
    at: fc.oneof({ weight: 9, arbitrary: fc.constantFrom(0, 1) }, { weight: 1, arbitrary: fc.constant(2) }),
    input,
  });
const steps = fc.array(fc.oneof(step('books', book), step('cups', cup)), { minLength: 1, maxLength: 7 });

const data = {
  books: [{ title: 'a', code: 'p', pages: 1, price: '1.00', tags: ['x'], roomId: 1 }, { title: 'b' }],
  cups: [
    { name: 'a', size: 1 },
    { name: 'b', size: 8 },
  ],
};

const apps: AppUnderTest[] = [];
beforeAll(async () => {
  const deployment = { sdl, logic, data: { rooms: [{ name: 'low' }] } };
  apps.push(await openApp('sqlite', deployment), await openApp('postgres', deployment));
});
afterAll(() => Promise.all(apps.map((app) => app.close())));

/** Ids go on counting, and each database skips others; times are those of the clock. */
function without(value: unknown): unknown {
  const text = JSON.stringify(value, (name, each) =>
    ['id', 'at', 'requestId'].includes(name) ? undefined : each,
  );
  return JSON.parse(text.replaceAll(/(book|cup) \d+/g, '$1'));
}

async function ran(app: AppUnderTest, asked: readonly { of: string; at: number; input: object }[]) {
  const ids: Record<string, number[]> = {};
  for (const [of, records] of Object.entries(data)) {
    for (const { id } of (await app.rest('GET', `/${of}`)).body) await app.rest('DELETE', `/${of}/${id}`);
    ids[of] = [];
    for (const each of records) ids[of].push((await app.rest('POST', `/${of}`, each)).body.id);
  }
  const given = asked.map((each) => ({ ...each, id: ids[each.of]?.[each.at] ?? 999_999_999 }));
  const { status, body } = await app.rest('POST', '/actions/run', { steps: JSON.stringify(given) });
  const told = status === 200 ? JSON.parse(body) : body;
  const left = [
    await app.rest('GET', '/books?fields=id,title,code,pages,price,weight,lent,tags,roomId,_version'),
  ];
  left.push(await app.rest('GET', '/cups?fields=id,name,size,day,_version'));
  const { body: changes } = await app.rest('GET', `/changes/books/${ids['books']?.[0]}`);
  const noted = changes.map(({ after, version }: any) => [version, after]);
  return without({ status, told, left: left.map((each) => each.body), noted });
}

test('a function is told the same, and leaves the same, on both databases', async () => {
  const found = new Map<string, number>();
  await fc.assert(
    fc.asyncProperty(steps, async (asked) => {
      const [sqlite, postgres] = (await Promise.all(apps.map((app) => ran(app, asked)))) as any[];
      expect(postgres).toEqual(sqlite);
      const code = sqlite.told.code ?? '';
      found.set(code, (found.get(code) ?? 0) + 1);
    }),
    { numRuns: RUNS },
  );
  const codes = ['', 'NOT_FOUND', 'VALIDATION_FAILED', 'VERSION_CONFLICT', 'CONFLICT'];
  expect(codes.filter((code) => !found.get(code))).toEqual([]);
}, 300_000);
