/** Numbers that random updates set and add to, through both doors and on both databases, are those of plain arithmetic. */

import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { databases, openApp } from '../app.ts';
import { withPoint } from './reading-schemas.ts';

const RUNS = Number(process.env['RUNS'] ?? 60);

const sdl = `
  type Item @resource {
    id: ID!
    whole: Int @constraint(min: -10, max: 2000000000)
    long: BigInt @constraint(max: 9223372036854775806)
    price: Decimal @decimal(scale: 2) @constraint(min: -0.5)
    fine: Decimal @decimal(scale: 18)
  }
`;

/** In units of the last digit. */
const fields = {
  whole: { scale: 0, least: -10n, most: 2_000_000_000n },
  long: { scale: 0, least: -(2n ** 63n), most: 2n ** 63n - 2n },
  price: { scale: 2, least: -50n, most: 2n ** 63n - 1n },
  fine: { scale: 18, least: 1n - 2n ** 63n, most: 2n ** 63n - 1n },
} as const;
type Name = keyof typeof fields;
const names = Object.keys(fields) as Name[];

/** Near to nothing, and near to all ends. */
const units = fc.oneof(
  fc.bigInt({ min: -120n, max: 120n }),
  fc.constantFrom(
    ...[2n ** 53n + 1n, -(2n ** 53n) - 1n, 2n ** 63n - 1n, 1n - 2n ** 63n, 2n ** 62n, -(2n ** 62n)],
    ...[2n ** 31n - 1n, -(2n ** 31n), 1_999_999_999n],
  ),
);

const update = fc.record({
  door: fc.constantFrom('rest', 'graphql'),
  changes: fc.dictionary(
    fc.constantFrom(...names),
    fc.record({ set: fc.boolean(), by: fc.option(units, { nil: null, freq: 8 }) }),
    { minKeys: 1 },
  ),
});

type Values = Record<Name, bigint | null>;

function written(name: Name, value: bigint | null): unknown {
  if (value === null) return null;
  return name === 'whole' ? Number(value) : withPoint(value, fields[name].scale);
}

function shown(values: Values): Record<string, unknown> {
  return Object.fromEntries(names.map((name) => [name, written(name, values[name])]));
}

test('sums are those of arithmetic, and what does not fit changes nothing', async () => {
  const apps = await Promise.all(databases.map((database) => openApp(database, { sdl })));
  let [conflicts, sums] = [0, 0];
  try {
    await fc.assert(
      fc.asyncProperty(fc.array(update, { minLength: 1, maxLength: 12 }), async (updates) => {
        let values: Values = { whole: 0n, long: 0n, price: 0n, fine: 0n };
        const records = await Promise.all(
          apps.map(async (app) => (await app.rest('POST', '/items', shown(values))).body),
        );
        for (const { door, changes } of updates) {
          const input: Record<string, any> = {};
          const faults: string[] = [];
          const misfits: string[] = [];
          const next = { ...values };
          for (const [key, { set, by }] of Object.entries(changes)) {
            const name = key as Name;
            const { least, most } = fields[name];
            const pointer = set ? `#/${name}` : `#/_inc/${name}`;
            if (set) input[name] = written(name, by);
            else input['_inc'] = { ...input['_inc'], [name]: written(name, by) };
            const old = values[name];
            const sum = set ? by : by === null || old === null ? undefined : old + by;
            if (!set && by === null) faults.push(`${pointer} REQUIRED`);
            // An amount is held to the type alone.
            else if (!set && name === 'whole' && (by ?? 0n) >= 2n ** 31n)
              faults.push(`${pointer} OUT_OF_RANGE`);
            else if (!set && name === 'whole' && (by ?? 0n) < -(2n ** 31n))
              faults.push(`${pointer} OUT_OF_RANGE`);
            else if (sum === undefined || (sum !== null && (sum < least || sum > most)))
              (set ? faults : misfits).push(`${pointer} OUT_OF_RANGE`);
            else next[name] = sum;
          }
          const told = faults.length > 0 ? faults : misfits;
          const code = faults.length > 0 ? 'VALIDATION_FAILED' : misfits.length > 0 ? 'CONFLICT' : undefined;
          if (code === 'CONFLICT') conflicts++;
          else if (!code && input['_inc']) sums++;
          if (!code) values = next;
          const wanted = code ? { code, faults: told.sort() } : shown(values);
          for (const [index, app] of apps.entries()) {
            const { id } = records[index];
            let error: any;
            let record: any;
            if (door === 'rest') {
              const { status, body } = await app.rest('PUT', `/items/${id}`, input);
              if (status === 200) record = body;
              else error = body;
            } else {
              const kinds = {
                whole: 'Int',
                long: 'BigInt',
                price: 'Decimal',
                fine: 'Decimal',
                _inc: 'ItemIncrements',
              };
              const given = Object.keys(input) as (keyof typeof kinds)[];
              const { data, errors } = await app.graphql(
                `mutation ($id: ID!${given.map((name) => `, $${name}: ${kinds[name]}`).join('')}) {
                  it: updateItem(id: $id${given.map((name) => `, ${name}: $${name}`).join('')}) { ${names.join(' ')} }
                }`,
                { id: String(id), ...input },
              );
              record = data?.it;
              error = errors?.[0].extensions;
            }
            // What is no Int at all, GraphQL itself refuses.
            if (error?.code === 'BAD_USER_INPUT') expect(code).toBe('VALIDATION_FAILED');
            else if (error) {
              const seen = error.errors.map((each: any) => `${each.pointer} ${each.code}`).sort();
              expect({ code: error.code, faults: seen }).toEqual(wanted as any);
            } else
              expect(Object.fromEntries(names.map((name) => [name, record[name]]))).toEqual(wanted as any);
            expect((await app.rest('GET', `/items/${id}`)).body).toMatchObject(shown(values));
          }
        }
      }),
      { numRuns: RUNS },
    );
  } finally {
    await Promise.all(apps.map((app) => app.close()));
  }
  // Neither is seldom.
  expect([conflicts > RUNS / 4, sums > RUNS / 2]).toEqual([true, true]);
}, 300_000);
