/** A root field with its arguments and selection → what to perform, and what to make of the answer. */

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
import type { Aggregate, Operation, Read, Relation, Selection } from '../engine/operation.ts';
import type { Listing, Node } from '../engine/read.ts';
import { type Fault, pointer, validationFailed } from '../errors.ts';
import { type AggregateFunction, answerOf, measuresOf, type Wanted } from '../query/aggregates.ts';
import { everything } from '../query/filter.ts';
import { type ListQuery, readAtMost, readList } from '../query/list.ts';
import { cursorOf, type OrderBy, queryName } from '../query/order.ts';
import { WhereReader } from '../query/where.ts';
import { integerFrom, readKey } from '../schema/keys.ts';
import type { Column, Inverse, Reference, Resource } from '../schema/model.ts';
import { VERSION_ARGUMENT } from '../schema/names.ts';
import { Serial } from '../schema/scalars.ts';
import type { Binding, BulkKind } from './schema.ts';

/** The parts of a request that a selection can depend on. */
export interface Given {
  readonly schema: GraphQLSchema;
  readonly fragments: Readonly<Record<string, FragmentDefinitionNode>>;
  readonly variableValues: Parameters<typeof getDirectiveValues>[2];
  /** Objects that one answer may hold, and so the longest page. */
  readonly most: number;
}

/** What is being planned: where in the selection, and what was found to be wrong so far. */
interface Planning extends Given {
  readonly at: readonly string[];
  readonly faults: Fault[];
}

type Arguments = Readonly<Record<string, unknown>>;

export interface Plan {
  readonly operation: Operation;
  /** What the executor completes, from what the engine answers. */
  readonly complete: (answer: unknown) => unknown;
}

const asItIs = (answer: unknown) => answer;

/** Every fault of every list is told at once. */
export function plan(binding: Binding, args: Arguments, fields: readonly FieldNode[], given: Given): Plan {
  const faults: Fault[] = [];
  const planned = planRoot(binding, args, fields, { ...given, at: [], faults });
  if (faults.length > 0) throw validationFailed(faults);
  return planned;
}

function planRoot(binding: Binding, args: Arguments, fields: readonly FieldNode[], given: Planning): Plan {
  const { resource, operation } = binding;
  if (operation === 'AGGREGATE') return planAggregate(resource, args, fields, given);
  if (operation === 'CONNECTION') return planConnection(resource, args, fields, given);
  const selection = selectionOf(resource, fields, given);
  if (operation === 'LIST') {
    const list = listOf(resource, args, given);
    const read: Read = { do: 'list', resource, selection, list, places: false, count: false };
    return { operation: read, complete: (answer) => (answer as Listing).nodes };
  }
  if (operation === 'CREATE_MANY' || operation === 'UPDATE_MANY' || operation === 'DELETE_MANY')
    return { operation: many(resource, operation, args, selection, given), complete: asItIs };
  return { operation: single(resource, operation, args, selection), complete: asItIs };
}

function many(
  resource: Resource,
  operation: BulkKind,
  args: Arguments,
  selection: Selection,
  given: Planning,
): Operation {
  if (operation === 'CREATE_MANY') {
    const inputs = (args['records'] as Arguments[]).map((record) => inputOf(resource, record));
    return { do: 'create many', resource, selection, inputs, through: 'graphql' };
  }
  const where = whereOf(resource, args, given);
  const atMost = readAtMost(args['atMost'], given.most, (code, detail) =>
    given.faults.push({ pointer: pointer('atMost'), code, detail }),
  );
  const on = { resource, selection, where, atMost };
  if (operation === 'DELETE_MANY') return { do: 'delete many', ...on };
  return { do: 'update many', ...on, input: inputOf(resource, args['set'] as Arguments) };
}

function single(
  resource: Resource,
  operation: 'GET' | 'CREATE' | 'UPDATE' | 'DELETE',
  args: Arguments,
  selection: Selection,
): Operation {
  if (operation === 'CREATE')
    return { do: 'create', resource, selection, input: inputOf(resource, args), through: 'graphql' };
  const { [resource.key.name]: text, [VERSION_ARGUMENT]: ifVersion, ...input } = args;
  const key = typeof text === 'string' ? readKey(resource.key, text) : undefined;
  const one = { resource, selection, key, refusal: undefined };
  if (operation === 'GET') return { do: 'get', ...one };
  const versions = typeof ifVersion === 'number' ? [ifVersion] : undefined;
  if (operation === 'DELETE') return { do: 'delete', ...one, ifVersion: versions };
  return { do: 'update', ...one, ifVersion: versions, input: inputOf(resource, input) };
}

/** GraphQL writes integer keys as strings; what is no plain integer stays as it is, for the engine to refuse. */
function spelt(column: Column, value: unknown): unknown {
  return column.type === Serial && typeof value === 'string' ? integerFrom(value) : value;
}

function inputOf(resource: Resource, args: Arguments): Arguments {
  const input = { ...args };
  for (const column of resource.columns)
    if (Object.hasOwn(input, column.name)) input[column.name] = spelt(column, input[column.name]);
  for (const { name, target } of resource.inverses) {
    const records = input[name];
    if (Array.isArray(records)) input[name] = records.map((record) => inputOf(target, record as Arguments));
  }
  return input;
}

