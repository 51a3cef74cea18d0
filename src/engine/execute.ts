/** The corridor: every operation of every door comes through here, and nothing else talks to the storage. */

import { DuetError } from '../errors.ts';
import type { Action, Resource } from '../schema/model.ts';
import type { Program, Storage } from '../storage/storage.ts';
import type { Caller } from './caller.ts';
import type { Idempotency } from './idempotency.ts';
import type { Aggregate, List, Operation, Read, Write, WriteMany } from './operation.ts';
import { pagesOf } from './pages.ts';
import type { Permitted } from './policy/permitted.ts';
import type { Policy } from './policy/policy.ts';
import { aggregate, Budget, get, type Listing, list, type Node, stepsOf } from './read.ts';
import type { NamedWrite, Written } from './transaction.ts';
import type { Writer } from './writer.ts';

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
  readonly #writer: Writer;
  readonly #policy: Policy;

  constructor(storage: Storage, writer: Writer, policy: Policy, limits: EngineLimits) {
    this.#storage = storage;
    this.#writer = writer;
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
    }, stepsOf(operations));
  }

  /** Carries out one write; when the promise fulfils, its effect is durable. */
  async write<W extends Write>(
    caller: Caller,
    operation: W,
    idempotency?: Idempotency,
  ): Promise<WrittenBy<W>> {
    return this.#writer.write(caller, operation, idempotency) as Promise<WrittenBy<W>>;
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
    return this.#writer.transact(caller, writes, idempotency);
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
