/** Model → the statements that make its tables, columns and indexes. */

import type { Column, Reference, Resource } from '../../schema/model.ts';
import { comparedBy, defaultOf, keptColumns } from '../../schema/values.ts';
import {
  answers,
  apiKeys,
  changes,
  duties,
  graves,
  history,
  jobs,
  marks,
  type OwnTable,
  schedules,
  webhooks,
} from '../own.ts';
import { codecOf, encoded } from '../sql/codec.ts';
import { literal, quote } from '../sql/dialect.ts';
import { indexName } from '../sql/index-names.ts';
import type { Ddl, Index } from './database.ts';

/** One row that nodes lock while they compare and change tables. */
export const LOCK = '_duet_lock';
/** When the deprecation of a field was first applied. */
export const DEPRECATED = '_duet_deprecated';

/** The keys of records that are written while a newer file is applied; there is no such table otherwise. */
export const WRITTEN = '_duet_written';

/** By age, so that those that have expired are found without a look at the others. */
const ANSWERS_BY_AGE = `${answers.table}_at`;
/** Those of a hook by when they are due, and by what they wait for each other. */
const JOBS_DUE = `${jobs.table}_due`;
const JOBS_IN_LANES = `${jobs.table}_lane`;

/** For the changes of a type, those of a record, and where positions are no key of their own, those of all. */
const CHANGES_BY_TYPE = `${changes.table}_type`;
const CHANGES_BY_RECORD = `${changes.table}_record`;
const CHANGES_BY_POSITION = `${changes.table}_position`;

/** Those that hold what belongs to records and callers, rather than to the schema. */
export const KEPT = [
  graves.table,
  answers.table,
  apiKeys.table,
  jobs.table,
  changes.table,
  marks.table,
  webhooks.table,
];

/** All that ownTables makes. */
export const OWN = [
  LOCK,
  history.table,
  DEPRECATED,
  graves.table,
  answers.table,
  ANSWERS_BY_AGE,
  apiKeys.table,
  duties.table,
  jobs.table,
  JOBS_DUE,
  JOBS_IN_LANES,
  schedules.table,
  changes.table,
  CHANGES_BY_TYPE,
  CHANGES_BY_RECORD,
  CHANGES_BY_POSITION,
  marks.table,
  webhooks.table,
];

/** Duet's own tables. They are made whether or not they exist: any node may be the first. */
export function ownTables(ddl: Ddl): string[] {
  const given = quote(ddl.stampsPositions ? 'position' : 'sequence');
  return [
    `CREATE TABLE IF NOT EXISTS ${quote(LOCK)} ("id" INTEGER NOT NULL PRIMARY KEY)`,
    `INSERT INTO ${quote(LOCK)} ("id") VALUES (1) ON CONFLICT ("id") DO NOTHING`,
    `CREATE TABLE IF NOT EXISTS ${quote(DEPRECATED)} ("field" TEXT NOT NULL PRIMARY KEY, "at" TEXT NOT NULL)`,
    ...[history, graves, answers, apiKeys, duties, jobs, schedules, changes, marks, webhooks].map(
      (own: OwnTable) => {
        const { table, kinds, primary, key } = own;
        const isCounted = key.origin.by === 'serial';
        const columns = Object.entries(kinds).map(([name, { sql }]) =>
          isCounted && name === key.name
            ? `${ddl.serialKey(own)}${ddl.primaryKey(own)}`
            : `${quote(name)} ${sql}`,
        );
        if (!isCounted)
          columns.push(`PRIMARY KEY (${primary.map(({ stored }) => quote(stored)).join(', ')})`);
        return `CREATE TABLE IF NOT EXISTS ${quote(table)} (${columns.join(', ')})`;
      },
    ),
    `CREATE INDEX IF NOT EXISTS ${quote(ANSWERS_BY_AGE)} ON ${quote(answers.table)} ("at")`,
    `CREATE INDEX IF NOT EXISTS ${quote(JOBS_DUE)} ON ${quote(jobs.table)} ("hook", "due", "id")`,
    `CREATE INDEX IF NOT EXISTS ${quote(JOBS_IN_LANES)} ON ${quote(jobs.table)} ("lane", "version")`,
    `CREATE INDEX IF NOT EXISTS ${quote(CHANGES_BY_TYPE)} ON ${quote(changes.table)} ("table", ${given})`,
    `CREATE INDEX IF NOT EXISTS ${quote(CHANGES_BY_RECORD)} ON ${quote(changes.table)} ("table", "key", "sequence")`,
    ...(ddl.stampsPositions
      ? [`CREATE INDEX IF NOT EXISTS ${quote(CHANGES_BY_POSITION)} ON ${quote(changes.table)} (${given})`]
      : []),
  ];
}

