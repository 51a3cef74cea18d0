/** What the rules allow to whoever has certain roles; which claims a caller has is not known yet. */

import { all, any, everything, type Filter } from '../query/filter.ts';
import type { Action, ActionField, Field, Resource } from '../schema/model.ts';
import type { AccessRule, Rules } from './rules.ts';

/** A way in which a record may be changed. */
export interface Way {
  /** What it must match before. */
  readonly where: Filter;
  /** What it must match after, and then it may leave the caller's sight; undefined: `where` again, and it must be seen. */
  readonly check: Filter | undefined;
}

export class Rights {
  readonly #rules: Rules;
  readonly #roles: ReadonlySet<string>;
  readonly #rows = new Map<Resource | Field, Map<Action, Filter>>();

  readonly #ways = new Map<Resource, readonly Way[]>();

  constructor(rules: Rules, roles: Iterable<string>) {
    this.#rules = rules;
    this.#roles = new Set(roles);
  }

  /** The records of a resource; what no rule allows is not allowed. */
  rows(resource: Resource, action: Action): Filter {
    return this.#kept(resource, action, () => this.#union(this.#rules.of(resource), action));
  }

  /** The records on which a field may be used; one without a rule follows its type, and all that it is made of. */
  field(field: Field, action: Action): Filter {
    return this.#kept(field, action, () => {
      const rules = this.#rules.of(field);
      if (rules.some(({ to }) => to.includes(action))) return this.#union(rules, action);
      const of = field.kind === 'column' && action === 'READ' ? field.madeOf : undefined;
      return of ? all(of.map((each) => this.field(each, action))) : everything;
    });
  }

  /**
   * The ways in which records of a resource may be changed. Rules without a check are one way together: what one of them
   * lets be changed may become what another does.
   */
  ways(resource: Resource): readonly Way[] {
    let ways = this.#ways.get(resource);
    if (!ways) {
      const mine = this.#mine(this.#rules.of(resource), 'UPDATE');
      const plain = mine.filter(({ check }) => !check);
      ways = [
        ...(plain.length > 0 ? [{ where: any(plain.map(({ where }) => where)), check: undefined }] : []),
        ...mine.filter(({ check }) => check).map(({ where, check }) => ({ where, check })),
      ];
      this.#ways.set(resource, ways);
    }
    return ways;
  }

  #union(rules: readonly AccessRule[], action: Action): Filter {
    return any(this.#mine(rules, action).map(({ where }) => where));
  }

  #mine(rules: readonly AccessRule[], action: Action): AccessRule[] {
    return rules.filter(
      ({ to, role }) => to.includes(action) && (role === undefined || this.#roles.has(role)),
    );
  }

  #kept(of: Resource | Field, action: Action, make: () => Filter): Filter {
    let actions = this.#rows.get(of);
    if (!actions) {
      actions = new Map();
      this.#rows.set(of, actions);
    }
    let filter = actions.get(action);
    if (!filter) {
      filter = make();
      actions.set(action, filter);
    }
    return filter;
  }
}

/** Whether somebody with these roles may run an action: one of them is named by a rule, or a rule names none. */
export function mayRun(roles: readonly string[], { allow }: ActionField): boolean {
  return allow.some(({ role }) => role === undefined || roles.includes(role));
}
