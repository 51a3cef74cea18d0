/** What SQLite's plan of a read says of the rows that it visits, whatever the parameters are. */

import type { Database } from 'bun:sqlite';
import { conditionsIn, type Filter, reached } from '../../query/filter.ts';
import { isReferred } from '../../query/referred.ts';
import type { Resource } from '../../schema/model.ts';
import { indexesOf } from '../evolve/tables.ts';
import { quote } from '../sql/dialect.ts';
import type { Aggregate, Match, Select, Table } from '../statements.ts';

export type Reading = Select | Aggregate | Match;

export interface Plan {
  /** How many loops that nothing bounds stand inside of each other. */
  readonly loops: number;
  readonly tables: readonly string[];
  /** How many conditions are tested in the innermost of them. */
  readonly conditions: number;
  /** Whether all of these look records up by an index, inside of what bounds them: mostly that finds few. */
  readonly looksUp: boolean;
  /** Selects the rows that belong to the values of the first parameter, where these are all that is visited. */
  readonly rows: string | undefined;
}

/** A line of EXPLAIN QUERY PLAN. */
interface Line {
  readonly id: number;
  readonly parent: number;
  readonly detail: string;
}

/** What it costs to find a record that a row refers to, in conditions. */
const LOOKUP = 4;

type IsOpen = (line: Line) => boolean;

export function planOf(database: Database, statement: Reading, sql: string): Plan {
  const explained = database.prepare(`EXPLAIN QUERY PLAN ${sql}`);
  const lines = explained.all() as Line[];
  explained.finalize();
  const { resource, where } = statement;
  const order = statement.do === 'select' ? (statement.order ?? []) : [];
  const links = 'per' in statement ? statement.per?.through : undefined;
  const steps = order.flatMap(({ column }) => (isReferred(column) ? column.through : []));
  const filters = [where, links?.where, ...steps.map((step) => step.where)].filter(
    (each) => each !== undefined,
  );
  const asked = filters.flatMap(conditionsIn);
  const resources = new Set<Table>([
    resource,
    ...(links ? [links.resource] : []),
    ...steps.map(({ field }) => field.target),
    ...filters.flatMap((each) => [...reached(each)]),
  ]);
  // There may be as many groups as rows.
  const ofGroups = statement.do === 'aggregate' && statement.having ? conditionsIn(statement.having) : [];
  // A unique index may hold any number of nulls, and a plan words a search for them as one for a value.
  const uniques = asked.some((each) => each.is === 'null') ? new Map<string, number>() : uniquesOf(resources);
  // Groups that are counted off are no more than the rows that they are made of.
  const isOfGroups = (detail: string) =>
    statement.do === 'aggregate' && /^SCAN (_ranked|\(subquery-\d+\))$/.test(detail);
  const isOpen: IsOpen = ({ detail }) => isLoop(detail) && !isBounded(detail, uniques) && !isOfGroups(detail);
  const loops = loopsWithin(0, lines, statement, isOpen);
  return {
    loops,
    looksUp: lines
      .filter(isOpen)
      .every(({ detail }) => /^SEARCH _\d+ .*INDEX \S+ \((\w+=\?( AND )?)+\)$/.test(detail)),
    tables: Array.from(resources, ({ table }) => table),
    conditions: [...asked, ...ofGroups].filter((each) => 'column' in each).length + steps.length * LOOKUP,
    rows: loops === 1 ? rowsOf(statement, lines) : undefined,
  };
}

/** How many columns the unique indexes have that the file declares, by name; of Duet's own tables, that of the key. */
function uniquesOf(tables: Iterable<Table>): ReadonlyMap<string, number> {
  const uniques = new Map<string, number>();
  for (const each of tables)
    if (each.primary) uniques.set(`sqlite_autoindex_${each.table}_1`, each.primary.length);
    else
      for (const { name, parts, unique } of indexesOf(each as Resource))
        if (unique) uniques.set(name, parts.length);
  return uniques;
}

/** Where a list of values leads to the rows. */
function rowsOf(statement: Reading, lines: readonly Line[]): string | undefined {
  const per = 'per' in statement ? statement.per : undefined;
  if (!per || !lines.some(({ detail }) => detail.includes(`(${per.column.stored}=?`))) return undefined;
  const table = quote((per.through?.resource ?? statement.resource).table);
  return `SELECT 1 FROM ${table} WHERE ${table}.${quote(per.column.stored)} IN (SELECT value FROM json_each(?1))`;
}

/** Lines under one parent are loops inside of each other, or whole queries that are asked in the innermost. */
function loopsWithin(parent: number, lines: readonly Line[], statement: Reading, isOpen: IsOpen): number {
  const here = lines.filter((line) => line.parent === parent);
  const open = here.filter(isOpen);
  const inner = here
    .filter(({ detail }) => !isLoop(detail))
    .map(({ id }) => loopsWithin(id, lines, statement, isOpen));
  const within = Math.max(0, ...inner);
  const [only] = open;
  const isSorted = here.some(({ detail }) => detail.startsWith('USE TEMP B-TREE'));
  // It stops at its limit, having thrown away nothing that it visited.
  if (open.length === 1 && only && within === 0 && !isSorted && keepsAll(statement, only.detail)) return 0;
  return open.length + within;
}

function isLoop(detail: string): boolean {
  return /^(SCAN|SEARCH) /.test(detail);
}

/** Whether a loop finds one row at the most, or runs over a list that the statement was given. */
function isBounded(detail: string, uniques: ReadonlyMap<string, number>): boolean {
  if (detail.startsWith('SCAN json_each ')) return true;
  const [, by = '', terms = ''] = / USING (.*) \((.*)\)(?: LEFT-JOIN)?$/.exec(detail) ?? [];
  const columns = terms.split(' AND ');
  if (!columns.every((term) => term.endsWith('=?'))) return false;
  if (by === 'INTEGER PRIMARY KEY' || by === 'PRIMARY KEY') return true;
  return uniques.get(by.replace(/^(COVERING )?INDEX /, '')) === columns.length;
}

/** Whether the statement has a limit, and no condition but those that the index itself answers. */
function keepsAll(statement: Reading, detail: string): boolean {
  if (statement.do !== 'select' || (statement.limit ?? statement.most) === undefined) return false;
  const { where, per, order, after, before, offset } = statement;
  // What each of any number of values leaves out is visited too, and links lead to rows in no order.
  if (per && (offset > 0 || per.through)) return false;
  // Of a place in an order by several columns the index finds only the first.
  if ((after || before) && order && order.length > 1) return false;
  const answered = / \((.*)\)$/.exec(detail)?.[1]?.split(' AND ').length ?? 0;
  const asked = (where ? terms(where) : 0) + (per ? 1 : 0) + (after ? 1 : 0) + (before ? 1 : 0);
  return asked === answered;
}

/** How many conditions an index could answer; no number where there are others. */
function terms(filter: Filter): number {
  switch (filter.is) {
    case 'all':
      return filter.of.reduce((sum, each) => sum + terms(each), 0);
    case 'eq':
    case 'gt':
    case 'gte':
    case 'lt':
    case 'lte':
    case 'in':
    case 'null':
      return 1;
    case 'startsWith':
      return 2;
    default:
      return Number.NaN;
  }
}
