/** Statement → SQL text and parameters, for any dialect. */

import { ownColumns } from '../../query/filter.ts';
import { type Order, type Place, reversed } from '../../query/order.ts';
import { isTimePart } from '../../query/parts.ts';
import { isReferred } from '../../query/referred.ts';
import { isRelevance } from '../../query/search.ts';
import type { Column, Resource } from '../../schema/model.ts';
import { comparedBy, keptColumns, storedColumns, writtenColumns } from '../../schema/values.ts';
import { graves } from '../own.ts';
import {
  type Aggregate,
  type Filled,
  type Links,
  PARENT,
  type Per,
  PLACEHOLDER,
  parentOf,
  type Query,
  type Row,
  type Select,
  type StaleWords,
  type Statement,
  type Table,
  type Update,
} from '../statements.ts';
import { type Decoders, decodersOf, decodersOfSums, readAs } from './codec.ts';
import { Conditions, columnOf } from './conditions.ts';
import { type Compiled, type Dialect, quote } from './dialect.ts';
import { heavyOf } from './heavy.ts';
import { Insertions } from './insertions.ts';

/** A compiled Select whose open values are still to be filled in. */
export interface Template {
  readonly sql: string;
  readonly decoders: Decoders;
  readonly open: Conditions;
  /** Whether it answers with one record at the most, whose key is filled in. */
  readonly findsOne: boolean;
}

export function parametersOf({ open }: Template, value: unknown): readonly unknown[] {
  if (open.openAt === undefined) return open.parameters;
  const parameters = open.parameters.slice();
  parameters[open.openAt] = open.encode(value);
  return parameters;
}

export class Compiler {
  readonly #dialect: Dialect;
  readonly #templates = new WeakMap<Query, Template>();
  readonly #insertions: Insertions;
  readonly #known = new WeakMap<readonly Column[], { list: string; decoders: Decoders }>();

  constructor(dialect: Dialect) {
    this.#dialect = dialect;
    this.#insertions = new Insertions(dialect, (insert) => this.#compile(insert).sql);
  }

  compile(statement: Statement): Compiled {
    if (statement.do === 'filled') {
      const template = this.template(statement.select);
      const { sql, decoders } = template;
      return { sql, parameters: parametersOf(template, statement.value), decoders };
    }
    if (statement.do === 'insert') {
      const { sql, parameters } = this.#insertions.compile(statement);
      return { sql, parameters, decoders: this.#answered(storedColumns(statement.resource)).decoders };
    }
    const { sql, decoders, open } = this.#compile(statement);
    return { sql, decoders, parameters: open.parameters };
  }

  template(read: Query): Template {
    let template = this.#templates.get(read);
    if (!template) {
      template = this.#compile(read);
      this.#templates.set(read, template);
    }
    return template;
  }

  #compile(statement: Exclude<Statement, Filled>): Template {
    const writer = this.writer();
    const sql = writer.write(statement);
    const { decoders: own } = this.#answered(answers(statement));
    const sums = statement.do === 'aggregate' ? decodersOfSums(this.#dialect.codecs, statement.measures) : [];
    const decoders = sums.length > 0 ? [...own, ...sums] : own;
    const findsOne = statement.do === 'select' && isByOpenKey(statement);
    return { sql, decoders, open: writer.conditions, findsOne };
  }

  writer(): Writer {
    return new Writer(this.#dialect, (columns, table) =>
      table === undefined ? this.#answered(columns).list : this.#qualified(columns, table),
    );
  }

  /** Beside another table that has columns of the same names. */
  #qualified(columns: readonly Column[], table: string): string {
    const { codecs } = this.#dialect;
    // Which record a row belongs to stands in no table.
    const from = (column: Column) => (column.stored === PARENT ? quote(PARENT) : columnOf(column, table));
    return columns
      .map((column) => `${readAs(codecs, column, from(column))} AS ${quote(column.name)}`)
      .join(', ');
  }

