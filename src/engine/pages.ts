/** A list of any length, page by page, on a snapshot that stays while its reader takes its time. */

import type { Place } from '../query/order.ts';
import type { Snapshot } from '../storage/storage.ts';
import type { List } from './operation.ts';
import { Budget, list, type Node } from './read.ts';

/** Few enough to hold in memory, many enough to make statements rare. */
const PAGE = 1000;

export async function* pagesOf(operation: List, snapshot: Snapshot): AsyncGenerator<Node[]> {
  const { order, limit } = operation.list;
  let { after } = operation.list;
  let left = limit ?? Number.POSITIVE_INFINITY;
  while (left > 0) {
    const page = { ...operation.list, after, limit: Math.min(PAGE, left) };
    // The reader takes one page at a time, so an answer of any length is never in memory at once.
    const budget = new Budget(Number.MAX_SAFE_INTEGER);
    const { nodes, more } = await snapshot.run(() =>
      list({ ...operation, list: page, places: true }, budget),
    );
    yield nodes;
    const last = nodes.at(-1);
    if (!more || !last) return;
    after = order.map(({ column }) => last[column.name]) as Place;
    left -= nodes.length;
  }
}
