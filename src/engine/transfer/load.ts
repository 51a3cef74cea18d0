/** Records from a file → a program that stores them with their keys, or every fault of the file at once. */

import { DuetError, type Fault } from '../../base/errors.ts';
import { equal } from '../../query/filter.ts';
import type { Model, Reference, Resource } from '../../schema/model.ts';
import { didYouMean } from '../../schema/suggest.ts';
import { checkValue } from '../../schema/values.ts';
import { Dangling, NotUnique } from '../../storage/faults.ts';
import type { Row, Statement, Upsert } from '../../storage/statements.ts';
import type { Program } from '../../storage/storage.ts';
import { anonymous } from '../caller.ts';
import type { Input } from '../operation.ts';
import { broken } from '../write/holds.ts';
import { burial, faultOf, lastVersion, type Remains } from '../write/remains.ts';
import { validCreate } from '../write/validate.ts';
import { assign } from '../write/write.ts';

export type Loading =
  | { readonly program: () => Program<void>; readonly faults?: never }
  | { readonly program?: never; readonly faults: readonly string[] };

/** What a file has for a resource. */
export type Entry = {
  /** Where it stands, for messages. */
  readonly where: string;
  readonly plural: string;
} & (
  | {
      readonly record: unknown;
      /** The version it had elsewhere. */
      readonly version?: number;
    }
  | { readonly remains: Remains }
);

interface Contents {
  readonly records: ReadonlyMap<Resource, readonly Loaded[]>;
  readonly buried: readonly Upsert[];
  readonly lastIds: ReadonlyMap<Resource, number>;
}

interface Loaded {
  readonly where: string;
  readonly row: Row;
  readonly version: number | undefined;
}

/** The records of a data file: an object with a list for each resource. */
export function loading(model: Model, data: unknown): Loading {
  if (!isObject(data))
    return { faults: ['the file must hold one JSON object, with a list of records for each resource'] };
  const faults: string[] = [];
  const entries: Entry[] = [];
  for (const [plural, list] of Object.entries(data)) {
    if (!Array.isArray(list)) faults.push(`"${plural}" must be a list of records`);
    else if (list.length === 0) resourceOf(model, plural, faults);
    else entries.push(...list.map((record, index) => ({ where: `${plural}[${index}]`, plural, record })));
  }
  const contents = readEntries(model, entries, faults);
  if (faults.length === 0) checkReferences(contents.records, faults);
  return faults.length > 0 ? { faults } : { program: () => store(contents) };
}

/** Records that may also refer to what the database has already. */
export function loadingEntries(model: Model, entries: Iterable<Entry>, stored: () => void): Loading {
  const faults: string[] = [];
  const contents = readEntries(model, entries, faults);
  return faults.length > 0 ? { faults } : { program: () => store(contents, stored) };
}

function readEntries(model: Model, entries: Iterable<Entry>, faults: string[]): Contents {
  const records = new Map<Resource, Loaded[]>();
  const buried: Upsert[] = [];
  const lastIds = new Map<Resource, number>();
  const unknown = new Set<string>();
  for (const entry of entries) {
    const { where, plural } = entry;
    if (unknown.has(plural)) continue;
    const resource = resourceOf(model, plural, faults);
    if (!resource) {
      unknown.add(plural);
      continue;
    }
    if ('remains' in entry) {
      const fault = faultOf(resource, entry.remains);
      if (fault) faults.push(`${where}: ${fault}`);
      if ('buried' in entry.remains)
        buried.push(burial(resource, entry.remains.buried.key, entry.remains.buried.version));
      else lastIds.set(resource, Math.max(lastIds.get(resource) ?? 0, entry.remains.lastId));
      continue;
    }
    const { record, version } = entry;
    const loaded = records.get(resource) ?? [];
    records.set(resource, loaded);
    const found: Fault[] = [];
    const row = isObject(record) ? readRecord(resource, record, found) : {};
    if (!isObject(record)) faults.push(`${where} must be an object`);
    faults.push(...found.map(({ detail }) => `${where}: ${detail}`));
    const { key } = resource;
    if (key.origin.by === 'serial') {
      const last = lastIds.get(resource) ?? 0;
      row[key.name] ??= last + 1;
      lastIds.set(resource, Math.max(last, Number(row[key.name])));
    }
    loaded.push({ where, row, version });
  }
  return { records, buried, lastIds };
}

