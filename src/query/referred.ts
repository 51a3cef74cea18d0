/** Values of records that references lead to, such as `category.name`: what else rows can be ordered by. */

import type { Column, Reference } from '../schema/model.ts';
import { everything, type Filter, isEverything } from './filter.ts';

/** As if it were a column of the record that the references lead from: null where they lead nowhere. */
export interface Referred extends Column {
  readonly of: Column;
  /** Never empty. */
  readonly through: readonly Step[];
}

export interface Step {
  readonly field: Reference;
  /** The records that exist for the caller; the policy's to say. */
  readonly where: Filter;
}

/** How many references an order may follow: each is one more record to look up for each row. */
export const MOST_STEPS = 4;

/** How many records all of them may look up for one row: SQLite joins 64 tables at the most, and PostgreSQL plans long. */
export const MOST_RECORDS = 16;

export function isReferred(column: Column): column is Referred {
  return 'through' in column;
}

export function referred(through: readonly Step[], of: Column): Referred {
  return {
    ...of,
    // With a character that no field's name has.
    name: pathOf(through, `.${of.name}`),
    required: of.required && through.every(({ field, where }) => field.required && isEverything(where)),
    // What it is compared by is as far away.
    ...(of.folded && { folded: referred(through, of.folded) }),
    of,
    through,
  };
}

/** The column at the end of these references, as somebody sees it who sees every record. */
export function columnThrough(references: readonly Reference[], of: Column): Column {
  const through = references.map((field) => ({ field, where: everything }));
  return through.length > 0 ? referred(through, of) : of;
}

/** How many records are looked up for these columns of one row. */
export function recordsFor(columns: readonly Column[]): number {
  const paths = columns.flatMap((column) =>
    isReferred(column) ? column.through.map((_, index) => pathOf(column.through.slice(0, index + 1))) : [],
  );
  return new Set(paths).size;
}

/** A way is as long as the fields' names are: beyond that, PostgreSQL would cut it. */
const LONGEST_PATH = 60;

/** `category.parent`; where that is too long for a name in SQL, another text that stands for it alone. */
export function pathOf(through: readonly Step[], rest = ''): string {
  const path = through.map(({ field }) => field.name).join('.') + rest;
  return path.length <= LONGEST_PATH ? path : `.${Bun.hash(path).toString(36)}`;
}
