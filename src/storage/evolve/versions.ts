/** The versions of records that have been looked at: whoever has written one of them since has made another of it. */

import type { Resource } from '../../schema/model.ts';
import type { Row } from '../statements.ts';

/** Nobody can choose keys that share a hash. */
const [ONE, OTHER] = crypto.getRandomValues(new Uint32Array(2)) as unknown as [number, number];

/** Eight bytes for each record, so that a million of them are no burden. */
export class Versions {
  #seen = new Float64Array(1024);
  #count = 0;
  #isSorted = false;
  /** Those that were added after it was first asked. */
  readonly #later = new Set<number>();

  add(resource: Resource, rows: readonly Row[]): void {
    for (const row of rows) {
      const mark = markOf(resource, row);
      if (this.#isSorted) this.#later.add(mark);
      else this.#push(mark);
    }
  }

  has(resource: Resource, row: Row): boolean {
    if (!this.#isSorted) {
      this.#seen = this.#seen.subarray(0, this.#count).toSorted();
      this.#isSorted = true;
    }
    const mark = markOf(resource, row);
    let [from, to] = [0, this.#count];
    while (from < to) {
      const middle = (from + to) >>> 1;
      if ((this.#seen[middle] ?? 0) < mark) from = middle + 1;
      else to = middle;
    }
    return this.#seen[from] === mark || this.#later.has(mark);
  }

  #push(mark: number): void {
    if (this.#count === this.#seen.length) {
      const larger = new Float64Array(2 * this.#count);
      larger.set(this.#seen);
      this.#seen = larger;
    }
    this.#seen[this.#count++] = mark;
  }
}

/**
 * 53 bits: of a serial key and of its version, which come in their order then; of others, a hash of both, which two of a million
 * records and as many changes share once in ten thousand rollouts.
 */
function markOf({ key, version }: Resource, row: Row): number {
  const [id, number] = [row[key.name], Number(row[version.name])];
  if (typeof id === 'number' && id < 2 ** 33) return id * 2 ** 20 + (number % 2 ** 20);
  const text = `${id} ${number}`;
  return Bun.hash.xxHash32(text, ONE) * 2 ** 21 + (Bun.hash.xxHash32(text, OTHER) >>> 11);
}
