/** A field of a form that nobody fills in: what it is, and what it is made of. */

import type { Computed } from '../computed.ts';
import { type Row, type Schema, shownType } from '../schema/types.ts';
import { Name, Prose } from './parts.tsx';
import { shownValue } from './value.tsx';

interface Props {
  schema: Schema;
  computed: Computed;
  /** What is stored; nothing is in it where there is no record yet. */
  before: Row;
  given: Row;
}

export function ComputedField({ schema, computed: { column, from }, before, given }: Props) {
  const { name, deprecated, description = '' } = column;
  const id = `field-${name}`;
  const isOpen = Object.keys(before).length === 0 || from.some((each) => each in given);
  return (
    <div class="field" data-name={name}>
      <div class="label">
        <label for={id}>
          <span class={deprecated ? 'deprecated' : ''}>
            <Name text={name} />
          </span>
        </label>
        <span class="tag">computed</span>
        <span class="type">{shownType(column)}</span>
      </div>
      <output id={id} aria-describedby={`${id}-about`}>
        {isOpen ? <span class="null">computed when it is saved</span> : shownValue(column, before, schema)}
      </output>
      <p class="quiet small" id={`${id}-about`}>
        <Prose text={description} />
      </p>
    </div>
  );
}
