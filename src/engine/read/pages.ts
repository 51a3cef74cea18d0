/** A list of any length, page by page, on a snapshot that stays while its reader takes its time. */

import type { ListQuery } from '../../query/list.ts';
import { placeIn } from '../../query/order.ts';
import type { Snapshot } from '../../storage/storage.ts';
import { Budget, UNLIMITED } from '../budget.ts';
import type { List } from '../operation.ts';
import type { Permitted } from '../policy/permitted.ts';
import { hasAbridged, placed } from './places.ts';
import { list, type Node } from './read.ts';

/** Many enough to make statements rare, and few enough to hold in memory, should each be as large as a body may be; */
const PAGE = 250;
/** of large ones fewer: how large they are, the first few tell. */
const FIRST_PAGE = 32;
const PAGE_BYTES = 4 * 1024 * 1024;

export async function* pagesOf(asked: Permitted<List>, snapshot: Snapshot): AsyncGenerator<Node[]> {
  const operation = hasAbridged(asked) ? await snapshot.run(() => placed(asked)) : asked;
  const { order, limit, backwards } = operation.list;
  // What lies before a cursor is found from its end: where it begins must be known before it can be read forwards.
  let { after } = backwards ? await beginning(operation, snapshot) : operation.list;
  let left = limit ?? Number.POSITIVE_INFINITY;
  let size = FIRST_PAGE;
  while (left > 0) {
    const page = { ...operation.list, after, limit: Math.min(size, left), backwards: false };
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
    const fitting = Math.floor((PAGE_BYTES * nodes.length) / budget.bytes);
    size = Math.max(1, Math.min(PAGE, fitting));
    // A reader that is quick would have this process to itself.
    await new Promise<void>((resolve) => setImmediate(resolve));
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
