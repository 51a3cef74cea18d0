/** How much one answer may hold. */

import { DuetError } from '../errors.ts';

/** How many objects one answer may still hold; of what would exceed it, little is loaded. */
export class Budget {
  readonly objects: number;
  #left: number;

  constructor(objects: number) {
    this.objects = objects;
    this.#left = objects;
  }

  /** One more than fits, so that too many can be told from just enough. */
  get most(): number {
    return this.#left + 1;
  }

  spend(objects: number): void {
    this.#left -= objects;
    if (this.#left < 0)
      throw new DuetError(
        'TOO_MANY_OBJECTS',
        `The answer would hold more than ${this.objects} objects. Ask for pages of it, or for fewer relations.`,
      );
  }
}
