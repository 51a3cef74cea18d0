/** What stands in the way of a new file, in words: what it asks for, why that cannot be, and the cure. */

import type { Column } from '../../schema/model.ts';
import { keptAs } from '../../schema/values.ts';
import type { IndexPlan } from './tables.ts';

export interface Refusal {
  readonly what: string;
  readonly why: string;
  readonly how: string;
}

export class EvolutionRefused extends Error {
  readonly refusals: readonly Refusal[];

  constructor(refusals: readonly Refusal[]) {
    super(refusals.map(({ what, why, how }) => `${what}, but ${why}. ${how}.`).join('\n'));
    this.refusals = refusals;
  }
}

/** What is said of a unique index that rows stand against. */
export function notUnique({ resource, columns }: IndexPlan, twins: readonly string[]): Refusal {
  const aside = columns.some((column) => keptAs(column) === 'folded') ? ', letter case aside' : '';
  return {
    what: `${resource.name}(${columns.map(({ name }) => name).join(', ')}): it is now unique`,
    why: `there are records with the same value${aside}: ${twins.join(', ')}`,
    how: 'Change such records first, or drop the @unique',
  };
}

export function mayDefault({ origin, reference }: Column): boolean {
  return 'default' in origin && !reference;
}

export function howToFill(column: Column): string {
  const { by } = column.origin;
  if (mayDefault(column)) return 'Add @default(value: …), or drop the "!"';
  if (by === 'createdAt' || by === 'updatedAt')
    return `Start once with @default(value: …) in the place of @${by}, which gives them one`;
  return 'Start once without the "!" and give them one, or drop the "!"';
}
