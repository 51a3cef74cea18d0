/** What a column admits and who writes it: the questions that the file's rules and the engine both ask. */

import { type Fault, isFull, pointer } from '../base/errors.ts';
import { isLess } from './exact.ts';
import { folded } from './folding.ts';
import { formats } from './formats.ts';
import type { Column, Computed, Enum, Field, Resource } from './model.ts';
import type { Report, Scalar } from './scalars.ts';

type Stored = Pick<Resource, 'columns'> & { readonly version: Column | undefined };

const stored = new WeakMap<Stored, readonly Column[]>();

/** Everything that is stored of a record, its version included. */
export function storedColumns(resource: Stored): readonly Column[] {
  let columns = stored.get(resource);
  if (!columns) {
    columns = resource.version ? [...resource.columns, resource.version] : resource.columns;
    stored.set(resource, columns);
  }
  return columns;
}

const kept = new WeakMap<Stored, readonly Column[]>();

/** The same, and what rows are compared by instead: all that a table has. */
export function keptColumns(resource: Stored): readonly Column[] {
  let columns = kept.get(resource);
  if (!columns) {
    const own = storedColumns(resource);
    const folded = own.flatMap((column) => column.folded ?? []);
    columns = folded.length > 0 ? [...own, ...folded] : own;
    kept.set(resource, columns);
  }
  return columns;
}

const written = new WeakMap<Stored, readonly Column[]>();

/** The same without the version, which is nobody's to give. */
export function writtenColumns(resource: Stored): readonly Column[] {
  let columns = written.get(resource);
  if (!columns) {
    columns = keptColumns(resource).filter((column) => column !== resource.version);
    written.set(resource, columns);
  }
  return columns;
}

/** The column that rows are compared, ordered and grouped by. */
export function comparedBy(column: Column): Column {
  return column.folded ?? column;
}

/** What is answered beside the columns of a whole record; undefined where there is nothing. */
export function computedOf({ computed }: Resource): readonly Computed[] | undefined {
  return computed.length > 0 ? computed : undefined;
}

/** Everything that an answer can have, and a rule can be on. */
export function answerable({ fields, computed }: Resource): readonly Field[] {
  return computed.length > 0 ? [...fields, ...computed.map(({ column }) => column)] : fields;
}

/** Whether some callers may not read it. */
export function canBeHidden(field: Field): boolean {
  if (field.allow.some(({ to }) => to.includes('READ'))) return true;
  return field.kind === 'column' && field.madeOf?.some(canBeHidden) === true;
}

const given = new WeakMap<Resource, readonly Column[]>();

/** Columns a client may give on create. */
export function creatable(resource: Resource): readonly Column[] {
  let columns = given.get(resource);
  if (!columns) {
    columns = resource.columns.filter(({ origin }) => origin.by === 'client');
    given.set(resource, columns);
  }
  return columns;
}

const changed = new WeakMap<Resource, readonly Column[]>();

/** Columns a client may change: a key stays what it is. */
export function updatable(resource: Resource): readonly Column[] {
  let columns = changed.get(resource);
  if (!columns) {
    columns = creatable(resource).filter((column) => column !== resource.key);
    changed.set(resource, columns);
  }
  return columns;
}

const own = new WeakMap<Resource, readonly Column[]>();

/** Columns that the server may set and clients may not: those of `@readonly` and `@set`. */
export function reserved(resource: Resource): readonly Column[] {
  let columns = own.get(resource);
  if (!columns) {
    columns = resource.columns.filter(({ origin }) => origin.by === 'nobody' || origin.by === 'claim');
    own.set(resource, columns);
  }
  return columns;
}

/** Columns whose numbers can be added to. */
export function incrementable(resource: Resource): readonly Column[] {
  return updatable(resource).filter(isNumber);
}

export function isNumber({ type, list }: Column): boolean {
  return !list && isScalar(type) && (type.is === 'number' || type.is === 'exact');
}

/** Whether a create fails without this column. */
export function neededOnCreate({ origin, required }: Column): boolean {
  return required && origin.by === 'client' && origin.default === undefined;
}

