/** The `Duet-Position` header: what a client has seen, and is to be shown by whichever server answers it. */

import { type Fault, validationFailed } from '../base/errors.ts';
import type { Position } from '../storage/storage.ts';

export const POSITION = 'Duet-Position';

/** Undefined when the client has seen nothing in particular. */
export function positionOf({ headers }: Request): Position | undefined {
  const given = headers.get(POSITION);
  if (given === null) return undefined;
  if (!/^[0-9A-F]{16}$/.test(given)) throw validationFailed([UNREADABLE]);
  return given;
}

const UNREADABLE: Fault = {
  parameter: POSITION,
  code: 'FORMAT',
  detail: `${POSITION} must be sent as the answer to a write had it, 16 hexadecimal digits; leave it out to read from the primary`,
};
