/** Reads changes in the order of their positions, as their caller may see them. */

import { DuetError, type Fault, validationFailed } from '../../base/errors.ts';
import { all, among, equal, everything, type Filter, isEverything, isNothing } from '../../query/filter.ts';
import type { Resource } from '../../schema/model.ts';
import { changes, marks } from '../../storage/own.ts';
import { type Row, select } from '../../storage/statements.ts';
import { type Program, run } from '../../storage/storage.ts';
import type { Budget } from '../budget.ts';
import type { Operation, Selection, Wanted } from '../operation.ts';
import type { Permitted } from '../policy/permitted.ts';
import { relationKey } from '../read/read.ts';
import { mostBytes } from '../read/selects.ts';
import type { ChangeRights, ChangesRead, OwnChanges } from './asked.ts';
import { recordOf } from './images.ts';
import type { Place, Positions } from './positions.ts';
import { allRights, type Judged, judge } from './rights.ts';
import { bytesOfChanges } from './sizes.ts';

export const DEFAULT_LIMIT = 100;
export const MOST_CHANGES = 1000;
/** Where not every change is shown, so many are looked at at once. */
const PAGE = 200;
/** For one answer about so many: whoever sees few of them would keep everybody else waiting. */
export const LOOKED_AT = 2000;
/** And at so much of them at once, after which there is no more for this answer. */
const LOOKED_BYTES = 4 * 1024 * 1024;

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

export interface ChangesPage {
  readonly changes: readonly Change[];
  /** Where to go on from. */
  readonly position: string;
  /** Whether there may be more by now. */
  readonly more: boolean;
}

export function* readChanges(
  positions: Positions,
  operation: Permitted<ChangesRead>,
  budget: Budget,
): Program<ChangesPage> {
  const { resources, record, limit } = operation;
  const end = yield* positions.now();
  const begin = yield* beginning(positions, operation, end);
  const none = record && record.key === undefined;
  // Without a place to go on from, and with no right to the past, it begins now.
  if (begin === undefined || none || limit === 0)
    return { changes: [], position: positions.textOf({ at: end, past: 0 }), more: false };
  const { past } = begin;
  const byTable = new Map(resources.map((resource) => [resource.table, resource]));
  const { table, key } = changes.column;
  const where = all([
    among(table, [...byTable.keys()]),
    ...(record ? [equal(key, String(record.key))] : []),
    { is: 'lte', column: positions.column, value: end },
  ]);
  const order = [{ column: positions.column, descending: false }];
  const found: Change[] = [];
  const isWhole = isAll(operation);
  const page = isWhole ? limit + 1 : Math.max(limit + 1, PAGE);
  const most = mostBytes(budget.limits);
  const bytes = isWhole || most === undefined ? most : Math.min(most, LOOKED_BYTES);
  let { at } = begin;
  for (;;) {
    // What is hidden must not refuse an answer: a page ends where there is too much of it to be read at once.
    const rows = yield* run(
      select(changes, changes.columns, where, { order, after: [at], limit: page, bytes, cuts: true }),
    );
    const shown = yield* shownOf(positions, rows, byTable, operation, past);
    const room = limit - found.length;
    found.push(...spent(shown.slice(0, room), operation, budget));
    if (shown.length > room) return { changes: found, position: found.at(-1)?.position ?? '', more: true };
    const isCut = holdsMoreThan(bytes, rows);
    if (rows.length < page && !isCut)
      return { changes: found, position: positions.textOf({ at: end, past }), more: false };
    at = Number(rows.at(-1)?.[positions.column.name]);
    if (isWhole) continue;
    budget.looked += rows.length;
    if (isCut || budget.looked >= LOOKED_AT)
      return { changes: found, position: positions.textOf({ at, past }), more: true };
  }
}

/** Whether a page may have ended before its limit. */
function holdsMoreThan(bytes: number | undefined, rows: readonly Row[]): boolean {
  if (bytes === undefined) return false;
  let sum = 0;
  for (const row of rows)
    for (const name in row) if (typeof row[name] === 'string') sum += Buffer.byteLength(row[name]);
  return sum > bytes;
}

/** Whether every change is shown as it is. */
function isAll({ rights, where }: ChangesRead): boolean {
  if (!isEverything(where)) return false;
  return [...(rights?.values() ?? [])].every(
    ({ seen, past, hidden, guards }) =>
      isEverything(seen) && isEverything(past) && hidden.length === 0 && guards.length === 0,
  );
}

function spent(found: readonly Change[], operation: ChangesRead, budget: Budget): readonly Change[] {
  budget.take(found.length, (isExact) => bytesOfChanges(found, operation.telling, isExact));
  return found;
}

