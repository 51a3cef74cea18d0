/** A root field with its arguments and selection → Operation. */

import {
  type FieldNode,
  type FragmentDefinitionNode,
  GraphQLIncludeDirective,
  GraphQLSkipDirective,
  getDirectiveValues,
  Kind,
  type SelectionNode,
} from 'graphql';
import type { Operation, Relation, Selection } from '../engine/operation.ts';
import { readKey } from '../schema/keys.ts';
import type { Column, Inverse, Reference, Resource } from '../schema/model.ts';
import { VERSION_ARGUMENT } from '../schema/names.ts';
import { Serial } from '../schema/scalars.ts';
import type { Binding } from './schema.ts';

/** The parts of a request that a selection can depend on. */
export interface Given {
  readonly fragments: Readonly<Record<string, FragmentDefinitionNode>>;
  readonly variableValues: Parameters<typeof getDirectiveValues>[2];
}

type Arguments = Readonly<Record<string, unknown>>;

export function plan(
  binding: Binding,
  args: Arguments,
  fields: readonly FieldNode[],
  given: Given,
): Operation {
  const { resource, operation } = binding;
  const selection = selectionOf(resource, fields, given);
  if (operation === 'LIST') return { do: 'list', resource, selection };
  if (operation === 'CREATE') return { do: 'create', resource, selection, input: inputOf(resource, args) };

  const { [resource.key.name]: text, [VERSION_ARGUMENT]: ifVersion, ...input } = args;
  const key = typeof text === 'string' ? readKey(resource.key, text) : undefined;
  if (operation === 'GET') return { do: 'get', resource, selection, key, refusal: undefined };
  const versions = typeof ifVersion === 'number' ? [ifVersion] : undefined;
  if (operation === 'DELETE')
    return { do: 'delete', resource, selection, key, ifVersion: versions, refusal: undefined };
  const changes = inputOf(resource, input);
  return { do: 'update', resource, selection, key, ifVersion: versions, input: changes, refusal: undefined };
}

/** GraphQL writes integer keys as strings; what is no plain integer stays as it is, for the engine to refuse. */
function inputOf(resource: Resource, args: Arguments): Arguments {
  const input = { ...args };
  for (const column of resource.columns) {
    const value = input[column.name];
    if (column.type === Serial && typeof value === 'string' && /^(?:0|-?[1-9]\d*)$/.test(value))
      input[column.name] = Number(value);
  }
  return input;
}

/** Every field of the selection, through fragments, and without what @skip and @include leave out. */
export function selectionOf(resource: Resource, fields: readonly FieldNode[], given: Given): Selection {
  const columns = new Set<Column>();
  const relations = new Map<string, { field: Reference | Inverse; nodes: FieldNode[] }>();
  const visit = (nodes: readonly SelectionNode[]): void => {
    for (const node of nodes) {
      if (!isIncluded(node, given)) continue;
      if (node.kind === Kind.INLINE_FRAGMENT) visit(node.selectionSet.selections);
      else if (node.kind === Kind.FRAGMENT_SPREAD)
        visit(given.fragments[node.name.value]?.selectionSet.selections ?? []);
      else {
        const name = node.name.value;
        const field = name === resource.version.name ? resource.version : resource.fieldByName.get(name);
        const as = node.alias?.value ?? name;
        const before = relations.get(as);
        if (field?.kind === 'column') columns.add(field);
        else if (before) before.nodes.push(node);
        else if (field) relations.set(as, { field, nodes: [node] });
      }
    }
  };
  for (const field of fields) visit(field.selectionSet?.selections ?? []);
  return {
    columns: [...columns],
    relations: [...relations].map(
      ([as, { field, nodes }]): Relation => ({
        as,
        field,
        selection: selectionOf(field.target, nodes, given),
      }),
    ),
  };
}

function isIncluded(node: SelectionNode, { variableValues }: Given): boolean {
  if (!node.directives || node.directives.length === 0) return true;
  if (getDirectiveValues(GraphQLSkipDirective, node, variableValues)?.['if'] === true) return false;
  return getDirectiveValues(GraphQLIncludeDirective, node, variableValues)?.['if'] !== false;
}
