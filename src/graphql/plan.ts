/** A root field with its arguments and selection → what to perform, and what to make of the answer. */

import type { FieldNode, GraphQLObjectType } from 'graphql';
import { type Fault, type FaultCode, pointer, validationFailed } from '../base/errors.ts';
import type {
  Act,
  Aggregate,
  Ask,
  Listing,
  Operation,
  Read,
  Relation,
  Selection,
  Wanted as WantedOfAction,
} from '../engine/operation.ts';
import { type Node, relationKey } from '../engine/read/read.ts';
import { AROUND_OBJECT, bytesOfName, PAIR } from '../engine/sizes.ts';
import { type AggregateFunction, answerOf, measuresOf, nothing, type Wanted } from '../query/aggregates.ts';
import { cursorTo, longestCursor, queryName } from '../query/cursors.ts';
import { all, equal, everything, type Filter, type Searched } from '../query/filter.ts';
import { type ListQuery, readAtLeast, readAtMost, readList } from '../query/list.ts';
import { type OrderBy, placeIn } from '../query/order.ts';
import { groupable } from '../query/parts.ts';
import { columnThrough, MOST_RECORDS, MOST_STEPS, recordsFor } from '../query/referred.ts';
import { type Groups, groupsOf } from '../query/results.ts';
import { NOT_SEARCHED, RELEVANCE, readSearch, relevanceOf, SEARCH } from '../query/search.ts';
import { WhereReader } from '../query/where.ts';
import { integerFrom, readKey } from '../schema/keys.ts';
import type {
  ActionField,
  Column,
  Computed,
  Inverse,
  Reference,
  Resource,
  Slot,
  Through,
} from '../schema/model.ts';
import { BY_ARGUMENT, besideList, VERSION_ARGUMENT } from '../schema/names.ts';
import { Serial } from '../schema/scalars.ts';
import { linkFields } from '../schema/through.ts';
import { upsertKeys } from '../schema/upserts.ts';
import {
  type Arguments,
  argumentsOf,
  type Given,
  type ObjectNodes,
  objectsOf,
  relationName,
} from './fields.ts';
import { groupQueryOf } from './groups.ts';
import type { Binding, BulkKind, RecordsBinding, UpsertKind } from './schema.ts';

/** What is being planned: where in the selection, and what was found to be wrong so far. */
interface Planning extends Given {
  readonly at: readonly string[];
  readonly faults: Fault[];
}

export interface Plan {
  readonly operation: Operation;
  /** What the executor completes, from what the engine answers. */
  readonly complete: (answer: unknown) => unknown;
}

const asItIs = (answer: unknown) => answer;

/** The rest of a plan: what hangs on the selection alone is known, and arguments make it whole. */
export type Planner = (args: Arguments) => Plan;

/** Every fault of every list is told at once. */
export function planner(binding: Binding, fields: readonly FieldNode[], given: Given): Planner {
  const found: Fault[] = [];
  const planning = { ...given, at: [], faults: found };
  const planRoot = rootPlanner(binding, fields, planning);
  // A key can name nothing, but there is nothing wrong with it.
  if (binding.operation === 'GET' && found.length === 0) return (args) => planRoot(args, planning);
  return (args) => {
    const faults = [...found];
    const planned = planRoot(args, { ...given, at: [], faults });
    if (faults.length > 0) throw validationFailed(faults);
    return planned;
  };
}

type RootPlanner = (args: Arguments, given: Planning) => Plan;

function rootPlanner(binding: Binding, fields: readonly FieldNode[], given: Planning): RootPlanner {
  if (binding.operation === 'ACTION') return actionPlanner(binding.action, fields, given);
  return recordsPlanner(binding, fields, given);
}

function actionPlanner(action: ActionField, fields: readonly FieldNode[], given: Planning): RootPlanner {
  const answer = wantedOf(action.answer, [fields], given);
  const kind = action.root === 'Query' ? 'ask' : 'act';
  return (args) => ({ operation: { do: kind, action, args, answer } as Act<'act'> | Ask, complete: asItIs });
}