export function isScalar(type: Scalar | Enum): type is Scalar {
  return 'kind' in type;
}

/** Text of any kind, and no list: a key that clients give, too. */
export function isText(column: Column): boolean {
  return !column.list && isScalar(column.type) && column.type.stored === 'text';
}

/** How a database keeps the values of a column: a list as JSON, an enum as text. */
export function keptAs({ list, type }: Column): Scalar['stored'] {
  if (list) return 'json';
  return isScalar(type) ? type.stored : 'text';
}

/** How many digits the values of a column have behind the point, where they are exact numbers. */
export function scaleOf({ type }: Column): number {
  return isScalar(type) ? type.scale : 0;
}

/** Bytes of JSON, where a value has a form; text and JSON are of any length. */
const longest: Readonly<Partial<Record<Scalar['stored'], number>>> = {
  boolean: 'false'.length,
  integer: '-2147483648'.length,
  bigint: '"-9223372036854775808"'.length,
  decimal: '"-9223372036854775.807"'.length,
  serial: '"9007199254740991"'.length,
  float: '-1.2345678901234567e-300'.length,
  date: '"2024-01-01"'.length,
  time: '"2024-01-01T00:00:00.000Z"'.length,
  uuid: '"00000000-0000-0000-0000-000000000000"'.length,
};

/** How many bytes of JSON a value of a column can take. */
export function longestOf(column: Column): number {
  return longest[keptAs(column)] ?? Number.POSITIVE_INFINITY;
}

/** What a column has when a create leaves it out. */
export function defaultOf({ origin }: Column): unknown {
  return 'default' in origin ? origin.default : undefined;
}

export function graphqlTypeName({ type }: Column): string {
  return isScalar(type) ? type.graphql : type.name;
}

/** Percent-encoded, the longest such key still fits into a URL. */
export const LONGEST_KEY = 512;
/** Dot segments vanish from URLs. */
export const unaddressable: readonly unknown[] = ['.', '..'];

/** A key that a client gives must be addressable; an empty one is the collection. */
export function checkNaturalKey(key: Column, value: unknown, faults: Fault[]): void {
  if (typeof value === 'string' && lengthOf(value) > LONGEST_KEY) {
    const detail = `${key.name} must have at most ${characters(LONGEST_KEY)}`;
    faults.push({ pointer: pointer(key.name), code: 'LENGTH', detail });
  }
  if (value !== '' && !unaddressable.includes(value)) return;
  const detail = `${key.name} must not be empty, "." or "..", which no path can name`;
  faults.push({ pointer: pointer(key.name), code: 'FORMAT', detail });
}

/** Checks a non-null value; every fault is reported, and the value comes back in canonical form. */
export function checkValue(column: Column, value: unknown, faults: Fault[]): unknown {
  if (!column.list) return checkItem(column, value, undefined, faults);
  if (!Array.isArray(value)) {
    faults.push({ pointer: pointer(column.name), code: 'TYPE', detail: `${column.name} must be a list` });
    return value;
  }
  return value.map((item, index) => (isFull(faults) ? item : checkItem(column, item, index, faults)));
}

let isSound = true;
const unsound: Report = () => {
  isSound = false;
};

function checkItem(
  column: Column,
  value: unknown,
  /** Undefined where there is no list. */
  index: number | undefined,
  faults: Fault[],
): unknown {
  // Most values are sound, and whoever finds nothing to report needs no words for it.
  if (value !== null && isScalar(column.type)) {
    isSound = true;
    const checked = column.type.check(value, unsound);
    if (isSound) checkConstraint(column, checked, unsound);
    if (isSound) return checked;
  }
  const report: Report = (code, detail) => {
    // One value of JSON can have as many as a list.
    if (isFull(faults)) return;
    const path = index === undefined ? [column.name] : [column.name, index];
    faults.push({ pointer: pointer(...path), code, detail: `${path.join('/')} ${detail}` });
  };
  if (value === null) {
    report('REQUIRED', 'must not be null');
    return value;
  }
  const before = faults.length;
  if (!isScalar(column.type)) {
    checkEnum(column.type, value, report);
    return value;
  }
  const checked = column.type.check(value, report);
  // A value of the wrong type has one fault, not one more for each constraint that it cannot meet.
  if (faults.length === before) checkConstraint(column, checked, report);
  return checked;
}

