/** What one caller may do: the rules for its roles, with its claims put in. */

import { claimsIn, filled } from '../../access/claims.ts';
import type { Rights, Way } from '../../access/rights.ts';
import { DuetError, type Fault } from '../../base/errors.ts';
import { everything, type Filter, isNothing } from '../../query/filter.ts';
import type { Action, Field, Resource } from '../../schema/model.ts';
import type { Caller } from '../caller.ts';
import type { HooksOf } from '../logic/hooks.ts';
import type { Changes } from '../write/changes.ts';

/** The keys of records of each resource. */
export type Written = Map<Resource, Set<unknown>>;

/** What is the same for everybody who has the same roles. */
export interface RoleRights {
  readonly rights: Rights;
  /** What is made of selections and lists. */
  readonly made: WeakMap<object, object>;
}

export class Access {
  readonly caller: Caller;
  readonly #rights: Rights | undefined;
  readonly #made: RoleRights['made'] | undefined;
  /** Made when it is needed: most live for one request, and ask nothing. */
  #filled: Map<Filter, Filter> | undefined;
  /** Whether what was asked last depended on this very caller, and not on its roles alone. */
  #personal = false;

  /** The functions of the deployment that take part in what is written; undefined where there are none. */
  readonly hooksOf: HooksOf | undefined;
  /** Whether it is the server itself that writes: what clients may not set, it may. */
  readonly isSystem: boolean;
  /** Where the records that are written are noted; undefined where nobody wants to know. */
  readonly changes: Changes | undefined;
  /** Records that this transaction has written, and that are there for that reason; undefined where nobody keeps count. */
  readonly written: Written | undefined;

  /** Without rights, everything is allowed. */
  constructor(
    caller: Caller,
    of: RoleRights | undefined,
    hooksOf?: HooksOf,
    isSystem = false,
    changes?: Changes,
    written?: Written,
  ) {
    this.caller = caller;
    this.#rights = of?.rights;
    this.#made = of?.made;
    this.hooksOf = hooksOf;
    this.isSystem = isSystem;
    this.changes = changes;
    this.written = written;
  }

  /** The same rights, where these functions take part. */
  joinedBy(hooksOf: HooksOf, changes = this.changes, written?: Written): Access {
    return new Access(this.caller, this.#of(), hooksOf, false, changes, written);
  }

  /** The same rights, in a transaction whose changes are noted. */
  noting(changes: Changes): Access {
    return new Access(this.caller, this.#of(), this.hooksOf, this.isSystem, changes, this.written);
  }

  #of(): RoleRights | undefined {
    return this.#rights && this.#made ? { rights: this.#rights, made: this.#made } : undefined;
  }

  /** For what the server does on behalf of the caller, and no rule is asked about. */
  system(): Access {
    return new Access(this.caller, undefined, this.hooksOf, true, this.changes, this.written);
  }

  /** Whether there are no rules to ask. */
  get isFree(): boolean {
    return this.#rights === undefined;
  }

  /** The records of a resource on which the caller may act so. */
  rows(resource: Resource, action: Action): Filter {
    return this.#rights ? this.#own(this.#rights.rows(resource, action)) : everything;
  }

  /** The ways in which the caller may change records of a resource. */
  ways(resource: Resource): readonly Way[] {
    const ways = this.#rights?.ways(resource) ?? [];
    // Without a check there is only one, and it is what `rows` has.
    if (!ways.some(({ check }) => check)) return [{ where: this.rows(resource, 'UPDATE'), check: undefined }];
    return ways.map(({ where, check }) => ({ where: this.#own(where), check: check && this.#own(check) }));
  }

  /** Whether a record may leave the caller's sight by a change: a rule with a check says where to, and not that it is seen. */
  mayRelease(resource: Resource): boolean {
    return this.#rights?.ways(resource).some(({ check }) => check) === true;
  }

  /** The records on which the caller may use a field so. */
  field(field: Field, action: Action): Filter {
    return this.#rights ? this.#own(this.#rights.field(field, action)) : everything;
  }

  /** What `make` makes of a selection or a list, made once where it is the same for all with the same roles. */
  kept<T extends object>(of: T, make: () => T): T {
    const kept = this.#made?.get(of);
    if (kept) return kept as T;
    const before = this.#personal;
    this.#personal = false;
    const made = make();
    if (!this.#personal) this.#made?.set(of, made);
    this.#personal ||= before;
    return made;
  }

  /**
   * Refuses what no rule allows to these roles, on whichever records: it is known before anything is read. A rule that asks
   * for a claim allows nothing to whoever has none at all; for a known caller that lacks it, there just are no records.
   */
  admit(resource: Resource, action: Action): void {
    const rights = this.#rights;
    if (!rights) return;
    const isClosed = (to: Action) =>
      this.caller.subject === undefined ? !this.#mayAct(resource, to) : isNothing(rights.rows(resource, to));
    // What one writes, one is shown.
    const isRefused = isClosed(action);
    if (!isRefused && (action === 'READ' || !isClosed('READ'))) return;
    throw this.denied(`You may not ${verbs[isRefused ? action : 'READ']} ${resource.plural}.`);
  }

  /** What the caller may do with some records at least; whatever else it tries is refused on all of them. */
  actions(resource: Resource): Action[] {
    const may = (action: Action) => this.#mayAct(resource, action);
    // What one writes, one is shown.
    return may('READ') ? (resource.journal ? [...actions, 'HISTORY' as const] : actions).filter(may) : [];
  }

  /** On some records, by what they are and, where they are changed, by what they may become. */
  #mayAct(resource: Resource, action: Action): boolean {
    if (action !== 'UPDATE') return !isNothing(this.rows(resource, action));
    return this.ways(resource).some(({ where, check }) => !isNothing(where) && !(check && isNothing(check)));
  }

  /** The same with a field. */
  uses(field: Field): Action[] {
    return actionsOnFields.filter((action) => !isNothing(this.field(field, action)));
  }

  /** A caller that nobody knows may have more to show than it did. */
  denied(detail: string, errors?: readonly Fault[]): DuetError {
    const known = this.caller.subject !== undefined;
    const extras = errors ? { errors } : {};
    return known
      ? new DuetError('FORBIDDEN', detail, extras)
      : new DuetError('UNAUTHENTICATED', `${detail} Send a token of somebody who may.`, extras);
  }

  #own(filter: Filter): Filter {
    this.#filled ??= new Map();
    let own = this.#filled.get(filter);
    if (!own) {
      own = claimsIn(filter).length > 0 ? filled(filter, this.caller.claims) : filter;
      this.#filled.set(filter, own);
    }
    if (own !== filter) this.#personal = true;
    return own;
  }
}

const actionsOnFields: readonly Action[] = ['READ', 'CREATE', 'UPDATE'];
const actions: readonly Action[] = [...actionsOnFields, 'DELETE'];

export const verbs: Readonly<Record<Action, string>> = {
  READ: 'read',
  CREATE: 'create',
  UPDATE: 'update',
  DELETE: 'delete',
  HISTORY: 'read the past of',
};
