/** JSON that is written as it is taken: one who takes none of it holds only what it is written of, which others may have, too. */

import { jsonOf, PassedJson } from './passed.ts';

/** The characters of a part, about; what is shorter as a whole is written at once. */
export const PART = 64 * 1024;
/** Texts of so many characters are told from others that are the same. */
const DISTINCT = 1024;

/** A long text around long JSON, in parts, as often as somebody goes through it. */
export class LongText implements Iterable<string> {
  readonly #before: string;
  readonly #value: unknown;
  readonly #after: string;
  /** The characters of the texts that it is written of, each counted once. */
  readonly held: number;

  constructor(before: string, value: unknown, after: string, held = heldBy(value)) {
    this.#before = before;
    this.#value = value;
    this.#after = after;
    this.held = held;
  }

  /** The same behind some more. */
  behind(text: string): LongText {
    return new LongText(text + this.#before, this.#value, this.#after, this.held);
  }

  *[Symbol.iterator](): Generator<string> {
    let text = this.#before;
    for (const part of partsOf(this.#value)) {
      text += part;
      if (text.length < PART) continue;
      yield text;
      text = '';
    }
    yield text + this.#after;
  }
}

function heldBy(value: unknown): number {
  const texts = new Set<string>();
  lengthOf(value, Number.POSITIVE_INFINITY, texts);
  return texts.values().reduce((sum, text) => sum + text.length, 0);
}

/** At once where it is short. */
export function written(before: string, value: unknown, after: string): string | LongText {
  return isLong(value) ? new LongText(before, value, after) : before + jsonOf(value) + after;
}

function isLong(value: unknown): boolean {
  return lengthOf(value, PART) >= PART;
}

/** About how many characters it takes, as far as `most`; a text that is long by itself is added to `texts`. */
function lengthOf(value: unknown, most: number, texts?: Set<string>): number {
  const text = value instanceof PassedJson ? value.text : value;
  if (typeof text === 'string') {
    if (text.length >= DISTINCT) texts?.add(text);
    return text.length + 2;
  }
  if (typeof value !== 'object' || value === null) return 4;
  let length = 2;
  if (Array.isArray(value))
    for (const each of value) {
      if (length >= most) break;
      length += 1 + lengthOf(each, most - length, texts);
    }
  else
    for (const name in value) {
      if (length >= most) break;
      length += 4 + name.length + lengthOf((value as Record<string, unknown>)[name], most - length, texts);
    }
  return length;
}

/**
 * Whether its JSON is made of that of its members. Functions of the deployment give whatever JSON.stringify takes, such as dates and
 * what says itself how it is written.
 */
export function hasParts(value: unknown): value is object {
  if (typeof value !== 'object' || value === null) return false;
  if ('toJSON' in value && typeof value.toJSON === 'function') return false;
  const prototype = Object.getPrototypeOf(value);
  return Array.isArray(value) || prototype === null || prototype === Object.prototype;
}

function isTakenApart(value: unknown): value is string | object {
  return isLong(value) && (typeof value === 'string' || value instanceof PassedJson || hasParts(value));
}

/** As JSON.stringify has it. */
function* partsOf(value: unknown): Generator<string> {
  if (!isTakenApart(value)) yield jsonOf(value);
  else if (value instanceof PassedJson) yield* slicesOf(value.text);
  else if (typeof value === 'string') {
    yield '"';
    for (const slice of slicesOf(value)) yield JSON.stringify(slice).slice(1, -1);
    yield '"';
  } else {
    const isList = Array.isArray(value);
    let before = isList ? '[' : '{';
    for (const [name, each] of isList ? value.entries() : Object.entries(value)) {
      if (isTakenApart(each)) {
        yield isList ? before : `${before}${JSON.stringify(name)}:`;
        yield* partsOf(each);
      } else {
        const member = memberOf(isList, name, each);
        if (member === '') continue;
        yield before + member;
      }
      before = ',';
    }
    yield isList ? ']' : before === '{' ? '{}' : '}';
  }
}

/** The JSON of a list or an object has so of one member; nothing where JSON.stringify leaves that out. */
export function memberOf(isList: boolean, name: string | number, value: unknown): string {
  return jsonOf(isList ? [value] : { [name]: value }).slice(1, -1);
}

/** No character is split. */
export function* slicesOf(text: string): Generator<string> {
  for (let at = 0; at < text.length; ) {
    const most = Math.min(at + PART, text.length);
    const end = most < text.length && (text.codePointAt(most - 1) ?? 0) > 0xffff ? most - 1 : most;
    yield text.slice(at, end);
    at = end;
  }
}
