/** One row per scalar: what it admits, how it is stored, and how GraphQL and JSON call it. */

import type { FaultCode } from '../base/errors.ts';
import { LEAST_BIGINT, MOST_SCALE, MOST_UNITS, textOfUnits, unitsOf } from './exact.ts';

/** Tells what is wrong with a value; `detail` continues a sentence that begins with the field's name. */
export type Report = (code: FaultCode, detail: string) => void;

export type JsonSchema = Readonly<Record<string, unknown>>;

export interface Scalar {
  readonly kind: 'scalar';
  readonly name: string;
  /** Its name in GraphQL, where that differs. */
  readonly graphql: string;
  readonly description: string | undefined;
  readonly specifiedBy: string | undefined;
  /** How a database keeps it; each dialect has one column type and one codec per entry. */
  readonly stored:
    | 'serial'
    | 'integer'
    | 'bigint'
    | 'decimal'
    | 'float'
    | 'boolean'
    | 'text'
    | 'words'
    | 'folded'
    | 'time'
    | 'date'
    | 'uuid'
    | 'json';
  /** `exact`: a number whose values are texts. */
  readonly is: 'number' | 'exact' | 'text' | 'other';
  /** How many digits an exact number has behind the point. */
  readonly scale: number;
  /** The least and the greatest of its numbers, in units of the last digit; undefined for what is not counted so. */
  readonly range: readonly [bigint, bigint] | undefined;
  /** What JSON Schema can say of its values, null aside. */
  readonly jsonSchema: JsonSchema;
  /** Reports every fault and returns the value in its one canonical form. */
  check(value: unknown, report: Report): unknown;
}

export const MAX_KEY = Number.MAX_SAFE_INTEGER;
const MAX_INT = 2 ** 31 - 1;
const MIN_INT = -(2 ** 31);
/** Less than a body may nest, so that whatever one door takes, the other can give back. */
const MAX_JSON_DEPTH = 24;

function scalar(
  row: Omit<Scalar, 'kind' | 'graphql' | 'description' | 'specifiedBy' | 'scale' | 'range'> & Partial<Scalar>,
): Scalar {
  return {
    graphql: row.name,
    description: undefined,
    specifiedBy: undefined,
    scale: 0,
    range: undefined,
    ...row,
    kind: 'scalar',
  };
}

/** Text that every database can keep and give back: no NUL (PostgreSQL), no half surrogate (UTF-8). */
export function isStorableText(text: string): boolean {
  return !text.includes('\0') && text.isWellFormed();
}

function checkText(value: unknown, report: Report): unknown {
  if (typeof value !== 'string') report('TYPE', 'must be a string');
  else if (!isStorableText(value)) report('TEXT', 'must not contain NUL or lone surrogates');
  return value;
}

function checkFormatted(what: string, canonical: (text: string) => string | undefined) {
  return (value: unknown, report: Report): unknown => {
    if (typeof value !== 'string') {
      report('TYPE', `must be a string with ${what}`);
      return value;
    }
    const text = canonical(value);
    if (text === undefined) report('FORMAT', `must be ${what}`);
    return text;
  };
}

const fullDate = /^\d{4}-\d\d-\d\d$/;
const dateTime = /^(\d{4}-\d\d-\d\d)[Tt](\d\d):(\d\d):(\d\d)(?:\.(\d{1,3})0*)?(?:[Zz]|([+-])(\d\d):(\d\d))$/;
const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

export function canonicalDate(text: string): string | undefined {
  return fullDate.test(text) && isDay(text) ? text : undefined;
}

/** Of a text that begins as a date does. Counted here: a Date takes longer than all else that is asked of a record. */
function isDay(text: string): boolean {
  const year = 100 * two(text, 0) + two(text, 2);
  const month = two(text, 5);
  const day = two(text, 8);
  const isLeap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
  const days = month === 2 && isLeap ? 29 : DAYS[month - 1];
  return year > 0 && days !== undefined && day >= 1 && day <= days;
}

function two(text: string, at: number): number {
  return 10 * text.charCodeAt(at) + text.charCodeAt(at + 1) - 11 * ZERO;
}

