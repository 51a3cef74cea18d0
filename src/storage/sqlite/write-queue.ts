/** Writes that arrive together, waiting to be committed together. */

import { afterBatch } from '../../base/batch.ts';
import type { DuetError } from '../../base/errors.ts';
import type { Soon } from '../../base/soon.ts';
import { deadlineExceeded, unavailable } from '../faults.ts';
import type { Deadline, Program, WriteSteps } from '../storage.ts';
import { FileTurns } from './file-turns.ts';
import type { OtherWriters } from './other-writers.ts';

/** More than can be served within any patience; whoever comes then is told at once. */
const MOST_WAITING = 10_000;
/** Few enough that reads do not wait long behind them. */
const MOST_TOGETHER = 200;
/** For how long what is short comes before what is slow: of many that turn out to be so, each has to be tried by then. */
const SHORT_FIRST_MS = 200;
/** How late those that wait for a long write hear of their own deadline. */
const EXPIRY_MS = 25;

export interface Waiting {
  readonly program: () => Program<unknown>;
  readonly steps: WriteSteps;
  readonly deadline: Deadline;
  /** Whether it has turned out to take a while, so that what is shorter comes first. */
  readonly isSlow?: boolean;
}

/**
 * What became of one write: its result, why it failed, that it has to be run again because the transaction that it was
 * in was given up, that it is slow, or that it takes so long that it has to be alone.
 */
export type Outcome = { readonly result: unknown } | { readonly error: unknown } | 'again' | 'slow' | 'alone';

export function isResult(outcome: Outcome): boolean {
  return typeof outcome === 'object' && 'result' in outcome;
}

interface Entry extends Waiting {
  isSlow: boolean;
  readonly since: number;
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Runs and commits all of them, or none: then it fails; or it is undefined, because another process is writing.
 * `isWanted` tells whether others wait for it.
 */
export type Commit = (
  batch: readonly Waiting[],
  isAlone: boolean,
  isWanted: () => boolean,
) => Soon<readonly Outcome[] | undefined>;

export class WriteQueue {
  readonly #commit: Commit;
  readonly #turns: FileTurns;
  #entries: Entry[] = [];
  /** Those that take long, and so go one by one. */
  #long: Entry[] = [];
  #isUnderWay = false;
  #wasLong = false;
  /** Since when there was no time for any that is slow, behind all that are not. */
  #slowSince = 0;
  /** How many of those that wait are to be settled before it is the turn of what takes long. */
  #left = 0;
  /** When it was looked last whether somebody has waited for too long. */
  #lookedAt = 0;

  constructor(commit: Commit, holdMs: number, others?: OtherWriters) {
    this.#commit = commit;
    this.#turns = new FileTurns(holdMs, others);
  }

