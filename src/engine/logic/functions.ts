/** Runs the functions of a deployment inside of the transactions that they belong to. */

import { mayRun } from '../../access/rights.ts';
import { type DuetError, pointer, validationFailed } from '../../base/errors.ts';
import { among } from '../../query/filter.ts';
import { wholeList } from '../../query/list.ts';
import type { ActionField, Model, Resource } from '../../schema/model.ts';
import type { Row } from '../../storage/statements.ts';
import type { Program } from '../../storage/storage.ts';
import type { AnswerLimits, Budget } from '../budget.ts';
import { rolesOf } from '../caller.ts';
import type { Act, Get, Input, Selection, Wanted, Write } from '../operation.ts';
import type { Access, Written } from '../policy/access.ts';
import type { Permitted } from '../policy/permitted.ts';
import type { Policy } from '../policy/policy.ts';
import { touchedBy } from '../policy/races.ts';
import { get, list, type Node, spent } from '../read/read.ts';
import type { Changes } from '../write/changes.ts';
import { Ledger } from './acting.ts';
import { answerOf, type ReadRecords, validArguments } from './actions.ts';
import type { Hooked, Hooks } from './hooks.ts';
import { kindOf } from './kinds.ts';
import type { HookName, Inside, Logic } from './logic.ts';
import { type Tx, txOf } from './tx.ts';

/** How deep functions may lead to each other. */
export const DEEPEST = 8;
/** From so many milliseconds of its own on, a function keeps others waiting for long enough to be told of. */
const SLOW_MS = 50;

export class Functions {
  readonly #logic: Logic;
  readonly #tx: (access: Access, ledger: Ledger) => Tx;
  /** Types whose functions ask the database something: two of them side by side must not both miss what the other writes. */
  readonly #asking: ReadonlySet<Resource>;
  readonly #joined = new WeakMap<Access, Access>();
  readonly #policy: Policy;
  readonly #tell: (message: string) => void;

  constructor(
    logic: Logic,
    model: Model,
    policy: Policy,
    limits: AnswerLimits,
    tell: (message: string) => void,
  ) {
    this.#logic = logic;
    this.#tell = tell;
    this.#policy = policy;
    this.#tx = txOf(model, policy, limits);
    this.#asking = new Set([...logic.types.keys()].filter((type) => mayAsk(logic, type)));
  }

  /** The same access, with whose writes the functions go along. */
  joined(access: Access): Access {
    // One whose changes are noted is that of a single transaction.
    if (access.changes) return this.#within(access, []);
    let joined = this.#joined.get(access);
    if (!joined) {
      joined = this.#within(access, []);
      this.#joined.set(access, joined);
    }
    return joined;
  }

  mayRace(writes: readonly Write[]): boolean {
    const asks = (each: Write) =>
      each.do === 'act' && kindOf(this.#logic.actions.get(each.action)) === 'generator';
    if (writes.some(asks)) return true;
    return this.#asking.size > 0 && !touchedBy(writes).written.isDisjointFrom(this.#asking);
  }

  /** `path`: the functions that have led here; `written`: what the last of them has written. */
  #within(access: Access, path: readonly string[], written?: Written): Access {
    let known: Map<Resource, Hooks> | undefined;
    const hooksOf = (resource: Resource) => {
      const functions = this.#logic.types.get(resource);
      if (!functions) return undefined;
      known ??= new Map();
      let hooks = known.get(resource);
      if (!hooks) {
        hooks = this.#hooks(access, resource, functions, path);
        known.set(resource, hooks);
      }
      return hooks;
    };
    return access.joinedBy(hooksOf, access.changes?.along(path), written);
  }

