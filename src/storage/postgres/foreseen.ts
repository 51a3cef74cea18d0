/** What a serial transaction knows of the records that it has read or written: what it does to them next need not be waited for. */

import type { Filter } from '../../query/filter.ts';
import type { Column, Resource } from '../../schema/model.ts';
import { storedColumns } from '../../schema/values.ts';
import { isWrite } from '../duties.ts';
import {
  type Filled,
  PLACEHOLDER,
  type Row,
  type Statement,
  type Table,
  type Update,
} from '../statements.ts';

/** Whoever changes records mostly does so with those that were read last. */
const MOST = 16;

interface KnownRecord {
  readonly resource: Table;
  readonly row: Row;
}

/**
 * The records as they are for this transaction. Nobody else changes them: its snapshot stays as it is, and what others have
 * changed meanwhile it can neither lock nor change. Rows are copied, because rows become answers.
 */
export class Known {
  #records: readonly KnownRecord[] = [];

  /** Has to be told of every answer, before its rows are handed on. */
  note(statements: readonly Statement[], answers: readonly Row[][]): void {
    statements.forEach((statement, index) => {
      const rows = answers[index] ?? [];
      const row = rows.length === 1 ? rows[0] : undefined;
      const resource = row && wholeOf(statement);
      if (resource && isPlain(row)) this.#keep(resource, row);
      else if (isWrite(statement)) this.#records = [];
    });
  }

  /** The row that this will answer with, unless the transaction fails; undefined where that is not certain. */
  foresee(statement: Statement): Row | undefined {
    const row = statement.do === 'filled' ? this.#locked(statement) : this.#changed(statement);
    if (!row || statement.do !== 'update') return row;
    this.#keep(statement.resource, row);
    return row;
  }

  #keep(resource: Table, row: Row): void {
    const key = row[resource.key.name];
    const others = this.#records.filter((each) => each.resource !== resource || keyOf(each) !== key);
    this.#records = [{ resource, row: { ...row } }, ...others.slice(0, MOST - 1)];
  }

  #row(resource: Table, key: unknown): Row | undefined {
    return this.#records.find((each) => each.resource === resource && keyOf(each) === key)?.row;
  }

  #locked({ select, value }: Filled): Row | undefined {
    return select.lock && isByKey(select.where, select.resource.key)
      ? this.#row(select.resource, value)
      : undefined;
  }

  #changed(statement: Statement): Row | undefined {
    if (statement.do !== 'update' || statement.isSilent || statement.own?.length) return undefined;
    const { resource, set, add, where, ifVersion, counts } = statement;
    const { version } = resource;
    const row = this.#row(resource, keyIn(where, resource.key));
    if (!row || !version || !admits(where, row) || mayCollide(statement)) return undefined;
    const current = Number(row[version.name]);
    if (ifVersion !== undefined && ifVersion !== current) return undefined;
    const next: Row = { ...row, ...set };
    for (const name in add) {
      const sum = Number(row[name]) + Number(add[name]);
      // What is no number here, or no whole one, the database adds in its own way.
      if (typeof row[name] !== 'number' || !Number.isSafeInteger(sum)) return undefined;
      next[name] = sum;
    }
    if (counts) next[version.name] = current + 1;
    return isPlain(next) && Object.keys(next).length === Object.keys(row).length ? next : undefined;
  }
}

/** Whether a row came as it was foreseen. */
export function isSame(resource: Table, row: Row | undefined, expected: Row): boolean {
  return row !== undefined && storedColumns(resource).every(({ name }) => row[name] === expected[name]);
}

function keyOf({ resource, row }: KnownRecord): unknown {
  return row[resource.key.name];
}

/** Whose records it answers with, whole. */
function wholeOf(statement: Statement): Table | undefined {
  if (statement.do === 'insert') return statement.resource;
  if (statement.do === 'update')
    return statement.resource.version && !statement.isSilent ? statement.resource : undefined;
  if (statement.do !== 'filled') return undefined;
  const { resource, columns, where, prefetch } = statement.select;
  const stored = storedColumns(resource);
  const isWhole =
    resource.version !== undefined && (columns === stored || stored.every((each) => columns.includes(each)));
  return isWhole && prefetch.length === 0 && isByKey(where, resource.key) ? resource : undefined;
}

/** What is no object is the same whoever has it in hand. */
function isPlain(row: Row): boolean {
  for (const name in row) if (typeof row[name] === 'object' && row[name] !== null) return false;
  return true;
}

function isByKey(where: Filter | undefined, key: Column): boolean {
  return where?.is === 'eq' && where.column === key && where.value === PLACEHOLDER;
}

function keyIn(where: Filter, key: Column): unknown {
  if (where.is === 'eq') return where.column === key ? where.value : undefined;
  if (where.is !== 'all') return undefined;
  for (const each of where.of) {
    const value = keyIn(each, key);
    if (value !== undefined) return value;
  }
  return undefined;
}

/** Whether the row certainly matches; its numbers may be asked for room. */
function admits(filter: Filter, row: Row): boolean {
  switch (filter.is) {
    case 'all':
      return filter.of.every((each) => admits(each, row));
    case 'eq':
      return row[filter.column.name] === filter.value;
    case 'gte':
    case 'lte': {
      const value = row[filter.column.name];
      if (typeof value !== 'number' || typeof filter.value !== 'number') return false;
      return filter.is === 'gte' ? value >= filter.value : value <= filter.value;
    }
    case 'not':
      return filter.of.is === 'null' && row[filter.of.column.name] !== null;
    default:
      return false;
  }
}

const colliding = new WeakMap<Table, ReadonlySet<string>>();

/** Whether the database may refuse it for what other records are: that is told to whoever asked for it. */
function mayCollide({ resource, set, add }: Update): boolean {
  let names = colliding.get(resource);
  if (!names) {
    const { key, uniques, references } = resource as Resource;
    const columns = [
      key,
      ...uniques.flatMap((each) => each.columns),
      ...references.map((each) => each.column),
    ];
    names = new Set(columns.map(({ name }) => name));
    colliding.set(resource, names);
  }
  for (const name in set) if (names.has(name)) return true;
  for (const name in add) if (names.has(name)) return true;
  return false;
}
