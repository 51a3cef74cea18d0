/** Where changes stand: positions as clients have them, and how they are given where several write at once. */

import { timingSafeEqual } from 'node:crypto';
import { equal, type Filter } from '../../query/filter.ts';
import { Unwritable } from '../../storage/faults.ts';
import { changes, marks } from '../../storage/own.ts';
import { type Row, select } from '../../storage/statements.ts';
import { type Program, run, type Storage } from '../../storage/storage.ts';

/** How long to wait for one's turn to give positions. */
const PATIENCE_MS = 10_000;
const DIGITS = 16;
const SIGNATURE_BYTES = 9;
const SIGNATURE = (SIGNATURE_BYTES / 3) * 4;

const { sequence, position, transaction } = changes.column;
const bySequence = [{ column: sequence, descending: false }];
const isUnstamped: Filter = { is: 'null', column: position };
/**
 * As a column that is never null: whoever orders by it asks for those alone that have one, or for none of them. With the place
 * that nulls have in every other order, PostgreSQL sorts all that are kept, instead of following an index.
 */
const given = { ...position, required: true };
/** Not by sequence, which has PostgreSQL look through all that are kept for the first without a position. */
const anyUnstamped = select(changes, [sequence], isUnstamped, {
  order: [{ column: given, descending: false }],
  limit: 1,
});
/** The mark that belongs to no table. */
const LAST = '';

/** Where a reader stands: behind the change at `at`. To it, changes up to `past` are the past. */
export interface Place {
  readonly at: number;
  readonly past: number;
}

export class Positions {
  /** What a change's position is: on PostgreSQL it is stamped after the commit, on SQLite the one writer has counted it. */
  readonly column;
  readonly #storage: Storage;
  #secret: string | undefined;
  #running: Promise<void> | undefined;
  #next: Promise<void> | undefined;

  constructor(storage: Storage) {
    this.#storage = storage;
    this.column = storage.stampsPositions ? given : sequence;
  }

  /** Everything that is committed by now has a position when this is done, and positions can be read and written. */
  ready(): Promise<void> | undefined {
    if (!this.#storage.stampsPositions && this.#secret !== undefined) return undefined;
    if (!this.#running) {
      this.#running = this.#prepare().finally(() => {
        this.#running = undefined;
      });
      return this.#running;
    }
    // What is under way may have looked before the caller's own write was committed: whoever comes now waits for the next.
    this.#next ??= this.#running
      .catch(() => {})
      .then(() => {
        this.#next = undefined;
        return this.ready();
      });
    return this.#next;
  }

  async #prepare(): Promise<void> {
    const deadline = performance.now() + PATIENCE_MS;
    const looks = [
      select(marks, marks.columns, equal(marks.key, LAST)),
      ...(this.#storage.stampsPositions ? [anyUnstamped] : []),
    ];
    const look = function* (): Program<readonly Row[][]> {
      return yield looks;
    };
    const [[last] = [], unstamped = []] = await this.#storage.read(look, 'many', deadline);
    const known = last && String(last['secret']);
    if (known !== undefined && unstamped.length === 0) this.#secret = known;
    else
      this.#secret = await this.#storage.write(() => this.#claim(), 'many', deadline).catch(readOnly(known));
  }

  *#claim(): Program<string> {
    const rows = [{ table: LAST, position: 0, secret: newSecret() }];
    // A statement of its own: the next one sees all that was committed while this one waited for the lock.
    const [last = {}] = yield* run({ do: 'insert all', resource: marks, rows, claims: true });
    if (this.#storage.stampsPositions) yield* stamp(Number(last['position']));
    return String(last['secret']);
  }

  /** The last position that was given, as far as the snapshot shows. */
  *now(): Program<number> {
    if (!this.#storage.stampsPositions) {
      const [row] = yield* run({ do: 'last id', resource: changes });
      return Number(row?.['last'] ?? 0);
    }
    const [row] = yield* run(select(marks, [marks.column.position], equal(marks.key, LAST)));
    return Number(row?.['position'] ?? 0);
  }

  /**
   * As text that sorts. It is signed, because who may not read the past may go on from where it was, but not from wherever it
   * likes: a position that was made up would show what was edited away since. For the same reason one that was told in a
   * read of the past keeps where that ends: the history of some records would open that of all others.
   */
  textOf({ at, past }: Place): string {
    const digits = past > at ? hex(at) + hex(past) : hex(at);
    return `${digits}${this.#signature(digits)}`;
  }

  /** Undefined where nobody was given such a text. */
  placeOf(text: string): Place | undefined {
    const digits = text.slice(0, -SIGNATURE);
    const given = Buffer.from(text.slice(-SIGNATURE));
    const signature = Buffer.from(this.#signature(digits));
    if (given.length !== signature.length || !timingSafeEqual(given, signature)) return undefined;
    const [at, past] = [digits.slice(0, DIGITS), digits.slice(DIGITS)].map((each) =>
      Number.parseInt(each || '0', 16),
    );
    return { at: at ?? 0, past: past ?? 0 };
  }

  #signature(digits: string): string {
    if (this.#secret === undefined) throw new Error('positions are not ready');
    const hash = new Bun.CryptoHasher('sha256', this.#secret).update(digits).digest();
    return Buffer.from(hash.subarray(0, SIGNATURE_BYTES)).toString('base64url');
  }
}

function newSecret(): string {
  return Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString('base64url');
}

/**
 * On a standby, changes are shown as far as somebody has given them positions where that can be done: none, where nobody ever has, and
 * then what this node signs is of no use to others.
 */
function readOnly(known: string | undefined): (error: unknown) => string {
  return (error) => {
    if (error instanceof Unwritable) return known ?? newSecret();
    throw error;
  };
}

function hex(at: number): string {
  return at.toString(16).padStart(DIGITS, '0');
}

/**
 * Gives positions to all changes that are committed and have none, after those that were given before. Transactions come in
 * the order of the last number that each has drawn: whoever waits for a record of another draws after the other has
 * committed, so no version comes before its predecessor.
 */
function* stamp(last: number): Program<void> {
  const found = yield* run(select(changes, [sequence, transaction], isUnstamped, { order: bySequence }));
  if (found.length === 0) return;
  let at = last;
  const rows = inOrder(found).map((row) => ({ sequence: row['sequence'], position: ++at }));
  yield* run({ do: 'update all', resource: changes, columns: [position], rows });
  const where = equal(marks.key, LAST);
  yield* run({ do: 'update', resource: marks, set: { position: at }, where, counts: false, isSilent: true });
}

/** Rows come by their numbers; none stands among those of another transaction. */
function inOrder(rows: readonly Row[]): Row[] {
  const byTransaction = new Map<unknown, Row[]>();
  for (const row of rows) {
    const own = byTransaction.get(row['transaction']) ?? [];
    own.push(row);
    // Put in anew: the one that has drawn last comes last.
    byTransaction.delete(row['transaction']);
    byTransaction.set(row['transaction'], own);
  }
  return [...byTransaction.values()].flat();
}