/** Adds to records what has happened to them: the first so many of each, of which the caller may not see all. */
export function* addChanges(
  positions: Positions,
  { as, resource, after, at, limit, telling, rights }: OwnChanges,
  nodes: readonly Row[],
  budget: Budget,
  often?: ReadonlyMap<Row, number>,
): Program<void> {
  const operation = {
    do: 'changes',
    resources: [resource],
    record: undefined,
    where: everything,
    after,
    at,
    limit,
    telling,
    ...(rights && { rights: new Map([[resource, rights]]) }),
  } as unknown as Permitted<ChangesRead>;
  const begin = yield* beginning(positions, operation, rights ? yield* positions.now() : 0);
  const own = new Map<string, Change[]>();
  for (const node of nodes) {
    const key = String(node[resource.key.name]);
    const found = own.get(key) ?? [];
    own.set(key, found);
    node[relationKey(as)] = found;
  }
  if (begin === undefined) return;
  const { table, key } = changes.column;
  const where = all([equal(table, resource.table), { is: 'gt', column: positions.column, value: begin.at }]);
  const rows = yield* run(
    select(changes, changes.columns, where, {
      order: [{ column: positions.column, descending: false }],
      per: { column: key, values: [...own.keys()] },
      limit,
      bytes: mostBytes(budget.limits),
    }),
  );
  const shown = yield* shownOf(positions, rows, new Map([[resource.table, resource]]), operation, begin.past);
  for (const change of shown) own.get(String(change.key))?.push(change);
  const sum = (of: (found: readonly Change[]) => number) => {
    let all = 0;
    for (const node of nodes)
      all += (often?.get(node) ?? 1) * of(own.get(String(node[resource.key.name])) ?? []);
    return all;
  };
  budget.take(
    sum(({ length }) => length),
    (isExact) => sum((found) => bytesOfChanges(found, telling, isExact)),
  );
}

/** Where to begin; undefined: now. Where there are no rules, there is no past to keep apart. */
function* beginning(
  positions: Positions,
  { after, at, resources, rights }: Permitted<ChangesRead>,
  now: number,
): Program<Place | undefined> {
  if (after === undefined) {
    const mayReadPast = !rights || [...rights.values()].some(({ past }) => !isNothing(past));
    return mayReadPast ? { at: 0, past: rights ? now : 0 } : undefined;
  }
  const place = positions.placeOf(after);
  if (place === undefined) throw validationFailed([{ ...at, ...UNKNOWN }]);
  const tables = resources.map(({ table }) => table);
  const dropped = yield* run(
    select(
      marks,
      [marks.key],
      all([among(marks.key, tables), { is: 'gt', column: marks.column.position, value: place.at }]),
    ),
  );
  if (dropped.length > 0) throw new DuetError('POSITION_EXPIRED', EXPIRED);
  return place;
}

const UNKNOWN: Fault = {
  code: 'CURSOR',
  detail: 'after is no position of this feed; take it from a change, or from an answer',
};
const EXPIRED =
  'Changes since this position are no longer kept. Read the records again, and go on from the position of now.';

/** Those of the rows that the caller sees, as it does. */
function* shownOf(
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
    const records = own.flatMap((row) =>
      [row['before'], row['after']].flatMap((image): Row[] => {
        const record = recordOf(resource, image);
        return record ? [record] : [];
      }),
    );
    const rights = operation.rights?.get(resource) ?? allRights;
    const judged = isAll(operation)
      ? records.map((record) => ({ record, isSeen: true, isPast: true, isWanted: true }))
      : yield* judge(resource, records, rights, wanted(operation, rights));
    let next = 0;
    for (const row of own) {
      const before = row['before'] === null ? undefined : judged[next++];
      const after = row['after'] === null ? undefined : judged[next++];
      const isErased = row['before'] === null && row['after'] === null;
      const at = Number(row[positions.column.name]);
      const position = () => positions.textOf({ at, past });
      const change = isErased
        ? erased(position, resource, row, operation)
        : changeOf(position, resource, row, before, after, at <= past);
      if (change) shown.set(row, change);
    }
  }
  return rows.flatMap((row) => shown.get(row) ?? []);
}

/** The policy has put into a filter what the caller sees. */
function wanted({ where }: ChangesRead, { seen }: ChangeRights): Filter {
  return isEverything(where) ? seen : where;
}

/** Nothing is left that a rule or a filter could be held against: only who sees everything sees that there was something. */
function erased(
  position: () => string,
  resource: Resource,
  row: Row,
  { rights, where }: ChangesRead,
): Change | undefined {
  const { seen, past } = rights?.get(resource) ?? allRights;
  if (!isEverything(seen) || !isEverything(past) || !isEverything(where)) return undefined;
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
    before: null,
    after: null,
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
    version: Number(row['version']),
    caller: tells ? (row['caller'] as string | null) : undefined,
    requestId: tells ? (row['requestId'] as string | null) : undefined,
    transaction: String(row['transaction']),
    before: was ? (was.isPast ? was.record : undefined) : tells ? null : undefined,
    after: is ? is.record : null,
  };
}

/** Whether it asks for what has happened to records, which positions are given for first. */
export function readsChanges(operation: Operation): boolean {
  if (operation.do === 'changes') return true;
  if (operation.do === 'aggregate') return operation.relations.some(({ selection }) => hasChanges(selection));
  if ('answer' in operation) return wantsChanges(operation.answer);
  return 'selection' in operation && hasChanges(operation.selection);
}

function wantsChanges(wanted: Wanted): boolean {
  if (wanted.is === 'record') return hasChanges(wanted.selection);
  return wanted.is === 'object' && [...wanted.fields.values()].some(wantsChanges);
}

function hasChanges({ changes, relations }: Selection): boolean {
  return changes !== undefined || relations.some(({ selection }) => hasChanges(selection));
}
