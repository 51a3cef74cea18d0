/** The corridor: every operation of every door comes through here. */

import { DuetError } from '../base/errors.ts';
import type { Soon } from '../base/soon.ts';
import { all, among } from '../query/filter.ts';
import type { Action, ActionField, Field, Resource } from '../schema/model.ts';
import { storedColumns } from '../schema/values.ts';
import { select } from '../storage/statements.ts';
import { type Deadline, run, type Storage } from '../storage/storage.ts';
import type { AnswerLimits, Budget } from './budget.ts';
import { anonymous, type Caller } from './caller.ts';
import { begun, type Gone } from './gone.ts';
import type { ChangesRead } from './journal/changes-operation.ts';
import { admitFollowed, type Follow } from './journal/feed.ts';
import type { Journal } from './journal/journal.ts';
import type { Seat } from './journal/live.ts';
import type { ChangesPage } from './journal/reading.ts';
import { readsChanges } from './journal/reads-changes.ts';
import type { Watched } from './journal/view.ts';
import type { RunInside } from './logic/api.ts';
import type { Functions } from './logic/functions.ts';
import type { Ask, DeleteMany, List, Operation, Read, UpdateMany, Write, WriteMany } from './operation.ts';
import { Access } from './policy/access.ts';
import type { Permitted } from './policy/permitted.ts';
import type { Policy } from './policy/policy.ts';
import { pagesOf } from './read/pages.ts';
import type { Node } from './read/read.ts';
import { type Answer, Reader } from './read/reader.ts';
import type { Watchers } from './write/changes.ts';
import type { Idempotency, Keyed } from './write/idempotency.ts';
import type { Written } from './write/perform.ts';
import type { NamedWrite } from './write/transaction.ts';
import { Writer } from './write/writer.ts';

type WrittenBy<W extends Write> = W extends WriteMany ? Node[] : Node;

/** Those of one answer, and others. */
export interface EngineLimits extends AnswerLimits {
  /** Operations in one transaction. */
  readonly operations: number;
  /** How many milliseconds a request may take. */
  readonly deadline: number;
}

export class Engine {
  /** What is read for answers is only written out. */
  readonly limits: EngineLimits & { readonly passes: boolean };
  readonly #storage: Storage;
  readonly #reader: Reader;
  readonly #writer: Writer;
  readonly #policy: Policy;
  readonly #functions: Functions | undefined;
  /** Undefined where no type keeps its changes. */
  readonly #journal: Journal | undefined;
  /** How many lists are being read page by page, after their answers have begun. */
  exports = 0;

  constructor(
    storage: Storage,
    policy: Policy,
    most: EngineLimits,
    functions?: Functions,
    watchers?: Watchers,
    journal?: Journal,
  ) {
    const limits = { ...most, passes: true };
    this.#journal = journal;
    this.#storage = storage;
    this.#reader = new Reader(storage, limits, journal);
    this.#writer = new Writer(storage, policy, limits, functions, watchers);
    this.#policy = policy;
    this.#functions = functions;
    this.limits = limits;
  }

  /** When work that began then must be done; whoever asks for several things shares it among them. */
  deadline(begun = performance.now()): Deadline {
    return begun + this.limits.deadline;
  }

  /** Refuses what the rules allow to nobody with the caller's roles: it is known before a request is even read. */
  admit(caller: Caller, resource: Resource, action: Action): void {
    this.#policy.access(caller).admit(resource, action);
  }

  /** The same of an action. */
  admitAction(caller: Caller, action: ActionField): void {
    this.#functions?.admit(this.#policy.access(caller), action);
  }

  mayRun(caller: Caller, action: ActionField): boolean {
    return this.#functions?.mayRun(this.#policy.access(caller), action) ?? false;
  }

  /** What the rules let the caller do with a field, on some records at least. */
  uses(caller: Caller, field: Field): Action[] {
    return this.#policy.access(caller).uses(field);
  }

  /** What the rules let the caller do with some records at least. */
  actions(caller: Caller, resource: Resource): Action[] {
    return this.#policy.access(caller).actions(resource);
  }

  /** Whether the same record looks different to different callers. */
  isShaped(resource: Resource): boolean {
    return this.#policy.shapes(resource);
  }

