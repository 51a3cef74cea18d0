/** A mutation marked `@atomic`, or sent with a key: its fields are planned together and performed in one transaction. */

import {
  type FieldNode,
  GraphQLError,
  type GraphQLObjectType,
  getArgumentValues,
  locatedError,
  type ValidatedExecutionArgs,
} from 'graphql';
import { DuetError } from '../base/errors.ts';
import type { Write } from '../engine/operation.ts';
import { type NamedWrite, WriteFailed } from '../engine/write/transaction.ts';
import type { Context } from './context.ts';
import { Atomic, isMarked } from './directives.ts';
import { answeredFields, asWritten, type Given } from './fields.ts';
import { planner } from './plan.ts';

/** A key makes it so too: only what is one transaction can be remembered as one answer. */
export function isAtomic({ operation }: ValidatedExecutionArgs, { idempotency }: Context): boolean {
  if (operation.operation !== 'mutation') return false;
  return idempotency !== undefined || isMarked(operation, Atomic);
}

/** What each root field answers, by its name in the answer; or the one error that undid them all. */
export async function performTogether(
  args: ValidatedExecutionArgs,
  context: Context,
): Promise<ReadonlyMap<string, unknown> | GraphQLError> {
  const { schema, operation, fragmentDefinitions: fragments, variableValues } = args;
  const given: Given = { schema, fragments, variableValues, most: context.engine.limits.objects };
  const mutation = schema.getMutationType() as GraphQLObjectType;
  let fields: [string, FieldNode[]][];
  try {
    fields = [...answeredFields(operation.selectionSet.selections, given)].filter(
      ([, [node]]) => node?.name.value !== '__typename',
    );
  } catch (error) {
    if (error instanceof GraphQLError) return error;
    throw error;
  }
  const failed = (index: number, error: DuetError | GraphQLError) => {
    const [name, nodes] = fields[index] ?? ['', []];
    return locatedError(error, nodes, [name]);
  };
  const excess = context.engine.tooMany(fields.length);
  if (excess) return failed(0, excess);
  const writes: NamedWrite[] = [];
  for (const [index, [, nodes]] of fields.entries()) {
    const [node] = nodes;
    const binding = context.bindings.get(`${mutation.name}.${node?.name.value}`);
    const definition = node && mutation.getFields()[node.name.value];
    if (!node || !binding || !definition || binding.operation === 'NODE')
      throw new Error(`nothing is bound to ${node?.name.value}`);
    try {
      const args = asWritten(getArgumentValues(definition, node, variableValues), node);
      const planned = planner(binding, nodes, given)(args);
      writes.push({ operation: planned.operation as Write, as: undefined });
    } catch (error) {
      if (error instanceof DuetError || error instanceof GraphQLError) return failed(index, error);
      throw error;
    }
  }
  try {
    const { caller, idempotency, deadline, gone } = context;
    const results = await context.engine.transact(caller, writes, idempotency, deadline, gone);
    return new Map(fields.map(([name], index) => [name, results[index]]));
  } catch (error) {
    if (error instanceof WriteFailed && error.reason instanceof DuetError) {
      if (error.reason.cause !== undefined) context.failed(error.reason);
      return failed(error.index, error.reason);
    }
    if (!(error instanceof DuetError) || error.cause !== undefined) context.failed(error);
    if (error instanceof DuetError) return failed(0, error);
    return failed(0, new DuetError('INTERNAL', 'Internal server error'));
  }
}
