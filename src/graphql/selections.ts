/** What a selection asks of records: columns and relations, with the connections and numbers of their lists. */

import type { GraphQLObjectType } from 'graphql';
import { pointer } from '../base/errors.ts';
import type { OwnChanges } from '../engine/journal/changes-operation.ts';
import { DEFAULT_LIMIT, MOST_CHANGES } from '../engine/journal/reading.ts';
import type { Aggregate, Listing, Operation, Relation, Selection } from '../engine/operation.ts';
import { type Node, relationKey } from '../engine/read/read.ts';
import { AROUND_OBJECT, PAIR } from '../engine/sizes.ts';
import { type AggregateFunction, answerOf, measuresOf, nothing, type Wanted } from '../query/aggregates.ts';
import { filterOf, groupQueryOf, listOf, searchOf } from '../query/arguments.ts';
import { cursorTo, longestCursor, queryNames } from '../query/cursors.ts';
import { all, equal } from '../query/filter.ts';
import { type ListQuery, readLimit } from '../query/list.ts';
import { placeIn } from '../query/order.ts';
import { groupable } from '../query/parts.ts';
import type { Column, Computed, Inverse, Reference, Resource, Through } from '../schema/model.ts';
import { besideList, OWN_CHANGES } from '../schema/names.ts';
import { tellingOf } from './change-sizes.ts';
import {
  type Arguments,
  argumentsOf,
  bytesOfNames,
  type ObjectNodes,
  objectsOf,
  relationName,
} from './fields.ts';
import { type Planning, readingOf } from './queries.ts';

export interface Plan {
  readonly operation: Operation;
  /** What the executor completes, from what the engine answers. */
  readonly complete: (answer: unknown) => unknown;
}

export type RootPlanner = (args: Arguments, given: Planning) => Plan;

/** What is asked of a connection, whatever its arguments. */
interface Connection {
  readonly parts: ReadonlyMap<string, readonly ObjectNodes[]>;
  readonly info: ReadonlyMap<string, readonly ObjectNodes[]>;
  /** How often each edge has its cursor. */
  readonly cursors: number;
  readonly atEnds: boolean;
  readonly count: boolean;
  /** The records, with the edges around them. */
  readonly selection: (list: ListQuery, isNested?: boolean) => Selection;
}

export function connectionIn(
  resource: Resource,
  objects: readonly ObjectNodes[],
  given: Planning,
): Connection {
  const parts = objectsOf(objects, given);
  const edges = parts.get('edges') ?? [];
  const inEdges = objectsOf(edges, given);
  const cursors = inEdges.get('cursor')?.length ?? 0;
  const around = edges.length * AROUND_OBJECT + bytesOfNames(inEdges, `${resource.name}Edge`);
  const ofNodes = selectionOf(resource, inEdges.get('node') ?? [], given);
  const widened = new Map<number, Selection>();
  const info = objectsOf(parts.get('pageInfo') ?? [], given);
  return {
    parts,
    info,
    cursors,
    atEnds: info.has('startCursor') || info.has('endCursor'),
    count: parts.has('totalCount'),
    selection: (list, isNested) => {
      const longest = cursors > 0 ? longestCursor(list, isNested) : 0;
      // One for all pages: what is made of a selection is kept with it.
      const selection = widened.get(longest) ?? withNames(ofNodes, around + cursors * longest);
      widened.set(longest, selection);
      return selection;
    },
  };
}

/** The connection of each record, and the bytes that it takes beside its edges. */
function nestedConnection(
  { as, field, args, objects }: Asked & { readonly field: Inverse | Through },
  given: Planning,
): { readonly relation: Relation; readonly bytes: number } {
  const { target } = field;
  const connection = connectionIn(target, objects, given);
  const { parts, info, cursors, atEnds, count } = connection;
  const list = listOf(target, args, readingOf(given), true);
  const { where, order } = list;
  const everywhere = cursors > 0;
  const ends = ['startCursor', 'endCursor'].reduce((sum, name) => sum + (info.get(name)?.length ?? 0), 0);
  const bytes =
    objects.length * AROUND_OBJECT +
    bytesOfNames(parts, `${target.name}Connection`) +
    (parts.get('edges')?.length ?? 0) * PAIR +
    (parts.get('totalCount')?.length ?? 0) * LONGEST_COUNT +
    (parts.get('pageInfo')?.length ?? 0) * AROUND_OBJECT +
    bytesOfNames(info, 'PageInfo') +
    (info.get('hasNextPage')?.length ?? 0) * LONGEST_COUNT +
    (info.get('hasPreviousPage')?.length ?? 0) * LONGEST_COUNT +
    ends * longestCursor(list, true);
  let names: ReturnType<typeof queryNames> | undefined;
  // As if the records were asked for by themselves, so that either list goes on where the other ends.
  const nameOf = (key: unknown) => {
    names ??= queryNames(target, where, order);
    return names(field.kind === 'inverse' ? equal(field.reference.column, key) : undefined);
  };
  const paged = {
    places: everywhere || atEnds,
    more: info.has('hasNextPage') || info.has('hasPreviousPage'),
    count,
    complete: (page: Listing, key: unknown) => {
      const isNamed = (everywhere || atEnds) && page.nodes.length > 0;
      return connectionOf(page, list, isNamed ? nameOf(key) : '', everywhere, atEnds);
    },
  };
  return { relation: { as, field, selection: connection.selection(list, true), list, paged }, bytes };
}

