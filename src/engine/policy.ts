/** Who may do what: the one gate that every operation of every door passes before anything is read or written. */

import type { Caller } from './caller.ts';
import type { Operation } from './operation.ts';

/** Without authentication, and there is none yet, everything is allowed to everybody; start-up says so in the log. */
export function permitted<O extends Operation>(_caller: Caller, operation: O): O {
  return operation;
}
