/** The changes of each record of an answer. */

import { DuetError } from '../../base/errors.ts';
import { equal, everything } from '../../query/filter.ts';
import type { Resource } from '../../schema/model.ts';
import { journalNames } from '../../schema/names.ts';
import { changes } from '../../storage/own.ts';
import type { Row } from '../../storage/statements.ts';
import type { Program } from '../../storage/storage.ts';
import { type Budget, LOOKED_BYTES } from '../budget.ts';
import type { Permitted } from '../policy/permitted.ts';
import { relationKey } from '../read/read.ts';
import type { ChangesRead, OwnChanges, Telling } from './changes-operation.ts';
import type { Positions } from './positions.ts';
import { beginning, byPosition, LOOKED_AT, lightOf, withImages } from './reading.ts';
import { type Change, shownOf } from './showing.ts';
import { bytesOfChanges } from './sizes.ts';

/** They have no pages: they are refused where so much more is looked at than answered. */
const MOST_LOOKED_BYTES = 8 * LOOKED_BYTES;

/** Adds to records what has happened to them: the first so many of each, of which the caller may not see all. */
export function* addChanges(
  positions: Positions,
  { as, resource, after, at, limit, telling, rights }: OwnChanges,
  nodes: readonly Row[],
  budget: Budget,
  often?: ReadonlyMap<Row, number>,
): Program<void> {
  const operation = {
    do: 'changes',
    resources: [resource],
    record: undefined,
    where: everything,
    after,
    at,
    limit,
    telling,
    ...(rights && { rights: new Map([[resource, rights]]) }),
  } as unknown as Permitted<ChangesRead>;
  const begin = yield* beginning(positions, operation, rights ? yield* positions.now() : 0);
  const own = new Map<string, { readonly found: Change[]; times: number }>();
  for (const node of nodes) {
    const key = String(node[resource.key.name]);
    const of = own.get(key) ?? { found: [], times: 0 };
    of.times += often?.get(node) ?? 1;
    own.set(key, of);
    node[relationKey(as)] = of.found;
  }
  if (begin === undefined) return;
  const { table, key } = changes.column;
  const most = budget.most + LOOKED_AT;
  const rows = yield* lightOf(
    positions,
    equal(table, resource.table),
    begin.at,
    key,
    [...own.keys()],
    limit,
    most,
  );
  const byTable = new Map([[resource.table, resource]]);
  for (let left = rows.sort(byPosition(positions)); left.length > 0; ) {
    const { next, bytes, rest } = yield* withImages(positions, left, operation, LOOKED_BYTES);
    const shown = yield* shownOf(positions, next, byTable, operation, begin.past);
    const spentBefore = budget.bytes;
    takeOften(shown, own, telling, budget);
    for (const change of shown) own.get(String(change.key))?.found.push(change);
    // Only what the answer does not have: the rest is counted as its own.
    budget.lookedBytes += Math.max(0, bytes - Math.max(0, budget.bytes - spentBefore));
    left = rest;
    if (budget.lookedBytes > MOST_LOOKED_BYTES) throw tooMuchToLookAt(resource);
  }
  if (rows.length === most) throw tooMuchToLookAt(resource);
}

function takeOften(
  shown: readonly Change[],
  own: ReadonlyMap<string, { readonly times: number }>,
  telling: Telling,
  budget: Budget,
): void {
  const timesOf = ({ key }: Change) => own.get(String(key))?.times ?? 0;
  budget.take(
    shown.reduce((sum, change) => sum + timesOf(change), 0),
    (isExact) =>
      shown.reduce((sum, change) => sum + timesOf(change) * bytesOfChanges([change], telling, isExact), 0),
  );
}

/** A list that just ended would tell that nothing more has happened. */
function tooMuchToLookAt(resource: Resource): DuetError {
  return new DuetError(
    'ANSWER_TOO_LARGE',
    `One answer does not look at so much of what has happened to its ${resource.plural}. Ask for fewer of them, or for ${journalNames.query(resource)}, which comes in pages.`,
  );
}
