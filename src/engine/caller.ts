/** Who asks: every operation names its caller, so that no rule can be skipped for want of one. */

import { AUTHENTICATED } from '../access/rules.ts';
import { DuetError } from '../base/errors.ts';

export interface Caller {
  /** Who it is: the `sub` of a token, or the name of an API key; undefined for the anonymous. */
  readonly subject: string | undefined;
  readonly roles: readonly string[];
  /** What the caller's token says, proven. */
  readonly claims: Readonly<Record<string, unknown>>;
}

export const anonymous: Caller = { subject: undefined, roles: [], claims: {} };

/** With the one that everybody has who is known. */
export function rolesOf({ subject, roles }: Caller): readonly string[] {
  return subject === undefined ? roles : [...roles, AUTHENTICATED];
}

/** For what belongs to no resource, and so has no rules. */
export function requireRole({ subject, roles }: Caller, role: string): void {
  if (subject === undefined) throw new DuetError('UNAUTHENTICATED', `This needs the role "${role}".`);
  if (!roles.includes(role)) throw new DuetError('FORBIDDEN', `This needs the role "${role}".`);
}
