/** Writes the statements that read: one list, the lists of many records, and numbers about them. */

import { conditionsOn, ownColumns } from '../../query/filter.ts';
import { type Order, type Place, reversed } from '../../query/order.ts';
import { isTimePart } from '../../query/parts.ts';
import { isReferred } from '../../query/referred.ts';
import { isResult } from '../../query/results.ts';
import { isRelevance } from '../../query/search.ts';
import type { Column, Resource } from '../../schema/model.ts';
import { comparedBy } from '../../schema/values.ts';
import {
  type Aggregate,
  type Links,
  PARENT,
  type Per,
  type Query,
  type Select,
  type Table,
} from '../statements.ts';
import { readAs } from './codec.ts';
import type { Conditions } from './conditions.ts';
import { type Dialect, quote } from './dialect.ts';
import { leading, nowhere } from './leading.ts';
import { heavyOf } from './long-answers.ts';

/** The columns of an answer, of a table where that has to be said. */
export type ListColumns = (columns: readonly Column[], table?: string) => string;

/** So many records tell at first whether many have a word: a third of a millisecond. */
const FIRST = 300;
/** Where more than one of them does, so many more are looked at for each that is wanted, and in all: that takes two milliseconds. */
const NEAR = 100;
const MOST_NEAR = 5000;

export class Queries {
  readonly #dialect: Dialect;
  readonly #conditions: Conditions;
  readonly #list: ListColumns;

  constructor(dialect: Dialect, conditions: Conditions, list: ListColumns) {
    this.#dialect = dialect;
    this.#conditions = conditions;
    this.#list = list;
  }

