/** What the errors of PostgreSQL and of its driver mean for a request. */

import { DuetError } from '../../base/errors.ts';
import { sumTooLarge } from '../../query/aggregates.ts';
import type { Column, Model, Reference, Resource } from '../../schema/model.ts';
import { comparedBy } from '../../schema/values.ts';
import { ReadOnly } from '../evolve/database.ts';
import {
  answerTooLarge,
  Dangling,
  deadlineExceeded,
  diskFull,
  LockTimeout,
  NotUnique,
  passing,
  refusedByDatabase,
  requiredByNewer,
  schemaOutdated,
  Unwritable,
  unavailable,
  writerOutdated,
} from '../faults.ts';
import { indexName } from '../sql/index-names.ts';
import type { Deadline } from '../storage.ts';
import { ConnectionLost, HURRY_MS, Unanswered } from './pool.ts';

/** A serializable transaction met a record that its snapshot does not show. */
export class Surprise extends Error {}

/** An answer was not what was foreseen; the transaction that has acted on it is run again, and waits. */
export class Misjudged extends Error {}

/** The server spreads tables over machines; the transaction that found this out is run again. */
export class Spread extends Error {}

/** RAISE, with no state of its own. */
const RAISED = 'P0001';

/** The SQLSTATE of an error that the server sent. */
export function stateOf(error: unknown): string {
  if (error instanceof LockTimeout) return '55P03';
  if (error instanceof ReadOnly) return '25006';
  if (error instanceof Surprise) return '40001';
  const { errno } = error as { errno?: unknown };
  if (typeof errno !== 'string') return '';
  return isOfTrigger(error, errno) ? RAISED : errno;
}

/** States that mean the same wherever they come up: constraints, others who write, what the server does not do, or has no room or time for. */
const OF_ANYBODY = /^(0A|23|40|44000|53|54000|55P03|57014)/;
/** The session has ended, unless somebody merely says so. */
const ENDED = /^(57P|08|25P0[34])/;

/**
 * A function that somebody has made for this database ended the statement, by RAISE or by a fault of its own: `1 / 0` in there is none of
 * the states that Duet's statements end by (22012, 2201E, …), and what it names no lost connection.
 */
function isOfTrigger(error: unknown, state: string): boolean {
  const { where, routine } = error as { where?: unknown; routine?: unknown };
  // In whatever language the server tells it; DO and the functions that Duet makes (`write-log.ts`) are not meant.
  const isOfFunction =
    typeof where === 'string' && /\bPL\//.test(where) && !/inline_code_block|_duet_/.test(where);
  if (!isOfFunction || OF_ANYBODY.test(state)) return false;
  return routine === 'exec_stmt_raise' || !ENDED.test(state);
}

/**
 * Serialization failures and deadlocks: another transaction won, and this one had no effect. 2201E: its snapshot does not show
 * what writers are held to by now (`current` of the dialect).
 */
export function isConflictOfTransactions(error: unknown): boolean {
  return ['40001', '40P01', '2201E'].includes(stateOf(error));
}

/**
 * A table is otherwise than when the statement was prepared, which the connection keeps: "cached plan must not change result
 * type". It has the code of what a server does not do at all; its words are those of the server's language.
 */
export function isStale(error: unknown): boolean {
  const { routine } = error as { routine?: unknown };
  return stateOf(error) === '0A000' && routine === 'RevalidateCachedQuery';
}

/**
 * The connection, or the server behind it, is gone (class 57P: shut down, crashed, starting up; 25P03 and 25P04: a
 * limit of the server's own on transactions, which ends the session).
 */
export function isLost(error: unknown): boolean {
  if (error instanceof ConnectionLost) return true;
  const state = stateOf(error);
  if (state !== '') return ENDED.test(state);
  const { code } = error as { code?: unknown };
  return typeof code === 'string' && code.startsWith('ERR_POSTGRES_');
}

/** The server cannot be reached, or is not yet, or no longer, able to take connections: it may be in a while. */
export function isAbsent(error: unknown): boolean {
  return isLost(error) || stateOf(error) === '53300';
}

export function unknownOutcome(cause: unknown): DuetError {
  const detail = 'The connection to the database was lost during the commit. Read before writing again.';
  return passing('OUTCOME_UNKNOWN', detail, cause);
}

/** What the client cannot mend, the operator must hear of: the cause is kept, for the log. */
export function explained(error: unknown): unknown {
  const told = translated(error);
  if (told !== error && told instanceof DuetError && told.status === 503) told.cause = error;
  return told;
}

