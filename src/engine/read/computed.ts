/** Adds what functions of the deployment make of the fields of records to those that were read. */

import { PassedJson } from '../../base/passed.ts';
import { computedValue } from '../../schema/computing.ts';
import type { Computed } from '../../schema/model.ts';
import { keptAs } from '../../schema/values.ts';
import { weigh } from '../../storage/sql/weights.ts';
import type { Row } from '../../storage/statements.ts';
import type { Program } from '../../storage/storage.ts';
import { inTurns } from '../in-turns.ts';

export function* compute(computed: readonly Computed[], rows: readonly Row[]): Program<void> {
  // Each function reads its own, with which it may do as it pleases: those of one record change nothing for each other.
  const read = computed.flatMap(({ from }) => from.filter((column) => keptAs(column) === 'json'));
  if (read.length > 0) weigh(read.map(({ name }) => rows.map((row) => textOf(row[name]))));
  yield* inTurns(rows, (row) => {
    for (const each of computed) {
      const { name } = each.column;
      // What is hidden from the caller is there already, as nothing.
      if (!(name in row)) row[name] = computedValue(each, row);
    }
  });
}

/** Of what is only passed on, a function is given the value all the same. */
function textOf(value: unknown): string | undefined {
  return value instanceof PassedJson ? value.text : undefined;
}
