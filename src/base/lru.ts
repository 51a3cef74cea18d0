/** A cache of bounded size that forgets what was used longest ago. */

/**
 * Two generations: what is used stays in the young one or comes back to it, and when that is full, the old one is
 * forgotten. So a hit is mostly one look into a Map; to move an entry to the end of one costs seven times as much. It holds
 * at most `most` entries, and at least the half of them that was used last; or as many as weigh that much.
 */
export class Lru<K, V extends {}> {
  readonly #half: number;
  readonly #forget: ((value: V) => void) | undefined;
  /** How often what was looked for was not there. */
  misses = 0;
  readonly #weigh: ((value: V, key: K) => number) | undefined;
  #young = new Map<K, V>();
  /** Of the young ones. */
  #weight = 0;
  #old = new Map<K, V>();

  /** `forget` is told of each value that is dropped; without `weigh` each weighs one. */
  constructor(most: number, forget?: (value: V) => void, weigh?: (value: V, key: K) => number) {
    this.#half = most / 2;
    this.#forget = forget;
    this.#weigh = weigh;
  }

  get size(): number {
    return this.#young.size + this.#old.size;
  }

  get(key: K): V | undefined {
    return this.#young.get(key) ?? this.#revived(key);
  }

  set(key: K, value: V): void {
    if (!this.#young.has(key)) {
      const weight = this.#weigh?.(value, key) ?? 1;
      if (this.#weight + weight > this.#half) this.#age();
      this.#weight += weight;
    }
    this.#young.set(key, value);
  }

  clear(): void {
    this.#age();
    this.#age();
  }

  #revived(key: K): V | undefined {
    const value = this.#old.get(key);
    if (value === undefined) {
      this.misses++;
      return undefined;
    }
    this.#old.delete(key);
    this.set(key, value);
    return value;
  }

  #age(): void {
    if (this.#forget) for (const value of this.#old.values()) this.#forget(value);
    this.#old = this.#young;
    this.#young = new Map();
    this.#weight = 0;
  }
}
