/** What lasts while the page is open: the token, the door in use, the looks, and what the caller may not do. */

import { effect, signal } from '@preact/signals';
import type { Action, Allowed, Door, Operation, Resource } from './schema/types.ts';
import type { Language } from './snippets.ts';

/** For as long as the tab is open, and in no other: a reload keeps it, and nothing that outlives the tab has it. */
export const token = signal(keptInTab('token') ?? '');
/** Why the dialog is open: they want to know who they are, or to be somebody else, or to write what takes a token; empty where it is not. */
export const signingIn = signal<'' | 'asked' | 'another' | 'writing'>('');
/** Whether the token that they had is no longer accepted, until they come with another. */
export const wasSignedOut = signal(false);
export const door = signal<Door>(remembered('door') === 'graphql' ? 'graphql' : 'rest');
export const theme = signal(remembered('theme') ?? 'auto');
/** Where there is room for little else, both doors are shown only when they are asked for there. */
const narrow = matchMedia('(max-width: 899px)');
export const dockOpen = signal(isDockOpen());
narrow.addEventListener('change', () => {
  dockOpen.value = isDockOpen();
});
/** How high its texts are, in pixels; 0 as long as nobody has said so. */
export const dockHeight = signal(Number(remembered('dock-height')) || 0);
/** What the panel writes requests in. */
export const snippet = signal((remembered('snippet') ?? 'curl') as Language);
/** What the service says that the caller may do, by type and action; nothing is known of it at first. */
const allowed = signal<Allowed>({});
/** Records that the service has refused to let the caller change: rules may tell one record from another. */
const refused = signal<ReadonlySet<string>>(new Set());

/** As whom an operator looks, with a token that was signed for it; undefined where one is oneself. */
export const viewing = signal<Viewing | undefined>(JSON.parse(keptInTab('viewing') ?? 'null') ?? undefined);

export interface Viewing {
  readonly subject: string;
  readonly roles: readonly string[];
  readonly until: string;
  /** The token to come back to. */
  readonly own: string;
}

effect(() => keepInTab('token', token.value));
effect(() => keepInTab('viewing', viewing.value && JSON.stringify(viewing.value)));
effect(() => remember('door', door.value));
effect(() => remember('snippet', snippet.value));
effect(() => {
  if (dockHeight.value) remember('dock-height', String(dockHeight.value));
});
effect(() => {
  remember('theme', theme.value);
  document.documentElement.dataset['theme'] = theme.value;
});

function isDockOpen(): boolean {
  return (remembered(dockName()) ?? (narrow.matches ? 'closed' : 'open')) === 'open';
}

function dockName(): string {
  return narrow.matches ? 'dock-narrow' : 'dock';
}

export function foldDock(): void {
  dockOpen.value = !dockOpen.value;
  remember(dockName(), dockOpen.value ? 'open' : 'closed');
}

/** Another caller may be allowed what this one was not. */
export function takeToken(text: string): void {
  viewing.value = undefined;
  use(text);
}

/** Looks with the eyes of another; what is not saved is theirs who began it. */
export function viewAs(text: string, as: Omit<Viewing, 'own'>): void {
  viewing.value = { ...as, own: viewing.value?.own ?? token.value };
  use(text);
}

/** The service does not answer without a token, or not with this one. Whose token is not accepted is not signed in. */
export function wantToken(): void {
  // That of another has come to its end.
  if (viewing.value) takeToken(viewing.value.own);
  else if (token.value !== '') {
    const opened = signingIn.value;
    use('');
    signingIn.value = opened;
    wasSignedOut.value = true;
  }
}

/** Whoever has just sent something is in the middle of it. Whoever only looks is not interrupted: the page says what it takes. */
export function signInToWrite(): void {
  if (token.value === '') signingIn.value ||= 'writing';
}

function use(text: string): void {
  token.value = text;
  signingIn.value = '';
  wasSignedOut.value = false;
  refused.value = new Set();
}

export function takeAllowed(told: Allowed): void {
  allowed.value = told;
}

export function wasRefused(resource: Resource, operation: Operation, key: unknown): void {
  refused.value = new Set([...refused.value, named(resource, operation, key)]);
}

/** Whether the service has the operation, and would not refuse it to this caller. */
export function may(resource: Resource, operation: Operation, key?: unknown): boolean {
  return resource.operations.has(operation) && !isRefused(resource, operation, key);
}

export function mayRun({ name }: Action): boolean {
  return allowed.value[name]?.includes('RUN') ?? true;
}

/** Whether what has happened to a record before can be looked at. */
export function mayLookBack(resource: Resource): boolean {
  return resource.operations.has('CHANGES') && !isRefused(resource, 'RESTORE');
}

/** Whether a deleted record can be brought back, which is to create it. */
export function mayUndelete(resource: Resource): boolean {
  return may(resource, 'RESTORE') && !isRefused(resource, 'CREATE');
}

/** Where the right has another name. */
const needed: Partial<Record<Operation, string>> = {
  LIST: 'READ',
  GET: 'READ',
  CHANGES: 'READ',
  RESTORE: 'HISTORY',
};

/** Without a key: whichever the record. */
export function isRefused(resource: Resource, operation: Operation, key?: unknown): boolean {
  const actions = allowed.value[resource.name];
  const action = needed[operation] ?? operation;
  return (
    (actions !== undefined && !actions.includes(action)) || refused.value.has(named(resource, operation, key))
  );
}

function named({ name }: Resource, operation: Operation, key: unknown): string {
  return JSON.stringify([name, operation, String(key)]);
}

export function remembered(name: string): string | null {
  try {
    return localStorage.getItem(`duet.${name}`);
  } catch {
    // Storage is switched off: then every visit is the first.
    return null;
  }
}

export function remember(name: string, value: string): void {
  try {
    localStorage.setItem(`duet.${name}`, value);
  } catch {}
}

function keptInTab(name: string): string | null {
  try {
    return sessionStorage.getItem(`duet.${name}`);
  } catch {
    return null;
  }
}

function keepInTab(name: string, value: string | undefined): void {
  try {
    if (value) sessionStorage.setItem(`duet.${name}`, value);
    else sessionStorage.removeItem(`duet.${name}`);
  } catch {}
}
