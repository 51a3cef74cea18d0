/** Reads changes in the order of their positions, as their caller may see them. */

import { DuetError, type Fault, validationFailed } from '../../base/errors.ts';
import { all, among, equal, everything, type Filter, isEverything, isNothing } from '../../query/filter.ts';
import type { Column, Resource } from '../../schema/model.ts';
import { changes, marks } from '../../storage/own.ts';
import { type Row, select, textIn } from '../../storage/statements.ts';
import { type Program, run } from '../../storage/storage.ts';
import { type Budget, LOOKED_BYTES } from '../budget.ts';
import type { Permitted } from '../policy/permitted.ts';
import { inSteps } from '../sizes.ts';
import type { ChangesRead, Telling } from './changes-operation.ts';
import type { Place, Positions } from './positions.ts';
import { type Change, isOpen, shownOf } from './showing.ts';
import { bytesOfChanges } from './sizes.ts';

export const DEFAULT_LIMIT = 100;
export const MOST_CHANGES = 1000;
/** Where not every change is shown, so many are looked at at once. */
const PAGE = 200;
/** For one answer about so many: whoever sees few of them would keep everybody else waiting. */
export const LOOKED_AT = 2000;

/** What is known of a change without what the record was, which may be long. */
const light = changes.columns.filter(({ name }) => name !== 'before' && name !== 'after');

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
  const found: Change[] = [];
  const isWhole = isEvery(operation);
  const page = isWhole ? limit + 1 : Math.max(limit + 1, PAGE);
  let { at } = begin;
  for (;;) {
    // Of each type, and of a record: an index leads to the first of them, and to no others.
    const first = record
      ? yield* lightOf(
          positions,
          equal(table, String(resources[0]?.table)),
          at,
          key,
          [String(record.key)],
          page,
        )
      : yield* lightOf(positions, everything, at, table, [...byTable.keys()], page);
    const rows = first.sort(byPosition(positions)).slice(0, page);
    for (let left = rows; left.length > 0; ) {
      // What is hidden must not refuse an answer: a page ends where there is too much of it to be read.
      const { next, bytes, rest } = yield* withImages(
        positions,
        left,
        operation,
        budget.leftToLook,
        budget.readBytes,
      );
      budget.lookedBytes += bytes;
      const shown = yield* shownOf(positions, next, byTable, operation, past);
      const room = limit - found.length;
      found.push(...spent(shown.slice(0, room), operation, budget));
      if (shown.length > room) return { changes: found, position: found.at(-1)?.position ?? '', more: true };
      left = rest;
      at = Number((next.at(-1) ?? rows.at(-1))?.[positions.column.name]);
      if (left.length > 0 && budget.leftToLook <= 0)
        return { changes: found, position: positions.textOf({ at, past }), more: true };
    }
    if (rows.length < page)
      return { changes: found, position: positions.textOf({ at: end, past }), more: false };
    budget.looked += rows.length;
    if (!isWhole && budget.looked >= LOOKED_AT)
      return { changes: found, position: positions.textOf({ at, past }), more: true };
  }
}

/** The same of rows that were read before, with what their records were: all that there are up to the position `end`. */
export function* pageOf(
  positions: Positions,
  all: readonly Row[],
  end: number,
  operation: Permitted<ChangesRead>,
  past: number,
  budget: Budget,
): Program<ChangesPage> {
  const { resources, record, limit } = operation;
  const byTable = new Map(resources.map((resource) => [resource.table, resource]));
  const isAsked = (row: Row) =>
    byTable.has(String(row['table'])) && (!record || row['key'] === String(record.key));
  const rows = all.filter(isAsked);
  const images = imagesOf(operation);
  const looked: Row[] = [];
  for (const row of rows) {
    if (looked.length >= Math.max(limit + 1, PAGE) || budget.leftToLook <= 0) break;
    if (images.length > 0) budget.lookedBytes += roughly(row, images);
    looked.push(row);
  }
  const shown = yield* shownOf(positions, looked, byTable, operation, past);
  const found = spent(shown.slice(0, limit), operation, budget);
  if (shown.length > limit) return { changes: found, position: found.at(-1)?.position ?? '', more: true };
  const more = looked.length < rows.length;
  const at = more ? Number(looked.at(-1)?.[positions.column.name]) : end;
  return { changes: found, position: positions.textOf({ at, past }), more };
}

/** A change as whoever sees everything sees it. */
export interface WholeChange {
  readonly change: Change;
  /** Its position as it stands in the table. */
  readonly at: number;
  /** The characters of what is kept of it. */
  readonly length: number;
}

