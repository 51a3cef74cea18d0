/** Holds what a client wants to write against the schema and reports every fault at once. */

import { cited, type Fault, isFull, nested, pointer, validationFailed } from '../../base/errors.ts';
import { wideFor } from '../../base/one-shape.ts';
import { computedValue } from '../../schema/computing.ts';
import type { Column, Inverse, Reference, Resource, Through } from '../../schema/model.ts';
import { INCREMENTS } from '../../schema/names.ts';
import { nestable, whyNotNested } from '../../schema/nested.ts';
import { didYouMean } from '../../schema/suggest.ts';
import { linkFields, linkNames, whyNotWritten } from '../../schema/through.ts';
import { checkNaturalKey, checkValue, creatable, defaultOf, updatable } from '../../schema/values.ts';
import type { Row } from '../../storage/statements.ts';
import type { Program } from '../../storage/storage.ts';
import { inTurns } from '../in-turns.ts';
import type { Door, Input } from '../operation.ts';
import { incrementsOf } from './increments.ts';
import { type LinkChange, linkChanges } from './links.ts';

/** The values of a new record as far as the client decides them, and records that are to point to it. */
export interface NewRecord {
  readonly values: Row;
  /** The names that the client gave a value for. */
  readonly given: readonly string[];
  readonly children: readonly Children[];
  /** The last version of the record that it brings back. */
  readonly last?: number;
  /** References that come back with it, though the caller may not see where they lead. */
  readonly brought?: readonly Reference[];
}

/** New records of a list, where the input has them under its name, or only names what they link. */
interface Children {
  readonly inverse: Inverse;
  readonly records: readonly NewRecord[];
  readonly links?: LinkChange;
}

/** Absent values have their defaults. Nothing can be nested. `more`: what may be given beside what clients may. */
export function validCreate(resource: Resource, input: Input, more: readonly Column[] = nothing): NewRecord {
  const { done, value } = validNested(resource, input, undefined, more).next();
  if (!done) throw new Error('only what is nested has turns');
  return value;
}

/** The same, with what can be nested through this door. */
export function* validNested(
  resource: Resource,
  input: Input,
  through: Door | undefined,
  more: readonly Column[] = nothing,
): Program<NewRecord> {
  const faults: Fault[] = [];
  const record = yield* newRecord(resource, input, through, undefined, faults, more);
  refuse(faults);
  return record;
}

/** The same of many, with every fault of all of them. */
export function* validCreates(
  resource: Resource,
  inputs: readonly Input[],
  through: Door,
): Program<NewRecord[]> {
  const faults: Fault[] = [];
  const records: NewRecord[] = [];
  yield* inTurns(inputs, function* (input, index) {
    if (isFull(faults)) return;
    const found: Fault[] = [];
    records.push(yield* newRecord(resource, input, through, undefined, found));
    faults.push(...found.map((fault) => nested(fault, index)));
  });
  refuse(faults);
  return records;
}

/** `known`: the reference to the record that this one is nested in. */
function* newRecord(
  resource: Resource,
  input: Input,
  through: Door | undefined,
  known: Column | undefined,
  faults: Fault[],
  more: readonly Column[] = nothing,
): Program<NewRecord> {
  const columns = known ? creatableIn(resource, known) : creatable(resource);
  const lists = through ? nestable(resource, through) : none;
  const links = linkFields(resource);
  const isMore = lists.length + links.length + more.length > 0;
  const writable = isMore ? [...columns, ...lists, ...links, ...more] : columns;
  refuseStrangers(resource, input, writable, faults);
  const values = newValues(resource, input, columns, faults);
  for (const column of more) {
    const given = Object.hasOwn(input, column.name) ? input[column.name] : undefined;
    if (given === undefined) continue;
    values[column.name] = given === null ? null : checkValue(column, given, faults);
  }
  const children: Children[] = [];
  for (const inverse of lists) {
    const given = Object.hasOwn(input, inverse.name) ? input[inverse.name] : undefined;
    if (given !== undefined && given !== null)
      children.push({ inverse, records: yield* newRecords(inverse, given, through, faults) });
  }
  for (const links of linkChanges(resource, input, faults)) {
    const { through, add } = links;
    const records = add.map(({ key }) => newLink(through, key));
    if (add.length > 0) children.push({ inverse: through.links, records, links });
  }
  return { values, given: Object.keys(input), children };
}

