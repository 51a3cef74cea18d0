/** Reads of one turn of the event loop share a read transaction of SQLite for as long as nobody commits. */

import type { Database } from 'bun:sqlite';
import { afterBatch } from '../../base/batch.ts';
import type { WalIndex } from './wal-index.ts';

/**
 * To begin a transaction SQLite locks, looks at the log and unlocks, with three system calls; that is most of what it
 * takes to read a record by its key. Whoever reads sees what was committed before: the index tells.
 */
export class SharedSnapshot {
  readonly #database: Database;
  readonly #index: WalIndex;
  readonly #begin: () => void;
  readonly #commit: () => void;
  readonly #look: () => void;
  #isOpen = false;
  #isEnding = false;

  /** `look` is called where somebody has committed since the last snapshot, within the new one. */
  constructor(database: Database, index: WalIndex, look: () => void) {
    this.#database = database;
    this.#index = index;
    this.#look = look;
    const [begin, commit] = [database.query('BEGIN'), database.query('COMMIT')];
    this.#begin = () => begin.run();
    this.#commit = () => commit.run();
  }

  get logFrames(): number {
    return this.#index.frames;
  }

  /** From now on, and until the loop turns, reads show one snapshot of the present. */
  begin(): void {
    if (this.#isOpen) {
      if (this.#index.isSame) return;
      this.end();
    }
    // Before the transaction, which sees what was committed up to its first read.
    const isNew = this.#index.look();
    this.#begin();
    this.#isOpen = true;
    if (isNew) this.#look();
    if (this.#isEnding) return;
    this.#isEnding = true;
    afterBatch(() => {
      this.#isEnding = false;
      this.end();
    });
  }

  /** An old snapshot would keep the log from being emptied, and others from writing. */
  end(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    // Some errors end a transaction by themselves.
    if (this.#database.inTransaction) this.#commit();
  }

  close(): void {
    this.end();
    this.#index.close();
  }
}
