/** What the contract says about reading, computed on plain rows, without SQL and without the server's own code. */

import type { Column, Inverse, Reference, Resource, Through } from '../../src/schema/model.ts';
import { type Row, type World, withPoint } from './reading-schemas.ts';

/** `where` exactly as REST takes it. */
export type Where = Readonly<Record<string, any>>;

export interface Sort {
  /** The references that lead to the record whose column it is. */
  readonly through?: readonly Reference[];
  readonly column: Column;
  readonly descending: boolean;
}

export interface Shape {
  /** Undefined are all. */
  readonly columns: readonly Column[] | undefined;
  readonly include: readonly Included[];
}

/** `where`, `sort`, `limit` and `after` are for lists only. */
export interface Included extends Part {
  readonly field: Reference | Inverse | Through;
  readonly shape: Shape;
  /** The children that come after this row of the whole list, and the cursor that says so. */
  readonly after: { readonly row: Row; readonly cursor: string } | undefined;
}

export interface Part {
  readonly where: Where | undefined;
  readonly sort: readonly Sort[];
  readonly limit: number | undefined;
  readonly offset: number | undefined;
}

/** A number of a group; `count` has no column. */
export interface Wanted {
  readonly of: string;
  readonly column: Column | undefined;
}

export interface Aggregates {
  readonly where: Where | undefined;
  readonly by: readonly Column[];
  readonly wanted: readonly Wanted[];
  /** Exactly as REST takes it. */
  readonly having: Where | undefined;
  /** By a number, or by what is grouped by. */
  readonly sort: readonly { readonly by: Wanted | Column; readonly descending: boolean }[];
  readonly limit: number | undefined;
  readonly offset: number | undefined;
  /** What is shown of the records that groups are of. */
  readonly include: readonly { readonly field: Reference; readonly shape: Shape }[];
}

export function isWanted(by: Wanted | Column): by is Wanted {
  return 'of' in by && !('part' in by);
}

/** All rows that match, in order. */
export function listed(
  world: World,
  resource: Resource,
  { where, sort }: Pick<Part, 'where' | 'sort'>,
): Row[] {
  const rows = world.rows.get(resource) ?? [];
  return rows
    .filter((row) => matches(world, resource, row, where ?? {}))
    .toSorted((a, b) => inOrder(world, resource, sort, a, b));
}

export function shown(world: World, resource: Resource, row: Row, { columns, include }: Shape): Row {
  const record: Record<string, unknown> = {};
  for (const { name } of columns ?? resource.columns) record[name] = row[name];
  for (const each of include) {
    const { field, shape } = each;
    if (field.kind === 'reference') {
      const target = referenced(world, field, row);
      record[field.name] = target ? shown(world, field.target, target, shape) : null;
    } else record[field.name] = children(world, field, row, each);
  }
  return record;
}

function children(
  world: World,
  field: Inverse | Through,
  row: Row,
  { shape, limit, offset = 0, after, ...part }: Included,
): Row[] {
  const own = new Set(membersOf(world, field, row));
  return listed(world, field.target, part)
    .filter((child) => own.has(child))
    .filter((child) => !after || inOrder(world, field.target, part.sort, after.row, child) < 0)
    .slice(offset, limit && offset + limit)
    .map((child) => shown(world, field.target, child, shape));
}

function referenced(world: World, { target, column }: Reference, row: Row): Row | undefined {
  return world.rows.get(target)?.find((far) => far[target.key.name] === row[column.name]);
}

/** A pair that is there twice is no second member. */
function membersOf(world: World, field: Inverse | Through, row: Row): Row[] {
  if (field.kind === 'inverse') return pointingAt(world, field, row);
  const links = pointingAt(world, field.links, row);
  return [...new Set(links.flatMap((link): Row[] => [referenced(world, field.far, link) ?? []].flat()))];
}

export function pointingAt(world: World, { target, reference }: Inverse, row: Row): Row[] {
  const key = row[reference.target.key.name];
  return (world.rows.get(target) ?? []).filter((far) => far[reference.column.name] === key);
}