function resourceOf(model: Model, plural: string, faults: string[]): Resource | undefined {
  const resource = model.resources.find((each) => each.plural === plural);
  const names = model.resources.map((each) => each.plural);
  if (!resource)
    faults.push(
      `"${plural}" is no resource.${didYouMean(plural, names) || ` There are: ${names.join(', ')}.`}`,
    );
  return resource;
}

/** Unlike a client, a file may also give what the server would assign. */
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
    const { values } = validCreate(resource, given);
    assign(resource, anonymous, values, fixed);
    return values;
  } catch (error) {
    if (!(error instanceof DuetError)) throw error;
    faults.push(...(error.errors ?? [{ code: 'REQUIRED', detail: error.message }]));
    return fixed;
  }
}

function checkReferences(records: ReadonlyMap<Resource, readonly Loaded[]>, faults: string[]): void {
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

/**
 * Stores records so that no reference ever points to nothing: what others require comes first, and a reference that
 * need not be there is set when its target is.
 */
function* store({ records, buried, lastIds }: Contents, stored?: () => void): Program<void> {
  // Before the records: one whose key was buried goes on from there.
  for (const statement of buried) yield [statement];
  const done = new Map<Resource, Set<unknown>>();
  const late: { where: string; statement: Statement }[] = [];
  for (const resource of requiredFirst([...records.keys()])) {
    const { key } = resource;
    const keys = new Set<unknown>();
    done.set(resource, keys);
    yield* mustHoldAll(resource, records.get(resource) ?? []);
    for (const { where, row, version } of records.get(resource) ?? []) {
      const values = { ...row };
      const set: Row = {};
      for (const { column, target, required } of resource.references)
        if (!required && values[column.name] != null && !done.get(target)?.has(values[column.name])) {
          set[column.name] = values[column.name];
          values[column.name] = null;
        }
      const next = 1 + (yield* lastVersion(resource, values));
      yield* attempt({ do: 'insert', resource, values, version: Math.max(next, version ?? 0) }, where);
      keys.add(values[key.name]);
      stored?.();
      if (Object.keys(set).length === 0) continue;
      const same = equal(key, values[key.name]);
      late.push({
        where,
        statement: { do: 'update', resource, set, where: same, ifVersion: undefined, counts: false },
      });
    }
  }
  for (const { where, statement } of late) yield* attempt(statement, where);
  // Last of all, because PostgreSQL does not count back when the rest is undone.
  for (const [resource, to] of lastIds) yield [{ do: 'raise last id', resource, to }];
}

/** Few enough for one statement, many enough to make them rare. */
const PAGE = 1000;

function* mustHoldAll(resource: Resource, loaded: readonly Loaded[]): Program<void> {
  if (resource.checks.length === 0) return;
  for (let from = 0; from < loaded.length; from += PAGE) {
    const page = loaded.slice(from, from + PAGE);
    const [first] = yield* broken(
      resource,
      page.map(({ row }) => row),
    );
    if (first) throw new Error(`${page[first.place]?.where}: ${first.check.message}`);
  }
}

function* attempt(statement: Statement, where: string): Program<void> {
  try {
    yield [statement];
  } catch (error) {
    if (error instanceof NotUnique) {
      const names = error.columns.map(({ name }) => name).join(', ');
      throw new Error(`${where}: ${names} is taken by another record`);
    }
    if (error instanceof Dangling) throw new Error(`${where}: it refers to a record that does not exist`);
    throw error;
  }
}

/** Required references form no circle, so some resource is always free to come next. */
export function* requiredFirst(resources: readonly Resource[]): Generator<Resource> {
  const left = new Set(resources);
  const waits = ({ required, target, owner }: Reference) => required && target !== owner && left.has(target);
  while (left.size > 0)
    for (const resource of left)
      if (!resource.references.some(waits)) {
        left.delete(resource);
        yield resource;
      }
}

function isObject(value: unknown): value is Input {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
