/** Adds what functions of the deployment make of the fields of records to those that were read. */

import { computedValue } from '../../schema/computing.ts';
import type { Computed } from '../../schema/model.ts';
import type { Row } from '../../storage/statements.ts';

export function compute(computed: readonly Computed[], rows: readonly Row[]): void {
  for (const each of computed) {
    const { name } = each.column;
    // What is hidden from the caller is there already, as nothing.
    for (const row of rows) if (!(name in row)) row[name] = computedValue(each, row);
  }
}
