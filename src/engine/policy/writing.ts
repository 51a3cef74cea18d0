/** What a caller may give of a record, and what it sees of the record that it writes. */

import { type Fault, isFull, pointer } from '../../base/errors.ts';
import { type Filter, isEverything, isNothing } from '../../query/filter.ts';
import type { Action, Column, Resource, Through } from '../../schema/model.ts';
import { INCREMENTS } from '../../schema/names.ts';
import { ADD, linkFields } from '../../schema/through.ts';
import { storedColumns } from '../../schema/values.ts';
import type { Row } from '../../storage/statements.ts';
import type { Program } from '../../storage/storage.ts';
import type { Input, Selection } from '../operation.ts';
import type { Access } from './access.ts';
import { type Guard, hide } from './guards.ts';
import { ownGuards, readableSelection } from './reading.ts';

type Path = readonly (string | number)[];

/** Refuses a new record with fields, or with nested records, that the caller may never give. */
export function mayGive(access: Access, resource: Resource, input: Input, path: Path = []): void {
  const faults: Fault[] = [];
  collectForbidden(access, resource, input, path, faults);
  if (faults[0]) throw access.denied(`${faults[0].detail}.`, faults);
}

function collectForbidden(
  access: Access,
  resource: Resource,
  input: Input,
  path: Path,
  faults: Fault[],
): void {
  for (const [name, value] of Object.entries(input)) {
    if (isFull(faults)) return;
    const field = resource.fieldByName.get(name);
    if (!field) continue;
    if (isNothing(access.field(field, 'CREATE'))) {
      faults.push(notYours(resource, name, path));
      continue;
    }
    if (field.kind !== 'inverse' || !Array.isArray(value)) continue;
    access.admit(field.target, 'CREATE');
    // To be nested here is to be given the reference.
    const { reference, target } = field;
    if (isNothing(access.field(reference, 'CREATE'))) {
      faults.push({ ...notYours(target, reference.column.name, path), pointer: pointer(...path, name) });
      continue;
    }
    for (const [index, each] of value.entries())
      if (typeof each === 'object' && each !== null)
        collectForbidden(access, target, each, [...path, name, index], faults);
  }
  for (const { name, through } of linkFields(resource)) {
    if (!Object.hasOwn(input, name)) continue;
    const { target: join, reference: near } = through.links;
    const isLinking = adds(input[name]);
    if (isLinking) access.admit(join, 'CREATE');
    // To be linked is to be given both references.
    const needed = isLinking ? [through, near, through.far] : [through];
    if (needed.some((field) => isNothing(access.field(field, 'CREATE'))))
      faults.push(notYours(resource, name, path));
  }
}

/** Whether what is said of a list through a join type makes links. */
function adds(given: unknown): boolean {
  return addedIn(given).length > 0;
}

/** What is linked by what is said of a list through a join type. */
export function addedIn(given: unknown): readonly unknown[] {
  const list = typeof given === 'object' && given !== null && ADD in given ? given[ADD] : given;
  return Array.isArray(list) ? list : [];
}

function notYours({ singular }: Resource, name: string, path: Path): Fault {
  const detail = `You may not set ${name} of this ${singular}`;
  return { pointer: pointer(...path, name), code: 'FORBIDDEN', detail };
}

function unreadable({ singular }: Resource, name: string): Fault {
  const detail = `You may not read ${name} of this ${singular}, so you may not add to it`;
  return { pointer: pointer(INCREMENTS, name), code: 'FORBIDDEN', detail };
}

/** The conditions under which these fields may be given; empty when there are none. */
export function givenOn(access: Access, resource: Resource, given: readonly string[]): Filter[] {
  return given.flatMap((name) => {
    const field = resource.fieldByName.get(name) ?? throughOf(resource, name);
    const where = field && access.field(field, 'CREATE');
    return where && !isEverything(where) ? [where] : [];
  });
}

function throughOf(resource: Resource, name: string): Through | undefined {
  return linkFields(resource).find((each) => each.name === name)?.through;
}

