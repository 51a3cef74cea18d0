/** Reads records and what is related to them: each relation of each level is asked for once, however many rows. */

import { filled, PARENT, type Query, type Row, type Statement } from '../../storage/statements.ts';
import { type Program, run, type Steps } from '../../storage/storage.ts';
import { type Budget, mostRows } from '../budget.ts';
import type { OwnChanges } from '../journal/changes-operation.ts';
import type { Aggregate, Get, List, Listing, Read, Relation, Selection } from '../operation.ts';
import { type Guarded, hide } from '../policy/guards.ts';
import type { Permitted } from '../policy/permitted.ts';
import {
  type Branch,
  complete,
  count,
  counting,
  isCounted,
  numbersOf,
  ROWS,
  type Times,
} from './branches.ts';
import { compute } from './computed.ts';
import { hasAbridged, hasAbridgedBelow, placed, placedBelow } from './places.ts';
import { far, mostBytes, near, selectBeyond, selectByKey, selectList, selectRelated } from './selects.ts';
import { appearances, bytesOfGroups, checkSums, spend, spendOften } from './spending.ts';

/** A row with its related nodes beside its columns, under names that no column can have. */
export type Node = Row;

/** Where a node keeps a relation: `:` begins no name of GraphQL, so an alias cannot hide a column. */
export function relationKey(as: string): string {
  return `:${as}`;
}

export function stepsOf(operation: Permitted<Read>): Steps {
  if (operation.do === 'aggregate') return operation.relations.length === 0 ? 'one' : 'many';
  const { selection } = operation;
  if (!isTree(selection) || (operation.do === 'list' && operation.count)) return 'many';
  if (hasAbridged(operation)) return 'many';
  return selection.relations.length === 0 ? 'one' : 'tree';
}

/** Whether nothing but records is asked for, and all that is found is shown as it is. */
function isTree(selection: Selection): boolean {
  return (
    !isDressed(selection) &&
    selection.relations.every((each) => !each.paged?.count && !each.summary && isTree(each.selection))
  );
}

/** Whether there is more to do about its records than to read them. */
export function isDressed({
  guards,
  computed,
  changes,
}: Pick<Selection, 'guards' | 'computed' | 'changes'>): boolean {
  return guards !== undefined || computed !== undefined || changes !== undefined;
}

/** What a read that is a single statement asks for; the answer is made of its rows by `answerOf`. */
export function statementOf(operation: Permitted<Read>, budget: Budget): Query {
  switch (operation.do) {
    case 'get':
      return selectByKey(operation, budget.limits);
    case 'list': {
      const { limit = Number.POSITIVE_INFINITY } = operation.list;
      const most = Math.min(limit + 1, budget.most, mostRows(budget.limits, operation.selection));
      return selectList(operation, most, budget.limits);
    }
    case 'aggregate': {
      return numbersOf(operation, budget);
    }
  }
}

function asked(operation: Permitted<Read>, budget: Budget): Statement {
  return filled(statementOf(operation, budget), operation.do === 'get' ? operation.key : undefined);
}

export function answerOf(
  operation: Permitted<Read>,
  rows: Row[],
  budget: Budget,
): Listing | Node[] | Node | null {
  switch (operation.do) {
    case 'get':
      budget.spend(rows, operation.selection);
      return foundOf(operation, rows[0] ?? null);
    case 'list': {
      const listing = listingOf(operation, rows, undefined);
      budget.spend(rows, operation.selection);
      return listing;
    }
    case 'aggregate':
      budget.take(rows.length, (isExact) => bytesOfGroups(operation, rows, isExact));
      checkSums(operation, rows);
      return rows;
  }
}

function listingOf(
  { list: { limit, backwards } }: Permitted<List>,
  nodes: Node[],
  total: number | undefined,
): Listing {
  const more = limit !== undefined && nodes.length > limit;
  if (more) nodes.length = limit;
  if (backwards) nodes.reverse();
  return { nodes, more, total };
}