/** What the selection has of an answer. */
function wantedOf(slot: Slot, objects: readonly ObjectNodes[], given: Planning): WantedOfAction {
  if (slot.is === 'value') return { is: 'value' };
  if (slot.is === 'record') return { is: 'record', selection: selectionOf(slot.resource, objects, given) };
  const below = objectsOf(objects, given);
  const asked = slot.shape.fields.flatMap((field): [string, WantedOfAction][] => {
    const nodes = below.get(field.name);
    return nodes ? [[field.name, wantedOf(field, nodes, { ...given, at: [...given.at, field.name] })]] : [];
  });
  return { is: 'object', fields: new Map(asked) };
}

function recordsPlanner(
  { resource, operation }: RecordsBinding,
  fields: readonly FieldNode[],
  given: Planning,
): RootPlanner {
  if (operation === 'AGGREGATE') return aggregatePlanner(resource, [fields], given);
  if (operation === 'CONNECTION') return connectionPlanner(resource, fields, given);
  const selection = selectionOf(resource, [fields], given);
  if (operation === 'LIST')
    return (args, within) => {
      const list = listOf(resource, args, within);
      const read: Read = { do: 'list', resource, selection, list, places: false, count: false };
      return { operation: read, complete: (answer) => (answer as Listing).nodes };
    };
  if (operation === 'CREATE_MANY' || operation === 'UPDATE_MANY' || operation === 'DELETE_MANY')
    return (args, within) => ({
      operation: many(resource, operation, args, selection, within),
      complete: asItIs,
    });
  if (operation === 'UPSERT' || operation === 'UPSERT_MANY')
    return (args) => ({ operation: upsert(resource, operation, args, selection), complete: asItIs });
  return (args, within) => ({
    operation: single(resource, operation, args, selection, within),
    complete: asItIs,
  });
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
  const report = (name: string) => (code: FaultCode, detail: string) =>
    given.faults.push({ pointer: pointer(name), code, detail });
  const atMost = readAtMost(args['atMost'], given.most, report('atMost'));
  // A variable that was not sent demands something, and nobody knows what.
  const least = Object.hasOwn(args, 'atLeast') ? (args['atLeast'] ?? null) : undefined;
  const atLeast = readAtLeast(least, atMost, report('atLeast'));
  const on = { resource, selection, where, atMost, atLeast };
  if (operation === 'DELETE_MANY') return { do: 'delete many', ...on };
  return { do: 'update many', ...on, input: inputOf(resource, args['set'] as Arguments) };
}

function upsert(
  resource: Resource,
  operation: UpsertKind,
  { [BY_ARGUMENT]: name, ...args }: Arguments,
  selection: Selection,
): Operation {
  const by = upsertKeys(resource).get(String(name)) ?? [];
  if (operation === 'UPSERT')
    return { do: 'upsert', resource, selection, by, input: inputOf(resource, args) };
  const inputs = (args['records'] as Arguments[]).map((record) => inputOf(resource, record));
  return { do: 'upsert many', resource, selection, by, inputs };
}

function single(
  resource: Resource,
  operation: 'GET' | 'CREATE' | 'UPDATE' | 'DELETE',
  args: Arguments,
  selection: Selection,
  { faults }: Planning,
): Operation {
  if (operation === 'CREATE')
    return { do: 'create', resource, selection, input: inputOf(resource, args), through: 'graphql' };
  if (operation === 'GET') {
    const key = keyFrom(resource, args[resource.key.name]);
    return { do: 'get', resource, selection, key, refusal: undefined };
  }
  const { [resource.key.name]: text, [VERSION_ARGUMENT]: ifVersion, ...input } = args;
  const one = { resource, selection, key: keyFrom(resource, text), refusal: undefined };
  const versions = typeof ifVersion === 'number' ? [ifVersion] : undefined;
  if (!versions && Object.hasOwn(args, VERSION_ARGUMENT))
    faults.push({
      pointer: pointer(VERSION_ARGUMENT),
      code: 'REQUIRED',
      detail: `${VERSION_ARGUMENT} has no value; send the version, or leave ${VERSION_ARGUMENT} out of the document`,
    });
  if (operation === 'DELETE') return { do: 'delete', ...one, ifVersion: versions };
  return { do: 'update', ...one, ifVersion: versions, input: inputOf(resource, input) };
}

