/** Numbers that are counted in the database, for the metrics. */

import type { Program, Storage } from '../../storage/storage.ts';

/** How old they may be. */
const COUNT_MS = 10_000;
const PATIENCE_MS = 30_000;

/** Nobody waits for it: what is told was counted when somebody looked last. */
export function counted<T>(storage: Storage, program: () => Program<T>, none: T): () => T {
  let known = none;
  let again = 0;
  return () => {
    const now = performance.now();
    if (now < again) return known;
    again = now + COUNT_MS;
    void (async () => {
      known = await storage.read(program, 'many', now + PATIENCE_MS);
    })().catch(
      // Whoever cannot be asked is away, which those tell of who work with it.
      () => {},
    );
    return known;
  };
}
