/** What must be true of a record, whoever writes it: the checks of its type, and the changes that its states allow. */

import { type Fault, isFull, nested, pointer, validationFailed } from '../../base/errors.ts';
import { type Check, checksOf } from '../../query/checks.ts';
import { ownColumns } from '../../query/filter.ts';
import type { Resource } from '../../schema/model.ts';
import { nextOf, staged } from '../../schema/transitions.ts';
import { defaultOf } from '../../schema/values.ts';
import type { Row } from '../../storage/statements.ts';
import type { Program } from '../../storage/storage.ts';
import { type Demands, matching } from '../policy/matching.ts';
import { conflict } from './collision.ts';

type Path = readonly (string | number)[];

/** Says of which of the records a fault is. */
type Of = (fault: Fault, place: number) => Fault;

/** Refuses records that break a check of their type. `set`: what an update changes; the rest was true before. */
export function* mustHold(
  resource: Resource,
  rows: readonly Row[],
  set?: Row,
  of: Of = (fault) => fault,
): Program<void> {
  const faults: Fault[] = [];
  const isAsked = ({ where }: Check) =>
    !set || [...ownColumns(where, resource)].some(({ name }) => Object.hasOwn(set, name));
  for (const { place, check } of yield* broken(resource, rows, checksOf(resource).filter(isAsked)))
    tell(faults, of(checkFailed(check), place));
  if (faults.length > 0) throw validationFailed(faults);
}

export function checkFailed({ message }: Check): Fault {
  return { pointer: '#', code: 'CHECK_FAILED', detail: message };
}

interface Broken {
  readonly place: number;
  readonly check: Check;
}

/** The checks that do not hold, and for which of the records. */
export function* broken(
  resource: Resource,
  rows: readonly Row[],
  asked = checksOf(resource),
): Program<readonly Broken[]> {
  if (asked.length === 0 || rows.length === 0) return [];
  const places = [...rows.keys()];
  const demands: Demands = new Map(asked.map(({ where }) => [where, places]));
  const met = yield* matching(resource, rows, demands);
  return places.flatMap((place) =>
    asked.filter(({ where }) => !met.get(where)?.has(place)).map((check) => ({ place, check })),
  );
}

/** Refuses new records that do not begin where their states do. */
export function mustStart(resource: Resource, rows: readonly Row[], at: (place: number) => Path): void {
  const faults: Fault[] = [];
  for (const column of staged(resource)) {
    const start = defaultOf(column);
    if (start === undefined) continue;
    const { name } = column;
    const detail = `${name} starts as ${start}`;
    for (const [place, row] of rows.entries())
      if (row[name] !== start)
        tell(
          faults,
          nested({ pointer: pointer(name), code: 'TRANSITION_NOT_ALLOWED', detail }, ...at(place)),
        );
  }
  if (faults.length > 0) throw conflict(faults);
}

/** Refuses an update that takes a state where it cannot go. `seen`: the rows as the caller may read them. */
export function mayPass(
  resource: Resource,
  set: Row,
  rows: readonly Row[],
  seen: readonly (Row | undefined)[],
  of: Of = (fault) => fault,
): void {
  const faults: Fault[] = [];
  for (const column of staged(resource)) {
    const { name } = column;
    if (!Object.hasOwn(set, name)) continue;
    const to = set[name];
    for (const [place, row] of rows.entries()) {
      const from = row[name];
      const next = nextOf(column, from);
      if (from === to || next.some((each) => each === to)) continue;
      const where = next.length > 0 ? `it can go to ${next.join(', ')}` : `${from} is an end`;
      const isRead = (seen[place] ?? row)[name] !== undefined;
      const detail = isRead
        ? `${name} cannot go from ${from} to ${to}; ${where}`
        : `${name} cannot go to ${to} from where it is`;
      tell(faults, of({ pointer: pointer(name), code: 'TRANSITION_NOT_ALLOWED', detail }, place));
    }
  }
  if (faults.length > 0) throw conflict(faults);
}

/** The same can be broken of many records: where nothing says of which, it is told once. */
export function tell(faults: Fault[], fault: Fault): void {
  if (isFull(faults)) return;
  const isSame = ({ pointer, detail, key }: Fault) =>
    pointer === fault.pointer && detail === fault.detail && key === fault.key;
  if (!faults.some(isSame)) faults.push(fault);
}
