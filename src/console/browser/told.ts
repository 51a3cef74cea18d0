/** What was done, told for a moment at the edge of the page; with a way to take it back where there is one. */

import { signal } from '@preact/signals';

interface Told {
  readonly text: string;
  readonly undo: (() => void) | undefined;
}

export const told = signal<Told | undefined>(undefined);

/** Long enough to read it, and longer where something can be done about it. */
const SHOWN_MS = 4000;
const UNDO_MS = 20_000;

/** What was done before is not the news any more; what can be taken back still can. */
export function hush(): void {
  if (!told.value?.undo) told.value = undefined;
}

let timer: ReturnType<typeof setTimeout> | undefined;

export function tell(text: string, undo?: () => void): void {
  clearTimeout(timer);
  told.value = { text, undo };
  timer = setTimeout(
    () => {
      told.value = undefined;
    },
    undo ? UNDO_MS : SHOWN_MS,
  );
}
