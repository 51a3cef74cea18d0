/** Parts of a time that records can be grouped by: the first day of a year, month, week or day, or the begin of an hour; in UTC. */

import type { Column, Resource } from '../schema/model.ts';
import { type Scalar, scalars } from '../schema/scalars.ts';
import { isScalar } from '../schema/values.ts';
import { isSortable } from './operators.ts';

export type Part = 'year' | 'month' | 'week' | 'day' | 'hour';

/** What a group has in common, as if it were a column. */
export interface TimePart extends Column {
  readonly part: Part;
  readonly of: Column;
}

export const parts: readonly Part[] = ['year', 'month', 'week', 'day', 'hour'];

export function isTimePart(column: Column): column is TimePart {
  return 'part' in column;
}

/** The column whose values decide the groups. */
export function decisive(column: Column): Column {
  return isTimePart(column) ? column.of : column;
}

/** `month(orderedOn)`, or the name of a column. */
export function spelt(column: Column): string {
  return isTimePart(column) ? `${column.part}(${column.of.name})` : column.name;
}

const known = new WeakMap<Resource, readonly Column[]>();

/** What records can be grouped by. */
export function groupable(resource: Resource): readonly Column[] {
  let columns = known.get(resource);
  if (!columns) {
    columns = [
      ...resource.columns.filter(isSortable),
      ...resource.columns.flatMap((of) => partsOf(resource, of)),
    ];
    known.set(resource, columns);
  }
  return columns;
}

export function timeParts(resource: Resource): readonly TimePart[] {
  return groupable(resource).filter(isTimePart);
}

function partsOf({ fieldByName }: Resource, of: Column): TimePart[] {
  const { type, list } = of;
  if (list || !isScalar(type) || (type.stored !== 'date' && type.stored !== 'time')) return [];
  const name = (part: Part) => `${of.name}${part[0]?.toUpperCase()}${part.slice(1)}`;
  return parts
    .filter((part) => (part !== 'hour' || type.stored === 'time') && !fieldByName.has(name(part)))
    .map((part) => ({
      ...of,
      name: name(part),
      type: scalars.get(part === 'hour' ? 'DateTime' : 'Date') as Scalar,
      constraint: undefined,
      part,
      of,
    }));
}
