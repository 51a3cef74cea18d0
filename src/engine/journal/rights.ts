/** What a caller may see of the changes of a type: rules over records as they were, held against their values. */

import { everything, type Filter, isEverything } from '../../query/filter.ts';
import type { Resource } from '../../schema/model.ts';
import type { Row } from '../../storage/statements.ts';
import type { Program } from '../../storage/storage.ts';
import { type Demands, demand, matching } from '../policy/matching.ts';
import type { ChangeRights } from './changes-operation.ts';
import { keptVerdict } from './verdict.ts';

export const allRights: ChangeRights = { seen: everything, past: everything, hidden: [], guards: [] };

/** A record as it was, and what the caller may have of it. */
export interface Judged {
  readonly record: Row;
  readonly isSeen: boolean;
  readonly isPast: boolean;
  /** Whether it is among those that were asked for. */
  readonly isWanted: boolean;
}

/**
 * Judges all of them at once, by the database where only that knows; of what is seen, forbidden fields are taken away, and
 * references to what is not are null.
 */
export function* judge(
  resource: Resource,
  records: readonly Row[],
  { seen, past, hidden, guards }: ChangeRights,
  where: Filter,
): Program<readonly Judged[]> {
  const demands: Demands = new Map();
  const certain = new Map<Filter, Set<number>>();
  for (const filter of new Set([seen, past, where, ...guards.map((guard) => guard.where)])) {
    if (isEverything(filter)) continue;
    const verdict = keptVerdict(filter, resource);
    const matches = new Set<number>();
    certain.set(filter, matches);
    for (const [place, record] of records.entries()) {
      const isMet = verdict(record);
      if (isMet) matches.add(place);
      else if (isMet === undefined) demand(demands, filter, place);
    }
  }
  const met = yield* matching(resource, records, demands);
  const meets = (filter: Filter, place: number) =>
    isEverything(filter) || certain.get(filter)?.has(place) === true || met.get(filter)?.has(place) === true;
  const isWhole = guards.length === 0 && hidden.length === 0;
  return records.map((given, place) => {
    const record = isWhole ? given : { ...given };
    for (const guard of guards)
      if (!meets(guard.where, place)) for (const name of guard.properties) record[name] = guard.instead;
    for (const name of hidden) record[name] = undefined;
    return {
      record,
      isSeen: meets(seen, place),
      isPast: meets(past, place),
      isWanted: meets(where, place),
    };
  });
}
