/** How SQLite writes its tables down, and how it tells what it has. */

import { MAX_KEY } from '../../schema/scalars.ts';
import { defaultOf, scaleOf } from '../../schema/values.ts';
import { type Ddl, shapesOf } from '../evolve/database.ts';
import { literalOf, references } from '../evolve/tables.ts';
import { codecOf } from '../sql/codec.ts';
import { quote } from '../sql/dialect.ts';
import { codecs } from './codecs.ts';
import { dialect } from './dialect.ts';
import { createWords, dropWords, NAMES } from './words.ts';
import { beginWriteLog, endWriteLog } from './write-log.ts';

/** No stored name begins with `_`. */
const WIDER = '_wider';

export const sqliteDdl: Ddl = {
  codecs,
  indexed: ({ stored }) => quote(stored),
  serialKey: ({ key }) => {
    const name = quote(key.stored);
    return `${name} INTEGER CHECK (${name} BETWEEN 1 AND ${MAX_KEY})`;
  },
  // AUTOINCREMENT: an id is never given twice, not even that of a deleted last row.
  primaryKey: ({ key }) => (key.origin.by === 'serial' ? ' PRIMARY KEY AUTOINCREMENT' : ' PRIMARY KEY'),
  // A reference cannot be added to a table afterwards, but the table that it names need not exist yet.
  inlineReference: (reference) => ` ${references(reference)}`,
  addReference: () => [],
  tableOptions: ({ key }) => (key.origin.by === 'serial' ? ' STRICT' : ' STRICT, WITHOUT ROWID'),
  // Deferred: rows may dangle until the last of the tables is gone.
  dropTables: (tables) => [
    'PRAGMA defer_foreign_keys = ON',
    ...tables.map((table) => `DROP TABLE ${quote(table)}`),
  ],
  emptying: () => [],
  keepWords: createWords,
  dropWords,
  clock: dialect.clock,
  beginWriteLog,
  endWriteLog,
  columnOfWords: () => undefined,
  stampsPositions: false,
  keepsWritersOut: true,
  buildsIndexesConcurrently: false,
  keepsUnits: true,

  // There is no other type for a column: another column takes its place, and its indexes are made again.
  async widen(session, { resource, column, from, required }) {
    const table = quote(resource.table);
    const [old, name] = [quote(column.stored), quote(WIDER)];
    const indexes = await session.query(
      `SELECT "name", "sql" FROM "sqlite_schema" WHERE "type" = 'index' AND "tbl_name" = $1 AND EXISTS (SELECT 1 FROM pragma_index_info("sqlite_schema"."name") i WHERE i."name" = $2)`,
      [resource.table, column.stored],
    );
    const value = defaultOf(column);
    const isFilled = required && value !== undefined;
    const fill = isFilled ? ` NOT NULL DEFAULT ${literalOf(column, value, sqliteDdl)}` : '';
    const more = 10n ** BigInt(scaleOf(column) - scaleOf(from));
    for (const sql of [
      ...indexes.map((index) => `DROP INDEX ${quote(String(index['name']))}`),
      `ALTER TABLE ${table} ADD COLUMN ${name} ${codecOf(codecs, column).type}${fill}`,
      `UPDATE ${table} SET ${name} = ${old} * ${more}`,
      `ALTER TABLE ${table} DROP COLUMN ${old}`,
      `ALTER TABLE ${table} RENAME COLUMN ${name} TO ${old}`,
      ...(required && !isFilled ? [`ALTER TABLE ${table} ALTER COLUMN ${old} SET NOT NULL`] : []),
      ...indexes.map((index) => String(index['sql'])),
    ])
      await session.query(sql);
  },

  async otherNames(session) {
    const rows = await session.query(
      `SELECT "name", "type" FROM "sqlite_schema" WHERE "type" IN ('view', 'index')`,
    );
    return new Map(rows.map(({ name, type }) => [String(name), String(type)]));
  },

  async has(session, table) {
    const sql = `SELECT 1 FROM "sqlite_schema" WHERE "type" = 'table' AND "name" = $1`;
    return (await session.query(sql, [table])).length > 0;
  },

  async shapes(session) {
    const tables = `(SELECT "name" AS "table" FROM "sqlite_schema" WHERE "type" = 'table' AND "name" NOT LIKE 'sqlite\\_%' ESCAPE '\\' AND "name" NOT LIKE '\\_duet\\_%' ESCAPE '\\')`;
    // A primary key is never null, whether or not it says so.
    const columns = await session.query(`
      SELECT "table", "name" AS "column", "type", "notnull" = 1 OR "pk" <> 0 AS "required",
        "dflt_value" IS NOT NULL AS "filled", "pk" <> 0 AS "primary", "cid"
      FROM ${tables}, pragma_table_info("table")
      UNION ALL ${NAMES} ORDER BY "table", "cid"`);
    // It names no column where there is an expression.
    const indexes = await session.query(`
      SELECT "table", i."name" AS "index", "unique", iif("partial", 'partial', 'btree') AS "kind",
        (SELECT json_group_array(COALESCE('"' || replace("name", '"', '""') || '"', 'expression') ORDER BY "seqno")
          FROM pragma_index_xinfo(i."name") WHERE "key" = 1) AS "parts"
      FROM ${tables}, pragma_index_list("table") i WHERE "origin" = 'c'`);
    return shapesOf(columns, indexes);
  },
};
