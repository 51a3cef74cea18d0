/** Carries out reads that the policy has permitted: alone by a prepared statement, together on one snapshot. */

import { longInBatch } from '../../base/batch.ts';
import { DuetError } from '../../base/errors.ts';
import { type Soon, then } from '../../base/soon.ts';
import { type Deadline, type Prepared, type Program, type Storage, watched } from '../../storage/storage.ts';
import { type AnswerLimits, Budget, isTooMuch } from '../budget.ts';
import type { ChangesRead } from '../journal/changes-operation.ts';
import type { Follow } from '../journal/feed.ts';
import type { Journal } from '../journal/journal.ts';
import type { Seat, Viewer } from '../journal/live.ts';
import type { ChangesPage } from '../journal/reading.ts';
import { readsChanges } from '../journal/reads-changes.ts';
import { together } from '../journal/together.ts';
import type { Watched } from '../journal/view.ts';
import type { Aggregate, Ask, List, Listing, Read } from '../operation.ts';
import type { Permitted } from '../policy/permitted.ts';
import { aggregate, answerOf, get, list, type Node, statementOf, stepsOf } from './read.ts';

const MANY = 2_000;

/** To count many, and to write them down, each takes its time: others have their turn in between. */
function afterOthers<A extends Answer<Read>>(answer: A, { objects }: Budget): Soon<A> {
  if (objects <= MANY) return answer;
  return new Promise<void>((resolve) => setImmediate(resolve)).then(() => answer);
}

export type Answer<R extends Read | Ask> = R extends Ask
  ? unknown
  : R extends List
    ? Listing
    : R extends Aggregate
      ? Node[]
      : Node | null;

export class Reader {
  readonly #storage: Storage;
  readonly #limits: AnswerLimits;
  /** Undefined where no type keeps its changes. */
  readonly #journal: Journal | undefined;
  /** By statement; or by what is wanted of a record that everybody finds alike. */
  readonly #reads = new WeakMap<object, Prepared>();

  constructor(storage: Storage, limits: AnswerLimits, journal: Journal | undefined) {
    this.#storage = storage;
    this.#limits = limits;
    this.#journal = journal;
  }

  all(operations: readonly Permitted<Read | Ask | ChangesRead>[], deadline: Deadline): Soon<unknown[]> {
    const [only] = operations;
    if (this.#journal && operations.some(readsChanges)) return this.#readTogether(operations, deadline);
    if (only && only.do !== 'ask' && only.do !== 'changes' && operations.length === 1) {
      const answer = this.alone(only, deadline);
      return answer instanceof Promise ? answer.then((read) => [read]) : [answer];
    }
    return this.#storage.read(() => this.#readAll(operations), 'many', deadline);
  }

  *#readAll(operations: readonly Permitted<Read | Ask | ChangesRead>[]): Program<unknown[]> {
    const budget = new Budget(this.#limits);
    const answers: unknown[] = [];
    for (const operation of operations)
      if (operation.do === 'ask') answers.push(yield* asked(operation, budget));
      else if (operation.do === 'changes') answers.push(yield* this.#kept.read(operation, budget));
      else answers.push(yield* performRead(operation, budget));
    return answers;
  }

  get #kept(): Journal {
    if (!this.#journal) throw new Error('no type keeps its changes');
    return this.#journal;
  }

  /** Whoever reads changes has given positions to what is committed: one's own write is always among them. */
  async #readChanges(
    operations: readonly Permitted<Read | Ask | ChangesRead>[],
    deadline: Deadline,
  ): Promise<unknown[]> {
    const { positions, asked } = this.#kept;
    await positions.ready();
    return longInBatch(() => asked.read(() => this.#readAll(operations), 'many', deadline));
  }

  async #readTogether(
    operations: readonly Permitted<Read | Ask | ChangesRead>[],
    deadline: Deadline,
  ): Promise<unknown[]> {
    const answers = await this.#readChanges(operations, deadline);
    return together(this.#kept.positions, operations, answers).map((answer) =>
      answer instanceof DuetError ? new Failed(answer) : answer,
    );
  }

  /** What is no longer kept is told to who follows. */
  async follow(operation: Permitted<ChangesRead>, deadline: Deadline): Promise<Follow> {
    const now = await this.changes({ ...operation, limit: 0 }, deadline).catch((error) => {
      if (!(error instanceof DuetError) || error.code !== 'POSITION_EXPIRED') throw error;
    });
    const from = { ...operation, after: operation.after ?? now?.position };
    return (stopped) => this.#kept.feed.listen(from, stopped);
  }

  live(name: string, watched: Watched, viewer: Viewer): Promise<Seat> {
    return this.#kept.live.join(name, watched, viewer);
  }

  async changes(operation: Permitted<ChangesRead>, deadline: Deadline): Promise<ChangesPage> {
    const [page] = await this.#readChanges([operation], deadline);
    return page as ChangesPage;
  }

  ask(operation: Permitted<Ask>, deadline: Deadline): Soon<unknown> {
    const program = () => asked(operation, new Budget(this.#limits));
    return then(this.#storage.read(program, 'many', deadline), answered);
  }

  /** Not by `then`, nor are those around it: on this path, which every read takes, it costs 3 % of a short request. */
  alone(operation: Permitted<Read>, deadline: Deadline): Soon<Answer<Read>> {
    const limits = this.#limits;
    const steps = stepsOf(operation);
    if (steps !== 'one') {
      let budget = new Budget(limits);
      const program = () => {
        // It may be begun anew, in another process.
        budget = new Budget(limits);
        return performRead(operation, budget);
      };
      return then(this.#storage.read(program, steps, deadline), (answer) => afterOthers(answer, budget));
    }
    // What names no record needs no look.
    if (operation.do === 'get' && operation.key === undefined) return null;
    const budget = new Budget(limits);
    const key = operation.do === 'get' ? operation.key : undefined;
    const rows = this.#prepared(operation, budget)(key, deadline);
    return then(rows, (found) => afterOthers(answerOf(operation, found, budget), budget));
  }

  #prepared(operation: Permitted<Read>, budget: Budget): Prepared {
    const isAlike = operation.do === 'get' && !operation.seen;
    const whom = isAlike ? operation.selection : statementOf(operation, budget);
    let prepared = this.#reads.get(whom);
    if (!prepared) {
      prepared = this.#storage.prepare(statementOf(operation, budget));
      this.#reads.set(whom, prepared);
    }
    return prepared;
  }
}

/** Stands for an answer that there is none of. */
export class Failed {
  readonly reason: unknown;

  constructor(reason: unknown) {
    this.reason = reason;
  }
}

/**
 * What the function answers, or why it failed: that is no failure of the storage, which would ask another server. What the
 * storage failed at has ended the transaction of all, and what is too much is too much of all together.
 */
function* asked({ action, args, program }: Permitted<Ask>, budget: Budget): Program<unknown> {
  if (!program) throw new Error(`nothing carries out ${action.name}`);
  let isSound = true;
  try {
    return yield* watched(program(args, budget), {
      fails: () => {
        isSound = false;
      },
    });
  } catch (error) {
    if (!isSound || isTooMuch(error)) throw error;
    return new Failed(error);
  }
}

function answered(answer: unknown): unknown {
  if (answer instanceof Failed) throw answer.reason;
  return answer;
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
