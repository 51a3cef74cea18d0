/** A field of numbers is given a wider type: by `duet migrate`, where that rewrites the table, and without losing a digit. */

import { describe, expect, test } from 'bun:test';
import { reportOf } from '../../src/cli/commands/diff.ts';
import { databases } from '../app.ts';
import { Deployment, modelOf } from './deployment.ts';

const A = (fields: string) => `type A @resource { id: ID! ${fields} }`;

interface Row {
  readonly from: string;
  readonly to: string;
  readonly values: readonly unknown[];
  readonly after: readonly unknown[];
  readonly step: string;
  /** Where the table is as it was, an ordinary start is enough. */
  readonly atOnce?: 'sqlite';
}

const rows: Record<string, Row> = {
  'Int to BigInt': {
    ...{ from: 'Int', to: 'BigInt', step: 'from Int to BigInt', atOnce: 'sqlite' },
    values: [0, 1, -2147483648, 2147483647, null],
    after: ['0', '1', '-2147483648', '2147483647', null],
  },
  'Int to Float': {
    ...{ from: 'Int', to: 'Float', step: 'from Int to Float' },
    values: [0, -1, 2147483647, null],
    after: [0, -1, 2147483647, null],
  },
  'Int to Decimal': {
    ...{ from: 'Int', to: 'Decimal @decimal(scale: 2)', step: 'from Int to Decimal @decimal(scale: 2)' },
    values: [0, -7, 2147483647, null],
    after: ['0.00', '-7.00', '2147483647.00', null],
  },
  'Int to a Decimal without digits behind the point': {
    ...{ from: 'Int', to: 'Decimal @decimal(scale: 0)', step: 'from Int to Decimal @decimal(scale: 0)' },
    ...{ values: [12, null], after: ['12', null], atOnce: 'sqlite' },
  },
  'Decimal to a larger scale': {
    from: 'Decimal @decimal(scale: 2)',
    to: 'Decimal @decimal(scale: 5)',
    step: 'from Decimal @decimal(scale: 2) to Decimal @decimal(scale: 5)',
    values: ['92233720368547.75', '-0.05', '0.00', null],
    after: ['92233720368547.75000', '-0.05000', '0.00000', null],
  },
  'a required field with an index, a default and a constraint': {
    from: 'Int! @unique @default(value: 5) @constraint(min: 1)',
    to: 'Decimal! @decimal(scale: 1) @unique @default(value: "5") @constraint(min: 0.5)',
    step: 'from Int to Decimal @decimal(scale: 1)',
    values: [1, 2, 30],
    after: ['1.0', '2.0', '30.0'],
  },
  'a required field without a default': {
    from: 'Int! @index',
    to: 'Float! @index',
    step: 'from Int to Float',
    values: [1, 2],
    after: [1, 2],
  },
};

