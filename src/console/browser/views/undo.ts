/** Takes back what was done a moment ago, and tells what came of it. */

import type { Answer, Ask } from '../ask.ts';
import { send } from '../doors/send.ts';
import type { Fault } from '../doors/wire.ts';
import type { Schema } from '../schema/types.ts';
import { door } from '../session.ts';
import { tell } from '../told.ts';

export function undoing(ask: Ask, schema: Schema, text: string, then: (answer: Answer) => void) {
  return () =>
    send(ask, door.value, schema).then(
      (answer) => {
        tell(text);
        then(answer);
      },
      (error: Fault) => tell(error.message),
    );
}