  write(statement: Query): string {
    const sql = statement.do === 'select' ? this.select(statement) : this.#aggregate(statement);
    const heavy = this.#dialect.within && heavyOf(statement);
    return heavy ? (this.#dialect.within?.(sql, heavy, namesOf(statement)) ?? sql) : sql;
  }

  /** `listed` stands for the values that `per` has, where they are not a parameter; `from`, for the table. */
  select(statement: Select, listed?: string, from?: string): string {
    const { columns, resource, where, limit, lock, per } = statement;
    const ranked = from === undefined ? this.#ranked(statement) : undefined;
    if (ranked) return this.select({ ...statement, where: undefined }, listed, ranked);
    const table = quote(resource.table);
    const list = per && (listed ?? this.#conditions.listed(per.values, per.column));
    const order = statement.order ?? [{ column: resource.key, descending: false }];
    const leads = where && !per ? leading(where, resource, order) : nowhere;
    const conditions = (alias: string): string[] => [
      ...(where ? [this.#conditions.condition(where, alias, 0, leads)] : []),
      ...(statement.after ? [this.#conditions.beyond(order, statement.after, alias)] : []),
      ...(statement.before ? [this.#conditions.beyond(reversed(order), statement.before, alias)] : []),
    ];
    const ordered = (alias: string) => this.order(order, alias);
    const referred = [...order.map(({ column }) => column), ...columns].filter(isReferred);
    const joined = (alias: string) => this.#conditions.joined(referred, alias);
    const answered = this.#shown(columns, table, referred.length > 0);
    const offset = () => this.#offset(statement.offset);
    if (list && limit !== undefined)
      return this.#dialect.perValue({
        columns: answered,
        table,
        key: quote(resource.key.stored),
        list,
        joined,
        belongs: (alias) => this.#belongs(per, resource, alias),
        condition: (alias) => this.#conditions.ofRows(' AND ', conditions(alias), alias, resource.key.stored),
        order: ordered,
        limit,
        offset: statement.offset > 0 ? this.#conditions.rowCount(statement.offset) : undefined,
        most: statement.most === undefined ? '' : ` LIMIT ${statement.most}`,
      });
    const links = list && per.through && this.#links(per, per.through, list);
    const source = from ?? this.#linked(resource, links);
    const parent = per && (links ? `"_links".${quote(PARENT)}` : `${table}.${quote(per.column.stored)}`);
    const found = per || lock ? undefined : this.#foundInKeyOrder(statement, order);
    if (found) return found;
    const all = [
      ...(list && parent && !links ? [this.#dialect.among(parent, list)] : []),
      ...conditions(table),
    ];
    const condition = this.#conditions.ofRows(' WHERE ', all, table, resource.key.stored);
    const fewest = Math.min(limit ?? Number.POSITIVE_INFINITY, statement.most ?? Number.POSITIVE_INFINITY);
    const most = Number.isFinite(fewest) ? ` LIMIT ${fewest}${offset()}` : '';
    const single = where?.is === 'eq' && where.column === resource.key && !resource.primary;
    // One parent after the other, as the index has them: their order among each other is nobody's concern.
    const parents =
      per && parent && per.column !== resource.key
        ? `${this.#dialect.order(parent, per.column, false)}, `
        : '';
    const locking = lock === 'change' ? this.#dialect.lockToChange : lock ? this.#dialect.lock : '';
    const inOrder = single ? '' : ` ORDER BY ${parents}${this.order(order, table, columns)}`;
    return `SELECT ${answered} FROM ${source}${joined(table)}${condition}${inOrder}${most}${locking}`;
  }

  /**
   * What is found, where a page begins behind a place in an order of relevance: how relevant it is is held against that place more
   * than once, and found out once. Beside keys alone: an inner SELECT would read all texts.
   */
  #ranked({ resource, where, order = [], after, before, per }: Select): string | undefined {
    const { once } = this.#dialect.words;
    const relevance = after || before ? order.map(({ column }) => column).find(isRelevance) : undefined;
    if (once === undefined || !relevance || per) return undefined;
    const table = quote(resource.table);
    const key = `${table}.${quote(resource.key.stored)}`;
    const shown = `${key} AS "_found", ${this.#conditions.value(relevance, table)} AS "_relevant"`;
    const conditions = where ? [this.#conditions.condition(where, table)] : [];
    const condition = this.#conditions.ofRows(' WHERE ', conditions, table, resource.key.stored);
    this.#conditions.relevances.isKnown(relevance, table, '"_ranked"."_relevant"');
    return `(SELECT ${shown} FROM ${table}${condition}${once}) AS "_ranked" CROSS JOIN ${table} ON ${key} = "_ranked"."_found"`;
  }

  #offset(offset: number): string {
    return offset > 0 ? ` OFFSET ${this.#conditions.rowCount(offset)}` : '';
  }

  /** Whether a row belongs to one value of a list. A pair may be there twice, and is no second row. */
  #belongs({ column, through }: Per, { key }: Table, alias: string): string {
    const value = quote(PARENT);
    if (!through) return `${alias}.${quote(column.stored)} = ${value}`;
    const table = quote(through.resource.table);
    const where = this.#ofLinks(through, table);
    return `${alias}.${quote(key.stored)} IN (SELECT ${table}.${quote(through.far.stored)} FROM ${table} WHERE ${table}.${quote(column.stored)} = ${value}${where})`;
  }

  /** Each pair once. No stored name begins with `_`. */
  #links({ column }: Per, links: Links, list: string): string {
    const { resource, far } = links;
    const table = quote(resource.table);
    const near = `${table}.${quote(column.stored)}`;
    const condition = this.#ofLinks(links, table);
    return `(SELECT DISTINCT ${near} AS ${quote(PARENT)}, ${table}.${quote(far.stored)} AS "_far" FROM ${table} WHERE ${this.#dialect.among(near, list)}${condition}) AS "_links"`;
  }

  #ofLinks({ resource, where }: Links, table: string): string {
    const conditions = where ? [this.#conditions.condition(where, table)] : [];
    return this.#conditions.ofRows(' AND ', conditions, table, resource.key.stored);
  }

  #linked({ table, key }: Table, links: string | undefined): string {
    const name = quote(table);
    return links ? `${name} JOIN ${links} ON "_links"."_far" = ${name}.${quote(key.stored)}` : name;
  }

  #shown(columns: readonly Column[], table: string, isJoined: boolean): string {
    const of = isJoined ? table : undefined;
    if (!columns.some(isRelevance)) return this.#list(columns, of);
    const shown = columns.map((column) =>
      isRelevance(column)
        ? `${this.#conditions.inOrder(column, table)} AS ${quote(column.name)}`
        : this.#list([column], of),
    );
    return shown.join(', ');
  }

  /** What is searched for and wanted in the order of keys, where the database finds it so. */
  #foundInKeyOrder(statement: Select, order: Order): string | undefined {
    const { resource, where, limit, most, offset, after, before } = statement;
    const parts = where?.is === 'all' ? where.of : where ? [where] : [];
    const searched = parts.find((part) => part.is === 'search');
    const [{ column, descending } = {}, ...others] = order;
    const fewest = limit ?? most;
    if (!searched || column !== resource.key || others.length > 0 || fewest === undefined) return undefined;
    const rows = Math.min(fewest, most ?? fewest);
    if (this.#dialect.words.isGuessed) return this.#nearOrFar(statement, order, rows);
    const found = this.#dialect.words.inKeyOrder?.(searched, this.#conditions.given);
    if (!found) return undefined;
    const beyond = (place: Place, sign: string) =>
      `${found.key} ${sign} ${this.#conditions.parameter(resource.key, place[0])}`;
    const conditions = [
      ...(after ? [beyond(after, descending ? '<' : '>')] : []),
      ...(before ? [beyond(before, descending ? '>' : '<')] : []),
      ...parts
        .filter((part) => part !== searched)
        .map((part) => this.#conditions.condition(part, quote(resource.table))),
    ];
    const condition = this.#conditions.ofRows(
      ' WHERE ',
      conditions,
      quote(resource.table),
      resource.key.stored,
    );
    return `SELECT ${this.#list(statement.columns)} FROM ${found.from}${condition} ORDER BY ${found.key}${descending ? ' DESC' : ''} LIMIT ${rows}${this.#offset(offset)}`;
  }

  /**
   * A word that many records have is among the first of them in their order, and is looked for further on there. One that hardly
   * any of these has, or that was not found often enough, is looked up in the index of words, and what is found is sorted. Left
   * to choose, a planner takes a word that it knows nothing of for one that many have, and follows the order through all records,
   * for seconds; and how many of a million have the beginning `r`, the index of words tells only after a second.
   */
  #nearOrFar(statement: Select, order: Order, rows: number): string | undefined {
    const { resource, columns, where, after, before, offset } = statement;
    if (columns.some((column) => isRelevance(column) || isReferred(column))) return undefined;
    const table = quote(resource.table);
    const key = `${table}.${quote(resource.key.stored)}`;
    const beyond = [
      ...(after ? [this.#conditions.beyond(order, after, table)] : []),
      ...(before ? [this.#conditions.beyond(reversed(order), before, table)] : []),
      'TRUE',
    ].join(' AND ');
    const matches = where ? this.#conditions.condition(where, table) : 'TRUE';
    const [{ descending } = {}] = order;
    const inOrder = ` ORDER BY ${this.order(order, table)}`;
    // No stored name begins with `_`.
    const list = `${this.#list(columns)}, ${key} AS "_key"`;
    const names = columns.map(({ name }) => quote(name)).join(', ');
    const wanted = offset > 0 ? `${rows} + ${this.#conditions.rowCount(offset)}` : `${rows}`;
    const among = (condition: string, looked: number) =>
      `SELECT ${list} FROM (SELECT * FROM ${table} WHERE ${condition}${inOrder} LIMIT ${looked}) AS ${table} WHERE ${matches}${inOrder} LIMIT ${wanted}`;
    const found = '(SELECT COUNT(*) FROM "_first")';
    const inKeyOrder = ` ORDER BY "_key"${descending ? ' DESC' : ''}`;
    const last = `SELECT "_key" FROM "_first" WHERE ${found} > 1 AND ${found} < ${wanted} ORDER BY "_key"${descending ? '' : ' DESC'} LIMIT 1`;
    const next = among(
      `${beyond} AND ${key} ${descending ? '<' : '>'} (${last})`,
      offset > 0 ? MOST_NEAR : Math.min(rows * NEAR, MOST_NEAR),
    );
    const are = (how: string) => `(SELECT COUNT(*) FROM "_near") ${how} ${wanted}`;
    // What is left out of it, nothing outside can be planned into.
    const far = `SELECT ${list} FROM ${table} WHERE ${are('<')} AND ${matches} AND ${beyond} OFFSET 0`;
    const near = `"_first" AS MATERIALIZED (${among(beyond, FIRST)}), "_near" AS MATERIALIZED (SELECT * FROM "_first" UNION ALL SELECT * FROM (${next}) AS "_next"${inKeyOrder} LIMIT ${wanted})`;
    return `WITH ${near} SELECT ${names} FROM (SELECT * FROM "_near" WHERE ${are('=')} UNION ALL SELECT * FROM (${far}) AS "_far") AS "_found"${inKeyOrder} LIMIT ${rows}${this.#offset(offset)}`;
  }

  /**
   * Qualified: a bare name would mean another column whose answer has been given this name. But how relevant a row is is not
   * found out again where it is `shown`.
   */
  order(order: Order, table: string, shown: readonly Column[] = []): string {
    return order
      .map(({ column, descending }) => {
        const isShown = isRelevance(column) && shown.includes(column);
        const by = isShown ? quote(column.name) : this.#conditions.inOrder(column, table);
        return this.#dialect.order(by, comparedBy(column), descending);
      })
      .join(', ');
  }

  #aggregate(statement: Aggregate): string {
    const table = quote(statement.resource.table);
    const { resource, where, per, by, measures, having, order, limit, offset, most } = statement;
    const list = per && this.#conditions.listed(per.values, per.column);
    const links = per?.through && list && this.#links(per, per.through, list);
    const parent = per && (links ? `"_links".${quote(PARENT)}` : `${table}.${quote(per.column.stored)}`);
    const values = by.map((column) => this.#conditions.value(comparedBy(column), table));
    const isScanned = isScattered(statement);
    const groups = values.map((value, index) =>
      isScanned && by[index] && !isTimePart(by[index]) ? this.#dialect.scanned(value) : value,
    );
    const shown = by.map((column, index) => {
      if (isTimePart(column))
        return `${readAs(this.#dialect.codecs, column, groups[index] ?? '')} AS ${quote(column.name)}`;
      if (!column.folded) return this.#list([column]);
      // Of texts that differ in letter case only, the first by code point stands for all.
      return `MIN(${table}.${quote(column.stored)}) AS ${quote(column.name)}`;
    });
    const selected = [
      ...shown,
      ...measures.map(({ as, of, column }) => {
        const quoted = column ? `${table}.${quote(column.stored)}` : '*';
        if (!column || of === 'count') return `${this.#dialect.count(quoted)} AS ${quote(as)}`;
        const compared = `${table}.${quote(comparedBy(column).stored)}`;
        if (of === 'countDistinct') return `${this.#dialect.count(`DISTINCT ${compared}`)} AS ${quote(as)}`;
        if (of === 'sum') return `${this.#dialect.sum(quoted, column)} AS ${quote(as)}`;
        if (column.folded) return `${this.#dialect.extremeBy(of, compared, quoted)} AS ${quote(as)}`;
        return `${readAs(this.#dialect.codecs, column, this.#dialect.extreme(of, quoted, column))} AS ${quote(as)}`;
      }),
    ];
    const leads = where && !per ? leading(where, resource) : nowhere;
    const conditions = [
      ...(list && parent && !links ? [this.#dialect.among(parent, list)] : []),
      ...(where ? [this.#conditions.condition(where, table, 0, leads)] : []),
    ];
    // To count all rows, none of them is visited.
    const isCount = conditions.length === 0 && by.length === 0 && measures.every(({ column }) => !column);
    const condition = isCount
      ? ''
      : this.#conditions.ofRows(' WHERE ', conditions, table, resource.key.stored);
    const apart = parent ? [parent, ...groups] : groups;
    const grouped = apart.length > 0 ? ` GROUP BY ${apart.join(', ')}` : '';
    const kept = having ? ` HAVING ${this.#conditions.condition(having, table)}` : '';
    const ordered = order.length > 0 ? ` ORDER BY ${this.order(order, table)}` : '';
    const scanned = isScanned && by.some(isTimePart) && this.#dialect.scannedRows?.(table, condition);
    const rest = ` FROM ${scanned || `${this.#linked(resource, links)}${condition}`}${grouped}${kept}`;
    if (!per || !parent) {
      const sql = `SELECT ${selected.join(', ')}${rest}${ordered}`;
      if (limit !== undefined) return `${sql} LIMIT ${Math.min(limit, most ?? limit)}${this.#offset(offset)}`;
      return most === undefined ? sql : `${this.#dialect.most(sql, most)}${this.#offset(offset)}`;
    }
    selected.unshift(`${readAs(this.#dialect.codecs, per.column, parent)} AS ${quote(PARENT)}`);
    const inAll = most === undefined ? '' : ` LIMIT ${most}`;
    if (limit === undefined && offset === 0) return `SELECT ${selected.join(', ')}${rest}${ordered}${inAll}`;
    // No column's name has a `#`.
    selected.push(`row_number() OVER (PARTITION BY ${parent}${ordered}) AS "#"`);
    const names = namesOf(statement).map(quote).join(', ');
    const last = limit === undefined ? '' : ` AND "#" <= ${this.#conditions.rowCount(offset + limit)}`;
    return `SELECT ${names} FROM (SELECT ${selected.join(', ')}${rest}) AS "_ranked" WHERE "#" > ${this.#conditions.rowCount(offset)}${last} ORDER BY "#"${inAll}`;
  }
}

/** Whether all rows are read, and an index that has the order of the groups would lead to each of them by itself. */
function isScattered(statement: Aggregate): boolean {
  // Duet's own tables are small.
  if (!statement.resource.version) return false;
  const { where, per, by, measures, having, order, limit } = statement;
  const resource = statement.resource as Resource;
  const { key, uniques, references, indexes } = resource;
  const known = [...uniques, ...indexes, ...references.map(({ column }) => ({ columns: [column] }))];
  const [first] = order;
  // Where the first groups are wanted, it ends with them.
  const ends = limit !== undefined && first !== undefined && !isResult(first.column);
  if (per || ends || !known.some(({ columns: [column] }) => column && by.includes(column))) return false;
  const asked = [...order, ...(having ? conditionsOn(having) : [])];
  const results = asked.flatMap((each) =>
    'column' in each && isResult(each.column) ? each.column.from : [],
  );
  const own = where ? ownColumns(where, resource) : [];
  const read = [...by, ...measures.map(({ column }) => column), ...results, ...own];
  // An index of all that is read leads to no row.
  const covers = (columns: readonly Column[]) =>
    read.every((column) => !column || column === key || columns.includes(column));
  return !known.some(({ columns }) => covers(columns));
}

function namesOf(statement: Query): string[] {
  if (statement.do === 'select') return statement.columns.map(({ name }) => name);
  const { per, by, measures } = statement;
  return [...(per ? [PARENT] : []), ...by.map(({ name }) => name), ...measures.map(({ as }) => as)];
}
