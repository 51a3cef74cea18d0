/** What a selection asks for: its fields through fragments and directives, and their arguments. */

import {
  type FieldNode,
  type FragmentDefinitionNode,
  type GraphQLField,
  GraphQLIncludeDirective,
  type GraphQLObjectType,
  type GraphQLResolveInfo,
  type GraphQLSchema,
  GraphQLSkipDirective,
  getArgumentValues,
  getDirectiveValues,
  Kind,
  type NamedTypeNode,
  type SelectionNode,
  type ValueNode,
} from 'graphql';
import { bytesOfName, PAIR } from '../engine/sizes.ts';
import { VERSION_ARGUMENT } from '../schema/names.ts';
import { NODE } from './node.ts';

export type Arguments = Readonly<Record<string, unknown>>;

/** The parts of a request that a selection can depend on. */
export interface Given {
  readonly schema: GraphQLSchema;
  readonly fragments: Readonly<Record<string, FragmentDefinitionNode>>;
  readonly variableValues: Parameters<typeof getDirectiveValues>[2];
  /** Objects that one answer may hold, and so the longest page. */
  readonly most: number;
  /** How many records a list has that does not say how many; undefined for all of them. */
  readonly page?: number | undefined;
}

/** Under which name a node keeps a relation: the same field with other arguments is another relation. */
export function relationName(field: string, args: Arguments): string {
  for (const _ in args) return field + JSON.stringify(args, withUnsent);
  return field;
}

/** What was not sent makes it another, which is looked at, and refused: JSON would leave it out. No text of a filter has a NUL. */
function withUnsent(_: string, value: unknown): unknown {
  return value === undefined ? '\0' : value;
}

const relationNames = new WeakMap<object, Map<FieldNode | undefined, string>>();

/** The same for each record of a list: arguments may be as long as a body, so they are read, and written as text, only once. */
export function relationAt(
  field: string,
  {
    variableValues,
    parentType,
    fieldNodes: [node],
  }: Pick<GraphQLResolveInfo, 'variableValues' | 'parentType' | 'fieldNodes'>,
): string {
  const known = relationNames.get(variableValues) ?? new Map<FieldNode | undefined, string>();
  relationNames.set(variableValues, known);
  const before = known.get(node);
  if (before !== undefined) return before;
  const as = relationName(field, node ? argumentsOf(parentType, node, { variableValues }) : {});
  known.set(node, as);
  return as;
}

type Field = GraphQLField<unknown, unknown>;

const unreadFields = new WeakMap<Field, Field>();

/**
 * The same schema for the executor, which would read the arguments of a relation anew for each record: 1,800 keys below 10,000
 * records, for seconds. What has a resolver of its own looks at its node instead (`relationAt`).
 */
export function withUnreadArguments(schema: GraphQLSchema): GraphQLSchema {
  const getField = (parent: Parameters<GraphQLSchema['getField']>[0], name: string) => {
    const field = schema.getField(parent, name);
    if (!field?.resolve || field.args.length === 0) return field;
    // Those are of graphql-js.
    return name.startsWith('__') || parent.name.startsWith('__') ? field : unread(field);
  };
  return Object.create(schema, { getField: { value: getField } });
}

function unread(field: Field): Field {
  const known = unreadFields.get(field) ?? (Object.create(field, { args: { value: [] } }) as Field);
  unreadFields.set(field, known);
  return known;
}

export function argumentsOf(
  type: GraphQLObjectType,
  node: FieldNode,
  { variableValues }: Pick<Given, 'variableValues'>,
): Arguments {
  const field = type.getFields()[node.name.value];
  return field && node.arguments && node.arguments.length > 0
    ? asWritten(getArgumentValues(field, node, variableValues), node)
    : {};
}

/**
 * graphql-js drops what stands for a variable that was not sent. Without a condition, a filter matches more; without its
 * version or its `atLeast`, a write is unguarded. So what the document has there stays, undefined, for the planner to refuse.
 */
export function asWritten(args: Arguments, node: FieldNode): Arguments {
  let written = args;
  const isOnMany = node.arguments?.some(({ name }) => name.value === 'where');
  for (const { name, value } of node.arguments ?? []) {
    // A filter that is a variable as a whole can be left out, like one that is not written at all.
    const isFilter = (name.value === 'where' || name.value === 'having') && value.kind !== Kind.VARIABLE;
    if (isFilter || name.value === VERSION_ARGUMENT || (isOnMany && name.value === 'atLeast'))
      written = { ...written, [name.value]: conditions(value, args[name.value]) };
  }
  return written;
}

function conditions(node: ValueNode, value: unknown): unknown {
  if (node.kind === Kind.LIST)
    return node.values.map((each, index) => conditions(each, (value as unknown[])[index]));
  if (node.kind !== Kind.OBJECT) return value;
  // Where a list is expected, one value stands for a list of one.
  if (Array.isArray(value)) return value.map((each) => conditions(node, each));
  // In the order of graphql-js: the name of a relation is made of its arguments.
  const whole: Record<string, unknown> = { ...(value as Arguments) };
  for (const { name, value: inner } of node.fields) whole[name.value] = conditions(inner, whole[name.value]);
  return whole;
}

/** All that is asked of one object, or of one value, of the answer. */
export type ObjectNodes = readonly FieldNode[];

/**
 * What the answer has below some of its objects, by the name of the field: one for each of them and each alias. `on` is the
 * type of the objects, where fragments may be on others.
 */
export function objectsOf(
  objects: readonly ObjectNodes[],
  given: Given,
  on?: string,
): Map<string, ObjectNodes[]> {
  const found = new Map<string, ObjectNodes[]>();
  for (const object of objects) {
    const selections = object.flatMap((node) => node.selectionSet?.selections ?? []);
    for (const nodes of answeredFields(selections, given, on).values()) {
      const name = nodes[0]?.name.value ?? '';
      const before = found.get(name);
      if (before) before.push(nodes);
      else found.set(name, [nodes]);
    }
  }
  return found;
}

/** The nodes of each field, by its name in the answer, through fragments and without what @skip and @include leave out. */
export function answeredFields(
  selections: readonly SelectionNode[],
  given: Given,
  on?: string,
): Map<string, FieldNode[]> {
  const found = new Map<string, FieldNode[]>();
  // What a fragment adds, it adds once: fragments that spread each other twice would be a tree of 2^n leaves.
  const spread = new Set<string>();
  const applies = (condition: NamedTypeNode | undefined) =>
    on === undefined || !condition || condition.name.value === on || condition.name.value === NODE;
  const visit = (nodes: readonly SelectionNode[]): void => {
    for (const node of nodes) {
      if (!isIncluded(node, given)) continue;
      if (node.kind === Kind.INLINE_FRAGMENT) {
        if (applies(node.typeCondition)) visit(node.selectionSet.selections);
      } else if (node.kind === Kind.FRAGMENT_SPREAD) {
        if (spread.has(node.name.value)) continue;
        spread.add(node.name.value);
        const fragment = given.fragments[node.name.value];
        if (fragment && applies(fragment.typeCondition)) visit(fragment.selectionSet.selections);
      } else {
        const name = node.alias?.value ?? node.name.value;
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

/** Of the names under which the answer has these fields; an alias is as long as its client likes. */
export function bytesOfNames(fields: ReadonlyMap<string, readonly ObjectNodes[]>, type: string): number {
  let bytes = 0;
  for (const [name, asked] of fields)
    for (const [node] of asked) {
      bytes += bytesOfName(node?.alias?.value ?? name);
      if (name === '__typename') bytes += type.length + PAIR;
    }
  return bytes;
}
