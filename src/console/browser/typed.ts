/** What people type, read as values; what cannot be read stays as it was typed, and what can is held against its field. */

import { plural } from './amounts.ts';
import type { Column, Kind } from './schema/types.ts';

/** In place of a value. Nothing is sent as long as there is one. */
export class Unreadable {
  readonly text: string;
  readonly why: string;

  constructor(text: string, why: string) {
    this.text = text;
    this.why = why;
  }
}

/** The first that is in a value, in a list of them, or in an input. */
export function unreadable(value: unknown): Unreadable | undefined {
  if (value instanceof Unreadable) return value;
  if (typeof value !== 'object' || value === null) return undefined;
  for (const each of Object.values(value)) {
    const found = unreadable(each);
    if (found) return found;
  }
  return undefined;
}

/**
 * Why the service would refuse what is given for a field, in its words: for forms, cells, changes of many and files alike. What this
 * page cannot know, the service tells.
 */
export function wrongIn(column: Column, value: unknown): string | undefined {
  const unread = unreadable(value);
  if (unread) return unread.why;
  const { name, list } = column;
  if (value === undefined || value === null) return undefined;
  if (list && !Array.isArray(value)) return `${name} must be a list`;
  for (const [at, item] of (list ? (value as unknown[]) : [value]).entries()) {
    const why = breach(column, item);
    if (why) return `${list ? `${name}/${at}` : name} ${why}`;
  }
  return undefined;
}

function breach({ kind, choices, bounds }: Column, value: unknown): string | undefined {
  const { minimum, maximum, minLength = 0, maxLength, pattern = '', example } = bounds;
  const text = String(value);
  const fits = new RegExp(pattern, 'u').test(text);
  if (kind === 'enum') return choices.includes(text) ? undefined : `must be one of ${choices.join(', ')}`;
  const [form, what] = forms[kind] ?? [];
  if (form && !(fits && form.test(text) && (!/^date/.test(kind) || isDay(text)))) {
    const [, digits] = /1,(\d+)}\)\?\$/.exec(pattern) ?? [];
    return digits
      ? `must have at most ${digits} ${plural(Number(digits), 'digit')} behind the point`
      : `must be ${what}`;
  }
  if (minimum !== undefined && Number(value) < minimum) return `must be ${minimum} or more`;
  if (maximum !== undefined && Number(value) > maximum) return `must be ${maximum} or less`;
  if (kind !== 'text') return undefined;
  const { length } = [...text];
  if (length < minLength) return `must have at least ${minLength} ${plural(minLength, 'character')}`;
  if (maxLength !== undefined && length > maxLength)
    return `must have at most ${maxLength} ${plural(maxLength, 'character')}`;
  if (fits) return undefined;
  return example ? `must look like ${example}` : `must match ${pattern}`;
}

const whole = [/^-?\d+$/, 'a whole number'] as const;

/** What a value of a kind looks like, where it can be told from others. */
const forms: Readonly<Partial<Record<Kind, readonly [RegExp, string]>>> = {
  id: whole,
  int: whole,
  bigint: whole,
  decimal: [/^-?\d/, 'a number'],
  float: [/^-?\d/, 'a number'],
  boolean: [/^(true|false)$/, 'true or false'],
  date: [/^.{10}$/, 'a day such as 2024-05-01'],
  datetime: [/T\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/i, 'a time such as 2024-05-01T12:30:00Z'],
  uuid: [/^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i, 'a UUID'],
};

/** Whether it begins with a day that there is: browsers take the 30th of February for the 1st of March. */
function isDay(text: string): boolean {
  const day = text.slice(0, 10);
  return new Date(`${day}T00:00Z`).toJSON()?.startsWith(day) ?? false;
}

/** An emptied field: as before where there was nothing, and otherwise null, which only a text that must be there is not. */
export function emptied({ kind, required, reference }: Column, was: unknown): unknown {
  if (was === undefined || was === '') return was;
  return kind === 'text' && required && !reference ? '' : null;
}

/** Whether the field may hold an empty text, as far as is known here. */
export function mayBeEmpty({ kind, type, list, reference, bounds }: Column): boolean {
  return (
    kind === 'text' &&
    type !== 'ID' &&
    !list &&
    !reference &&
    !bounds.format &&
    !bounds.minLength &&
    (bounds.pattern === undefined || new RegExp(bounds.pattern, 'u').test(''))
  );
}

