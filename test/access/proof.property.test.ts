/** A file is accepted only where whoever sees a record sees what its required reference leads to; and wherever that is plainly so. */

import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { accessRules } from '../../src/access/faults.ts';
import { readSchema } from '../../src/schema/read.ts';

type Where = Record<string, any>;
type Row = { readonly [name: string]: unknown; readonly product?: Row };
type Claims = Readonly<Record<string, string>>;

interface Rule {
  readonly role?: string | undefined;
  readonly where: Where;
}

const fieldsOf = ['color', 'owner'];
const values = ['a', 'b', 'c'];

/** Every product and line that there can be of so few values, and everybody who could ask. */
const products = [null, ...values].flatMap((color) => [null, 'a', 'b'].map((owner) => ({ color, owner })));
const lines: readonly Row[] = products.flatMap((product) =>
  [null, 'a', 'b'].map((owner) => ({ product, owner })),
);
const callers: readonly { readonly roles: readonly string[]; readonly claims: Claims }[] = [
  { roles: [], claims: {} },
  ...[{}, { sub: 'a' }, { sub: 'b' }, { team: 'a' }, { sub: 'c', team: 'b' }].flatMap((claims) =>
    [[], ['editor']].map((roles) => ({ roles: ['authenticated', ...roles], claims })),
  ),
];

/** What a rule's filter means, in plain words. */
function matches(where: Where, row: Row, claims: Claims): boolean {
  return Object.entries(where).every(([name, asked]) => {
    if (name === 'and') return asked.every((each: Where) => matches(each, row, claims));
    if (name === 'or') return asked.some((each: Where) => matches(each, row, claims));
    // A `not` around a claim that is missing matches nothing.
    if (name === 'not')
      return claimsOf(asked).every((each) => each in claims) && !matches(asked, row, claims);
    if (name === 'product') return matches(asked, row.product ?? {}, claims);
    const valueIn = (operand: any) => (typeof operand === 'string' ? operand : claims[operand.claim]);
    return Object.entries<any>(asked).every(([operator, operand]) => {
      const operands = [operand].flat().map(valueIn);
      if (operands.includes(undefined)) return false;
      return operator === 'ne' ? row[name] !== operands[0] : operands.includes(row[name] as string);
    });
  });
}

function claimsOf(asked: unknown): string[] {
  if (typeof asked !== 'object' || asked === null) return [];
  return 'claim' in asked ? [String(asked.claim)] : Object.values(asked).flatMap(claimsOf);
}

function sees(rules: readonly Rule[], row: Row, { roles, claims }: (typeof callers)[number]): boolean {
  return rules.some(
    ({ role, where }) => (role === undefined || roles.includes(role)) && matches(where, row, claims),
  );
}

/** Who sees a line, but not its product. */
function misled(onProduct: readonly Rule[], onLine: readonly Rule[]): unknown {
  for (const caller of callers)
    for (const line of lines)
      if (sees(onLine, line, caller) && !sees(onProduct, line.product ?? {}, caller)) return { caller, line };
  return undefined;
}

function isAccepted(onProduct: readonly Rule[], onLine: readonly Rule[]): boolean {
  const written = (rules: readonly Rule[]) =>
    rules
      .map(({ role, where }) => {
        const named = role === undefined ? '' : `, role: "${role}"`;
        return `@allow(to: [READ]${named}, where: ${JSON.stringify(where).replace(/"(\w+)":/g, '$1: ')})`;
      })
      .join(' ');
  const { faults = [] } = readSchema(
    `type Product @resource ${written(onProduct)} { id: ID! color: String owner: String }
     type Line @resource ${written(onLine)} { id: ID! owner: String product: Product! }`,
    accessRules,
  );
  for (const { message } of faults) expect(message).toContain('who may not READ each Product');
  return faults.length === 0;
}

const operand = fc.constantFrom<unknown>(...values, { claim: 'sub' }, { claim: 'team' });
const condition: fc.Arbitrary<Where> = fc
  .tuple(
    fc.constantFrom(...fieldsOf),
    fc.oneof(
      fc.record({ eq: operand }),
      fc.record({ ne: operand }),
      fc.record({ in: fc.array(operand, { minLength: 1, maxLength: 3 }) }),
    ),
  )
  .map(([name, asked]) => ({ [name]: asked }));

