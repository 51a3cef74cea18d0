/** What SQLite's plan of a read says of the rows that it visits, whatever the parameters are. */

import type { Database } from 'bun:sqlite';
import { type Condition, conditionsIn, conditionsOn, type Filter, reached } from '../../query/filter.ts';
import { isReferred } from '../../query/referred.ts';
import { askedOf, isResult } from '../../query/results.ts';
import type { Column, Resource } from '../../schema/model.ts';
import { indexesOf } from '../evolve/tables.ts';
import { quote } from '../sql/dialect.ts';
import { isSole } from '../sql/leading.ts';
import type { Aggregate, Match, Select, Table } from '../statements.ts';
import { CARRIED, COMPARED, type Look, lookAt, looksOf, read, SORTED, together } from './texts.ts';
import { OF_WORDS } from './words.ts';

export type Reading = Select | Aggregate | Match;

export interface Plan {
  /** How many loops that nothing bounds stand inside of each other. */
  readonly loops: number;
  readonly tables: readonly Table[];
  /** Those of them whose rows others lead to. */
  readonly leadsTo: readonly Table[];
  /** How many conditions are tested in the innermost of them. */
  readonly conditions: number;
  /** How often an index of words is asked: how relevant a record is, for each word and field, and that wherever it is compared. */
  readonly searches: number;
  /** What is looked at of texts beside the filter, whose values may be longer the next time. */
  readonly looks: readonly Look[];
  /** What they cost for each byte. */
  readonly weight: number;
  /** The rows, and the texts that are answered, where rows are put in order with all that is answered of them. */
  readonly sorted: readonly Look[];
  /** Whether all of these look records up by an index, inside of what bounds them: mostly that finds few. */
  readonly looksUp: boolean;
  /** Whether it looks any up, between which the clock can be looked at. */
  readonly isWatchable: boolean;
  /** Selects the rows that belong to the values of the first parameter, where these are all that is visited. */
  readonly rows: string | undefined;
  /** Which records these are, or lead to. */
  readonly where: string | undefined;
}

/** A line of EXPLAIN QUERY PLAN. */
interface Line {
  readonly id: number;
  readonly parent: number;
  readonly detail: string;
}

/** What it costs to find a record that a row refers to, in conditions; and to tell the values of all rows apart. */
const LOOKUP = 8;
const DISTINCT = 8;
/** To take a list apart, however short it is. */
const LISTED = 16;
/** To put rows in order by more columns than a few: each takes as much as so many conditions. */
const FEW_ORDERED = 4;
const ORDERED = 3;
/** So many rows that come first are kept apart, and the others held against the last of them. */
const FEW_FIRST = 100;
const FIRST = 1;

type IsOpen = (line: Line) => boolean;

export function planOf(database: Database, statement: Reading, sql: string): Plan {
  const explained = database.prepare(`EXPLAIN QUERY PLAN ${sql}`);
  const lines = explained.all() as Line[];
  explained.finalize();
  const { resource, where } = statement;
  const order = statement.do === 'select' ? (statement.order ?? []) : [];
  const links = 'per' in statement ? statement.per?.through : undefined;
  const steps = order.flatMap(({ column }) => (isReferred(column) ? column.through : []));
  const others: (readonly [Filter, Table])[] = [
    ...(links?.where ? [[links.where, links.resource] as const] : []),
    ...steps.map(({ field, where }) => [where, field.target] as const),
  ];
  const filters = [...(where ? [where] : []), ...others.map(([filter]) => filter)];
  const asked = filters.flatMap(conditionsIn);
  const leadsTo = new Set<Table>([
    ...(links ? [links.resource] : []),
    ...steps.map(({ field }) => field.target),
    ...filters.flatMap((each) => [...reached(each)]),
  ]);
  const resources = new Set<Table>([resource, ...leadsTo]);
  // There may be as many groups as rows.
  const ofGroups = statement.do === 'aggregate' && statement.having ? conditionsIn(statement.having) : [];
  // A unique index may hold any number of nulls, and a plan words a search for them as one for a value.
  const uniques = asked.some((each) => each.is === 'null') ? new Map<string, number>() : uniquesOf(resources);
  // Groups that are counted off are no more than the rows that they are made of, nor are rows whose relevance is known.
  const isOfRows = (detail: string) =>
    detail === 'SCAN _ranked' || (statement.do === 'aggregate' && /^SCAN \(subquery-\d+\)$/.test(detail));
  const isOpen: IsOpen = ({ detail }) => isLoop(detail) && !isBounded(detail, uniques) && !isOfRows(detail);
  const loops = loopsWithin(0, lines, statement, isOpen);
  const isSorted = lines.some(({ detail }) => detail.startsWith('USE TEMP B-TREE'));
  const ordered = isSorted && 'order' in statement ? (statement.order?.length ?? 0) : 0;
  const conditions = [...asked, ...ofGroups].reduce(
    (sum, each) => sum + testsOf(each),
    ORDERED * Math.max(0, ordered - FEW_ORDERED),
  );
  const looks = [
    ...others.flatMap(([filter, table]) => [...looksOf(filter, table, true), ...readBy(filter)]),
    ...steps.map(({ field }) => read(field.target, true, resource)),
    ...(isSorted && statement.do === 'select' ? ofOrder(statement, order) : []),
    ...(statement.do === 'aggregate' ? ofMeasures(statement) : []),
  ];
  return {
    loops,
    searches: asked.some(({ is }) => is === 'search')
      ? lines.filter(({ detail }) => detail.startsWith(`SCAN ${OF_WORDS}`)).length
      : 0,
    looks,
    sorted:
      isSorted && statement.do === 'select'
        ? [read(resource), ...statement.columns.flatMap((column) => lookAt(resource, column, CARRIED))]
        : [],
    weight: looks.reduce((sum, { weight }) => sum + weight, 0),
    looksUp: lines
      .filter(isOpen)
      .every(({ detail }) => /^SEARCH _\d+ .*INDEX \S+ \((\w+=\?( AND )?)+\)$/.test(detail)),
    isWatchable: filters.some((each) => reached(each).size > 0),
    tables: [...resources],
    leadsTo: [...leadsTo],
    conditions: conditions + steps.length * LOOKUP + (statement.do === 'aggregate' ? measured(statement) : 0),
    ...(loops <= 1 ? rowsOf(statement, lines) : noRows),
  };
}

