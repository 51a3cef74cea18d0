/** The rows of a table that somebody has selected, one by one or from one to another. */

import { type Signal, useSignal } from '@preact/signals';
import { useRef } from 'preact/hooks';
import type { Resource, Row } from '../schema/types.ts';

export interface Selection {
  readonly keys: Signal<ReadonlySet<unknown>>;
  /** `isRange`: from the one that was selected last up to this. */
  choose(at: number, isRange: boolean): void;
  all(is: boolean): void;
  /** Of those that were selected, what the table still shows: rows may have gone, or it is another page. */
  keepShown(): void;
}

export function useSelection({ key }: Resource, rows: readonly Row[]): Selection {
  const keys = useSignal<ReadonlySet<unknown>>(new Set());
  const last = useRef(0);
  const keyOf = (at: number) => rows[at]?.[key.name];
  return {
    keys,
    choose(at, isRange) {
      const [from, to] = isRange ? [Math.min(at, last.current), Math.max(at, last.current)] : [at, at];
      const next = new Set(keys.value);
      const isOff = !isRange && next.has(keyOf(at));
      for (let each = from; each <= to; each++)
        if (isOff) next.delete(keyOf(each));
        else next.add(keyOf(each));
      last.current = at;
      keys.value = next;
    },
    all(is) {
      keys.value = new Set(is ? rows.map((row) => row[key.name]) : []);
    },
    keepShown() {
      const shown = rows.map((row) => row[key.name]).filter((each) => keys.value.has(each));
      if (shown.length !== keys.value.size) keys.value = new Set(shown);
    },
  };
}
