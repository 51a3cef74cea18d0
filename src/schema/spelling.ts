/** Text → the value that it stands for in a column, where text is all there is: query strings and claims. */

import { integerFrom } from './keys.ts';
import type { Column } from './model.ts';
import { Serial } from './scalars.ts';
import { isScalar } from './values.ts';

/** What is no number or flag stays text, for the type's check to refuse. */
export function fromText({ type }: Column, text: string): unknown {
  if (!isScalar(type)) return text;
  if (type.stored === 'boolean') return flagFrom(text);
  if (type === Serial) return integerFrom(text);
  return type.is === 'number' && /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/.test(text)
    ? Number(text)
    : text;
}

export function flagFrom(text: string): unknown {
  return text === 'true' ? true : text === 'false' ? false : text;
}
