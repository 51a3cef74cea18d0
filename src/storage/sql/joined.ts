/** The names under which a statement has columns, and what is joined to its table. */

import { isReferred, pathOf, type Step } from '../../query/referred.ts';
import type { Column } from '../../schema/model.ts';
import { quote } from './dialect.ts';

/** A column of the table under this name, or of what is joined to it. */
export function columnOf(column: Column, table: string): string {
  return `${isReferred(column) ? joinedAs(column.through) : table}.${quote(column.stored)}`;
}

/** No stored name begins with `_`. */
export function joinedAs(through: readonly Step[]): string {
  return quote(`_.${pathOf(through)}`);
}
