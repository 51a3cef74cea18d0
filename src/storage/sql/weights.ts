/** How much JSON takes once it is read: a text of nothing but `{}` becomes objects of thirty times as many bytes. */

import { measuredText } from '../../base/passed.ts';
import { answerTooLarge } from '../faults.ts';

/** What one statement may come to, in bytes of memory; to read the worst of it takes about half a second. */
export const MOST_WEIGHT = 128 * 1024 * 1024;

/** Of each part, measured. A name takes little where objects before have had it, and much where none has. */
const OBJECT = 90;
const LIST = 60;
const TEXT = 100;
const NAMED = 10;
const NEW_NAME = 300;
const NEXT = 16;
/** No text weighs as many times its length. */
const HEAVIEST = 100;

/** Names are told apart by some bits of a hash. */
const NAMES = 1 << 20;

/** Fails before anything is made of them where the JSON in these lists of texts would take too much. */
export function weigh(lists: readonly (readonly unknown[])[]): void {
  let characters = 0;
  for (const texts of lists) for (const text of texts) characters += lengthOf(text);
  // A record alone was the body of a request.
  if (!mayWeigh(characters) || lists.every(({ length }) => length < 2)) return;
  const seen = new Uint8Array(NAMES);
  let weight = 0;
  for (const texts of lists)
    for (const text of texts) {
      weight += weightOf(text, seen);
      if (weight > MOST_WEIGHT) throw answerTooLarge();
    }
}

/** Whether values of so many characters can come to too much. */
export function mayWeigh(characters: number): boolean {
  return characters * HEAVIEST > MOST_WEIGHT;
}

/** Of values that are read so many times each. */
export function weightOfMany(values: Iterable<readonly [value: unknown, times: number]>): number {
  const seen = new Uint8Array(NAMES);
  let weight = 0;
  for (const [value, times] of values) {
    if (typeof value !== 'object' || value === null) continue;
    const text = measuredText(value);
    weight += weightOf(text, seen);
    // Its names are known from then on.
    if (times > 1) weight += (times - 1) * weightOf(text, seen);
  }
  return weight;
}

function lengthOf(value: unknown): number {
  return typeof value === 'string' ? value.length : 0;
}

function weightOf(text: unknown, seen: Uint8Array): number {
  if (typeof text !== 'string') return 0;
  let weight = text.length;
  let isInside = false;
  let hash = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (isInside) {
      if (code === BACKSLASH) at++;
      else if (code === QUOTE) isInside = false;
      else hash = (Math.imul(hash, 31) + code) | 0;
    } else if (code === COMMA) weight += NEXT;
    else if (code === QUOTE) {
      isInside = true;
      weight += TEXT;
      hash = 0;
    } else if (code === COLON) {
      // What came before was a name.
      weight += NAMED - TEXT;
      const place = (hash ^ (hash >>> 12)) & (NAMES - 1);
      if (seen[place] === 0) {
        seen[place] = 1;
        weight += NEW_NAME;
      }
    } else if (code === BRACE) weight += OBJECT;
    else if (code === BRACKET) weight += LIST;
  }
  return weight;
}

const [BACKSLASH, QUOTE, COMMA, COLON, BRACE, BRACKET] = ['\\', '"', ',', ':', '{', '['].map((each) =>
  each.charCodeAt(0),
);
