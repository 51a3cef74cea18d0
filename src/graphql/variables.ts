/** Whether variables have a say in a part of a document. */

import { type ASTNode, BREAK, type FragmentDefinitionNode, visit } from 'graphql';

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
