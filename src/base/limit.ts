/** A time limit for what others answer, which a process that stood still itself does not hold against them. */

/**
 * Calls when the time is over and what has arrived by then was read. Timers that are due come before the network, and
 * so does the first immediate behind them.
 */
export function whenOver(ms: number, call: () => void): Timer {
  return setTimeout(() => setImmediate(() => setImmediate(call)), Math.max(0, ms));
}
