/** What a statement is taken to cost in the serving process, and how long it may take there. */

import type { Statement } from '../statements.ts';

/** What one read may cost here, in conditions that are tested: some ten milliseconds. */
export const MOST_TESTS = 100_000;
/** How long one program may keep this process from everything else; on a busy machine a short one takes long, too. */
export const LONGEST_MS = 100;
/** So often others may go without their turn in that time, see base/turns.ts: half of it, about, is not for statements. */
export const MOST_TURNS = 10;
/** How long a statement may take here that is taken for longer, where it mostly is not. */
const DOUBTFUL_MS = 10;

export interface Cost {
  readonly tests: number;
  /** How many milliseconds it may take. */
  readonly within: number;
}

/** What visits no rows for each of others, seeks few, and reads no long texts takes as long as it is taken to. */
export function sure(tests: number): Cost {
  return { tests, within: Number.POSITIVE_INFINITY };
}

export function timed(tests: number): Cost {
  return { tests, within: LONGEST_MS };
}

export const NOTHING = sure(0);
export const LONG = sure(Number.POSITIVE_INFINITY);
/** It may be long, but is most likely short. */
export const DOUBTFUL: Cost = { tests: 0, within: DOUBTFUL_MS };

export interface Allowance {
  /**
   * Until when the statement may run here, after those before it: not at all (0), or without a look at the clock (Infinity).
   * However well it is guessed what others lead to, only the records can tell.
   */
  readonly admits: (statement: Statement, sql: string, parameters: readonly unknown[]) => number;
  /** Told of one that took longer. */
  readonly wasLong: (sql: string) => void;
  /** Told of one that answered with more rows than are read here where that is known beforehand. */
  readonly hadMany: (sql: string) => void;
  /** So often others may go without their turn; what goes on for longer goes on elsewhere. */
  readonly mostTurns: number;
}