  /** Lists of columns are mostly made once. */
  #answered(columns: readonly Column[]): { readonly list: string; readonly decoders: Decoders } {
    let answered = this.#known.get(columns);
    if (!answered) {
      const { codecs, selected } = this.#dialect;
      const list = columns.map((column) => {
        const read = readAs(codecs, column, selected(column));
        return read === quote(column.name) ? read : `${read} AS ${quote(column.name)}`;
      });
      answered = { list: list.join(', '), decoders: decodersOf(codecs, columns) };
      this.#known.set(columns, answered);
    }
    return answered;
  }
}

function isByOpenKey({ where, resource: { key }, prefetch }: Select): boolean {
  const parts = where?.is === 'all' ? where.of : [where];
  return (
    prefetch.length === 0 &&
    parts.some((part) => part?.is === 'eq' && part.column === key && part.value === PLACEHOLDER)
  );
}

function answers(statement: Exclude<Statement, Filled>): readonly Column[] {
  if (statement.do === 'select') return statement.columns;
  if (statement.do === 'aggregate')
    return [
      ...(statement.per ? [parentOf(statement.per.column)] : []),
      ...statement.by,
      // Of the measures, the least and the greatest are values of their column.
      ...statement.measures.flatMap(({ as, of, column }) =>
        column && (of === 'min' || of === 'max') ? [{ ...column, name: as }] : [],
      ),
    ];
  const { resource } = statement;
  if (statement.do === 'stale words') return [resource.key];
  if (statement.do === 'insert all') return statement.claims ? storedColumns(resource) : [];
  return ['insert', 'upsert', 'update'].includes(statement.do) ? storedColumns(resource) : [];
}

function namesOf(statement: Query): string[] {
  if (statement.do === 'select') return statement.columns.map(({ name }) => name);
  const { per, by, measures } = statement;
  return [...(per ? [PARENT] : []), ...by.map(({ name }) => name), ...measures.map(({ as }) => as)];
}

/** Writes one statement. */
export class Writer {
  readonly conditions: Conditions;
  readonly #dialect: Dialect;
  readonly #list: (columns: readonly Column[], table?: string) => string;

  constructor(dialect: Dialect, list: (columns: readonly Column[], table?: string) => string) {
    this.#dialect = dialect;
    this.conditions = new Conditions(dialect);
    this.#list = list;
  }

