/** The log that SQLite writes commits to, where it is long or the disk slow: what is waited for in the background stops nobody. */

import type { Database } from 'bun:sqlite';
import { closeSync, fdatasync, openSync } from 'node:fs';
import { passing, unavailable } from '../faults.ts';
import type { Deadline } from '../storage.ts';
import { explaining } from './errors.ts';
import { BUSY_TIMEOUT_MS } from './opening.ts';
import type { SharedSnapshot } from './shared-snapshot.ts';

/**
 * How many pages gather before they are carried over into the file. Where records all over a table change, each commit writes
 * some thirty, and SQLite's own 1000 would be there after as many commits. So many are still found by one look into its index.
 */
export const CHECKPOINT_FRAMES = 4000;
/** Whoever reads for long, such as an export, keeps the log from beginning again. So much more takes some hundred milliseconds to carry over. */
export const LONG_LOG_FRAMES = 4 * CHECKPOINT_FRAMES;
/** So long it does not become but where somebody always reads: then others who read for long wait for a moment. */
export const MOST_LOG_FRAMES = 8 * CHECKPOINT_FRAMES;

export interface LogOptions {
  readonly database: Database;
  readonly snapshot: SharedSnapshot;
  /** Carries the log over into the file, in another process. */
  readonly checkpoint: () => Promise<void>;
  /** Waits until the disk has what was written to a file. */
  readonly sync?: ((file: number) => Promise<void>) | undefined;
}

export class Log {
  readonly #options: LogOptions;
  readonly #sync: (file: number) => Promise<void>;
  /** Opened when something has been written to it. No locks are on it that closing it could give up. */
  #file: number | undefined;
  #isInBackground = false;
  #carriedOver = 0;
  /** Whether the disk has failed: nobody knows what it has of the log. */
  #isInDoubt = false;

  constructor(options: LogOptions) {
    this.#options = options;
    this.#sync = options.sync ?? syncInBackground;
  }

  /**
   * From now on SQLite waits for the disk itself in each commit; or it never does, neither for the log nor to carry it
   * over into the file: then `prepared` comes before, and `synced` after each commit.
   */
  syncs(when: 'in commits' | 'in background'): void {
    const isInBackground = when === 'in background';
    if (isInBackground === this.#isInBackground) return;
    this.#isInBackground = isInBackground;
    const { database } = this.#options;
    database.run(`PRAGMA synchronous = ${isInBackground ? 'NORMAL' : 'FULL'}`);
    database.run(`PRAGMA wal_autocheckpoint = ${isInBackground ? 0 : CHECKPOINT_FRAMES}`);
  }

  /** Between two commits all of the log can be carried over, so that it begins from its start again. */
  async prepared(until: Deadline): Promise<void> {
    const frames = this.#options.snapshot.logFrames;
    if (frames < this.#carriedOver) this.#carriedOver = 0;
    // Somebody who has been reading for long may have kept it from beginning again.
    if (frames - this.#carriedOver < CHECKPOINT_FRAMES) return;
    this.#carriedOver = frames;
    // A disk that keeps this from working keeps the next write from it, too, and that is told.
    const checkpoint = this.#options.checkpoint().catch(() => {});
    let timer: Timer | undefined;
    const late = new Promise((resolve) => {
      timer = setTimeout(resolve, Math.max(0, until - performance.now()));
    });
    await Promise.race([checkpoint, late]);
    clearTimeout(timer);
  }

  /** When the disk has all that was committed; before that nobody is told. */
  async synced(): Promise<void> {
    try {
      this.#file ??= openSync(`${this.#options.database.filename}-wal`, 'r');
      await this.#sync(this.#file);
    } catch (cause) {
      this.#isInDoubt = true;
      throw passing(
        'OUTCOME_UNKNOWN',
        'The disk failed during the commit. Read before writing again.',
        cause,
      );
    }
  }

  close(): void {
    if (this.#file !== undefined) closeSync(this.#file);
  }

  /**
   * Before anything else is written. A system that could not write something may count it as written from then on, so that
   * to sync once more tells nothing. What is in the log is written anew, into the file, and the log begins from its start.
   */
  resolveDoubt(): void {
    if (!this.#isInDoubt) return;
    const { database, snapshot } = this.#options;
    snapshot.end();
    // To wait for whoever reads would stop the whole process.
    database.run('PRAGMA busy_timeout = 0');
    const [row] = explaining(() => {
      try {
        return database.query('PRAGMA wal_checkpoint(TRUNCATE)').values();
      } finally {
        database.run(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`);
      }
    });
    const isBlocked = row?.[0] !== 0;
    if (isBlocked) throw unavailable('The disk of the database reports errors; retry later.');
    this.#isInDoubt = false;
  }
}

function syncInBackground(file: number): Promise<void> {
  return new Promise((resolve, reject) => {
    fdatasync(file, (error) => (error ? reject(error) : resolve()));
  });
}
