/** What a database can refuse, as programs and requests are told of it. */

import { type Code, DuetError, pointer } from '../base/errors.ts';
import type { Column, Reference, Resource } from '../schema/model.ts';

/** What may go well when it is tried again; the cause is for the log. */
export function passing(code: Code, detail: string, cause?: unknown): DuetError {
  const error = new DuetError(code, detail, { headers: { 'Retry-After': '1' } });
  return cause === undefined ? error : Object.assign(error, { cause });
}

export function unavailable(why: string, cause?: unknown): DuetError {
  return passing('UNAVAILABLE', why, cause);
}

/** Nothing can be written now, by nobody or not by this service; what is stored can be read. */
export class Unwritable extends DuetError {
  constructor(why: string) {
    super('UNAVAILABLE', why, { headers: { 'Retry-After': '1' } });
  }
}

export function tooManyExports(): DuetError {
  return unavailable('Too many exports are under way; retry when one has ended.');
}

export function diskFull(): DuetError {
  return unavailable('The disk of the database is full; writes wait for the operator to make room.');
}

export function deadlineExceeded(): DuetError {
  return passing(
    'DEADLINE_EXCEEDED',
    'The request took longer than it may, and was ended. Ask for less, or by an indexed field.',
  );
}

/** A newer file, which is being rolled out, has made a column required for which this node gives no value. */
export function requiredByNewer({ columns }: Resource, stored: string): DuetError {
  const name = columns.find((column) => column.stored === stored)?.name ?? stored;
  const detail = `${name} is required by a newer schema than that of this node`;
  const cure = 'Give it a value, or send the request to a node of the newer schema.';
  return new DuetError('CONFLICT', `${detail}. ${cure}`, {
    errors: [{ pointer: pointer(name), code: 'REQUIRED', detail }],
  });
}

/** A constraint or trigger that somebody else made; what it says may be meant for nobody but the operator. */
export function refusedByDatabase(cause: unknown): DuetError {
  const detail = 'The database has a rule of its own that does not admit this write.';
  return Object.assign(new DuetError('CONFLICT', detail), { cause });
}

/** A newer file has dropped what this node asks for. */
export function schemaOutdated(): DuetError {
  return passing(
    'SCHEMA_OUTDATED',
    'The schema of this node names a table or column that the database no longer has. Start it with the newer schema.',
  );
}

/** A newer file has whoever writes these records keep something true that this node does not know of. */
export function writerOutdated(): DuetError {
  return passing(
    'SCHEMA_OUTDATED',
    'A newer schema keeps more true of these records than this node knows, which can only read them. Start it with the newer schema; to go back for good, run `duet migrate` with this one.',
  );
}

export function answerTooLarge(): DuetError {
  return new DuetError(
    'ANSWER_TOO_LARGE',
    'The answer would be longer than LIMIT_BYTES allows. Ask for pages of it, or for fewer fields.',
  );
}

/** Thrown into a program at the statement that broke a unique constraint. */
export class NotUnique extends Error {
  readonly resource: Resource;
  readonly columns: readonly Column[];

  constructor(resource: Resource, columns: readonly Column[]) {
    super(`${resource.name}: ${columns.map(({ name }) => name).join(', ')} not unique`);
    this.resource = resource;
    this.columns = columns;
  }
}

/** Thrown into a program at the statement that waited for somebody else for too long. */
export class LockTimeout extends Error {}

/** Thrown into a program at the statement that left a reference without its target. */
export class Dangling extends Error {
  /** Undefined where the database does not tell. */
  readonly reference: Reference | undefined;

  constructor(reference: Reference | undefined) {
    super('a reference would point to nothing');
    this.reference = reference;
  }
}
