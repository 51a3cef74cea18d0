/** Exact decimal numbers, held against fractions of whole numbers. */

import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { decimal } from '../../src/typescript/decimal.ts';

/** A text, and what it means: units over a power of ten. */
const number = fc
  .record({
    isNegative: fc.boolean(),
    whole: fc.bigInt({ min: 0n, max: 10n ** 25n }),
    fraction: fc.stringMatching(/^[0-9]{0,20}$/),
  })
  .map(({ isNegative, whole, fraction }) => {
    const units = BigInt(`${whole}${fraction}`) * (isNegative ? -1n : 1n);
    const text = `${isNegative ? '-' : ''}${whole}${fraction === '' ? '' : `.${fraction}`}`;
    return { text, units, power: 10n ** BigInt(fraction.length), digits: fraction.length };
  });

/** As a fraction; every text that comes out must be canonical. */
function meant(text: string): [bigint, bigint] {
  expect(text).toMatch(/^(?!-0(\.0*)?$)-?(0|[1-9]\d*)(\.\d+)?$/);
  const [whole = '', fraction = ''] = text.split('.');
  return [BigInt(whole + fraction), 10n ** BigInt(fraction.length)];
}

const isSame = (text: string, [over, under]: [bigint, bigint]) => {
  const [units, power] = meant(text);
  expect(units * under).toBe(over * power);
};

test('sums, differences, products and comparisons are exact', () => {
  fc.assert(
    fc.property(number, number, (a, b) => {
      const at = a.power * b.power;
      isSame(decimal.add(a.text, b.text), [a.units * b.power + b.units * a.power, at]);
      isSame(decimal.sub(a.text, b.text), [a.units * b.power - b.units * a.power, at]);
      isSame(decimal.mul(a.text, b.text), [a.units * b.units, at]);
      const difference = a.units * b.power - b.units * a.power;
      expect(decimal.cmp(a.text, b.text)).toBe(difference < 0n ? -1 : difference > 0n ? 1 : 0);
      const digits = (text: string) => text.split('.')[1]?.length ?? 0;
      expect(digits(decimal.add(a.text, b.text))).toBe(Math.max(a.digits, b.digits));
      expect(digits(decimal.mul(a.text, b.text))).toBe(a.digits + b.digits);
    }),
    { numRuns: 1000 },
  );
});

test('what is rounded is the nearest, and of two the even one', () => {
  const scale = fc.integer({ min: 0, max: 12 });
  const abs = (value: bigint) => (value < 0n ? -value : value);
  const isNearest = (text: string, digits: number, over: bigint, under: bigint) => {
    const [units, power] = meant(text);
    expect(power).toBe(10n ** BigInt(digits));
    // | units / power - over / under | is half a unit at the most.
    const twice = 2n * abs(units * under - over * power);
    expect(twice <= abs(under)).toBeTrue();
    if (twice === abs(under)) expect(units % 2n).toBe(0n);
  };
  fc.assert(
    fc.property(number, number, scale, (a, b, digits) => {
      isNearest(decimal.round(a.text, digits), digits, a.units, a.power);
      if (b.units !== 0n)
        isNearest(decimal.div(a.text, b.text, digits), digits, a.units * b.power, b.units * a.power);
    }),
    { numRuns: 1000 },
  );
  const halves = ['0.5', '1.5', '2.5', '-0.5', '-1.5', '-2.5', '0.51', '0.49'];
  expect(halves.map((each) => decimal.round(each, 0))).toEqual(['0', '2', '2', '0', '-2', '-2', '1', '0']);
});

test('whole numbers may be numbers; what is not exact, or no number, is refused with the cure', () => {
  expect([decimal.mul('2.50', 3), decimal.add(1, 2n), decimal.sub('1', 1)]).toEqual(['7.50', '3', '0']);
  expect(() => decimal.add(0.1, '1')).toThrow('0.1 is no whole number that is exact. Give it as a text');
  for (const wrong of ['', '1.', '.5', '1e3', '+1', ' 1', '0x1', 'a'])
    expect(() => decimal.add(wrong, '1')).toThrow(`"${wrong}" is no number such as "12.50"`);
  expect(() => decimal.div('1', '0.00', 2)).toThrow('1 cannot be divided by zero');
  expect(() => decimal.round('1', -1)).toThrow('0 or more digits behind the point, not -1');
});
