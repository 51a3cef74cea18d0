/** How large a SQLite file and its tables are, looked at now and then. */

import type { Database } from 'bun:sqlite';
import { quote } from '../sql/dialect.ts';
import type { Row, Table } from '../statements.ts';
import { grow, type Held, held, measuredOf } from './texts.ts';

/** A table with more rows is large. */
export const MOST_ROWS = 20_000;
/** In a larger file the rows may be large themselves. */
export const SMALL_FILE = 64 * 1024 * 1024;
const MOST_LARGE_ROWS = 1_000;
/** So many values are measured within so many milliseconds, which takes a tenth of them; what else there is cannot be known yet. */
const MOST_MEASURED = 250_000;
const MEASURING_MS = 500;
/** Of a single table. */
export const MOST_AT_ONCE = 400_000;
/** What it costs at the most to count the rows of a table in a large file. */
const COUNTED = 100_000;
/** How long a table counts as small without being looked at again. */
const RECOUNT_MS = 5_000;
const RECOUNT_SOON_MS = 250;

export class Sizes {
  readonly #database: Database;
  readonly #rows = new Map<string, number>();
  readonly #held = new Map<string, Held>();
  #bytes = 0;
  #recountAt = 0;
  #recountedAt = 0;
  #isOutdated = false;
  #measured = 0;
  #measureAgain = 0;

  constructor(database: Database) {
    this.#database = database;
  }

  /** Of the file. */
  get bytes(): number {
    this.#recountNowAndThen();
    return this.#bytes;
  }

  get isLarge(): boolean {
    return this.bytes > SMALL_FILE;
  }

  /** Whether others have written since all of this was looked at. */
  get isOutdated(): boolean {
    this.#recountNowAndThen();
    return this.#isOutdated;
  }

  /** How many rows a small table has at the most. */
  get most(): number {
    return this.isLarge ? MOST_LARGE_ROWS : MOST_ROWS;
  }

  /** Up to one more than a small table has. */
  rowsOf(table: string): number {
    this.#recountNowAndThen();
    let rows = this.#rows.get(table);
    if (rows === undefined) {
      // Without an index to count, each may be a page of its own.
      if (this.isLarge && !this.#mayMeasure(COUNTED)) return MOST_ROWS + 1;
      rows = this.count(`SELECT 1 FROM ${quote(table)}`, []);
      this.#rows.set(table, rows);
    }
    return rows;
  }

  /** What there is of texts in a small table. */
  heldBy(table: Table): Held | undefined {
    const rows = this.rowsOf(table.table);
    if (rows > this.most) return undefined;
    let all = this.#held.get(table.table);
    if (!all) {
      if (!this.#mayMeasure(rows * measuredOf(table))) return undefined;
      all = held(this.#database, table, MOST_ROWS + 1);
      this.#held.set(table.table, all);
    }
    return all;
  }

  /** Whether all of these were measured. */
  know(tables: readonly Table[]): boolean {
    return tables.every((table) => this.heldBy(table) !== undefined);
  }

  mayHoldLong(tables: readonly Table[]): boolean {
    return tables.some((table) => this.heldBy(table)?.hasLong !== false);
  }

  #mayMeasure(values: number): boolean {
    const now = performance.now();
    if (now > this.#measureAgain) {
      this.#measureAgain = now + MEASURING_MS;
      this.#measured = 0;
    }
    if (this.#measured + values > (this.#measured === 0 ? MOST_AT_ONCE : MOST_MEASURED)) return false;
    this.#measured += values;
    return true;
  }

  /** Counts what is written until then: so many new rows, and so many that were given these values. */
  grew(table: Table, rows: number, values: Row, times = rows): void {
    const before = this.#rows.get(table.table);
    if (before === undefined) return;
    this.#rows.set(table.table, before + rows);
    const all = this.#held.get(table.table);
    if (all) grow(all, table, values, times);
  }

  /** After others have written, nobody knows how much. */
  outdate(): void {
    this.#recountAt = 0;
  }

  /** The same where they may write all the time: to count takes as long as many a read. */
  outdateSoon(): void {
    this.#isOutdated = true;
    this.#recountAt = Math.min(this.#recountAt, this.#recountedAt + RECOUNT_SOON_MS);
  }

  count(sql: string, parameters: readonly unknown[]): number {
    return this.number(`SELECT COUNT(*) FROM (${sql} LIMIT ${MOST_ROWS + 1})`, parameters);
  }

  number(sql: string, parameters: readonly unknown[] = []): number {
    const [[number] = []] = this.#database.query(sql).values(...(parameters as string[]));
    return Number(number);
  }

  #recountNowAndThen(): void {
    const now = performance.now();
    if (now < this.#recountAt) return;
    this.#recountedAt = now;
    this.#isOutdated = false;
    this.#recountAt = now + RECOUNT_MS;
    this.#rows.clear();
    this.#held.clear();
    this.#bytes = this.number('SELECT page_count * page_size FROM pragma_page_count, pragma_page_size');
  }
}
