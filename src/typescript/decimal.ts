/** Exact decimal numbers as texts, such as "12.50"; whole numbers may be given as numbers.
 *
 * `add` and `sub` have as many digits behind the point as the longer of both, `mul` as many as both together; `div` and `round` have
 * as many as they are told to, rounded half to even.
 */
export const decimal = {
  add: (a: string | number | bigint, b: string | number | bigint): string => sumOf(a, b, 1n),
  sub: (a: string | number | bigint, b: string | number | bigint): string => sumOf(a, b, -1n),
  mul(a: string | number | bigint, b: string | number | bigint): string {
    const [x, y] = [exactly(a), exactly(b)];
    return written(x.units * y.units, x.scale + y.scale);
  },
  div(a: string | number | bigint, b: string | number | bigint, scale: number): string {
    const [x, y] = [exactly(a), exactly(b)];
    if (y.units === 0n) throw new RangeError(`decimal.div: ${a} cannot be divided by zero`);
    const more = y.scale - x.scale + wholeScale(scale);
    const [over, under] =
      more < 0 ? [x.units, y.units * 10n ** BigInt(-more)] : [x.units * 10n ** BigInt(more), y.units];
    return written(quotient(over, under), scale);
  },
  /** -1, 0 or 1: whether the first is less, equal or greater. */
  cmp(a: string | number | bigint, b: string | number | bigint): -1 | 0 | 1 {
    const [x, y] = aligned(a, b);
    return x < y ? -1 : x > y ? 1 : 0;
  },
  round: (a: string | number | bigint, scale: number): string => decimal.div(a, 1, scale),
};

function exactly(given: string | number | bigint): { units: bigint; scale: number } {
  if (typeof given === 'number' && !Number.isSafeInteger(given))
    throw new TypeError(
      `decimal: ${given} is no whole number that is exact. Give it as a text, such as "12.50"`,
    );
  const [, sign, whole, fraction = ''] = /^(-?)(\d+)(?:\.(\d+))?$/.exec(String(given)) ?? [];
  if (whole === undefined) throw new TypeError(`decimal: "${given}" is no number such as "12.50"`);
  const units = BigInt(whole + fraction);
  return { units: sign === '-' ? -units : units, scale: fraction.length };
}

function wholeScale(scale: number): number {
  if (Number.isInteger(scale) && scale >= 0 && scale <= 1000) return scale;
  throw new RangeError(`decimal: a number has 0 or more digits behind the point, not ${scale}`);
}

/** The units of both at the scale of the longer one. */
function aligned(a: string | number | bigint, b: string | number | bigint): [bigint, bigint, number] {
  const [x, y] = [exactly(a), exactly(b)];
  const scale = Math.max(x.scale, y.scale);
  const at = (each: { units: bigint; scale: number }) => each.units * 10n ** BigInt(scale - each.scale);
  return [at(x), at(y), scale];
}

function sumOf(a: string | number | bigint, b: string | number | bigint, sign: bigint): string {
  const [x, y, scale] = aligned(a, b);
  return written(x + sign * y, scale);
}

/** Half to even, as averages are. */
function quotient(over: bigint, under: bigint): bigint {
  const isNegative = over < 0n !== under < 0n;
  const [a, b] = [over < 0n ? -over : over, under < 0n ? -under : under];
  const [whole, twice] = [a / b, 2n * (a % b)];
  const rounded = twice > b || (twice === b && whole % 2n === 1n) ? whole + 1n : whole;
  return isNegative ? -rounded : rounded;
}

function written(units: bigint, scale: number): string {
  const digits = (units < 0n ? -units : units).toString().padStart(scale + 1, '0');
  const sign = units < 0n ? '-' : '';
  return scale === 0 ? sign + digits : `${sign}${digits.slice(0, -scale)}.${digits.slice(-scale)}`;
}
