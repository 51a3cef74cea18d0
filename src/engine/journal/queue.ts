/** Those who wait for their turn, by whom they belong to: each owner has one turn, however many of its own wait. */

interface Owned {
  readonly owner: unknown;
}

export class Queue<T extends Owned> {
  readonly #waiting = new Map<unknown, Set<T>>();

  get isEmpty(): boolean {
    return this.#waiting.size === 0;
  }

  add(item: T): void {
    const own = this.#waiting.get(item.owner) ?? new Set();
    this.#waiting.set(item.owner, own.add(item));
  }

  delete(item: T): void {
    const own = this.#waiting.get(item.owner);
    if (own?.delete(item) && own.size === 0) this.#waiting.delete(item.owner);
  }

  next(): T | undefined {
    for (const [owner, own] of this.#waiting)
      for (const item of own) {
        own.delete(item);
        // Behind the others, if there is more.
        this.#waiting.delete(owner);
        if (own.size > 0) this.#waiting.set(owner, own);
        return item;
      }
    return undefined;
  }
}