describe.each([...databases])('on %s', (kind) => {
  test.each(Object.entries(rows))('%s', async (_, { from, to, values, after, step, atOnce }) => {
    await using deployment = await Deployment.create(kind);
    const [before, now] = [A(`n: ${from} s: String`), A(`n: ${to} s: String`)];
    await deployment.evolve(before, { as: values.map((n, index) => ({ n, s: `s${index}` })) });
    const wanted = [`widen A.n ${step}`];
    if (atOnce !== kind) {
      const [, was = '', is = ''] = /^from (.*) to (.*)$/.exec(step) ?? [];
      expect(await deployment.refusals(now)).toEqual([
        `A.n: its type changed from ${was} to ${is}, but that rewrites the table. Stop the nodes of the old schema, and run \`duet migrate\` with this one.`,
      ]);
      const { before: old, ...comparison } = await deployment.preview(now);
      expect(reportOf(old, modelOf(now), comparison).Tables).toEqual([
        { mark: 'safe', text: `only with \`duet migrate\`: widen A.n ${step}, which rewrites the table` },
      ]);
      expect((await deployment.records(before))['as']).toMatchObject(values.map((n) => ({ n })));
      expect((await deployment.migrate(now)).applied).toEqual(wanted);
    }
    expect((await deployment.evolve(now)).applied).toEqual([]);
    expect((await deployment.records(now))['as']).toEqual(
      after.map((n, index) => ({ id: index + 1, n, s: `s${index}` })),
    );
    await deployment.using(now, async (app) => {
      const [first] = after;
      const found = await app.rest('GET', `/as?n=${first}`);
      expect(found.body).toHaveLength(1);
      const { status, body } = await app.rest('POST', '/as', { n: first, s: 'x' });
      expect(status).toBe(from.includes('@unique') ? 409 : 201);
      if (status === 201) expect(body.n).toEqual(first);
      if (from.includes('@default')) expect((await app.rest('POST', '/as', { s: 'y' })).body.n).toBe('5.0');
      if (from.includes('!')) {
        await expect(deployment.sql(`UPDATE "A" SET "n" = NULL`)).rejects.toThrow();
        if (!from.includes('@default'))
          await expect(deployment.sql(`INSERT INTO "A" ("_version") VALUES (1)`)).rejects.toThrow();
      }
    });
    // There is no way back: what was stored since then may have no place in the narrower one.
    expect(await deployment.refusals(before)).toMatchObject([
      expect.stringContaining(`A.n: its type changed to ${/^\w+/.exec(from)?.[0]}`),
    ]);
  });

  test('what the wider type has no room for stands in the way', async () => {
    await using deployment = await Deployment.create(kind);
    const [small, most] = ['d: Decimal @decimal(scale: 2)', '92233720368547758.07'];
    await deployment.evolve(A(`n: Int ${small}`), { as: [{ n: 9 }, { n: 10, d: most }] });
    const to = A(`n: Decimal @decimal(scale: 18) ${small}`);
    expect(await deployment.refusals(to, true)).toEqual([
      'A.n: it admits less than before, but n must be -9.223372036854775807 to 9.223372036854775807, but a 2 has another value. Change such records first, or widen the constraint.',
    ]);
    expect(await deployment.refusals(A('n: Int d: Decimal @decimal(scale: 3)'), true)).toEqual([
      expect.stringContaining('A.d: it admits less than before, but d must be -9223372036854775.807 to'),
    ]);
    expect(await deployment.refusals(A(`n: BigInt @constraint(max: 9) ${small}`), true)).toEqual([
      'A.n: it admits less than before, but n must be 9 or less, but a 2 has another value. Change such records first, or widen the constraint.',
    ]);
    expect((await deployment.records(A(`n: Int ${small}`)))['as']).toEqual([
      { id: 1, n: 9, d: null },
      { id: 2, n: 10, d: most },
    ]);
  });

  test('what is narrower, or something else, is refused', async () => {
    await using deployment = await Deployment.create(kind);
    const before =
      'd: Decimal @decimal(scale: 4) b: BigInt f: Float m: [Decimal!] @decimal(scale: 1) l: [Int!]';
    await deployment.evolve(A(before));
    for (const [field, to] of [
      ['d', 'Decimal @decimal(scale: 2)'],
      ['d', 'Int'],
      ['d', 'Float'],
      ['b', 'Int'],
      ['b', 'Decimal @decimal(scale: 0)'],
      ['f', 'Decimal @decimal(scale: 2)'],
      ['m', '[Decimal!] @decimal(scale: 3)'],
      ['l', '[BigInt!]'],
    ] as const) {
      const after = before.replace(new RegExp(`\\b${field}: .*?(?= \\w: |$)`), `${field}: ${to}`);
      const refusals = await deployment.refusals(A(after), true);
      if (field === 'l') expect(refusals).toEqual([]);
      else expect(refusals).toEqual([expect.stringContaining(`A.${field}: its type changed to`)]);
    }
  });

  test('a new required field has its default in old records', async () => {
    await using deployment = await Deployment.create(kind);
    await deployment.evolve(A('n: Int'), { as: [{ n: 1 }] });
    const to = A(
      'n: Int p: Decimal! @decimal(scale: 2) @default(value: "-0.05") b: BigInt! @default(value: "7")',
    );
    expect((await deployment.evolve(to)).applied).toEqual(['add column A.p', 'add column A.b']);
    expect((await deployment.records(to))['as']).toEqual([{ id: 1, n: 1, p: '-0.05', b: '7' }]);
  });
});