function checkEnum({ values }: Enum, value: unknown, report: Report): void {
  if (typeof value !== 'string') report('TYPE', 'must be a string');
  else if (!values.some(({ name }) => name === value))
    report('ENUM', `must be one of ${values.map(({ name }) => name).join(', ')}`);
}

/** PostgreSQL's B-trees take entries of 2,704 bytes; what is beside the texts needs some of them. */
const MOST_INDEXED = 2_600;
/** Of one character, once it is taken apart by letter case. */
const MOST_BYTES_FOLDED = 9;
/** What has so many units of UTF-16 has at least one byte, once it is put together and folded. */
const MOST_UNITS_OF_BYTE = 2;

/** Tells the columns of a resource how long their texts can be, where indexes have them: these share what there is. */
export function boundIndexed({ key, uniques, references, indexes }: Resource): void {
  const withKey = [...references.map(({ column }) => [column]), ...indexes.map(({ columns }) => columns)];
  for (const columns of [
    ...uniques.map((unique) => unique.columns),
    ...withKey.map((each) => [...each, key]),
  ]) {
    const texts = [...new Set(columns)].filter(isText);
    const share = Math.floor(MOST_INDEXED / texts.length);
    for (const column of texts)
      (column as { indexed?: number }).indexed = Math.min(column.indexed ?? share, share);
  }
}

function isTooLong({ indexed, folded: hidden }: Column, value: unknown): boolean {
  if (indexed === undefined || typeof value !== 'string' || value.length * MOST_BYTES_FOLDED <= indexed)
    return false;
  // A megabyte takes a tenth of a second to fold.
  if (value.length > indexed * MOST_UNITS_OF_BYTE) return true;
  return Buffer.byteLength(hidden ? folded(value) : value) > indexed;
}

function checkConstraint(column: Column, value: unknown, report: Report): void {
  const { constraint, indexed } = column;
  const isCounted = constraint?.minLength !== undefined || constraint?.maxLength !== undefined;
  const length = isCounted && typeof value === 'string' ? lengthOf(value) : 0;
  const isBeyond = length > (constraint?.maxLength ?? Number.POSITIVE_INFINITY);
  // To know what an index has of it, it is folded: not where it is too long anyway.
  if (!isBeyond && isTooLong(column, value))
    report('LENGTH', `must have at most ${indexed} bytes, as an index has it`);
  if (!constraint) return;
  const { minLength, maxLength = 0, pattern, format, min, max } = constraint;
  if (min !== undefined && isBelow(value, min)) report('OUT_OF_RANGE', `must be ${min} or more`);
  if (max !== undefined && isBelow(max, value)) report('OUT_OF_RANGE', `must be ${max} or less`);
  if (typeof value === 'string') {
    if (minLength !== undefined && length < minLength)
      report('LENGTH', `must have at least ${characters(minLength)}`);
    if (isBeyond) report('LENGTH', `must have at most ${characters(maxLength)}`);
    else if (pattern && !pattern.test(value)) report('PATTERN', `must match ${pattern.source}`);
    const known = format === undefined ? undefined : formats.get(format);
    if (known && !known.test(value)) report('FORMAT', `must be ${known.what}`);
  }
}

/** Of numbers of one type, whose exact ones are texts in canonical form. */
export function isBelow(a: unknown, b: unknown): boolean {
  if (typeof a === 'number' && typeof b === 'number') return a < b;
  return typeof a === 'string' && typeof b === 'string' && isLess(a, b);
}

/** Characters, not UTF-16 units: people count an emoji once. */
function lengthOf(text: string): number {
  let length = 0;
  for (const _ of text) length++;
  return length;
}

function characters(count: number): string {
  return count === 1 ? '1 character' : `${count} characters`;
}