  /** What the caller may have of an operation; throws when that is nothing. */
  permit<O extends Operation>(caller: Caller, operation: O): Permitted<O> {
    const permitted = this.#policy.permit(caller, operation);
    if (permitted.do !== 'ask' || !this.#functions) return permitted;
    const asking: Permitted<Ask> = permitted;
    return this.#functions.permit(this.#policy.access(caller), asking) as Operation as Permitted<O>;
  }

  read<R extends Read>(caller: Caller, operation: R): Soon<Answer<R>> {
    return this.#reader.alone(this.permit<Read>(caller, operation), this.deadline()) as Soon<Answer<R>>;
  }

  /** What a function answers that only reads, on one snapshot. */
  ask(caller: Caller, operation: Ask): Soon<unknown> {
    return this.#reader.ask(this.permit(caller, operation), this.deadline());
  }

  /** Carries out all reads on one snapshot: one answer shows one moment. What a function fails at is Failed, and fails alone. */
  readPermitted(
    operations: readonly Permitted<Read | Ask | ChangesRead>[],
    deadline: Deadline,
  ): Soon<unknown[]> {
    return this.#reader.all(operations, deadline);
  }

  /** What is after a position, or now, and then what is committed. What is wrong with it is told before somebody follows. */
  async follow(caller: Caller, operation: ChangesRead): Promise<Follow> {
    admitFollowed(operation);
    return this.#reader.follow(this.permit(caller, operation), this.deadline());
  }

  /** An answer that is kept up to date, by its name, for all who may see the same of it; `gone`: when who asks hangs up. */
  live(caller: Caller, name: string, watched: Watched, gone: AbortSignal): Promise<Seat> {
    const mayRead = (resource: Resource) => this.actions(caller, resource).includes('READ');
    const rights = this.#policy.viewer(caller);
    const who = rights === '' ? undefined : (caller.subject ?? '');
    return this.#reader.live(`${rights} ${name}`, watched, { who, mayRead, gone, deadline: this.deadline() });
  }

  changes(caller: Caller, operation: ChangesRead): Promise<ChangesPage> {
    return this.#reader.changes(this.permit(caller, operation), this.deadline());
  }

  /** What an async function of the deployment asks: a transaction of its own. Without a caller, no rule is asked. */
  readonly inside: RunInside = async ({ caller, path, steps, isReading }) => {
    const functions = this.#functions;
    if (!functions) throw new Error('there are no functions that could ask');
    const access = caller ? this.#policy.access(caller) : new Access(anonymous, undefined);
    const program = (own: Access) =>
      functions.inside(own, path, caller ? steps : ({ system }) => steps(system), isReading);
    if (isReading) return this.#storage.read(() => program(access), 'many', this.deadline());
    return this.#writer.inside(access, program, this.deadline());
  };

  /** Carries out one write; when the promise fulfils, its effect is durable. */
  write<W extends Write>(
    caller: Caller,
    operation: W,
    idempotency?: Keyed,
    deadline = this.deadline(),
    gone?: Gone,
  ): Promise<WrittenBy<W>> {
    const keyed = this.#keyed(caller, idempotency);
    return isOnMany(operation)
      ? this.#writeLocated(caller, operation, keyed, deadline, gone)
      : this.#write(caller, operation, keyed, deadline, gone);
  }

  async #writeLocated<W extends Write>(
    caller: Caller,
    operation: W,
    keyed: Idempotency | undefined,
    deadline: Deadline,
    gone: Gone | undefined,
  ): Promise<WrittenBy<W>> {
    return this.#write(caller, await this.#located(caller, operation, deadline), keyed, deadline, gone);
  }

