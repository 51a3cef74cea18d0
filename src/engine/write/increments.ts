/** `_inc` of an update: what is added to the numbers that are stored, while nobody else can change them. */

import { cited, type Fault, isFull, nested, pointer } from '../../base/errors.ts';
import { all, type Filter, not } from '../../query/filter.ts';
import { textOfUnits, unitsIn } from '../../schema/exact.ts';
import type { Bound, Column, Resource } from '../../schema/model.ts';
import { INCREMENTS } from '../../schema/names.ts';
import { didYouMean } from '../../schema/suggest.ts';
import {
  checkValue,
  incrementable,
  isNumber,
  isScalar,
  keptAs,
  scaleOf,
  updatable,
} from '../../schema/values.ts';
import type { Row } from '../../storage/statements.ts';
import type { Input } from '../operation.ts';
import { conflict } from './collision.ts';

/** By how much each number changes; undefined where the update adds nothing. Faults are those of the request. */
export function incrementsOf(resource: Resource, input: Input, faults: Fault[]): Row | undefined {
  if (!Object.hasOwn(input, INCREMENTS)) return undefined;
  const given = input[INCREMENTS];
  const report = (path: readonly string[], code: Fault['code'], detail: string) =>
    faults.push({ pointer: pointer(INCREMENTS, ...path), code, detail });
  const names = () =>
    incrementable(resource)
      .map(({ name }) => name)
      .join(', ') || 'none';
  const by: Row = Object.create(null);
  if (typeof given !== 'object' || given === null || Array.isArray(given)) {
    report([], 'TYPE', `${INCREMENTS} must be an object of numbers to add; it adds to: ${names()}`);
    return by;
  }
  const entries = Object.entries(given);
  if (entries.length === 0) report([], 'EMPTY', `${INCREMENTS} is empty; it adds to: ${names()}`);
  for (const [name, amount] of entries) {
    if (isFull(faults)) break;
    const column = updatable(resource).find((each) => each.name === name);
    if (!column || !isNumber(column)) report([name], ...whyNot(resource, name, names()));
    else if (Object.hasOwn(input, name))
      report([name], 'UNKNOWN', `${name} is set by the same update; set it, or add to it`);
    else if (amount === null) report([name], 'REQUIRED', `${name} must not be null; add 0, or leave it out`);
    else {
      const misfits: Fault[] = [];
      by[name] = checkValue(unconstrained(column), amount, misfits);
      for (const fault of misfits) faults.push(nested(fault, INCREMENTS));
    }
  }
  return by;
}

const free = new WeakMap<Column, Column>();

/** What is added need not be a value that the field could have. */
function unconstrained(column: Column): Column {
  if (!column.constraint) return column;
  let found = free.get(column);
  if (!found) {
    found = { ...column, constraint: undefined };
    free.set(column, found);
  }
  return found;
}

function whyNot(resource: Resource, name: string, names: string): [Fault['code'], string] {
  const field = resource.fieldByName.get(name);
  const cure = `${INCREMENTS} adds to: ${names}`;
  if (field?.kind !== 'column')
    return [
      'UNKNOWN',
      `"${cited(name)}" is no number of ${resource.name}; ${cure}.${didYouMean(name, names.split(', '))}`,
    ];
  return isNumber(field)
    ? ['READ_ONLY', `${name} is set by the server; ${cure}`]
    : ['TYPE', `${name} is no number; ${cure}`];
}

/**
 * The new values of a stored record, all of which its fields must admit. `seen`: the record as the caller sees it, since a
 * function may add to what the caller may not read. `of`: says which of many it is.
 */
export function incremented(
  resource: Resource,
  by: Row | undefined,
  stored: Row,
  seen = stored,
  of = (fault: Fault) => fault,
): Row {
  const next: Row = {};
  const faults: Fault[] = [];
  for (const name in by) {
    const column = resource.fieldByName.get(name) as Column;
    const value = stored[name];
    const misfits: Fault[] = [];
    if (value === null) misfits.push({ code: 'OUT_OF_RANGE', detail: `${name} has no value to add to` });
    else next[name] = checkValue(column, sumOf(column, value, by[name]), misfits);
    for (const { detail } of misfits) {
      const sum = value === null ? '' : `, and would be ${sumOf(column, value, by[name])}`;
      const isHidden = seen[name] === undefined;
      const told = isHidden ? `${name} does not admit what is added to it` : `${detail}${sum}`;
      const where = `in ${resource.singular} ${stored[resource.key.name]}`;
      faults.push(
        of({ pointer: pointer(INCREMENTS, name), code: 'OUT_OF_RANGE', detail: `${told} ${where}` }),
      );
    }
  }
  if (faults.length > 0) throw conflict(faults);
  return next;
}

/**
 * The records whose numbers admit all of it, so that one statement can look and add. Undefined where no filter says so: a
 * float is rounded when it is added, and some amounts have room nowhere.
 */
export function roomFor(resource: Resource, by: Row | undefined): Filter | undefined {
  const conditions: Filter[] = [];
  for (const name in by) {
    const column = resource.fieldByName.get(name) as Column;
    const range = rangeOf(column);
    if (!range) return undefined;
    const { least, most, first, last } = range;
    const [lower, upper] = without(by[name], least, most);
    if (lower > last || upper < first) return undefined;
    if (lower > first) conditions.push({ is: 'gte', column, value: asValue(column, lower) });
    if (upper < last) conditions.push({ is: 'lte', column, value: asValue(column, upper) });
    if (!column.required) conditions.push(not({ is: 'null', column }));
  }
  return all(conditions);
}

/** An Int is a number, and exact where it is added to another; all else is counted in units of the last digit. */
type Units = number | bigint;

/** What the field admits, and what its type does. */
interface Range {
  readonly least: Units;
  readonly most: Units;
  readonly first: Units;
  readonly last: Units;
}

/** Where numbers may begin and end to which an amount is added. */
function without(amount: unknown, least: Units, most: Units): readonly [Units, Units] {
  if (typeof least === 'number' && typeof most === 'number')
    return [least - Number(amount), most - Number(amount)];
  const units = unitsIn(String(amount));
  return [BigInt(least) - units, BigInt(most) - units];
}

const ranges = new WeakMap<Column, Range>();

function rangeOf(column: Column): Range | undefined {
  const known = ranges.get(column);
  const { type, constraint } = column;
  if (known || !isScalar(type) || !type.range) return known;
  const { min, max } = constraint ?? {};
  const units = (bound: Bound, round: (value: number) => number) =>
    typeof bound === 'number' ? BigInt(round(bound)) : unitsIn(bound);
  const [first, last] = type.range;
  let [least, most] = type.range;
  if (min !== undefined && units(min, Math.ceil) > least) least = units(min, Math.ceil);
  if (max !== undefined && units(max, Math.floor) < most) most = units(max, Math.floor);
  const isInt = keptAs(column) === 'integer';
  const as = (bound: bigint): Units => (isInt ? Number(bound) : bound);
  const range = { least: as(least), most: as(most), first: as(first), last: as(last) };
  ranges.set(column, range);
  return range;
}

function asValue(column: Column, units: Units): unknown {
  return typeof units === 'number' ? units : textOfUnits(units, scaleOf(column));
}

function sumOf(column: Column, value: unknown, by: unknown): unknown {
  if (typeof value === 'number') return value + Number(by);
  return textOfUnits(unitsIn(String(value)) + unitsIn(String(by)), scaleOf(column));
}
