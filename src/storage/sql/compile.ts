/** Statement → SQL text and parameters, for any dialect. */

import { ownColumns } from '../../query/filter.ts';
import { reversed } from '../../query/order.ts';
import type { Column, Resource } from '../../schema/model.ts';
import { storedColumns } from '../../schema/values.ts';
import type {
  Aggregate,
  Filled,
  OnAnswers,
  OnKeys,
  OnRemains,
  OnResource,
  Row,
  Select,
  Statement,
} from '../storage.ts';
import { Conditions } from './conditions.ts';
import { ANSWERS, BURIED, type Compiled, type Dialect, KEYS, quote } from './dialect.ts';
import { heavyOf } from './heavy.ts';
import { Insertions } from './insertions.ts';

/** A compiled Select whose open values are still to be filled in. */
export interface Template {
  readonly sql: string;
  readonly columns: readonly Column[];
  readonly open: Conditions;
}

export function parametersOf({ open }: Template, value: unknown): readonly unknown[] {
  if (open.openAt === undefined) return open.parameters;
  const parameters = open.parameters.slice();
  parameters[open.openAt] = open.encode(value);
  return parameters;
}

export class Compiler {
  readonly #dialect: Dialect;
  readonly #templates = new WeakMap<Select, Template>();
  readonly #insertions: Insertions;
  readonly #lists = new WeakMap<readonly Column[], string>();

  constructor(dialect: Dialect) {
    this.#dialect = dialect;
    this.#insertions = new Insertions(dialect, (insert) => this.#compile(insert).sql);
  }

  compile(statement: Statement): Compiled {
    if (statement.do === 'filled') {
      const template = this.template(statement.select);
      const { sql, columns } = template;
      return { sql, parameters: parametersOf(template, statement.value), columns };
    }
    if (statement.do === 'insert') return this.#insertions.compile(statement);
    const { sql, columns, open } = this.#compile(statement);
    return { sql, columns, parameters: open.parameters };
  }

  template(select: Select): Template {
    let template = this.#templates.get(select);
    if (!template) {
      template = this.#compile(select);
      this.#templates.set(select, template);
    }
    return template;
  }

  #compile(statement: Exclude<Statement, Filled>): Template {
    const writer = this.writer();
    return { sql: writer.write(statement), columns: answers(statement), open: writer.conditions };
  }

  writer(): Writer {
    return new Writer(this.#dialect, (columns) => this.#columnList(columns));
  }

  #columnList(columns: readonly Column[]): string {
    let text = this.#lists.get(columns);
    if (text === undefined) {
      text = columns
        .map((column) => {
          const quoted = quote(column.stored);
          const read = this.#dialect.read(column, quoted);
          return column.stored === column.name && read === quoted
            ? quoted
            : `${read} AS ${quote(column.name)}`;
        })
        .join(', ');
      this.#lists.set(columns, text);
    }
    return text;
  }
}

function answers(statement: Exclude<Statement, Filled>): readonly Column[] {
  if (statement.do === 'select') return statement.columns;
  if (statement.do === 'aggregate')
    return [
      ...statement.by,
      // Counts and sums are numbers whatever they count; the others are values of their column.
      ...statement.measures.flatMap(({ as, of, column }) =>
        column && of !== 'count' ? [{ ...column, name: as }] : [],
      ),
    ];
  return statement.do === 'insert' || statement.do === 'update' ? storedColumns(statement.resource) : [];
}

function namesOf(statement: Select | Aggregate): string[] {
  if (statement.do === 'select') return statement.columns.map(({ name }) => name);
  return [...statement.by.map(({ name }) => name), ...statement.measures.map(({ as }) => as)];
}

const higherVersionStays = `ON CONFLICT ("table", "key") DO UPDATE SET "version" = excluded."version" WHERE excluded."version" > ${quote(BURIED)}."version"`;

/** Writes one statement. */
export class Writer {
  readonly conditions: Conditions;
  readonly #dialect: Dialect;
  readonly #list: (columns: readonly Column[]) => string;

  constructor(dialect: Dialect, list: (columns: readonly Column[]) => string) {
    this.#dialect = dialect;
    this.conditions = new Conditions(dialect);
    this.#list = list;
  }

  write(statement: Exclude<Statement, Filled>): string {
    switch (statement.do) {
      case 'last id':
      case 'raise last id':
      case 'buried':
      case 'bury key':
        return this.#onRemains(statement);
      case 'keep key':
      case 'find key':
      case 'list keys':
      case 'revoke key':
        return this.#onKeys(statement);
      default:
        return 'resource' in statement ? this.#onResource(statement) : this.#onAnswers(statement);
    }
  }