/** All that a statement looks at of texts. */
export function looksAt(statement: Reading, { looks }: Plan): readonly Look[] {
  const { where, resource } = statement;
  const having = statement.do === 'aggregate' ? statement.having : undefined;
  const all = [
    ...(where ? looksOf(where, resource) : []),
    ...(having ? looksOf(having, resource) : []),
    ...looks,
    ...(where ? readBy(where) : []),
  ];
  // What is given is not in the table.
  return together(statement.do === 'match' ? all.filter(({ isReached }) => isReached) : all);
}

/** Rows that others lead to, of which more is asked than their keys: what stands behind a long text is read through it. */
function readBy(filter: Filter): Look[] {
  return conditionsOn(filter).flatMap((each) => {
    if (!('where' in each)) return [];
    const { target } = each.field;
    const isRead = conditionsOn(each.where).some((inner) =>
      'where' in inner ? inner.is === 'related' : !('column' in inner) || inner.column !== target.key,
    );
    return [...(isRead ? [read(target, true)] : []), ...readBy(each.where)];
  });
}

/** What a condition costs, where a comparison costs 1. */
function testsOf(condition: Condition): number {
  if ('where' in condition) return LOOKUP;
  if (condition.is === 'hasSome' || condition.is === 'hasEvery') return LISTED;
  return 'column' in condition ? 1 : 0;
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
function rowsOf(statement: Reading, lines: readonly Line[]): Pick<Plan, 'rows' | 'where'> {
  const per = 'per' in statement ? statement.per : undefined;
  if (!per || !lines.some(({ detail }) => detail.includes(`(${per.column.stored}=?`))) return noRows;
  const { resource, far } = per.through ?? { ...statement, far: undefined };
  const from = `FROM ${quote(resource.table)} WHERE ${quote(per.column.stored)} IN (SELECT value FROM json_each(?1))`;
  const { key } = statement.resource;
  return {
    rows: `SELECT 1 ${from}`,
    where: `${quote(key.stored)} IN (SELECT ${quote((far ?? key).stored)} ${from})`,
  };
}

const noRows = { rows: undefined, where: undefined };

function ofOrder({ resource, limit, most, offset }: Select, order: readonly { column: Column }[]): Look[] {
  const first = offset > 0 ? Number.POSITIVE_INFINITY : (limit ?? most ?? Number.POSITIVE_INFINITY);
  const weight = first > FEW_FIRST ? SORTED : FIRST;
  return order.flatMap(({ column }) => {
    const target = isReferred(column) ? column.through.at(-1)?.field.target : undefined;
    return lookAt(target ?? resource, column, weight, target !== undefined);
  });
}

/** Results that are answered, and those that groups are filtered and ordered by, each once. */
function resultsOf({ measures, having, order }: Aggregate): { of: string; column: Column | undefined }[] {
  const asked = having ? askedOf({ having, order }) : order.map(({ column }) => column);
  const results = asked.filter(isResult).map(({ computed: of, from: column }) => ({ of, column }));
  const all = [...measures, ...results].map((each) => [`${each.of} ${each.column?.name}`, each] as const);
  return [...new Map(all).values()];
}

function measured(statement: Aggregate): number {
  return resultsOf(statement).reduce(
    (sum, { of, column }) => sum + (of === 'countDistinct' ? DISTINCT : column ? 1 : 0),
    statement.by.length,
  );
}

function ofMeasures(statement: Aggregate): Look[] {
  const { resource, by } = statement;
  return [
    ...by.flatMap((column) => lookAt(resource, column, SORTED)),
    ...resultsOf(statement).flatMap(({ of, column }) =>
      column ? lookAt(resource, column, of === 'countDistinct' ? SORTED : column.folded ? 1 : COMPARED) : [],
    ),
  ];
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
  // It stops at its limit, having thrown away nothing that it visited. What is looked up for a row has no limit.
  const isOwn = only && !/^\w+ _[.\d]/.test(only.detail);
  if (open.length === 1 && isOwn && within === 0 && !isSorted && keepsAll(statement, only.detail)) return 0;
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
      // What is looked up once is compared as what is given.
      return 'where' in filter && isSole(filter.where, filter.field.target) ? 1 : Number.NaN;
  }
}
