/** What the server decides of a record, and what may be given in its place. */

import { claimFor } from '../../access/claims.ts';
import { DuetError } from '../../base/errors.ts';
import type { Column, Resource } from '../../schema/model.ts';
import { withArticle } from '../../schema/names.ts';
import { defaultOf, reserved, updatable } from '../../schema/values.ts';
import type { Row } from '../../storage/statements.ts';
import type { Caller } from '../caller.ts';
import type { Access } from '../policy/access.ts';
import type { NewRecord } from './validate.ts';

/** The record with what the server decides of it, and of those that are nested in it. */
export function assigned(access: Access, resource: Resource, record: NewRecord): NewRecord {
  assign(resource, access.caller, record.values, fixedIn(access, resource, record), isOpen(access, resource));
  for (const { inverse, records } of record.children)
    for (const each of records) assigned(access, inverse.target, each);
  return record;
}

/** What may be given beside what clients may: the server sets what is `@readonly` or `@set`. */
export function ownOf(access: Access, resource: Resource): readonly Column[] | undefined {
  return access.isSystem ? reserved(resource) : undefined;
}

/** What an update may set. */
export function changeable(access: Access, resource: Resource): readonly Column[] {
  return access.isSystem ? [...updatable(resource), ...reserved(resource)] : updatable(resource);
}

function fixedIn(access: Access, resource: Resource, { values }: NewRecord): Row | undefined {
  if (!access.isSystem) return undefined;
  const fixed: Row = Object.create(null);
  for (const { name } of reserved(resource)) if (Object.hasOwn(values, name)) fixed[name] = values[name];
  return fixed;
}

/** Whether a function may still set what nothing else does. */
function isOpen(access: Access, resource: Resource): boolean {
  return access.hooksOf?.(resource)?.beforeCreate !== undefined;
}

/** Fills in what the server decides, unless it is fixed beforehand. */
export function assign(
  resource: Resource,
  caller: Caller,
  values: Row,
  fixed: Row = {},
  isOpen = false,
): void {
  let now: string | undefined;
  for (const column of resource.columns) {
    const { name, origin } = column;
    if (Object.hasOwn(fixed, name)) values[name] = fixed[name];
    else if (origin.by === 'createdAt' || origin.by === 'updatedAt')
      values[name] = now ??= new Date().toISOString();
    else if (origin.by === 'uuid') values[name] = Bun.randomUUIDv7();
    else if (origin.by === 'nobody') values[name] = defaultOf(column) ?? null;
    else if (origin.by === 'claim') {
      values[name] = claimFor(column, origin.claim, caller.claims) ?? null;
      if (values[name] === null && column.required && !isOpen)
        throw claimNeeded(caller, resource, origin.claim, column);
    }
  }
}

/** A new record needs it for a field. */
export function claimNeeded(
  caller: Caller,
  { singular }: Resource,
  claim: string,
  { name }: Column,
): DuetError {
  return needsClaim(caller, `Creating ${withArticle(singular)}`, claim, name);
}

/** What only a claim can fill is nothing that a client could send. */
export function needsClaim({ subject }: Caller, what: string, claim: string, name: string): DuetError {
  const code = subject === undefined ? 'UNAUTHENTICATED' : 'FORBIDDEN';
  return new DuetError(code, `${what} needs a token whose claim "${claim}" fits ${name}.`);
}
