/** How PostgreSQL spells what databases disagree on. */

import type { Column, Resource } from '../../schema/model.ts';
import { keptAs } from '../../schema/values.ts';
import { dutiesOf } from '../duties.ts';
import { duties } from '../own.ts';
import { codecOf, encoded } from '../sql/codec.ts';
import { type Dialect, literal, quote } from '../sql/dialect.ts';
import { PARENT } from '../statements.ts';
import { codecs } from './codecs.ts';
import { CLOCK, sequenceOf } from './ddl.ts';
import { words } from './words.ts';

export const dialect: Dialect = {
  parameter: (position, of) => `$${position}::${codecOf(codecs, of).cast}`,
  rowCount: (position) => `$${position}::int4`,
  among: (column, list) => `${column} = ANY(${list})`,
  // Not FROM the function itself: then the server keeps all values until the statement ends, and not until they were read. No
  // stored name begins with `_`.
  items: (column) => `(SELECT json_array_elements_text(${column}) AS value) AS "_items"`,
  // A list travels as the text of an array. In a SELECT of its own it is read once, and not for each row that it is held
  // against; and no plan hangs on how long it is, or on what the server knows of a table that is new.
  listed: (position, of) => {
    const type = `${codecOf(codecs, of).cast.replace('text::', '')}[]`;
    return `(SELECT $${position}::text::${type})::${type}`;
  },
  // What is compared with other kinds the server reads as they are.
  list: (values, of) =>
    arrayOf(keptAs(of) === 'folded' ? values.map((value) => encoded(codecs, of, value)) : values),
  codecs,
  words,
  selected: ({ stored }) => quote(stored),
  position: 'strpos',
  order: (quoted, { required }, descending) => {
    if (required) return descending ? `${quoted} DESC` : quoted;
    return descending ? `${quoted} DESC NULLS LAST` : `${quoted} NULLS FIRST`;
  },
  part: (quoted, { part, of }) => {
    const local = keptAs(of) === 'time' ? `${quoted} AT TIME ZONE 'UTC'` : `${quoted}::timestamp`;
    const begin = `date_trunc('${part}', ${local})`;
    return part === 'hour' ? `${begin} AT TIME ZONE 'UTC'` : `${begin}::date`;
  },
  // It knows by itself, but takes each row for a group of its own where there are parts of times: then it follows an index, to have
  // the groups in order. What has an OFFSET is planned by itself, where that order is of no use.
  scanned: (quoted) => quoted,
  scannedRows: (table, condition) => `(SELECT * FROM ${table}${condition} OFFSET 0) AS ${table}`,
  count: (quoted) => `COUNT(${quoted})::float8`,
  sum: (quoted, column) => codecOf(codecs, column).sum?.(quoted) ?? `SUM(${quoted}::float8)::float8`,
  total: (quoted, column) => codecOf(codecs, column).total?.(quoted) ?? dialect.sum(quoted, column),
  significant: (float) =>
    `CASE WHEN abs(${float}) < 'Infinity' THEN to_char(${float}, '9.9999999999999EEEE')::float8 ELSE ${float} END`,
  extreme: (of, quoted, column) => codecOf(codecs, column).extremes?.[of](quoted) ?? `${of}(${quoted})`,
  // In an array, nothing comes after null.
  extremeBy: (of, compared, quoted) =>
    `(${of}(ARRAY[${compared}, ${quoted}]) FILTER (WHERE ${compared} IS NOT NULL))[2]`,
  compared: (computed) => computed,
  // A column each, so that the text is the same however many rows there are.
  values: (columns, rows, given) => {
    const lists = columns.map((column) => {
      const values = rows.map((row) => encoded(codecs, column, row[column.name] ?? null));
      const list = dialect.listed(given(arrayOf(values)), column);
      return ['text', 'folded'].includes(keptAs(column)) ? `${list} COLLATE "C"` : list;
    });
    const names = columns.map(({ stored }) => quote(stored)).join(', ');
    return `(SELECT * FROM unnest(${lists.join(', ')}) WITH ORDINALITY AS "_listed"(${names}, "_row"))`;
  },
  rows: (columns, rows, given) =>
    `SELECT ${columns.map(({ stored }) => quote(stored)).join(', ')} FROM ${dialect.values(columns, rows, given)} AS "_new"`,
  // Row by row: the first that is too much ends the statement, or is the last of its rows. No stored name begins with `_`.
  within: (select, { bytes, cuts, columns }, names) =>
    `SELECT ${names.map(quote).join(', ')} FROM (SELECT *, sum(${bytesOf(columns)}) OVER (ROWS UNBOUNDED PRECEDING) AS "_bytes" FROM (${select}) AS "_rows") AS "_counted" WHERE ${cuts ? `"_bytes" - (${bytesOf(columns)}) <= ${bytes}` : failsBeyond(bytes, '"_bytes"')}`,
  // Planned for all of them: for some, the server would follow an index to a million rows, instead of reading the table.
  most: (select, most) => `WITH "_groups" AS MATERIALIZED (${select}) SELECT * FROM "_groups" LIMIT ${most}`,
  // No stored name begins with `_`.
  perValue: ({ columns, table, list, joined, belongs, condition, order, limit, offset, most }) =>
    `SELECT "_one".* FROM unnest(${list}) AS "_listed"(${quote(PARENT)}) CROSS JOIN LATERAL (SELECT ${columns}, row_number() OVER (ORDER BY ${order(table)}) AS "#" FROM ${table}${joined(table)} WHERE ${belongs(table)}${condition(table)} ORDER BY ${order(table)} LIMIT ${limit}${offset ? ` OFFSET ${offset}` : ''}) AS "_one" ORDER BY "#"${most}`,
  visit: () => '',
  // It finds that out by itself; and where a newer file has given up the constraint, there may be two, with which this would fail.
  looksUpOnce: false,
  // To plan a join of some hundred tables takes gigabytes and ten seconds, in which it cannot be ended.
  unjoined: ' OFFSET 0',
  // The server looks whether it is to stop where a SELECT begins, and nowhere among the conditions of a row.
  endable: (condition) => `(SELECT ${condition})`,
  unplanned: (condition) => condition,
  byCodePoint: ' COLLATE "C"',
  clock: CLOCK,
  lastId: (resource) => `SELECT pg_sequence_last_value(${sequenceOf(resource)}) AS "last"`,
  raiseLastId: (resource, parameter) =>
    `SELECT setval(${sequenceOf(resource)}, ${parameter}) WHERE ${parameter} > COALESCE(pg_sequence_last_value(${sequenceOf(resource)}), 0)`,
  current: (resource) => {
    let condition = conditions.get(resource);
    if (condition === undefined) {
      condition = failsIfOutdated(resource);
      conditions.set(resource, condition);
    }
    return condition;
  },
  nextId: (resource) => `nextval((SELECT ${sequenceOf(resource)}))`,
  answersInserts: true,
  image: (columns, row) => {
    const values = columns.map((column) => {
      const { inJson, image = inJson } = codecOf(codecs, column);
      const value = `${row}.${quote(column.name)}`;
      return `${image?.(value) ?? value} AS ${quote(column.stored)}`;
    });
    return `(SELECT row_to_json("_image")::text FROM (SELECT ${values.join(', ')}) AS "_image")`;
  },
  lock: ' FOR UPDATE',
  lockToChange: ' FOR NO KEY UPDATE',
};

