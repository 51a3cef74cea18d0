/** Writes a record as it was at an earlier version, by what the journal keeps of it. */

import { DuetError, type Fault, pointer, validationFailed } from '../../base/errors.ts';
import { all, equal, everything, type Filter } from '../../query/filter.ts';
import type { Column, Reference, Resource } from '../../schema/model.ts';
import { withArticle } from '../../schema/names.ts';
import { storedColumns } from '../../schema/values.ts';
import { changes } from '../../storage/own.ts';
import { type Row, type Select, select } from '../../storage/statements.ts';
import { type Program, run } from '../../storage/storage.ts';
import type { Budget } from '../budget.ts';
import { imageOf, keptOf, recordOf } from '../journal/images.ts';
import { allRights, type Judged, judge } from '../journal/rights.ts';
import type { Restore } from '../operation.ts';
import type { Access } from '../policy/access.ts';
import { mayWrite } from '../policy/judging.ts';
import type { Permitted } from '../policy/permitted.ts';
import { changeRights } from '../policy/reading.ts';
import { mayGive } from '../policy/writing.ts';
import { attach, isDressed, type Node } from '../read/read.ts';
import { checkVersion } from './addressed.ts';
import { assign } from './assign.ts';
import type { Change } from './changes.ts';
import { createAll } from './create.ts';
import { missingOf } from './references.ts';
import { change, versionConflict } from './update.ts';
import { validCreate } from './validate.ts';

export function* restore(access: Access, operation: Permitted<Restore>, budget: Budget): Program<Node> {
  const { resource, key, seen, refusal, version, ifVersion, selection } = operation;
  const [stored] = key === undefined ? [] : yield* lookedFor(resource, key);
  if (stored && seen && !(yield* isSeen(resource, key, seen))) throw missing(resource);
  const was = key === undefined ? [] : yield* changesOf(access, resource, key, version);
  const found = yield* readable(access, resource, imageIn(was, version));
  if (!stored && !(yield* isKnown(access, resource, newestOf(was.at(-1)), found))) throw missing(resource);
  if (refusal) throw refusal;
  mustBeOffered(resource, stored ? 'UPDATE' : 'CREATE');
  if (stored) checkVersion(operation, stored);
  else if (ifVersion) throw versionConflict(resource);
  if (stored && version === undefined) throw validationFailed([NEEDED]);
  if (!found) throw notKept(resource, version);
  const node = stored
    ? yield* changedBack(access, resource, stored, found, ifVersion && Number(stored[resource.version.name]))
    : yield* createdAgain(access, resource, found, was.at(-1) ?? {});
  if (selection.relations.length > 0 || isDressed(selection)) yield* attach(selection, [node], budget);
  return node;
}

/** What `only` leaves out is done by functions alone, and not by the way of the past either. */
function mustBeOffered({ operations, plural }: Resource, kind: 'UPDATE' | 'CREATE'): void {
  if (operations.has(kind)) return;
  const what = kind === 'UPDATE' ? 'changed' : 'created';
  throw new DuetError('FORBIDDEN', `Clients cannot restore this: ${plural} are not ${what} by them.`);
}

const NEEDED: Fault = {
  pointer: pointer('version'),
  code: 'REQUIRED',
  detail: 'version is required where the record is there; only a deleted one comes back as it was last',
};

function missing({ singular, key }: Resource): DuetError {
  return new DuetError('NOT_FOUND', `There is no ${singular} with this ${key.name}.`);
}

function notKept({ singular }: Resource, version: number | undefined): DuetError {
  const what = version === undefined ? 'last version' : `version ${version}`;
  return new DuetError('NOT_FOUND', `The journal has no ${what} of this ${singular}.`);
}

function lookedFor(resource: Resource, key: unknown): Program<Row[]> {
  return run(select(resource, storedColumns(resource), equal(resource.key, key), { lock: 'change' }));
}

