/** What lasts while the page is open: the token, the door in use, the looks, and what the caller was refused. */

import { effect, signal } from '@preact/signals';
import type { Door, Operation, Resource } from './schema/types.ts';

/** In memory only: nothing that outlives the page may have it. */
export const token = signal('');
/** The service wants to know who is asking. */
export const tokenWanted = signal(false);
export const door = signal<Door>(remembered('door') === 'graphql' ? 'graphql' : 'rest');
export const theme = signal(remembered('theme') ?? 'auto');
/** Whether both doors are shown; where there is room for little else, only when asked for. */
export const dockOpen = signal((remembered('dock') ?? (innerWidth >= 900 ? 'open' : 'closed')) === 'open');
const refused = signal<ReadonlySet<string>>(new Set());

effect(() => remember('door', door.value));
effect(() => remember('dock', dockOpen.value ? 'open' : 'closed'));
effect(() => {
  remember('theme', theme.value);
  document.documentElement.dataset['theme'] = theme.value;
});

/** Another caller may be allowed what this one was not. */
export function takeToken(text: string): void {
  token.value = text;
  tokenWanted.value = false;
  refused.value = new Set();
}

export function wasRefused(resource: Resource, operation: Operation): void {
  refused.value = new Set([...refused.value, `${resource.name} ${operation}`]);
}

/** Whether the service has the operation, and has not refused it to this caller. */
export function may(resource: Resource, operation: Operation): boolean {
  return resource.operations.has(operation) && !refused.value.has(`${resource.name} ${operation}`);
}

export function isRefused(resource: Resource, operation: Operation): boolean {
  return refused.value.has(`${resource.name} ${operation}`);
}

function remembered(name: string): string | null {
  try {
    return localStorage.getItem(`duet.${name}`);
  } catch {
    // Storage is switched off: then every visit is the first.
    return null;
  }
}

function remember(name: string, value: string): void {
  try {
    localStorage.setItem(`duet.${name}`, value);
  } catch {}
}
