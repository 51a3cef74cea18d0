/** What may write is not begun for a client that is gone, and could not be told that it has happened. */

import { afterArrivals } from '../base/batch.ts';
import { DuetError } from '../base/errors.ts';

/** Whether nobody waits for the answer any more. */
export type Gone = () => boolean;

/**
 * Begins what may write, unless whoever asked for it is gone by then and could not be told that it has happened. That is known once
 * all has been read that came with the request: what follows a body and is no request makes the runtime hang up.
 */
export function begun<T>(gone: Gone | undefined, write: () => Promise<T>): Promise<T> {
  if (!gone) return write();
  const arrivals = afterArrivals();
  return arrivals ? begunAfter(arrivals, gone, write) : unlessGone(gone, write);
}

async function begunAfter<T>(arrivals: Promise<void>, gone: Gone, write: () => Promise<T>): Promise<T> {
  await arrivals;
  return unlessGone(gone, write);
}

function unlessGone<T>(gone: Gone, write: () => Promise<T>): Promise<T> {
  mustBeThere(gone);
  return write();
}

export function mustBeThere(gone: Gone): void {
  if (gone()) throw new DuetError('MALFORMED_BODY', 'The client went away; nothing was begun.');
}
