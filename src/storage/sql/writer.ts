/** Writes one statement, and collects its parameters. */

import { ownColumns } from '../../query/filter.ts';
import type { Column, Resource } from '../../schema/model.ts';
import { comparedBy, keptColumns, storedColumns, writtenColumns } from '../../schema/values.ts';
import { changes, graves, newChanges } from '../own.ts';
import type {
  Filled,
  InsertEach,
  Row,
  StaleWords,
  Statement,
  Table,
  Update,
  UpdateEach,
} from '../statements.ts';
import { Conditions } from './conditions.ts';
import { type Dialect, quote } from './dialect.ts';
import { columnOf } from './joined.ts';
import { type ListColumns, Queries } from './queries.ts';
import { positionAt, stampingOf } from './stamping.ts';

/** What the changes of new records of one type do not have in common, under names that no column of a record has. */
const ownOfChanges = newChanges.columns
  .filter(({ name }) => ['at', 'caller', 'requestId', 'transaction'].includes(name))
  .map((column) => ({ ...column, name: `_${column.name}`, stored: `_${column.stored}` }));

function withChange(row: Row, { at, caller, requestId, transaction }: Row): Row {
  return { ...row, _at: at, _caller: caller, _requestId: requestId, _transaction: transaction };
}

export class Writer {
  readonly conditions: Conditions;
  readonly #dialect: Dialect;
  readonly #list: ListColumns;
  readonly queries: Queries;