  #onKeys(statement: OnKeys): string {
    const table = quote(KEYS);
    switch (statement.do) {
      case 'keep key': {
        const { name, hash, roles, at } = statement;
        const values = [name, hash, roles, at].map((value) => this.conditions.text(value)).join(', ');
        const renewed =
          '"hash" = excluded."hash", "roles" = excluded."roles", "at" = excluded."at", "revoked" = NULL';
        return `INSERT INTO ${table} ("name", "hash", "roles", "at") VALUES (${values}) ON CONFLICT ("name") DO UPDATE SET ${renewed} WHERE ${table}."revoked" IS NOT NULL RETURNING 1 AS "kept"`;
      }
      case 'find key':
        return `SELECT "name", "roles" FROM ${table} WHERE "hash" = ${this.conditions.text(statement.hash)} AND "revoked" IS NULL`;
      case 'list keys':
        return `SELECT "name", "roles", "at", "revoked" FROM ${table} ORDER BY "name"`;
      case 'revoke key':
        return `UPDATE ${table} SET "revoked" = ${this.conditions.text(statement.at)} WHERE "name" = ${this.conditions.text(statement.name)} AND "revoked" IS NULL RETURNING 1 AS "done"`;
    }
  }

  #onRemains(statement: OnRemains): string {
    const { resource } = statement;
    const buried = quote(BURIED);
    switch (statement.do) {
      case 'last id':
        return this.#dialect.lastId(resource);
      case 'raise last id':
        return this.#dialect.raiseLastId(resource, this.conditions.parameter(resource.key, statement.to));
      case 'buried': {
        const key = `${buried}."key"${this.#dialect.byCodePoint}`;
        const own = `${buried}."table" = ${this.conditions.text(resource.table)} AND ${buried}."version" > 0`;
        const table = quote(resource.table);
        const gone = `NOT EXISTS (SELECT 1 FROM ${table} WHERE ${table}.${quote(resource.key.stored)} = ${key})`;
        const { after } = statement;
        const beyond = after === undefined ? '' : ` AND ${key} > ${this.conditions.text(after)}`;
        return `SELECT "key", "version" FROM ${buried} WHERE ${own} AND ${gone}${beyond} ORDER BY ${key} LIMIT ${statement.limit}`;
      }
      case 'bury key': {
        const { key, version } = statement;
        const values = [
          this.conditions.text(resource.table),
          this.conditions.text(key),
          this.conditions.parameter(resource.version, version),
        ];
        return `INSERT INTO ${buried} ("table", "key", "version") VALUES (${values.join(', ')}) ${higherVersionStays}`;
      }
    }
  }

  #onAnswers(statement: OnAnswers): string {
    const table = quote(ANSWERS);
    if (statement.do === 'forget answers')
      return `DELETE FROM ${table} WHERE ("caller", "key") IN (SELECT "caller", "key" FROM ${table} WHERE "at" < ${this.conditions.text(statement.expired)} ORDER BY "at" LIMIT ${statement.most})`;
    const one = () =>
      `"caller" = ${this.conditions.text(statement.caller)} AND "key" = ${this.conditions.text(statement.key)}`;
    switch (statement.do) {
      case 'recall answer':
        return `SELECT "request", "answer" FROM ${table} WHERE ${one()}`;
      case 'keep answer':
        return `UPDATE ${table} SET "answer" = ${this.conditions.text(statement.answer)} WHERE ${one()}`;
      case 'claim answer': {
        const { caller, key, request, at, expired } = statement;
        const values = [caller, key, request, at].map((value) => this.conditions.text(value)).join(', ');
        const renewed = '"request" = excluded."request", "answer" = NULL, "at" = excluded."at"';
        return `INSERT INTO ${table} ("caller", "key", "request", "at") VALUES (${values}) ON CONFLICT ("caller", "key") DO UPDATE SET ${renewed} WHERE ${table}."at" < ${this.conditions.text(expired)} RETURNING 1 AS "claimed"`;
      }
    }
  }

  #onResource(statement: OnResource): string {
    const { resource } = statement;
    const table = quote(resource.table);
    const returning = () => ` RETURNING ${this.#list(storedColumns(resource))}`;
    switch (statement.do) {
      case 'select':
        return this.#within(statement, this.select(statement));
      case 'match': {
        const { where, rows } = statement;
        const used = [...ownColumns(where, resource)];
        // A filter that asks nothing of the row itself still answers for each.
        const values = this.conditions.values(used.length > 0 ? used : [resource.key], rows);
        return `SELECT "_row" AS "row" FROM ${values} AS "_new" WHERE ${this.conditions.condition(where, '"_new"')}`;
      }
      case 'aggregate':
        return this.#within(statement, this.#aggregate(statement, table));
      case 'insert':
        return `INSERT INTO ${table} ${this.#values(resource, statement.values, statement.version)}${this.#dialect.answersInserts ? returning() : ''}`;
      case 'update': {
        const version = quote(resource.version.stored);
        const set = this.#assignments(resource, statement.set);
        if (statement.counts) set.push(`${version} = ${version} + 1`);
        const where = this.conditions.condition(statement.where, table);
        const guard =
          statement.ifVersion === undefined
            ? ''
            : ` AND ${version} = ${this.conditions.parameter(resource.version, statement.ifVersion)}`;
        return `UPDATE ${table} SET ${set.join(', ')} WHERE ${where}${guard}${statement.isSilent ? '' : returning()}`;
      }
      case 'delete':
        return `DELETE FROM ${table} WHERE ${this.conditions.condition(statement.where, table)}`;
      case 'claim': {
        const values = `${this.conditions.text(resource.table)}, ${this.conditions.parameter(resource.key, statement.key)}, 0`;
        const own = `${quote(BURIED)}."version"`;
        return `INSERT INTO ${quote(BURIED)} ("table", "key", "version") VALUES (${values}) ON CONFLICT ("table", "key") DO UPDATE SET "version" = ${own} RETURNING "version"`;
      }
      case 'bury': {
        const key = `${table}.${quote(resource.key.stored)}`;
        const version = `${table}.${quote(resource.version.stored)}`;
        return `INSERT INTO ${quote(BURIED)} ("table", "key", "version") SELECT ${this.conditions.text(resource.table)}, ${key}, ${version} FROM ${table} WHERE ${this.conditions.condition(statement.where, table)} ${higherVersionStays}`;
      }
    }
  }

  #within(statement: Select | Aggregate, sql: string): string {
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
    // Qualified: a bare name would mean another column whose answer has been given this name.
    const ordered = (alias: string) =>
      order
        .map(({ column, descending }) =>
          this.#ordered(`${alias}.${quote(column.stored)}`, column, descending),
        )
        .join(', ');
    if (list && limit !== undefined)
      return this.#dialect.perValue({
        columns: this.#list(columns),
        table,
        key: quote(resource.key.stored),
        list,
        near: (alias) => `${alias}.${quote(per.column.stored)}`,
        condition: (alias) =>
          conditions(alias)
            .map((each) => ` AND ${each}`)
            .join(''),
        order: ordered,
        limit,
        most: statement.most === undefined ? '' : ` LIMIT ${statement.most}`,
      });
    const all = [
      ...(list ? [this.#dialect.among(`${table}.${quote(per.column.stored)}`, list)] : []),
      ...conditions(table),
    ];
    const condition = all.length > 0 ? ` WHERE ${all.join(' AND ')}` : '';
    const fewest = Math.min(limit ?? Number.POSITIVE_INFINITY, statement.most ?? Number.POSITIVE_INFINITY);
    const most = Number.isFinite(fewest) ? ` LIMIT ${fewest}` : '';
    const single = where?.is === 'eq' && where.column === resource.key;
    // One parent after the other, as the index has them: their order among each other is nobody's concern.
    const parents =
      per && per.column !== resource.key
        ? `${this.#ordered(`${table}.${quote(per.column.stored)}`, per.column, false)}, `
        : '';
    const inOrder = single ? '' : ` ORDER BY ${parents}${ordered(table)}`;
    return `SELECT ${this.#list(columns)} FROM ${table}${condition}${inOrder}${most}${lock ? this.#dialect.lock : ''}`;
  }

  #ordered(quoted: string, column: Column, descending: boolean): string {
    return this.#dialect.order(quoted, column, descending);
  }

  #aggregate({ resource, where, by, measures, limit }: Aggregate, table: string): string {
    const groups = by.map(({ stored }) => `${table}.${quote(stored)}`);
    const selected = [
      ...(by.length > 0 ? [this.#list(by)] : []),
      ...measures.map(({ as, of, column }) => {
        const quoted = column ? `${table}.${quote(column.stored)}` : '*';
        if (!column || of === 'count') return `${this.#dialect.count(quoted)} AS ${quote(as)}`;
        if (of === 'sum') return `${this.#dialect.sum(quoted, column)} AS ${quote(as)}`;
        return `${this.#dialect.read(column, this.#dialect.extreme(of, quoted, column))} AS ${quote(as)}`;
      }),
    ];
    const condition = where ? ` WHERE ${this.conditions.condition(where, table)}` : '';
    const order = by.map((column, index) => this.#ordered(groups[index] ?? '', column, false));
    const grouped = by.length > 0 ? ` GROUP BY ${groups.join(', ')} ORDER BY ${order.join(', ')}` : '';
    const most = limit === undefined ? '' : ` LIMIT ${limit}`;
    return `SELECT ${selected.join(', ')} FROM ${quote(resource.table)}${condition}${grouped}${most}`;
  }

  #values(resource: Resource, values: Row, version: number): string {
    const given = resource.columns.filter(({ name }) => Object.hasOwn(values, name));
    const names = [...given, resource.version].map(({ stored }) => quote(stored));
    const parameters = given.map((column) => this.conditions.parameter(column, values[column.name]));
    parameters.push(this.conditions.parameter(resource.version, version));
    return `(${names.join(', ')}) VALUES (${parameters.join(', ')})`;
  }

  #assignments(resource: Resource, values: Row): string[] {
    return resource.columns
      .filter(({ name }) => Object.hasOwn(values, name))
      .map((column) => `${quote(column.stored)} = ${this.conditions.parameter(column, values[column.name])}`);
  }
}
