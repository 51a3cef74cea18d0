/** What somebody types into a form, from the first key until it is saved or given up. */

import { type Signal, useSignal } from '@preact/signals';
import type { RefObject } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { go, hold, release } from '../address.ts';
import type { Fault } from '../doors/wire.ts';
import type { Row } from '../schema/types.ts';
import { unreadable } from '../typed.ts';

export interface Draft {
  /** What was given; what is not in here was left alone. */
  readonly given: Signal<Row>;
  readonly fault: Signal<Fault | undefined>;
  readonly saving: Signal<boolean>;
  readonly form: RefObject<HTMLFormElement | null>;
  isChanged(): boolean;
  /** What of it can be sent. */
  readable(): Row;
  /** Writes it, once however often it is asked, and goes to the place that the writing leads to, if it leads anywhere. */
  save(write: () => Promise<string | undefined>): Promise<void>;
}

export function useDraft(first: Row): Draft {
  const start = useRef(first);
  const given = useSignal(first);
  const fault = useSignal<Fault | undefined>(undefined);
  const saving = useSignal(false);
  const form = useRef<HTMLFormElement>(null);
  const isOpen = useRef(true);
  const isChanged = () => {
    const names = Object.keys({ ...start.current, ...given.value });
    return names.some((name) => JSON.stringify(given.value[name]) !== JSON.stringify(start.current[name]));
  };
  // Whoever leaves has left at once, and not after the next frame.
  useLayoutEffect(() => {
    const end = hold({ is: () => isChanged() || incompleteIn(form.current).length > 0 });
    return () => {
      isOpen.current = false;
      end();
    };
  }, []);
  const readable = () =>
    Object.fromEntries(Object.entries(given.value).filter(([, value]) => !unreadable(value)));
  const save = async (write: () => Promise<string | undefined>) => {
    if (saving.value) return;
    saving.value = true;
    fault.value = undefined;
    try {
      const link = await write();
      if (link === undefined) {
        start.current = given.value;
        saving.value = false;
        return;
      }
      // Whoever has left meanwhile is not called back.
      if (!isOpen.current) return;
      release();
      go(link);
    } catch (error) {
      fault.value = error as Fault;
      saving.value = false;
    }
  };
  return { given, fault, saving, form, isChanged, readable, save };
}

/** The fields of which browsers have a part, and tell nothing but that it is no value. */
export function incompleteIn(form: HTMLFormElement | null): string[] {
  const inputs = [...(form?.querySelectorAll('input') ?? [])].filter(({ validity }) => validity.badInput);
  return inputs.flatMap((input) => input.closest<HTMLElement>('[data-name]')?.dataset['name'] ?? []);
}
