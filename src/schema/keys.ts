/** The text of a key, as a path segment or a GraphQL ID, → the key itself. */

import type { Column } from './model.ts';
import { canonicalUuid, isStorableText, MAX_KEY, Serial, UUID } from './scalars.ts';

/** An integer key as text, also in a filter; what is no canonical integer stays text, for the type's check to refuse. */
export function integerFrom(text: string): number | string {
  return /^(?:0|-?[1-9]\d*)$/.test(text) ? Number(text) : text;
}

/** Undefined when the text can name no record: `01` and `1.0` are not other spellings of 1. */
export function readKey({ type }: Column, text: string): string | number | undefined {
  if (type === Serial) return positiveInteger(text);
  if (type === UUID) return canonicalUuid(text);
  return isStorableText(text) ? text : undefined;
}

const [ZERO, NINE] = ['0', '9'].map((digit) => digit.charCodeAt(0)) as [number, number];
const MOST_DIGITS = String(MAX_KEY).length;

/** Digit by digit: of everything that is done to find a record by its key, a pattern would take the longest. */
function positiveInteger(text: string): number | undefined {
  if (text.length === 0 || text.length > MOST_DIGITS || text.charCodeAt(0) === ZERO) return undefined;
  let number = 0;
  for (let at = 0; at < text.length; at++) {
    const digit = text.charCodeAt(at);
    if (digit < ZERO || digit > NINE) return undefined;
    number = number * 10 + (digit - ZERO);
  }
  return number <= MAX_KEY ? number : undefined;
}
