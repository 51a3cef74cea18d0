/** Holds the records that there are against checks that are new. */

import { checksOf } from '../../query/checks.ts';
import { canonical, type Filter, ownColumns } from '../../query/filter.ts';
import type { Column, Resource } from '../../schema/model.ts';
import { defaultOf } from '../../schema/values.ts';
import type { Shape } from './database.ts';
import type { Past } from './history.ts';
import type { Refusal } from './refusals.ts';
import type { Later, Rows } from './rows.ts';

/** What is new to the database must be true of every record that it has. */
export async function brokenChecks(
  resource: Resource,
  { columns }: Shape,
  past: Past,
  rows: Rows,
): Promise<Refusal[]> {
  if (resource.checks.length === 0) return [];
  const old = past.model?.resources.find(({ table }) => table === resource.table);
  const known = new Set(old && checksOf(old).map(({ where }) => meaning(old, where)));
  const refusals: Refusal[] = [];
  for (const { where, message } of checksOf(resource)) {
    if (known.has(meaning(resource, where))) continue;
    const later = new Map<Column, Later>();
    // Looked at again when records have been given it.
    const isAwaited = ({ origin, stored }: Column) => origin.by === 'function' && !columns.has(stored);
    if ([...ownColumns(where, resource)].some(isAwaited)) continue;
    for (const column of ownColumns(where, resource)) {
      const stored = columns.get(column.stored);
      const value = (column.required ? defaultOf(column) : undefined) ?? null;
      if (!stored || (column.required && !stored.required && value !== null))
        later.set(column, { isNew: !stored, value });
    }
    const keys = await rows.unmatched(resource, where, later);
    if (keys.length === 0) continue;
    refusals.push({
      what: `${resource.name}: a new @check, "${message}"`,
      why: `there are records that break it: ${keys.join(', ')}`,
      how: 'Change such records first, or drop the @check',
    });
  }
  return refusals;
}

/** A filter means something else where letter case counts no more. */
function meaning(resource: Resource, where: Filter): string {
  const folded = [...ownColumns(where, resource)].filter((column) => column.folded);
  return `${canonical(where)} ${folded.map(({ name }) => name).sort()}`;
}