  add<T>(program: () => Program<T>, steps: WriteSteps, deadline: Deadline): Promise<T> {
    return new Promise((resolve, reject) => {
      if (this.#entries.length + this.#long.length >= MOST_WAITING)
        return reject(unavailable('Too many writes are queued; retry in 1 s.'));
      const since = performance.now();
      this.#entries.push({
        program,
        steps,
        deadline,
        isSlow: false,
        since,
        resolve: resolve as Entry['resolve'],
        reject,
      });
      if (this.#isUnderWay && this.#wasLong) this.#turns.takePlace();
      // After all requests that have arrived by now: those are the ones that go together.
      if (this.#entries.length === 1 && !this.#isUnderWay) afterBatch(() => this.#flush());
    });
  }

  /** How many wait, and how many of those because they take long. */
  get lengths(): { readonly short: number; readonly long: number } {
    return { short: this.#entries.length, long: this.#long.length };
  }

  /** Nobody is told of success before the commit. */
  #flush(): void {
    if (this.#isUnderWay) return;
    const now = performance.now();
    const isTheirTurn = this.#turnOfLong(now);
    const isAlone = isTheirTurn && !this.#turns.givesWay(this.#long[0], now);
    this.#turns.due(isAlone);
    if (!isAlone && (this.#entries.length === 0 ? isTheirTurn : this.#turns.holdsBack(now))) {
      if (now - this.#lookedAt >= EXPIRY_MS) this.#expire();
      this.#awaitTurn();
      return;
    }
    const batch = isAlone ? this.#long.splice(0, 1) : this.#together();
    this.#wasLong = isAlone;
    if (isAlone && this.#entries.length > 0) this.#turns.takePlace();
    // What has waited for too long is not begun: nobody may be told of a failure that then succeeds.
    const due = batch.filter((entry) => !expired(entry, now));
    try {
      const outcomes = due.length > 0 ? this.#commit(due, isAlone, this.#isWanted) : [];
      if (outcomes instanceof Promise) this.#await(due, isAlone, outcomes);
      else this.#settle(due, isAlone, outcomes);
    } catch (error) {
      this.#turns.due(false);
      this.#failed(due, error);
    }
  }

  /** What is slow comes behind all others, but for the next of them where there was no time for any in a while. */
  #together(): Entry[] {
    if (this.#entries.some(isSlow)) {
      const { short = [], slow = [] } = Object.groupBy(this.#entries, (each) =>
        each.isSlow ? 'slow' : 'short',
      );
      const isTheirTurn = performance.now() - this.#slowSince > SHORT_FIRST_MS;
      const first = isTheirTurn ? slow.splice(0, 1) : [];
      this.#entries = [...first, ...short, ...slow];
    }
    return this.#entries.splice(0, MOST_TOGETHER);
  }

  readonly #isWanted = () => this.#entries.length + this.#long.length > 0 || this.#turns.othersWait;

  /**
   * One that takes long and all that wait by then of the others take turns: several that turn out to take long, one in each
   * batch, would otherwise all be carried out before what is short and came with them.
   */
  #turnOfLong(now: number): boolean {
    while (this.#long[0] && expired(this.#long[0], now)) this.#long.shift();
    this.#left = Math.min(this.#left, this.#entries.length);
    if (this.#long.length === 0 || this.#entries.length === 0) return this.#long.length > 0;
    return !this.#wasLong && this.#left === 0 && !this.#turns.wasBusy(now);
  }

  #await(batch: readonly Entry[], isAlone: boolean, outcomes: Promise<readonly Outcome[] | undefined>): void {
    this.#isUnderWay = true;
    let isTold = false;
    const watch = setInterval(() => {
      // Not of what finds the file taken: it would be waited for in the place of whoever has it.
      if (isAlone && !isTold) this.#turns.holds(true);
      isTold = isAlone;
      this.#expire();
    }, EXPIRY_MS);
    const ended = () => {
      clearInterval(watch);
      this.#isUnderWay = false;
      this.#turns.due(false);
      if (isTold) this.#turns.holds(false);
    };
    outcomes.then(
      (settled) => {
        ended();
        this.#settle(batch, isAlone, settled);
      },
      (error) => {
        ended();
        this.#failed(batch, error);
      },
    );
  }

  #expire(): void {
    const now = performance.now();
    this.#lookedAt = now;
    this.#entries = this.#entries.filter((entry) => !expired(entry, now));
    this.#long = this.#long.filter((entry) => !expired(entry, now));
  }

  #settle(batch: readonly Entry[], isAlone: boolean, outcomes: readonly Outcome[] | undefined): void {
    if (!outcomes) {
      this.#othersWrite(batch, isAlone);
      return;
    }
    this.#turns.isFree();
    if (isAlone) this.#turns.hadLong();
    else if (!this.#hasPassedSlow(batch, outcomes)) this.#slowSince = performance.now();
    const again: Entry[] = [];
    const slow: Entry[] = [];
    batch.forEach((entry, index) => {
      const outcome = outcomes[index] ?? 'again';
      if (outcome === 'again') again.push(entry);
      else if (outcome === 'slow') slow.push(entry);
      else if (outcome === 'alone') this.#long.push(entry);
      else if ('error' in outcome) entry.reject(outcome.error);
      else entry.resolve(outcome.result);
    });
    (isAlone ? this.#long : this.#entries).unshift(...again);
    // Behind those that were found so before.
    for (const entry of slow) entry.isSlow = true;
    this.#entries.push(...slow);
    const rest = again.length + slow.length;
    const left = this.#left === 0 ? rest : Math.max(0, this.#left - batch.length + rest);
    this.#left = isAlone ? this.#entries.length : Math.min(left, this.#entries.length);
    // Those that are left have had their turn, but for what came before them: nothing long begins elsewhere until they have written.
    if (this.#left > 0) this.#turns.takePlace();
    else this.#turns.leavePlace();
    this.#turns.stopWaiting();
    if (batch.length > 0) this.#turns.wrote(this.#left === 0);
    this.#goOn();
  }

  /** Whether some that are slow waited, and there was no time for any. */
  #hasPassedSlow(batch: readonly Entry[], outcomes: readonly Outcome[]): boolean {
    const isTried = batch.some((entry, index) => entry.isSlow && (outcomes[index] ?? 'again') !== 'again');
    return !isTried && (batch.some(isSlow) || this.#entries.some(isSlow));
  }

  /** To wait inside SQLite would stop the whole process. */
  #othersWrite(batch: readonly Entry[], isAlone: boolean): void {
    const now = performance.now();
    const since = this.#turns.othersWrite(now);
    const left = batch.filter((entry) => !this.#lostPatience(entry, since, now));
    (isAlone ? this.#long : this.#entries).unshift(...left);
    // It has not had its turn: whoever asks again must not be the other each time, or chance decides who finds the file free.
    this.#wasLong = !isAlone;
    if (now - this.#lookedAt >= EXPIRY_MS) this.#expire();
    this.#awaitTurn();
  }

  #lostPatience(entry: Entry, since: number, now: number): boolean {
    const { patienceMs } = this.#turns;
    if (now - Math.max(entry.since, since) < patienceMs) return false;
    entry.reject(tooLongBusy(patienceMs));
    return true;
  }

  #awaitTurn(): void {
    this.#turns.await(this.#entries.length > 0, (wasBusy) => {
      if (wasBusy) this.#left = this.#entries.length;
      this.#flush();
    });
  }

  #failed(batch: readonly Entry[], error: unknown): void {
    this.#turns.isFree();
    this.#turns.stopWaiting();
    for (const { reject } of batch) reject(error);
    if (this.#entries.length === 0) this.#turns.leavePlace();
    this.#goOn();
  }

  #goOn(): void {
    if (this.#entries.length + this.#long.length > 0) setImmediate(() => this.#flush());
  }
}

function isSlow(entry: Entry): boolean {
  return entry.isSlow;
}

/** Tells a write that has waited for too long. */
function expired({ deadline, reject }: Entry, now: number): boolean {
  if (deadline >= now) return false;
  reject(deadlineExceeded());
  return true;
}

/** The cause is for the operator, whose other process it may be. */
function tooLongBusy(patienceMs: number): DuetError {
  const cause = new Error(`another process has been writing for ${patienceMs} ms`);
  return unavailable('The database is busy; retry in 1 s.', cause);
}
