/** Finds the record that a reference is to lead to, by its text. */

import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import type { ListAsk } from '../ask.ts';
import { send } from '../doors/send.ts';
import { labelled, type Resource, type Row, type Schema } from '../schema/types.ts';
import { door } from '../session.ts';
import type { Where } from '../where.ts';
import { scalar } from './list-place.ts';

interface Props {
  common: { id: string };
  target: Resource;
  /** The key, or nothing. */
  value: unknown;
  /** The record itself, where it was read along. */
  known: unknown;
  placeholder: string;
  schema: Schema;
  onChange: (key: unknown) => void;
}

const SHOWN = 8;
/** Long enough not to ask for every letter of a word. */
const PAUSE_MS = 150;

export function ReferenceInput({ common, target, value, known, placeholder, schema, onChange }: Props) {
  const typed = useSignal<string | undefined>(undefined);
  const found = useSignal<readonly Row[]>([]);
  const active = useSignal(0);
  const labels = useSignal<ReadonlyMap<unknown, string>>(new Map());
  const list = useRef<HTMLDivElement>(null);
  const open = typed.value !== undefined;
  const { key } = target;

  useEffect(() => {
    if (typed.value === undefined) return;
    let current = true;
    const timer = setTimeout(async () => {
      const { rows = [] } = await send(search(target, typed.value ?? ''), door.value, schema).catch(() => ({
        rows: [],
      }));
      if (!current) return;
      found.value = rows;
      active.value = 0;
    }, PAUSE_MS);
    return () => {
      current = false;
      clearTimeout(timer);
    };
  }, [typed.value]);

  // A key that came with the address or with a record has a name too.
  useEffect(() => {
    if (value === null || value === undefined || labels.value.has(value)) return;
    const record = known as Row | null | undefined;
    const name = (row: Row) => {
      labels.value = new Map([...labels.value, [row[key.name], labelled(target, row)]]);
    };
    if (record && record[key.name] === value) name(record);
    else if (target.operations.has('GET'))
      send({ do: 'get', resource: target, key: value, related: false }, door.value, schema).then(
        ({ row }) => row && name(row),
        () => {},
      );
  }, [value, known]);

  // Near the end of a form the list would hang out of sight; with the arrows, so would what they stand on.
  useEffect(() => {
    if (!open) return;
    list.current?.scrollIntoView({ block: 'nearest' });
    list.current?.children[active.value]?.scrollIntoView({ block: 'nearest' });
  }, [open, found.value, active.value]);

  const choose = (row: Row) => {
    labels.value = new Map([...labels.value, [row[key.name], labelled(target, row)]]);
    typed.value = undefined;
    onChange(row[key.name]);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const row = found.value[active.value];
    if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
      event.preventDefault();
      if (!open) typed.value = '';
      const step = event.key === 'ArrowDown' ? 1 : -1;
      active.value = Math.max(0, Math.min(found.value.length - 1, active.value + step));
    } else if (event.key === 'Enter' && open) {
      event.preventDefault();
      if (row) choose(row);
    } else if (event.key === 'Escape' && open) {
      event.preventDefault();
      typed.value = undefined;
    }
  };
  const label = value === null || value === undefined ? '' : (labels.value.get(value) ?? String(value));
  const listId = `${common.id}-found`;
  return (
    <div class="reference">
      <input
        {...common}
        role="combobox"
        autocomplete="off"
        aria-expanded={open}
        aria-controls={listId}
        aria-autocomplete="list"
        aria-activedescendant={open && found.value.length > 0 ? `${listId}-${active.value}` : undefined}
        placeholder={placeholder || `Search ${target.plural}`}
        value={open ? typed.value : label}
        onInput={(event) => {
          typed.value = event.currentTarget.value;
        }}
        onKeyDown={onKeyDown}
        onBlur={() => {
          typed.value = undefined;
        }}
      />
      {value !== null && value !== undefined && !open && <span class="quiet small key">{String(value)}</span>}
      <div
        ref={list}
        id={listId}
        role="listbox"
        aria-label={target.plural}
        class={open ? 'found open' : 'found'}
      >
        {open &&
          found.value.map((row, at) => (
            // biome-ignore lint/a11y/useKeyWithClickEvents: the arrows and Enter of the input choose
            <div
              key={String(row[key.name])}
              id={`${listId}-${at}`}
              role="option"
              tabIndex={-1}
              aria-selected={at === active.value}
              onMouseDown={(event) => event.preventDefault()}
              onClick={() => choose(row)}
            >
              {labelled(target, row)} <span class="quiet small">{String(row[key.name])}</span>
            </div>
          ))}
        {open && found.value.length === 0 && (
          <div class="quiet" role="option" aria-selected="false" tabIndex={-1}>
            Nothing found
          </div>
        )}
      </div>
    </div>
  );
}

/** By the label, whose letter case counts: as it was typed, and with a capital; and by the key. */
function search(target: Resource, text: string): ListAsk {
  const { label, key } = target;
  const words = [...new Set([text, text[0]?.toUpperCase() + text.slice(1)])];
  const conditions: Where[] = label.operators.includes('contains')
    ? words.map((word) => ({ [label.name]: { contains: word } }))
    : [];
  const asKey = scalar(key, text);
  if (key.kind === 'text' || (key.kind === 'id' && Number.isSafeInteger(asKey) && Number(asKey) > 0))
    conditions.push({ [key.name]: { eq: asKey } });
  return {
    do: 'list',
    resource: target,
    where: text === '' || conditions.length === 0 ? undefined : { or: conditions },
    sort: label.sortable ? [label.name] : [],
    limit: SHOWN,
    after: undefined,
    before: undefined,
    count: false,
    related: false,
  };
}
