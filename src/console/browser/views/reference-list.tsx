/** Several records that a filter is to find references to: by their names, each of which can be taken away, and a search for more. */

import { useSignal } from '@preact/signals';
import { scalar } from '../scalar.ts';
import { type Column, labelled, type Resource, type Row, type Schema } from '../schema/types.ts';
import { Unreadable } from '../typed.ts';
import { Icon } from './parts.tsx';
import { ReferenceInput } from './reference-input.tsx';
import { useReferred } from './referred.ts';

interface Props {
  id: string;
  column: Column;
  target: Resource;
  /** Their keys, with commas between them. */
  text: string;
  schema: Schema;
  onChange: (text: string) => void;
}

export function ReferenceList({ id, column, target, text, schema, onChange }: Props) {
  const typed = useSignal<unknown>(undefined);
  const keys = text === '' ? [] : text.split(',').map((each) => scalar(column, each.trim()));
  const rows = keys.map((key): Row => ({ [column.name]: key }));
  const referred = useReferred({ columns: [column] }, rows, schema);
  const called = (row: Row) => {
    const record = referred(row)[column.reference?.name ?? ''];
    return record ? labelled(target, record as Row) : String(row[column.name]);
  };
  const put = (next: readonly unknown[]) => onChange([...new Set(next)].join(', '));
  return (
    <div class="picked">
      <ul class="chips" aria-label="Values">
        {rows.map((row, at) => (
          <li key={String(row[column.name])}>
            <span dir="auto">{called(row)}</span>
            <button
              type="button"
              class="plain"
              aria-label={`Remove ${called(row)}`}
              onClick={() => put(keys.toSpliced(at, 1))}
            >
              <Icon name="close" />
            </button>
          </li>
        ))}
      </ul>
      <ReferenceInput
        common={{ id, 'aria-label': 'Value' } as { id: string }}
        column={target.key}
        target={target}
        value={typed.value instanceof Unreadable ? typed.value : undefined}
        was={undefined}
        known={undefined}
        placeholder={`Add ${target.plural}`}
        schema={schema}
        onChange={(next) => {
          typed.value = next;
        }}
        onChoose={(row) => {
          typed.value = undefined;
          put([...keys, row[target.key.name]]);
        }}
      />
    </div>
  );
}