const { filter: filters } = fc.letrec<{ filter: Where }>((tie) => ({
  filter: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    condition,
    fc.array(tie('filter'), { minLength: 1, maxLength: 3 }).map((or) => ({ or })),
    fc.array(tie('filter'), { minLength: 1, maxLength: 3 }).map((and) => ({ and })),
    tie('filter').map((not) => ({ not })),
  ),
}));

const role = fc.constantFrom(undefined, undefined, 'authenticated', 'editor');
const ruled = (where: fc.Arbitrary<Where>): fc.Arbitrary<Rule> => fc.record({ role, where });

/** The same in another order; `seeds` say which. */
function shuffled(where: unknown, seeds: readonly number[], depth = 0): any {
  if (Array.isArray(where)) {
    const from = (seeds[depth % seeds.length] ?? 0) % Math.max(where.length, 1);
    return [...where.slice(from), ...where.slice(0, from)].map((each) => shuffled(each, seeds, depth + 1));
  }
  if (typeof where !== 'object' || where === null) return where;
  return Object.fromEntries(
    Object.entries(where).map(([name, each]) => [name, shuffled(each, seeds, depth + 1)]),
  );
}

/** The same with fewer values wherever it has several. */
function narrowed(where: any): any {
  if (Array.isArray(where)) return where.map(narrowed);
  if (typeof where !== 'object' || where === null) return where;
  return Object.fromEntries(
    Object.entries<any>(where).map(([name, each]) =>
      name !== 'in' ? [name, narrowed(each)] : each.length > 2 ? ['in', each.slice(1)] : ['eq', each[0]],
    ),
  );
}

const seeds = fc.array(fc.nat(5), { minLength: 1, maxLength: 4 });

/** A rule on lines that is made of those on products, and of what else may be said, so that some of them can be proven. */
function lineRules(onProduct: readonly Rule[]): fc.Arbitrary<Rule[]> {
  const borrowed = fc
    .tuple(fc.constantFrom(...onProduct.map(({ where }) => where)), seeds, fc.boolean())
    .map(([where, by, isLess]): Where => (isLess ? narrowed : (same: Where) => same)(shuffled(where, by)));
  const { where: wheres } = fc.letrec<{ where: Where }>((tie) => ({
    where: fc.oneof(
      { maxDepth: 3, withCrossShrink: true },
      borrowed.map((product) => ({ product })),
      fc.oneof(filters, borrowed).map((product) => ({ product })),
      fc.array(borrowed, { minLength: 1, maxLength: 2 }).map((or) => ({ product: { or } })),
      fc.array(tie('where'), { minLength: 1, maxLength: 3 }).map((or) => ({ or })),
      fc.array(tie('where'), { minLength: 1, maxLength: 3 }).map((and) => ({ and })),
      tie('where').map((not) => ({ not })),
      operand.map((eq) => ({ owner: { eq } })),
    ),
  }));
  return fc.array(ruled(wheres), { minLength: 1, maxLength: 2 });
}

describe('a required reference', () => {
  test('is accepted only where nobody sees a record but not what it leads to', () => {
    let accepted = 0;
    fc.assert(
      fc.property(
        fc
          .array(ruled(filters), { minLength: 1, maxLength: 3 })
          .chain((onProduct) => fc.tuple(fc.constant(onProduct), lineRules(onProduct))),
        ([onProduct, onLine]) => {
          if (!isAccepted(onProduct, onLine)) return;
          accepted++;
          expect(misled(onProduct, onLine)).toBeUndefined();
        },
      ),
      { numRuns: 1500 },
    );
    // Where nothing were accepted, nothing would be tried.
    expect(accepted).toBeGreaterThan(100);
  });

  test('is accepted where a rule demands of the other record what its own rules do, in whichever form', () => {
    const wheres = fc.array(filters, { minLength: 1, maxLength: 3 });
    fc.assert(
      fc.property(wheres, seeds, filters, (all, by, other) => {
        const onProduct = all.map((where) => ({ where }));
        const turned = shuffled(all, by) as Where[];
        const demanded: readonly Where[] = [
          { product: { or: turned } },
          { or: turned.map((product) => ({ product })) },
          { or: turned.map((product) => ({ owner: { eq: 'a' }, product: { and: [other, product] } })) },
          { and: [{ owner: { eq: 'a' } }, { product: other }, { product: { or: turned } }] },
          { or: [{ product: turned[0] }, { product: { or: turned } }] },
        ];
        for (const where of demanded)
          expect([where, isAccepted(onProduct, [{ where }])]).toEqual([where, true]);
      }),
      { numRuns: 150 },
    );
  });
});
