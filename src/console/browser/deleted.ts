/** What was deleted on this page and can come back, for whoever finds out when Undo is gone. */

import { signal } from '@preact/signals';
import type { Resource } from './schema/types.ts';
import { mayUndelete } from './session.ts';

interface Deleted {
  readonly type: string;
  readonly key: unknown;
  readonly name: string;
}

/** The last first. */
export const deleted = signal<readonly Deleted[]>([]);

export function wasDeleted(resource: Resource, key: unknown, name: string): void {
  if (mayUndelete(resource)) deleted.value = [{ type: resource.name, key, name }, ...deleted.value];
}

export function wasRestored(resource: Resource, key: unknown): void {
  deleted.value = deleted.value.filter(
    (each) => each.type !== resource.name || String(each.key) !== String(key),
  );
}
