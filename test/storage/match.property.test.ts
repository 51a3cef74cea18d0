/** A filter says the same of a row of values as of the row that is stored: every kind of column, on every database. */

import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { readConfig } from '../../src/config/config.ts';
import { loading } from '../../src/engine/transfer/load.ts';
import { type OperatorName, operators, operatorsOf } from '../../src/query/operators.ts';
import { WhereReader } from '../../src/query/where.ts';
import type { Column, Resource } from '../../src/schema/model.ts';
import { readSchema } from '../../src/schema/read.ts';
import { storedColumns } from '../../src/schema/values.ts';
import { evolve } from '../../src/storage/evolve/evolve.ts';
import { openDatabase } from '../../src/storage/open.ts';
import { type Row, select } from '../../src/storage/statements.ts';
import { run } from '../../src/storage/storage.ts';
import { databases, sharedPostgres } from '../app.ts';

const sdl = `
enum Hue { RED GREEN }
type Thing @resource {
  id: ID!
  text: String @column(name: "Text of it")
  name: ID
  soft: String @caseless
  whole: Int
  part: Float
  long: BigInt
  price: Decimal @decimal(scale: 2)
  fine: Decimal @decimal(scale: 18)
  flag: Boolean
  at: DateTime
  day: Date
  mark: UUID
  any: JSON
  hue: Hue
  words: [String!]
  near: Thing
  owner: Person
  things: [Thing!]! @inverse(of: "near")
}
type Person @resource { code: ID! @key  text: String  things: [Thing!]! }
`;

const texts = [
  '',
  'a',
  'B',
  'é',
  'z',
  'Z',
  '\u{ffff}',
  '\u{1f600}',
  '{"a":1}',
  'null',
  '5',
  '"\\',
  "o'x",
  'a\nb',
  '[1]',
];
const values: Readonly<Record<string, readonly unknown[]>> = {
  text: texts,
  name: texts,
  soft: [...texts, 'A', 'b', 'É', 'e\u0301', 'ß', 'ẞ', 'SS', 'İ', 'i\u0307', 'Σ', 'ς'],
  whole: [0, 1, 5, -1, 2 ** 31 - 1, -(2 ** 31)],
  part: [0, 1, -1, 0.1, 1e21, 2 ** 60, 5e-324, 1.7976931348623157e308, 2 ** 53 + 2],
  long: [
    '0',
    '-1',
    '5',
    '9007199254740993',
    '9007199254740992',
    '9223372036854775807',
    '-9223372036854775808',
  ],
  price: ['0.00', '-0.05', '5.00', '92233720368547758.07', '92233720368547758.06', '-92233720368547758.07'],
  fine: ['0.000000000000000001', '-0.000000000000000001', '9.223372036854775807', '9.223372036854775806'],
  flag: [true, false],
  at: ['0001-01-01T00:00:00.000Z', '2024-05-01T12:30:00.120Z', '9999-12-31T23:59:59.999Z'],
  day: ['0001-01-01', '2024-02-29', '9999-12-31'],
  mark: ['00000000-0000-0000-0000-000000000000', 'ffffffff-ffff-ffff-ffff-ffffffffffff'],
  any: [{ a: [null, 1] }, 'x', 0, false, []],
  hue: ['RED', 'GREEN'],
  words: [[], ['a', '"']],
  nearId: [1, 2, 3],
  ownerId: ['a', 'B'],
};

const rows = fc.array(
  fc.record(
    Object.fromEntries(
      Object.entries(values).map(([name, some]) => [name, fc.option(fc.constantFrom(...some), { freq: 4 })]),
    ),
  ),
  { minLength: 4, maxLength: 12 },
);

function wheres(resource: Resource, depth: number): fc.Arbitrary<object> {
  const comparisons = resource.columns.flatMap((column) =>
    (values[column.name] ? operatorsOf(column) : []).map((operator) =>
      operandOf(column, operator).map((operand) => ({ [column.name]: { [operator]: operand } })),
    ),
  );
  if (depth === 0) return fc.oneof(...comparisons);
  const inner = (of: Resource) => fc.oneof(fc.constant({}), wheres(of, depth - 1));
  return fc.oneof(
    ...comparisons,
    ...resource.references.map(({ name, target }) =>
      wheres(target, depth - 1).map((where) => ({ [name]: where })),
    ),
    ...resource.inverses.map(({ name, target }) =>
      fc
        .tuple(fc.constantFrom('some', 'none'), inner(target))
        .map(([how, where]) => ({ [name]: { [how]: where } })),
    ),
    wheres(resource, depth - 1).map((not) => ({ not })),
    fc.array(wheres(resource, depth - 1), { minLength: 1, maxLength: 3 }).map((or) => ({ or })),
    fc.array(wheres(resource, depth - 1), { minLength: 1, maxLength: 3 }).map((and) => ({ and })),
  );
}

function operandOf({ name, list }: Column, operator: OperatorName): fc.Arbitrary<unknown> {
  const { operand } = operators[operator];
  if (operand === 'flag') return fc.boolean();
  // A list is asked for its values.
  const one = fc.constantFrom(...((list ? values[name]?.flat() : values[name]) ?? []));
  return operand === 'list' ? fc.array(one, { maxLength: 3 }) : one;
}

const { model, faults } = readSchema(sdl);
if (!model) throw new Error(JSON.stringify(faults));
const thing = model.byType.get('Thing') as Resource;

describe.each([...databases])('on %s', (database) => {
  test('what matches as values is what matches as stored', async () => {
    await fc.assert(
      fc.asyncProperty(
        rows,
        fc.array(wheres(thing, 2), { minLength: 30, maxLength: 30 }),
        async (made, asked) => {
          // A database whose own order of texts is another one.
          const url =
            database === 'sqlite' ? 'sqlite::memory:' : await (await sharedPostgres()).database('en-US');
          const { config } = readConfig([], { DATABASE_URL: url });
          if (!config) throw new Error('no settings');
          const persons = [{ code: 'a', text: 'B' }, { code: 'B' }];
          const load = loading(model, { persons, things: made });
          if (!load.program) throw new Error(load.faults.join('\n'));
          const storage = openDatabase(config, model, () => {}, {});
          try {
            await evolve(storage, model, load.program);
            const late = performance.now() + 60_000;
            const stored = await storage.prepare(select(thing, storedColumns(thing)))(undefined, late);
            for (const where of asked) {
              const told: string[] = [];
              const filter = new WhereReader(
                (_, value) => value,
                (path, _, detail) => told.push(`${path.join('.')}: ${detail}`),
                () => true,
              ).read(thing, where);
              expect(told).toEqual([]);
              const found = await storage.prepare(select(thing, [thing.key], filter))(undefined, late);
              const matched = await storage.read(
                () => run({ do: 'match', resource: thing, rows: stored, where: filter }),
                'one',
                late,
              );
              const keys = matched.map(({ row }: Row) => stored[Number(row) - 1]?.['id']);
              expect([where, keys.sort()]).toEqual([where, found.map(({ id }) => id).sort()]);
            }
          } finally {
            await storage.close();
          }
        },
      ),
      { numRuns: database === 'sqlite' ? 60 : 15, interruptAfterTimeLimit: 40_000 },
    );
  }, 120_000);
});
