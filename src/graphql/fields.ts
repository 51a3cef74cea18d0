/** What a selection asks for: its fields through fragments and directives, and their arguments. */

import {
  type FieldNode,
  type FragmentDefinitionNode,
  GraphQLIncludeDirective,
  type GraphQLObjectType,
  type GraphQLSchema,
  GraphQLSkipDirective,
  getArgumentValues,
  getDirectiveValues,
  Kind,
  type SelectionNode,
} from 'graphql';

export type Arguments = Readonly<Record<string, unknown>>;

/** The parts of a request that a selection can depend on. */
export interface Given {
  readonly schema: GraphQLSchema;
  readonly fragments: Readonly<Record<string, FragmentDefinitionNode>>;
  readonly variableValues: Parameters<typeof getDirectiveValues>[2];
  /** Objects that one answer may hold, and so the longest page. */
  readonly most: number;
}

/** Under which name a node keeps a relation: the same field with other arguments is another relation. */
export function relationName(field: string, args: Arguments): string {
  for (const _ in args) return field + JSON.stringify(args);
  return field;
}

export function argumentsOf(type: GraphQLObjectType, node: FieldNode, { variableValues }: Given): Arguments {
  const field = type.getFields()[node.name.value];
  return field && node.arguments && node.arguments.length > 0
    ? getArgumentValues(field, node, variableValues)
    : {};
}

/** The nodes of each field, by its name, through fragments and without what @skip and @include leave out. */
export function fieldsOf(parents: readonly FieldNode[], given: Given): Map<string, FieldNode[]> {
  const nodes = parents.flatMap((parent) => parent.selectionSet?.selections ?? []);
  return collect(nodes, given, (node) => node.name.value);
}

/** The nodes of each field, by its name in the answer. */
export function answeredFields(selections: readonly SelectionNode[], given: Given): Map<string, FieldNode[]> {
  return collect(selections, given, (node) => node.alias?.value ?? node.name.value);
}

function collect(
  selections: readonly SelectionNode[],
  given: Given,
  nameOf: (node: FieldNode) => string,
): Map<string, FieldNode[]> {
  const found = new Map<string, FieldNode[]>();
  // What a fragment adds, it adds once: fragments that spread each other twice would be a tree of 2^n leaves.
  const spread = new Set<string>();
  const visit = (nodes: readonly SelectionNode[]): void => {
    for (const node of nodes) {
      if (!isIncluded(node, given)) continue;
      if (node.kind === Kind.INLINE_FRAGMENT) visit(node.selectionSet.selections);
      else if (node.kind === Kind.FRAGMENT_SPREAD) {
        if (spread.has(node.name.value)) continue;
        spread.add(node.name.value);
        visit(given.fragments[node.name.value]?.selectionSet.selections ?? []);
      } else {
        const name = nameOf(node);
        const before = found.get(name);
        if (before) before.push(node);
        else found.set(name, [node]);
      }
    }
  };
  visit(selections);
  return found;
}

function isIncluded(node: SelectionNode, { variableValues }: Given): boolean {
  if (!node.directives || node.directives.length === 0) return true;
  if (getDirectiveValues(GraphQLSkipDirective, node, variableValues)?.['if'] === true) return false;
  return getDirectiveValues(GraphQLIncludeDirective, node, variableValues)?.['if'] !== false;
}
