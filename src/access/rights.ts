/** What the rules allow to whoever has certain roles; which claims a caller has is not known yet. */

import { any, everything, type Filter } from '../query/filter.ts';
import type { Action, Field, Resource } from '../schema/model.ts';
import type { AccessRule, Rules } from './rules.ts';

export class Rights {
  readonly #rules: Rules;
  readonly #roles: ReadonlySet<string>;
  readonly #rows = new Map<Resource | Field, Map<Action, Filter>>();

  constructor(rules: Rules, roles: Iterable<string>) {
    this.#rules = rules;
    this.#roles = new Set(roles);
  }

  /** The records of a resource; what no rule allows is not allowed. */
  rows(resource: Resource, action: Action): Filter {
    return this.#kept(resource, action, () => this.#union(this.#rules.of(resource), action));
  }

  /** The records on which a field may be used; one without a rule follows its type. */
  field(field: Field, action: Action): Filter {
    return this.#kept(field, action, () => {
      const rules = this.#rules.of(field);
      return rules.some(({ to }) => to.includes(action)) ? this.#union(rules, action) : everything;
    });
  }

  #union(rules: readonly AccessRule[], action: Action): Filter {
    const mine = rules.filter(
      ({ to, role }) => to.includes(action) && (role === undefined || this.#roles.has(role)),
    );
    return any(mine.map(({ where }) => where));
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
