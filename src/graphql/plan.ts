/** A root field with its arguments and selection → what to perform, and what to make of the answer. */

import type { FieldNode } from 'graphql';
import { type Fault, type FaultCode, pointer, validationFailed } from '../base/errors.ts';
import type {
  Act,
  Ask,
  Listing,
  Operation,
  Read,
  Selection,
  Wanted as WantedOfAction,
} from '../engine/operation.ts';
import { filterOf, listOf, spelt } from '../query/arguments.ts';
import { queryName } from '../query/cursors.ts';
import { readAtLeast, readAtMost } from '../query/list.ts';
import { readKey } from '../schema/keys.ts';
import type { ActionField, Column, Resource, Slot } from '../schema/model.ts';
import { BY_ARGUMENT, VERSION_ARGUMENT } from '../schema/names.ts';
import { linkFields } from '../schema/through.ts';
import { upsertKeys } from '../schema/upserts.ts';
import { changesPlanner } from './changes.ts';
import { type Arguments, type Given, type ObjectNodes, objectsOf } from './fields.ts';
import { type Planning, readingOf } from './queries.ts';
import type { BulkKind, PlannedBinding, RecordsBinding, UpsertKind } from './schema.ts';
import {
  aggregatePlanner,
  connectionIn,
  connectionOf,
  type Plan,
  type RootPlanner,
  selectionOf,
} from './selections.ts';

const asItIs = (answer: unknown) => answer;

/** The rest of a plan: what hangs on the selection alone is known, and arguments make it whole. */
export type Planner = (args: Arguments) => Plan;

/** Every fault of every list is told at once. */
export function planner(binding: PlannedBinding, fields: readonly FieldNode[], given: Given): Planner {
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

function rootPlanner(binding: PlannedBinding, fields: readonly FieldNode[], given: Planning): RootPlanner {
  if (binding.operation === 'ACTION') return actionPlanner(binding.action, fields, given);
  if ('resources' in binding) return changesPlanner(binding, fields, given);
  return recordsPlanner(binding, fields, given);
}

function actionPlanner(action: ActionField, fields: readonly FieldNode[], given: Planning): RootPlanner {
  const answer = wantedOf(action.answer, [fields], given);
  const kind = action.root === 'Query' ? 'ask' : 'act';
  return (args) => ({ operation: { do: kind, action, args, answer } as Act<'act'> | Ask, complete: asItIs });
}

/** What the selection has of an answer. */
function wantedOf(slot: Slot, objects: readonly ObjectNodes[], given: Planning): WantedOfAction {
  const times = objects.length;
  if (slot.is === 'value') return { is: 'value', times };
  if (slot.is === 'record') return { is: 'record', selection: selectionOf(slot.resource, objects, given) };
  const below = objectsOf(objects, given);
  const asked = slot.shape.fields.flatMap((field): [string, WantedOfAction][] => {
    const nodes = below.get(field.name);
    return nodes ? [[field.name, wantedOf(field, nodes, { ...given, at: [...given.at, field.name] })]] : [];
  });
  return { is: 'object', times, fields: new Map(asked) };
}

function recordsPlanner(
  { resource, operation }: RecordsBinding,
  fields: readonly FieldNode[],
  given: Planning,
): RootPlanner {
  if (operation === 'AGGREGATE') return aggregatePlanner(resource, [fields], given);
  if (operation === 'CONNECTION') return connectionPlanner(resource, fields, given);
  const selection = selectionOf(resource, [fields], given);
  if (operation === 'RESTORE')
    return (args, within) => ({
      operation: restored(resource, fields, args, selection, within),
      complete: asItIs,
    });
  if (operation === 'LIST')
    return (args, within) => {
      const list = listOf(resource, args, readingOf(within));
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
  const where = filterOf(resource, 'where', args, readingOf(given));
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
  const { [resource.key.name]: text, [VERSION_ARGUMENT]: _, ...input } = args;
  const one = { resource, selection, key: keyFrom(resource, text), refusal: undefined };
  const versions = versionsIn(args, faults);
  if (operation === 'DELETE') return { do: 'delete', ...one, ifVersion: versions };
  return { do: 'update', ...one, ifVersion: versions, input: inputOf(resource, input) };
}

function versionsIn(args: Arguments, faults: Planning['faults']): readonly number[] | undefined {
  const version = args[VERSION_ARGUMENT];
  if (typeof version === 'number') return [version];
  if (Object.hasOwn(args, VERSION_ARGUMENT))
    faults.push({
      pointer: pointer(VERSION_ARGUMENT),
      code: 'REQUIRED',
      detail: `${VERSION_ARGUMENT} has no value; send the version, or leave ${VERSION_ARGUMENT} out of the document`,
    });
  return undefined;
}

/** A variable that was not sent is not the last version. */
function restored(
  resource: Resource,
  [node]: readonly FieldNode[],
  args: Arguments,
  selection: Selection,
  { faults }: Planning,
): Operation {
  const key = keyFrom(resource, args[resource.key.name]);
  const version = args['version'];
  const isGiven = node?.arguments?.some(({ name }) => name.value === 'version');
  const isVersion = typeof version === 'number' && version > 0;
  const detail = 'version must be a whole number from 1 on, or be left out of the document';
  if (isGiven && !isVersion) faults.push({ pointer: pointer('version'), code: 'TYPE', detail });
  return {
    do: 'restore',
    resource,
    key,
    selection,
    refusal: undefined,
    version: isVersion ? version : undefined,
    ifVersion: versionsIn(args, faults),
  };
}

function keyFrom({ key }: Resource, text: unknown): string | number | undefined {
  return typeof text === 'string' ? readKey(key, text) : undefined;
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

function connectionPlanner(resource: Resource, fields: readonly FieldNode[], given: Planning): RootPlanner {
  const connection = connectionIn(resource, [fields], given);
  const { cursors, atEnds, count } = connection;
  return (args, within) => {
    const list = listOf(resource, args, readingOf(within));
    const query = queryName(resource, list.where, list.order);
    const selection = connection.selection(list);
    return {
      operation: { do: 'list', resource, selection, list, places: cursors > 0 || atEnds, count },
      complete: (answer) => connectionOf(answer as Listing, list, query, cursors > 0, atEnds),
    };
  };
}