/** The digits of a number of objects; a Boolean is shorter. */
const LONGEST_COUNT = 16;

/** Numbers about the list of each record. */
function nestedAggregate(
  { as, field, args, objects }: Asked & { readonly field: Inverse | Through },
  given: Planning,
): Relation {
  const { operation, complete } = aggregatePlanner(field.target, objects, given)(args, given);
  const aggregate = operation as Aggregate;
  const selection = { columns: [], relations: aggregate.relations };
  return { as, field, selection, list: undefined, summary: { aggregate, times: objects.length, complete } };
}

/** Cursors cost more than the rest of a short record: they are made where they are asked for. */
export function connectionOf(
  { nodes, more, total }: Listing,
  list: ListQuery,
  query: string,
  everywhere: boolean,
  atEnds: boolean,
) {
  const cursorOf = (node: Node | undefined) =>
    node ? cursorTo(query, list.order, placeIn(list.order, node)) : null;
  const edges = nodes.map((node) => ({ cursor: everywhere ? cursorOf(node) : null, node }));
  return {
    edges,
    totalCount: total,
    pageInfo: {
      // In the direction that was not read, the cursor itself stands for what lies beyond it.
      hasNextPage: list.backwards ? list.before !== undefined : more,
      hasPreviousPage: list.backwards ? more : list.after !== undefined || list.offset > 0,
      startCursor: atEnds ? cursorOf(nodes[0]) : null,
      endCursor: atEnds ? cursorOf(nodes.at(-1)) : null,
    },
  };
}

export function aggregatePlanner(
  resource: Resource,
  objects: readonly ObjectNodes[],
  given: Planning,
): RootPlanner {
  const find = (name: string) => resource.columns.find((column) => column.name === name);
  const group = (name: string) => groupable(resource).find((column) => column.name === name);
  const wanted: Wanted[] = [];
  const asked: Relation[] = [];
  const times: Record<string, number> = Object.create(null);
  const parts = objectsOf(objects, given);
  let names = objects.length * AROUND_OBJECT + bytesOfNames(parts, `${resource.name}Aggregate`);
  for (const [name, ofName] of parts) {
    if (name === 'count') {
      wanted.push({ of: 'count', column: undefined });
      times[measuresOf(wanted.slice(-1))[0]?.as ?? ''] = ofName.length;
    } else if (name !== '__typename') {
      const inside = objectsOf(ofName, given);
      names += ofName.length * AROUND_OBJECT + bytesOfNames(inside, `${resource.name}Aggregate`);
      for (const [inner, nodes] of inside) {
        const field = resource.references.find((each) => name === 'by' && each.name === inner);
        if (field) {
          const within = { ...given, at: [...given.at, name, inner] };
          const selection = selectionOf(field.target, nodes, within);
          asked.push({ as: relationName(inner, {}), field, selection, list: undefined });
        }
        const column = name === 'by' ? group(inner) : find(inner);
        if (!column) continue;
        const value = { of: name as AggregateFunction, column };
        if (name !== 'by') wanted.push(value);
        times[name === 'by' ? inner : (measuresOf([value])[0]?.as ?? '')] = nodes.length;
      }
    }
  }
  const measures = measuresOf(wanted);
  const keys = asked.map(({ as }) => relationKey(as));
  const empty = { countDistinct: {}, sum: {}, avg: {}, min: {}, max: {} };
  return (args, within) => {
    const reading = readingOf(within);
    const where = all([filterOf(resource, 'where', args, reading), searchOf(resource, args, reading)]);
    const by = [...new Set((args['groupBy'] ?? []) as string[])].flatMap((name) => group(name) ?? []);
    const query = groupQueryOf(resource, by, args, reading);
    const operation: Aggregate = {
      do: 'aggregate',
      resource,
      where,
      by,
      measures,
      relations: asked.filter(({ field }) => field.kind === 'reference' && by.includes(field.column)),
      ...query,
      rendered: { times, names },
    };
    const complete = (row: Node) => {
      const group: Record<string, unknown> = { by: nothing(), ...empty, ...answerOf(row, by, wanted) };
      for (const key of keys) (group['by'] as Node)[key] = row[key] ?? null;
      return group;
    };
    return { operation, complete: (answer) => (answer as Node[]).map(complete) };
  };
}

