/** Writes on many records at once, guarded by the most that the caller means to touch. */

import { DuetError } from '../errors.ts';
import { among, type Filter } from '../query/filter.ts';
import type { Resource } from '../schema/model.ts';
import { storedColumns } from '../schema/values.ts';
import { type Program, run, select } from '../storage/storage.ts';
import type { Caller } from './caller.ts';
import type { CreateMany, DeleteMany, UpdateMany } from './operation.ts';
import { attach, type Budget, type Node } from './read.ts';
import { deleteWithDependents } from './referential.ts';
import { validCreates, validUpdate } from './validate.ts';
import { createRecord, referencesExist, store, within } from './write.ts';

export function* createMany(caller: Caller, operation: CreateMany, budget: Budget): Program<Node[]> {
  const { resource, inputs, selection, through } = operation;
  const records = validCreates(resource, inputs, through);
  budget.spend(records.length);
  const nodes: Node[] = [];
  for (const [index, record] of records.entries())
    nodes.push(yield* within([index], createRecord(caller, resource, record)));
  yield* attach(selection, nodes, budget);
  return nodes;
}

export function* updateMany(
  { resource, where, input, atMost, selection }: UpdateMany,
  budget: Budget,
): Program<Node[]> {
  const rows = yield* matching(resource, where, atMost);
  const [first] = rows;
  // Without a record there is nothing that the server assigned: the input is held against the rules all the same.
  const set = validUpdate(resource, input, first ?? {});
  for (const row of rows) validUpdate(resource, input, row);
  yield* referencesExist(resource, set);
  if (!first) return [];
  const keys = rows.map((row) => row[resource.key.name]);
  const update = {
    do: 'update',
    resource,
    set,
    where: among(resource.key, keys),
    ifVersion: undefined,
    counts: true,
  } as const;
  const changed = yield* store(update, { ...first, ...set });
  // A database answers in any order; the records come in that of their keys.
  const byKey = new Map<unknown, Node>(changed.map((node) => [node[resource.key.name], node]));
  const nodes = keys.flatMap((key): Node[] => [byKey.get(key) ?? []].flat());
  budget.spend(nodes.length);
  yield* attach(selection, nodes, budget);
  return nodes;
}

/** Answers with the records as they were. */
export function* deleteMany(
  { resource, where, atMost, selection }: DeleteMany,
  budget: Budget,
): Program<Node[]> {
  const nodes = yield* matching(resource, where, atMost);
  budget.spend(nodes.length);
  yield* attach(selection, nodes, budget);
  if (nodes.length > 0)
    yield* deleteWithDependents(
      resource,
      nodes.map((node) => node[resource.key.name]),
    );
  return nodes;
}

function* matching(resource: Resource, where: Filter, atMost: number): Program<Node[]> {
  const rows = yield* run(
    select(resource, storedColumns(resource), where, { limit: atMost + 1, lock: true }),
  );
  if (rows.length > atMost)
    throw new DuetError(
      'TOO_MANY_MATCHES',
      `More than ${atMost} ${resource.plural} match. Narrow the filter, or raise atMost.`,
    );
  return rows;
}
