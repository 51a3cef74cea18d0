/** Reads through the door in use, for as long as a view is open. */

import { useSignal } from '@preact/signals';
import { useLayoutEffect, useMemo } from 'preact/hooks';
import type { Answer, Ask } from '../ask.ts';
import { doorFor, send, wireOf } from '../doors/send.ts';
import { type Fault, isAway } from '../doors/wire.ts';
import type { Schema } from '../schema/types.ts';
import { door, token } from '../session.ts';

interface Reading {
  readonly answer: Answer | undefined;
  readonly fault: Fault | undefined;
  readonly pending: boolean;
  /** Whether the answer is to what is asked now, and not to what was asked before. */
  readonly isCurrent: boolean;
  readonly again: () => void;
}

/** The last answer stays until the next is there, so that nothing jumps, and while the service is away. */
export function useAnswer(ask: Ask, schema: Schema): Reading {
  const answer = useSignal<Answer | undefined>(undefined);
  const fault = useSignal<Fault | undefined>(undefined);
  const round = useSignal(0);
  const answered = useSignal({ key: '', token: '' });
  const key = token.value + askKey(ask);
  const through = doorFor(ask, door.value, schema);
  /** The request that the view waits for, and the last that has come to its end: whether they differ is told without drawing again. */
  const request = useMemo(() => ({}), [key, through, round.value, schema]);
  const ended = useSignal<object | undefined>(undefined);
  // Not after the next paint, for which it would wait: that shows nothing new.
  useLayoutEffect(() => {
    let current = true;
    const used = token.value;
    send(ask, through, schema).then(
      (found) => {
        if (!current) return;
        answer.value = found;
        answered.value = { key, token: used };
        fault.value = undefined;
        ended.value = request;
      },
      (error) => {
        if (!current) return;
        // Whoever asks now may not be let see it.
        if (!isAway(error) || answered.value.token !== used) answer.value = undefined;
        fault.value = error;
        ended.value = request;
      },
    );
    return () => {
      current = false;
    };
  }, [request]);
  return {
    answer: answer.value,
    fault: fault.value,
    pending: ended.value !== request,
    isCurrent: answered.value.key === key,
    again: () => {
      round.value++;
    },
  };
}

/** Two asks with the same key are the same. */
export function askKey(ask: Ask): string {
  if (ask.do === 'act') return JSON.stringify([ask.action.name, ask.values]);
  const { resource, ...rest } = ask;
  if (rest.do === 'list') return JSON.stringify([resource.name, { ...rest, columns: undefined }]);
  return JSON.stringify([resource.name, rest]);
}

export function hasBothDoors(ask: Ask, schema: Schema): boolean {
  return wireOf(ask, 'rest', schema) !== undefined && wireOf(ask, 'graphql', schema) !== undefined;
}