  #write<W extends Write>(
    caller: Caller,
    operation: W,
    keyed: Idempotency | undefined,
    deadline: Deadline,
    gone: Gone | undefined,
  ): Promise<WrittenBy<W>> {
    const ready = this.#journal && readsChanges(operation) ? this.#journal.positions.ready() : undefined;
    return ready
      ? ready.then(() => this.#writeNow(caller, operation, keyed, deadline, gone))
      : this.#writeNow(caller, operation, keyed, deadline, gone);
  }

  #writeNow<W extends Write>(
    caller: Caller,
    operation: W,
    keyed: Idempotency | undefined,
    deadline: Deadline,
    gone: Gone | undefined,
  ): Promise<WrittenBy<W>> {
    return begun(
      gone,
      () => this.#writer.write(caller, operation, keyed, deadline, gone) as Promise<WrittenBy<W>>,
    );
  }

  /** One of several writes whose answers are one: what is too much of it together has not happened. */
  async writeAmong(
    caller: Caller,
    operation: Write,
    deadline: Deadline,
    gone: Gone,
    shared: Budget,
  ): Promise<Written> {
    if (this.#journal && readsChanges(operation)) await this.#journal.positions.ready();
    const located = await this.#located(caller, operation, deadline);
    return begun(gone, () => this.#writer.writeAmong(caller, located, deadline, gone, shared));
  }

  /** To be asked before the operations of a transaction are read. */
  tooMany(operations: number): DuetError | undefined {
    const { operations: most } = this.limits;
    if (operations <= most) return undefined;
    return new DuetError('TOO_MANY_OPERATIONS', `The transaction has more than ${most} operations.`);
  }

  /** Carries out all writes, or none: then it throws WriteFailed, with the first that failed. */
  async transact(
    caller: Caller,
    writes: readonly NamedWrite[],
    idempotency?: Keyed,
    deadline = this.deadline(),
    gone?: Gone,
  ): Promise<Written[]> {
    if (this.#journal && writes.some(({ operation }) => readsChanges(operation)))
      await this.#journal.positions.ready();
    // Whatever comes later may look for what comes before it has written.
    const [first, ...others] = writes;
    if (!first) return [];
    const located = { ...first, operation: await this.#located(caller, first.operation, deadline) };
    const keyed = this.#keyed(caller, idempotency);
    return begun(gone, () => this.#writer.transact(caller, [located, ...others], keyed, deadline, gone));
  }

  #keyed(caller: Caller, keyed: Keyed | undefined): Idempotency | undefined {
    return keyed && { ...keyed, ...this.#policy.holder(caller) };
  }

  /**
   * Finds the records of a write on many by a read where a search for them would keep others waiting. The write then
   * holds them against the filter and the rules once more, since they may have changed.
   */
  async #located<W extends Write>(caller: Caller, operation: W, deadline: Deadline): Promise<W> {
    if (!isOnMany(operation)) return operation;
    const { resource, where } = operation;
    const { key } = resource;
    const seen = this.#visible<UpdateMany | DeleteMany>(caller, operation);
    const looking = seen && select(resource, [key], seen.where, { limit: seen.atMost + 1 });
    if (!looking || !this.#storage.delays(looking)) return operation;
    const rows = await this.#storage.read(() => run(looking), 'one', deadline);
    const keys = rows.map((row) => row[key.name]);
    return { ...operation, where: all([among(key, keys), where]), found: keys.length };
  }

  /** Undefined where the rules deny it: that is the writer's to tell. */
  #visible<W extends UpdateMany | DeleteMany>(caller: Caller, operation: W): Permitted<W> | undefined {
    try {
      return this.permit(caller, operation);
    } catch (error) {
      if (error instanceof DuetError) return undefined;
      throw error;
    }
  }

  /** A list of any length, page by page; all of them show one moment. */
  async *pages(operation: Permitted<List>): AsyncGenerator<Node[]> {
    const { objects, bytes, passes, admitLong, holdLong } = this.limits;
    const limits = { objects, bytes, passes, ...(admitLong && { admitLong }), ...(holdLong && { holdLong }) };
    const snapshot = await this.#storage.snapshot();
    this.exports++;
    try {
      yield* pagesOf(operation, snapshot, limits);
    } finally {
      this.exports--;
      await snapshot.close();
    }
  }

  /** Fails when the storage cannot serve these. */
  async ready(resources: readonly Resource[]): Promise<void> {
    const deadline = this.deadline();
    await this.#storage.ping(deadline);
    // Whatever they name must still be there, so nothing is asked of all of it.
    const nothing = resources.map((each) => select(each, storedColumns(each), among(each.key, [])));
    await this.#storage.read(
      function* () {
        yield nothing;
      },
      'many',
      deadline,
    );
  }
}

function isOnMany(operation: Write): operation is UpdateMany | DeleteMany {
  return operation.do === 'update many' || operation.do === 'delete many';
}
