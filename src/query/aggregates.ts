/** What can be computed of many records, and how the numbers of a statement become an answer. */

import { type DuetError, validationFailed } from '../base/errors.ts';
import { dividedEvenly, SCALE_OF_AVERAGES, textOfUnits, unitsOf } from '../schema/exact.ts';
import type { Column } from '../schema/model.ts';
import { isNumber, isScalar, keptAs, scaleOf } from '../schema/values.ts';
import { isSortable } from './operators.ts';

/** What a database computes of the rows of a group. */
export interface Measure {
  /** The name in the row. */
  readonly as: string;
  readonly of: 'count' | 'countDistinct' | 'sum' | 'min' | 'max';
  /** `count` without one counts rows. */
  readonly column: Column | undefined;
  /** Whether a sum is itself asked for, and not only an average that is made of it. */
  readonly isTotal?: true;
}

export type AggregateFunction = 'count' | 'countDistinct' | 'sum' | 'avg' | 'min' | 'max';

export const aggregateFunctions: readonly AggregateFunction[] = [
  'count',
  'countDistinct',
  'sum',
  'avg',
  'min',
  'max',
];

/** Sums and averages are of numbers; least and greatest are of whatever has an order. */
export function aggregateFits(of: AggregateFunction, column: Column): boolean {
  return of === 'sum' || of === 'avg' ? isNumber(column) : isSortable(column);
}

/** Whether sums and averages of a column are exact, and so texts. */
export function isExact({ type }: Column): boolean {
  return isScalar(type) && type.is === 'exact';
}

/** How many digits an average has behind the point. */
export function scaleOfAverage(column: Column): number {
  return keptAs(column) === 'bigint' ? SCALE_OF_AVERAGES : scaleOf(column);
}

/** A number that is wanted: `count` has no column. */
export interface Wanted {
  readonly of: AggregateFunction;
  readonly column: Column | undefined;
}

/** What the database is asked for; an average is a sum and a count, so that every database divides alike. */
export function measuresOf(wanted: readonly Wanted[]): Measure[] {
  const measures = new Map<string, Measure>();
  const add = (of: Measure['of'], column: Column | undefined, isPart = false) => {
    const as = nameOf(of, column);
    const isTotal = of === 'sum' && (!isPart || measures.get(as)?.isTotal === true);
    measures.set(as, { as, of, column, ...(isTotal && { isTotal }) });
  };
  for (const { of, column } of wanted) {
    if (of === 'avg') {
      add('sum', column, true);
      add('count', column);
    } else add(of, column);
  }
  // Something must be asked for, even when only the groups are wanted.
  if (measures.size === 0) add('count', undefined);
  return [...measures.values()];
}

/** `{ by: { author }, count, sum: { pages } }` from the row of a group. */
export function answerOf(
  row: Readonly<Record<string, unknown>>,
  by: readonly Column[],
  wanted: readonly Wanted[],
): Record<string, unknown> {
  const answer: Record<string, unknown> = {};
  const common = nothing();
  for (const { name } of by) common[name] = row[name];
  if (by.length > 0) answer['by'] = common;
  for (const { of, column } of wanted) {
    if (!column) answer[of] = row[nameOf('count', undefined)];
    else {
      const values = (answer[of] ?? {}) as Record<string, unknown>;
      values[column.name] = computed(row, of, column);
      answer[of] = values;
    }
  }
  return answer;
}

/** Values of a group that has none; without a prototype, as a field may be called `constructor`. */
export function nothing(): Record<string, unknown> {
  return Object.create(null);
}

/** Finite numbers can have a sum that is not, and no database or door has a word for it. */
export function sumTooLarge(most = 'what a Float can hold'): DuetError {
  return validationFailed([
    { code: 'OUT_OF_RANGE', detail: `A sum is beyond ${most}; ask for fewer records` },
  ]);
}

/** Fails where a sum cannot be answered. */
export function checkSum({ column, isTotal }: Measure, sum: unknown): void {
  if (!column || sum === null) return;
  const { type } = column;
  if (!isScalar(type) || type.is !== 'exact') {
    if (!Number.isFinite(sum)) throw sumTooLarge();
  } else if (isTotal)
    type.check(sum, () => {
      throw sumTooLarge('64 bits');
    });
}

function computed(row: Readonly<Record<string, unknown>>, of: AggregateFunction, column: Column): unknown {
  if (of === 'min' || of === 'max' || of === 'countDistinct') return row[nameOf(of, column)];
  const sum = row[nameOf('sum', column)];
  if (of !== 'avg') return rounded(column, sum);
  const count = Number(row[nameOf('count', column)]);
  if (count === 0) return null;
  if (!isExact(column)) return rounded(column, Number(sum) / count);
  const units = unitsOf(String(sum), scaleOf(column));
  // What no database answers is told as it is: whoever writes the answer refuses it, and says where it stands.
  if (units === undefined || !Number.isSafeInteger(count)) return sum;
  const scale = scaleOfAverage(column);
  return textOfUnits(dividedEvenly(units, BigInt(count), scale - scaleOf(column)), scale);
}

/** Databases add fractions in their own ways, which show in the last digits: those are not given. */
function rounded(column: Column, value: unknown): unknown {
  return typeof value === 'number' && keptAs(column) === 'float' ? Number(value.toPrecision(14)) : value;
}

/** With a character that no field's name has. */
function nameOf(of: Measure['of'], column: Column | undefined): string {
  return column ? `${of} ${column.name}` : `${of} *`;
}
