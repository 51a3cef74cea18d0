/** What it costs SQLite to read Duet's own tables. */

import { quote } from '../sql/dialect.ts';
import type { Query } from '../statements.ts';
import { BYTES, soughtOf } from './given.ts';
import { numbersIn } from './keyed.ts';
import { MOST_ROWS, type Sizes } from './sizes.ts';

/** What it costs to come to a row, beside testing it. */
export const VISIT = 4;
/** In a large file a row may have a page of its own. */
const PAGE = 4;
/** So many rows are put in order, or gone through, in some milliseconds. */
export const FEW_ROWS = 5_000;

export class OwnCost {
  readonly #sizes: Sizes;

  constructor(sizes: Sizes) {
    this.#sizes = sizes;
  }

  /** What Duet asks of its own tables, it asks by their keys, or of a few rows at a time; but there may be much in them. */
  of(statement: Query, parameters: readonly unknown[]): number {
    const { resource, where } = statement;
    // No index has all that is asked of them: while a receiver is down, any number of deliveries waits for it.
    if (statement.do === 'aggregate') return this.#all(resource.table);
    const { columns, per, limit, bytes } = statement;
    if (per && limit !== undefined) {
      const rows = per.values.length * limit;
      const there = this.#sizes.rowsOf(resource.table);
      return soughtOf(per.values) + this.#passing(there > MOST_ROWS ? rows : Math.min(rows, there));
    }
    // To find many that no index tells from others, it may go through all of them.
    if (limit !== undefined && limit > FEW_ROWS) return this.#all(resource.table);
    const numbers = where ? numbersIn(where, resource.key) : 0;
    if (numbers > 0) return this.#passing(numbers);
    if (bytes === undefined || where?.is !== 'in') return 0;
    // To ask how long they are reads none of the texts.
    const found = `${quote(where.column.stored)} IN (SELECT value FROM json_each(?1))`;
    const sizes = columns.map(({ stored }) => `COALESCE(octet_length(${quote(stored)}), 0)`);
    const sum = `COALESCE(SUM(${sizes.join(' + ')}), 0)`;
    const there = this.#sizes.number(`SELECT ${sum} FROM ${quote(resource.table)} WHERE ${found}`, [
      parameters[0],
    ]);
    return VISIT * where.values.length + Math.min(bytes, there) / BYTES;
  }

  #all(table: string): number {
    const rows = this.#sizes.rowsOf(table);
    return rows > MOST_ROWS ? Number.POSITIVE_INFINITY : this.#passing(rows);
  }

  readonly #passing = (rows: number) => costOfPassing(rows, this.#sizes);
}

/** Rows whose texts are not read, but of which each may be on a page of its own. */
export function costOfPassing(rows: number, { isLarge }: Sizes): number {
  return rows * VISIT * (isLarge ? PAGE : 1);
}
