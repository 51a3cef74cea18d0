/** How SQLite spells what databases disagree on. */

import { codecOf, encoded } from '../sql/codec.ts';
import { type Dialect, literal, quote } from '../sql/dialect.ts';
import { PARENT } from '../statements.ts';
import { codecs } from './codecs.ts';
import { words } from './words.ts';

/** Where a statement that may turn out to be long is made to look at the clock, by a function of the row that is visited. */
const VISIT = /\/\*visit (\S+):(\S*)\*\//g;

/** What stands there until then. A name may have what ends a comment. */
const marks = new Map<string, string>();

function markOf(key: string, before: string): string {
  const kept = marks.get(key + before);
  if (kept !== undefined) return kept;
  const mark = `/*visit ${encodeURIComponent(key)}:${encodeURIComponent(before)}*/`;
  marks.set(key + before, mark);
  return mark;
}

/** Not of nothing: it would be called once for all rows that SQLite joins where it was asked whether there is one. */
export function visiting(sql: string, watch: string): string {
  return sql.replaceAll(VISIT, (_, key: string, before: string) => {
    const looking = `${watch}(${decodeURIComponent(key)})`;
    return before === '' ? `${looking} AND ` : `${decodeURIComponent(before)}${looking}`;
  });
}

export const dialect: Dialect = {
  parameter: (position) => `?${position}`,
  rowCount: (position) => `?${position}`,
  among: (column, list) => `${column} IN (SELECT value FROM json_each(${list}))`,
  items: (column) => `json_each(${column})`,
  listed: (position) => `?${position}`,
  list: (values, of) =>
    JSON.stringify(codecOf(codecs, of).encode ? values.map((value) => encoded(codecs, of, value)) : values),
  codecs,
  words,
  // In double quotes, the name of a column that is no longer there would be taken for a text, and read as such.
  selected: ({ stored }) => `\`${stored.replaceAll('`', '``')}\``,
  position: 'instr',
  order: (quoted, _, descending) => (descending ? `${quoted} DESC` : quoted),
  // Times are texts whose beginnings are their days and hours.
  part: (quoted, { part }) => {
    const first = (length: number, rest = '') => `substr(${quoted}, 1, ${length}) || '${rest}'`;
    if (part === 'hour') return first(13, ':00:00.000Z');
    if (part === 'week') return `date(${first(10)}, 'weekday 0', '-6 days')`;
    return part === 'year' ? first(4, '-01-01') : part === 'month' ? first(7, '-01') : first(10);
  },
  // No index has the order of an expression. 300,000 rows one by one take four times as long as all of them and a sort.
  scanned: (quoted) => `+${quoted}`,
  count: (quoted) => `COUNT(${quoted})`,
  // As integers the sum could overflow, and then it fails.
  sum: (quoted, column) => codecOf(codecs, column).sum?.(quoted) ?? `SUM(CAST(${quoted} AS REAL))`,
  total: (quoted, column) => codecOf(codecs, column).total?.(quoted) ?? dialect.sum(quoted, column),
  significant: (float) =>
    `CASE WHEN abs(${float}) < 9e999 THEN CAST(printf('%.13e', ${float}) AS REAL) ELSE ${float} END`,
  extreme: (of, quoted) => `${of}(${quoted})`,
  // No text has the character 0, and functions of text stop at it, those of bytes do not.
  extremeBy: (of, compared, quoted) => {
    const found = `${of}(CAST(${compared} || char(0) || ${quoted} AS BLOB))`;
    return `CAST(substr(${found}, instr(${found}, x'00') + 1) AS TEXT)`;
  },
  // Only beside what has the affinity of a number is a text taken for one.
  compared: (computed, column) => `CAST(${computed} AS ${codecOf(codecs, column).type})`,
  // All of them are one parameter. A cast gives a column the affinity that a stored one has, and a whole number among
  // fractions the value that it would be kept as.
  values: (columns, rows, given) => {
    const lists = rows.map((row) =>
      columns.map((column) => encoded(codecs, column, row[column.name] ?? null)),
    );
    const list = `?${given(JSON.stringify(lists))}`;
    const cast = columns.map(
      (column, index) =>
        `CAST(value ->> ${index} AS ${codecOf(codecs, column).type}) AS ${quote(column.stored)}`,
    );
    return `(SELECT ${cast.join(', ')}, key + 1 AS "_row" FROM json_each(${list}))`;
  },
  // A parameter for each value: to read them out of JSON would take twice as long.
  rows: (columns, rows, given) => {
    const kept = columns.map((column) => ({ name: column.name, encode: codecOf(codecs, column).encode }));
    for (const row of rows)
      for (const { name, encode } of kept) {
        const value = row[name];
        given(encode && value !== null ? encode(value) : value);
      }
    const row = `(${'?, '.repeat(columns.length - 1)}?)`;
    return `VALUES ${`${row}, `.repeat(rows.length - 1)}${row}`;
  },
  most: (select, most) => `${select} LIMIT ${most}`,
  // The list has one column, under a name that no table has: json_each has many, and ordinary ones. No stored name
  // begins with `_`.
  perValue: ({ columns, table, key, list, joined, belongs, condition, order, limit, offset, most }) =>
    `SELECT ${columns} FROM (SELECT value AS ${quote(PARENT)} FROM json_each(${list})) JOIN ${table} ON ${table}.${key} IN (SELECT "_i".${key} FROM ${table} AS "_i"${joined('"_i"')} WHERE ${belongs('"_i"')}${condition('"_i"')} ORDER BY ${order('"_i"')} LIMIT ${limit}${offset ? ` OFFSET ${offset}` : ''})${joined(table)} ORDER BY ${order(table)}${most}`,
  looksUpOnce: true,
  // It never joins them.
  unjoined: '',
  // Its process is ended as a whole.
  endable: (condition) => condition,
  // What has a sign is not taken apart.
  unplanned: (condition) => `+${condition}`,
  visit: (key, before = '') => markOf(key, before),
  byCodePoint: '',
  clock: "CAST(unixepoch('subsec') * 1000 AS INTEGER)",
  lastId: ({ table }) => `SELECT "seq" AS "last" FROM "sqlite_sequence" WHERE "name" = ${literal(table)}`,
  // A table has no row there before its first insert, and nothing keeps it from having two.
  raiseLastId: ({ table }, parameter) =>
    `INSERT OR REPLACE INTO "sqlite_sequence" (rowid, "name", "seq") SELECT MAX(rowid), ${literal(table)}, ${parameter} FROM "sqlite_sequence" WHERE "name" = ${literal(table)} HAVING ${parameter} > COALESCE(MAX("seq"), 0)`,
  // RETURNING would gather the rows in a table of its own: it takes twice as long as the insert.
  answersInserts: false,
  // A writer has the whole database to itself.
  lock: '',
  lockToChange: '',
};
