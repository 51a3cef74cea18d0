/** Whole numbers of 64 bits and decimal fractions, exact to the last digit: none of them is ever a float. */

/** What both databases keep in 64 bits; a Decimal has these as units of its last digit, of either sign alike. */
export const MOST_UNITS = 2n ** 63n - 1n;
export const LEAST_BIGINT = -(2n ** 63n);
export const MOST_SCALE = 18;
/** The digits behind the point of an average of whole numbers. */
export const SCALE_OF_AVERAGES = 6;

const NUMBER = /^(-?)(0|[1-9]\d*)(?:\.(\d+))?$/;
/** More than fits anywhere: to make a bigint of a text takes more than linear time, so what is longer is not read. */
const LONGEST = 40;

/** `"12.5"` at scale 2 is 1250 units; undefined where the text is no such number, or has more digits than the scale. */
export function unitsOf(text: string, scale: number): bigint | undefined {
  if (text.length > LONGEST) return undefined;
  const [, sign, whole = '', fraction = ''] = NUMBER.exec(text) ?? [];
  if (sign === undefined || fraction.length > scale) return undefined;
  const units = BigInt(whole + fraction.padEnd(scale, '0'));
  return sign === '' ? units : -units;
}

/** With exactly `scale` digits behind the point: the one canonical form. */
export function textOfUnits(units: bigint, scale: number): string {
  const digits = (units < 0n ? -units : units).toString().padStart(scale + 1, '0');
  const sign = units < 0n ? '-' : '';
  if (scale === 0) return sign + digits;
  return `${sign}${digits.slice(0, -scale)}.${digits.slice(-scale)}`;
}

/** Of a text in canonical form. */
export function unitsIn(canonical: string): bigint {
  return BigInt(canonical.replace('.', ''));
}

/** Whether a number is less than another, each with as many digits behind the point as it likes. */
export function isLess(a: string, b: string): boolean {
  const scale = Math.max(digitsBehind(a), digitsBehind(b));
  return (unitsOf(a, scale) ?? 0n) < (unitsOf(b, scale) ?? 0n);
}

function digitsBehind(text: string): number {
  const point = text.indexOf('.');
  return point === -1 ? 0 : text.length - point - 1;
}

/** The quotient with so many more digits, rounded half to even. */
export function dividedEvenly(sum: bigint, count: bigint, moreDigits: number): bigint {
  const scaled = (sum < 0n ? -sum : sum) * 10n ** BigInt(moreDigits);
  const [quotient, rest] = [scaled / count, scaled % count];
  const twice = rest * 2n;
  const isUp = twice > count || (twice === count && quotient % 2n === 1n);
  const rounded = isUp ? quotient + 1n : quotient;
  return sum < 0n ? -rounded : rounded;
}