/** What comes after a position as it stands in the table, up to the change with which it is so many bytes; nothing where there is no more. */
export function* wholeChanges(
  positions: Positions,
  resources: readonly Resource[],
  at: number,
  limit: number,
  bytes: number,
): Program<WholeChange[]> {
  const { column } = positions;
  const byTable = new Map(resources.map((resource) => [resource.table, resource]));
  const where = all([among(changes.column.table, [...byTable.keys()]), { is: 'gt', column, value: at }]);
  const order = [{ column, descending: false }];
  const rows = yield* run(select(changes, changes.columns, where, { order, limit, bytes, cuts: true }));
  const whole = { where: everything } as Permitted<ChangesRead>;
  const shown = yield* shownOf(positions, rows, byTable, whole, 0);
  return shown.map((change, index) => {
    const row = rows[index] as Row;
    return { change, at: Number(row[column.name]), length: textIn(row) };
  });
}

/** The first so many changes after a position, for each of the values, without what the records were. */
export function lightOf(
  positions: Positions,
  where: Filter,
  at: number,
  column: Column,
  values: readonly string[],
  limit: number,
  most?: number,
): Program<Row[]> {
  const order = [{ column: positions.column, descending: false }];
  return run(select(changes, light, where, { order, after: [at], per: { column, values }, limit, most }));
}

export const byPosition =
  ({ column: { name } }: Positions) =>
  (one: Row, other: Row) =>
    Number(one[name]) - Number(other[name]);

interface WithImages {
  readonly next: readonly Row[];
  /** The bytes of what their records were, roughly. */
  readonly bytes: number;
  /** Those for which there was no room. */
  readonly rest: Row[];
}

/** The first of these rows with what their records were, as far as anybody asks for that, until there is more than so much. */
export function* withImages(
  positions: Positions,
  rows: readonly Row[],
  operation: Pick<ChangesRead, 'rights' | 'where' | 'telling'>,
  most: number,
  readBytes = LOOKED_BYTES,
): Program<WithImages> {
  const images = imagesOf(operation);
  if (images.length === 0) return { next: rows, bytes: 0, rest: [] };
  const { sequence } = changes.column;
  const places = new Map(rows.map((row, place) => [Number(row[sequence.name]), place]));
  const order = [{ column: positions.column, descending: false }];
  const found = yield* run(
    select(changes, [sequence, ...images], among(sequence, [...places.keys()]), {
      order,
      bytes: readBytes,
      cuts: true,
    }),
  );
  const next: Row[] = [];
  let bytes = 0;
  const placeOf = (row: Row) => places.get(Number(row[sequence.name])) ?? 0;
  for (const row of found) {
    if (next.length > 0 && bytes >= most) break;
    bytes += roughly(row, images);
    next.push({ ...rows[placeOf(row)], ...row });
  }
  const last = next.at(-1);
  return {
    next,
    bytes,
    // What is no longer kept by now is not waited for.
    rest: last ? rows.slice(placeOf(last) + 1) : [],
  };
}

function roughly(row: Row, images: readonly Column[]): number {
  let bytes = 0;
  for (const { name } of images) if (typeof row[name] === 'string') bytes += row[name].length;
  return inSteps(bytes, LOOKED_BYTES / LOOKED_AT, 4);
}

/** What the answer has of records, or what a rule or a filter is held against. */
function imagesOf(operation: Pick<ChangesRead, 'rights' | 'where' | 'telling'>): readonly Column[] {
  const { before, after } = changes.column;
  if (!isEvery(operation)) return [before, after];
  const { telling } = operation;
  return [...(tells(telling.before) ? [before] : []), ...(tells(telling.after) ? [after] : [])];
}

function tells(images: Telling['before']): boolean {
  return typeof images === 'number' ? images > 0 : (images.rendered?.records ?? 1) > 0;
}

/** Whether every change is shown, if not all that it has. */
function isEvery({ rights, where }: Pick<ChangesRead, 'rights' | 'where'>): boolean {
  if (!isEverything(where)) return false;
  return [...(rights?.values() ?? [])].every(isOpen);
}

function spent(found: readonly Change[], operation: ChangesRead, budget: Budget): readonly Change[] {
  budget.take(found.length, (isExact) => bytesOfChanges(found, operation.telling, isExact));
  return found;
}

/** Where to begin; undefined: now. Where there are no rules, there is no past to keep apart. */
export function* beginning(
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
