/** Adds what functions of the deployment make of the fields of records to those that were read. */

import { PassedJson } from '../../base/passed.ts';
import { Turns } from '../../base/turns.ts';
import { computedValue } from '../../schema/computing.ts';
import type { Computed } from '../../schema/model.ts';
import { keptAs } from '../../schema/values.ts';
import { weigh } from '../../storage/sql/weights.ts';
import type { Row } from '../../storage/statements.ts';
import { OTHERS_TURN, type Program } from '../../storage/storage.ts';

/** After so many values the time is looked at, which takes as long as some of these functions. */
const LOOK = 16;

export function* compute(computed: readonly Computed[], rows: readonly Row[]): Program<void> {
  // Each function reads its own, with which it may do as it pleases: those of one record change nothing for each other.
  const read = computed.flatMap(({ from }) => from.filter((column) => keptAs(column) === 'json'));
  if (read.length > 0) weigh(read.map(({ name }) => rows.map((row) => textOf(row[name]))));
  let count = 0;
  let turns = new Turns();
  for (const each of computed) {
    const { name } = each.column;
    for (const row of rows) {
      // What is hidden from the caller is there already, as nothing.
      if (!(name in row)) row[name] = computedValue(each, row);
      if (++count % LOOK > 0 || !turns.isOver) continue;
      yield OTHERS_TURN;
      turns = new Turns();
    }
  }
}

/** Of what is only passed on, a function is given the value all the same. */
function textOf(value: unknown): string | undefined {
  return value instanceof PassedJson ? value.text : undefined;
}
