/** A list of any length, page by page, on a snapshot that stays while its reader takes its time. */

import type { ListQuery } from '../../query/list.ts';
import { placeIn } from '../../query/order.ts';
import type { Snapshot } from '../../storage/storage.ts';
import { type AnswerLimits, Budget, isTooMuch, UNLIMITED } from '../budget.ts';
import type { List, Listing } from '../operation.ts';
import type { Permitted } from '../policy/permitted.ts';
import { hasAbridged, placed } from './places.ts';
import { list, type Node } from './read.ts';

/** Many enough to make statements rare; */
const PAGE = 250;
/** of large ones fewer: how large they are, the first few tell. */
const FIRST_PAGE = 8;
/** What all exports hold at once is many times this: a page waits until its reader, who may be slow, takes it. */
const PAGE_BYTES = 512 * 1024;
/** What is more is read in vain, and again with fewer records: so many take some hundredths of a second. */
const PAGE_OBJECTS = 5_000;
/** How many times fewer are tried of those that were too much, and how many times more of those that were not. */
const FEWER = 4;

/**
 * `limits` are those of each record with all that it includes: there are any number of them, but one alone is in memory as a
 * whole, and is written out as often as others refer to it.
 */
export async function* pagesOf(
  asked: Permitted<List>,
  snapshot: Snapshot,
  limits: AnswerLimits,
): AsyncGenerator<Node[]> {
  const operation = hasAbridged(asked) ? await snapshot.run(() => placed(asked)) : asked;
  const { order, limit, backwards } = operation.list;
  let { offset } = operation.list;
  // What lies before a cursor is found from its end: where it begins must be known before it can be read forwards.
  let { after } = backwards ? await beginning(operation, snapshot) : operation.list;
  let left = limit ?? Number.POSITIVE_INFINITY;
  let size = Math.min(FIRST_PAGE, limits.objects);
  const { objects, passes = false } = limits;
  const fits = {
    objects: Math.min(objects, 2 * PAGE_OBJECTS),
    bytes: Math.min(limits.bytes, 2 * PAGE_BYTES),
    passes,
  };
  /** Whether the next record is more than fits a page. */
  let isLarge = false;
  while (left > 0) {
    const page = { ...operation.list, after, offset, limit: Math.min(size, left), backwards: false };
    const budget = new Budget(isLarge ? limits : fits);
    const read = await snapshot
      .run(() => list({ ...operation, list: page, places: true }, budget))
      .catch((error: unknown) => {
        // A page is no more than how records are read: only one that is too much by itself is refused.
        if (isLarge || !isTooMuch(error)) throw error;
        return undefined;
      });
    if (read) {
      const { nodes, more } = read;
      const last = nodes.at(-1);
      if (!last) return;
      isLarge = budget.bytes > fits.bytes || budget.objects > fits.objects;
      size = fitting(read, budget);
      after = placeIn(order, last);
      offset = 0;
      left -= nodes.length;
      const release = isLarge ? limits.holdLong?.(budget.bytes) : undefined;
      try {
        // The reader takes one page at a time, so an answer of any length is never in memory at once.
        yield nodes;
      } finally {
        release?.();
      }
      if (!more) return;
    } else if (page.limit === 1) isLarge = true;
    else size = Math.max(1, Math.floor(page.limit / FEWER));
    // A reader that is quick would have this process to itself.
    await new Promise<void>((resolve) => setImmediate(resolve));
  }
}

/** How many records like these make a page: half of what would be refused, as the next may be larger. */
function fitting({ nodes: { length } }: Listing, { limits, bytes, objects }: Budget): number {
  const most = Math.min(
    FEWER * length,
    (Math.min(PAGE_BYTES, limits.bytes / 2) * length) / bytes,
    (Math.min(PAGE_OBJECTS, limits.objects / 2) / objects) * length,
  );
  return Math.max(1, Math.min(PAGE, Math.floor(most)));
}

/** The last rows before a cursor, as a list that begins after the row in front of them. */
async function beginning(operation: Permitted<List>, snapshot: Snapshot): Promise<Pick<ListQuery, 'after'>> {
  const { limit = 0 } = operation.list;
  const selection = { columns: [], relations: [] };
  const budget = new Budget(UNLIMITED);
  const wider = { ...operation.list, limit: limit + 1 };
  const { nodes } = await snapshot.run(() =>
    list({ ...operation, selection, list: wider, places: true }, budget),
  );
  const [first] = nodes;
  return {
    after: nodes.length > limit && first ? placeIn(operation.list.order, first) : operation.list.after,
  };
}