  #hooks(
    access: Access,
    resource: Resource,
    functions: Readonly<Partial<Record<HookName, Inside>>>,
    path: readonly string[],
  ): Hooks {
    const runs = (name: HookName) => {
      const { [name]: run } = functions;
      return run && ((given: object) => this.#run(access, `${resource.name}.${name}`, run, given, path));
    };
    const [create, update, remove] = [runs('beforeCreate'), runs('beforeUpdate'), runs('beforeDelete')];
    return {
      ask: this.#asking.has(resource),
      beforeCreate: create && ((input: Input) => create({ input })),
      beforeUpdate: update && ((input: Input, record: Row) => update({ input, record })),
      beforeDelete: remove && ((record: Row) => remove({ record })),
    };
  }

  *#run(
    access: Access,
    name: string,
    run: Inside,
    given: object,
    before: readonly string[],
  ): Program<Hooked> {
    const ledger = new Ledger();
    const input = yield* this.#call(access, [...before, name], run, ledger, given);
    if (input === undefined || input === null) return { input: undefined, hasWritten: ledger.hasWritten };
    if (typeof input !== 'object' || Array.isArray(input)) {
      const what = Array.isArray(input) ? 'a list' : `a ${typeof input}`;
      throw new Error(`${name} must give back the input, or nothing; not ${what}`);
    }
    return { input: input as Input, hasWritten: ledger.hasWritten };
  }

  /** `path`: the functions that have led here, this one the last. */
  *#call(
    access: Access,
    path: readonly string[],
    run: Inside,
    ledger: Ledger,
    given: object,
    ...args: readonly unknown[]
  ): Program<unknown> {
    const name = path.at(-1) ?? '';
    if (path.length > DEEPEST)
      throw new Error(`functions lead to each other more than ${DEEPEST} deep: ${path.join(' → ')}`);
    const tx = this.#tx(this.#within(access, path, ledger.written), ledger);
    const begun = performance.now();
    const made = run({ ...given, tx, caller: access.caller, refuse }, ...args);
    let ms = performance.now() - begun;
    const isSteps = isGenerator(made);
    // What a function asks for is known by its syntax before it runs: so it is decided what runs beside it, and what can be undone.
    if (isSteps && kindOf(run) !== 'generator')
      throw new Error(
        `${name} gave back a generator, and is none itself. Write *${name.split('.').at(-1)}({ tx }) { … }`,
      );
    let answer: unknown = made;
    // Passes on what `tx` yields, and counts how long the function runs itself: what it waits for is not its own.
    for (let rows: readonly Row[][] | undefined, failure: unknown; isSteps; ) {
      const resumed = performance.now();
      const step: IteratorResult<unknown, unknown> =
        failure === undefined ? made.next(rows) : made.throw(failure);
      ms += performance.now() - resumed;
      answer = step.value;
      if (step.done) break;
      if (!Array.isArray(answer)) {
        made.return(undefined);
        throw new Error(`${name} yields something that is no step. Write yield* tx.…, with the star`);
      }
      ledger.note(answer);
      failure = undefined;
      try {
        rows = yield answer;
      } catch (error) {
        failure = error;
      }
    }
    if (ms > SLOW_MS)
      this.#tell(`${name} took ${Math.round(ms)} ms of its own, in which nobody else was served`);
    // A write that failed has ended the transaction on one of the databases: whoever catches its error cannot go on.
    if (ledger.failure !== undefined) throw ledger.failure;
    if (answer instanceof Promise) {
      answer.catch(() => {});
      throw new Error(`${name} gave back a promise: inside of the transaction nothing can be waited for`);
    }
    return answer;
  }

  /** What a function outside of any transaction has done in one: `path`, its own name the last. */
  inside(
    access: Access,
    path: readonly string[],
    steps: (tx: Tx) => unknown,
    isReading: boolean,
  ): Program<unknown> {
    const run = function* ({ tx }: { readonly tx: Tx }): Steps {
      const made = steps(tx);
      return isGenerator(made) ? yield* made : made;
    } as Inside;
    return this.#call(access, path, run, new Ledger(isReading), {});
  }

  /** Refuses an action that no rule allows to the caller. */
  admit(access: Access, action: ActionField): void {
    if (!this.mayRun(access, action)) throw access.denied(`You may not run ${action.name}.`);
  }

  mayRun(access: Access, action: ActionField): boolean {
    return access.isFree || mayRun(rolesOf(access.caller), action);
  }

  /** The action with what carries it out; throws where the caller may not have it done. */
  permit<A extends Permitted<Act>>(access: Access, operation: A): A {
    const { action, answer } = operation;
    const name = `${action.root}.${action.name}`;
    const run = this.#logic.actions.get(action);
    if (!run) throw new Error(`nothing carries out ${name}`);
    this.admit(access, action);
    const call = (args: Input, ledger: Ledger, changes: Changes | undefined) => {
      const noting = changes ? access.noting(changes) : access;
      return this.#call(noting, [name], run, ledger, {}, args);
    };
    const finish = (value: unknown, budget: Budget, ledger: Ledger) =>
      this.#answered(access, action, answer, value, budget, ledger);
    const program = function* (given: Input, budget: Budget, changes?: Changes): Program<unknown> {
      const ledger = new Ledger(action.root === 'Query');
      const value = yield* call(validArguments(action, given, budget), ledger, changes);
      return yield* finish(value, budget, ledger);
    };
    return { ...operation, program };
  }

  #answered(
    access: Access,
    action: ActionField,
    wanted: Wanted,
    value: unknown,
    budget: Budget,
    { last }: Ledger,
  ): Program<unknown> {
    const read: ReadRecords = (selection, resource, often) => {
      const [[key, times] = []] = often;
      // Mostly: what reads one record is made once, and not for each answer.
      return often.size === 1 && times === 1
        ? this.#one(access, selection, resource, key, budget, last)
        : this.#some(access, selection, resource, often, budget);
    };
    // Whether it is there is told to nobody who may not see it.
    const hidden = ({ name: type }: Resource) =>
      access.isFree
        ? new Error(`${action.root}.${action.name} answered with a ${type} that is not there`)
        : access.denied(`You may not see the ${type} that ${action.name} answers with, or it is not there.`);
    return answerOf(action, wanted, value, budget, read, hidden);
  }

  *#one(
    { isFree, caller }: Access,
    selection: Selection,
    resource: Resource,
    key: unknown,
    budget: Budget,
    last: Ledger['last'],
  ): Program<readonly Node[]> {
    // On PostgreSQL a look at what others insert beside it would make one of the two lose.
    if (isFree && last?.resource === resource && last.node[resource.key.name] === key) {
      const node = { ...last.node };
      yield* spent(selection, [node], budget);
      return [node];
    }
    const operation: Get = { do: 'get', resource, key: key as Get['key'], selection, refusal: undefined };
    const node = yield* get(this.#policy.permit(caller, operation), budget);
    return node ? [node] : [];
  }

  *#some(
    { caller }: Access,
    selection: Selection,
    resource: Resource,
    often: ReadonlyMap<unknown, number>,
    budget: Budget,
  ): Program<readonly Node[]> {
    const keys = [...often.keys()].filter((key) => key !== undefined);
    const query = { ...wholeList(resource), where: among(resource.key, keys) };
    const operation = { do: 'list', resource, selection, list: query, places: false, count: false } as const;
    const { name } = resource.key;
    const times = (node: Node) => often.get(node[name]) ?? 1;
    return (yield* list(this.#policy.permit(caller, operation), budget, times)).nodes;
  }
}

/** Whether functions that take part in writes of a type ask the database something, or write; others cannot. */
export function mayAsk({ types }: Logic, type: Resource): boolean {
  return Object.values(types.get(type) ?? {}).some((each) => kindOf(each) === 'generator');
}

/** To be thrown by a function: what it does not want, and at which field. */
export function refuse(message: string, field?: string): DuetError {
  const place = field === undefined ? '#' : pointer(field);
  return validationFailed([{ pointer: place, code: 'REFUSED', detail: message }]);
}

type Steps = Generator<unknown, unknown, unknown>;

function isGenerator(value: unknown): value is Steps {
  return Object.prototype.toString.call(value) === '[object Generator]';
}