/** The same, and what the database could not do in time is told as such, unless it may have happened. */
export function late(error: unknown, deadline: Deadline): unknown {
  const told = explained(error);
  const isLate = performance.now() > deadline - 2 * HURRY_MS;
  if (!isLate || !(told instanceof DuetError) || told.code !== 'UNAVAILABLE') return told;
  return Object.assign(deadlineExceeded(), { cause: error });
}

function tooBusy(): DuetError {
  return unavailable('The database is too busy.');
}

function translated(error: unknown): unknown {
  if (error instanceof DuetError) return error;
  const state = stateOf(error);
  if (error instanceof Unanswered) return tooBusy();
  if (isLost(error)) return unavailable('The database cannot be reached.');
  if (isConflictOfTransactions(error)) return unavailable('Others keep changing the same records.');
  if (isStale(error)) return unavailable('Tables were changed just now.');
  // Who finds out so late that nothing can be run again.
  if (error instanceof Misjudged || error instanceof Spread)
    return unavailable('The database does otherwise than expected.');
  if (state === '53100') return diskFull();
  // 57014: statement timeout; 55P03: lock timeout; 53…: out of connections or memory.
  if (/^(57014|55P03|53)/.test(state)) return tooBusy();
  // A standby, or a role that was granted no more.
  if (state === '25006') return new Unwritable('The database is read-only: nothing can be written now.');
  if (state === '42501') return new Unwritable('The database does not allow this to the service.');
  // 42P01: no such table; 42703: no such column.
  if (state === '42P01' || state === '42703') return schemaOutdated();
  // 22012: how a statement ends that counts the text of its rows (`within` of the dialect).
  if (state === '22012') return answerTooLarge();
  // 22003: nothing but a sum is computed here.
  if (state === '22003') return sumTooLarge();
  if (state === '2200H') return new DuetError('KEYS_EXHAUSTED', 'This collection has assigned its last id.');
  return error;
}

/** What the tables refuse although the file of this node does not: see the functions that tell it. */
export function refused({ resources }: Model, error: unknown): DuetError | undefined {
  const { table, column = '', routine } = error as { table?: string; column?: string; routine?: string };
  const state = stateOf(error);
  // 2201F: how a statement ends that is not to be this node's (`current` of the dialect).
  if (state === '2201F') return writerOutdated();
  if (state === '22012') return answerTooLarge();
  const required = state === '23502' && resources.find((each) => each.table === table);
  if (required) return requiredByNewer(required, column);
  // Class 23: a constraint; 44000: that of a view; 54000: too long for an index.
  const isOwn =
    state === RAISED ||
    /^(23|44000|54000)/.test(state) ||
    (routine === 'exec_stmt_raise' && translated(error) === error);
  return isOwn ? refusedByDatabase(error) : undefined;
}

/**
 * The name of the constraint that was broken. Of a part of a spread table it is told by the message alone, with the number of
 * the part behind it.
 */
export function constraintOf(error: unknown): string {
  const { constraint, message } = error as { constraint?: string; message?: string };
  return constraint ?? /constraint "(.+)_\d+"/.exec(message ?? '')?.[1] ?? '';
}

/** What breaking a constraint means, by its name. */
export function constraintsOf({ resources }: Model): Map<string, NotUnique | Dangling> {
  const found = new Map<string, NotUnique | Dangling>();
  const unique = (resource: Resource, columns: readonly Column[], name: string) =>
    found.set(name, new NotUnique(resource, columns));
  for (const resource of resources) {
    unique(resource, [resource.key], indexName(resource, [resource.key], 'key'));
    for (const { columns } of resource.uniques)
      unique(resource, columns, indexName(resource, columns.map(comparedBy), 'unique'));
    for (const reference of resource.references) found.set(nameOf(reference), new Dangling(reference));
  }
  return found;
}

/** The server names what collided as `Key ("authorId", title)=(1, x) already exists.` */
export function notUnique({ resources }: Model, error: unknown): NotUnique | undefined {
  const { table, detail = '' } = error as { table?: string; detail?: string };
  const stored = (/\((.*?)\)=\(/.exec(detail)?.[1] ?? '')
    .split(', ')
    .map((name) => name.replace(/^"(.*)"$/, '$1').replaceAll('""', '"'));
  const resource = resources.find((each) => each.table === table);
  const of = (name: string) => resource?.columns.filter((column) => name === comparedBy(column).stored) ?? [];
  const columns = stored.flatMap(of);
  return resource && columns.length > 0 ? new NotUnique(resource, columns) : undefined;
}

function nameOf({ owner, column }: Reference): string {
  return indexName(owner, [column], 'reference');
}
