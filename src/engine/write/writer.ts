/** Asks the policy and carries out writes. */

import { DuetError } from '../../base/errors.ts';
import { Dangling, NotUnique } from '../../storage/faults.ts';
import type { Deadline, Program, Storage, WriteSteps } from '../../storage/storage.ts';
import { type AnswerLimits, Budget } from '../budget.ts';
import type { Caller } from '../caller.ts';
import { type Gone, mustBeThere } from '../gone.ts';
import type { Functions } from '../logic/functions.ts';
import type { Update, Write } from '../operation.ts';
import type { Access } from '../policy/access.ts';
import type { Permitted } from '../policy/permitted.ts';
import type { Policy } from '../policy/policy.ts';
import { addressed } from './addressed.ts';
import type { Watchers } from './changes.ts';
import { collided } from './collided.ts';
import { Collision } from './collision.ts';
import { Expired } from './expired.ts';
import { type Idempotency, once } from './idempotency.ts';
import { mayLinkTwice } from './links.ts';
import { loneUpdate, updateAlone } from './lone.ts';
import { perform, performAmong, type Written } from './perform.ts';
import { type NamedWrite, transact, WriteFailed } from './transaction.ts';
import { createNoted, stepsOf } from './write.ts';

/** How often a transaction is run in which an upsert finds that others were faster. */
const RACES = 4;

export class Writer {
  readonly #storage: Storage;
  readonly #policy: Policy;
  /** Of one answer. */
  readonly #most: AnswerLimits;
  readonly #expired: Expired;
  /** Those that take part in writes; undefined where there are none. */
  readonly #functions: Functions | undefined;

  readonly #watchers: Watchers | undefined;

  constructor(
    storage: Storage,
    policy: Policy,
    most: AnswerLimits,
    functions: Functions | undefined,
    watchers: Watchers | undefined,
  ) {
    this.#storage = storage;
    this.#expired = new Expired(storage);
    this.#policy = policy;
    this.#most = most;
    this.#functions = functions;
    this.#watchers = watchers;
  }

