/** What operators ask of the service below `/_duet/`, and whether the caller is one. */

import { signal, useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { restFault } from './doors/rest.ts';
import { exchange, patiently } from './doors/send.ts';
import { type Fault, isAway, type Wire } from './doors/wire.ts';
import { returns } from './presence.ts';
import { signInToWrite, takeToken, token } from './session.ts';
import { tell } from './told.ts';

export interface Me {
  /** Null where nobody is known. */
  readonly subject: string | null;
  readonly roles: readonly string[];
  /** Null where there is no end to it. */
  readonly until: string | null;
  readonly authentication: boolean;
  readonly operates: boolean;
  readonly signsTokens: boolean;
  /** Whether there is something that others can be told of. */
  readonly webhooks: boolean;
}

/** Who is asking, as the service says; undefined until it has. */
export const me = signal<Me | undefined>(undefined);

export async function findMe(): Promise<void> {
  const used = token.value;
  // Nobody is known, and nothing is offered, until the service says so.
  const told = await ask<Me>(wireTo('GET', 'me')).catch(() => undefined);
  if (token.value === used) me.value = told;
}

/** Throws a Fault where the token is not accepted: whoever was signed in then still is. */
export async function signIn(text: string): Promise<void> {
  let name = '';
  try {
    const { subject } = await ask<Me>({
      ...wireTo('GET', 'me'),
      headers: { Authorization: `Bearer ${text}` },
    });
    if (subject !== null) name = ` as ${subject}`;
  } catch (error) {
    const { status } = error as Fault;
    // Of anything else, such as a service that is busy, the next request tells.
    if (status === 401 || status === 0) throw error;
  }
  takeToken(text);
  tell(`Signed in${name}`);
}

/** `path` is below `/_duet/`. */
export function wireTo(method: string, path: string, body?: object): Wire {
  const plain = { door: 'rest', method, path: `/_duet/${path}`, headers: {} } as const;
  if (body === undefined) return plain;
  return { ...plain, headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) };
}

/** Throws a Fault. */
export function ask<T>(wire: Wire): Promise<T> {
  return wire.method === 'GET' ? patiently(() => askOnce<T>(wire)) : askOnce(wire);
}

async function askOnce<T>(wire: Wire): Promise<T> {
  const response = await exchange(wire);
  if (response.status === 401 && wire.method !== 'GET') signInToWrite();
  if (!response.ok) throw await restFault(response);
  return response.status === 204 ? (undefined as T) : ((await response.json()) as T);
}

export interface Told<T> {
  readonly value: T | undefined;
  readonly fault: Fault | undefined;
  readonly again: () => void;
}

/** The last answer stays until the next is there, so that nothing jumps, and while the service is away. */
export function useTold<T>(wire: Wire): Told<T> {
  const value = useSignal<T | undefined>(undefined);
  const fault = useSignal<Fault | undefined>(undefined);
  const round = useSignal(0);
  const answered = useRef('');
  const key = token.value + wire.path;
  useEffect(() => {
    let current = true;
    ask<T>(wire).then(
      (told) => {
        if (!current) return;
        answered.current = key;
        value.value = told;
        fault.value = undefined;
      },
      (error) => {
        if (!current) return;
        if (!isAway(error as Fault) || answered.current !== key) value.value = undefined;
        fault.value = error as Fault;
      },
    );
    return () => {
      current = false;
    };
  }, [key, round.value, returns.value]);
  const again = () => {
    round.value++;
  };
  return { value: value.value, fault: fault.value, again };
}
