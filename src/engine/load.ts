/** Records from a data file → a program that stores them with their keys, or every fault of the file at once. */

import { DuetError, type Fault } from '../errors.ts';
import type { Model, Resource } from '../schema/model.ts';
import { didYouMean } from '../schema/suggest.ts';
import { checkValue } from '../schema/values.ts';
import type { Program, Row } from '../storage/storage.ts';
import { anonymous } from './caller.ts';
import type { Input } from './operation.ts';
import { validCreate } from './validate.ts';
import { assign } from './write.ts';

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
  return {
    *program() {
      for (const [resource, rows] of records)
        for (const values of rows) yield [{ do: 'insert', resource, values }];
    },
  };
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