function* isSeen(resource: Resource, key: unknown, seen: NonNullable<Restore['seen']>): Program<boolean> {
  const where = all([equal(resource.key, key), seen]);
  return (yield* run(select(resource, [resource.key], where))).length > 0;
}

/** The change that led to the version, or where it is not kept, away from it; of a deleted record, also the last of all. */
function* changesOf(
  access: Access,
  resource: Resource,
  key: unknown,
  version: number | undefined,
): Program<Row[]> {
  const own = [equal(changes.column.table, resource.table), equal(changes.column.key, String(key))];
  const pending = pendingOf(access, resource, key);
  if (version === undefined && pending.length > 0) return pending;
  const [last] = yield* run(endOf(own, changes.columns, true));
  if (!last) return pending;
  const found = version === undefined ? [] : yield* firstFrom(own, version, last);
  return [...found, last, ...pending];
}

/** The first or the last of these changes. */
function endOf(where: readonly Filter[], columns: readonly Column[], descending: boolean): Select {
  return select(changes, columns, all(where), {
    order: [{ column: changes.column.sequence, descending }],
    limit: 1,
  });
}

/**
 * The first change of a record that led to the version or beyond. Versions grow from change to change, so it is looked for by halves:
 * a record may have a million changes, and an index of their versions would have to be written with each of them.
 */
function* firstFrom(own: readonly Filter[], version: number, last: Row): Program<Row[]> {
  if (Number(last['version']) < version) return [];
  const { sequence, version: at } = changes.column;
  const [first] = yield* run(endOf(own, [sequence], false));
  let from = Number(first?.['sequence']);
  let to = Number(last['sequence']);
  while (from < to) {
    const value = Math.floor((from + to) / 2);
    const [row] = yield* run(endOf([...own, { is: 'lte', column: sequence, value }], [sequence, at], true));
    if (Number(row?.['version']) < version) from = value + 1;
    else to = Number(row?.['sequence']);
  }
  return yield* run(select(changes, changes.columns, equal(sequence, to)));
}

/** What the same transaction has written so far: it comes to the journal with the commit. */
function pendingOf({ changes: noted }: Access, resource: Resource, key: unknown): Row[] {
  const isOwn = (change: Change) =>
    change.resource === resource && (change.after ?? change.before)?.[resource.key.name] === key;
  return (noted?.all ?? []).filter(isOwn).map(({ kind, version, before, after }) => ({
    kind,
    version,
    before: imageOf(resource, before),
    after: imageOf(resource, after),
  }));
}

function imageIn(rows: readonly Row[], version: number | undefined): unknown {
  if (version === undefined) return newestOf(rows.at(-1));
  const isAt = (row: Row) => Number(row['version']) === version;
  const after = rows.find((row) => isAt(row) && row['after'] !== null)?.['after'];
  if (after != null) return after;
  // Of a record that was there before its type kept a journal, only what came next tells what it was.
  const next = rows.find((row) => (isAt(row) ? row['kind'] === 'DELETED' : isNext(row, version)));
  return next?.['before'] ?? undefined;
}

/** As it was last: a record that was deleted while its type kept no journal has no change that says so. */
function newestOf(last: Row | undefined): unknown {
  return last?.['after'] ?? last?.['before'] ?? undefined;
}

function isNext(row: Row, version: number): boolean {
  return Number(row['version']) === version + 1 && row['kind'] === 'UPDATED';
}

/** The fields that a record of the past had, as far as the caller sees them: a reference to what it may not see is null. */
type Past = Row;

/** Undefined where the caller may not read it: what was edited away may have been a secret. */
function* readable(access: Access, resource: Resource, image: unknown): Program<Past | undefined> {
  const record = recordOf(resource, image);
  const judged = yield* judgedAs(access, resource, record);
  if (!record || !judged?.isSeen || !judged.isPast) return undefined;
  const seen: Row = {};
  for (const [name, value] of Object.entries(keptOf(resource, image)))
    if (judged.record[name] !== undefined) seen[name] = judged.record[name] === record[name] ? value : null;
  return seen;
}

