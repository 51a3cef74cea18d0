/** The fields of a record, as it is stored. */

import { computedOf } from '../computed.ts';
import { type Resource, type Row, type Schema, shownType } from '../schema/types.ts';
import { Name } from './parts.tsx';
import { directionOf, shownValue } from './value.tsx';

export function Fields({ resource, row, schema }: { resource: Resource; row: Row; schema: Schema }) {
  const computed = new Map(computedOf(resource).map(({ column, from }) => [column, from]));
  return (
    <dl class="fields">
      {resource.columns.map((column) => (
        <div key={column.name}>
          <dt title={column.description}>
            <span class={column.deprecated ? 'deprecated' : ''}>
              <Name text={column.reference?.name ?? column.name} />
            </span>{' '}
            <span class="type">{shownType(column)}</span>
            {computed.has(column) && <p class="small">computed from {computed.get(column)?.join(', ')}</p>}
          </dt>
          <dd dir={directionOf(column, row)}>{shownValue(column, row, schema)}</dd>
        </div>
      ))}
    </dl>
  );
}
