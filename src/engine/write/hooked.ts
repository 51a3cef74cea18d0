/** Lets functions of the deployment take part in a write: they see what is to be written, and may change it. */

import { DuetError, type Fault, ofRecord, validationFailed } from '../../base/errors.ts';
import { copied } from '../../base/passed.ts';
import type { Column, Resource } from '../../schema/model.ts';
import { INCREMENTS } from '../../schema/names.ts';
import { didYouMean } from '../../schema/suggest.ts';
import { checkNaturalKey, checkValue, creatable, reserved, updatable } from '../../schema/values.ts';
import { lookup, type Row } from '../../storage/statements.ts';
import { type Program, run } from '../../storage/storage.ts';
import type { Caller } from '../caller.ts';
import type { Hooks } from '../logic/hooks.ts';
import type { Input } from '../operation.ts';
import type { Access } from '../policy/access.ts';
import { claimNeeded } from './assign.ts';
import { incrementsOf } from './increments.ts';
import { type NewRecord, touched } from './validate.ts';

type Hook<Name extends keyof Hooks> = NonNullable<Hooks[Name]>;

/** The new record as its function wants it. */
export function* hookedCreate(
  caller: Caller,
  resource: Resource,
  record: NewRecord,
  hook: Hook<'beforeCreate'>,
): Program<NewRecord> {
  const columns = [...creatable(resource), ...reserved(resource)];
  const { input } = yield* hook(part(record.values, columns));
  const values = input
    ? { ...record.values, ...checked(resource, 'beforeCreate', columns, input, true) }
    : record.values;
  for (const column of columns) {
    if (!column.required || values[column.name] != null) continue;
    // What a claim was to fill, its function may leave to that.
    if (column.origin.by === 'claim' && record.values[column.name] == null)
      throw claimNeeded(caller, resource, column.origin.claim, column);
    throw withoutValue(resource, 'beforeCreate', column);
  }
  return { ...record, values };
}

/** What an update sets and adds, and the record that it changes. */
export interface Change {
  readonly set: Row;
  readonly add: Row | undefined;
  readonly stored: Row;
  /** The version that the record must have when it is written. */
  readonly guard: number | undefined;
}

/** The update as its function wants it. */
export function* hookedUpdate(
  resource: Resource,
  change: Change,
  hook: Hook<'beforeUpdate'>,
): Program<Change> {
  const columns = [...updatable(resource), ...reserved(resource)];
  const asked = part(change.set, columns);
  const given = change.add ? { ...asked, [INCREMENTS]: Object.freeze({ ...change.add }) } : asked;
  const { input, hasWritten } = yield* hook(given, ownCopy(change.stored));
  const { stored, guard } = hasWritten ? yield* again(resource, change) : change;
  if (!input) return { ...change, stored, guard };
  const { [INCREMENTS]: _, ...values } = input;
  const set = { ...touched(resource), ...checked(resource, 'beforeUpdate', columns, values, false) };
  const faults: Fault[] = [];
  const add = incrementsOf(resource, input, faults);
  if (faults.length > 0) throw validationFailed(faults);
  return { set, add, stored, guard };
}

/**
 * Runs the functions of records that are about to be deleted, one after the other, as each is stored by then. `asked`: what the
 * others after the first must pass, as functions may have changed them since they were asked for. `isTold`: whether the caller is
 * told which of them was refused.
 */
export function* hookedDelete(
  resource: Resource,
  keys: Iterable<unknown>,
  hook: Hook<'beforeDelete'>,
  asked: ((key: unknown) => Program<void>) | undefined,
  isTold: boolean,
): Program<void> {
  for (const [place, key] of [...keys].entries()) {
    const stored = yield* lookedUp(resource, key);
    if (!stored) continue;
    if (place > 0 && asked) yield* asked(key);
    const acting = hook(ownCopy(stored));
    yield* isTold ? ofOne(key, acting) : acting;
  }
}

/** Tells of what goes wrong with one of many records which one it is. */
export function* ofOne<T>(key: unknown, program: Program<T>): Program<T> {
  try {
    return yield* program;
  } catch (error) {
    if (!(error instanceof DuetError) || !error.errors) throw error;
    const { code, message, headers } = error;
    const errors = error.errors.map((fault) => ofRecord(fault, key));
    throw new DuetError(code, message, { errors, ...(headers && { headers }) });
  }
}

/** Whether functions of what is nested in new records may have written those records themselves. */
export function actsBelow(access: Access, { children }: NewRecord): boolean {
  return children.some(
    ({ inverse, records }) =>
      access.hooksOf?.(inverse.target)?.ask === true || records.some((each) => actsBelow(access, each)),
  );
}

/** A record that is to be written, as it is stored now. */
export function* lookedUp(resource: Resource, key: unknown): Program<Row | undefined> {
  const [row] = yield* run(lookup(resource, resource.key, key, { lock: true }));
  return row;
}

/** The function has written, maybe this very record: its version is compared with the one that it has by now. */
function* again(resource: Resource, { stored, guard }: Change): Program<Pick<Change, 'stored' | 'guard'>> {
  const row = yield* lookedUp(resource, stored[resource.key.name]);
  if (!row)
    throw new DuetError('NOT_FOUND', `There is no ${resource.singular} with this ${resource.key.name}.`);
  return { stored: row, guard: guard === undefined ? undefined : Number(row[resource.version.name]) };
}

function ownCopy(stored: Row): Row {
  const copy: Row = {};
  for (const name in stored) copy[name] = copied(stored[name]);
  return copy;
}

/** Frozen: a function that changes it in place would change nothing, and is to learn so. */
function part(values: Row, columns: readonly Column[]): Input {
  const found: Row = {};
  for (const { name } of columns) if (Object.hasOwn(values, name)) found[name] = values[name];
  return Object.freeze(found);
}

/** What a function gives back is held against the schema as what a client sends is; but names that do not exist are its mistake. */
function checked(
  resource: Resource,
  hook: keyof Hooks,
  columns: readonly Column[],
  input: Input,
  isNew: boolean,
): Row {
  const known = new Map(columns.map((column) => [column.name, column]));
  const faults: Fault[] = [];
  const values: Row = Object.create(null);
  for (const column of isNew ? columns : []) values[column.name] = null;
  for (const [name, value] of Object.entries(input)) {
    const column = known.get(name);
    if (!column)
      throw new Error(
        `${resource.name}.${hook} gave back "${name}", which it cannot set.${didYouMean(name, known.keys()) || ` It can set: ${[...known.keys()].join(', ')}.`}`,
      );
    if (value === undefined) continue;
    if (value === null && column.required && !isNew) throw withoutValue(resource, hook, column);
    values[name] = value === null ? null : checkValue(column, value, faults);
    if (column === resource.key) checkNaturalKey(column, value, faults);
  }
  if (faults.length > 0) throw validationFailed(faults);
  return values;
}

/** What clients must give, this one did: no client can mend it. */
function withoutValue(resource: Resource, hook: keyof Hooks, { name }: Column): Error {
  return new Error(`${resource.name}.${hook} left "${name}" without a value, which the schema requires`);
}
