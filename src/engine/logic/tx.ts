/** What a function asks of Duet inside of its transaction: `yield* tx.books.get(1)`. */

import type { Model } from '../../schema/model.ts';
import type { AnswerLimits } from '../budget.ts';
import type { Access } from '../policy/access.ts';
import { Policy } from '../policy/policy.ts';
import { Acting, type Ledger } from './acting.ts';
import { Records } from './records.ts';

/** Every resource under the name of its list, and all of them again without rules. */
export interface Tx {
  readonly system: Tx;
  readonly [plural: string]: unknown;
}

/** Makes what functions get to see. */
export function txOf(
  model: Model,
  policy: Policy,
  { objects, bytes }: AnswerLimits,
): (access: Access, ledger: Ledger) => Tx {
  const free = new Policy(model, false);
  const limits = { objects, bytes };
  class Resources {
    readonly acting: Acting;
    constructor(acting: Acting) {
      this.acting = acting;
    }
    get system(): Resources {
      const { access, ledger } = this.acting;
      return access.isSystem ? this : new Resources(new Acting(access.system(), free, ledger, limits));
    }
  }
  for (const resource of model.resources)
    Object.defineProperty(Resources.prototype, resource.plural, {
      get(this: Resources) {
        return new Records(resource, this.acting);
      },
    });
  // What nobody asked for has no rules, and so have the functions that it leads to.
  return (access, ledger) =>
    new Resources(new Acting(access, access.isFree ? free : policy, ledger, limits)) as object as Tx;
}
