/** What the errors of PostgreSQL and of its driver mean for a request. */

import { DuetError } from '../errors.ts';
import { sumTooLarge } from '../query/aggregates.ts';
import { ConnectionLost, HURRY_MS, unavailable } from './postgres-pool.ts';
import { type Deadline, deadlineExceeded, LockTimeout } from './storage.ts';

/** The SQLSTATE of an error that the server sent. */
export function stateOf(error: unknown): string {
  if (error instanceof LockTimeout) return '55P03';
  const { errno } = error as { errno?: unknown };
  return typeof errno === 'string' ? errno : '';
}

/** Serialization failures and deadlocks: another transaction won, and this one had no effect. */
export function isConflictOfTransactions(error: unknown): boolean {
  return stateOf(error) === '40001' || stateOf(error) === '40P01';
}

/**
 * The connection, or the server behind it, is gone (class 57P: shut down, crashed, starting up; 25P03 and 25P04: a
 * limit of the server's own on transactions, which ends the session).
 */
export function isLost(error: unknown): boolean {
  if (error instanceof ConnectionLost) return true;
  const state = stateOf(error);
  if (state !== '') return /^(57P|08|25P0[34])/.test(state);
  const { code } = error as { code?: unknown };
  return typeof code === 'string' && code.startsWith('ERR_POSTGRES_');
}

export function unknownOutcome(cause: unknown): DuetError {
  const error = new DuetError(
    'OUTCOME_UNKNOWN',
    'The connection to the database was lost during the commit. Read before writing again.',
    { headers: { 'Retry-After': '1' } },
  );
  error.cause = cause;
  return error;
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
  const exceeded = deadlineExceeded();
  exceeded.cause = error;
  return exceeded;
}

function translated(error: unknown): unknown {
  if (error instanceof DuetError) return error;
  const state = stateOf(error);
  if (isLost(error)) return unavailable('The database cannot be reached.');
  if (isConflictOfTransactions(error)) return unavailable('Others keep changing the same records.');
  // 57014: statement timeout; 55P03: lock timeout; 53…: out of connections, memory or disk; 25006: a standby.
  if (/^(57014|55P03|53|25006)/.test(state)) return unavailable('The database is too busy.');
  // 22003: nothing but a sum is computed here.
  if (state === '22003') return sumTooLarge();
  if (state === '2200H') return new DuetError('KEYS_EXHAUSTED', 'This collection has assigned its last id.');
  return error;
}
