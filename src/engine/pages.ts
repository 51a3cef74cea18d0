/** A list of any length, page by page, on a snapshot that stays while its reader takes its time. */

import type { ListQuery } from '../query/list.ts';
import { placeIn } from '../query/order.ts';
import type { Snapshot } from '../storage/storage.ts';
import { Budget, UNLIMITED } from './budget.ts';
import type { List } from './operation.ts';
import { hasAbridged, placed } from './places.ts';
import type { Permitted } from './policy/permitted.ts';
import { list, type Node } from './read.ts';

/** Few enough to hold in memory, many enough to make statements rare. */
const PAGE = 1000;

export async function* pagesOf(asked: Permitted<List>, snapshot: Snapshot): AsyncGenerator<Node[]> {
  const operation = hasAbridged(asked) ? await snapshot.run(() => placed(asked)) : asked;
  const { order, limit, backwards } = operation.list;
  // What lies before a cursor is found from its end: where it begins must be known before it can be read forwards.
  let { after } = backwards ? await beginning(operation, snapshot) : operation.list;
  let left = limit ?? Number.POSITIVE_INFINITY;
  while (left > 0) {
    const page = { ...operation.list, after, limit: Math.min(PAGE, left), backwards: false };
    // The reader takes one page at a time, so an answer of any length is never in memory at once.
    const budget = new Budget(UNLIMITED);
    const { nodes, more } = await snapshot.run(() =>
      list({ ...operation, list: page, places: true }, budget),
    );
    if (nodes.length > 0) yield nodes;
    const last = nodes.at(-1);
    if (!more || !last) return;
    after = placeIn(order, last);
    left -= nodes.length;
  }
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