function matches(world: World, resource: Resource, row: Row, where: Where): boolean {
  return Object.entries(where).every(([name, inner]) => {
    if (name === 'and') return inner.every((each: Where) => matches(world, resource, row, each));
    if (name === 'or') return inner.some((each: Where) => matches(world, resource, row, each));
    if (name === 'not') return !matches(world, resource, row, inner);
    const field = resource.fieldByName.get(name);
    if (field?.kind === 'reference') {
      const target = referenced(world, field, row);
      return target !== undefined && matches(world, field.target, target, inner);
    }
    if (field?.kind === 'inverse' || field?.kind === 'through') {
      const far = membersOf(world, field, row);
      const some = (of: Where) => far.some((each) => matches(world, field.target, each, of));
      return (!inner.some || some(inner.some)) && (!inner.none || !some(inner.none));
    }
    if (field?.kind !== 'column') throw new Error(`what is ${name}?`);
    return Object.entries(inner).every(([operator, operand]) =>
      operator === 'isNull'
        ? (row[name] === null) === operand
        : holds(comparable(field, row[name]), operator, comparable(field, operand)),
    );
  });
}

/** Logic has two values: a null is equal to nothing, and neither greater nor less. */
function holds(value: any, operator: string, operand: any): boolean {
  if (operator === 'ne') return value !== operand;
  if (value === null) return false;
  switch (operator) {
    case 'has':
      return value.includes(operand);
    case 'hasSome':
      return operand.some((each: unknown) => value.includes(each));
    case 'hasEvery':
      return operand.every((each: unknown) => value.includes(each));
    case 'isEmpty':
      return (value.length === 0) === operand;
    case 'eq':
      return value === operand;
    case 'in':
      return operand.includes(value);
    case 'contains':
      return value.includes(operand);
    case 'startsWith':
      return value.startsWith(operand);
    case 'endsWith':
      return value.endsWith(operand);
    case 'gt':
      return compare(value, operand) > 0;
    case 'gte':
      return compare(value, operand) >= 0;
    case 'lt':
      return compare(value, operand) < 0;
    case 'lte':
      return compare(value, operand) <= 0;
    default:
      throw new Error(`what is ${operator}?`);
  }
}

/** A number that is written as text, in units of the last digit that its column has; a text without the letter case that does not count. */
function comparable(column: Column, value: any): any {
  if (Array.isArray(value)) return value.map((each) => comparable(column, each));
  if (typeof value === 'string' && column.folded) return caseless(value);
  return typeof value === 'string' && isExact(column) ? unitsOf(column, value) : value;
}

/** As the runtime has the cases of each character, whatever stands beside it; only ı is a letter of its own. */
export function caseless(text: string): string {
  const letters = Array.from(text.normalize('NFC'), (each) =>
    each === 'ı' ? each : each.toLowerCase().toUpperCase().toLowerCase().replaceAll('ς', 'σ'),
  );
  return letters.join('').normalize('NFC');
}

function isExact({ type, list }: Column): boolean {
  return !list && (type.name === 'BigInt' || type.name === 'Decimal');
}

function unitsOf({ type }: Column, text: string): bigint {
  const [whole, fraction = ''] = text.split('.');
  return BigInt(`${whole}${fraction.padEnd('scale' in type ? type.scale : 0, '0')}`);
}

/** Null is the lowest; text goes by code points, which is how the bytes of UTF-8 go. */
function compare(a: any, b: any): number {
  if (a === null || b === null) return Number(a !== null) - Number(b !== null);
  if (typeof a === 'string') return Buffer.compare(Buffer.from(a), Buffer.from(b));
  if (typeof a === 'bigint') return a < b ? -1 : Number(a > b);
  return Number(a) - Number(b);
}