/** The text of a date, by functions that no setting of the server changes. */
function dateText(quoted: string): string {
  const part = (unit: string, digits: number) =>
    `lpad(extract(${unit} FROM ${quoted})::int::text, ${digits}, '0')`;
  return `${part('year', 4)} || '-' || ${part('month', 2)} || '-' || ${part('day', 2)}`;
}

/**
 * For servers that spread tables over machines (Citus): no write asks for a table of one machine and for one that is spread,
 * none answers with what a setting of a machine could change, and nothing is looked up for each row of another table.
 */
export const spreadDialect: Dialect = {
  ...dialect,
  current: undefined,
  // All rows would be gathered on one machine.
  scannedRows: undefined,
  // Nothing that is a SELECT for each row of another table.
  unjoined: '',
  endable: (condition) => condition,
  perValue: ({ columns, table, list, joined, belongs, condition, order, limit, offset = '0', most }) =>
    `SELECT * FROM (SELECT ${columns}, row_number() OVER (PARTITION BY ${quote(PARENT)} ORDER BY ${order(table)}) AS "#" FROM unnest(${list}) AS "_listed"(${quote(PARENT)}) JOIN ${table} ON ${belongs(table)}${joined(table)} WHERE TRUE${condition(table)}) AS "_one" WHERE "#" > ${offset} AND "#" <= ${offset} + ${limit} ORDER BY "#"${most}`,
  codecs: { ...dialect.codecs, date: { ...dialect.codecs.date, read: dateText } },
};

function arrayOf(values: readonly unknown[]): string {
  return `{${values.map(element).join(',')}}`;
}

/** A value in the text of an array. */
function element(value: unknown): string {
  if (value === null) return 'NULL';
  if (typeof value !== 'string') return String(value);
  return /["\\]/.test(value) ? `"${value.replaceAll(/["\\]/g, '\\$&')}"` : `"${value}"`;
}

/** A condition that holds, or ends the statement by a division by zero. */
export function failsBeyond(most: number, bytes: string): string {
  return `CASE WHEN ${bytes} > ${most} THEN 1 / (${bytes} - (${bytes})) = 0 ELSE true END`;
}

const conditions = new WeakMap<Resource, string>();

/**
 * A condition that holds, or ends the statement by the root of a negative number, which nothing else asks for. It names no
 * row, so it is found out once; and since the statement reads the table of duties, nobody can add one before it is committed.
 * A snapshot from before one was added finds the table empty, which it never is (`emptying` of the DDL): that is the logarithm of
 * nothing, and has the transaction run again.
 */
function failsIfOutdated(resource: Resource): string {
  const own = dutiesOf(resource).map(literal).join(', ');
  const unknown = own === '' ? '' : ` AND "duty" NOT IN (${own})`;
  const held = `SELECT 1 FROM ${quote(duties.table)}`;
  const isOutdated = `EXISTS (${held} WHERE "table" = ${literal(resource.table)}${unknown})`;
  const current = `1 + ln(CASE WHEN EXISTS (${held}) THEN 1 ELSE 0 END)`;
  return `sqrt(CASE WHEN ${isOutdated} THEN -1 ELSE ${current} END) = 1`;
}

/** What the columns of a row take, under the names of the answer; of a text the server knows it without reading it. */
export function bytesOf(columns: readonly Column[]): string {
  return columns
    .map((column) => {
      const bytes = `octet_length(${quote(column.name)}${keptAs(column) === 'json' ? '::text' : ''})`;
      return column.required ? bytes : `coalesce(${bytes}, 0)`;
    })
    .join(' + ');
}
