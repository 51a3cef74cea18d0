/** Conditions of a filter, and groups of them, with the operators of the grammar, each where it fits. */

import {
  type Comparison,
  comparables,
  type Group,
  nothing,
  type Part,
  type Quantified,
  spoken,
} from '../filter-tree.ts';
import { scalar } from '../scalar.ts';
import type { Column, Resource, Schema } from '../schema/types.ts';
import { Unreadable } from '../typed.ts';
import { Choices, calledIn, FieldInput } from './field-input.tsx';
import { Icon } from './parts.tsx';
import { ReferenceList } from './reference-list.tsx';

export function begun(resource: Resource, schema: Schema): Group {
  return { ...nothing, parts: [comparison(resource, schema)].flatMap((part) => part ?? []) };
}

function comparison(resource: Resource, schema: Schema): Comparison | undefined {
  const all = comparables(resource, schema);
  const path = all.has(resource.label.name) ? resource.label.name : [...all.keys()][0];
  const column = path === undefined ? undefined : all.get(path);
  if (!column || path === undefined) return undefined;
  return fitted({ path, operator: firstOperator(column), text: '' }, column);
}

function firstOperator({ operators }: Column): string {
  return operators.includes('contains') ? 'contains' : (operators[0] ?? 'isNull');
}

interface GroupProps {
  group: Group;
  resource: Resource;
  schema: Schema;
  onChange: (group: Group) => void;
  onRemove?: () => void;
}

export function GroupEditor({ group, resource, schema, onChange, onRemove }: GroupProps) {
  const put = (at: number, part: Part | undefined) =>
    onChange({ ...group, parts: part ? group.parts.with(at, part) : group.parts.toSpliced(at, 1) });
  const add = (part: Part | undefined) => part && onChange({ ...group, parts: [...group.parts, part] });
  return (
    <fieldset class="group">
      <legend class="sr">Conditions</legend>
      <div class="line">
        <select
          aria-label="How the conditions are joined"
          value={group.is}
          onChange={(event) => onChange({ ...group, is: event.currentTarget.value as Group['is'] })}
        >
          <option value="all">all of these</option>
          <option value="any">any of these</option>
          <option value="none">none of these</option>
        </select>
        {onRemove && <Remove onClick={onRemove} />}
      </div>
      {group.parts.map((part, at) => (
        <PartEditor
          key={at}
          part={part}
          resource={resource}
          schema={schema}
          onChange={(next) => put(at, next)}
        />
      ))}
      <div class="line">
        <button type="button" class="plain" onClick={() => add(comparison(resource, schema))}>
          <Icon name="plus" /> Condition
        </button>
        <button type="button" class="plain" onClick={() => add(begun(resource, schema))}>
          <Icon name="plus" /> Group
        </button>
        {resource.inverses.map(({ name }) => (
          <button
            key={name}
            type="button"
            class="plain"
            onClick={() => add({ inverse: name, how: 'some', group: nothing })}
          >
            <Icon name="plus" /> Condition on {name}
          </button>
        ))}
      </div>
    </fieldset>
  );
}

interface PartProps {
  part: Part;
  resource: Resource;
  schema: Schema;
  onChange: (part: Part | undefined) => void;
}

function PartEditor({ part, resource, schema, onChange }: PartProps) {
  if ('path' in part)
    return <ComparisonEditor part={part} resource={resource} schema={schema} onChange={onChange} />;
  if ('inverse' in part)
    return <QuantifiedEditor part={part} resource={resource} schema={schema} onChange={onChange} />;
  return (
    <GroupEditor
      group={part}
      resource={resource}
      schema={schema}
      onChange={onChange}
      onRemove={() => onChange(undefined)}
    />
  );
}

function ComparisonEditor({ part, resource, schema, onChange }: PartProps & { part: Comparison }) {
  const all = comparables(resource, schema);
  const column = all.get(part.path);
  const choose = (path: string) => {
    const next = all.get(path);
    if (!next) return;
    const operator = next.operators.includes(part.operator) ? part.operator : firstOperator(next);
    onChange(fitted({ path, operator, text: next.kind === column?.kind ? part.text : '' }, next));
  };
  return (
    <div class="line condition">
      <select aria-label="Field" value={part.path} onChange={(event) => choose(event.currentTarget.value)}>
        {[...all].map(([path, { name, reference }]) => (
          <option key={path} value={path}>
            {path === name ? (reference?.name ?? name) : path}
          </option>
        ))}
      </select>
      <select
        aria-label="Operator"
        value={part.operator}
        onChange={(event) => onChange(fitted({ ...part, operator: event.currentTarget.value }, column))}
      >
        {column?.operators
          // Records have no order, though their keys do.
          .filter(
            (operator) => !column.reference || operator === part.operator || !/^[gl]te?$/.test(operator),
          )
          .map((operator) => (
            <option key={operator} value={operator}>
              {spoken(operator, column)}
            </option>
          ))}
      </select>
      <Operand
        column={column}
        part={part}
        schema={schema}
        onChange={(next) => onChange({ ...part, ...next })}
      />
      <Remove onClick={() => onChange(undefined)} />
    </div>
  );
}

