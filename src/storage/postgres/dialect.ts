/** How PostgreSQL spells what databases disagree on, and what its driver makes of the values that come back. */

import type { Column } from '../../schema/model.ts';
import { keptAs } from '../../schema/values.ts';
import { type Dialect, quote } from '../sql/dialect.ts';
import { sequenceOf } from './ddl.ts';

const casts: Record<ReturnType<typeof keptAs>, string> = {
  serial: 'int8',
  integer: 'int4',
  float: 'float8',
  boolean: 'boolean',
  text: 'text',
  // Sent as text and read by the server, so that nothing on the way rounds or shifts them.
  time: 'text::timestamptz',
  date: 'text::date',
  uuid: 'text::uuid',
  json: 'text::json',
};

export const dialect: Dialect = {
  parameter: (position, of) => `$${position}::${casts[keptAs(of)]}`,
  among: (column, list) => `${column} = ANY(${list})`,
  // A list travels as the text of an array. In a SELECT of its own it is read once, and not for each row that it is held
  // against; and no plan hangs on how long it is, or on what the server knows of a table that is new.
  listed: (position, of) => {
    const type = `${casts[keptAs(of)].replace('text::', '')}[]`;
    return `(SELECT $${position}::text::${type})::${type}`;
  },
  list: (values) =>
    `{${values.map((value) => (value === null ? 'NULL' : `"${String(value).replaceAll(/["\\]/g, '\\$&')}"`)).join(',')}}`,
  encode: (column, value) => (keptAs(column) === 'json' ? JSON.stringify(value) : value),
  read: (column, quoted) => (keptAs(column) === 'date' ? `${quoted}::text` : quoted),
  position: 'strpos',
  order: (quoted, { required }, descending) => {
    if (required) return descending ? `${quoted} DESC` : quoted;
    return descending ? `${quoted} DESC NULLS LAST` : `${quoted} NULLS FIRST`;
  },
  count: (quoted) => `COUNT(${quoted})::float8`,
  // Fractions are added exactly: added as they come, the sum would depend on their order.
  sum: (quoted, column) => `SUM(${quoted}::${keptAs(column) === 'float' ? 'numeric' : 'float8'})::float8`,
  // There is no min(boolean) and no min(uuid), although both have an order.
  extreme: (of, quoted, column) => {
    const kept = keptAs(column);
    if (kept === 'boolean') return `${of === 'min' ? 'bool_and' : 'bool_or'}(${quoted})`;
    return kept === 'uuid' ? `${of}(${quoted}::text COLLATE "C")::uuid` : `${of}(${quoted})`;
  },
  // A column each, so that the text is the same however many rows there are.
  values: (columns, rows, given) => {
    const lists = columns.map((column) => {
      const values = rows.map(({ [column.name]: value }) =>
        value == null ? null : dialect.encode(column, value),
      );
      const list = dialect.listed(given(dialect.list(values, column)), column);
      return keptAs(column) === 'text' ? `${list} COLLATE "C"` : list;
    });
    const names = columns.map(({ stored }) => quote(stored)).join(', ');
    return `(SELECT * FROM unnest(${lists.join(', ')}) WITH ORDINALITY AS "_listed"(${names}, "_row"))`;
  },
  // Row by row: the first that is too much ends the statement. No stored name begins with `_`.
  within: (select, { bytes, columns }, names) =>
    `SELECT ${names.map(quote).join(', ')} FROM (SELECT *, sum(${bytesOf(columns)}) OVER (ROWS UNBOUNDED PRECEDING) AS "_bytes" FROM (${select}) AS "_rows") AS "_counted" WHERE ${failsBeyond(bytes, '"_bytes"')}`,
  // No stored name begins with `_`.
  perValue: ({ columns, table, list, near, condition, order, limit, most }) =>
    `SELECT "_one".* FROM unnest(${list}) AS "_listed"(value) CROSS JOIN LATERAL (SELECT ${columns}, row_number() OVER (ORDER BY ${order(table)}) AS "#" FROM ${table} WHERE ${near(table)} = "_listed".value${condition(table)} ORDER BY ${order(table)} LIMIT ${limit}) AS "_one" ORDER BY "#"${most}`,
  visit: '',
  byCodePoint: ' COLLATE "C"',
  lastId: (resource) => `SELECT pg_sequence_last_value(${sequenceOf(resource)}) AS "last"`,
  raiseLastId: (resource, parameter) =>
    `SELECT setval(${sequenceOf(resource)}, ${parameter}) WHERE ${parameter} > COALESCE(pg_sequence_last_value(${sequenceOf(resource)}), 0)`,
  answersInserts: true,
  lock: ' FOR UPDATE',
};

/** A condition that holds, or ends the statement by a division by zero. */
export function failsBeyond(most: number, bytes: string): string {
  return `CASE WHEN ${bytes} > ${most} THEN 1 / (${bytes} - (${bytes})) = 0 ELSE true END`;
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

/** What the driver makes of a column that is not yet what a scalar's check returns. */
export function decoderOf(column: Column): ((value: unknown) => unknown) | undefined {
  switch (keptAs(column)) {
    case 'serial':
      return Number;
    case 'time':
      return isoTime;
    default:
      return undefined;
  }
}

/** Of a Date, or of the text that stands for one in JSON. */
export function isoTime(value: unknown): string {
  return new Date(value as Date | string).toISOString();
}
