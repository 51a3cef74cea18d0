/** The latest changes, read once for all who follow: who is not behind them asks the table for none. */

import { changes } from '../../storage/own.ts';
import { type Row, select } from '../../storage/statements.ts';
import { type Program, run } from '../../storage/storage.ts';
import { type Budget, LOOKED_BYTES } from '../budget.ts';
import type { Permitted } from '../policy/permitted.ts';
import type { ChangesRead } from './changes-operation.ts';
import type { Positions } from './positions.ts';
import { type ChangesPage, pageOf } from './reading.ts';

/** So many are kept, and so many bytes of what records were. */
const MOST = 1000;
const MOST_BYTES = 2 * LOOKED_BYTES;
/** And for so long, far less than any type keeps its changes: what `duet journal erase` removes is soon gone here too. */
const KEPT_MS = 5_000;

/** Where nothing was looked at yet. */
const NONE = Number.POSITIVE_INFINITY;

interface Kept {
  readonly row: Row;
  readonly at: number;
  readonly bytes: number;
  /** When it was read. */
  readonly since: number;
}

interface Look {
  readonly now: number;
  readonly rows: readonly Row[];
}

export class Latest {
  readonly #positions: Positions;
  /** All changes behind the one at `#from`, up to the one at `#to`. */
  #kept: Kept[] = [];
  #from = NONE;
  #to = NONE;
  #bytes = 0;

  constructor(positions: Positions) {
    this.#positions = positions;
  }

  /** What is not there yet; nothing where that is more than would be kept, or where nothing is kept yet. */
  *look(): Program<Look> {
    const { column } = this.#positions;
    const now = yield* this.#positions.now();
    if (now <= this.#to || now - this.#to > MOST) return { now, rows: [] };
    const order = [{ column, descending: false }];
    const behind = { is: 'gt', column, value: this.#to } as const;
    const rows = yield* run(
      select(changes, changes.columns, behind, { order, limit: MOST, bytes: LOOKED_BYTES, cuts: true }),
    );
    return { now, rows };
  }

  /** Positions hardly ever have gaps: where there are fewer rows, some are long gone, or were too much. Then it begins anew. */
  add({ now, rows }: Look): void {
    if (rows.length !== now - this.#to) {
      this.clear(now);
      return;
    }
    const since = performance.now();
    for (const row of rows) {
      const bytes = lengthOf(row['before']) + lengthOf(row['after']);
      this.#kept.push({ row, at: Number(row[this.#positions.column.name]), bytes, since });
      this.#bytes += bytes;
    }
    this.#to = now;
    let gone = 0;
    for (const { at, bytes, since: read } of this.#kept) {
      if (this.#kept.length - gone <= MOST && this.#bytes <= MOST_BYTES && since - read <= KEPT_MS) break;
      this.#from = at;
      this.#bytes -= bytes;
      gone++;
    }
    this.#kept.splice(0, gone);
  }

  clear(now = NONE): void {
    this.#kept = [];
    this.#bytes = 0;
    this.#from = now;
    this.#to = now;
  }

  /** What the operation asks for, of what is here; undefined where that is not all. */
  page(operation: Permitted<ChangesRead>): ((budget: Budget) => Program<ChangesPage>) | undefined {
    const { after } = operation;
    const place = after === undefined || this.#to === NONE ? undefined : this.#positions.placeOf(after);
    if (!place || place.at < this.#from || place.at > this.#to) return undefined;
    const first = this.#kept.findLastIndex(({ at }) => at <= place.at) + 1;
    const rows = this.#kept.slice(first).map(({ row }) => row);
    const end = this.#to;
    return (budget) => pageOf(this.#positions, rows, end, operation, place.past, budget);
  }
}

function lengthOf(image: unknown): number {
  return typeof image === 'string' ? image.length : 0;
}
