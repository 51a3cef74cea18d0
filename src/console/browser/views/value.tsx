/** A value of a record, as a person reads it. */

import { dataLink } from '../links.ts';
import { type Column, labelled, type Row, type Schema } from '../schema/types.ts';

/** Longer texts are cut in tables, where the record is a click away. */
const SHORT = 120;

export function Value({
  column,
  row,
  schema,
  short = false,
}: {
  column: Column;
  row: Row;
  schema: Schema;
  short?: boolean;
}) {
  const value = row[column.name];
  // What the rules hide from the caller is left out of the record.
  if (value === undefined) return <span class="null">hidden</span>;
  if (value === null) return <span class="null">null</span>;
  if (column.reference) return <Referenced column={column} row={row} schema={schema} />;
  if (column.list && Array.isArray(value) && column.kind !== 'json')
    return (
      <span class="items">
        {value.length === 0 && <span class="null">none</span>}
        {value.map((item, at) => (
          <span class="tag" dir="auto" key={at}>
            {String(item)}
          </span>
        ))}
      </span>
    );
  switch (column.kind) {
    case 'boolean':
      return <span class={value === true ? 'yes' : 'no'}>{value === true ? 'true' : 'false'}</span>;
    case 'enum':
      return <span class="tag">{String(value)}</span>;
    case 'datetime':
      return <time dateTime={String(value)}>{moment(String(value))}</time>;
    case 'json':
      return (
        <code class="json">{short ? shortened(JSON.stringify(value)) : JSON.stringify(value, null, 2)}</code>
      );
    case 'uuid':
      return <code>{String(value)}</code>;
    case 'int':
    case 'float':
    case 'bigint':
    case 'decimal':
      return <>{String(value)}</>;
    default:
      if (value === '') return <span class="null">empty</span>;
      return <>{short ? shortened(String(value)) : String(value)}</>;
  }
}

/** Texts are read in the direction of their own script. */
export function directionOf({ kind, list }: Column): 'auto' | undefined {
  return kind === 'text' && !list ? 'auto' : undefined;
}

function Referenced({ column, row, schema }: { column: Column; row: Row; schema: Schema }) {
  const { reference } = column;
  const target = reference && schema.byName.get(reference.target);
  const key = row[column.name];
  const record = reference && row[reference.name];
  const text =
    target && typeof record === 'object' && record !== null ? labelled(target, record as Row) : String(key);
  if (!target?.operations.has('GET')) return <>{text}</>;
  return (
    <a dir="auto" href={dataLink(target.name, 'record', key)} title={`${target.name} ${key}`}>
      {shortened(text)}
    </a>
  );
}

export function shortened(text: string): string {
  return text.length > SHORT ? `${text.slice(0, SHORT)}…` : text;
}

/** `2024-05-01 12:30:00`, with what is finer only where there is something finer. */
export function moment(text: string): string {
  return text.replace('T', ' ').replace(/(\.000)?Z$/, ' UTC');
}
