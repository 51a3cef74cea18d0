/** The text of a key, as a path segment or a GraphQL ID, → the key itself. */

import type { Column } from './model.ts';
import { canonicalUuid, isStorableText, MAX_KEY, Serial, UUID } from './scalars.ts';

/** An integer key as text, also in a filter; what is no canonical integer stays text, for the type's check to refuse. */
export function integerFrom(text: string): number | string {
  return /^(?:0|-?[1-9]\d*)$/.test(text) ? Number(text) : text;
}

/** Undefined when the text can name no record: `01` and `1.0` are not other spellings of 1. */
export function readKey({ type }: Column, text: string): string | number | undefined {
  if (type === Serial) {
    if (!/^[1-9][0-9]{0,15}$/.test(text)) return undefined;
    const key = Number(text);
    return key <= MAX_KEY ? key : undefined;
  }
  if (type === UUID) return canonicalUuid(text);
  return isStorableText(text) ? text : undefined;
}
