/** A field of a form: its name, its input, and what is wrong with it. */

import { useSignal } from '@preact/signals';
import type { FieldFault } from '../doors/wire.ts';
import { type Column, type Input, type Row, type Schema, shownType } from '../schema/types.ts';
import { FieldInput } from './field-input.tsx';
import { Name, Prose } from './parts.tsx';
import { unpressed } from './pressed.ts';
import { aboutOf, mayHaveLines } from './typed-input.tsx';

interface Props {
  schema: Schema;
  input: Input;
  column: Column;
  value: unknown;
  before: Row;
  /** Why what was typed is no value. */
  wrong: string | undefined;
  tried: boolean;
  /** What the service found. */
  faults: readonly FieldFault[];
  onChange: (value: unknown) => void;
}

export function Field({ schema, input, column, value, before, wrong, tried, faults, onChange }: Props) {
  const id = `field-${column.name}`;
  const label = column.reference?.name ?? column.name;
  const about = aboutOf(column);
  // Nobody is told in the middle of a word that it is not a whole one.
  const left = useSignal(false);
  // Inputs tell at their own fields what is wrong with these.
  const own = column.fields
    ? faults.filter(({ pointer = '' }) => !/^#\/\w+(\/\d+)?\/[a-z_]/i.test(pointer))
    : faults;
  const told =
    wrong !== undefined
      ? left.value || tried
        ? [wrong]
        : []
      : own.map((each) => toldOf(each).replace(column.name, label));
  return (
    <div
      class="field"
      data-name={column.name}
      onFocusOut={() =>
        unpressed(() => {
          left.value = true;
        })
      }
    >
      <div class="label">
        <label for={id}>
          <span class={column.deprecated ? 'deprecated' : ''}>
            <Name text={label} />
          </span>
          {input.required && <span class="required"> required</span>}
        </label>
        {mayHaveLines(column) && (
          <span class="keys quiet small" id={`${id}-keys`}>
            Shift+Enter for a new line
          </span>
        )}
        <span class="type">{shownType(column)}</span>
      </div>
      <FieldInput
        id={id}
        column={column}
        value={value}
        was={before[column.name]}
        schema={schema}
        before={before}
        fallback={input.default}
        invalid={told.length > 0}
        faults={faults}
        at={`#/${column.name}`}
        onChange={onChange}
      />
      {about && (
        <p class="quiet small" id={`${id}-about`}>
          <Prose text={about} />
        </p>
      )}
      {told.map((detail) => (
        <p key={detail} class="fault" id={`${id}-fault`} role="alert">
          {detail}
        </p>
      ))}
    </div>
  );
}

/** Of a list, in which item it is: `#/wishes/0/itemId`. */
function toldOf({ pointer, detail }: FieldFault): string {
  const [, at] = /^#\/[^/]+\/(\d+)/.exec(pointer ?? '') ?? [];
  return at === undefined ? detail : `Item ${Number(at) + 1}: ${detail}`;
}
