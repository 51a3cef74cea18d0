/** What is asked of a client whose credentials do not do (RFC 6750, section 3; RFC 9110, section 11.6.1). */

import { DuetError } from '../errors.ts';

export const CHALLENGE = 'WWW-Authenticate';

/** Credentials that were given and are no good. The reason must be fit for a quoted string. */
export function unauthenticated(reason: string): DuetError {
  return new DuetError('UNAUTHENTICATED', `${reason}.`, {
    headers: { [CHALLENGE]: `Bearer error="invalid_token", error_description="${reason}"` },
  });
}

/** Every 401 says what credentials would do; a 403 says that others might. */
export function challenge(response: Response): void {
  if (response.headers.has(CHALLENGE)) return;
  if (response.status === 401) response.headers.set(CHALLENGE, 'Bearer');
  else if (response.status === 403) response.headers.set(CHALLENGE, 'Bearer error="insufficient_scope"');
}
