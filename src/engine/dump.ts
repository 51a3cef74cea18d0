/** Every record of every resource, page by page, on one snapshot. */

import { above } from '../query/filter.ts';
import type { Model, Resource } from '../schema/model.ts';
import { storedColumns } from '../schema/values.ts';
import { type Program, type Row, run, select } from '../storage/storage.ts';
import { requiredFirst } from './load.ts';

/** Few enough to hold in memory, many enough to make statements rare. */
const PAGE = 1000;

/** What others require comes first, so that the records can be loaded in this order. */
export function* dump(model: Model, give: (resource: Resource, row: Row) => void): Program<void> {
  for (const resource of requiredFirst(model.resources)) {
    const { key } = resource;
    let last: unknown;
    for (;;) {
      const after = last === undefined ? undefined : above(key, last);
      const rows = yield* run(select(resource, storedColumns(resource), after, { limit: PAGE }));
      for (const row of rows) give(resource, row);
      if (rows.length < PAGE) break;
      last = rows.at(-1)?.[key.name];
    }
  }
}
