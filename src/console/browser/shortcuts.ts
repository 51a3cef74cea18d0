/** Keys that do something wherever one is: whatever has `aria-keyshortcuts` is clicked, or gets the focus. */

import { signal } from '@preact/signals';

/** What stands before everything else because of a key. */
export const summoned = signal<'palette' | 'help' | undefined>(undefined);

/** What is typed while the palette is fetched for the first time. */
let early = '';

export function takeEarly(): string {
  const text = early;
  early = '';
  return text;
}

export function onShortcut(event: KeyboardEvent): void {
  if (document.querySelector('dialog[open]')) return;
  const isLetter = event.key.length === 1 && !event.ctrlKey && !event.metaKey;
  if (summoned.value === 'palette' && isLetter) early += event.key;
  else if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === 'k') summoned.value = 'palette';
  else if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target as Element)) return;
  else if (event.key === '?') summoned.value = 'help';
  else {
    const named = document.querySelector<HTMLElement>(`[aria-keyshortcuts="${CSS.escape(event.key)}"]`);
    if (!named) return;
    press(named);
  }
  event.preventDefault();
}

export function press(named: HTMLElement): void {
  if (named instanceof HTMLInputElement) named.focus();
  else named.click();
}

function isTyping(target: Element): boolean {
  return (
    target.closest('input:not([type="checkbox"], [type="radio"]), textarea, select, [contenteditable]') !==
    null
  );
}
