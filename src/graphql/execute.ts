/** Carries out a valid operation: plans its root fields, has the engine perform them, and completes the answer. */

import {
  type ExecutionResult,
  executeRootSelectionSet,
  GraphQLError,
  type GraphQLFieldResolver,
  type GraphQLResolveInfo,
  isNonNullType,
  Kind,
  type ValidatedExecutionArgs,
} from 'graphql';
import { longInBatch } from '../base/batch.ts';
import { DuetError } from '../base/errors.ts';
import type { Soon } from '../base/soon.ts';
import { Budget } from '../engine/budget.ts';
import type { ChangesRead } from '../engine/journal/changes-operation.ts';
import type { Ask, Operation, Read, Write } from '../engine/operation.ts';
import type { Permitted } from '../engine/policy/permitted.ts';
import type { Node } from '../engine/read/read.ts';
import { Failed } from '../engine/read/reader.ts';
import type { Written } from '../engine/write/perform.ts';
import type { Resource } from '../schema/model.ts';
import { isAtomic, performTogether } from './atomic.ts';
import { Completing } from './completing.ts';
import type { Context } from './context.ts';
import { lacking, type Telling, withoutUntold } from './field-errors.ts';
import { type Arguments, asWritten, withUnreadArguments } from './fields.ts';
import { completed, type Root } from './mutations.ts';
import { findNode } from './node.ts';
import { type Passing, taken, withLists } from './passing.ts';
import { planner } from './plan.ts';

/** What root fields answer with, by their names in the answer, where it is known before the executor asks. */
export type Performed = ReadonlyMap<string, unknown>;

export async function execute(
  args: ValidatedExecutionArgs,
  context: Context,
  before?: Performed,
): Promise<ExecutionResult> {
  const together = isAtomic(args, context) ? await performTogether(args, context) : before;
  if (together instanceof GraphQLError) return { data: null, errors: [together] };
  const budget = isLone(args) ? undefined : new Budget(context.engine.limits);
  const performed = new Map(together);
  const running: Running = {
    ...context,
    reads: new Snapshot(context),
    together: new Together(),
    performed,
    budget,
    told: 0,
    lists: [],
  };
  if (args.operation.operation === 'mutation') {
    const perform = (root: Root, given: Arguments) => performRoot(root, given, running);
    const data = await completed(args, context, performed, perform);
    if (data) return { data };
  }
  // What has been written is told, however long that takes.
  const deadline = args.operation.operation === 'query' ? context.deadline : Number.POSITIVE_INFINITY;
  const completing = new Completing(context.engine.limits.bytes, deadline);
  const schema = completing.of(
    withUnreadArguments(args.schema),
    fieldResolver as GraphQLFieldResolver<unknown, unknown>,
  );
  const execution = executeRootSelectionSet({ ...args, schema, contextValue: running, fieldResolver });
  const result = await Promise.race([execution, completing.refused]);
  // Who is turned away for load is told so as everybody is, with when to try again: nothing was read, and nothing written.
  if (running.reads.turnedAway) throw running.reads.turnedAway;
  const { refusal } = completing;
  if (refusal) return refusedFor(refusal);
  return withLists(withoutUntold(result as ExecutionResult), running);
}

/** Of what is asked of the schema there is all or nothing. */
export function refusedFor(reason: DuetError): ExecutionResult {
  return { data: null, errors: [new GraphQLError(reason.message, { originalError: reason })] };
}

interface Running extends Context, Telling, Passing {
  readonly reads: Snapshot;
  readonly together: Together;
  readonly performed: Performed;
  /** All fields of a mutation share it; undefined where there is only one. */
  readonly budget: Budget | undefined;
}

function isLone({ operation }: ValidatedExecutionArgs): boolean {
  const [first, ...others] = operation.selectionSet.selections;
  return first?.kind === Kind.FIELD && others.length === 0;
}

const fieldResolver: GraphQLFieldResolver<Node | undefined, Running> = (node, args, context, info) => {
  // Only root fields have no node; the relations of others carry resolvers of their own.
  if (node === undefined) return resolveRoot(args, context, info);
  const value = node[info.fieldName];
  return value === null && isNonNullType(info.returnType)
    ? lacking(context, info)
    : taken(value, context, info);
};

