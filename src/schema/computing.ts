/** What functions of the deployment make of the fields of a record. */

import type { Fault } from '../base/errors.ts';
import { copied, PassedJson } from '../base/passed.ts';
import type { Computed } from './model.ts';
import { checkValue } from './values.ts';

type Values = Record<string, unknown>;

/** Undefined where a field that it is made of is hidden from the caller. */
export function computedValue({ column, from, compute: run }: Computed, row: Values): unknown {
  const values: Values = {};
  for (const { name } of from) {
    if (row[name] === undefined) return undefined;
    const value = row[name];
    // Only passed on, by whoever needs no more of it.
    values[name] = value instanceof PassedJson ? value.value : copied(value);
  }
  if (!run) throw new Error(`nothing computes ${column.name}`);
  const value = run(values) ?? null;
  if (value === null) {
    if (column.required)
      throw new Error(`the function of ${column.name} gave nothing, and it must not be null`);
    return null;
  }
  const faults: Fault[] = [];
  const checked = checkValue(column, value, faults);
  if (faults[0])
    throw new Error(`the function of a computed field gave what does not fit: ${faults[0].detail}`);
  return checked;
}
