/** On whose behalf a function asks something inside of its transaction, and what has become of that transaction. */

import { DuetError, type Fault } from '../../base/errors.ts';
import type { Program } from '../../storage/storage.ts';
import { type AnswerLimits, Budget } from '../budget.ts';
import type { Aggregate, Get, List, WriteOne } from '../operation.ts';
import type { Access } from '../policy/access.ts';
import type { Policy } from '../policy/policy.ts';
import { aggregate, get, list, type Node } from '../read/read.ts';
import { Collision } from '../write/collision.ts';
import { perform } from '../write/perform.ts';

/** What has become of the transaction in the hands of one function. */
export class Ledger {
  hasWritten = false;
  /** Why the transaction cannot go on. */
  failure: unknown;
  readonly isReadOnly: boolean;

  constructor(isReadOnly = false) {
    this.isReadOnly = isReadOnly;
  }
}

/** On whose behalf something is asked. */
export class Acting {
  readonly access: Access;
  readonly ledger: Ledger;
  readonly #policy: Policy;
  readonly #limits: AnswerLimits;

  constructor(access: Access, policy: Policy, ledger: Ledger, limits: AnswerLimits) {
    this.access = access;
    this.ledger = ledger;
    this.#policy = policy;
    this.#limits = limits;
  }

  *get(operation: Get): Program<Node | null> {
    const permitted = this.#policy.permit(this.access.caller, operation);
    return yield* this.#reading(get(permitted, new Budget(this.#limits)));
  }

  *list(operation: List): Program<Node[]> {
    const permitted = this.#policy.permit(this.access.caller, operation);
    return (yield* this.#reading(list(permitted, new Budget(this.#limits)))).nodes;
  }

  *aggregate(operation: Aggregate): Program<Node[]> {
    const permitted = this.#policy.permit(this.access.caller, operation);
    return yield* this.#reading(aggregate(permitted, new Budget(this.#limits)));
  }

  /** After a statement that failed, PostgreSQL takes no other, and a COMMIT undoes all that came before. */
  *#reading<T>(program: Program<T>): Program<T> {
    this.#goOn();
    try {
      return yield* program;
    } catch (error) {
      this.ledger.failure = error;
      throw error;
    }
  }

  *write(operation: WriteOne): Program<Node> {
    this.#goOn();
    if (this.ledger.isReadOnly)
      throw new Error(
        `an action of Query only reads, so it cannot ${operation.do} ${operation.resource.plural}`,
      );
    try {
      const permitted = this.#policy.permit(this.access.caller, operation);
      const written = yield* perform(this.access, permitted, new Budget(this.#limits));
      this.ledger.hasWritten = true;
      return written as Node;
    } catch (error) {
      const told = elsewhere(error);
      // Nothing was begun: whoever expects that can go on.
      if (!(told instanceof DuetError && told.code === 'NOT_FOUND')) this.ledger.failure = told;
      throw told;
    }
  }

  #goOn(): void {
    if (this.ledger.failure !== undefined) throw this.ledger.failure;
  }
}

/** What is wrong with a record that a function writes has no place in what the client sent. */
function elsewhere(error: unknown): unknown {
  if (error instanceof Collision) return error.at([]);
  if (!(error instanceof DuetError) || !error.errors) return error;
  const errors = error.errors.map(
    (fault): Fault => ({ code: fault.code, detail: fault.detail, pointer: '#' }),
  );
  return new DuetError(error.code, error.message, { errors });
}
