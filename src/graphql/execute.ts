/** Carries out a valid operation: plans its root fields, has the engine perform them, and completes the answer. */

import {
  type ExecutionResult,
  executeRootSelectionSet,
  GraphQLError,
  type GraphQLFieldResolver,
  type GraphQLResolveInfo,
  type ValidatedExecutionArgs,
} from 'graphql';
import type { Caller } from '../engine/caller.ts';
import type { Engine } from '../engine/execute.ts';
import type { Idempotency } from '../engine/idempotency.ts';
import type { Operation, Read } from '../engine/operation.ts';
import type { Permitted } from '../engine/policy/permitted.ts';
import type { Node } from '../engine/read.ts';
import { DuetError } from '../errors.ts';
import { isAtomic, performTogether } from './atomic.ts';
import { plan } from './plan.ts';
import type { Door } from './schema.ts';

export interface Context {
  readonly engine: Engine;
  readonly caller: Caller;
  readonly bindings: Door['bindings'];
  /** Makes a mutation atomic, and keeps it from happening twice. */
  readonly idempotency: Idempotency | undefined;
  /** Told what was really wrong before the answer masks it. */
  readonly failed: (cause: unknown) => void;
}

export async function execute(args: ValidatedExecutionArgs, context: Context): Promise<ExecutionResult> {
  const performed = isAtomic(args, context) ? await performTogether(args, context) : undefined;
  if (performed instanceof GraphQLError) return { data: null, errors: [performed] };
  const running: Running = { ...context, reads: new Snapshot(context), performed };
  return executeRootSelectionSet({ ...args, contextValue: running, fieldResolver });
}

interface Running extends Context {
  readonly reads: Snapshot;
  /** What an atomic mutation has done already, by the names in the answer. */
  readonly performed: ReadonlyMap<string, unknown> | undefined;
}

const fieldResolver: GraphQLFieldResolver<Node | undefined, Running> = (node, args, context, info) => {
  // Only root fields have no node; the relations of others carry resolvers of their own.
  return node === undefined ? resolveRoot(args, context, info) : node[info.fieldName];
};

async function resolveRoot(
  args: Record<string, unknown>,
  running: Running,
  info: GraphQLResolveInfo,
): Promise<unknown> {
  if (running.performed) return running.performed.get(String(info.path.key));
  try {
    const binding = running.bindings.get(`${info.parentType.name}.${info.fieldName}`);
    if (!binding) throw new Error(`nothing is bound to ${info.fieldName}`);
    const { objects: most } = running.engine.limits;
    const { operation, complete } = plan(binding, args, info.fieldNodes, { ...info, most });
    return complete(
      isRead(operation)
        ? await running.reads.add(operation)
        : await running.engine.write(running.caller, operation),
    );
  } catch (error) {
    if (!(error instanceof DuetError) || error.cause !== undefined) running.failed(error);
    if (error instanceof DuetError) throw error;
    throw new DuetError('INTERNAL', 'Internal server error');
  }
}

/**
 * Collects the reads of one query and performs them together, so that one answer shows one moment.
 * The executor asks for all root fields of a query before it waits for any.
 */
class Snapshot {
  readonly #context: Context;
  readonly #operations: Permitted<Read>[] = [];
  #answers: Promise<readonly unknown[]> | undefined;

  constructor(context: Context) {
    this.#context = context;
  }

  async add(operation: Read): Promise<unknown> {
    const { engine, caller } = this.#context;
    // One by one: what is denied to one field is not denied to its siblings.
    const index = this.#operations.push(engine.permit(caller, operation)) - 1;
    this.#answers ??= Promise.resolve().then(() => engine.readPermitted(this.#operations));
    return (await this.#answers)[index];
  }
}

function isRead(operation: Operation): operation is Read {
  return operation.do === 'list' || operation.do === 'get' || operation.do === 'aggregate';
}
