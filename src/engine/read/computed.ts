/** Adds what functions of the deployment make of the fields of records to those that were read. */

import { PassedJson } from '../../base/passed.ts';
import { computedValue, shown } from '../../schema/computing.ts';
import type { Computed } from '../../schema/model.ts';
import { keptAs } from '../../schema/values.ts';
import { weigh } from '../../storage/sql/weights.ts';
import type { Row } from '../../storage/statements.ts';

export function compute(computed: readonly Computed[], rows: readonly Row[]): void {
  const made = new Set(computed.flatMap(({ from }) => from.filter((column) => keptAs(column) === 'json')));
  if (made.size > 0) weigh([...made].map(({ name }) => rows.map((row) => textOf(row[name]))));
  for (const row of rows) {
    const given = computed.length > 1 ? readOnce() : shown;
    for (const each of computed) {
      const { name } = each.column;
      // What is hidden from the caller is there already, as nothing.
      if (!(name in row)) row[name] = computedValue(each, row, given);
    }
  }
}

/** All functions of a record are shown the same: to read JSON for each takes as long as all else. */
function readOnce(): (value: unknown) => unknown {
  const read = new Map<unknown, unknown>();
  return (value) => {
    if (!(value instanceof PassedJson)) return shown(value);
    if (!read.has(value)) read.set(value, value.value);
    return read.get(value);
  };
}

/** Of what is only passed on, a function is given the value all the same. */
function textOf(value: unknown): string | undefined {
  return value instanceof PassedJson ? value.text : undefined;
}