  write(statement: Exclude<Statement, Filled>): string {
    const resource: Table = statement.resource;
    const table = quote(resource.table);
    // Duet's own tables are written by every node.
    const current = () => resource.version && this.#dialect.current?.(statement.resource as Resource);
    const ifCurrent = (before: string) => {
      const condition = current();
      return condition === undefined ? '' : ` ${before} ${condition}`;
    };
    const returning = () => ` RETURNING ${this.#list(storedColumns(resource))}`;
    switch (statement.do) {
      case 'select':
        return this.#within(statement, this.select(statement));
      case 'match': {
        const { where, rows } = statement;
        const used = [...ownColumns(where, statement.resource)].flatMap((column) =>
          column.folded ? [column, column.folded] : [column],
        );
        // A filter that asks nothing of the row itself still answers for each.
        const values = this.conditions.values(used.length > 0 ? used : [resource.key], rows);
        return `SELECT "_row" AS "row" FROM ${values} AS "_new" WHERE ${this.conditions.condition(where, '"_new"')}`;
      }
      case 'aggregate':
        return this.#within(statement, this.#aggregate(statement, table));
      case 'insert':
        return `INSERT INTO ${table} ${this.#values(resource, statement.values, statement.version, current())}${this.#dialect.answersInserts ? returning() : ''}`;
      case 'insert all': {
        const { kept } = this.#dialect.words;
        const words = kept?.columns(resource) ?? [];
        const columns = words.length > 0 ? [...keptColumns(resource), ...words] : keptColumns(resource);
        const withWords = (row: Row) => ({ ...row, ...kept?.of(resource as Resource, row) });
        const rows = this.conditions.rows(
          columns,
          words.length > 0 ? statement.rows.map(withWords) : statement.rows,
        );
        const insert = `INSERT INTO ${table} (${listOf(columns)}) ${rows}${ifCurrent('WHERE')}`;
        if (!statement.claims) return insert;
        const primary = resource.primary ?? [resource.key];
        // Only what is written is locked, and answered.
        const same = `${quote(resource.key.stored)} = ${table}.${quote(resource.key.stored)}`;
        return `${insert} ON CONFLICT (${listOf(primary)}) DO UPDATE SET ${same}${returning()}`;
      }
      case 'update all': {
        const { columns, rows } = statement;
        const written = columns.flatMap((column) => (column.folded ? [column, column.folded] : [column]));
        const values = this.conditions.values([resource.key, ...written], rows);
        const set = written.map(({ stored }) => `${quote(stored)} = "_new".${quote(stored)}`);
        const key = quote(resource.key.stored);
        return `UPDATE ${table} SET ${set.join(', ')} FROM ${values} AS "_new" WHERE ${table}.${key} = "_new".${key}${ifCurrent('AND')}`;
      }
      case 'upsert': {
        const { values, version, conflict, set, where } = statement;
        const row = this.#values(resource, values, version, current());
        // What collides is the same in both rows; a sharded server lets the column that it shards by be set to itself alone.
        const changes = set
          .flatMap((column) => (column.folded ? [column, column.folded] : [column]))
          .map((column) => {
            const name = quote(column.stored);
            return `${name} = ${conflict.map(comparedBy).includes(column) ? table : 'excluded'}.${name}`;
          });
        if (resource.version && set.length > 0) changes.push(this.#raised(resource.version, table));
        const guard = where ? ` WHERE ${this.conditions.condition(where, table)}` : '';
        const change = set.length > 0 ? `UPDATE SET ${changes.join(', ')}${guard}` : 'NOTHING';
        return `INSERT INTO ${table} ${row} ON CONFLICT (${listOf(conflict.map(comparedBy))}) DO ${change}${returning()}`;
      }
      case 'update': {
        const { version } = resource;
        const set = this.#assignments(resource, statement.set, statement.add, table);
        const words = this.#changedWords(statement, table);
        set.push(...words.set);
        if (statement.counts && version) set.push(this.#raised(version, table));
        const where = this.conditions.condition(statement.where, table);
        const guard =
          statement.ifVersion === undefined || !version
            ? ''
            : ` AND ${quote(version.stored)} = ${this.conditions.parameter(version, statement.ifVersion)}`;
        return `UPDATE ${table} SET ${set.join(', ')}${words.from} WHERE ${words.condition}${where}${guard}${ifCurrent('AND')}${statement.isSilent ? '' : returning()}`;
      }
      case 'delete': {
        const { where, first } = statement;
        const condition = this.conditions.condition(where, table);
        if (!first) return `DELETE FROM ${table} WHERE ${condition}${ifCurrent('AND')}`;
        const key = listOf(resource.primary ?? [resource.key]);
        const order = this.#order(first.order, table);
        return `DELETE FROM ${table} WHERE (${key}) IN (SELECT ${key} FROM ${table} WHERE ${condition} ORDER BY ${order} LIMIT ${first.limit})${ifCurrent('AND')}`;
      }
      case 'bury': {
        const { key, version } = statement.resource;
        const values = [this.conditions.parameter(graves.column.table, resource.table)];
        for (const { stored } of [key, version]) values.push(`${table}.${quote(stored)}`);
        const where = this.conditions.condition(statement.where, table);
        const higher = `"version" = excluded."version" WHERE excluded."version" > ${quote(graves.table)}."version"`;
        return `INSERT INTO ${quote(graves.table)} (${listOf(graves.columns)}) SELECT ${values.join(', ')} FROM ${table} WHERE ${where} ON CONFLICT (${listOf(graves.primary)}) DO UPDATE SET ${higher}`;
      }
      case 'stale words':
      case 'mend words':
        return this.#words(statement, table);
      case 'last id':
        return this.#dialect.lastId(statement.resource);
      case 'raise last id':
        return this.#dialect.raiseLastId(
          statement.resource,
          this.conditions.parameter(resource.key, statement.to),
        );
    }
  }

  #within(statement: Query, sql: string): string {
    const heavy = this.#dialect.within && heavyOf(statement);
    return heavy ? (this.#dialect.within?.(sql, heavy, namesOf(statement)) ?? sql) : sql;
  }

  /** `listed` stands for the values that `per` has, where they are not a parameter. */
  select(statement: Select, listed?: string): string {
    const { columns, resource, where, limit, lock, per } = statement;
    const table = quote(resource.table);
    const list = per && (listed ?? this.conditions.listed(per.values, per.column));
    const order = statement.order ?? [{ column: resource.key, descending: false }];
    const conditions = (alias: string): string[] => [
      ...(where ? [this.conditions.condition(where, alias)] : []),
      ...(statement.after ? [this.conditions.beyond(order, statement.after, alias)] : []),
      ...(statement.before ? [this.conditions.beyond(reversed(order), statement.before, alias)] : []),
    ];
    const ordered = (alias: string) => this.#order(order, alias);
    const referred = [...order.map(({ column }) => column), ...columns].filter(isReferred);
    const joined = (alias: string) => this.conditions.joined(referred, alias);
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
        condition: (alias) =>
          conditions(alias)
            .map((each) => ` AND ${each}`)
            .join(''),
        order: ordered,
        limit: `${limit}${offset()}`,
        most: statement.most === undefined ? '' : ` LIMIT ${statement.most}`,
      });
    const links = list && per.through && this.#links(per, per.through, list);
    const source = this.#linked(resource, links);
    const parent = per && (links ? `"_links".${quote(PARENT)}` : `${table}.${quote(per.column.stored)}`);
    const found = per || lock ? undefined : this.#foundInKeyOrder(statement, order);
    if (found) return found;
    const all = [
      ...(list && parent && !links ? [this.#dialect.among(parent, list)] : []),
      ...conditions(table),
    ];
    const condition = all.length > 0 ? ` WHERE ${all.join(' AND ')}` : '';
    const fewest = Math.min(limit ?? Number.POSITIVE_INFINITY, statement.most ?? Number.POSITIVE_INFINITY);
    const most = Number.isFinite(fewest) ? ` LIMIT ${fewest}${offset()}` : '';
    const single = where?.is === 'eq' && where.column === resource.key && !resource.primary;
    // One parent after the other, as the index has them: their order among each other is nobody's concern.
    const parents =
      per && parent && per.column !== resource.key
        ? `${this.#dialect.order(parent, per.column, false)}, `
        : '';
    const locking = lock === 'change' ? this.#dialect.lockToChange : lock ? this.#dialect.lock : '';
    const inOrder = single ? '' : ` ORDER BY ${parents}${this.#order(order, table, columns)}`;
    return `SELECT ${answered} FROM ${source}${joined(table)}${condition}${inOrder}${most}${locking}`;
  }

  #offset(offset: number): string {
    return offset > 0 ? ` OFFSET ${this.conditions.rowCount(offset)}` : '';
  }

