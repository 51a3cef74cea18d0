/** What an enum field can be set to from where it is: all of its values, unless its changes are bound. */

import type { Column } from './schema/types.ts';

export interface Choices {
  readonly values: readonly string[];
  readonly mayBeNull: boolean;
}

/** `was`: what is stored, if anything; `fallback`: what a new record has by default. */
export function choicesOf(column: Column, was: unknown, fallback: unknown): Choices {
  const transitions = transitionsIn(column.description ?? '');
  if (!transitions) return { values: column.choices, mayBeNull: !column.required };
  // What has no value yet begins as a new record does.
  if (typeof was !== 'string') {
    const values = typeof fallback === 'string' ? [fallback] : column.choices;
    return { values, mayBeNull: !column.required && (was === null || fallback === undefined) };
  }
  const next = transitions.get(was) ?? [];
  return { values: column.choices.filter((each) => each === was || next.includes(each)), mayBeNull: false };
}

/** Both doors tell of them in the description of the field, and there alone. */
function transitionsIn(description: string): ReadonlyMap<string, readonly string[]> | undefined {
  const [, told] = /^Changes only so: (.*)\.$/m.exec(description) ?? [];
  if (told === undefined) return undefined;
  const lines = told.split('; ').map((line) => line.split(' → '));
  return new Map(lines.map(([from = '', to = '']) => [from, to.split(', ')]));
}
