/** The corridor: every operation of every door comes through here, and nothing else talks to the storage. */

import type { Storage } from '../storage/storage.ts';
import type { Caller } from './caller.ts';
import { Collision, collided } from './collision.ts';
import type { List, Read, Write } from './operation.ts';
import { permitted } from './policy.ts';
import { get, list, type Node, stepsOf as readSteps } from './read.ts';
import { write, stepsOf as writeSteps } from './write.ts';

/** A list answers with nodes; the record of a key is a node or, where there is none, null. */
type Answers<R extends readonly Read[]> = {
  -readonly [I in keyof R]: R[I] extends List ? Node[] : Node | null;
};

export class Engine {
  readonly #storage: Storage;

  constructor(storage: Storage) {
    this.#storage = storage;
  }

  /** Carries out all reads on one snapshot: one answer shows one moment. */
  async read<const R extends readonly Read[]>(caller: Caller, operations: R): Promise<Answers<R>> {
    const allowed = operations.map((operation) => permitted(caller, operation));
    return this.#storage.read(function* () {
      const answers: (Node[] | Node | null)[] = [];
      for (const operation of allowed)
        answers.push(yield* operation.do === 'list' ? list(operation) : get(operation));
      return answers as Answers<R>;
    }, readSteps(allowed));
  }

  /** Carries out one write; when the promise fulfils, its effect is durable. */
  async write(caller: Caller, operation: Write): Promise<Node> {
    const allowed = permitted(caller, operation);
    try {
      return await this.#storage.write(() => write(caller, allowed), writeSteps(allowed));
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
