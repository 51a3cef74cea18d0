/** How much one answer may hold. */

import { DuetError } from '../base/errors.ts';
import { answerTooLarge, type Row } from '../storage/storage.ts';
import type { Selection } from './operation.ts';
import { bytesOf, timesOf } from './sizes.ts';

export interface AnswerLimits {
  readonly objects: number;
  readonly bytes: number;
}

/** For what is never in memory as a whole. */
export const UNLIMITED: AnswerLimits = {
  objects: Number.MAX_SAFE_INTEGER,
  bytes: Number.POSITIVE_INFINITY,
};

/** How many objects and bytes one answer may still hold; of what would exceed it, little is loaded. */
export class Budget {
  readonly limits: AnswerLimits;
  /** What has been spent so far. */
  bytes = 0;
  #objects: number;

  constructor(limits: AnswerLimits) {
    this.limits = limits;
    this.#objects = limits.objects;
  }

  /** One more than fits, so that too many can be told from just enough. */
  get most(): number {
    return this.#objects + 1;
  }

  /** Rows that the answer has once each, or as often as the selection asks for them. */
  spend(rows: readonly Row[], selection: Selection): void {
    this.take(rows.length * timesOf(selection), bytesOf(selection, rows));
  }

  take(objects: number, bytes: number): void {
    this.#objects -= objects;
    if (this.#objects < 0)
      throw new DuetError(
        'TOO_MANY_OBJECTS',
        `The answer would hold more than ${this.limits.objects} objects. Ask for pages of it, or for fewer relations.`,
      );
    this.bytes += bytes;
    if (this.bytes > this.limits.bytes) throw answerTooLarge();
  }
}