function keyFrom({ key }: Resource, text: unknown): string | number | undefined {
  return typeof text === 'string' ? readKey(key, text) : undefined;
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
  for (const { name, through } of linkFields(resource))
    if (Object.hasOwn(input, name)) input[name] = speltKeys(through.target.key, input[name]);
  return input;
}

/** The keys of a list, or of what is added to it and removed from it. */
function speltKeys(key: Column, given: unknown): unknown {
  if (Array.isArray(given)) return given.map((each) => spelt(key, each));
  if (typeof given !== 'object' || given === null) return given;
  return Object.fromEntries(Object.entries(given).map(([name, keys]) => [name, speltKeys(key, keys)]));
}

function listOf(resource: Resource, args: Arguments, given: Planning, isNested = false): ListQuery {
  const searched = searchOf(resource, args, given);
  const where = all([whereOf(resource, args, given), searched]);
  // One object for all: a column that has decided already decides nothing.
  const relevance = searched && relevanceOf(searched);
  const orderBy = (args['orderBy'] ?? []) as Arguments[];
  const wrong = (code: FaultCode, detail: string, ...at: number[]) =>
    given.faults.push({ pointer: pointer(...given.at, 'orderBy', ...at), code, detail });
  const order = orderBy.flatMap((each, index) => {
    const report = (code: FaultCode, detail: string) => wrong(code, detail, index);
    if (!(RELEVANCE in each)) return orderOf(resource, each, report);
    if (relevance) return [{ column: relevance, descending: each[RELEVANCE] === 'DESC' }];
    // What is wrong with the search was told.
    if (args[SEARCH] == null) report('REQUIRED', NOT_SEARCHED);
    return [];
  });
  if (recordsFor(order.map(({ column }) => column)) > MOST_RECORDS)
    wrong('OUT_OF_RANGE', `orderBy may lead to ${MOST_RECORDS} other records at most`);
  const argument = (name: string) => ({ name, value: args[name] });
  const page = {
    first: argument('first'),
    after: argument('after'),
    last: argument('last'),
    before: argument('before'),
    offset: argument('offset'),
  };
  const report = (name: string, code: FaultCode, detail: string) =>
    given.faults.push({ pointer: pointer(...given.at, name), code, detail });
  return readList(resource, where, order, page, given.most, report, isNested);
}

/** `{ title: ASC }`, or `{ category: { name: ASC } }`; it has one member. */
function orderOf(
  resource: Resource,
  input: Arguments,
  report: (code: FaultCode, detail: string) => void,
  before: readonly Reference[] = [],
): OrderBy[] {
  return Object.entries(input).flatMap(([name, value]): OrderBy[] => {
    const field = resource.fieldByName.get(name);
    if (field?.kind === 'column')
      return [{ column: columnThrough(before, field), descending: value === 'DESC' }];
    // Only what is searched itself has it.
    if (name === RELEVANCE) report('REQUIRED', NOT_SEARCHED);
    if (field?.kind !== 'reference') return [];
    if (before.length < MOST_STEPS)
      return orderOf(field.target, value as Arguments, report, [...before, field]);
    report('OUT_OF_RANGE', `orderBy may follow ${MOST_STEPS} references at most`);
    return [];
  });
}

function searchOf(resource: Resource, args: Arguments, { at, faults }: Planning): Searched | undefined {
  return readSearch(resource, args[SEARCH], (code, detail) =>
    faults.push({ pointer: pointer(...at, SEARCH), code, detail }),
  );
}

function whereOf(resource: Resource, args: Arguments, given: Planning): Filter {
  return filterOf(resource, 'where', args, given);
}

function filterOf(of: Resource | Groups, name: string, args: Arguments, { at, faults }: Planning): Filter {
  const given = args[name];
  if (given == null) return everything;
  const reader = new WhereReader(
    spelt,
    (path, code, detail) => faults.push({ pointer: pointer(...at, name, ...path), code, detail }),
    (target) => target.graphql,
  );
  return reader.read(of, given);
}

