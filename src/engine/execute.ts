/** The corridor: every operation of every door comes through here, and nothing else talks to the storage. */

import { DuetError } from '../errors.ts';
import type { Program, Storage } from '../storage/storage.ts';
import type { Caller } from './caller.ts';
import type { Idempotency } from './idempotency.ts';
import type { Aggregate, List, Read, Write, WriteMany } from './operation.ts';
import { pagesOf } from './pages.ts';
import { permitted } from './policy.ts';
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

  constructor(storage: Storage, writer: Writer, limits: EngineLimits) {
    this.#storage = storage;
    this.#writer = writer;
    this.limits = limits;
  }

  /** Carries out all reads on one snapshot: one answer shows one moment. */
  async read<const R extends readonly Read[]>(caller: Caller, operations: R): Promise<Answers<R>> {
    const allowed = operations.map((operation) => permitted(caller, operation));
    const { objects } = this.limits;
    return this.#storage.read(function* () {
      const budget = new Budget(objects);
      const answers: Answer<Read>[] = [];
      for (const operation of allowed) answers.push(yield* performRead(operation, budget));
      return answers as Answers<R>;
    }, stepsOf(allowed));
  }

  /** Carries out one write; when the promise fulfils, its effect is durable. */
  async write<W extends Write>(
    caller: Caller,
    operation: W,
    idempotency?: Idempotency,
  ): Promise<WrittenBy<W>> {
    return this.#writer.write(caller, permitted(caller, operation), idempotency) as Promise<WrittenBy<W>>;
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
    const allowed = writes.map(({ operation, as }) => ({ operation: permitted(caller, operation), as }));
    return this.#writer.transact(caller, allowed, idempotency);
  }

  /** A list of any length, page by page; all of them show one moment. */
  async *pages(caller: Caller, operation: List): AsyncGenerator<Node[]> {
    const allowed = permitted(caller, operation);
    const snapshot = await this.#storage.snapshot();
    try {
      yield* pagesOf(allowed, snapshot);
    } finally {
      await snapshot.close();
    }
  }

  /** Fails when the storage cannot serve. */
  async ready(): Promise<void> {
    await this.#storage.ping();
  }
}

function performRead(operation: Read, budget: Budget): Program<Answer<Read>> {
  switch (operation.do) {
    case 'list':
      return list(operation, budget);
    case 'get':
      return get(operation, budget);
    case 'aggregate':
      return aggregate(operation, budget);
  }
}
