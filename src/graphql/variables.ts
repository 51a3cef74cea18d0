/** The variables of a request, and whether they have a say in a part of a document. */

import {
  type ArgumentNode,
  type FragmentDefinitionNode,
  Kind,
  type OperationDefinitionNode,
  type SelectionNode,
  type ValueNode,
} from 'graphql';

/** The values of those that an operation declares: clients may send any number of others, which nobody reads. */
export function declaredIn(
  { variableDefinitions = [] }: Pick<OperationDefinitionNode, 'variableDefinitions'>,
  given: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  const values = Object.create(null);
  for (const { variable } of variableDefinitions) {
    const name = variable.name.value;
    if (Object.hasOwn(given, name)) values[name] = bare(given[name]);
  }
  return values;
}

/** Without what every object inherits, which graphql-js would take for the value of a field named `constructor`. */
function bare<T>(value: T): T {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(bare) as T;
  const copy = Object.create(null);
  for (const [name, inner] of Object.entries(value)) copy[name] = bare(inner);
  return copy;
}

/** Follows fragments, which may use variables wherever they are spread. */
export function usesVariables(
  selections: readonly SelectionNode[],
  fragments: Readonly<Record<string, FragmentDefinitionNode>>,
): boolean {
  const followed = new Set<string>();
  const uses = (node: SelectionNode): boolean => {
    if (node.directives?.some(isGivenVariables)) return true;
    if (node.kind === Kind.FIELD && isGivenVariables(node)) return true;
    if (node.kind !== Kind.FRAGMENT_SPREAD) return node.selectionSet?.selections.some(uses) ?? false;
    const fragment = fragments[node.name.value];
    if (!fragment || followed.has(node.name.value)) return false;
    followed.add(node.name.value);
    return fragment.selectionSet.selections.some(uses);
  };
  return selections.some(uses);
}

/** Of a field or a directive. */
export function isGivenVariables(node: {
  readonly arguments?: readonly ArgumentNode[] | undefined;
}): boolean {
  return node.arguments?.some(({ value }) => hasVariables(value)) ?? false;
}

export function hasVariables(value: ValueNode): boolean {
  return !variablesIn(value).next().done;
}

/** The names of those that a value is made of, one as often as it is there. */
export function* variablesIn(value: ValueNode): Generator<string, void> {
  if (value.kind === Kind.LIST) for (const each of value.values) yield* variablesIn(each);
  else if (value.kind === Kind.OBJECT) for (const field of value.fields) yield* variablesIn(field.value);
  else if (value.kind === Kind.VARIABLE) yield value.name.value;
}
