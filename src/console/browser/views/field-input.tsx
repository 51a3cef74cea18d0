/** The input that fits a field: choices for enums, a switch for booleans, pickers for days, a search for references, rows for lists. */

import { choicesOf } from '../choices.ts';
import type { FieldFault } from '../doors/wire.ts';
import { scalar } from '../scalar.ts';
import { type Column, type FormField, type Row, type Schema, shownType } from '../schema/types.ts';
import { emptied, mayBeEmpty, readMoment, Unreadable, unreadable } from '../typed.ts';
import { isObject } from '../where.ts';
import { Icon, Prose } from './parts.tsx';
import { ReferenceInput } from './reference-input.tsx';
import { aboutOf, JsonInput, LINE, mayHaveLines, NumberInput, TextInput } from './typed-input.tsx';

interface Props {
  id: string;
  /** For what has no label of its own. */
  label?: string | undefined;
  column: Column;
  /** Undefined: nothing is given. */
  value: unknown;
  /** What is stored; undefined where nothing is. */
  was: unknown;
  schema: Schema;
  before: Row;
  /** What the service takes when nothing is given. */
  fallback: unknown;
  invalid: boolean;
  /** What the service has found in it, and the pointer to it. */
  faults?: readonly FieldFault[];
  at?: string;
  onChange: (value: unknown) => void;
}

export function FieldInput(props: Props) {
  const { column, value, was, fallback } = props;
  const { mayBeNull } = choicesOf(column, was, fallback);
  const isNothing = value === null || value === undefined;
  return (
    <div class="input">
      {column.list ? (
        <ListInput {...props} />
      ) : column.fields ? (
        <ObjectInput {...props} />
      ) : (
        <OneInput {...props} />
      )}
      {/* Nothing else can be read in these. */}
      {(column.list || column.kind.startsWith('date')) && isHidden(column, value, props.before) && (
        <span class="null">{HIDDEN}</span>
      )}
      {isNothing && mayBeEmpty(column) && (
        <SetTo {...props} to="" mark="empty text" why="a value without a character" />
      )}
      {isNothing && column.list && column.kind !== 'json' && (
        <SetTo {...props} to={[]} mark="empty list" why="no items" />
      )}
      {mayBeNull && (!isNothing || (value === undefined && fallback !== undefined)) && (
        <SetTo {...props} to={null} mark="null" why="no value" />
      )}
    </div>
  );
}

/** Says what no key says: that there is nothing, or a text with nothing in it. */
function SetTo({ id, column, to, mark, why, onChange }: Props & { to: unknown; mark: string; why: string }) {
  const label = `Set to ${mark}`;
  return (
    <button
      type="button"
      class="plain small set"
      title={`${label}: ${why}`}
      aria-label={`${label}: ${column.name}`}
      onClick={() => {
        onChange(to);
        document.getElementById(id)?.focus();
      }}
    >
      <span>Set to </span>
      {mark}
    </button>
  );
}

function OneInput({ id, label, column, value, was, schema, before, fallback, invalid, onChange }: Props) {
  const about = [
    aboutOf(column) && `${id}-about`,
    mayHaveLines(column) && `${id}-keys`,
    invalid && `${id}-fault`,
  ];
  const common = {
    id,
    'aria-label': label,
    'aria-invalid': invalid || undefined,
    'aria-describedby': about.filter(Boolean).join(' ') || undefined,
  };
  const placeholder = isHidden(column, value, before) ? HIDDEN : told(value, was, fallback);
  const typed = { common, column, value, was, placeholder, onChange };
  const target = column.reference && schema.byName.get(column.reference.target);
  if (column.reference && target?.operations.has('LIST'))
    return (
      <ReferenceInput {...typed} target={target} known={before[column.reference.name]} schema={schema} />
    );
  switch (column.kind) {
    case 'enum':
    case 'boolean': {
      if (column.kind === 'boolean' && column.required && (was ?? fallback) !== undefined)
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
      const { values, mayBeNull } = choicesOf(column, was, fallback);
      return (
        <select
          {...common}
          value={value === null || value === undefined ? '' : String(value)}
          onChange={(event) => {
            const text = event.currentTarget.value;
            onChange(text === '' ? emptied(column, was) : scalar(column, text));
          }}
        >
          {(value === undefined || value === null || mayBeNull) && (
            <option value="">{placeholder || 'not set'}</option>
          )}
          <Choices column={column} values={column.kind === 'boolean' ? ['true', 'false'] : values} />
        </select>
      );
    }
    case 'date':
      return (
        <input
          {...common}
          type="date"
          value={typeof value === 'string' ? value : ''}
          onInput={(event) => onChange(event.currentTarget.value || emptied(column, was))}
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
              onChange(text === '' ? emptied(column, was) : readMoment(text));
            }}
          />
          <span class="quiet small">UTC</span>
        </span>
      );
    case 'json':
      return <JsonInput {...typed} />;
    case 'int':
    case 'float':
    case 'bigint':
    case 'decimal':
    case 'id':
      return <NumberInput {...typed} />;
    default:
      return <TextInput {...typed} />;
  }
}

