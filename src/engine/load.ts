/** Records from a data file → a program that stores them with their keys, or every fault of the file at once. */

import { DuetError, type Fault } from '../errors.ts';
import { equal } from '../query/filter.ts';
import type { Model, Reference, Resource } from '../schema/model.ts';
import { didYouMean } from '../schema/suggest.ts';
import { checkValue } from '../schema/values.ts';
import { type Insert, NotUnique, type Program, type Row } from '../storage/storage.ts';
import { anonymous } from './caller.ts';
import type { Input } from './operation.ts';
import { validCreate } from './validate.ts';
import { assign, lastVersion } from './write.ts';

export type Loading =
  | { readonly program: () => Program<void>; readonly faults?: never }
  | { readonly program?: never; readonly faults: readonly string[] };

export function loading(model: Model, data: unknown): Loading {
  const faults: string[] = [];
  const records = new Map<Resource, Row[]>();
  if (!isObject(data))
    return { faults: ['the file must hold one JSON object, with a list of records for each resource'] };
  for (const [plural, list] of Object.entries(data)) {
    const resource = model.resources.find((each) => each.plural === plural);
    const names = model.resources.map((each) => each.plural);
    if (!resource)
      faults.push(
        `"${plural}" is no resource.${didYouMean(plural, names) || ` There are: ${names.join(', ')}.`}`,
      );
    else if (!Array.isArray(list)) faults.push(`"${plural}" must be a list of records`);
    else records.set(resource, readRecords(resource, list, faults));
  }
  if (faults.length === 0) checkReferences(records, faults);
  if (faults.length > 0) return { faults };
  return { program: () => store(records) };
}

/**
 * Stores records so that no reference ever points to nothing: what others require comes first, and a reference that
 * need not be there is set when its target is.
 */
function* store(records: ReadonlyMap<Resource, readonly Row[]>): Program<void> {
  const stored = new Map<Resource, Set<unknown>>();
  const late: { resource: Resource; key: unknown; set: Row }[] = [];
  for (const resource of requiredFirst([...records.keys()])) {
    const keys = new Set<unknown>();
    stored.set(resource, keys);
    for (const [index, row] of (records.get(resource) ?? []).entries()) {
      const values = { ...row };
      const set: Row = {};
      for (const { column, target } of resource.references)
        if (values[column.name] != null && !stored.get(target)?.has(values[column.name])) {
          set[column.name] = values[column.name];
          values[column.name] = null;
        }
      const version = 1 + (yield* lastVersion(resource, values));
      yield* insert({ do: 'insert', resource, values, version }, index);
      const key = values[resource.key.name];
      keys.add(key);
      if (Object.keys(set).length > 0) late.push({ resource, key, set });
    }
  }
  for (const { resource, key, set } of late) {
    const where = equal(resource.key, key);
    yield [{ do: 'update', resource, set, where, ifVersion: undefined, counts: false }];
  }
}

function* insert(statement: Insert, index: number): Program<void> {
  try {
    yield [statement];
  } catch (error) {
    if (!(error instanceof NotUnique)) throw error;
    const names = error.columns.map(({ name }) => name).join(', ');
    throw new Error(`${statement.resource.plural}[${index}]: ${names} is taken by another record`);
  }
}

/** Required references form no circle, so some resource is always free to come next. */
function* requiredFirst(resources: readonly Resource[]): Generator<Resource> {
  const left = new Set(resources);
  const waits = ({ required, target, owner }: Reference) => required && target !== owner && left.has(target);
  while (left.size > 0)
    for (const resource of left)
      if (!resource.references.some(waits)) {
        left.delete(resource);
        yield resource;
      }
}

function readRecords(resource: Resource, list: readonly unknown[], faults: string[]): Row[] {
  let last = 0;
  return list.map((record, index) => {
    const where = `${resource.plural}[${index}]`;
    if (!isObject(record)) {
      faults.push(`${where} must be an object`);
      return {};
    }
    const found: Fault[] = [];
    const row = readRecord(resource, record, found);
    faults.push(...found.map(({ detail }) => `${where}: ${detail}`));
    if (resource.key.origin.by === 'serial') {
      row[resource.key.name] ??= last + 1;
      last = Math.max(last, Number(row[resource.key.name]));
    }
    return row;
  });
}

/** Unlike a client, a data file may also give what the server would assign. */
function readRecord(resource: Resource, record: Input, faults: Fault[]): Row {
  const given = { ...record };
  const fixed: Row = {};
  for (const column of resource.columns) {
    if (column.origin.by === 'client' || !Object.hasOwn(given, column.name)) continue;
    const value = given[column.name];
    fixed[column.name] = value === null && !column.required ? null : checkValue(column, value, faults);
    delete given[column.name];
  }
  try {
    const values = validCreate(resource, given);
    assign(resource, anonymous, values, fixed);
    return values;
  } catch (error) {
    if (!(error instanceof DuetError)) throw error;
    faults.push(...(error.errors ?? [{ code: 'REQUIRED', detail: error.message }]));
    return fixed;
  }
}

function checkReferences(records: ReadonlyMap<Resource, readonly Row[]>, faults: string[]): void {
  for (const [resource, rows] of records)
    for (const { column, target } of resource.references) {
      const keys = new Set(records.get(target)?.map((row) => row[target.key.name]));
      rows.forEach((row, index) => {
        const key = row[column.name];
        if (key !== null && !keys.has(key))
          faults.push(
            `${resource.plural}[${index}]: ${column.name} names ${target.singular} ${key}, which is not in the file`,
          );
      });
    }
}

function isObject(value: unknown): value is Input {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