/** Whether a pattern is certainly about the whole text, and has nothing in it that may be a break. */
export function isOfOneLine(pattern: string): boolean {
  return /^\^[^|]*[^\\|]\$$/.test(pattern) && !/\[\^|\\[^dwS.()[\]{}*+?$^/-]|\p{Cc}|\(\?[^:]/u.test(pattern);
}

/** Browsers know one kind of break: where a text has another one throughout, it keeps that. */
export function readText(text: string, was: unknown): string {
  const kinds = new Set(typeof was === 'string' ? was.match(breaks) : []);
  const [kind] = kinds;
  return kinds.size === 1 && kind ? text.replaceAll('\n', kind) : text;
}

/** As browsers show it; otherwise it would seem to differ from what they show. */
export function shownText(text: string): string {
  return text.replace(breaks, '\n');
}

const breaks = /\r\n?|\n/g;

const decimal = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/i;

export function readNumber({ kind }: Column, text: string): unknown {
  const like = kind === 'int' || kind === 'bigint' ? '12' : '12 or -0.5';
  const isNone = new Unreadable(text, `Not a number: write one as ${like}.`);
  return kind === 'bigint' || kind === 'decimal' ? readExact(text, isNone) : readFloat(text, isNone);
}

function readFloat(text: string, isNone: Unreadable): unknown {
  if (!decimal.test(text.trim())) return isNone;
  const number = Number(text);
  if (isExact(text, number)) return number;
  return new Unreadable(
    text,
    Number.isFinite(number)
      ? `This has more digits than are kept: it would become ${number}.`
      : 'This number is too large.',
  );
}

const digits = /^([+-]?)0*(?=\d|\.\d)(\d*)\.?(\d*)$/;

/** The digits themselves: no number of this page has them all. */
function readExact(text: string, isNone: Unreadable): unknown {
  const [, sign, whole, fraction] = digits.exec(text.trim()) ?? [];
  if (sign === undefined) return isNone;
  return `${sign === '-' ? '-' : ''}${whole || '0'}${fraction && `.${fraction}`}`;
}

export function readJson(text: string): unknown {
  let inexact: Unreadable | undefined;
  const exactly = (_: string, value: unknown, context?: { source?: string }) => {
    // Browsers that do not tell the source leave it to the service.
    if (typeof value === 'number' && context?.source !== undefined && !isExact(context.source, value))
      inexact ??= new Unreadable(
        text,
        `${context.source} has more digits than are kept: it would become ${value}.`,
      );
    return value;
  };
  try {
    const value: unknown = JSON.parse(text, exactly);
    return inexact ?? value;
  } catch (error) {
    return new Unreadable(
      text,
      `This is not JSON: ${(error as Error).message.replace(/ in JSON at position \d+/, '')}`,
    );
  }
}

/** Whether the number is the one that was written, whatever zeros it was written with. */
function isExact(text: string, number: number): boolean {
  return Number.isFinite(number) && significant(text) === significant(String(number));
}

/** The digits without the zeros around them, and the power of ten of the last one: `1.50` → `15e-1`. */
function significant(text: string): string {
  const [, sign = '', whole = '', fraction = '', power = '0'] =
    /^([+-]?)(\d*)\.?(\d*)(?:e([+-]?\d+))?$/i.exec(text.trim()) ?? [];
  const digits = (whole + fraction).replace(/^0+/, '');
  const kept = digits.replace(/0+$/, '');
  if (kept === '') return '0';
  const exponent = Number(power) - fraction.length + digits.length - kept.length;
  return `${sign === '-' ? '-' : ''}${kept}e${exponent}`;
}

/** `2024-05-01T12:30` as a picker gives it, `2024-05-01T12:30:00.000Z` as the service stores it. */
export function readMoment(text: string): string {
  const [, minutes = text, seconds = '00', fraction = ''] =
    /^(.*T\d\d:\d\d)(?::(\d\d))?(?:\.(\d+))?$/.exec(text) ?? [];
  return `${minutes}:${seconds}.${fraction.padEnd(3, '0')}Z`;
}
