/** How writes that go together are committed: in this process or, where one takes long, in another; with the disk waited for in each commit or, where it is slow, in the background. */

import type { Database } from 'bun:sqlite';
import type { Soon } from '../../base/soon.ts';
import type { Resource } from '../../schema/model.ts';
import type { Bounds } from './bounds.ts';
import type { LocalWriter } from './local-writer.ts';
import { Pace } from './pace.ts';
import type { ProcessWriter } from './process-writer.ts';
import type { SharedSnapshot } from './shared-snapshot.ts';
import { LONG_LOG_FRAMES, Log, type LogOptions } from './wal.ts';
import { unmergedIn } from './words.ts';
import { type Commit, isResult, type Outcome, type Waiting } from './write-queue.ts';

/** How often it is looked for what a server that is gone has left: it may have written after the last look. */
const LEFT_MS = 60_000;

export interface CommitsOptions {
  readonly database: Database;
  readonly local: LocalWriter;
  /** Undefined where no other process can write. */
  readonly writer: ProcessWriter | undefined;
  readonly bounds: Bounds;
  readonly resources: readonly Resource[];
  /** What is read from, where it is there already, or at the first look; undefined where there can be none. */
  readonly snapshot: (look: 'known' | 'first') => SharedSnapshot | undefined;
  /** From how many milliseconds on a commit counts as slow; 0 makes every one a slow one. */
  readonly slowMs?: number | undefined;
  readonly sync?: LogOptions['sync'];
}

export class Commits {
  readonly #options: CommitsOptions;
  readonly #pace: Pace;
  readonly #searched: readonly Resource[];
  /** Made when the disk is first found to be slow. */
  #log: Log | undefined;
  /** When it is looked again for words that other servers have left to merge. */
  #lookAgain = 0;

  constructor(options: CommitsOptions) {
    this.#options = options;
    this.#pace = new Pace(options.slowMs);
    this.#searched = options.resources.filter(({ searched }) => searched.length > 0);
  }

  readonly commit: Commit = (batch, isAlone, isWanted) => {
    const { writer, bounds } = this.#options;
    this.#log?.resolveDoubt();
    this.#mergeLeft();
    const [first] = batch;
    if (isAlone && first && writer) return writer.commit(first, isWanted).finally(() => bounds.recount());
    if (writer?.isFarBehind) return writer.mergeLittle().then(() => this.#short(batch));
    return this.#short(batch);
  };

  /** From now on nothing here reads from what was, and SQLite itself waits for the disk. */
  begin(): void {
    this.#options.snapshot('known')?.end();
    this.#log?.syncs('in commits');
  }

  close(): void {
    this.#log?.close();
  }

  #short(batch: readonly Waiting[]): Soon<readonly Outcome[] | undefined> {
    // To carry a log over that has become long would stop the process; in the background another one does it.
    const isLong = (this.#options.snapshot('known')?.logFrames ?? 0) > LONG_LOG_FRAMES;
    const log = this.#pace.isSlow || isLong ? this.#logInBackground() : undefined;
    return log ? this.#inBackground(log, batch) : this.#here(batch);
  }

  #mergeLeft(): void {
    const { writer, database } = this.#options;
    const now = performance.now();
    if (!writer || this.#searched.length === 0 || now < this.#lookAgain) return;
    this.#lookAgain = now + LEFT_MS;
    writer.mergeLeft(unmergedIn(database, this.#searched));
  }

  #here(batch: readonly Waiting[]): readonly Outcome[] | undefined {
    this.begin();
    let left = 0;
    const outcomes = this.#options.local.commit(batch, () => {
      left = performance.now();
    });
    if (left > 0) this.#pace.committed(performance.now() - left);
    return outcomes;
  }

  /** Reads go on while the disk is waited for. What they show may be some milliseconds ahead of it; who writes is told after. */
  async #inBackground(log: Log, batch: readonly Waiting[]): Promise<readonly Outcome[] | undefined> {
    await log.prepared(Math.min(...batch.map(({ deadline }) => deadline)));
    this.#options.snapshot('known')?.end();
    log.syncs('in background');
    const outcomes = this.#options.local.commit(batch, () => {});
    if (!outcomes?.some(isResult)) return outcomes;
    const begun = performance.now();
    try {
      await log.synced();
    } catch (error) {
      // What has not happened is not in doubt either.
      return outcomes.map((outcome) => (isResult(outcome) ? { error } : outcome));
    }
    this.#pace.committed(performance.now() - begun);
    return outcomes;
  }

  /** Undefined where nobody can tell how long the log is. */
  #logInBackground(): Log | undefined {
    const { database, writer, sync } = this.#options;
    const snapshot = this.#options.snapshot('first');
    if (snapshot && writer)
      this.#log ??= new Log({ database, snapshot, checkpoint: () => writer.checkpoint(), sync });
    return this.#log;
  }
}