/** `often` says how often the answer has a record, where that is not once. */
export function* list(
  given: Permitted<List>,
  budget: Budget,
  often?: (node: Node) => number,
): Program<Listing> {
  const operation = hasAbridged(given) ? yield* placed(given) : given;
  const { resource, selection, count } = operation;
  const { where } = operation.list;
  const statement = asked(operation, budget);
  const [nodes = [], counted] = yield count ? [statement, counting(resource, where)] : [statement];
  const listing = listingOf(operation, nodes, counted && Number(counted[0]?.[ROWS.as]));
  yield* spent(selection, nodes, budget, often && new Map(nodes.map((node) => [node, often(node)])));
  return listing;
}

function foundOf({ refusal }: Permitted<Get>, node: Node | null): Node | null {
  if (node && refusal) throw refusal;
  return node;
}

export function* get(given: Permitted<Get>, budget: Budget): Program<Node | null> {
  if (given.key === undefined) return null;
  const operation = hasAbridged(given) ? yield* placed(given) : given;
  const { selection } = operation;
  const [nodes = []] = yield [asked(operation, budget)];
  if (isDressed(selection)) yield* dress(selection, nodes, budget);
  const node = answerOf(operation, nodes, budget) as Node | null;
  if (selection.relations.length > 0) yield* follow(selection, nodes, budget);
  return node;
}

export function* aggregate(operation: Permitted<Aggregate>, budget: Budget): Program<Node[]> {
  const { by, relations } = operation;
  const rows = answerOf(operation, yield* run(asked(operation, budget)), budget) as Node[];
  if (relations.length > 0) yield* follow({ columns: by, relations }, rows, budget);
  return rows;
}

/** Hides of nodes that were read already what is to be hidden, and adds what is related to the rest. */
export function attach(selection: Selection, nodes: readonly Node[], budget: Budget): Program<void> {
  return isDressed(selection) ? dressFirst(selection, nodes, budget) : follow(selection, nodes, budget);
}

/** The same with nodes that are yet to be counted. */
export function spent(
  selection: Selection,
  nodes: readonly Node[],
  budget: Budget,
  times?: Times,
): Program<void> {
  const count = () => (times ? spendOften(selection, times, budget) : budget.spend(nodes, selection));
  if (isDressed(selection)) return dressFirst(selection, nodes, budget, count, times);
  count();
  return follow(selection, nodes, budget, times);
}

function* dressFirst(
  selection: Selection,
  nodes: readonly Node[],
  budget: Budget,
  count?: () => void,
  times?: Times,
): Program<void> {
  yield* dress(selection, nodes, budget, times);
  count?.();
  yield* follow(selection, nodes, budget, times);
}

/** Takes away what is hidden, and then adds what is computed of the rest. */
function* dress(selection: Selection, rows: readonly Node[], budget: Budget, times?: Times): Program<void> {
  const { guards, computed, changes } = selection;
  const { passes = false } = budget.limits;
  if (guards) yield* hide([{ guards, rows, passes }], mostBytes(budget.limits));
  if (computed) yield* compute(computed, rows);
  if (changes) yield* addChanges(changes, rows, budget, times);
}

function* addChanges(
  changes: readonly OwnChanges[],
  rows: readonly Node[],
  budget: Budget,
  times?: Times,
): Program<void> {
  const add = budget.limits.addChanges;
  if (!add) throw new Error('nothing keeps changes');
  if (rows.length > 0) for (const each of changes) yield* add(each, rows, budget, times);
}

/**
 * Adds the related nodes of a selection, level by level. Of each level, what is hidden is gone before anything is counted or
 * followed: else the limits would tell how long it is, and where it leads.
 */
