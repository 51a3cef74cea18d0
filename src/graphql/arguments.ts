/** Variables and arguments of the plain kind, read without graphql-js; whatever is wrong with one is left to it to tell. */

import {
  coerceInputLiteral,
  type FieldNode,
  type GraphQLField,
  type GraphQLLeafType,
  type GraphQLSchema,
  isLeafType,
  isNonNullType,
  isRequiredArgument,
  Kind,
  typeFromAST,
  type VariableDefinitionNode,
} from 'graphql';
import type { Arguments } from './fields.ts';
import { hasVariables } from './variables.ts';

/** Undefined when one of the variables is not there, null or wrong. */
type VariableReader = (given: Arguments) => Arguments | undefined;

/** Undefined when there are lists or objects among the variables, or defaults. */
export function variableReader(
  schema: GraphQLSchema,
  definitions: readonly VariableDefinitionNode[],
): VariableReader | undefined {
  const leaves: (readonly [string, GraphQLLeafType])[] = [];
  for (const { variable, type, defaultValue } of definitions) {
    const declared = typeFromAST(schema, type);
    const leaf = isNonNullType(declared) ? declared.ofType : declared;
    // Under that name a plain object keeps nothing.
    if (defaultValue || !isLeafType(leaf) || variable.name.value === '__proto__') return undefined;
    leaves.push([variable.name.value, leaf]);
  }
  return (given) => {
    const read: Record<string, unknown> = {};
    for (const [name, type] of leaves) {
      const value = Object.hasOwn(given, name) ? given[name] : undefined;
      if (value === undefined || value === null) return undefined;
      try {
        read[name] = type.coerceInputValue(value);
      } catch {
        return undefined;
      }
      if (read[name] === undefined) return undefined;
    }
    return read;
  };
}

/** Undefined when an argument has a default, or is put together of variables. */
export function argumentReader(
  definition: GraphQLField<unknown, unknown>,
  node: FieldNode,
): ((variables: Arguments) => Arguments) | undefined {
  const constants: [string, unknown][] = [];
  const variables: [string, string][] = [];
  for (const argument of definition.args) {
    const { name } = argument;
    const given = node.arguments?.find((each) => each.name.value === name)?.value;
    if (argument.default !== undefined || argument.defaultValue !== undefined) return undefined;
    if (given?.kind === Kind.VARIABLE) variables.push([name, given.name.value]);
    else if (given) {
      const value = hasVariables(given) ? undefined : coerceInputLiteral(given, argument.type);
      if (value === undefined) return undefined;
      constants.push([name, value]);
    } else if (isRequiredArgument(argument)) return undefined;
  }
  return (values) => {
    const read: Record<string, unknown> = {};
    for (const [name, value] of constants) read[name] = value;
    for (const [name, variable] of variables) read[name] = values[variable];
    return read;
  };
}
