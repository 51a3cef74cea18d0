/** Says, above everything else, that one looks with the eyes of another, or is nobody any more. */

import { takeToken, viewing, wasSignedOut } from '../session.ts';
import { Icon, SignIn } from './parts.tsx';

export function CallerNotice() {
  const as = viewing.value;
  if (wasSignedOut.value)
    return (
      <div class="notice warn viewing" role="status">
        <span>Your token is no longer accepted, and you are signed out.</span>
        <SignIn />
      </div>
    );
  if (!as) return null;
  return (
    <div class="notice warn viewing" role="status">
      <Icon name="eye" />
      <span>
        You see and do everything as <strong>{as.subject}</strong>
        {as.roles.length > 0 && ` (${as.roles.join(', ')})`} until {as.until.slice(11, 16)} UTC.
      </span>
      <button type="button" onClick={() => takeToken(as.own)}>
        Stop viewing as {as.subject}
      </button>
    </div>
  );
}