/** What is asked of a connection, whatever its arguments. */
interface Connection {
  readonly parts: ReadonlyMap<string, readonly ObjectNodes[]>;
  readonly info: ReadonlyMap<string, readonly ObjectNodes[]>;
  /** How often each edge has its cursor. */
  readonly cursors: number;
  readonly atEnds: boolean;
  readonly count: boolean;
  /** The records, with the edges around them. */
  readonly selection: (list: ListQuery) => Selection;
}

function connectionIn(resource: Resource, objects: readonly ObjectNodes[], given: Planning): Connection {
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
    selection: ({ order }) => {
      const longest = cursors > 0 ? longestCursor(order) : 0;
      // One for all pages: what is made of a selection is kept with it.
      const selection = widened.get(longest) ?? withNames(ofNodes, around + cursors * longest);
      widened.set(longest, selection);
      return selection;
    },
  };
}

function connectionPlanner(resource: Resource, fields: readonly FieldNode[], given: Planning): RootPlanner {
  const connection = connectionIn(resource, [fields], given);
  const { cursors, atEnds, count } = connection;
  return (args, within) => {
    const list = listOf(resource, args, within);
    const query = queryName(resource, list.where, list.order);
    const selection = connection.selection(list);
    return {
      operation: { do: 'list', resource, selection, list, places: cursors > 0 || atEnds, count },
      complete: (answer) => connectionOf(answer as Listing, list, query, cursors > 0, atEnds),
    };
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
  const list = listOf(target, args, given, true);
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
    ends * longestCursor(order);
  const paged = {
    places: everywhere || atEnds,
    more: info.has('hasNextPage') || info.has('hasPreviousPage'),
    count,
    complete: (page: Listing, key: unknown) => {
      // As if the records were asked for by themselves, so that either list goes on where the other ends.
      const own = field.kind === 'inverse' ? all([equal(field.reference.column, key), where]) : where;
      const query = everywhere || atEnds ? queryName(target, own, order) : '';
      return connectionOf(page, list, query, everywhere, atEnds);
    },
  };
  return { relation: { as, field, selection: connection.selection(list), list, paged }, bytes };
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
function connectionOf(
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

function aggregatePlanner(resource: Resource, objects: readonly ObjectNodes[], given: Planning): RootPlanner {
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
    const where = all([whereOf(resource, args, within), searchOf(resource, args, within)]);
    const having = filterOf(groupsOf(resource), 'having', args, within);
    const by = [...new Set(((args['groupBy'] ?? []) as string[]).flatMap((name) => group(name) ?? []))];
    const query = groupQueryOf(resource, by, having, args, within.most, (name, code, detail) =>
      within.faults.push({ pointer: pointer(...within.at, name), code, detail }),
    );
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
function selectionOf(resource: Resource, objects: readonly ObjectNodes[], given: Planning): Selection {
  const type = given.schema.getType(resource.name) as GraphQLObjectType;
  const columns: [Column, number][] = [];
  const computed: [Computed, number][] = [];
  const relations = new Map<string, Asked>();
  const fields = objectsOf(objects, given);
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
      list: field.kind === 'reference' ? undefined : listOf(field.target, args, within, true),
    };
  });
  return {
    columns: columns.map(([column]) => column),
    ...(computed.length > 0 && { computed: computed.map(([each]) => each) }),
    relations: made,
    rendered: {
      records: Math.max(1, objects.length),
      columns: [...columns, ...computed.map(([{ column }, times]): [Column, number] => [column, times])],
      names,
    },
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

/** Of the names under which the answer has these fields; an alias is as long as its client likes. */
function bytesOfNames(fields: ReadonlyMap<string, readonly ObjectNodes[]>, type: string): number {
  let bytes = 0;
  for (const [name, asked] of fields)
    for (const [node] of asked) {
      bytes += bytesOfName(node?.alias?.value ?? name);
      if (name === '__typename') bytes += type.length + PAIR;
    }
  return bytes;
}