/** Where there is a choice, one is made. */
function fitted(part: Comparison, column: Column | undefined): Comparison {
  const choices = choicesOf(part.operator, column);
  return choices.length === 0 || choices.includes(part.text) ? part : { ...part, text: choices[0] ?? '' };
}

function choicesOf(operator: string, column: Column | undefined): readonly string[] {
  if (operator === 'isNull') return ['true', 'false'];
  if (operator === 'in') return [];
  return column?.kind === 'boolean' ? ['true', 'false'] : (column?.choices ?? []);
}

interface OperandProps {
  column: Column | undefined;
  part: Comparison;
  schema: Schema;
  onChange: (next: Pick<Comparison, 'text' | 'given'>) => void;
}

/** Kinds of fields whose form has an input of its own. */
const PICKED = new Set(['date', 'datetime', 'int', 'float', 'bigint', 'decimal']);

function Operand({ column, part, schema, onChange }: OperandProps) {
  const choices = choicesOf(part.operator, column);
  if (choices.length > 0)
    return (
      <select
        aria-label="Value"
        value={part.text}
        onChange={(event) => onChange({ text: event.currentTarget.value })}
      >
        <Choices column={column} values={choices} />
      </select>
    );
  const isList = /^(in|has(Some|Every))$/.test(part.operator);
  if (column && isList && column.choices.length > 0)
    return <Boxes column={column} text={part.text} onChange={(text) => onChange({ text })} />;
  const target = column?.reference && schema.byName.get(column.reference.target);
  if (column && target && isList)
    return (
      <ReferenceList
        id={`filter-${part.path}`}
        {...{ column, target, schema }}
        text={part.text}
        onChange={(text) => onChange({ text })}
      />
    );
  // Of a record that is referred to, the key; nobody knows it by heart.
  if (column && !isList && !column.list && (column.reference || PICKED.has(column.kind)))
    return (
      <FieldInput
        id={`filter-${part.path}`}
        label="Value"
        column={{ ...column, required: true, description: undefined }}
        value={part.given ?? (part.text === '' ? undefined : scalar(column, part.text))}
        was={undefined}
        schema={schema}
        before={{}}
        fallback={undefined}
        invalid={false}
        onChange={(given) => onChange({ text: writtenOf(given), given })}
      />
    );
  return (
    <input
      aria-label="Value"
      value={part.text}
      placeholder={isList ? 'one, two, three' : ''}
      onInput={(event) => onChange({ text: event.currentTarget.value })}
    />
  );
}

interface BoxesProps {
  column: Column;
  /** Those that are ticked, with commas between them. */
  text: string;
  onChange: (text: string) => void;
}

function Boxes({ column, text, onChange }: BoxesProps) {
  const { choices, outdated } = column;
  const ticked = new Set(text.split(',').map((each) => each.trim()));
  return (
    <fieldset class="line boxes">
      <legend class="sr">Value</legend>
      {choices.map((choice) => (
        <label key={choice} title={outdated?.[choice]}>
          <input
            type="checkbox"
            checked={ticked.has(choice)}
            onChange={(event) => {
              const is = event.currentTarget.checked;
              onChange(choices.filter((each) => (each === choice ? is : ticked.has(each))).join(', '));
            }}
          />
          {calledIn(column, choice)}
        </label>
      ))}
    </fieldset>
  );
}

function writtenOf(value: unknown): string {
  if (value instanceof Unreadable) return value.text;
  return value === null || value === undefined ? '' : String(value);
}

function QuantifiedEditor({ part, resource, schema, onChange }: PartProps & { part: Quantified }) {
  const name = resource.inverses.find((inverse) => inverse.name === part.inverse)?.target ?? '';
  const target = schema.byName.get(name);
  return (
    <div class="quantified">
      <div class="line">
        <select
          aria-label="Quantifier"
          value={part.how}
          onChange={(event) => onChange({ ...part, how: event.currentTarget.value as Quantified['how'] })}
        >
          <option value="some">some of its {part.inverse}</option>
          <option value="none">none of its {part.inverse}</option>
        </select>
        <Remove onClick={() => onChange(undefined)} />
      </div>
      {target && (
        <GroupEditor
          group={part.group}
          resource={target}
          schema={schema}
          onChange={(group) => onChange({ ...part, group })}
        />
      )}
    </div>
  );
}

function Remove({ onClick }: { onClick: () => void }) {
  return (
    <button type="button" class="plain" aria-label="Remove" onClick={onClick}>
      <Icon name="close" />
    </button>
  );
}