function* follow(wanted: Selection, nodes: readonly Node[], budget: Budget, times?: Times): Program<void> {
  const selection = hasAbridgedBelow(wanted) ? yield* placedBelow(wanted) : wanted;
  let level = branches(selection, nodes, times);
  const read: Branch[] = [];
  while (level.length > 0) {
    const asked = level.filter(({ keys, relation }) => keys.length > 0 && !relation.summary);
    const cut = asked.flatMap((branch) => {
      const select = selectBeyond(branch.relation, budget.limits);
      return select ? [{ branch, select }] : [];
    });
    const answers =
      asked.length > 0
        ? yield [
            ...asked.map(({ relation, keys }) => filled(selectRelated(relation, budget.limits), keys)),
            ...cut.map(({ branch, select }) => filled(select, branch.keys)),
          ]
        : [];
    asked.forEach((branch, index) => {
      branch.found = answers[index] ?? [];
    });
    cut.forEach(({ branch }, index) => {
      branch.beyond = answers[asked.length + index] ?? [];
    });
    if (level.some(isCounted)) yield* count(level.filter(isCounted), budget);
    const guarded: Guarded[] = [];
    const { passes = false } = budget.limits;
    for (const branch of level) {
      connect(branch);
      const { selection } = branch.relation;
      if (selection.guards) guarded.push({ guards: selection.guards, rows: branch.found, passes });
    }
    if (guarded.length > 0) yield* hide(guarded, mostBytes(budget.limits));
    for (const { relation, found } of level)
      if (relation.selection.computed) yield* compute(relation.selection.computed, found);
    for (const branch of level) {
      const { changes } = branch.relation.selection;
      if (changes) yield* addChanges(changes, branch.found, budget, appearances(branch));
    }
    for (const branch of level) spend(branch, budget);
    read.push(...level);
    level = level.flatMap((branch) => branches(branch.relation.selection, branch.found, appearances(branch)));
  }
  // Not before: the records that groups are of are among what is read for them.
  for (const branch of read) complete(branch);
}

function branches({ relations, guards }: Selection, nodes: readonly Node[], times?: Times): Branch[] {
  if (nodes.length === 0) return [];
  return relations.map((relation) => {
    const property = relationKey(relation.as);
    // Only what is hidden has been set already.
    const parents = guards ? nodes.filter((node) => !(property in node)) : nodes;
    return {
      relation,
      property,
      parents,
      times,
      keys: keysOf(parents, relation),
      found: [],
      beyond: [],
      counts: [],
      ofNone: undefined,
    };
  });
}

function keysOf(nodes: readonly Node[], relation: Relation): unknown[] {
  const { name } = near(relation);
  // Each has a key of its own.
  if (relation.field.kind !== 'reference') return nodes.map((node) => node[name]);
  const keys = new Set<unknown>();
  for (const node of nodes) {
    const key = node[name];
    if (key !== null) keys.add(key);
  }
  return [...keys];
}

function connect(branch: Branch): void {
  const { relation, property, parents, found } = branch;
  const { list, summary } = relation;
  const { name: nearName } = near(relation);
  const farName = summary ? PARENT : far(relation).name;
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
  // A record that several parents lead to was found for each of them, and is one node.
  const isShared = relation.field.kind === 'through' && !summary;
  const { name: keyName } = relation.field.target.key;
  const byKey = new Map<unknown, Node>();
  // Mostly one parent's children come after the other's.
  let [key, children]: [unknown, Node[] | undefined] = [undefined, undefined];
  for (const node of found) {
    if (node[farName] !== key) {
      key = node[farName];
      children = byParent.get(key);
    }
    children?.push(isShared ? once(byKey, node[keyName], node) : node);
  }
  if (isShared) branch.found = [...byKey.values()];
  if (list?.backwards) for (const each of byParent.values()) each.reverse();
  if (!branch.ofNone) return;
  const hasSome = new Set(branch.counts.map((row) => row[PARENT]));
  for (const [parent, each] of byParent)
    if (each.length === 0 && !hasSome.has(parent)) each.push({ ...branch.ofNone });
}

function once(known: Map<unknown, Node>, key: unknown, node: Node): Node {
  const before = known.get(key);
  if (!before) known.set(key, node);
  return before ?? node;
}
