/** The corridor: every operation of every door comes through here, and nothing else talks to the storage. */

import type { Program, Storage } from '../storage/storage.ts';
import type { Caller } from './caller.ts';
import { Collision, collided } from './collision.ts';
import type { Aggregate, List, Read, Write } from './operation.ts';
import { permitted } from './policy.ts';
import { aggregate, Budget, get, type Listing, list, type Node, stepsOf as readSteps } from './read.ts';
import { write, stepsOf as writeSteps } from './write.ts';

type Answer<R extends Read> = R extends List ? Listing : R extends Aggregate ? Node[] : Node | null;
type Answers<R extends readonly Read[]> = { -readonly [I in keyof R]: Answer<R[I]> };

export interface EngineLimits {
  /** Objects in one answer. */
  readonly objects: number;
}

export class Engine {
  readonly limits: EngineLimits;
  readonly #storage: Storage;

  constructor(storage: Storage, limits: EngineLimits) {
    this.#storage = storage;
    this.limits = limits;
  }

  /** Carries out all reads on one snapshot: one answer shows one moment. */
  async read<const R extends readonly Read[]>(caller: Caller, operations: R): Promise<Answers<R>> {
    const allowed = operations.map((operation) => permitted(caller, operation));
    const { objects } = this.limits;
    return this.#storage.read(function* () {
      const budget = new Budget(objects);
      const answers: Answer<Read>[] = [];
      for (const operation of allowed) answers.push(yield* perform(operation, budget));
      return answers as Answers<R>;
    }, readSteps(allowed));
  }

  /** Carries out one write; when the promise fulfils, its effect is durable. */
  async write(caller: Caller, operation: Write): Promise<Node> {
    const allowed = permitted(caller, operation);
    try {
      return await this.#storage.write(
        () => write(caller, allowed, new Budget(this.limits.objects)),
        writeSteps(allowed),
      );
    } catch (error) {
      if (!(error instanceof Collision)) throw error;
      // The transaction is over: what collided is looked up anew, all of it, so that both databases tell the same.
      throw await this.#storage.read(() => collided(error), 'many');
    }
  }

  /** Fails when the storage cannot serve. */
  async ready(): Promise<void> {
    await this.#storage.ping();
  }
}

function perform(operation: Read, budget: Budget): Program<Answer<Read>> {
  switch (operation.do) {
    case 'list':
      return list(operation, budget);
    case 'get':
      return get(operation, budget);
    case 'aggregate':
      return aggregate(operation, budget);
  }
}
