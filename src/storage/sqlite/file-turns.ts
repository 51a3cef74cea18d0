/** Whose turn it is to write to a file that other processes write to as well: when this one gives way, waits, and loses patience. */

import type { OtherWriters } from './other-writers.ts';

/** How often those that wait for another process ask whether it is done. */
const POLL_MS = 1;
/** The same of those that take long: when the file is free, what is short and waits in other processes has come first by then. */
const LONG_POLL_MS = 10;
/** A process takes a moment to begin, and what it finds being written a little longer. */
const HELD_BACK_MS = 100;
/** What others were about for longer than that took long. */
const LONG_BUSY_MS = 25;
/** Beyond the hold that another node allows its writes: it takes a moment to end one. */
const GRACE_MS = 500;

export class FileTurns {
  /** Undefined where nobody tells the processes of each other. */
  readonly #others: OtherWriters | undefined;
  /** How long a write waits for another process that writes. */
  readonly patienceMs: number;
  /** Whose turn it is of what takes long, since when no other that does is in the way, and whether others were there before. */
  #due: object | undefined;
  #dueSince = 0;
  #ahead: (() => boolean) | undefined;
  /** Since when others have been in the way, and whether one of them was about what takes long. */
  #busySince: number | undefined;
  #sawLong = false;
  /** Since when nothing short is begun, as it is the turn of what takes long in another process. */
  #heldBackSince: number | undefined;
  /** Since when nobody was in the way of whom it is known that it will end by itself. */
  #strangeSince: number | undefined;
  /** Gives up the place of what is short, and waits for what takes long here or is left behind by what came before it. */
  #place: (() => void) | undefined;
  /** Nobody counts on it any more that this one waits for its turn. */
  #withdraw = nothing;

  constructor(holdMs: number, others: OtherWriters | undefined) {
    this.#others = others;
    this.patienceMs = holdMs + GRACE_MS;
  }

  get othersWait(): boolean {
    return this.#others?.areWaiting === true;
  }

  /** What another process has written meanwhile took long itself: where they tell each other, that is known. */
  wasBusy(now: number): boolean {
    if (this.#others) return this.#sawLong;
    return this.#busySince !== undefined && now - this.#busySince > LONG_BUSY_MS;
  }

  /** Whoever looks most often whether the file is free would always find it so: those who have just written, and never what takes long. */
  holdsBack(now: number): boolean {
    if (!this.#others?.areDue) {
      this.#heldBackSince = undefined;
      return false;
    }
    this.#heldBackSince ??= now;
    // It may be stopped; and once it is about it, the file is taken anyway.
    return now - this.#heldBackSince < HELD_BACK_MS;
  }

  /** To what is short in other processes: each of these might have one that takes `long`, and all of them would come first. */
  givesWay(long: object | undefined, now: number): boolean {
    if (this.#due !== long) {
      this.#due = long;
      this.#dueSince = now;
      this.#ahead = this.#others?.ahead();
    }
    // What waits for another that takes long comes before the next one.
    if (this.#others?.areHolding) this.#due = undefined;
    // Where there is always something short, what takes long is not to wait for ever.
    return this.#ahead?.() === true && now - this.#dueSince < this.patienceMs;
  }

  /** Tells others whether it is the turn of what takes long here. */
  due(isDue: boolean): void {
    this.#others?.due(isDue);
  }

  /** Tells others whether what is written here now takes long. */
  holds(isHeld: boolean): void {
    this.#others?.holds(isHeld);
  }

  /** Another process was found writing: since when nobody has been of whom it is known that it will end by itself. */
  othersWrite(now: number): number {
    this.#busySince ??= now;
    const areHolding = this.#others?.areHolding === true;
    if (areHolding) {
      this.#sawLong = true;
      // What waits for that comes before the next one.
      this.#due = undefined;
    }
    // Other workers end what they hold the file for, and then it is the turn of those that wait here.
    if (this.#strangeSince === undefined || areHolding) this.#strangeSince = now;
    return this.#strangeSince;
  }

  /** Nobody was in the way. */
  isFree(): void {
    this.#busySince = undefined;
    this.#sawLong = false;
    this.#strangeSince = undefined;
  }

  /** What takes long here has had its turn. */
  hadLong(): void {
    this.#due = undefined;
  }

  /** Something has been written; `isRound`: and with it all that was short and waited. */
  wrote(isRound: boolean): void {
    this.#others?.done(isRound);
  }

  /**
   * Whoever writes may end without a word, or not be among those who tell. Where it tries in vain, it goes on waiting: what takes
   * long in another process and begins in between would not know of it.
   */
  await(isShort: boolean, again: (wasBusy: boolean) => void): void {
    const go = (isTold: boolean) => {
      clearTimeout(timer);
      const wasBusy = this.wasBusy(performance.now());
      // Whoever comes before this one now has not been in the way until now.
      if (isTold) this.isFree();
      again(wasBusy);
    };
    const timer = setTimeout(go, isShort ? POLL_MS : LONG_POLL_MS, false);
    const withdraw = this.#others?.wait(() => go(true), isShort);
    const earlier = this.#withdraw;
    this.#withdraw = () => {
      clearTimeout(timer);
      withdraw?.();
    };
    // Each would ask again, and those once more; but not before, or nobody would know for a moment that this one waits.
    earlier();
  }

  stopWaiting(): void {
    this.#withdraw();
    this.#withdraw = nothing;
  }

  /** By the time this one hears that its long one has ended, that of another process might have begun. */
  takePlace(): void {
    // A function of its own: what waits is told apart by them.
    this.#place ??= this.#others?.wait(() => {}, true);
  }

  leavePlace(): void {
    this.#place?.();
    this.#place = undefined;
  }
}

function nothing(): void {}
