/** What it costs SQLite to look at the texts of the rows that a statement visits. */

import type { Database } from 'bun:sqlite';
import { BYTES } from './given.ts';
import { MOST_AT_ONCE, MOST_ROWS, type Sizes } from './sizes.ts';
import { held, type Look, lengthIn, measuredOf, type Part } from './texts.ts';

export class LookCost {
  readonly #database: Database;
  readonly #sizes: Sizes;

  constructor(database: Database, sizes: Sizes) {
    this.#database = database;
    this.#sizes = sizes;
  }

  /** Of so many rows; `part` has those that no other rows lead to. `repeats`: any of them, any often. */
  of(
    looks: readonly Look[],
    rows: number,
    partOf?: () => Part | undefined,
    left = Number.POSITIVE_INFINITY,
    repeats = false,
  ): number {
    const cost = costOf(looks, (look) => this.#bytesIn(look, rows, repeats));
    const own = cost > left ? looks.find(({ isReached }) => !isReached) : undefined;
    if (!own || Math.min(rows, MOST_ROWS) * measuredOf(own.table) > MOST_AT_ONCE) return cost;
    const part = partOf?.();
    if (!part) return cost;
    const found = held(this.#database, own.table, MOST_ROWS, part);
    return costOf(looks, (look) => {
      if (look.isReached) return this.#bytesIn(look, rows, repeats);
      const { all, longest } = lengthIn(found, look);
      return repeats ? rows * longest : all;
    });
  }

  /** As many as there can be in so many rows. */
  #bytesIn(look: Look, visited: number, repeats: boolean): number {
    const rows = look.from ? Math.min(visited, this.#sizes.rowsOf(look.from.table)) : visited;
    const all = this.#sizes.heldBy(look.table);
    if (!all)
      return Math.min(
        rows * look.most,
        look.isReached || repeats ? Number.POSITIVE_INFINITY : this.#sizes.bytes,
      );
    const length = lengthIn(all, look);
    const most = rows * length.longest;
    if (look.isReached || repeats || most === 0) return most;
    return Math.min(most, length.all * Math.max(1, rows / all.rows));
  }
}

function costOf(looks: readonly Look[], bytesIn: (look: Look) => number): number {
  return looks.reduce((sum, look) => sum + (look.weight * bytesIn(look)) / BYTES, 0);
}
