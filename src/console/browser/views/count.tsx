/** How many records there are: counted when somebody looks. */

import { type Signal, useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import type { ListAsk } from '../ask.ts';
import { doorFor, send } from '../doors/send.ts';
import type { Resource, Schema } from '../schema/types.ts';
import { door, may, token } from '../session.ts';
import { askKey } from './answer.ts';
import { listAsk } from './list-place.ts';

export function countAsk(list: ListAsk): ListAsk {
  const { after: _, before: __, columns: ___, from: ____, ...rest } = list;
  return { ...rest, after: undefined, before: undefined, sort: [], limit: 1, count: true, related: false };
}

/** Undefined as long as nobody looks, and where it takes the service too long. */
export function useTotal(ask: ListAsk, schema: Schema, isSeen: boolean, round = 0): number | undefined {
  const total = useSignal<number | undefined>(undefined);
  const key = askKey(ask);
  useEffect(() => {
    total.value = undefined;
  }, [key, token.value]);
  useEffect(() => {
    if (!isSeen) return;
    let current = true;
    send(ask, doorFor(ask, door.value, schema), schema).then(
      (answer) => {
        if (current) total.value = answer.total;
      },
      () => {},
    );
    return () => {
      current = false;
    };
  }, [key, isSeen, round, token.value, schema]);
  return total.value;
}

/** On a card: of all records of a type. */
export function CountOf({ resource, schema }: { resource: Resource; schema: Schema }) {
  const place = useRef<HTMLSpanElement>(null);
  const isSeen = useSeen(place);
  const ask = countAsk(listAsk(resource, new URLSearchParams()));
  const total = useTotal(ask, schema, isSeen.value && may(resource, 'LIST'));
  return (
    <span ref={place} class="count quiet">
      {total?.toLocaleString('en')}
    </span>
  );
}

function useSeen(place: { readonly current: Element | null }): Signal<boolean> {
  const isSeen = useSignal(false);
  useEffect(() => {
    const { current } = place;
    if (!current) return;
    const observer = new IntersectionObserver((entries) => {
      if (!entries.some(({ isIntersecting }) => isIntersecting)) return;
      isSeen.value = true;
      observer.disconnect();
    });
    observer.observe(current);
    return () => observer.disconnect();
  }, []);
  return isSeen;
}
