/** Model → the tables and indexes of an SQLite database. */

import type { Column, Model, Resource } from '../schema/model.ts';
import { MAX_KEY, type Scalar } from '../schema/scalars.ts';
import { isScalar } from '../schema/values.ts';
import { BURIED, quote } from './compile.ts';
import { indexName } from './index-names.ts';

/** Holds facts about the database itself. */
export const META = '_duet_meta';

const types: Record<Scalar['stored'], string> = {
  integer: 'INTEGER',
  float: 'REAL',
  boolean: 'INTEGER',
  text: 'TEXT',
  json: 'TEXT',
};

export function tables(model: Model): string[] {
  return [
    `CREATE TABLE ${quote(META)} ("name" TEXT NOT NULL PRIMARY KEY, "value" TEXT NOT NULL) STRICT, WITHOUT ROWID`,
    `CREATE TABLE ${quote(BURIED)} ("table" TEXT NOT NULL, "key" TEXT NOT NULL, "version" INTEGER NOT NULL, PRIMARY KEY ("table", "key")) STRICT, WITHOUT ROWID`,
    ...model.resources.map(tableOf),
  ];
}

function tableOf(resource: Resource): string {
  const serial = resource.key.origin.by === 'serial';
  const columns = [...resource.columns, resource.version].map((column) => definitionOf(column, resource));
  return `CREATE TABLE ${quote(resource.table)} (${columns.join(', ')}) STRICT${serial ? '' : ', WITHOUT ROWID'}`;
}

function definitionOf(column: Column, { key }: Resource): string {
  const name = quote(column.stored);
  const type = column.list || !isScalar(column.type) ? 'TEXT' : types[column.type.stored];
  // AUTOINCREMENT: an id is never given twice, not even that of a deleted last row.
  if (column === key && column.origin.by === 'serial')
    return `${name} INTEGER PRIMARY KEY AUTOINCREMENT CHECK (${name} BETWEEN 1 AND ${MAX_KEY})`;
  const required = column.required ? ' NOT NULL' : '';
  const target = column.reference?.target;
  const reference = target ? ` REFERENCES ${quote(target.table)} (${quote(target.key.stored)})` : '';
  return `${name} ${type}${required}${column === key ? ' PRIMARY KEY' : ''}${reference}`;
}

/** An index on a reference also holds the key: SQLite ends every index entry with it. */
export function indexes(model: Model): string[] {
  return model.resources.flatMap((resource) => [
    ...resource.uniques.map(({ columns }) => indexOf(resource, columns, 'unique')),
    ...resource.references.map(({ column }) => indexOf(resource, [column], 'reference')),
    ...resource.indexes.map(({ columns }) => indexOf(resource, columns, 'index')),
  ]);
}

function indexOf(
  resource: Resource,
  columns: readonly Column[],
  kind: 'unique' | 'index' | 'reference',
): string {
  const list = columns.map(({ stored }) => quote(stored)).join(', ');
  const create = kind === 'unique' ? 'CREATE UNIQUE INDEX' : 'CREATE INDEX';
  return `${create} IF NOT EXISTS ${quote(indexName(resource, columns, kind))} ON ${quote(resource.table)} (${list})`;
}
