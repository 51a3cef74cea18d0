/** What is kept beside records and made of them by the engine: whoever writes a record keeps it, old records are given it later. */

import { among } from '../query/filter.ts';
import type { Place } from '../query/order.ts';
import { computedValue } from '../schema/computing.ts';
import { folded, UNICODE } from '../schema/folding.ts';
import type { Column, Computed, Resource } from '../schema/model.ts';
import { graphqlTypeName } from '../schema/values.ts';
import { type Row, select, type Table } from './statements.ts';
import { type Program, run } from './storage.ts';
import { wordsName } from './words.ts';

export interface Page {
  /** Where the next one begins. */
  readonly next: Place | undefined;
  /** Its records, as they were before they were brought up to date. */
  readonly rows: readonly Row[];
  /** How much text was read. */
  readonly characters: number;
}

export interface Derived {
  readonly resource: Resource;
  /** As writers of the table are held to it; where that changes, all records are brought up to date. */
  readonly duty: string;
  /** What is done to records that were there before, in words. */
  readonly work: string;
  /** What it is made of. */
  readonly of: readonly Column[];
  /** Whether filling one of these with its default leaves it as it was. */
  readonly staysBehind: boolean;
  /** What is read of each record beside its key: `of`, and what is kept, where that stands in the same row. */
  readonly columns: readonly Column[];
  /** The field that it is, where it is one. */
  readonly made?: Column;
  /** Those of the records that are not up to date. */
  stale(rows: readonly Row[]): Program<readonly Row[]>;
  /** Brings these up to date, which are locked. */
  mend(rows: readonly Row[]): Program<void>;
}

const none: readonly Derived[] = [];
const known = new WeakMap<Resource, readonly Derived[]>();

export function derivedOf(resource: Resource): readonly Derived[] {
  let found = known.get(resource);
  if (!found) {
    found = resource.columns.flatMap((column) =>
      column.folded ? [caseless(resource, column, column.folded)] : [],
    );
    found = [...found, ...resource.recomputed.map((each) => computed(resource, each))];
    if (resource.searched.length > 0) found = [...found, words(resource)];
    if (found.length === 0) found = none;
    known.set(resource, found);
  }
  return found;
}

/** Brings the records of one page up to date. */
export function* mendPage(derived: Derived, after: Place | undefined, limit: number): Program<Page> {
  const rows = yield* run(select(derived.resource, columnsOf(derived), undefined, { after, limit }));
  const next = rows.length < limit ? undefined : [rows.at(-1)?.[derived.resource.key.name]];
  return { next, ...(yield* mended(derived, rows)) };
}

/** The same for those that have these keys. */
export function* mendKeys(derived: Derived, keys: readonly unknown[]): Program<Omit<Page, 'next'>> {
  const { resource } = derived;
  return yield* mended(derived, yield* run(select(resource, columnsOf(derived), among(resource.key, keys))));
}

function columnsOf({ resource, columns }: Derived): readonly Column[] {
  return [resource.key, resource.version, ...columns];
}

/** Read again under a lock before they are written: others may have changed them, and what is derived with them. */
function* mended(derived: Derived, rows: readonly Row[]): Program<Omit<Page, 'next'>> {
  const { resource } = derived;
  const columns = columnsOf(derived);
  const keys = (yield* derived.stale(rows)).map((row) => row[resource.key.name]);
  if (keys.length > 0)
    yield* derived.mend(yield* run(select(resource, columns, among(resource.key, keys), { lock: true })));
  return { rows, characters: charactersIn(rows, columns) };
}

function charactersIn(rows: readonly Row[], columns: readonly Column[]): number {
  let characters = 0;
  for (const row of rows)
    for (const { name } of columns) {
      const value = row[name];
      if (typeof value === 'string') characters += value.length;
    }
  return characters;
}

/** The table as any node writes it, whatever its file says of it: nothing is changed that anybody sees. */
export function asAnybody(resource: Resource): Table {
  return { ...resource, version: undefined };
}

/** A program that needs no statement. */
// biome-ignore lint/correctness/useYield: there is nothing to ask for.
function* resulting<T>(result: T): Program<T> {
  return result;
}

function caseless(resource: Resource, column: Column, hidden: Column): Derived {
  // It has the name of the other.
  const kept = { ...hidden, name: hidden.stored };
  const table = asAnybody(resource);
  const isStale = (row: Row) => {
    const text = row[column.name];
    return row[kept.name] !== (typeof text === 'string' ? folded(text) : null);
  };
  return {
    resource,
    duty: `caseless ${column.stored} ${UNICODE}`,
    work: `fold the letters of ${resource.table}.${column.stored} in all records`,
    of: [column],
    staysBehind: false,
    columns: [column, kept],
    stale: (rows) => resulting(rows.filter(isStale)),
    *mend(rows) {
      yield* run({ do: 'update all', resource: table, columns: [hidden], rows });
    },
  };
}

/** Another function is no other duty: nobody can tell whether it makes something else, so `duet recompute` is told to look. */
function computed(resource: Resource, made: Computed): Derived {
  const { column, from } = made;
  const table = asAnybody(resource);
  const valueIn = (row: Row) => {
    try {
      return computedValue(made, row);
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      throw new Error(
        `${resource.name}.${column.name} of ${resource.singular} ${row[resource.key.name]}: ${why}`,
        {
          cause: error,
        },
      );
    }
  };
  const of = from.map((each) => `${each.stored} ${graphqlTypeName(each)}`).join(' ');
  return {
    resource,
    duty: `computed ${column.stored} ${graphqlTypeName(column)}${column.list ? ' list' : ''} ${of}`,
    work: `compute ${resource.table}.${column.stored} in all records`,
    of: from,
    staysBehind: true,
    columns: [...from.filter((each) => each !== resource.key), column],
    made: column,
    stale: (rows) => resulting(rows.filter((row) => !Bun.deepEquals(row[column.name], valueIn(row)))),
    *mend(rows) {
      const fresh = rows.map((row) => ({ ...row, [column.name]: valueIn(row) }));
      yield* run({ do: 'update all', resource: table, columns: [column], rows: fresh });
    },
  };
}

function words(resource: Resource): Derived {
  const { searched, key } = resource;
  return {
    resource,
    duty: wordsName(resource).slice(1),
    work: `find the words of ${searched.map(({ stored }) => `${resource.table}.${stored}`).join(', ')} in all records`,
    of: searched,
    staysBehind: true,
    columns: searched.filter((column) => column !== key),
    *stale(rows) {
      const found = yield* run({ do: 'stale words', resource, rows });
      const keys = new Set(found.map((row) => row[key.name]));
      return rows.filter((row) => keys.has(row[key.name]));
    },
    *mend(rows) {
      yield* run({ do: 'mend words', resource, rows });
    },
  };
}
