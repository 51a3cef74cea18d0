/** The corridor: every operation of every door comes through here, and nothing else talks to the storage. */

import { DuetError } from '../errors.ts';
import type { Action, Resource } from '../schema/model.ts';
import type { Program, Storage } from '../storage/storage.ts';
import type { Caller } from './caller.ts';
import { Collision, collided } from './collision.ts';
import { type Idempotency, once } from './idempotency.ts';
import type { Aggregate, List, Operation, Read, Write, WriteMany } from './operation.ts';
import { pagesOf } from './pages.ts';
import type { Permitted } from './policy/permitted.ts';
import type { Policy } from './policy/policy.ts';
import { aggregate, Budget, get, type Listing, list, type Node, stepsOf as readSteps } from './read.ts';
import { type NamedWrite, perform, transact, WriteFailed, type Written } from './transaction.ts';
import { stepsOf as writeSteps } from './write.ts';

type Answer<R extends Read> = R extends List ? Listing : R extends Aggregate ? Node[] : Node | null;
type WrittenBy<W extends Write> = W extends WriteMany ? Node[] : Node;
type Answers<R extends readonly Read[]> = { -readonly [I in keyof R]: Answer<R[I]> };

export interface EngineLimits {
  /** Objects in one answer. */
  readonly objects: number;
  /** Operations in one transaction. */
  readonly operations: number;
}

export class Engine {
  readonly limits: EngineLimits;
  readonly #storage: Storage;
  readonly #policy: Policy;

  constructor(storage: Storage, policy: Policy, limits: EngineLimits) {
    this.#storage = storage;
    this.#policy = policy;
    this.limits = limits;
  }

  /** Refuses what the rules allow to nobody with the caller's roles: it is known before a request is even read. */
  admit(caller: Caller, resource: Resource, action: Action): void {
    this.#policy.access(caller).admit(resource, action);
  }

  /** What the caller may have of an operation; throws when that is nothing. */
  permit<O extends Operation>(caller: Caller, operation: O): Permitted<O> {
    return this.#policy.permit(caller, operation);
  }

  async read<const R extends readonly Read[]>(caller: Caller, operations: R): Promise<Answers<R>> {
    const permitted = operations.map((operation) => this.permit(caller, operation));
    return (await this.readPermitted(permitted)) as Answers<R>;
  }

  /** Carries out all reads on one snapshot: one answer shows one moment. */
  async readPermitted(operations: readonly Permitted<Read>[]): Promise<Answer<Read>[]> {
    const { objects } = this.limits;
    return this.#storage.read(function* () {
      const budget = new Budget(objects);
      const answers: Answer<Read>[] = [];
      for (const operation of operations) answers.push(yield* performRead(operation, budget));
      return answers;
    }, readSteps(operations));
  }

  /** Carries out one write; when the promise fulfils, its effect is durable. */
  async write<W extends Write>(
    caller: Caller,
    operation: W,
    idempotency?: Idempotency,
  ): Promise<WrittenBy<W>> {
    const access = this.#policy.access(caller);
    const permitted = this.permit<Write>(caller, operation);
    const program = () => perform(access, permitted, this.#budget()) as Program<WrittenBy<W>>;
    return this.#explained(() =>
      idempotency
        ? this.#storage.write(() => once(idempotency, program), 'many')
        : this.#storage.write(program, writeSteps(access, permitted)),
    );
  }

  /** Carries out all writes, or none: then it throws WriteFailed, with the first that failed. */
  async transact(
    caller: Caller,
    writes: readonly NamedWrite[],
    idempotency?: Idempotency,
  ): Promise<Written[]> {
    const { operations: most } = this.limits;
    if (writes.length > most)
      throw new DuetError('TOO_MANY_OPERATIONS', `The transaction has more than ${most} operations.`);
    const permitted = writes.map(({ operation, as }, index) => {
      try {
        return { operation: this.permit(caller, operation), as };
      } catch (error) {
        throw error instanceof DuetError ? new WriteFailed(index, error) : error;
      }
    });
    const access = this.#policy.access(caller);
    const program = () => transact(access, permitted, this.#budget());
    return this.#explained(() =>
      this.#storage.write(idempotency ? () => once(idempotency, program) : program, 'many'),
    );
  }

  #budget(): Budget {
    return new Budget(this.limits.objects);
  }

  /** The transaction of a collision is over: what collided is looked up anew, so that both databases tell the same. */
  async #explained<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      const reason = error instanceof WriteFailed ? error.reason : error;
      if (!(reason instanceof Collision)) throw error;
      const explained = await this.#storage.read(() => collided(reason), 'many');
      throw error instanceof WriteFailed ? new WriteFailed(error.index, explained) : explained;
    }
  }

  /** A list of any length, page by page; all of them show one moment. */
  async *pages(operation: Permitted<List>): AsyncGenerator<Node[]> {
    const snapshot = await this.#storage.snapshot();
    try {
      yield* pagesOf(operation, snapshot);
    } finally {
      await snapshot.close();
    }
  }

  /** Fails when the storage cannot serve. */
  async ready(): Promise<void> {
    await this.#storage.ping();
  }
}

function performRead(operation: Permitted<Read>, budget: Budget): Program<Answer<Read>> {
  switch (operation.do) {
    case 'list':
      return list(operation, budget);
    case 'get':
      return get(operation, budget);
    case 'aggregate':
      return aggregate(operation, budget);
  }
}
