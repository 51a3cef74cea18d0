/** Changes as their caller sees them: by the rules, over the records as they were. */

import { type Filter, isEverything } from '../../query/filter.ts';
import type { Resource } from '../../schema/model.ts';
import type { Row } from '../../storage/statements.ts';
import type { Program } from '../../storage/storage.ts';
import type { Permitted } from '../policy/permitted.ts';
import type { ChangeRights, ChangesRead } from './changes-operation.ts';
import { recordOf } from './images.ts';
import type { Positions } from './positions.ts';
import { allRights, type Judged, judge } from './rights.ts';

/** A change as its caller sees it; what it may not see of it is undefined. */
export interface Change extends Row {
  readonly position: string;
  readonly at: string;
  readonly kind: 'CREATED' | 'UPDATED' | 'DELETED';
  readonly resource: string;
  readonly key: string | number;
  readonly version: number;
  readonly caller: string | null | undefined;
  readonly requestId: string | null | undefined;
  readonly transaction: string;
  readonly before: Row | null | undefined;
  readonly after: Row | null;
}

export function isOpen({ seen, past }: ChangeRights): boolean {
  return isEverything(seen) && isEverything(past);
}

/** Those of the rows that the caller sees, as it does. */
export function* shownOf(
  positions: Positions,
  rows: readonly Row[],
  byTable: ReadonlyMap<string, Resource>,
  operation: Permitted<ChangesRead>,
  past: number,
): Program<Change[]> {
  const shown = new Map<Row, Change>();
  for (const [table, resource] of byTable) {
    const own = rows.filter((row) => row['table'] === table);
    if (own.length === 0) continue;
    const records = own.flatMap((row) => recordsOf(resource, row));
    const rights = operation.rights?.get(resource) ?? allRights;
    const judged = yield* judge(resource, records, rights, wanted(operation, rights));
    const isPlain = isOpen(rights) && isEverything(operation.where);
    let next = 0;
    for (const row of own) {
      const before = typeof row['before'] === 'string' ? judged[next++] : undefined;
      const after = typeof row['after'] === 'string' ? judged[next++] : undefined;
      const at = Number(row[positions.column.name]);
      const position = () => positions.textOf({ at, past });
      const change = isPlain
        ? plainOf(position, resource, row, before, after)
        : changeOf(position, resource, row, before, after, at <= past);
      if (change) shown.set(row, change);
    }
  }
  return rows.flatMap((row) => shown.get(row) ?? []);
}

const read = new WeakMap<Row, readonly Row[]>();

/** What the record was before and after, as far as there is that. Read once for all who are shown a row. */
function recordsOf(resource: Resource, row: Row): readonly Row[] {
  let records = read.get(row);
  if (!records) {
    records = [row['before'], row['after']].flatMap((image): Row[] => {
      const record = recordOf(resource, image);
      return record ? [record] : [];
    });
    read.set(row, records);
  }
  return records;
}

/** The policy has put into a filter what the caller sees. */
function wanted({ where }: ChangesRead, { seen }: ChangeRights): Filter {
  return isEverything(where) ? seen : where;
}

/**
 * For who sees every change; nobody else sees that there was something of which nothing is left. What was not read, because
 * nobody asked for it, is null too.
 */
function plainOf(
  position: () => string,
  resource: Resource,
  row: Row,
  before: Judged | undefined,
  after: Judged | undefined,
): Change {
  const key = String(row['key']);
  return {
    position: position(),
    at: String(row['at']),
    kind: row['kind'] as Change['kind'],
    resource: resource.name,
    key: resource.key.origin.by === 'serial' ? Number(key) : key,
    version: Number(row['version']),
    caller: row['caller'] as string | null,
    requestId: row['requestId'] as string | null,
    transaction: String(row['transaction']),
    before: before?.record ?? null,
    after: after?.record ?? null,
  };
}

/** Undefined where the caller sees nothing of it. A record that leaves its sight is deleted for it, and one that enters it new. */
function changeOf(
  position: () => string,
  resource: Resource,
  row: Row,
  before: Judged | undefined,
  after: Judged | undefined,
  isPast: boolean,
): Change | undefined {
  const [was, is] = [before?.isSeen ? before : undefined, after?.isSeen ? after : undefined];
  const shown = is ?? was;
  if (!shown || !(was?.isWanted || is?.isWanted) || (isPast && !shown.isPast)) return undefined;
  const tells = shown.isPast;
  return {
    position: position(),
    at: String(row['at']),
    kind: was && is ? 'UPDATED' : is ? 'CREATED' : 'DELETED',
    resource: resource.name,
    key: shown.record[resource.key.name] as string | number,
    // Of what has left sight, the last that was seen, as of what is gone: nobody is told whether it is there.
    version: Number(row['version']) - (is || !after ? 0 : 1),
    caller: tells ? (row['caller'] as string | null) : undefined,
    requestId: tells ? (row['requestId'] as string | null) : undefined,
    transaction: String(row['transaction']),
    before: was ? (was.isPast ? was.record : undefined) : tells ? null : undefined,
    after: is ? is.record : null,
  };
}
