/** Every record of every resource, page by page, what is left of those that were deleted, and the API keys. */

import { wholeList } from '../../query/list.ts';
import type { Model, Resource } from '../../schema/model.ts';
import { storedColumns } from '../../schema/values.ts';
import type { Row } from '../../storage/statements.ts';
import type { Snapshot } from '../../storage/storage.ts';
import { type KeptKey, keptKeys } from '../api-keys.ts';
import { UNLIMITED } from '../budget.ts';
import { anonymous } from '../caller.ts';
import { Policy } from '../policy/policy.ts';
import { pagesOf } from '../read/pages.ts';
import { type Remains, remainsOf } from '../write/remains.ts';
import { requiredFirst } from './store.ts';

export interface Takers {
  /** A page of records; the next is read when they are taken. */
  readonly records: (resource: Resource, rows: readonly Row[]) => void | Promise<void>;
  readonly remains: (resource: Resource, remains: Remains) => void;
  readonly key: (key: KeptKey) => void;
}

/** What others require comes first, so that the records can be loaded in this order. */
export async function dump(model: Model, snapshot: Snapshot, give: Takers): Promise<void> {
  // Whoever has the database needs no rule.
  const policy = new Policy(model, false);
  for (const resource of requiredFirst(model.resources)) {
    const selection = { columns: storedColumns(resource), relations: [] };
    const list = wholeList(resource);
    const operation = { do: 'list', resource, selection, list, places: true, count: false } as const;
    const permitted = policy.permit(anonymous, operation);
    for await (const rows of pagesOf(permitted, snapshot, UNLIMITED)) await give.records(resource, rows);
    for await (const remains of remainsOf(resource, snapshot)) give.remains(resource, remains);
  }
  for (const key of await snapshot.run(keptKeys)) give.key(key);
}
