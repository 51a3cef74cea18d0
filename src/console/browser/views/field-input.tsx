/** The input that fits a field: choices for enums, a switch for booleans, pickers for days, a search for references. */

import { useSignal } from '@preact/signals';
import type { Column, Row, Schema } from '../schema/types.ts';
import { scalar } from './list-place.ts';
import { Icon } from './parts.tsx';
import { ReferenceInput } from './reference-input.tsx';

interface Props {
  id: string;
  /** For what has no label of its own. */
  label?: string;
  column: Column;
  /** Undefined: nothing is given. */
  value: unknown;
  schema: Schema;
  before: Row;
  /** What the service takes when nothing is given. */
  fallback: unknown;
  invalid: boolean;
  onChange: (value: unknown) => void;
}

export function FieldInput(props: Props) {
  const { column, value, onChange, id } = props;
  const clearable = !column.required && value !== null && value !== undefined;
  return (
    <div class="input">
      {column.list ? <ListInput {...props} /> : <OneInput {...props} />}
      {clearable && (
        <button
          type="button"
          class="plain small nullify"
          title={`Set ${column.name} to null`}
          aria-label={`Set ${column.name} to null`}
          onClick={() => {
            onChange(null);
            document.getElementById(id)?.focus();
          }}
        >
          null
        </button>
      )}
    </div>
  );
}

function OneInput({ id, label, column, value, schema, before, fallback, invalid, onChange }: Props) {
  const common = {
    id,
    'aria-label': label,
    'aria-invalid': invalid || undefined,
    'aria-describedby':
      [column.description && `${id}-about`, invalid && `${id}-fault`].filter(Boolean).join(' ') || undefined,
  };
  const placeholder =
    value === null
      ? 'null'
      : fallback === undefined
        ? ''
        : `${typeof fallback === 'string' ? fallback : JSON.stringify(fallback)} by default`;
  const target = column.reference && schema.byName.get(column.reference.target);
  if (column.reference && target?.operations.has('LIST'))
    return (
      <ReferenceInput
        common={common}
        target={target}
        value={value}
        known={before[column.reference.name]}
        placeholder={placeholder}
        schema={schema}
        onChange={onChange}
      />
    );
  switch (column.kind) {
    case 'enum':
    case 'boolean':
      if (column.kind === 'boolean' && column.required)
        return (
          <input
            {...common}
            type="checkbox"
            role="switch"
            checked={(value ?? fallback) === true}
            aria-checked={(value ?? fallback) === true}
            onChange={(event) => onChange(event.currentTarget.checked)}
          />
        );
      return (
        <select
          {...common}
          value={value === null || value === undefined ? '' : String(value)}
          onChange={(event) => {
            const text = event.currentTarget.value;
            onChange(text === '' ? (value === undefined ? undefined : null) : scalar(column, text));
          }}
        >
          {(value === undefined || value === null || !column.required) && (
            <option value="">{placeholder || 'not set'}</option>
          )}
          {(column.kind === 'boolean' ? ['true', 'false'] : column.choices).map((choice) => (
            <option key={choice}>{choice}</option>
          ))}
        </select>
      );
    case 'date':
      return (
        <input
          {...common}
          type="date"
          value={typeof value === 'string' ? value : ''}
          onInput={(event) => onChange(emptied(event.currentTarget.value, column))}
        />
      );
    case 'datetime':
      return (
        <span class="moment">
          <input
            {...common}
            type="datetime-local"
            step="0.001"
            value={typeof value === 'string' ? value.replace(/Z$/i, '') : ''}
            onInput={(event) => {
              const text = event.currentTarget.value;
              onChange(text === '' ? emptied('', column) : utc(text));
            }}
          />
          <span class="quiet small">UTC</span>
        </span>
      );
    case 'json':
      return <JsonInput common={common} value={value} placeholder={placeholder} onChange={onChange} />;
    case 'int':
    case 'float':
    case 'id':
      return (
        <NumberInput
          common={common}
          column={column}
          value={value}
          placeholder={placeholder}
          onChange={onChange}
        />
      );
    default: {
      const text = typeof value === 'string' ? value : '';
      const long = isLong(column, text);
      const input = (event: { currentTarget: { value: string } }) => onChange(event.currentTarget.value);
      return long ? (
        <textarea {...common} dir="auto" rows={1} placeholder={placeholder} value={text} onInput={input} />
      ) : (
        <input {...common} dir="auto" placeholder={placeholder} value={text} onInput={input} />
      );
    }
  }
}

