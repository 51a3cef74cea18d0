/** Says, above everything else, that the service cannot be reached, or has no answer yet. */

import { waitsFor } from '../doors/send.ts';
import { isGone } from '../presence.ts';
import { isWaiting } from '../schema/file.ts';

export function GoneNotice() {
  // As long as there is nothing to serve, the page itself says why.
  const why = isWaiting.value ? '' : waitsFor.value;
  return (
    // It is there before it has something to say, so that it is read aloud.
    <div role="status" class={isGone.value || why ? 'notice bad gone' : 'gone'}>
      {isGone.value
        ? 'The service cannot be reached. What was read and typed stays here. When it is back, data is read again; what was not sent must be sent again.'
        : why && `${why} Trying again…`}
    </div>
  );
}