/** The same for an update. What is as the caller sees it is not changed, so that a record that was read can be sent. */
export function changedOn(access: Access, resource: Resource, input: Input, seen: Row): Filter[] {
  const faults: Fault[] = [];
  const conditions: Filter[] = [];
  const added = (input[INCREMENTS] ?? {}) as Input;
  for (const column of resource.columns) {
    const { name } = column;
    const isAdded = Object.hasOwn(added, name);
    if (!isAdded && (!Object.hasOwn(input, name) || Bun.deepEquals(seen[name], input[name]))) continue;
    const where = access.field(column, 'UPDATE');
    if (isNothing(where)) faults.push(notYours(resource, name, isAdded ? [INCREMENTS] : []));
    // Whether a result is refused would tell what was there.
    else if (isAdded && seen[name] === undefined) faults.push(unreadable(resource, name));
    else if (!isEverything(where)) conditions.push(where);
  }
  for (const { name, through } of linkFields(resource)) {
    if (!Object.hasOwn(input, name)) continue;
    const where = access.field(through, 'UPDATE');
    if (isNothing(where)) faults.push(notYours(resource, name, []));
    else if (!isEverything(where)) conditions.push(where);
  }
  if (faults[0]) throw access.denied(`${faults[0].detail}.`, faults);
  return conditions;
}

/** Whether a new record can be told to be allowed without looking at it. */
export function isAlwaysAllowed(access: Access, resource: Resource, action: Action): boolean {
  if (!isEverything(access.rows(resource, 'READ'))) return false;
  if (action !== 'UPDATE') return isEverything(access.rows(resource, action));
  return access
    .ways(resource)
    .some(({ where, check }) => isEverything(where) && (!check || isEverything(check)));
}

/** Whether no rule looks at the new record itself. `known`: the reference to the record that it is nested in, which is given too. */
export function isUnchecked(
  access: Access,
  resource: Resource,
  given: readonly string[],
  known?: Column,
): boolean {
  if (access.isFree) return true;
  const names = known ? [...given, known.name] : given;
  return isAlwaysAllowed(access, resource, 'CREATE') && givenOn(access, resource, names).length === 0;
}

/** Whether these fields may be changed in every record, and all of it is seen before and after. */
export function mayAlwaysChange(access: Access, resource: Resource, names: readonly string[]): boolean {
  if (access.isFree) return true;
  const isOpen = (name: string) => {
    const field = resource.fieldByName.get(name);
    return field !== undefined && isEverything(access.field(field, 'UPDATE'));
  };
  return (
    isAlwaysAllowed(access, resource, 'UPDATE') && names.every(isOpen) && !guardsOfWhole(access, resource)
  );
}

const whole = new WeakMap<Resource, Selection>();

function guardsOfWhole(access: Access, resource: Resource): readonly Guard[] | undefined {
  let selection = whole.get(resource);
  if (!selection) {
    selection = { columns: storedColumns(resource), relations: [] };
    whole.set(resource, selection);
  }
  return readableSelection(access, resource, selection).guards;
}

/** The columns that a stored row may have hidden from the caller. */
export function maybeHidden(access: Access, resource: Resource): readonly Column[] {
  return guardsOfWhole(access, resource)?.flatMap(({ column }) => column ?? []) ?? [];
}

/** Stored rows as the caller sees them; what is computed and hidden has no value, where `input` has one for it. */
export function* asSeen(
  access: Access,
  resource: Resource,
  rows: readonly Row[],
  input: Input,
): Program<readonly Row[]> {
  const repeated = resource.computed.filter(({ column }) => Object.hasOwn(input, column.name));
  const guards = [...(guardsOfWhole(access, resource) ?? []), ...ownGuards(access, resource, repeated)];
  if (guards.length === 0) return rows;
  const seen = rows.map((row) => ({ ...row }));
  yield* hide([{ guards, rows: seen }]);
  return seen;
}

/** A reference to what the caller may not see is null to it already: to set it to null changes nothing. */
export function withoutUnseen(resource: Resource, set: Row, stored: Row, seen: Row): Row {
  const unseen = resource.references.filter(
    ({ column: { name } }) => set[name] === null && seen[name] === null && stored[name] !== null,
  );
  if (unseen.length === 0) return set;
  const kept = { ...set };
  for (const { column } of unseen) delete kept[column.name];
  return kept;
}
