/** The `Deprecation` header (RFC 9745) of an answer that contains deprecated fields, nested ones too. */

import type { Selection } from '../engine/operation.ts';
import type { Column, Resource } from '../schema/model.ts';

/** When the deprecation of a field was first applied, by `Type.field`. */
export type Deprecations = ReadonlyMap<string, Date>;

type Header = Readonly<Record<string, string>>;

export function deprecationOf(resource: Resource, selection: Selection, since: Deprecations): Header {
  return since.size === 0 ? {} : headerOf(datesIn(resource, selection, since));
}

export function deprecationOfColumns(
  resource: Resource,
  columns: readonly Column[],
  since: Deprecations,
): Header {
  return deprecationOf(resource, { columns, relations: [] }, since);
}

function datesIn(resource: Resource, { columns, relations }: Selection, since: Deprecations): Date[] {
  const names = [...columns.map(({ name }) => name), ...relations.map(({ field }) => field.name)];
  return [
    ...names.flatMap((name) => since.get(`${resource.name}.${name}`) ?? []),
    ...relations.flatMap(({ field, selection }) => datesIn(field.target, selection, since)),
  ];
}

/** The earliest date, where several fields are deprecated. */
function headerOf(dates: readonly Date[]): Header {
  const first = Math.min(...dates.map((date) => Math.floor(date.getTime() / 1000)));
  return dates.length > 0 ? { Deprecation: `@${first}` } : {};
}
