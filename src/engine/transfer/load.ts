/** The records of a data file → a program that stores them with their keys, or every fault of the file at once. */

import { DuetError, type Fault } from '../../base/errors.ts';
import type { Column, Model, Resource } from '../../schema/model.ts';
import { didYouMean } from '../../schema/suggest.ts';
import { checkValue, creatable } from '../../schema/values.ts';
import type { Row } from '../../storage/statements.ts';
import type { Program } from '../../storage/storage.ts';
import { anonymous } from '../caller.ts';
import type { Input } from '../operation.ts';
import { assign } from '../write/assign.ts';
import { newValues, refuseStrangers } from '../write/validate.ts';
import { type Loaded, lateColumns, requiredFirst, storeBatch, storeLate } from './store.ts';

export type Loading =
  | { readonly program: () => Program<void>; readonly faults?: never }
  | { readonly program?: never; readonly faults: readonly string[] };

type Records = ReadonlyMap<Resource, readonly Loaded[]>;

/** An object with a list of records for each resource. */
export function loading(model: Model, data: unknown): Loading {
  if (!isObject(data))
    return { faults: ['the file must hold one JSON object, with a list of records for each resource'] };
  const faults: string[] = [];
  const records = new Map<Resource, readonly Loaded[]>();
  const ids = new LastIds();
  const filled: [plural: string, list: readonly unknown[]][] = [];
  for (const [plural, list] of Object.entries(data)) {
    if (!Array.isArray(list)) faults.push(`"${plural}" must be a list of records`);
    else if (list.length === 0) resourceOf(model, plural, faults);
    else filled.push([plural, list]);
  }
  for (const [plural, list] of filled) {
    const resource = resourceOf(model, plural, faults);
    if (!resource) continue;
    const reader = new RecordReader(resource);
    const read = (record: unknown, index: number): Loaded => {
      const where = `${plural}[${index}]`;
      return { where, row: ids.given(resource, reader.read(record, where, faults)), version: undefined };
    };
    records.set(resource, list.map(read));
  }
  if (faults.length === 0) checkReferences(records, faults);
  return faults.length > 0 ? { faults } : { program: () => store(model, records, ids) };
}

/** One by one, as there are few: then each is named that collides. */
function* store({ resources }: Model, records: Records, ids: LastIds): Program<void> {
  const order = requiredFirst(resources);
  const stored = order.filter((resource) => records.has(resource));
  for (const storing of [storeBatch, storeLate])
    for (const resource of stored) {
      const late = lateColumns(resource, order);
      if (storing === storeLate && late.length === 0) continue;
      for (const loaded of records.get(resource) ?? []) yield* storing(resource, [loaded], late);
    }
  yield* ids.raise();
}

/** The last ids that a file gives. */
export class LastIds {
  readonly #last = new Map<Resource, number>();

  note(resource: Resource, id: number): void {
    this.#last.set(resource, Math.max(this.#last.get(resource) ?? 0, id));
  }

  /** The record with an id; that of one which has none follows the last. */
  given(resource: Resource, row: Row): Row {
    const { name, origin } = resource.key;
    if (origin.by !== 'serial') return row;
    row[name] ??= (this.#last.get(resource) ?? 0) + 1;
    this.note(resource, Number(row[name]));
    return row;
  }

  /** Last of all, because PostgreSQL does not count back when the rest is undone. */
  *raise(): Program<void> {
    for (const [resource, to] of this.#last) yield [{ do: 'raise last id', resource, to }];
  }
}

export function resourceOf(model: Model, plural: string, faults: string[]): Resource | undefined {
  const resource = model.resources.find((each) => each.plural === plural);
  const names = model.resources.map((each) => each.plural);
  if (!resource)
    faults.push(
      `"${plural}" is no resource.${didYouMean(plural, names) || ` There are: ${names.join(', ')}.`}`,
    );
  return resource;
}

/** Reads the records of a resource. Unlike a client, a file may also give what the server would assign. */
export class RecordReader {
  readonly #resource: Resource;
  readonly #assigned: readonly Column[];

  constructor(resource: Resource) {
    this.#resource = resource;
    this.#assigned = resource.columns.filter(
      ({ origin }) => origin.by !== 'client' && origin.by !== 'function',
    );
  }

  read(record: unknown, where: string, faults: string[]): Row {
    if (!isObject(record)) {
      faults.push(`${where} must be an object`);
      return {};
    }
    const found: Fault[] = [];
    const row = this.#read(record, found);
    for (const { detail } of found) faults.push(`${where}: ${detail}`);
    return row;
  }

  #read(record: Input, faults: Fault[]): Row {
    const resource = this.#resource;
    // Without a prototype: a field may be called `constructor`.
    const fixed: Row = Object.create(null);
    for (const column of this.#assigned) {
      const { name, required } = column;
      if (!Object.hasOwn(record, name)) continue;
      const value = record[name];
      fixed[name] = value === null && !required ? null : checkValue(column, value, faults);
    }
    const writable = creatable(resource);
    refuseStrangers(resource, record, writable, faults, resource.columns);
    const values = newValues(resource, record, writable, faults);
    try {
      assign(resource, anonymous, values, fixed);
      // What a function fills in, no function has filled in here.
      for (const { name, required, origin } of this.#assigned)
        if (origin.by === 'nobody' && required && values[name] === null)
          faults.push({ code: 'REQUIRED', detail: `${name} is required` });
    } catch (error) {
      if (!(error instanceof DuetError)) throw error;
      faults.push({ code: 'REQUIRED', detail: error.message });
    }
    return values;
  }
}

function checkReferences(records: Records, faults: string[]): void {
  for (const [resource, loaded] of records)
    for (const { column, target } of resource.references) {
      const keys = new Set(records.get(target)?.map(({ row }) => row[target.key.name]));
      for (const { where, row } of loaded) {
        const key = row[column.name];
        if (key !== null && !keys.has(key))
          faults.push(`${where}: ${column.name} names ${target.singular} ${key}, which is not in the file`);
      }
    }
}

export function isObject(value: unknown): value is Input {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