const DAYS = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
const ZERO = '0'.charCodeAt(0);
/** As it is answered, and exported. */
const canonical = /^\d{4}-\d\d-\d\dT(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d\.\d{3}Z$/;

/** RFC 3339 in, UTC to the millisecond out; finer fractions and leap seconds are refused, not rounded. */
export function canonicalDateTime(text: string): string | undefined {
  if (canonical.test(text)) return isDay(text) ? text : undefined;
  const match = dateTime.exec(text);
  if (!match) return undefined;
  const [
    ,
    date = '',
    hour = '',
    minute = '',
    second = '',
    fraction = '',
    sign,
    offsetHour = '0',
    offsetMinute = '0',
  ] = match;
  if (canonicalDate(date) === undefined) return undefined;
  if (Number(hour) > 23 || Number(minute) > 59 || Number(second) > 59) return undefined;
  if (Number(offsetHour) > 23 || Number(offsetMinute) > 59) return undefined;
  const local = Date.parse(`${date}T${hour}:${minute}:${second}.${fraction.padEnd(3, '0')}Z`);
  const offset = (Number(offsetHour) * 60 + Number(offsetMinute)) * 60_000;
  const utc = new Date(sign === '-' ? local + offset : local - offset).toISOString();
  // An offset can carry the first or last day out of the years that have four digits.
  return /^(?!0000)\d{4}-/.test(utc) ? utc : undefined;
}

export function canonicalUuid(text: string): string | undefined {
  return uuid.test(text) ? text.toLowerCase() : undefined;
}

function checkJson(value: unknown, report: Report, depth = 0): unknown {
  if (depth > MAX_JSON_DEPTH) report('TYPE', `must not nest deeper than ${MAX_JSON_DEPTH}`);
  else if (typeof value === 'string') checkText(value, report);
  else if (typeof value === 'number' && !Number.isFinite(value))
    report('OUT_OF_RANGE', 'must hold finite numbers');
  else if (Array.isArray(value)) for (const item of value) checkJson(item, report, depth + 1);
  else if (typeof value === 'object' && value !== null)
    for (const [key, item] of Object.entries(value)) {
      checkText(key, report);
      checkJson(item, report, depth + 1);
    }
  return value;
}

/** The integer key that the server assigns; a number in REST, a string in GraphQL. */
export const Serial = scalar({
  name: 'Serial',
  graphql: 'ID',
  stored: 'serial',
  is: 'other',
  jsonSchema: { type: 'integer', format: 'int64', minimum: 1, maximum: MAX_KEY },
  check(value, report) {
    if (typeof value !== 'number' || !Number.isInteger(value))
      report('TYPE', 'must be an id (a whole number)');
    else if (value < 1 || value > MAX_KEY) report('OUT_OF_RANGE', `must be 1 to ${MAX_KEY}`);
    return value;
  },
});

/** The words of a record, with spaces between them, as PostgreSQL finds it by them; no field has it. */
export const WordList = scalar({
  name: 'WordList',
  stored: 'words',
  is: 'text',
  jsonSchema: { type: 'string' },
  check: checkText,
});

/** What is kept of text beside it, to compare it by without letter case; no field has it. */
export const Folded = scalar({
  name: 'Folded',
  stored: 'folded',
  is: 'text',
  jsonSchema: { type: 'string' },
  check: checkText,
});

export const UUID = scalar({
  name: 'UUID',
  description: 'A UUID in its canonical form, such as `0190f5a0-7c1e-7a64-b3f5-2b1f3c0e9a11`.',
  specifiedBy: 'https://www.rfc-editor.org/rfc/rfc9562',
  stored: 'uuid',
  is: 'other',
  jsonSchema: { type: 'string', format: 'uuid' },
  check: checkFormatted('a UUID', canonicalUuid),
});

/** A regular expression for exact numbers of at most so many digits behind the point. */
export function patternOf(scale: number): string {
  const whole = '-?(?:0|[1-9][0-9]*)';
  return scale === 0 ? `^${whole}$` : `^${whole}(?:\\.[0-9]{1,${scale}})?$`;
}

function checkExact(example: string, scale: number, least: bigint) {
  const digits = scale === 1 ? '1 digit' : `${scale} digits`;
  const what = scale === 0 ? 'a whole number' : `a number with at most ${digits} behind the point`;
  const range = `must be ${textOfUnits(least, scale)} to ${textOfUnits(MOST_UNITS, scale)}`;
  return (value: unknown, report: Report): unknown => {
    if (typeof value !== 'string') {
      report('TYPE', `must be a string with ${what}, such as "${example}"`);
      return value;
    }
    const units = unitsOf(value, scale);
    if (units === undefined) {
      report('FORMAT', `must be ${what}, such as "${example}"`);
      return value;
    }
    if (units < least || units > MOST_UNITS) report('OUT_OF_RANGE', range);
    return textOfUnits(units, scale);
  };
}

/** "12.50", and with the most digits behind the point, which leave room for one before it, "1.250000000000000000". */
function exampleOf(scale: number): string {
  const hundredths = scale < MOST_SCALE ? 1250n : 125n;
  return textOfUnits((hundredths * 10n ** BigInt(scale)) / 100n, scale);
}

/** The type of a field is that of its scale; the file names the first, and has no Decimal without one. */
export const decimals: readonly Scalar[] = Array.from({ length: MOST_SCALE + 1 }, (_, scale) =>
  scalar({
    name: 'Decimal',
    description: 'An exact decimal number as a string with all of its digits, such as `"12.50"`.',
    stored: 'decimal',
    is: 'exact',
    scale,
    range: [-MOST_UNITS, MOST_UNITS],
    // Of any scale: what a filter takes is described once.
    jsonSchema: { type: 'string', format: 'decimal', pattern: patternOf(MOST_SCALE) },
    check: checkExact(exampleOf(scale), scale, -MOST_UNITS),
  }),
);

/** The scalars that a file can name. */
export const scalars: ReadonlyMap<string, Scalar> = new Map(
  [
    scalar({ name: 'ID', stored: 'text', is: 'text', jsonSchema: { type: 'string' }, check: checkText }),
    scalar({ name: 'String', stored: 'text', is: 'text', jsonSchema: { type: 'string' }, check: checkText }),
    scalar({
      name: 'Int',
      stored: 'integer',
      is: 'number',
      range: [BigInt(MIN_INT), BigInt(MAX_INT)],
      jsonSchema: { type: 'integer', format: 'int32', minimum: MIN_INT, maximum: MAX_INT },
      check(value, report) {
        if (typeof value !== 'number' || !Number.isInteger(value)) report('TYPE', 'must be a whole number');
        else if (value > MAX_INT || value < MIN_INT)
          report('OUT_OF_RANGE', `must be ${MIN_INT} to ${MAX_INT}`);
        return value === 0 ? 0 : value;
      },
    }),
    scalar({
      name: 'BigInt',
      description: 'A whole number of 64 bits as a string, such as `"9007199254740993"`.',
      stored: 'bigint',
      is: 'exact',
      range: [LEAST_BIGINT, MOST_UNITS],
      jsonSchema: { type: 'string', format: 'int64', pattern: patternOf(0) },
      check: checkExact('42', 0, LEAST_BIGINT),
    }),
    decimals[0] as Scalar,
    scalar({
      name: 'Float',
      stored: 'float',
      is: 'number',
      jsonSchema: { type: 'number', format: 'double' },
      check(value, report) {
        if (typeof value !== 'number') report('TYPE', 'must be a number');
        else if (!Number.isFinite(value)) report('OUT_OF_RANGE', 'must be finite');
        // Databases disagree on the sign of zero, so there is only one zero.
        return value === 0 ? 0 : value;
      },
    }),
    scalar({
      name: 'Boolean',
      stored: 'boolean',
      is: 'other',
      jsonSchema: { type: 'boolean' },
      check(value, report) {
        if (typeof value !== 'boolean') report('TYPE', 'must be true or false');
        return value;
      },
    }),
    scalar({
      name: 'DateTime',
      description: 'A moment in UTC to the millisecond (RFC 3339), such as `2024-05-01T12:30:00.000Z`.',
      specifiedBy: 'https://www.rfc-editor.org/rfc/rfc3339',
      stored: 'time',
      is: 'other',
      // The format admits any fraction of a second, and a space for the T.
      jsonSchema: { type: 'string', format: 'date-time', pattern: dateTime.source },
      check: checkFormatted('an RFC 3339 time, to the millisecond at most', canonicalDateTime),
    }),
    scalar({
      name: 'Date',
      description: 'A calendar day (RFC 3339 full-date), such as `2024-05-01`.',
      specifiedBy: 'https://www.rfc-editor.org/rfc/rfc3339',
      stored: 'date',
      is: 'other',
      jsonSchema: { type: 'string', format: 'date' },
      check: checkFormatted('a calendar day as YYYY-MM-DD', canonicalDate),
    }),
    UUID,
    scalar({
      name: 'JSON',
      description: 'Any JSON value.',
      specifiedBy: 'https://www.rfc-editor.org/rfc/rfc8259',
      stored: 'json',
      is: 'other',
      jsonSchema: { type: ['object', 'array', 'string', 'number', 'boolean'] },
      check: checkJson,
    }),
  ].map((row) => [row.name, row]),
);