/** The values of these columns; absent ones have their defaults. */
export function newValues(
  resource: Resource,
  input: Input,
  columns: readonly Column[],
  faults: Fault[],
): Row {
  const values = wideFor(columns) ?? emptyRow();
  for (const column of columns) {
    const given = Object.hasOwn(input, column.name) ? input[column.name] : defaultOf(column);
    if (given !== null && given !== undefined) values[column.name] = checkValue(column, given, faults);
    else if (column.required) faults.push(required(column));
    else values[column.name] = null;
    if (column === resource.key) checkNaturalKey(column, given, faults);
  }
  return values;
}

/** A fault for each name that is not known, with those that a client could have meant. */
export function refuseStrangers(
  resource: Resource,
  input: Input,
  writable: readonly { readonly name: string }[],
  faults: Fault[],
  known = writable,
): void {
  for (const name of strangers(input, known)) {
    if (isFull(faults)) break;
    faults.push(notWritable(resource, name, writable));
  }
}

/** A record of the join type, which leads to this key. */
export function newLink({ links: { target, reference }, far }: Through, key: unknown): NewRecord {
  const { value } = newRecord(target, { [far.column.name]: key }, undefined, reference.column, []).next();
  return value as NewRecord;
}

function* newRecords(
  inverse: Inverse,
  given: unknown,
  through: Door | undefined,
  faults: Fault[],
): Program<NewRecord[]> {
  const { name, target, reference } = inverse;
  if (!Array.isArray(given)) {
    faults.push({ pointer: pointer(name), code: 'TYPE', detail: `${name} must be a list of new records` });
    return [];
  }
  const records: NewRecord[] = [];
  yield* inTurns(given, function* (each, index) {
    if (isFull(faults)) return;
    if (typeof each !== 'object' || each === null || Array.isArray(each)) {
      faults.push({
        pointer: pointer(name, index),
        code: 'TYPE',
        detail: `${name}/${index} must be an object`,
      });
      return;
    }
    const found: Fault[] = [];
    records.push(yield* newRecord(target, each, through, reference.column, found));
    faults.push(...found.map((fault) => nested(fault, name, index)));
  });
  return records;
}

/** What an update does to the values of a record. */
interface NewValues {
  readonly set: Row;
  /** By how much numbers change; undefined where it adds nothing. */
  readonly add: Row | undefined;
}

/** The values that an update changes; what the server assigns may be repeated, but not changed. */
export function validUpdate(
  resource: Resource,
  input: Input,
  stored: Row,
  columns: readonly Column[] = updatable(resource),
): NewValues {
  const faults: Fault[] = [];
  const values = updateOf(resource, input, stored, columns, faults);
  refuse(faults);
  return values;
}

/** The same, with what is wrong among the faults. */
export function updateOf(
  resource: Resource,
  input: Input,
  stored: Row,
  columns: readonly Column[],
  faults: Fault[],
): NewValues {
  const writable = writableBy(resource, columns);
  collectChanged(resource, input, strangers(input, writable, INCREMENTS), stored, writable, faults);
  if (Object.keys(input).length === 0)
    faults.push({ pointer: '#', code: 'EMPTY', detail: `give at least one of ${namesOf(writable)}` });
  const set = touched(resource);
  for (const column of columns) {
    if (!Object.hasOwn(input, column.name)) continue;
    const given = input[column.name];
    if (given !== null) set[column.name] = checkValue(column, given, faults);
    else if (column.required) faults.push(required(column));
    else set[column.name] = null;
  }
  const add = incrementsOf(resource, input, faults);
  linkChanges(resource, input, faults);
  return { set, add };
}

/** The same of many records for an input that is valid for one of them: only what the server assigns hangs on the record. */
export function mayRepeat(resource: Resource, input: Input, rows: readonly Row[]): void {
  const writable = writableBy(resource, updatable(resource));
  const names = strangers(input, writable, INCREMENTS);
  if (names.length === 0) return;
  for (const row of rows) {
    const faults: Fault[] = [];
    collectChanged(resource, input, names, row, writable, faults);
    refuse(faults);
  }
}

function writableBy(resource: Resource, columns: readonly Column[]): readonly { readonly name: string }[] {
  const links = linkFields(resource);
  return links.length > 0 ? [...columns, ...links] : columns;
}

