/** What long writes leave for FTS5 to merge is merged behind them, a little at a time: within them it would take seconds. */

import type { Resource } from '../../schema/model.ts';
import type { Row } from '../statements.ts';
import { CHECKPOINT, control } from './asking.ts';
import { ProcessFault, type StatementProcess } from './process.ts';
import { ANY_SEGMENTS, mergingOf } from './words.ts';

/** A search looks into each of them. */
const MOST_SEGMENTS = 64;
/** Each short write leaves one more meanwhile: half of those from which on FTS5 merges all of them in whichever write that is. */
const MANY_SEGMENTS = ANY_SEGMENTS / 2;
/** For others to write in, unless the last portion took longer: then as long. */
const PAUSE_MS = 10;
const FAILED_MS = 1_000;

const BEGIN = 'BEGIN IMMEDIATE';
const COMMIT = 'COMMIT';

export interface MergingOptions {
  /** With the process that writes. */
  readonly using: <T>(work: (process: StatementProcess) => Promise<T>) => Promise<T>;
  /** Whether a transaction is open in it. */
  readonly isWriting: () => boolean;
  readonly isLogLong: () => boolean;
}

export class Merging {
  readonly #options: MergingOptions;
  /** How many segments there are, while there may be some to merge; then none. */
  readonly #left = new Map<Resource, number>();
  #isUnderWay = false;
  #isClosed = false;
  /** Until then a transaction is open in the process, which nobody else may begin in. */
  #portion: Promise<unknown> | undefined;

  constructor(options: MergingOptions) {
    this.#options = options;
  }

  /** Whether who would leave more of them is to merge some first. */
  isBehind(resource: Resource): boolean {
    return (this.#left.get(resource) ?? 0) > MOST_SEGMENTS;
  }

  /** Whether everybody is to. */
  get isFarBehind(): boolean {
    return this.#left.size > 0 && Math.max(...this.#left.values()) > MANY_SEGMENTS;
  }

  /** When what is under way is done, whatever comes of it. */
  async settled(): Promise<void> {
    await this.#portion?.catch(() => {});
  }

  /** A write was committed that has left so many segments. */
  leave(resource: Resource, segments: number): void {
    if (this.#isClosed) return;
    // A write that was not committed tells of none, and takes away nothing of what others have left.
    this.#left.set(resource, Math.max(1, segments, this.#left.get(resource) ?? 0));
    if (!this.#isUnderWay) this.#mergeAll();
  }

  /** Of these, or of those that have the most. False when somebody else is writing. */
  little(of?: Resource): Promise<boolean> {
    const portion = this.settled().then(() => {
      const [[most] = []] = [...this.#left].toSorted(([, one], [, other]) => other - one);
      const resource = of ?? most;
      return resource ? this.#options.using((process) => this.#merge(resource, process)) : true;
    });
    this.#portion = portion;
    return portion;
  }

  close(): void {
    this.#isClosed = true;
    this.#left.clear();
  }

  async #mergeAll(): Promise<void> {
    this.#isUnderWay = true;
    let pause = PAUSE_MS;
    while (this.#left.size > 0) {
      await Bun.sleep(pause);
      const begun = performance.now();
      try {
        if (!this.#options.isWriting()) await this.little();
        pause = Math.max(PAUSE_MS, performance.now() - begun);
      } catch {
        // The process has been ended with a write, or the disk is full: then writes fail, too. Until all is merged, nobody else merges.
        pause = FAILED_MS;
      }
    }
    this.#isUnderWay = false;
  }

  /** One group of statements, between which and the next a transaction may begin. */
  async #merge(resource: Resource, process: StatementProcess): Promise<boolean> {
    const { little, inTime } = mergingOf(resource);
    const isDone = this.#left.get(resource) === 0;
    try {
      const merging = [BEGIN, ...(isDone ? inTime : little), COMMIT].map(control);
      const behind = this.#options.isLogLong() ? [CHECKPOINT] : [];
      const rows = await process.ask([...merging, ...behind]);
      const left = isDone ? leftOf(rows.slice(1)) : leftBetween(rows.slice(1));
      if (isDone && left === 0) this.#left.delete(resource);
      else if (this.#left.has(resource)) this.#left.set(resource, left);
      return true;
    } catch (error) {
      if (!(error instanceof ProcessFault)) throw error;
      if (error.isBusy) return false;
      // A newer file keeps these words no longer.
      if (error.code !== 'SQLITE_ERROR') throw error;
      this.#left.delete(resource);
      await process.ask([control('ROLLBACK')]);
      return true;
    }
  }
}

/** What answers `little`: to merge nothing counts as one change. */
function leftBetween(rows: readonly Row[][]): number {
  const [[before] = [], , [after] = []] = rows;
  return Number(after?.['changes']) - Number(before?.['changes']) < 2 ? 0 : Number(after?.['segments']);
}

/** What answers `inTime`, which changes nothing where there was more by then: others have written meanwhile. */
function leftOf([, , off = []]: readonly Row[][]): number {
  return off.length;
}
