/** A value of a record, as a person reads it. */

import type { ComponentChildren } from 'preact';
import { dataLink } from '../links.ts';
import { type Column, labelled, type Row, type Schema } from '../schema/types.ts';
import { tell } from '../told.ts';
import { Icon, toClipboard } from './parts.tsx';

/** Longer texts are cut in tables, where the record is a click away. */
const SHORT = 120;

/** No component, of which a table would make one for each of its cells. */
export function shownValue(
  column: Column,
  row: Row,
  schema: Schema,
  short = false,
  tabIndex?: number,
): ComponentChildren {
  const value = row[column.name];
  // What the rules hide from the caller is left out of the record.
  if (value === undefined) return <span class="null">hidden</span>;
  if (value === null) return <span class="null">null</span>;
  if (column.reference) return referenced(column, row, schema, tabIndex);
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
      return <time dateTime={String(value)}>{short ? seconds(String(value)) : moment(String(value))}</time>;
    case 'json':
      return (
        <code class="json">{short ? shortened(JSON.stringify(value)) : JSON.stringify(value, null, 2)}</code>
      );
    case 'uuid':
      return <code>{short ? shortKey(String(value)) : String(value)}</code>;
    case 'int':
    case 'float':
    case 'bigint':
    case 'decimal':
      return short ? grouped(value) : String(value);
    default:
      if (value === '') return <span class="null">empty</span>;
      return short ? shortened(String(value)) : String(value);
  }
}

/** What a cell says when one points at it, where it may show less; longer texts are read on the page of the record. */
export function wholeText(column: Column, row: Row): string | undefined {
  const value = row[column.name];
  if (value === undefined || value === null || column.reference) return undefined;
  const text = typeof value === 'object' ? JSON.stringify(value) : String(value);
  return text.length > POINTED ? `${text.slice(0, POINTED)}…` : text;
}

const POINTED = 1000;

/** Both ends of a long key: the first digits of many are the same, and so are the last of some. */
export function shortKey(key: string): string {
  return key.length > 16 ? `${key.slice(0, 4)}…${key.slice(-6)}` : key;
}

/** `12,345.678`, and `2024`: four digits are easily read, and may be a year. All that is stored is shown, and `1e-7` as it is. */
function grouped(value: unknown): string {
  const [whole = '', ...fraction] = String(value).split('.');
  const digits = whole.replace('-', '').length > 4 ? whole.replace(/\B(?=(\d{3})+$)/g, ',') : whole;
  return [digits, ...fraction].join('.');
}

export function CopyKey({ text }: { text: string }) {
  const copy = async () => {
    tell((await toClipboard(text)) ? `Copied ${text}` : 'The browser does not allow to copy');
  };
  return (
    <button type="button" class="plain copy" tabIndex={-1} aria-label={`Copy ${text}`} onClick={copy}>
      <Icon name="copy" />
    </button>
  );
}

/** Texts are read in the direction of their own script. Browsers look for it in each text that they are told to: a table has many. */
export function directionOf({ kind, list, name }: Column, row: Row): 'auto' | undefined {
  return kind === 'text' && !list && FROM_THE_RIGHT.test(String(row[name])) ? 'auto' : undefined;
}

/** The blocks of Unicode whose letters are read from the right, as its file DerivedBidiClass has them. */
const FROM_THE_RIGHT = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u;

function referenced(
  column: Column,
  row: Row,
  schema: Schema,
  tabIndex: number | undefined,
): ComponentChildren {
  const { reference } = column;
  const target = reference && schema.byName.get(reference.target);
  const key = row[column.name];
  const record = reference && row[reference.name];
  const text =
    target && typeof record === 'object' && record !== null ? labelled(target, record as Row) : String(key);
  if (!target?.operations.has('GET')) return text;
  return (
    <a
      dir="auto"
      href={dataLink(target.name, 'record', key)}
      title={`${target.name} ${key}`}
      tabIndex={tabIndex}
    >
      {shortened(text)}
    </a>
  );
}

export function shortened(text: string): string {
  return text.length > SHORT ? `${text.slice(0, SHORT)}…` : text;
}

function seconds(text: string): string {
  return text.replace('T', ' ').replace(/(\.\d+)?Z$/, '');
}

/** `2024-05-01 12:30:00`, with what is finer only where there is something finer. */
export function moment(text: string): string {
  return text.replace('T', ' ').replace(/(\.000)?Z$/, ' UTC');
}