/** A fault for each of these names that does not repeat what the record has. */
function collectChanged(
  resource: Resource,
  input: Input,
  names: readonly string[],
  stored: Row,
  writable: readonly { readonly name: string }[],
  faults: Fault[],
): void {
  for (const name of names) {
    if (isFull(faults)) break;
    const column = resource.columns.find((each) => each.name === name);
    const computed = resource.computed.find((each) => each.column.name === name);
    // What the caller may not read is there, without a value: there is nothing to repeat.
    const isShown = computed && !Object.hasOwn(stored, name);
    const now = isShown ? computedValue(computed, stored) : stored[name];
    if ((!column && !computed) || !Bun.deepEquals(now, input[name]))
      faults.push(notWritable(resource, name, writable));
  }
}

/** What every update of a record sets. */
export function touched(resource: Resource): Row {
  const values = emptyRow();
  let now: string | undefined;
  for (const { name, origin } of resource.columns)
    if (origin.by === 'updatedAt') values[name] = now ??= new Date().toISOString();
  return values;
}

/** Without a prototype: a field may be called `constructor`. */
function emptyRow(): Row {
  return Object.create(null);
}

/** Of a record that is nested in another, which this column leads to. */
function creatableIn(resource: Resource, known: Column): readonly Column[] {
  let columns = nestedIn.get(known);
  if (!columns) {
    columns = creatable(resource).filter((column) => column !== known);
    nestedIn.set(known, columns);
  }
  return columns;
}

const nestedIn = new WeakMap<Column, readonly Column[]>();

/** The names of an input that are no column's; `beside`: one that may be there, too. */
function strangers(
  input: Input,
  columns: readonly { readonly name: string }[],
  beside?: string,
): readonly string[] {
  const names = Object.keys(input);
  let own = beside !== undefined && Object.hasOwn(input, beside) ? 1 : 0;
  for (const { name } of columns) if (Object.hasOwn(input, name)) own++;
  if (own === names.length) return nobody;
  const known = new Set(columns.map(({ name }) => name));
  return names.filter((name) => !known.has(name) && name !== beside);
}

const nobody: readonly string[] = [];
const nothing: readonly Column[] = [];
const none: readonly Inverse[] = [];

function notWritable(resource: Resource, name: string, columns: readonly { readonly name: string }[]): Fault {
  const field = resource.fieldByName.get(name);
  if ([...resource.computed, ...resource.recomputed].some(({ column }) => column.name === name))
    return { pointer: pointer(name), code: 'READ_ONLY', detail: `${name} is computed by the server` };
  if (field?.kind === 'column')
    return { pointer: pointer(name), code: 'READ_ONLY', detail: `${name} is set by the server` };
  const shown = cited(name);
  const names = columns.map((column) => column.name);
  const list = unwritten(resource, name);
  if (list !== undefined) return { pointer: pointer(shown), code: 'UNKNOWN', detail: list };
  const instead =
    field?.kind === 'reference'
      ? field.column.name
      : field?.kind === 'through'
        ? linkNames(field).ids
        : undefined;
  const cure = instead === undefined ? didYouMean(name, names) : ` Write "${instead}".`;
  const problem = field ? 'cannot be written' : `is no field of ${resource.name}`;
  const detail = `"${shown}" ${problem}; the fields are ${namesOf(columns)}.${cure}`;
  return { pointer: pointer(shown), code: 'UNKNOWN', detail };
}

/** Why a list is not written by this name. */
function unwritten({ throughs, inverses }: Resource, name: string): string | undefined {
  const through = throughs.find((each) => {
    const { ids, changes } = linkNames(each);
    return name === each.name || name === ids || name === changes;
  });
  const inverse = inverses.find((each) => name === each.name);
  const list = through ?? inverse;
  const why = through ? whyNotWritten(through) : inverse && whyNotNested(inverse.reference);
  if (!list || why === undefined) return undefined;
  const { plural } = through ? through.links.target : list.target;
  return `${list.name} cannot be written here, as ${why}; write ${plural} themselves`;
}

function namesOf(columns: readonly { readonly name: string }[]): string {
  return columns.map(({ name }) => name).join(', ') || 'none';
}

function required({ name }: Column): Fault {
  return { pointer: pointer(name), code: 'REQUIRED', detail: `${name} is required` };
}

function refuse(faults: readonly Fault[]): void {
  if (faults.length > 0) throw validationFailed(faults);
}