  #access(caller: Caller, writes: readonly Write[]): Access {
    const given = this.#policy.access(caller);
    const watchers = this.#watchers;
    const isWatched = watchers && writes.some((each) => each.do === 'act' || watchers.mayLead(each.resource));
    return this.#joined(isWatched ? this.#noting(given) : given);
  }

  #joined(access: Access): Access {
    return this.#functions ? this.#functions.joined(access) : access;
  }

  #noting(access: Access): Access {
    const changes = this.#watchers?.changes(this.#most.bytes);
    return changes ? access.noting(changes) : access;
  }

  /** What a function of the deployment has done, in a transaction of its own. */
  inside<T>(given: Access, program: (access: Access) => Program<T>, deadline: Deadline): Promise<T> {
    const access = this.#noting(given);
    return this.#run(
      access,
      this.#watched(access, () => program(access)),
      'serial',
      deadline,
    );
  }

  #permit(caller: Caller, operation: Write): Permitted<Write> {
    const permitted = this.#policy.permit(caller, operation);
    if (permitted.do !== 'act' || !this.#functions) return permitted;
    return this.#functions.permit(this.#policy.access(caller), permitted);
  }

  /** When the promise fulfils, the effect is durable. What is denied is thrown. */
  write(
    caller: Caller,
    operation: Write,
    idempotency: Idempotency | undefined,
    deadline: Deadline,
    gone: Gone | undefined,
  ): Promise<Written> {
    const access = this.#access(caller, [operation]);
    const permitted = this.#permit(caller, operation);
    const program = this.#watched(access, () => perform(access, permitted, new Budget(this.#most)));
    if (idempotency) {
      const under = () => once(idempotency, program, () => told(access, permitted));
      return this.#keyed(this.#run(access, under, this.#many([operation]), deadline, gone));
    }
    const whole = () => this.#run(access, program, this.#steps(access, permitted), deadline, gone);
    const lone = this.#updating(access, permitted) ?? this.#noted(access, permitted);
    if (!lone) return whole();
    return this.#run(access, lone, 'one', deadline, gone).catch((error) => {
      // Nothing has happened, and a whole transaction tells all that is in the way.
      if (error instanceof NotUnique || error instanceof Dangling) return whole();
      throw error;
    });
  }

  /** The program of an update that is one statement; undefined where it is none. */
  #updating(access: Access, operation: Permitted<Write>): (() => Program<Written>) | undefined {
    const lone = operation.do === 'update' ? loneUpdate(access, operation) : undefined;
    if (!lone || this.#many([operation]) === 'serial') return undefined;
    return () => updateAlone(access, operation as Permitted<Update>, lone);
  }

  /** The program of a create that is one statement with what somebody wants to write of it; undefined where it is none. */
  #noted(access: Access, operation: Permitted<Write>): (() => Program<Written>) | undefined {
    const { changes, caller } = access;
    if (operation.do !== 'create' || !changes?.wants(operation.resource)) return undefined;
    const { resource } = operation;
    const unwatched = this.#joined(this.#policy.access(caller));
    const change =
      stepsOf(unwatched, operation) === 'one'
        ? this.#watchers?.created(resource, changes, caller)
        : undefined;
    if (!change) return undefined;
    const most = this.#most;
    return function* () {
      const node = yield* createNoted(unwatched, operation, new Budget(most), change);
      changes.created(resource, node);
      return node;
    };
  }

  /** The same for one of several whose answers are one, and are to share its budget. */
  async writeAmong(
    caller: Caller,
    operation: Write,
    deadline: Deadline,
    gone: Gone,
    shared: Budget,
  ): Promise<Written> {
    const access = this.#access(caller, [operation]);
    const permitted = this.#permit(caller, operation);
    let budget = shared;
    const program = this.#watched(access, () => {
      budget = shared.copy();
      return performAmong(access, permitted, budget);
    });
    // What is too much is known after the statement: it must be in a transaction that can be undone.
    const written = await this.#run(access, program, this.#many([operation]), deadline, gone);
    shared.become(budget);
    return written;
  }

  /** All of them, or none: then it throws WriteFailed, with the first that failed. */
  async transact(
    caller: Caller,
    writes: readonly NamedWrite[],
    idempotency: Idempotency | undefined,
    deadline: Deadline,
    gone: Gone | undefined,
  ): Promise<Written[]> {
    const permitted = writes.map(({ operation, as }, index) => {
      try {
        return { operation: this.#permit(caller, operation), as };
      } catch (error) {
        throw error instanceof DuetError ? new WriteFailed(index, error) : error;
      }
    });
    const access = this.#access(
      caller,
      writes.map(({ operation }) => operation),
    );
    const program = this.#watched(access, () => transact(access, permitted, new Budget(this.#most)));
    const written = this.#run(
      access,
      idempotency ? () => once(idempotency, program) : program,
      this.#many(writes.map(({ operation }) => operation)),
      deadline,
      gone,
    );
    return idempotency ? this.#keyed(written) : written;
  }

  async #keyed<T>(written: Promise<T>): Promise<T> {
    const result = await written;
    this.#expired.answered();
    return result;
  }

  /** Whoever watches what is written has the last statements of its transaction. */
  #watched<T>({ changes, caller }: Access, program: () => Program<T>): () => Program<T> {
    const watchers = this.#watchers;
    if (!watchers || !changes) return program;
    return function* () {
      const result = yield* program();
      if (changes.all.length > 0) yield* watchers.record(changes, caller);
      return result;
    };
  }

  /** `gone`: whoever has hung up while others wrote is not written for. */
  #run<T>(
    access: Access,
    program: () => Program<T>,
    steps: WriteSteps,
    deadline: Deadline,
    gone?: Gone,
  ): Promise<T> {
    const { changes } = access;
    const anew = () => {
      if (gone) mustBeThere(gone);
      changes?.clear();
      return program();
    };
    if (!changes) return this.#tried(anew, steps, deadline);
    return this.#tried(anew, steps, deadline).then((result) => {
      if (changes.all.length > 0) this.#watchers?.committed(changes);
      return result;
    });
  }

  /** Who looked a record up and lost the race to create it looks once more. */
  #tried<T>(program: () => Program<T>, steps: WriteSteps, deadline: Deadline, tries = RACES): Promise<T> {
    return this.#storage.write(program, steps, deadline).catch((error) => {
      const reason = error instanceof WriteFailed ? error.reason : error;
      const isRace = reason instanceof Collision && reason.more.isRace && tries > 1;
      if (!isRace || performance.now() > deadline) return this.#explain(error, deadline);
      return this.#tried(program, steps, deadline, tries - 1);
    });
  }

  /** A lone new record races nobody: it points to nothing, and nothing can point to it yet. */
  #steps(access: Access, operation: Permitted<Write>): WriteSteps {
    const steps = stepsOf(access, operation);
    return steps === 'many' ? this.#many([operation]) : steps;
  }

  #many(operations: readonly Write[]): WriteSteps {
    const isSerial =
      this.#policy.mayRace(operations) || mayLinkTwice(operations) || this.#functions?.mayRace(operations);
    return isSerial ? 'serial' : 'many';
  }

  /** The transaction of a collision is over: what collided is looked up anew, so that both databases tell the same. */
  async #explain(error: unknown, deadline: Deadline): Promise<never> {
    const reason = error instanceof WriteFailed ? error.reason : error;
    if (!(reason instanceof Collision)) throw error;
    const explained = await this.#storage.read(() => collided(reason), 'many', deadline);
    throw error instanceof WriteFailed ? new WriteFailed(error.index, explained) : explained;
  }
}

/** What comes before anything that is wrong with an Idempotency-Key. */
function* told(access: Access, operation: Permitted<Write>): Program<void> {
  if (operation.do === 'update' || operation.do === 'delete') yield* addressed(access, operation);
}
