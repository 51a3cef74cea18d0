/** How much one answer may hold. */

import { DuetError } from '../base/errors.ts';
import { answerTooLarge } from '../storage/faults.ts';
import type { Row } from '../storage/statements.ts';
import type { Selection } from './operation.ts';
import { bytesOf, MOST_BYTES_OF_CHARACTER, timesOf } from './sizes.ts';

/** Longer answers may wait in memory until their clients have taken them. */
export const LONG_BYTES = 64 * 1024;

export interface AnswerLimits {
  readonly objects: number;
  readonly bytes: number;
  /** Fails where there is no room for a long answer now. */
  readonly admitLong?: (bytes: number) => void;
}

/** For what is never in memory as a whole. */
export const UNLIMITED: AnswerLimits = {
  objects: Number.MAX_SAFE_INTEGER,
  bytes: Number.POSITIVE_INFINITY,
};

/** How many bytes something takes: each character as one, or as it is written. */
type Measure = (isExact: boolean) => number;

/** How many objects and bytes one answer may still hold; of what would exceed it, little is loaded. */
export class Budget {
  readonly limits: AnswerLimits;
  /** What has been spent so far. */
  bytes = 0;
  objects = 0;
  /** What was counted by its characters; undefined once those are so many that it matters how they are written. */
  #quickly: Measure[] | undefined = [];

  constructor(limits: AnswerLimits) {
    this.limits = limits;
  }

  /** One that has spent as much: what a write spends counts once it has happened, and it may be tried more than once. */
  copy(): Budget {
    const copy = new Budget(this.limits);
    copy.become(this);
    return copy;
  }

  become(other: Budget): void {
    this.bytes = other.bytes;
    this.objects = other.objects;
    this.#quickly = other.#quickly && [...other.#quickly];
  }

  /** One more than fits, so that too many can be told from just enough. */
  get most(): number {
    return this.limits.objects - this.objects + 1;
  }

  /** Rows that the answer has once each, or as often as the selection asks for them. */
  spend(rows: readonly Row[], selection: Selection): void {
    this.take(rows.length * timesOf(selection), (isExact) => bytesOf(selection, rows, isExact));
  }

  take(objects: number, measure: Measure): void {
    this.objects += objects;
    if (this.objects > this.limits.objects)
      throw new DuetError(
        'TOO_MANY_OBJECTS',
        `The answer would hold more than ${this.limits.objects} objects. Ask for pages of it, or for fewer relations.`,
      );
    this.bytes += measure(this.#quickly === undefined);
    this.#quickly?.push(measure);
    if (this.#quickly && isMuch(this.limits, this.bytes)) {
      this.bytes = this.#quickly.reduce((sum, each) => sum + each(true), 0);
      this.#quickly = undefined;
    }
    admitBytes(this.limits, this.bytes);
  }
}

/** Whether so many characters, or short values at four bytes each, could take more bytes than the answer may have. */
function isMuch(limits: AnswerLimits, characters: number): boolean {
  return characters * MOST_BYTES_OF_CHARACTER > limits.bytes;
}

function admitBytes(limits: AnswerLimits, bytes: number): void {
  if (bytes > limits.bytes) throw answerTooLarge();
  if (bytes > LONG_BYTES) limits.admitLong?.(bytes);
}

/** Whether it is the budget that failed. */
export function isTooMuch(error: unknown): boolean {
  return (
    error instanceof DuetError && (error.code === 'TOO_MANY_OBJECTS' || error.code === 'ANSWER_TOO_LARGE')
  );
}