/**
 * Whether the caller may know that there was such a record, which is gone: one that it would not see if it were there as it was
 * last is told like one that never was; and of its past, it must be allowed to read what is asked for, or that end.
 */
function* isKnown(
  access: Access,
  resource: Resource,
  newest: unknown,
  found: Past | undefined,
): Program<boolean> {
  const judged = yield* judgedAs(access, resource, recordOf(resource, newest));
  return judged?.isSeen === true && (judged.isPast || found !== undefined);
}

function* judgedAs(access: Access, resource: Resource, record: Row | null): Program<Judged | undefined> {
  if (!record) return undefined;
  const rights = access.isFree ? allRights : changeRights(access, resource);
  const [judged] = yield* judge(resource, [record], rights, everything);
  return judged;
}

/** What comes back: all but the key, the time of the change itself, and what functions make of the rest. */
function restorable({ columns, key }: Resource): readonly Column[] {
  const isMade = ({ origin: { by } }: Column) => by === 'updatedAt' || by === 'function';
  return columns.filter((column) => column !== key && !isMade(column));
}

/** What the caller does not see stays as it is. */
function* changedBack(
  access: Access,
  resource: Resource,
  stored: Row,
  past: Past,
  guard: number | undefined,
): Program<Node> {
  const key = stored[resource.key.name];
  if (!access.isFree) {
    access.admit(resource, 'UPDATE');
    yield* mayWrite(access, resource, 'UPDATE', [key]);
  }
  const columns = restorable(resource);
  const input = part(past, columns);
  return yield* change(access, resource, stored, input, guard, [], columns);
}

/**
 * What the caller does not see of the version, and what that does not have, comes back as it was last, without being asked for its
 * rules: nobody chose it. That holds for a reference to what it may not see, too, where it sees none in the version either.
 */
function* createdAgain(access: Access, resource: Resource, past: Past, last: Row): Program<Node> {
  access.admit(resource, 'CREATE');
  const columns = [resource.key, ...restorable(resource)];
  const newest = part(keptOf(resource, newestOf(last)), columns);
  const unseen = access.isFree ? [] : yield* unseenOf(access, resource, newest);
  const isKept = (name: string) => past[name] === null && unseen.some(({ column }) => column.name === name);
  const given = { ...newest, ...part(past, columns, (name) => !isKept(name)) };
  const brought = unseen.filter(({ column: { name } }) => !Object.hasOwn(past, name) || isKept(name));
  // What is gone by now is told as what is hidden is.
  for (const { column } of yield* unseenOf(access.system(), resource, part(given, columnsOf(brought))))
    given[column.name] = null;
  const chosen = part(past, columns, (name) => isClients(resource, name));
  mayGive(access, resource, chosen);
  const more = columns.filter(({ origin }) => origin.by !== 'client');
  const { values } = validCreate(resource, given, more);
  assign(resource, access.caller, values, part(values, more));
  const record = {
    values,
    given: Object.keys(chosen),
    children: [],
    last: Number(last['version']),
    brought,
  };
  const [node] = yield* createAll(access, resource, [record], () => []);
  if (!node) throw new Error(`restoring ${withArticle(resource.name)} answered no record`);
  return node;
}

function* unseenOf(access: Access, resource: Resource, row: Row): Program<readonly Reference[]> {
  const [unseen = []] = yield* missingOf(access, resource, [row], undefined);
  return unseen;
}

function columnsOf(references: readonly Reference[]): readonly Column[] {
  return references.map(({ column }) => column);
}

function isClients(resource: Resource, name: string): boolean {
  return resource.columns.some((column) => column.name === name && column.origin.by === 'client');
}

function part(
  values: Row,
  columns: readonly Column[],
  isWanted: (name: string) => boolean = () => true,
): Record<string, unknown> {
  const found: Record<string, unknown> = {};
  for (const { name } of columns)
    if (Object.hasOwn(values, name) && isWanted(name)) found[name] = values[name];
  return found;
}
