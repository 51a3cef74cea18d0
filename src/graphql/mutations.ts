/** A mutation is carried out field by field and completed at once, as a query is; the executor words and places what is wrong. */

import {
  type FieldNode,
  GraphQLError,
  type GraphQLObjectType,
  getArgumentValues,
  type ValidatedExecutionArgs,
} from 'graphql';
import { Failed } from '../engine/read/reader.ts';
import { NotPlain, shapeFor } from './compiled/shape.ts';
import type { Context } from './context.ts';
import { type Arguments, answeredFields, type Given } from './fields.ts';

/** Completing so many records, and writing them down, each takes its time: others have their turn in between. */
const MANY = 2_000;
const LONG_MS = 5;

/** A field of a root type, and where it is asked for. */
export interface Root extends Pick<Given, 'schema' | 'fragments' | 'variableValues'> {
  readonly type: GraphQLObjectType;
  readonly nodes: readonly FieldNode[];
}

/**
 * The data of an answer. Undefined as soon as something is wrong with a field, or it is no field of records: then the executor goes on
 * with what was `performed`, which has a Failed for what cannot be done.
 */
export async function completed(
  { schema, operation, fragmentDefinitions: fragments, variableValues }: ValidatedExecutionArgs,
  { engine, bindings }: Context,
  performed: Map<string, unknown>,
  perform: (root: Root, args: Arguments) => Promise<unknown>,
): Promise<Record<string, unknown> | undefined> {
  const type = schema.getMutationType() as GraphQLObjectType;
  const given = { schema, fragments, variableValues, most: engine.limits.objects };
  const data: Record<string, unknown> = {};
  try {
    for (const [as, nodes] of answeredFields(operation.selectionSet.selections, given)) {
      const [node] = nodes;
      const name = node?.name.value ?? '';
      // As a property it would not be one.
      if (as === '__proto__') return undefined;
      if (name === '__typename') {
        data[as] = type.name;
        continue;
      }
      const definition = type.getFields()[name];
      const binding = bindings.get(`${type.name}.${name}`);
      if (!node || !definition || !binding || !('resource' in binding)) return undefined;
      const shape = shapeFor(definition.type, nodes, given);
      if (!performed.has(as)) {
        const args = getArgumentValues(definition, node, variableValues);
        const root = { type, nodes, schema, fragments, variableValues };
        performed.set(as, await perform(root, args).catch((error) => new Failed(error)));
      }
      const answer = performed.get(as);
      if (answer instanceof Failed) return undefined;
      if (Array.isArray(answer) && answer.length > MANY) await turn();
      const begun = performance.now();
      data[as] = shape(answer);
      if (performance.now() - begun > LONG_MS) await turn();
    }
    return data;
  } catch (error) {
    if (error instanceof NotPlain || error instanceof GraphQLError) return undefined;
    throw error;
  }
}

function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
