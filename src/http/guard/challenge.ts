/** What is asked of a client whose credentials do not do (RFC 6750, section 3; RFC 9110, section 11.6.1). */

import { DuetError } from '../../base/errors.ts';

export const CHALLENGE = 'WWW-Authenticate';

/** Credentials that were given and are no good. The reason must be fit for a quoted string. */
export function unauthenticated(reason: string): DuetError {
  return new DuetError('UNAUTHENTICATED', `${reason}.`, {
    headers: { [CHALLENGE]: `Bearer error="invalid_token", error_description="${reason}"` },
  });
}

/** Every 401 says what credentials would do; a 403 says that others might. */
export function challenge({ status, headers }: Response): void {
  if ((status !== 401 && status !== 403) || headers.has(CHALLENGE)) return;
  headers.set(CHALLENGE, status === 401 ? 'Bearer' : 'Bearer error="insufficient_scope"');
}