export function Choices({ column, values }: { column: Column | undefined; values: readonly string[] }) {
  return (
    <>
      {values.map((choice) => (
        <option key={choice} value={choice} title={column?.outdated?.[choice]}>
          {calledIn(column, choice)}
        </option>
      ))}
    </>
  );
}

export function calledIn(column: Column | undefined, choice: string): string {
  return choice in (column?.outdated ?? {}) ? `${choice} (deprecated)` : choice;
}

const HIDDEN = 'hidden';

/** Of a record that is there, whoever may not see a value is not told that it has none. */
function isHidden({ name }: Column, value: unknown, before: Row): boolean {
  return value === undefined && Object.keys(before).length > 0 && !(name in before);
}

/** What an input without a value stands for. */
function told(value: unknown, was: unknown, fallback: unknown): string {
  if (value === '') return 'empty';
  if (value === null || was !== undefined) return 'null';
  if (fallback === undefined) return '';
  if (fallback === '') return 'empty by default';
  return `${typeof fallback === 'string' ? fallback : JSON.stringify(fallback)} by default`;
}

/** An input of an action, by its fields: what is left alone is not sent. */
function ObjectInput(props: Props) {
  const { id, label, column, value, was, faults = [], at = '', onChange } = props;
  const given: Row = isObject(value) ? value : {};
  const put = (name: string, next: unknown) => {
    const { [name]: _, ...others } = given;
    const all = next === undefined ? others : { ...others, [name]: next };
    onChange(Object.keys(all).length > 0 ? all : emptied(column, was));
  };
  return (
    <fieldset id={id} class="object">
      <legend class="sr">{label ?? column.name}</legend>
      {column.fields?.map(({ input, column: field }: FormField) => {
        const here = `${at}/${field.name}`;
        const own = faults.filter(({ pointer }) => pointer === here);
        return (
          <div key={field.name} class="part">
            <label for={`${id}-${field.name}`}>
              {field.name}
              {input.required && <span class="required"> required</span>}
              <span class="type"> {shownType(field)}</span>
            </label>
            <FieldInput
              {...props}
              id={`${id}-${field.name}`}
              label={undefined}
              column={field}
              value={given[field.name]}
              was={undefined}
              before={{}}
              fallback={input.default}
              invalid={own.length > 0 || (props.invalid && unreadable(given[field.name]) !== undefined)}
              at={here}
              onChange={(next) => put(field.name, next)}
            />
            {field.description && (
              <p class="quiet small" id={`${id}-${field.name}-about`}>
                <Prose text={field.description} />
              </p>
            )}
            {own.map(({ detail }) => (
              <p key={detail} class="fault" id={`${id}-${field.name}-fault`} role="alert">
                {detail}
              </p>
            ))}
          </div>
        );
      })}
    </fieldset>
  );
}

function ListInput(props: Props) {
  const { id, column, value, onChange, fallback } = props;
  if (column.kind === 'json' && !column.fields) {
    const { list: _, ...one } = column;
    return <OneInput {...props} column={{ ...one, list: false }} />;
  }
  const Item = column.fields ? ObjectInput : OneInput;
  // One item is one line.
  const one: Column = {
    ...column,
    list: false,
    required: true,
    description: undefined,
    bounds: { maxLength: LINE, ...column.bounds },
  };
  // A list of inputs that must be there has a row to fill in; as long as nobody does, nothing is given.
  const isAwaited = column.fields && column.required && value === undefined && fallback === undefined;
  const items = Array.isArray(value) ? value : isAwaited ? [begun(one)] : [];
  return (
    <div class="items">
      {value === null && <span class="null">null</span>}
      {Array.isArray(value) && value.length === 0 && <span class="null">empty list</span>}
      {value === undefined && fallback !== undefined && (
        <span class="null">{JSON.stringify(fallback).replace(/^\[]$/, 'none')} by default</span>
      )}
      {items.map((item, at) => (
        <span class="item" key={at}>
          <Item
            {...props}
            id={`${id}-${at}`}
            label={`${column.name}, item ${at + 1}`}
            column={one}
            value={item}
            was={undefined}
            at={`${props.at}/${at}`}
            onChange={(next: unknown) => onChange(items.with(at, next ?? begun(one)))}
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
        aria-label={`Add item to ${column.name}`}
        onClick={() => onChange([...items, begun(one)])}
      >
        <Icon name="plus" /> Add item
      </button>
    </div>
  );
}

/** What a new item is. */
function begun(column: Column): unknown {
  if (column.kind === 'boolean') return false;
  if (column.fields) return {};
  return (
    column.choices[0] ??
    (mayBeEmpty(column) ? '' : new Unreadable('', 'An item is empty. Fill it in, or remove it.'))
  );
}
