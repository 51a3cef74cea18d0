/** The record that an update or a delete means: whether it is there, for its caller, and in the version that was asked for. */

import { DuetError } from '../../base/errors.ts';
import { all, equal, isEverything } from '../../query/filter.ts';
import { storedColumns } from '../../schema/values.ts';
import { lookup, type Row, select } from '../../storage/statements.ts';
import type { Program } from '../../storage/storage.ts';
import type { Delete, Restore, Update } from '../operation.ts';
import type { Access } from '../policy/access.ts';
import { mayWrite } from '../policy/judging.ts';
import type { Permitted } from '../policy/permitted.ts';
import { versionConflict } from './update.ts';

/** The record that a write means; that there is none, or not for the caller, comes before what is wrong with the request. */
export function* addressed(access: Access, operation: Permitted<Update | Delete>): Program<Row> {
  const { resource, key, refusal, seen } = operation;
  if (key !== undefined) {
    const isUpdate = operation.do === 'update';
    const lock = isUpdate ? 'change' : true;
    const [[row] = []] = yield [
      !seen || isEverything(seen)
        ? lookup(resource, resource.key, key, { lock })
        : select(resource, storedColumns(resource), all([equal(resource.key, key), seen]), { lock }),
    ];
    if (row) {
      if (!access.isFree) yield* mayWrite(access, resource, isUpdate ? 'UPDATE' : 'DELETE', [key]);
      if (refusal) throw refusal;
      return row;
    }
  }
  throw new DuetError('NOT_FOUND', `There is no ${resource.singular} with this ${resource.key.name}.`);
}

export function checkVersion(
  { resource, ifVersion, unlessVersion }: Update | Delete | Restore,
  row: Row,
): void {
  const version = Number(row[resource.version.name]);
  if (ifVersion && ifVersion !== 'any' && !ifVersion.includes(version)) throw versionConflict(resource);
  if (unlessVersion && (unlessVersion === 'any' || unlessVersion.includes(version)))
    throw new DuetError(
      'VERSION_CONFLICT',
      `This ${resource.singular} exists, in a version that If-None-Match excludes. Leave If-None-Match out to write it.`,
    );
}