/** The key decides last. */
function inOrder(world: World, { key }: Resource, sort: readonly Sort[], a: Row, b: Row): number {
  for (const by of [...sort, { column: key, descending: false }]) {
    const { column, descending } = by;
    const [one, other] = [a, b].map((row) => comparable(column, valueAt(world, by, row)));
    const sign = compare(one, other);
    if (sign !== 0) return descending ? -sign : sign;
  }
  return 0;
}

/** Null where a reference leads nowhere. */
function valueAt(world: World, { through = [], column }: Sort, row: Row): unknown {
  const far = through.reduce<Row | undefined>((at, field) => at && referenced(world, field, at), row);
  return far ? far[column.name] : null;
}

/** Of all rows, or of these of them. */
export function aggregated(
  world: World,
  resource: Resource,
  asked: Aggregates,
  among?: ReadonlySet<Row>,
): Row[] {
  const { where, by, wanted, having, sort, limit, offset = 0, include } = asked;
  const groups = new Map<string, Row[]>();
  if (by.length === 0) groups.set('[]', []);
  for (const row of listed(world, resource, { where, sort: [] })) {
    if (among && !among.has(row)) continue;
    const name = JSON.stringify(by.map((column) => alike(column, groupOf(column, row))));
    groups.set(name, [...(groups.get(name) ?? []), row]);
  }
  const deciding = (of: Wanted | Column, rows: readonly Row[]) => {
    if (isWanted(of)) return comparedAs(of, rows);
    return comparable(of, rows[0] && groupOf(of, rows[0]));
  };
  const order = [...sort, ...by.map((column) => ({ by: column, descending: false }))];
  const inGroups = (a: readonly Row[], b: readonly Row[]) =>
    order.reduce((sign, { by: each, descending }) => {
      if (sign !== 0) return sign;
      return compare(deciding(each, a), deciding(each, b)) * (descending ? -1 : 1);
    }, 0);
  const kept = [...groups.values()]
    .filter((rows) => !having || matchesGroup(resource, rows, having))
    .toSorted(inGroups)
    .slice(offset, limit && offset + limit);
  // A sum that decides must be one that could be answered.
  const sums = [
    ...sort.map(({ by: each }) => each).filter(isWanted),
    ...(having ? sumsIn(resource, having) : []),
  ];
  return kept.map((rows) => {
    for (const { of, column } of sums)
      if (of === 'sum' && column)
        computed(
          of,
          column,
          rows.map((row) => row[column.name]),
        );
    const answer: Record<string, any> = {};
    const [first] = rows;
    if (by.length > 0 && first) {
      answer['by'] = Object.fromEntries(
        by.map((column) => {
          // Of texts that count as one, the first by code point.
          const [least] = rows.map((row) => groupOf(column, row)).toSorted(compare);
          return [column.name, column.folded ? least : groupOf(column, first)];
        }),
      );
      for (const { field, shape } of include) {
        const target = referenced(world, field, first);
        answer['by'][field.name] = target ? shown(world, field.target, target, shape) : null;
      }
    }
    for (const { of, column } of wanted)
      if (!column) answer[of] = rows.length;
      else
        answer[of] = {
          ...answer[of],
          [column.name]: computed(
            of,
            column,
            rows.map((row) => row[column.name]),
          ),
        };
    return answer;
  });
}

function alike({ folded }: Column, value: unknown): unknown {
  return folded && typeof value === 'string' ? caseless(value) : value;
}

/** A number of a group as it is compared: of sums that are exact, also what does not fit. */
function comparedAs({ of, column }: Wanted, rows: readonly Row[]): any {
  if (!column) return rows.length;
  const values = rows.map((row) => row[column.name]);
  if (of === 'sum' && isExact(column)) {
    const there = values.filter((value) => value !== null);
    return there.length > 0
      ? there.reduce<bigint>((sum, each) => sum + unitsOf(column, String(each)), 0n)
      : null;
  }
  const value = computed(of, column, values);
  return of === 'min' || of === 'max' ? comparable(column, value) : value;
}