  constructor(dialect: Dialect, list: ListColumns) {
    this.#dialect = dialect;
    this.conditions = new Conditions(dialect);
    this.#list = list;
    this.queries = new Queries(dialect, this.conditions, list);
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
      case 'aggregate':
        return this.queries.write(statement);
      case 'match': {
        const { where, rows } = statement;
        const used = [...ownColumns(where, statement.resource)].flatMap((column) =>
          column.folded ? [column, column.folded] : [column],
        );
        // A filter that asks nothing of the row itself still answers for each.
        const values = this.conditions.values(used.length > 0 ? used : [resource.key], rows);
        return `SELECT "_row" AS "row" FROM ${values} AS "_new"${this.conditions.ofRows(' WHERE ', [this.conditions.condition(where, '"_new"')], '"_new"', '_row')}`;
      }
      case 'insert': {
        const { values, version, change } = statement;
        const insert = `INSERT INTO ${table} ${this.#values(resource, values, version, current())}${this.#dialect.answersInserts ? returning() : ''}`;
        return change ? this.#withChange(resource, insert, change()) : insert;
      }
      case 'insert each':
        return this.#insertEach(statement, current());
      case 'update each':
        return this.#updateEach(statement, ifCurrent('AND'));
      case 'insert all': {
        const { kept } = this.#dialect.words;
        const words = kept?.columns(resource) ?? [];
        const columns = words.length > 0 ? [...keptColumns(resource), ...words] : keptColumns(resource);
        const withWords = (row: Row) => ({ ...row, ...kept?.of(resource as Resource, row) });
        const given = words.length > 0 ? statement.rows.map(withWords) : statement.rows;
        const [row] = given;
        const one = (column: Column) => this.conditions.parameter(column, row?.[column.name] ?? null);
        // A list of values takes longer than a value, to send and to read.
        const rows =
          given.length === 1 && !statement.claims
            ? `SELECT ${columns.map(one).join(', ')}`
            : this.conditions.rows(columns, given);
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
        const each = this.#setOfEach(statement, table);
        set.push(...each.set);
        // Rows are found first, and changed afterwards.
        const visit = this.#dialect.visit(`${table}.${quote(resource.key.stored)}`, ' * ');
        if (statement.counts && version) set.push(`${this.#raised(version, table)}${visit}`);
        // The rows that values are taken from name their records already: SQLite would look through all of them for each.
        const where =
          each.from !== '' && namesAll(statement)
            ? 'TRUE'
            : this.conditions.condition(statement.where, table);
        const guard =
          statement.ifVersion === undefined || !version
            ? ''
            : ` AND ${quote(version.stored)} = ${this.conditions.parameter(version, statement.ifVersion)}`;
        return `UPDATE ${table} SET ${set.join(', ')}${each.from} WHERE ${each.condition}${where}${guard}${ifCurrent('AND')}${statement.isSilent ? '' : returning()}`;
      }
      case 'delete': {
        const { where, first } = statement;
        const condition = this.conditions.condition(where, table);
        if (!first) {
          const visit = this.#dialect.visit(quote(resource.key.stored), ', ');
          const keys = statement.tellsKeys
            ? ` RETURNING ${this.#list([statement.resource.key])}${visit}`
            : '';
          return `DELETE FROM ${table} WHERE ${condition}${ifCurrent('AND')}${keys}`;
        }
        const key = listOf(resource.primary ?? [resource.key]);
        const order = this.queries.order(first.order, table);
        return `DELETE FROM ${table} WHERE (${key}) IN (SELECT ${key} FROM ${table} WHERE ${condition} ORDER BY ${order} LIMIT ${first.limit})${ifCurrent('AND')}`;
      }
      case 'bury': {
        const { key, version } = statement.resource;
        const values = [this.conditions.parameter(graves.column.table, resource.table)];
        for (const { stored } of [key, version]) values.push(`${table}.${quote(stored)}`);
        const condition = this.conditions.condition(statement.where, table);
        const where = this.conditions.ofRows(' WHERE ', [condition], table, key.stored);
        const higher = `"version" = excluded."version" WHERE excluded."version" > ${quote(graves.table)}."version"`;
        return `INSERT INTO ${quote(graves.table)} (${listOf(graves.columns)}) SELECT ${values.join(', ')} FROM ${table}${where} ON CONFLICT (${listOf(graves.primary)}) DO UPDATE SET ${higher}`;
      }
      case 'stale words':
      case 'mend words':
        return this.#words(statement, table);
      case 'clock':
        return `SELECT ${this.#dialect.clock} AS "now"`;
      case 'last id':
        return this.#dialect.lastId(statement.resource);
      case 'raise last id':
        return this.#dialect.raiseLastId(
          statement.resource,
          this.conditions.parameter(resource.key, statement.to),
        );
    }
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

  /** Keys are given before the rows are stored, so that each row is known by its own, whatever the database does with the others. */
  #insertEach({ resource, rows, changes: noted, stamps }: InsertEach, current: string | undefined): string {
    const { key, version } = resource;
    const own = writtenColumns(resource).filter((column) => column !== key);
    const columns = noted ? [...own, ...ownOfChanges] : own;
    const given = noted ? rows.map((row, index) => withChange(row, noted[index] ?? {})) : rows;
    const keyed = `SELECT ${this.#dialect.nextId?.(resource)} AS "_key", * FROM ${this.conditions.values(columns, given)} AS "_new"`;
    const first = current === undefined ? '1' : `CASE WHEN ${current} THEN 1 END`;
    const insert = `INSERT INTO ${quote(resource.table)} (${listOf([key, ...own, version])}) SELECT ${['"_key"', ...own.map(({ stored }) => quote(stored)), first].join(', ')} FROM "_given" RETURNING ${this.#list(storedColumns(resource))}`;
    const stamping = stamps ? `, ${stampingOf('"_given"')}` : '';
    const note = noted ? `${stamping}, "_noted" AS (${this.#noteEach(resource, noted, stamps)})` : '';
    return `WITH "_given" AS MATERIALIZED (${keyed}), "_made" AS (${insert})${note} SELECT "_made".* FROM "_given" LEFT JOIN "_made" ON "_made".${quote(key.name)} = "_given"."_key" ORDER BY "_row"`;
  }

  /** Whoever locks no row that somebody else has waits for nobody, and nobody for it in turn. */
  #updateEach({ resource, columns, rows }: UpdateEach, ifCurrent: string): string {
    const { key, version } = resource;
    const table = quote(resource.table);
    const of = columnOf(key, table);
    const given = `SELECT * FROM ${this.conditions.values([key, ...columns], rows)} AS "_values"`;
    const keys = this.conditions.listed(
      rows.map((row) => row[key.name]),
      key,
    );
    const free = `SELECT ${of} AS "_key" FROM ${table} WHERE ${this.#dialect.among(of, keys)} FOR NO KEY UPDATE SKIP LOCKED`;
    const set = columns.map(({ stored }) => `${quote(stored)} = "_new".${quote(stored)}`);
    const same = `${of} = "_free"."_key" AND ${of} = "_new".${quote(key.stored)}`;
    const update = `UPDATE ${table} SET ${[...set, this.#raised(version, table)].join(', ')} FROM "_free", "_new" WHERE ${same}${ifCurrent} RETURNING ${this.#list(storedColumns(resource), table)}`;
    const answer = `SELECT "_made".* FROM "_new" LEFT JOIN "_made" ON "_made".${quote(key.name)} = "_new".${quote(key.stored)} ORDER BY "_row"`;
    return `WITH "_new" AS MATERIALIZED (${given}), "_free" AS MATERIALIZED (${free}), "_made" AS (${update}) ${answer}`;
  }

  #noteEach(resource: Table, [change = {}]: readonly Row[], stamps: boolean): string {
    const { position } = changes.column;
    const columns = stamps ? [...newChanges.columns, position] : newChanges.columns;
    const note = this.#note(resource, columns, (column) => {
      if (column === position) return positionAt('"_row"');
      const own = quote(`_${column.stored}`);
      const isOwn = ownOfChanges.some(({ stored }) => quote(stored) === own);
      return isOwn ? `"_given".${own}` : this.conditions.parameter(column, change[column.name] ?? null);
    });
    return `${note} JOIN "_given" ON "_given"."_key" = "_made".${quote(resource.key.name)} ORDER BY "_row"`;
  }

  /** The record and its change at once; what hangs on the record is taken from what was stored. No stored name begins with `_`. */
  #withChange(resource: Table, insert: string, change: Row): string {
    const note = this.#note(resource, newChanges.columns, (column) =>
      this.conditions.parameter(column, change[column.name] ?? null),
    );
    return `WITH "_made" AS (${insert}), "_noted" AS (${note}) SELECT * FROM "_made"`;
  }

  #note({ key, columns }: Table, written: readonly Column[], given: (column: Column) => string): string {
    const stored: Readonly<Record<string, string | undefined>> = {
      key: `"_made".${quote(key.name)}::text`,
      after: this.#dialect.image?.(columns, '"_made"'),
    };
    const values = written.map((column) => stored[column.name] ?? given(column));
    return `INSERT INTO ${quote(newChanges.table)} (${listOf(written)}) SELECT ${values.join(', ')} FROM "_made"`;
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

  /** What an update sets of which each row has its own: words, where a field that is searched changes, and where it takes it from. */
  #setOfEach(
    { resource, set, next, own = [] }: Update,
    table: string,
  ): Record<'from' | 'condition', string> & { readonly set: string[] } {
    const { kept } = this.#dialect.words;
    const kinds = kept?.columns(resource) ?? [];
    const isSearched = (column: Column) => Object.hasOwn(set, column.name) || own.includes(column);
    const words = kinds.length > 0 && (resource as Resource).searched.some(isSearched) ? kinds : [];
    const columns = [...words, ...own];
    if (columns.length === 0) return { set: [], from: '', condition: '' };
    if (!next) throw new Error(`an update of ${resource.name} does not say what its rows will be`);
    const { key } = resource;
    const rows =
      words.length > 0 ? next.map((row) => ({ ...row, ...kept?.of(resource as Resource, row) })) : next;
    const values = this.conditions.values([key, ...columns], rows);
    // Under names that no column of the table has, which the answer would be of.
    const named = columns.map(({ stored }, index) => `${quote(stored)} AS "_${index}"`);
    return {
      set: columns.map(({ stored }, index) => `${quote(stored)} = "_each"."_${index}"`),
      from: ` FROM (SELECT ${quote(key.stored)} AS "_key", ${named.join(', ')} FROM ${values} AS "_given") AS "_each"`,
      condition: `${table}.${quote(key.stored)} = "_each"."_key" AND `,
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

/** Whether it is about the records whose rows it brings along, and no others. */
function namesAll({ resource, where, next }: Update): boolean {
  return where.is === 'in' && where.column === resource.key && where.values.length === next?.length;
}

function listOf(columns: readonly Column[]): string {
  return columns.map(({ stored }) => quote(stored)).join(', ');
}
