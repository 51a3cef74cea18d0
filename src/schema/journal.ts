/** `@journal`: which types keep their changes, and for how long. */

import type { AppliedDirectives } from './directives.ts';
import type { Faults } from './draft.ts';
import type { Journal, Model, Resource } from './model.ts';

const UNITS = { m: 60_000, h: 3_600_000, d: 86_400_000 } as const;
/** A hundred years: beyond it, times are no longer those of calendars. */
const MOST_DAYS = 36_500;

export function readJournal(
  type: string,
  directives: AppliedDirectives,
  faults: Faults,
): Journal | undefined {
  const applied = directives.get('journal')?.[0];
  if (!applied) return undefined;
  const keep = String(applied.arguments['keep']);
  if (keep === 'forever') return { keepMs: undefined };
  const [, count = '', unit = ''] = /^([1-9]\d{0,8})([mhd])$/.exec(keep) ?? [];
  const keepMs = Number(count) * UNITS[unit as keyof typeof UNITS];
  if (!(keepMs <= MOST_DAYS * UNITS.d))
    faults.at(
      applied.node,
      `"@journal" on ${type} keeps changes for "${keep}", which is no time. Write a number of minutes, hours or days, such as "90m", "12h" or "30d", or "forever".`,
    );
  return { keepMs };
}

/** Those whose changes are kept, and shown through this door. */
export function journaled({ resources }: Model, door: 'rest' | 'graphql'): readonly Resource[] {
  return resources.filter((resource) => resource.journal && resource[door]);
}

/** Whether records can be written as they were: that is an update, or a create. */
export function isRestorable({ journal, operations }: Resource): boolean {
  return journal !== undefined && (operations.has('UPDATE') || operations.has('CREATE'));
}
