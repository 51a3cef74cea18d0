/** Updates that look and write in one statement, since nothing needs to know the record before. */

import type { Fault } from '../../base/errors.ts';
import { all, among, equal, type Filter, isEverything } from '../../query/filter.ts';
import { INCREMENTS } from '../../schema/names.ts';
import { isBound } from '../../schema/transitions.ts';
import { unavailable } from '../../storage/faults.ts';
import type { Row } from '../../storage/statements.ts';
import type { Program } from '../../storage/storage.ts';
import type { Update } from '../operation.ts';
import type { Access } from '../policy/access.ts';
import type { Permitted } from '../policy/permitted.ts';
import { mayAlwaysChange } from '../policy/writing.ts';
import { isDressed, type Node } from '../read/read.ts';
import { addressed, checkVersion } from './addressed.ts';
import { changeable } from './assign.ts';
import { incremented, roomFor } from './increments.ts';
import { isMadeOf } from './recompute.ts';
import { collisionOf, leftOut } from './storing.ts';
import { touched, updateOf } from './validate.ts';

/** How often others may change a record between a look at it and the next. */
const MOST_TRIES = 100;

export interface LoneUpdate {
  readonly set: Row;
  readonly add: Row | undefined;
  /** The record, where it has the version that is asked for, and room for what is added. */
  readonly where: Filter;
  /**
   * Whether it sets what other records can be in the way of. Such an update does not tell what is, but throws what the database
   * said: PostgreSQL answers nothing more in a transaction in which a statement has failed.
   */
  readonly canCollide: boolean;
}

/** Undefined where something needs to know the record: a rule, a function, a check, whoever watches, what is related to it. */
export function loneUpdate(access: Access, operation: Permitted<Update>): LoneUpdate | undefined {
  const { resource, key, input, ifVersion, unlessVersion, refusal, selection } = operation;
  if (key === undefined || refusal || unlessVersion || isBound(resource)) return undefined;
  if (selection.relations.length > 0 || isDressed(selection)) return undefined;
  if (access.hooksOf?.(resource)?.beforeUpdate || access.changes?.wants(resource)) return undefined;
  const names = Object.keys(input);
  const columns = changeable(access, resource);
  // What the server sets may be repeated as the record has it.
  const isKnown = (name: string) => name === INCREMENTS || columns.some((column) => column.name === name);
  if (!names.every(isKnown) || !mayAlwaysChange(access, resource, names)) return undefined;
  const faults: Fault[] = [];
  const { set, add } = updateOf(resource, input, {}, columns, faults);
  const room = faults.length > 0 ? undefined : roomFor(resource, add);
  const changed = (name: string) => Object.hasOwn(set, name) || (add !== undefined && name in add);
  // Words hang on all of the fields that are searched.
  const isDerived = isMadeOf(resource, changed) || resource.searched.some((of) => changed(of.name));
  if (!room || isDerived) return undefined;
  const given = resource.references.filter(({ column }) => set[column.name] != null);
  if (given.some(({ target }) => !isEverything(access.rows(target, 'READ')))) return undefined;
  const isUnique = resource.uniques.some((unique) => unique.columns.some(({ name }) => changed(name)));
  const where = all([equal(resource.key, key), room, ifVersion && among(resource.version, ifVersion)]);
  return { set, add, where, canCollide: isUnique || given.length > 0 };
}

/** In one statement, so that nobody waits for a record that somebody only looks at. */
export function* updateAlone(
  access: Access,
  operation: Permitted<Update>,
  { set, add, where, canCollide }: LoneUpdate,
): Program<Node> {
  const { resource } = operation;
  let last: unknown;
  for (let tries = 0; tries < MOST_TRIES; tries++) {
    const values = { ...set, ...touched(resource) };
    try {
      const [[node] = []] = yield [{ do: 'update', resource, set: values, add, where, counts: true }];
      if (node) return node;
    } catch (error) {
      throw canCollide ? error : collisionOf(error, resource, values, undefined);
    }
    // Tells why not, unless others have changed it by then.
    const stored = yield* addressed(access, operation);
    checkVersion(operation, stored);
    incremented(resource, add, stored);
    const version = stored[resource.version.name];
    // Nobody has changed it since it was looked at, and still nothing was written.
    if (version === last) throw leftOut(resource);
    last = version;
  }
  throw unavailable('Others keep changing the same record.');
}