export function createTable(resource: Resource, ddl: Ddl): string {
  const columns = keptColumns(resource).map((column) => {
    const primary = column === resource.key ? ddl.primaryKey(resource) : '';
    if (column === resource.key && column.origin.by === 'serial')
      return `${ddl.serialKey(resource)}${primary}`;
    const reference = column.reference ? ddl.inlineReference(column.reference) : '';
    return `${quote(column.stored)} ${definitionOf(column, ddl)}${required(column, ddl)}${primary}${reference}`;
  });
  return `CREATE TABLE ${quote(resource.table)} (${columns.join(', ')})${ddl.tableOptions(resource)}`;
}

/** What a new column says of its type. */
export function definitionOf(column: Column, { codecs }: Ddl): string {
  const { type, definition = type } = codecOf(codecs, column);
  return definition;
}

/** A value as a literal, for a default. */
export function literalOf(column: Column, value: unknown, { codecs }: Ddl): string {
  const given = encoded(codecs, column, value);
  return typeof given === 'string' ? literal(given) : String(given);
}

/** What functions make is null until records that were there before have been given it. */
export function isNeverNull({ required, origin }: Column): boolean {
  return required && origin.by !== 'function';
}

/** The default is the database's too, for those who write the table without knowing the column. */
export function required(column: Column, ddl: Ddl): string {
  if (!isNeverNull(column)) return '';
  const value = defaultOf(column);
  return value === undefined ? ' NOT NULL' : ` NOT NULL DEFAULT ${literalOf(column, value, ddl)}`;
}

/** What a column, or a constraint, refers to. */
export function references({ target }: Reference): string {
  return `REFERENCES ${quote(target.table)} (${quote(target.key.stored)})`;
}

/** An index that the file asks for. Its name follows from the rest, so that the same one is never made twice. */
export interface IndexPlan extends Index {
  readonly name: string;
  readonly resource: Resource;
  /** As the file says. */
  readonly columns: readonly Column[];
  /** With the key at the end, so that rows of one value come in the order of their keys. */
  readonly ordered: readonly Column[];
}

/** Each index once, however often the file asks for it. */
export function indexesOf(resource: Resource): IndexPlan[] {
  const plan = (given: readonly Column[], why: 'unique' | 'reference' | 'index'): IndexPlan => {
    const columns = given.map(comparedBy);
    const unique = why === 'unique';
    const ordered = unique || columns.includes(resource.key) ? columns : [...columns, resource.key];
    const parts = ordered.map(({ stored }) => quote(stored));
    return {
      name: indexName(resource, columns, why),
      resource,
      columns,
      ordered,
      parts,
      unique,
      kind: 'btree',
    };
  };
  const plans = [
    ...resource.uniques.map(({ columns }) => plan(columns, 'unique')),
    ...resource.references.map(({ column }) => plan([column], 'reference')),
    ...resource.indexes.map(({ columns }) => plan(columns, 'index')),
  ];
  return [...new Map(plans.map((each) => [each.name, each])).values()];
}

/** Those that are built before the file is applied that asks for them, if it does: of text without letter case, unique by itself. */
export function uniquesAhead(resource: Resource): IndexPlan[] {
  const uniques = resource.columns.flatMap((column) =>
    column.folded ? [{ columns: [column], place: column.place }] : [],
  );
  return indexesOf({ ...resource, uniques, references: [], indexes: [] });
}

/** Those that the file asks for, and what records are found by their words with. */
export function allIndexesOf(resource: Resource, ddl: Ddl): IndexPlan[] {
  const words = ddl.columnOfWords(resource);
  if (!words) return indexesOf(resource);
  const columns = [words];
  const plan: IndexPlan = {
    name: indexName(resource, columns, 'search'),
    resource,
    columns,
    ordered: columns,
    parts: [quote(words.stored)],
    unique: false,
    kind: 'gin',
  };
  return [...indexesOf(resource), plan];
}

export function isSame(one: Index, other: Index): boolean {
  return one.kind === other.kind && one.unique === other.unique && Bun.deepEquals(one.parts, other.parts);
}

export function createIndex(
  { name, resource, ordered, parts, unique, kind }: IndexPlan,
  ddl: Ddl,
  how: '' | ' CONCURRENTLY',
): string {
  const create = `CREATE ${unique ? 'UNIQUE ' : ''}INDEX${how} ${quote(name)} ON ${quote(resource.table)}`;
  // It has no order.
  if (kind === 'gin') return `${create} USING gin (${parts.join(', ')})`;
  return `${create} (${ordered.map((column) => ddl.indexed(column)).join(', ')})`;
}
