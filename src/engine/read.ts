/** Reads records and what is related to them: one statement for each relation of each level, however many rows. */

import { among, equal } from '../query/filter.ts';
import type { Column, Resource } from '../schema/model.ts';
import { type Program, type Row, run, type Select, type Steps, select } from '../storage/storage.ts';
import type { Get, List, Read, Relation, Selection } from './operation.ts';

/** A row with its related nodes beside its columns, under names that no column can have. */
export type Node = Row;

/** Where a node keeps a relation: `:` begins no name of GraphQL, so an alias cannot hide a column. */
export function relationKey(as: string): string {
  return `:${as}`;
}

/** Whether all of the reads are a single statement. */
export function stepsOf(operations: readonly Read[]): Steps {
  return operations.length === 1 && operations[0]?.selection.relations.length === 0 ? 'one' : 'many';
}

export function* list({ resource, selection }: List): Program<Node[]> {
  const nodes = yield* run(select(resource, needed(resource, selection)));
  yield* attach(selection, nodes);
  return nodes;
}

export function* get({ resource, key, selection, refusal }: Get): Program<Node | null> {
  if (key === undefined) return null;
  const nodes = yield* run(select(resource, needed(resource, selection), equal(resource.key, key)));
  if (nodes.length > 0 && refusal) throw refusal;
  yield* attach(selection, nodes);
  return nodes[0] ?? null;
}

/** Adds the related nodes of a selection to nodes that were read already, level by level. */
export function* attach(selection: Selection, nodes: readonly Node[]): Program<void> {
  let level = branches(selection, nodes);
  while (level.length > 0) {
    const asked = level.filter(({ keys }) => keys.length > 0);
    const answers = asked.length > 0 ? yield asked.map(statementOf) : [];
    asked.forEach((branch, index) => {
      branch.found = answers[index] ?? [];
    });
    for (const branch of level) connect(branch);
    level = level.flatMap(({ relation, found }) => branches(relation.selection, found));
  }
}

interface Branch {
  readonly relation: Relation;
  readonly parents: readonly Node[];
  readonly keys: readonly unknown[];
  found: Node[];
}

function branches(selection: Selection, parents: readonly Node[]): Branch[] {
  if (parents.length === 0) return [];
  return selection.relations.map((relation) => ({
    relation,
    parents,
    keys: keysOf(parents, near(relation)),
    found: [],
  }));
}

/** The column of the parent whose value leads to the related records. */
function near({ field }: Relation): Column {
  return field.kind === 'reference' ? field.column : field.reference.target.key;
}

/** The column of the related records that the value is found in. */
function far({ field }: Relation): Column {
  return field.kind === 'reference' ? field.target.key : field.reference.column;
}

function keysOf(nodes: readonly Node[], { name }: Column): unknown[] {
  const keys = new Set<unknown>();
  for (const node of nodes) {
    const key = node[name];
    if (key !== null) keys.add(key);
  }
  return [...keys];
}

function statementOf({ relation, keys }: Branch): Select {
  const column = far(relation);
  const { target } = relation.field;
  return select(target, needed(target, relation.selection, column), among(column, keys));
}

function connect({ relation, parents, found }: Branch): void {
  const property = relationKey(relation.as);
  const { name: nearName } = near(relation);
  const { name: farName } = far(relation);
  if (relation.field.kind === 'reference') {
    const byKey = new Map(found.map((node) => [node[farName], node]));
    for (const parent of parents) parent[property] = byKey.get(parent[nearName]) ?? null;
    return;
  }
  const byParent = new Map<unknown, Node[]>();
  for (const parent of parents) {
    const children: Node[] = [];
    parent[property] = children;
    byParent.set(parent[nearName], children);
  }
  for (const node of found) byParent.get(node[farName])?.push(node);
}

const neededBySelection = new WeakMap<Selection, readonly Column[]>();

/** The columns to read for a selection: those asked for, and those that relations hang on. */
function needed(resource: Resource, selection: Selection, extra?: Column): readonly Column[] {
  let columns = neededBySelection.get(selection);
  if (!columns) {
    const all = new Set(selection.columns);
    if (extra) all.add(extra);
    for (const relation of selection.relations) all.add(near(relation));
    // Something must be selected, even for `{ __typename }`.
    if (all.size === 0) all.add(resource.key);
    columns = [...all];
    neededBySelection.set(selection, columns);
  }
  return columns;
}
