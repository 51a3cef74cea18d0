/** Looks at rows that a step could fail on. */

import type { Fault } from '../../base/errors.ts';
import { all, among, type Filter, not, ownColumns } from '../../query/filter.ts';
import type { Place } from '../../query/order.ts';
import type { Column, Resource } from '../../schema/model.ts';
import { checkValue, isScalar } from '../../schema/values.ts';
import type { Derived } from '../derived.ts';
import { literal, quote } from '../sql/dialect.ts';
import { select } from '../statements.ts';
import { run } from '../storage.ts';
import type { Session } from './database.ts';
import { foreseenTwins, SHOWN } from './foreseen.ts';
import type { Written } from './write-log.ts';

/** Few enough to hold in memory, many enough to make statements rare. */
const PAGE = 1000;

export interface Rows {
  any(resource: Resource, condition: string): Promise<boolean>;
  /** The keys of the first rows that will share these values, two by two, in words; none of the values being null. */
  twins(
    resource: Resource,
    columns: readonly Column[],
    values: readonly FutureValue[],
  ): Promise<readonly string[]>;
  /** The first stored value that the column does not admit. */
  misfit(
    resource: Resource,
    column: Column,
    /** The column as it is stored now. */
    from: Column,
  ): Promise<{ readonly key: unknown; readonly detail: string } | undefined>;
  /** The keys of the first records that do not match. `later`: what columns will have that have no value now. */
  unmatched(resource: Resource, where: Filter, later: ReadonlyMap<Column, Later>): Promise<unknown[]>;
}

/** What records will have in a column that is new, or in the place of null. */
export interface Later {
  readonly isNew: boolean;
  readonly value: unknown;
}

/** What a row will have after the steps: its own value where it has one, the default otherwise. */
export interface FutureValue {
  /** The name of a column that is there already. */
  readonly stored: string | undefined;
  /** A literal. */
  readonly otherwise: string | undefined;
}

interface Looking {
  /** What tells nothing of the records yet. */
  readonly unmended?: readonly Derived[];
  /** Whether somebody wants to know what it will tell. */
  readonly foresees?: boolean;
  /** The only ones that need to be looked at, by table. */
  readonly only?: Written | undefined;
  /** What fits, since nobody has written it yet. */
  readonly fresh?: ReadonlySet<Column> | undefined;
  /** Is given those whose records were looked at. */
  readonly looked?: Set<Resource>;
}

export function rowsOf(
  session: Session,
  { unmended = [], foresees = false, only, fresh, looked }: Looking = {},
): Rows {
  /** Undefined: all. */
  const keysOf = (resource: Resource) => {
    looked?.add(resource);
    return only && (only.get(resource.table) ?? []);
  };
  const sources = new Map(
    unmended.flatMap(({ of }) => of.flatMap((column) => (column.folded ? [[column.folded, column]] : []))),
  );
  const unmade = new Set(unmended.flatMap(({ made }) => made ?? []));
  return {
    async any(resource, condition) {
      const { table, key } = resource;
      const keys = keysOf(resource);
      if (keys?.length === 0) return false;
      const listed = keys?.map((each) => (typeof each === 'number' ? each : literal(String(each))));
      const these = listed ? ` AND ${quote(key.stored)} IN (${listed.join(', ')})` : '';
      const sql = `SELECT 1 AS "x" FROM ${quote(table)} WHERE (${condition})${these} LIMIT 1`;
      return (await session.query(sql)).length > 0;
    },
    async twins(resource, columns, values) {
      const { table, key } = resource;
      // One that was written may be the twin of any other.
      if (keysOf(resource)?.length === 0) return [];
      if (columns.some((column) => unmade.has(column))) return [];
      if (columns.some((column) => sources.has(column))) {
        let found: readonly string[] = [];
        if (foresees && values.every(({ otherwise }) => otherwise === undefined))
          await session.load(function* () {
            const read = columns.map((column) => sources.get(column) ?? column);
            found = yield* foreseenTwins(resource, read);
          });
        return found;
      }
      if (values.some(({ stored, otherwise }) => stored === undefined && otherwise === undefined)) return [];
      const own = values.flatMap(({ stored, otherwise }) =>
        stored === undefined ? [] : [{ name: quote(stored), otherwise }],
      );
      const given = own
        .filter(({ otherwise }) => otherwise === undefined)
        .map(({ name }) => `${name} IS NOT NULL`);
      // A new column has the same value in every row, and groups nothing.
      const groups = own.map(({ name, otherwise }) =>
        otherwise === undefined ? name : `COALESCE(${name}, ${otherwise})`,
      );
      const where = given.length > 0 ? ` WHERE ${given.join(' AND ')}` : '';
      const by = groups.length > 0 ? ` GROUP BY ${groups.join(', ')}` : '';
      // As text, because not every kind of key has a least one everywhere.
      const ends = ['MIN', 'MAX'].map((of) => `${of}(CAST(${quote(key.stored)} AS TEXT)) AS "${of}"`);
      const sql = `SELECT ${ends.join(', ')} FROM ${quote(table)}${where}${by} HAVING COUNT(*) > 1 LIMIT ${SHOWN}`;
      return (await session.query(sql)).map((row) => `${row['MIN']} and ${row['MAX']}`);
    },
    async misfit(resource, column, from) {
      const { key } = resource;
      if (fresh?.has(column)) return undefined;
      const columns = column === key ? [column] : [key, from];
      const keys = keysOf(resource);
      const where = keys && among(key, keys);
      let found: { key: unknown; detail: string } | undefined;
      await session.load(function* () {
        for (let after: Place | undefined; !found; ) {
          const rows = yield* run(select(resource, columns, where, { after, limit: PAGE }));
          for (const row of rows) {
            const value = asOf(column, row[from.name]);
            const faults: Fault[] = [];
            if (value !== null) checkValue(column, value, faults);
            const [fault] = faults;
            if (fault) found ??= { key: row[key.name], detail: fault.detail };
          }
          if (rows.length < PAGE) return;
          after = [rows.at(-1)?.[key.name]];
        }
      });
      return found;
    },
    async unmatched(resource, where, later) {
      const { key } = resource;
      if ([...ownColumns(where, resource)].some((column) => unmade.has(column))) return [];
      const found: unknown[] = [];
      const keys = keysOf(resource);
      const these = keys && among(key, keys);
      await session.load(function* () {
        // What is folded may not be there yet, and is made of what is.
        if (later.size === 0 && ![...ownColumns(where, resource)].some(({ folded }) => folded)) {
          const rows = yield* run(select(resource, [key], all([these, not(where)]), { limit: SHOWN }));
          found.push(...rows.map((row) => row[key.name]));
          return;
        }
        const own = [...ownColumns(where, resource)].filter((column) => !later.get(column)?.isNew);
        const columns = [...new Set([key, ...own])];
        for (let after: Place | undefined; found.length < SHOWN; ) {
          const rows = yield* run(select(resource, columns, these, { after, limit: PAGE }));
          for (const row of rows) for (const [{ name }, { value }] of later) row[name] ??= value;
          const met = yield* run({ do: 'match', resource, rows, where });
          const places = new Set(met.map(({ row }) => Number(row) - 1));
          found.push(...rows.filter((_, place) => !places.has(place)).map((row) => row[key.name]));
          if (rows.length < PAGE) return;
          after = [rows.at(-1)?.[key.name]];
        }
      });
      return found.slice(0, SHOWN);
    },
  };
}

/** A number as a column that was widened has it. */
function asOf({ type }: Column, value: unknown): unknown {
  return typeof value === 'number' && isScalar(type) && type.is === 'exact' ? String(value) : value;
}
