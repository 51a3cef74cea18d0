/** The fields of a record, as it is stored. */

import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { computedOf } from '../computed.ts';
import { type Column, type Resource, type Row, type Schema, shownType } from '../schema/types.ts';
import { Name } from './parts.tsx';
import { directionOf, shownValue } from './value.tsx';

interface Props {
  resource: Resource;
  row: Row;
  schema: Schema;
  /** Those that are shown; without a word, all. */
  columns?: readonly Column[];
}

export function Fields({ resource, row, schema, columns = resource.columns }: Props) {
  const computed = new Map(computedOf(resource).map(({ column, from }) => [column, from]));
  return (
    <dl class="fields">
      {columns.map((column) => (
        <div key={column.name}>
          <dt title={column.description}>
            <span class={column.deprecated ? 'deprecated' : ''}>
              <Name text={column.reference?.name ?? column.name} />
            </span>{' '}
            <span class="type">{shownType(column)}</span>
            {computed.has(column) && <p class="small">computed from {computed.get(column)?.join(', ')}</p>}
          </dt>
          <dd dir={directionOf(column, row)}>
            {column.kind === 'text' || column.kind === 'json' ? (
              <Long>{shownValue(column, row, schema)}</Long>
            ) : (
              shownValue(column, row, schema)
            )}
          </dd>
        </div>
      ))}
    </dl>
  );
}

/** The first lines of what has many: the rest of the record is not pushed out of sight by it. */
function Long({ children }: { children: preact.ComponentChildren }) {
  const isAll = useSignal(false);
  const isLong = useSignal(false);
  const box = useRef<HTMLDivElement>(null);
  // How many lines it has, the window decides.
  useEffect(() => {
    const { current } = box;
    if (!current) return;
    const observer = new ResizeObserver(() => {
      isLong.value = isAll.value || current.scrollHeight > current.clientHeight;
    });
    observer.observe(current);
    return () => observer.disconnect();
  }, []);
  return (
    <>
      <div ref={box} class={isAll.value ? '' : 'first'}>
        {children}
      </div>
      {isLong.value && (
        <button
          type="button"
          class="small"
          aria-expanded={isAll.value}
          onClick={() => {
            isAll.value = !isAll.value;
          }}
        >
          {isAll.value ? 'Show less' : 'Show all'}
        </button>
      )}
    </>
  );
}