  /** Whether a row belongs to one value of a list. A pair may be there twice, and is no second row. */
  #belongs({ column, through }: Per, { key }: Table, alias: string): string {
    const value = quote(PARENT);
    if (!through) return `${alias}.${quote(column.stored)} = ${value}`;
    const table = quote(through.resource.table);
    const where = through.where ? ` AND ${this.conditions.condition(through.where, table)}` : '';
    return `${alias}.${quote(key.stored)} IN (SELECT ${table}.${quote(through.far.stored)} FROM ${table} WHERE ${table}.${quote(column.stored)} = ${value}${where})`;
  }

  /** Each pair once. No stored name begins with `_`. */
  #links({ column }: Per, { resource, far, where }: Links, list: string): string {
    const table = quote(resource.table);
    const near = `${table}.${quote(column.stored)}`;
    const condition = where ? ` AND ${this.conditions.condition(where, table)}` : '';
    return `(SELECT DISTINCT ${near} AS ${quote(PARENT)}, ${table}.${quote(far.stored)} AS "_far" FROM ${table} WHERE ${this.#dialect.among(near, list)}${condition}) AS "_links"`;
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
        ? `${this.conditions.inOrder(column, table)} AS ${quote(column.name)}`
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
    const found = this.#dialect.words.inKeyOrder?.(searched, this.conditions.given);
    if (!found) return undefined;
    const beyond = (place: Place, sign: string) =>
      `${found.key} ${sign} ${this.conditions.parameter(resource.key, place[0])}`;
    const conditions = [
      ...(after ? [beyond(after, descending ? '<' : '>')] : []),
      ...(before ? [beyond(before, descending ? '>' : '<')] : []),
      ...parts
        .filter((part) => part !== searched)
        .map((part) => this.conditions.condition(part, quote(resource.table))),
    ];
    const rows = Math.min(fewest, most ?? fewest);
    const condition = conditions.length > 0 ? ` WHERE ${conditions.join(' AND ')}` : '';
    return `SELECT ${this.#list(statement.columns)} FROM ${found.from}${condition} ORDER BY ${found.key}${descending ? ' DESC' : ''} LIMIT ${rows}${this.#offset(offset)}`;
  }

  /**
   * Qualified: a bare name would mean another column whose answer has been given this name. But how relevant a row is is not
   * found out again where it is `shown`.
   */
  #order(order: Order, table: string, shown: readonly Column[] = []): string {
    return order
      .map(({ column, descending }) => {
        const isShown = isRelevance(column) && shown.includes(column);
        const by = isShown ? quote(column.name) : this.conditions.inOrder(column, table);
        return this.#dialect.order(by, comparedBy(column), descending);
      })
      .join(', ');
  }

  #aggregate(statement: Aggregate, table: string): string {
    const { resource, where, per, by, measures, having, order, limit, offset, most } = statement;
    const list = per && this.conditions.listed(per.values, per.column);
    const links = per?.through && list && this.#links(per, per.through, list);
    const parent = per && (links ? `"_links".${quote(PARENT)}` : `${table}.${quote(per.column.stored)}`);
    const groups = by.map((column) => this.conditions.value(comparedBy(column), table));
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
    const conditions = [
      ...(list && parent && !links ? [this.#dialect.among(parent, list)] : []),
      ...(where ? [this.conditions.condition(where, table)] : []),
    ];
    const condition = conditions.length > 0 ? ` WHERE ${conditions.join(' AND ')}` : '';
    const apart = parent ? [parent, ...groups] : groups;
    const grouped = apart.length > 0 ? ` GROUP BY ${apart.join(', ')}` : '';
    const kept = having ? ` HAVING ${this.conditions.condition(having, table)}` : '';
    const ordered = order.length > 0 ? ` ORDER BY ${this.#order(order, table)}` : '';
    const rest = ` FROM ${this.#linked(resource, links)}${condition}${grouped}${kept}`;
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
    const last = limit === undefined ? '' : ` AND "#" <= ${this.conditions.rowCount(offset + limit)}`;
    return `SELECT ${names} FROM (SELECT ${selected.join(', ')}${rest}) AS "_ranked" WHERE "#" > ${this.conditions.rowCount(offset)}${last} ORDER BY "#"${inAll}`;
  }

  /** `current`: what must hold for there to be a version, which no row is without. */
  #values(resource: Table, values: Row, version: number | undefined, current: string | undefined): string {
    const given = writtenColumns(resource).filter(({ name }) => Object.hasOwn(values, name));
    const parameters = given.map((column) => this.conditions.parameter(column, values[column.name]));
    const { kept } = this.#dialect.words;
    const words = kept?.columns(resource) ?? [];
    if (kept && words.length > 0) {
      const found = kept.of(resource as Resource, values);
      for (const column of words) parameters.push(this.conditions.parameter(column, found[column.name]));
      given.push(...words);
    }
    if (resource.version) {
      const given = this.conditions.parameter(resource.version, version);
      parameters.push(current === undefined ? given : `CASE WHEN ${current} THEN ${given} END`);
    }
    const names = listOf(resource.version ? [...given, resource.version] : given);
    return `(${names}) VALUES (${parameters.join(', ')})`;
  }

  #raised({ stored }: Column, table: string): string {
    return `${quote(stored)} = ${table}.${quote(stored)} + 1`;
  }

  #words({ do: what, resource, rows }: StaleWords, table: string): string {
    const { kept, stale, mend } = this.#dialect.words;
    const { key } = resource;
    if (!kept) {
      const keys = this.conditions.listed(
        rows.map((row) => row[key.name]),
        key,
      );
      return (what === 'stale words' ? stale : mend)?.(resource, keys) ?? '';
    }
    const columns = kept.columns(resource);
    const fresh = rows.map((row) => ({ [key.name]: row[key.name], ...kept.of(resource, row) }));
    const values = `${this.conditions.values([key, ...columns], fresh)} AS "_new"`;
    const same = `${table}.${quote(key.stored)} = "_new".${quote(key.stored)}`;
    if (what === 'mend words') {
      const set = columns.map(({ stored }) => `${quote(stored)} = "_new".${quote(stored)}`);
      return `UPDATE ${table} SET ${set.join(', ')} FROM ${values} WHERE ${same}`;
    }
    const differs = columns.map(
      ({ stored }) => `${table}.${quote(stored)} IS DISTINCT FROM "_new".${quote(stored)}`,
    );
    const selected = `${table}.${quote(key.stored)} AS ${quote(key.name)}`;
    return `SELECT ${selected} FROM ${table} JOIN ${values} ON ${same} WHERE ${differs.join(' OR ')}`;
  }

  /** What an update sets where it changes a field that is searched, and where it takes it from. */
  #changedWords(
    { resource, set, next }: Update,
    table: string,
  ): Record<'from' | 'condition', string> & { readonly set: string[] } {
    const { kept } = this.#dialect.words;
    const columns = kept?.columns(resource) ?? [];
    const none = { set: [], from: '', condition: '' };
    const { searched } = resource as Resource;
    if (!kept || columns.length === 0 || !searched.some(({ name }) => Object.hasOwn(set, name))) return none;
    if (!next) throw new Error(`an update of ${resource.name} does not say what its words hang on`);
    const { key } = resource;
    const rows = next.map((row) => ({ [key.name]: row[key.name], ...kept.of(resource as Resource, row) }));
    const values = this.conditions.values([key, ...columns], rows);
    const assigned = columns.map(({ stored }) => `${quote(stored)} = "_words".${quote(stored)}`);
    // Under a name that no column of the table has, which the answer would be of.
    return {
      set: assigned,
      from: ` FROM (SELECT ${quote(key.stored)} AS "_key", ${listOf(columns)} FROM ${values} AS "_given") AS "_words"`,
      condition: `${table}.${quote(key.stored)} = "_words"."_key" AND `,
    };
  }

  #assignments(resource: Table, values: Row, added: Row | undefined, table: string): string[] {
    return writtenColumns(resource).flatMap((column) => {
      const { name, stored } = column;
      const assign = (before: string, value: unknown) =>
        `${quote(stored)} = ${before}${this.conditions.parameter(column, value)}`;
      if (Object.hasOwn(values, name)) return [assign('', values[name])];
      return added && Object.hasOwn(added, name) ? [assign(`${table}.${quote(stored)} + `, added[name])] : [];
    });
  }
}

function listOf(columns: readonly Column[]): string {
  return columns.map(({ stored }) => quote(stored)).join(', ');
}
