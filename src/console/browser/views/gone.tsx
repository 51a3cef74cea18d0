/** Says, above everything else, that the service cannot be reached, or has no answer yet. */

import { waitsFor } from '../doors/send.ts';
import { isGone } from '../presence.ts';

export function GoneNotice() {
  return (
    // It is there before it has something to say, so that it is read aloud.
    <div role="status" class={isGone.value || waitsFor.value ? 'notice bad gone' : 'gone'}>
      {isGone.value
        ? 'The service cannot be reached. What was read and typed stays here, and this page goes on by itself when the service is back.'
        : waitsFor.value && `${waitsFor.value} Trying again…`}
    </div>
  );
}