function listOf(resource: Resource, args: Arguments, given: Planning): ListQuery {
  const where = whereOf(resource, args, given);
  const orderBy = (args['orderBy'] ?? []) as Readonly<Record<string, 'ASC' | 'DESC'>>[];
  const order = orderBy.flatMap((each) =>
    Object.entries(each).flatMap(([name, direction]): OrderBy[] => {
      const column = resource.columns.find((column) => column.name === name);
      return column ? [{ column, descending: direction === 'DESC' }] : [];
    }),
  );
  const argument = (name: string) => ({ name, value: args[name] });
  const page = {
    first: argument('first'),
    after: argument('after'),
    last: argument('last'),
    before: argument('before'),
  };
  return readList(resource, where, order, page, given.most, (name, code, detail) =>
    given.faults.push({ pointer: pointer(...given.at, name), code, detail }),
  );
}

function whereOf(resource: Resource, args: Arguments, { at, faults }: Planning) {
  const where = args['where'];
  if (where == null) return everything;
  const reader = new WhereReader(
    spelt,
    (path, code, detail) => faults.push({ pointer: pointer(...at, 'where', ...path), code, detail }),
    (target) => target.graphql,
  );
  return reader.read(resource, where);
}

function planConnection(
  resource: Resource,
  args: Arguments,
  fields: readonly FieldNode[],
  given: Planning,
): Plan {
  const list = listOf(resource, args, given);
  const parts = fieldsOf(fields, given);
  const nodes = fieldsOf(parts.get('edges') ?? [], given).get('node') ?? [];
  const read: Read = {
    do: 'list',
    resource,
    selection: selectionOf(resource, nodes, given),
    list,
    places: true,
    count: parts.has('totalCount'),
  };
  const query = queryName(resource, list.where, list.order);
  return { operation: read, complete: (answer) => connectionOf(answer as Listing, list, query) };
}

function connectionOf({ nodes, more, total }: Listing, list: ListQuery, query: string) {
  const edges = nodes.map((node) => ({ cursor: cursorOf(query, list.order, node), node }));
  return {
    edges,
    totalCount: total,
    pageInfo: {
      // In the direction that was not read, the cursor itself stands for what lies beyond it.
      hasNextPage: list.backwards ? list.before !== undefined : more,
      hasPreviousPage: list.backwards ? more : list.after !== undefined,
      startCursor: edges[0]?.cursor ?? null,
      endCursor: edges.at(-1)?.cursor ?? null,
    },
  };
}

function planAggregate(
  resource: Resource,
  args: Arguments,
  fields: readonly FieldNode[],
  given: Planning,
): Plan {
  const where = whereOf(resource, args, given);
  const find = (name: string) => resource.columns.find((column) => column.name === name);
  const by = ((args['groupBy'] ?? []) as string[]).flatMap((name) => find(name) ?? []);
  const wanted: Wanted[] = [];
  for (const [name, nodes] of fieldsOf(fields, given)) {
    if (name === 'count') wanted.push({ of: 'count', column: undefined });
    else if (name !== 'by' && name !== '__typename')
      for (const inner of fieldsOf(nodes, given).keys()) {
        const column = find(inner);
        if (column) wanted.push({ of: name as AggregateFunction, column });
      }
  }
  const unique = [...new Set(by)];
  const operation: Aggregate = { do: 'aggregate', resource, where, by: unique, measures: measuresOf(wanted) };
  const empty = { by: {}, sum: {}, avg: {}, min: {}, max: {} };
  return {
    operation,
    complete: (answer) => (answer as Node[]).map((row) => ({ ...empty, ...answerOf(row, unique, wanted) })),
  };
}

/** Under which name a node keeps a relation: the same field with other arguments is another relation. */
export function relationName(field: string, args: Arguments): string {
  for (const _ in args) return field + JSON.stringify(args);
  return field;
}

/** The columns and relations that a selection asks for. */
function selectionOf(resource: Resource, fields: readonly FieldNode[], given: Planning): Selection {
  const columns = new Set<Column>();
  const relations = new Map<string, { field: Reference | Inverse; args: Arguments; nodes: FieldNode[] }>();
  for (const [name, nodes] of fieldsOf(fields, given)) {
    const field = name === resource.version.name ? resource.version : resource.fieldByName.get(name);
    if (field?.kind === 'column') columns.add(field);
    else if (field)
      for (const node of nodes) {
        const args = argumentsOf(resource, node, given);
        const as = relationName(name, args);
        const before = relations.get(as);
        if (before) before.nodes.push(node);
        else relations.set(as, { field, args, nodes: [node] });
      }
  }
  return {
    columns: [...columns],
    relations: [...relations].map(([as, { field, args, nodes }]): Relation => {
      const within = { ...given, at: [...given.at, field.name] };
      return {
        as,
        field,
        selection: selectionOf(field.target, nodes, within),
        list: field.kind === 'inverse' ? listOf(field.target, args, within) : undefined,
      };
    }),
  };
}

function argumentsOf(resource: Resource, node: FieldNode, { schema, variableValues }: Given): Arguments {
  const type = schema.getType(resource.name) as GraphQLObjectType;
  const field = type.getFields()[node.name.value];
  return field && node.arguments && node.arguments.length > 0
    ? getArgumentValues(field, node, variableValues)
    : {};
}

/** The nodes of each field, by its name, through fragments and without what @skip and @include leave out. */
function fieldsOf(parents: readonly FieldNode[], given: Given): Map<string, FieldNode[]> {
  const nodes = parents.flatMap((parent) => parent.selectionSet?.selections ?? []);
  return collect(nodes, given, (node) => node.name.value);
}

/** The nodes of each root field, by its name in the answer. */
export function rootFields(selections: readonly SelectionNode[], given: Given): Map<string, FieldNode[]> {
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
