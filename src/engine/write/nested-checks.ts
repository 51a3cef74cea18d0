/** Holds new records and all that is nested in them against the checks of their types, before any of them is stored. */

import { type Fault, nested, validationFailed } from '../../base/errors.ts';
import { type Check, checksOf } from '../../query/checks.ts';
import { ownColumns } from '../../query/filter.ts';
import type { Column, Resource } from '../../schema/model.ts';
import type { Program } from '../../storage/storage.ts';
import { inTurns } from '../in-turns.ts';
import type { Access } from '../policy/access.ts';
import { broken, checkFailed, tell } from './holds.ts';
import { computeAll } from './recompute.ts';
import type { NewRecord } from './validate.ts';

type Path = readonly (string | number)[];

/** New records that stand in lists of one kind. */
interface Kind {
  readonly type: Resource;
  readonly checks: readonly Check[];
  readonly standing: { readonly record: NewRecord; readonly order: number; readonly path: () => Path }[];
}

/** Whether a type of what is nested in a record has checks. */
export function hasChecksBelow({ children }: NewRecord): boolean {
  return children.some(
    ({ inverse, records }) => inverse.target.checks.length > 0 || records.some(hasChecksBelow),
  );
}

/**
 * Refuses them with the faults of every level, in the order of the input, and answers with those that hold: but for checks that ask for
 * the reference to the record that they are nested in, which has no key yet. What a function may still change is not among them.
 */
export function* mustHoldNested(
  access: Access,
  resource: Resource,
  records: readonly NewRecord[],
  at: (index: number) => Path,
): Program<ReadonlySet<NewRecord>> {
  const kinds = new Map<Resource | Column, Kind>();
  let order = 0;
  const gather = (
    type: Resource,
    known: Column | undefined,
    list: readonly NewRecord[],
    path: (index: number) => Path,
  ) => {
    const kind = kinds.get(known ?? type) ?? kindOf(access, type, known);
    kinds.set(known ?? type, kind);
    for (const [index, record] of list.entries()) {
      const own = () => path(index);
      kind.standing.push({ record, order: order++, path: own });
      for (const { inverse, records, links } of record.children) {
        const place = (inner: number) => links?.add[inner]?.path ?? [inverse.name, inner];
        gather(inverse.target, inverse.reference.column, records, (inner) => [...own(), ...place(inner)]);
      }
    }
  };
  gather(resource, undefined, records, at);
  const held = [...kinds.values()].filter(({ checks }) => checks.length > 0);
  const broke: { readonly order: number; readonly fault: Fault }[] = [];
  for (const { type, checks, standing } of held) {
    if (type.recomputed.length > 0) yield* inTurns(standing, ({ record }) => computeAll(type, record.values));
    const rows = standing.map(({ record }) => record.values);
    for (const { place, check } of yield* broken(type, rows, checks)) {
      const { order, path } = standing[place] as Kind['standing'][number];
      broke.push({ order, fault: nested(checkFailed(check), ...path()) });
    }
  }
  const faults: Fault[] = [];
  for (const { fault } of broke.sort((one, other) => one.order - other.order)) tell(faults, fault);
  if (faults.length > 0) throw validationFailed(faults);
  return new Set(held.flatMap(({ standing }) => standing.map(({ record }) => record)));
}

function kindOf(access: Access, type: Resource, known: Column | undefined): Kind {
  const mayChange = access.hooksOf?.(type)?.beforeCreate !== undefined;
  // Nothing that is stored is computed from a reference.
  const asksForKnown = ({ where }: Check) => known && ownColumns(where, type).has(known);
  const checks = mayChange ? [] : checksOf(type).filter((check) => !asksForKnown(check));
  return { type, checks, standing: [] };
}
