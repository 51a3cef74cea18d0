/** What async functions ask of Duet: `await api.books.get(1)`, each call a transaction of its own. */

import type { Model } from '../../schema/model.ts';
import type { Program } from '../../storage/storage.ts';
import type { Caller } from '../caller.ts';
import type { Tx } from './tx.ts';

/** Every resource under the name of its list, without rules. */
export interface Api {
  /** The same with the rules of this caller. */
  as(caller: Caller): Api;
  /** All that a generator asks, in one transaction. */
  transact(steps: (tx: Tx) => unknown): Promise<unknown>;
  readonly [plural: string]: unknown;
}

/** Runs steps in a transaction; `path`: the functions that have led to it. Without a caller, no rule is asked. */
export type RunInside = (asked: {
  readonly caller: Caller | undefined;
  readonly path: readonly string[];
  readonly steps: (tx: Tx) => unknown;
  readonly isReading: boolean;
}) => Promise<unknown>;

type Call = (...args: readonly unknown[]) => Program<unknown>;

const reading = ['get', 'list', 'aggregate'];
const writing = ['create', 'update', 'delete', 'upsert'];

/** Makes what functions get to see that were led to by these. */
export function apiOf({ resources }: Model, run: RunInside): (path: readonly string[]) => Api {
  class Resources {
    readonly caller: Caller | undefined;
    readonly path: readonly string[];

    constructor(path: readonly string[], caller?: Caller) {
      this.path = path;
      this.caller = caller;
    }

    as(caller: Caller): Resources {
      if (!isCaller(caller)) throw new Error(NO_CALLER);
      return new Resources(this.path, caller);
    }

    transact(steps: (tx: Tx) => unknown): Promise<unknown> {
      return run({ caller: this.caller, path: this.path, steps, isReading: false });
    }
  }
  for (const { plural } of resources)
    Object.defineProperty(Resources.prototype, plural, {
      get(this: Resources) {
        const { caller, path } = this;
        const call =
          (method: string, isReading: boolean) =>
          (...args: readonly unknown[]) => {
            const steps = (tx: Tx) => (tx[plural] as Record<string, Call>)[method]?.(...args);
            return run({ caller, path, steps, isReading });
          };
        return Object.fromEntries([
          ...reading.map((method) => [method, call(method, true)]),
          ...writing.map((method) => [method, call(method, false)]),
        ]);
      },
    });
  return (path) => new Resources(path) as object as Api;
}

/** Without a caller no rule would be asked: what a function forgot to say, or does not have, must not mean that. */
const NO_CALLER =
  'api.as needs a caller, { subject, roles, claims }: what runs after a commit has none, so make one of the fields of its record, ' +
  'or of the journal; `api` itself asks no rule';

function isCaller(given: unknown): given is Caller {
  if (typeof given !== 'object' || given === null) return false;
  const { roles, claims } = given as Partial<Caller>;
  return Array.isArray(roles) && typeof claims === 'object' && claims !== null;
}
