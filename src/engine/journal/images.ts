/** A record as it was: its own columns as JSON, by the names that they are stored under, which a renamed field keeps. */

import type { Column, Resource } from '../../schema/model.ts';
import { isScalar } from '../../schema/values.ts';
import type { Row } from '../../storage/statements.ts';

export function imageOf({ columns }: Resource, row: Row | undefined): string | null {
  if (!row) return null;
  const image: Row = {};
  for (const { name, stored } of columns) image[stored] = row[name];
  return JSON.stringify(image);
}

/** In the fields of today: what there was not then is null. */
export function recordOf({ columns }: Resource, image: unknown): Row | null {
  if (typeof image !== 'string') return null;
  const kept = JSON.parse(image) as Row;
  const record: Row = {};
  for (const column of columns) record[column.name] = presentOf(column, kept[column.stored]);
  return record;
}

/** Only the fields that there were then. */
export function keptOf(resource: Resource, image: unknown): Row {
  const there = JSON.parse(String(image)) as Row;
  const record = recordOf(resource, image) ?? {};
  const kept: Row = {};
  for (const { name, stored } of resource.columns)
    if (Object.hasOwn(there, stored)) kept[name] = record[name];
  return kept;
}

/** A value of then as one of now: numbers that became exact are texts, and what an enum has lost is nothing. */
function presentOf({ type, list }: Column, value: unknown): unknown {
  if (value === undefined || value === null) return null;
  const isKept = (each: unknown) => (isScalar(type) ? true : type.values.some(({ name }) => name === each));
  if (list) return Array.isArray(value) ? value.filter(isKept) : null;
  if (!isKept(value)) return null;
  return isScalar(type) && type.is === 'exact' ? String(value) : value;
}
