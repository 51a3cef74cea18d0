/** Finds the record that a reference is to lead to, by its text. */

import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import type { ListAsk } from '../ask.ts';
import { send } from '../doors/send.ts';
import { found } from '../found.ts';
import { labelled, type Resource, type Row, type Schema } from '../schema/types.ts';
import { door } from '../session.ts';
import { emptied, Unreadable } from '../typed.ts';
import type { TypedProps } from './typed-input.tsx';

interface Props extends TypedProps {
  target: Resource;
  /** The record itself, where it was read along. */
  known: unknown;
  schema: Schema;
  /** Takes what is found, where it does not stay in the input. */
  onChoose?: (row: Row) => void;
}

const SHOWN = 8;
/** Long enough not to ask for every letter of a word. */
const PAUSE_MS = 150;

export function ReferenceInput({
  common,
  column,
  target,
  value,
  was,
  known,
  placeholder,
  schema,
  onChange,
  onChoose,
}: Props) {
  const open = useSignal(false);
  const results = useSignal<{ readonly text: string; readonly rows: readonly Row[] } | undefined>(undefined);
  /** Below zero: none, as long as nothing was typed and no arrow pressed. */
  const active = useSignal(-1);
  const labels = useSignal<ReadonlyMap<unknown, string>>(new Map());
  const list = useRef<HTMLDivElement>(null);
  /** What was chosen when somebody began to type. */
  const chosen = useRef(value);
  const typed = value instanceof Unreadable ? value.text : '';
  const { key } = target;
  const rows = results.value?.rows ?? [];
  const isNothing = value === null || value === undefined;
  const record = known as Row | null | undefined;
  const isKnown = record?.[key.name] === value;

  useEffect(() => {
    if (!open.value) return;
    let current = true;
    const look = async () => {
      const answer = await send(recordSearch(target, typed), door.value, schema).catch(() => undefined);
      if (!current) return;
      results.value = { text: typed, rows: answer?.rows ?? [] };
      active.value = typed === '' ? -1 : 0;
    };
    const timer = setTimeout(look, typed === '' ? 0 : PAUSE_MS);
    return () => {
      current = false;
      clearTimeout(timer);
    };
  }, [open.value, typed]);

  const name = (row: Row) => {
    labels.value = new Map([...labels.value, [row[key.name], labelled(target, row)]]);
  };
  // A key that came with the address or with a record has a name too.
  useEffect(() => {
    if (isNothing || isKnown || value instanceof Unreadable || labels.value.has(value)) return;
    if (target.operations.has('GET'))
      send({ do: 'get', resource: target, key: value, related: false }, door.value, schema).then(
        ({ row }) => row && name(row),
        () => {},
      );
  }, [value, known]);

  // Near the end of a form the list would hang out of sight; with the arrows, so would what they stand on.
  useEffect(() => {
    if (!open.value) return;
    list.current?.scrollIntoView({ block: 'nearest' });
    list.current?.children[active.value]?.scrollIntoView({ block: 'nearest' });
  }, [open.value, results.value, active.value]);

  const begin = () => {
    if (!open.value && !(value instanceof Unreadable)) chosen.current = value;
    open.value = true;
  };
  const type = (text: string) => {
    begin();
    onChange(
      text === ''
        ? emptied(column, was)
        : new Unreadable(text, `Choose one of the ${target.plural} in the list, or clear the field.`),
    );
  };
  const choose = (row: Row) => {
    name(row);
    open.value = false;
    if (onChoose) onChoose(row);
    else onChange(row[key.name]);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
      event.preventDefault();
      begin();
      const step = event.key === 'ArrowDown' ? 1 : -1;
      active.value = Math.max(0, Math.min(rows.length - 1, active.value + step));
    } else if (event.key === 'Enter' && open.value && (typed !== '' || active.value >= 0)) {
      event.preventDefault();
      const row = rows[active.value];
      // What is on the list may still be what an earlier text has found.
      if (row && results.value?.text === typed) choose(row);
    } else if (event.key === 'Escape' && open.value) {
      event.preventDefault();
      open.value = false;
      onChange(chosen.current);
    }
  };
  const label = isNothing
    ? ''
    : record && isKnown
      ? labelled(target, record)
      : (labels.value.get(value) ?? String(value));
  const listId = `${common.id}-found`;
  return (
    <div class="reference">
      <input
        {...common}
        role="combobox"
        autocomplete="off"
        aria-expanded={open.value}
        aria-controls={listId}
        aria-autocomplete="list"
        aria-activedescendant={open.value && rows[active.value] ? `${listId}-${active.value}` : undefined}
        placeholder={placeholder || `Search ${target.plural}`}
        value={value instanceof Unreadable ? typed : label}
        onInput={(event) => type(event.currentTarget.value)}
        onClick={begin}
        onKeyDown={onKeyDown}
        onBlur={() => {
          open.value = false;
        }}
      />
      {!isNothing && !(value instanceof Unreadable) && !open.value && (
        <span class="quiet small key">{String(value)}</span>
      )}
      <div
        ref={list}
        id={listId}
        role="listbox"
        aria-label={target.plural}
        class={open.value ? 'found open' : 'found'}
      >
        {open.value &&
          rows.map((row, at) => (
            // biome-ignore lint/a11y/useKeyWithClickEvents: the arrows and Enter of the input choose
            <div
              key={String(row[key.name])}
              id={`${listId}-${at}`}
              role="option"
              tabIndex={-1}
              aria-selected={at === active.value}
              // When it is pressed: until it is let go, what was typed last may be found, and another row be there.
              onMouseDown={(event) => {
                event.preventDefault();
                if (event.button === 0) choose(row);
              }}
              onClick={() => choose(row)}
            >
              {labelled(target, row)} <span class="quiet small">{String(row[key.name])}</span>
            </div>
          ))}
        {open.value && rows.length === 0 && (
          <div class="quiet" role="option" aria-selected="false" tabIndex={-1}>
            {results.value ? 'No results' : 'Searching…'}
          </div>
        )}
      </div>
    </div>
  );
}

/** By the label, and by the key. */
export function recordSearch(target: Resource, text: string): ListAsk {
  const { label } = target;
  return {
    do: 'list',
    resource: target,
    where: text === '' ? undefined : found(target, text, [label]),
    sort: label.sortable ? [label.name] : [],
    limit: SHOWN,
  };
}
