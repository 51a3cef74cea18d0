/** The clock that statements look at while they run, and what is thrown where they may not go on here. */

import type { Database } from 'bun:sqlite';
import type { Allowance } from './cost.ts';

/** Thrown out of a program at the statement that may take too long to let everybody else wait. */
export const UNBOUNDED = new Error('the statement is not bounded');

export const WATCH = '"_duet_watch"';

export interface Watch {
  /** A statement begins now, and is told of when it takes longer than it may. */
  readonly begin: (until: number, sql: string, allowance: Allowance) => void;
}

/** To look at the clock takes as long as to visit a row does. */
const SELDOM = 4;

/** A function of SQL that ends the statement which calls it for each row: SQLite offers no other way to interrupt one. */
export function watchOf(database: Database): Watch {
  let end = 0;
  let late = () => {};
  let visited = 0;
  database.function(WATCH.slice(1, -1), (_row) => {
    if (++visited % SELDOM === 0 && performance.now() > end) {
      late();
      throw UNBOUNDED;
    }
    return 1;
  });
  return {
    begin: (until, sql, allowance) => {
      end = until;
      visited = 0;
      late = () => allowance.wasLong(sql);
    },
  };
}
