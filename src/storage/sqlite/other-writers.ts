/** What a queue of writes tells the other processes that write to the same file, and hears of them. */

/** Where there is somebody who tells them of each other. */
export interface OtherWriters {
  /** Calls back when it may be this one's turn; what it returns makes it nobody's. */
  wait(again: () => void, isShort: boolean): () => void;
  /** Told when this process has let go of the file; `isRound`: all that was short and waited for it here has been written. */
  done(isRound: boolean): void;
  /** Told when this process begins what takes long, and when that has ended. */
  holds(isHeld: boolean): void;
  /** Whether one of them waits, as far as they tell. */
  readonly areWaiting: boolean;
  /** Of those that wait with what is short now: whether one still does, for the first time. */
  ahead(): () => boolean;
  /** Whether one of them is about what takes long. */
  readonly areHolding: boolean;
  /** Told when it is the turn of what takes long here, which has given way to all others, and when it no longer is. */
  due(isDue: boolean): void;
  /** Whether it is that in one of them. */
  readonly areDue: boolean;
}