/** `2024-05-01T12:30` as a picker gives it, `2024-05-01T12:30:00Z` as the service takes it. */
function utc(text: string): string {
  return `${text.length === 16 ? `${text}:00` : text}Z`;
}

/** An emptied picker or number means that there is no value. */
function emptied(text: string, { required }: Column): unknown {
  if (text !== '') return text;
  return required ? undefined : null;
}

/** Texts that may be longer have more than a line. */
const LINE = 500;

/** A text that nothing bounds may be long; one that has a key's or a title's bounds is a line. */
function isLong({ bounds, kind, type }: Column, text: string): boolean {
  if (kind === 'uuid' || type === 'ID' || bounds.format) return false;
  return bounds.maxLength === undefined || bounds.maxLength > LINE || text.includes('\n');
}

interface NumberProps {
  common: { id: string };
  column: Column;
  value: unknown;
  placeholder: string;
  onChange: (value: unknown) => void;
}

/** Keeps what was typed: a number that is not finished, such as `12.`, is already one with another text. */
function NumberInput({ common, column, value, placeholder, onChange }: NumberProps) {
  const typed = useSignal('');
  const isTyped = typed.value !== '' && scalar(column, typed.value) === value;
  const text = isTyped ? typed.value : value === null || value === undefined ? '' : String(value);
  return (
    <input
      {...common}
      inputMode={column.kind === 'float' ? 'decimal' : 'numeric'}
      placeholder={placeholder}
      value={text}
      onInput={(event) => {
        typed.value = event.currentTarget.value;
        onChange(typed.value === '' ? emptied('', column) : scalar(column, typed.value));
      }}
    />
  );
}

interface JsonProps {
  common: { id: string };
  value: unknown;
  placeholder: string;
  onChange: (value: unknown) => void;
}

function JsonInput({ common, value, placeholder, onChange }: JsonProps) {
  const text = useSignal(value === undefined ? '' : JSON.stringify(value, null, 2));
  const wrong = useSignal(false);
  const input = (typed: string) => {
    text.value = typed;
    wrong.value = false;
    if (typed.trim() === '') return onChange(undefined);
    try {
      onChange(JSON.parse(typed));
    } catch {
      wrong.value = true;
    }
  };
  return (
    <>
      <textarea
        {...common}
        class="mono"
        rows={1}
        spellcheck={false}
        placeholder={placeholder}
        value={text.value}
        onInput={(event) => input(event.currentTarget.value)}
      />
      {wrong.value && <p class="fault">This is not JSON yet, and is left out until it is.</p>}
    </>
  );
}

function ListInput(props: Props) {
  const { id, column, value, onChange, fallback } = props;
  if (column.kind === 'json') {
    const { list: _, ...one } = column;
    return <OneInput {...props} column={{ ...one, list: false }} />;
  }
  const items = Array.isArray(value) ? value : [];
  // One item is one line.
  const one: Column = {
    ...column,
    list: false,
    required: true,
    description: undefined,
    bounds: { maxLength: LINE, ...column.bounds },
  };
  return (
    <div class="items">
      {value === null && <span class="null">null</span>}
      {value === undefined && fallback !== undefined && (
        <span class="null">{JSON.stringify(fallback)} by default</span>
      )}
      {items.map((item, at) => (
        <span class="item" key={at}>
          <OneInput
            {...props}
            id={`${id}-${at}`}
            label={`${column.name}, item ${at + 1}`}
            column={one}
            value={item}
            onChange={(next) => onChange(items.with(at, next ?? ''))}
          />
          <button
            type="button"
            class="plain"
            aria-label={`Remove item ${at + 1}`}
            onClick={() => onChange(items.toSpliced(at, 1))}
          >
            <Icon name="close" />
          </button>
        </span>
      ))}
      <button
        id={id}
        type="button"
        class="plain"
        onClick={() => onChange([...items, column.choices[0] ?? (column.kind === 'boolean' ? false : '')])}
      >
        <Icon name="plus" /> Item
      </button>
    </div>
  );
}
