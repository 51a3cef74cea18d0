/** What the errors of SQLite mean for a request. */

import { SQLiteError } from 'bun:sqlite';
import { DuetError } from '../../base/errors.ts';
import type { Model, Resource } from '../../schema/model.ts';
import { comparedBy } from '../../schema/values.ts';
import {
  answerTooLarge,
  Dangling,
  diskFull,
  NotUnique,
  passing,
  refusedByDatabase,
  requiredByNewer,
  schemaOutdated,
  unavailable,
} from '../faults.ts';
import type { ProcessFault } from './process.ts';
import { TOO_LARGE } from './statement-process.ts';

export function explaining<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw error instanceof SQLiteError ? explained(error) : error;
  }
}

/** What the client cannot mend, the operator must hear of: the cause is kept, for the log. */
export function explained(error: SQLiteError | ProcessFault): Error {
  const told = translated(error);
  if (told instanceof DuetError && told.status === 503) told.cause = error;
  return told;
}

function translated(error: SQLiteError | ProcessFault): Error {
  const { code = '' } = error;
  if (MISSING.test(error.message)) return schemaOutdated();
  // The only CHECK that Duet declares is on serial keys.
  if (code === 'SQLITE_CONSTRAINT_CHECK')
    return new DuetError('KEYS_EXHAUSTED', 'This collection has assigned its last id.');
  // Of another process.
  if (code === TOO_LARGE) return answerTooLarge();
  if (code === 'SQLITE_BUSY') return unavailable('The database is busy; retry in 1 s.');
  if (code === 'SQLITE_FULL') return diskFull();
  // Whether what a failed fsync was to make durable will be there after a crash, nobody can tell.
  if (code === 'SQLITE_IOERR_FSYNC' || code === 'SQLITE_IOERR_DIR_FSYNC')
    return passing('OUTCOME_UNKNOWN', 'The disk failed during the commit. Read before writing again.');
  if (code.startsWith('SQLITE_IOERR'))
    return unavailable('The disk of the database reports errors; retry later.');
  return error;
}

/** What a program can make something of. `hasTriggers`: whether it may be a trigger of somebody else that fails. */
export function toldToPrograms(model: Model, error: SQLiteError | ProcessFault, hasTriggers = false): Error {
  switch (error.code) {
    case 'SQLITE_CONSTRAINT_UNIQUE':
    case 'SQLITE_CONSTRAINT_PRIMARYKEY':
      return notUnique(model, error) ?? refusedByDatabase(error);
    case 'SQLITE_CONSTRAINT_FOREIGNKEY':
      return new Dangling(undefined);
    case TOO_LARGE:
      return answerTooLarge();
    case 'SQLITE_ERROR':
      return hasTriggers && !MISSING.test(error.message) ? refusedByDatabase(error) : error;
    default:
      return refused(model, error) ?? error;
  }
}

/** What SQLite says of a table or column that is not there. */
const MISSING = /^no such (table|column): |^table .* has no column named /;

/** What the tables refuse although the file of this node does not: see the functions that tell it. */
function refused({ resources }: Model, error: SQLiteError | ProcessFault): DuetError | undefined {
  const { code, message } = error;
  if (code === 'SQLITE_CONSTRAINT_NOTNULL') {
    const place = message.replace(/^.*failed: /, '');
    const resource = resources.find(({ table }) => place.startsWith(`${table}.`));
    // What is not a table of ours, a trigger has written.
    if (!resource) return refusedByDatabase(error);
    return requiredByNewer(resource, place.slice(resource.table.length + 1));
  }
  // It is named after the first name in it: that of Duet's own, on serial keys, is the key's.
  const named = message.replace(/^.*failed: /, '');
  const isOfKeys = resources.some(({ key }) => key.origin.by === 'serial' && key.stored === named);
  if (code === 'SQLITE_CONSTRAINT_CHECK' && isOfKeys) return undefined;
  const isOfDatabase = code?.startsWith('SQLITE_CONSTRAINT') || code === 'SQLITE_MISMATCH';
  return isOfDatabase ? refusedByDatabase(error) : undefined;
}

/** SQLite names what collided as `UNIQUE constraint failed: User.email, User.name`. */
function notUnique(model: Model, { message }: Error): NotUnique | undefined {
  const stored = message.replace(/^.*failed: /, '').split(', ');
  // In the order of the constraint, as PostgreSQL tells them.
  const find = ({ table, columns }: Resource) =>
    stored.flatMap((name) => columns.filter((column) => name === `${table}.${comparedBy(column).stored}`));
  for (const resource of model.resources) {
    const columns = find(resource);
    if (columns.length > 0) return new NotUnique(resource, columns);
  }
  return undefined;
}
