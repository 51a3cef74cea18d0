/** Says, above everything else, that one looks with the eyes of another. */

import { takeToken, viewing } from '../session.ts';
import { Icon } from './parts.tsx';

export function ViewingNotice() {
  const as = viewing.value;
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