/** The columns and relations that a selection asks for, and how often the answer has what it reads once. */
export function selectionOf(resource: Resource, objects: readonly ObjectNodes[], given: Planning): Selection {
  const type = given.schema.getType(resource.name) as GraphQLObjectType;
  const columns: [Column, number][] = [];
  const computed: [Computed, number][] = [];
  const relations = new Map<string, Asked>();
  const fields = objectsOf(objects, given, resource.name);
  const changes = (fields.get(OWN_CHANGES) ?? []).map((nodes) => changesIn(resource, type, nodes, given));
  let names = bytesOfNames(fields, resource.name);
  for (const [name, asked] of fields) {
    const field = name === resource.version.name ? resource.version : resource.fieldByName.get(name);
    const computing = field ? undefined : resource.computed.find(({ column }) => column.name === name);
    if (computing) computed.push([computing, asked.length]);
    if (field?.kind === 'column') columns.push([field, asked.length]);
    const related =
      field ?? [...resource.inverses, ...resource.throughs].find((list) => isBeside(list, name));
    if (!related || related.kind === 'column') continue;
    for (const nodes of asked) {
      const args = nodes[0] ? argumentsOf(type, nodes[0], given) : {};
      const as = relationName(name, args);
      if (related.kind !== 'reference') names += PAIR;
      const before = relations.get(as);
      if (before) before.objects.push(nodes);
      else relations.set(as, { as, name, field: related, args, objects: [nodes] });
    }
  }
  const made = [...relations.values()].map((each): Relation => {
    const { as, name, field, args, objects: below } = each;
    const within = { ...given, at: [...given.at, name] };
    if (field.kind !== 'reference' && name === besideList.connection(field)) {
      const { relation, bytes } = nestedConnection({ ...each, field }, within);
      names += bytes;
      return relation;
    }
    if (field.kind !== 'reference' && name === besideList.aggregate(field))
      return nestedAggregate({ ...each, field }, within);
    return {
      as,
      field,
      selection: selectionOf(field.target, below, within),
      list: field.kind === 'reference' ? undefined : listOf(field.target, args, readingOf(within), true),
    };
  });
  return {
    columns: columns.map(([column]) => column),
    ...(computed.length > 0 && { computed: computed.map(([each]) => each) }),
    relations: made,
    ...(changes.length > 0 && { changes }),
    rendered: {
      records: Math.max(1, objects.length),
      columns: [...columns, ...computed.map(([{ column }, times]): [Column, number] => [column, times])],
      names,
    },
  };
}

function changesIn(
  resource: Resource,
  type: GraphQLObjectType,
  nodes: ObjectNodes,
  given: Planning,
): OwnChanges {
  const args = nodes[0] ? argumentsOf(type, nodes[0], given) : {};
  const at = [...given.at, OWN_CHANGES];
  const limit = readLimit({ name: 'first', value: args['first'] }, MOST_CHANGES, (name, code, detail) =>
    given.faults.push({ pointer: pointer(...at, name), code, detail }),
  );
  return {
    as: relationName(OWN_CHANGES, args),
    resource,
    after: args['after'] == null ? undefined : String(args['after']),
    at: { pointer: pointer(...at, 'after') },
    limit: limit ?? DEFAULT_LIMIT,
    telling: tellingOf(resource, nodes, given),
  };
}

/** A relation of some records, with its arguments and all that is asked of it. */
interface Asked {
  readonly as: string;
  /** The name of the GraphQL field. */
  readonly name: string;
  readonly field: Reference | Inverse | Through;
  readonly args: Arguments;
  readonly objects: ObjectNodes[];
}

function isBeside(list: Inverse | Through, name: string): boolean {
  return name === besideList.connection(list) || name === besideList.aggregate(list);
}

/** The same, with so many bytes more around each record. */
function withNames(selection: Selection, more: number): Selection {
  const { rendered } = selection;
  return rendered ? { ...selection, rendered: { ...rendered, names: rendered.names + more } } : selection;
}
