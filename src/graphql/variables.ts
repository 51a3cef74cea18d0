/** The variables of a request, and whether they have a say in a part of a document. */

import { type ASTNode, BREAK, type FragmentDefinitionNode, visit } from 'graphql';

/** Without what every object inherits, which graphql-js would take for the value of a field named `constructor`. */
export function bare<T>(value: T): T {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(bare) as T;
  const copy = Object.create(null);
  for (const [name, inner] of Object.entries(value)) copy[name] = bare(inner);
  return copy;
}

/** Follows fragments, which may use variables wherever they are spread. */
export function usesVariables(
  nodes: readonly ASTNode[],
  fragments: Readonly<Record<string, FragmentDefinitionNode>>,
): boolean {
  let found = false;
  const followed = new Set<string>();
  const look = (node: ASTNode): void => {
    visit(node, {
      Variable() {
        found = true;
        return BREAK;
      },
      FragmentSpread({ name }) {
        const fragment = fragments[name.value];
        if (!fragment || followed.has(name.value)) return;
        followed.add(name.value);
        look(fragment.selectionSet);
      },
    });
  };
  for (const node of nodes) look(node);
  return found;
}