function matchesGroup(resource: Resource, rows: readonly Row[], having: Where): boolean {
  return Object.entries(having).every(([name, inner]) => {
    if (name === 'and') return inner.every((each: Where) => matchesGroup(resource, rows, each));
    if (name === 'or') return inner.some((each: Where) => matchesGroup(resource, rows, each));
    if (name === 'not') return !matchesGroup(resource, rows, inner);
    if (name === 'count') return holdsAll(rows.length, inner, (operand) => operand);
    return Object.entries<any>(inner).every(([field, operators]) => {
      const column = resource.columns.find((each) => each.name === field);
      if (!column) throw new Error(`there is no ${field}`);
      const isValue = name !== 'countDistinct' && name !== 'avg';
      return holdsAll(comparedAs({ of: name, column }, rows), operators, (operand) =>
        isValue ? comparable(column, operand) : operand,
      );
    });
  });
}

function holdsAll(value: unknown, operators: Where, operandOf: (operand: unknown) => unknown): boolean {
  return Object.entries(operators).every(([operator, operand]) =>
    operator === 'isNull' ? (value === null) === operand : holds(value, operator, operandOf(operand)),
  );
}

function sumsIn(resource: Resource, having: Where): Wanted[] {
  return Object.entries(having).flatMap(([name, inner]): Wanted[] => {
    if (name === 'and' || name === 'or') return inner.flatMap((each: Where) => sumsIn(resource, each));
    if (name === 'not') return sumsIn(resource, inner);
    if (name !== 'sum') return [];
    return resource.columns.flatMap((column) =>
      Object.hasOwn(inner, column.name) ? [{ of: name, column }] : [],
    );
  });
}

/** A value, or the first day or the beginning of the hour that it lies in. */
function groupOf(column: Column, row: Row): unknown {
  if (!('part' in column)) return row[column.name];
  const { part, of } = column as Column & { part: string; of: Column };
  const value = row[of.name];
  if (value === null) return null;
  const time = new Date(String(value));
  if (part === 'hour') time.setUTCMinutes(0, 0, 0);
  if (part === 'year') time.setUTCMonth(0, 1);
  if (part === 'month') time.setUTCDate(1);
  if (part === 'week') time.setUTCDate(time.getUTCDate() - ((time.getUTCDay() + 6) % 7));
  return part === 'hour' ? time.toISOString() : time.toISOString().slice(0, 10);
}

function computed(of: string, column: Column, all: readonly unknown[]): unknown {
  const values = all
    .filter((value) => value !== null)
    .toSorted(
      (a, b) => compare(comparable(column, a), comparable(column, b)) || (column.folded ? compare(a, b) : 0),
    );
  if (of === 'countDistinct') return new Set(values.map((value) => alike(column, value))).size;
  if (values.length === 0) return null;
  if (of === 'min') return values[0];
  if (of === 'max') return values.at(-1);
  if (isExact(column)) return exactly(of, column, values as string[]);
  const sum = values.reduce<number>((total, value) => total + Number(value), 0);
  return of === 'sum' ? sum : sum / values.length;
}

/** An answer that does not fit; the whole request fails with it. */
export class TooLarge extends Error {}

function exactly(of: string, column: Column, values: readonly string[]): string {
  const { name, scale } = column.type as { name: string; scale: number };
  const sum = values.reduce((total, value) => total + unitsOf(column, value), 0n);
  if (of === 'sum') {
    const least = name === 'BigInt' ? -(2n ** 63n) : 1n - 2n ** 63n;
    if (sum < least || sum >= 2n ** 63n) throw new TooLarge();
    return withPoint(sum, scale);
  }
  const more = name === 'BigInt' ? 6 : 0;
  const [dividend, count] = [sum * 10n ** BigInt(more), BigInt(values.length)];
  // The multiple below it, and how far it is from there, both in halves of the count.
  const below = (dividend - (((dividend % count) + count) % count)) / count;
  const beyond = 2n * (dividend - below * count);
  const isUp = beyond > count || (beyond === count && below % 2n !== 0n);
  return withPoint(isUp ? below + 1n : below, scale + more);
}