async function resolveRoot(
  args: Record<string, unknown>,
  running: Running,
  info: GraphQLResolveInfo,
): Promise<unknown> {
  const as = String(info.path.key);
  try {
    if (running.performed.has(as)) return found(running.performed.get(as));
    const root = { ...info, type: info.parentType, nodes: info.fieldNodes };
    return found(await running.together.outcome(performRoot(root, args, running)));
  } catch (error) {
    // About the values of variables: the client's to know, as it is.
    if (error instanceof GraphQLError) throw error;
    if (!(error instanceof DuetError) || error.cause !== undefined) running.failed(error);
    if (error instanceof DuetError) throw error;
    throw new DuetError('INTERNAL', 'Internal server error');
  }
}

async function performRoot(root: Root, args: Arguments, running: Running): Promise<unknown> {
  const { type, nodes, schema, fragments, variableValues } = root;
  const [node] = nodes;
  const binding = running.bindings.get(`${type.name}.${node?.name.value}`);
  if (!node || !binding) throw new Error(`nothing is bound to ${node?.name.value}`);
  const { page } = running;
  const { objects: most } = running.engine.limits;
  const given = { schema, fragments, variableValues, most, page };
  const written = asWritten(args, node);
  if (binding.operation === 'NODE') {
    const { engine, caller } = running;
    const mayRead = (resource: Resource) => engine.actions(caller, resource).includes('READ');
    return findNode(binding.resources, mayRead, async (resource) => {
      const plan = planner({ operation: 'GET', resource }, nodes, given);
      return running.reads.add(plan(written).operation as Read);
    });
  }
  const { operation, complete } = planner(binding, nodes, given)(written);
  return complete(isRead(operation) ? await running.reads.add(operation) : await write(running, operation));
}

function write({ engine, caller, deadline, gone, budget }: Running, operation: Write): Promise<Written> {
  return budget
    ? engine.writeAmong(caller, operation, deadline, gone, budget)
    : engine.write(caller, operation, undefined, deadline, gone);
}

function found(answer: unknown): unknown {
  if (answer instanceof Failed) throw answer.reason;
  return answer;
}

/**
 * Root fields are told at once: where one has no value and may not be null, the executor is done when it fails, and what is wrong with
 * the others would be told or not depending on which is known first.
 */
class Together {
  readonly #outcomes: Promise<unknown>[] = [];
  #all: Promise<unknown> | undefined;

  async outcome(work: Promise<unknown>): Promise<unknown> {
    const outcome = work.catch((error) => new Failed(error));
    this.#outcomes.push(outcome);
    this.#all ??= Promise.resolve().then(() => Promise.all(this.#outcomes));
    await this.#all;
    return outcome;
  }
}

/**
 * Collects the reads of one query and performs them together, so that one answer shows one moment.
 * The executor asks for all root fields of a query before it waits for any.
 */
class Snapshot {
  readonly #context: Context;
  readonly #operations: Permitted<Read | Ask | ChangesRead>[] = [];
  #answers: Promise<readonly unknown[]> | undefined;
  turnedAway: unknown;

  constructor(context: Context) {
    this.#context = context;
  }

  async add(operation: Read | Ask | ChangesRead): Promise<unknown> {
    const { engine, caller, noteRead } = this.#context;
    // One by one: what is denied to one field is not denied to its siblings.
    const permitted = engine.permit(caller, operation);
    noteRead?.(permitted, operation);
    const index = this.#operations.push(permitted) - 1;
    this.#answers ??= Promise.resolve().then(() => longInBatch(() => this.#read()));
    return found((await this.#answers)[index]);
  }

  #read(): Soon<readonly unknown[]> {
    const { engine, deadline, admit } = this.#context;
    try {
      admit?.();
    } catch (error) {
      this.turnedAway = error;
      throw error;
    }
    return engine.readPermitted(this.#operations, deadline);
  }
}

function isRead(operation: Operation): operation is Read | Ask | ChangesRead {
  const { do: kind } = operation;
  return kind === 'list' || kind === 'get' || kind === 'aggregate' || kind === 'ask' || kind === 'changes';
}
