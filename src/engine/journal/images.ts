/** A record as it was: its own columns as JSON, by the names that they are stored under, which a renamed field keeps. */

import { membersOf } from '../../base/members.ts';
import { PassedJson } from '../../base/passed.ts';
import type { Column, Resource } from '../../schema/model.ts';
import { isScalar, keptAs } from '../../schema/values.ts';
import type { Row } from '../../storage/statements.ts';

export function imageOf({ columns }: Resource, row: Row | undefined): string | null {
  if (!row) return null;
  const image: Row = {};
  for (const { name, stored } of columns) image[stored] = row[name];
  return JSON.stringify(image);
}

/** Shorter images are read sooner than what is passed on of them is found; a page has a thousand changes, and so little of them. */
const SHORT = 1000;

/** In the fields of today: what there was not then is null. JSON is passed on, since a page of changes may have much of it. */
export function recordOf(resource: Resource, image: unknown): Row | null {
  if (typeof image !== 'string') return null;
  const there = image.length > SHORT ? membersOf(image, passedIn(resource)) : (JSON.parse(image) as Row);
  const record: Row = {};
  for (const column of resource.columns) record[column.name] = presentOf(column, there[column.stored]);
  return record;
}

/** Only the fields that there were then, with their values. */
export function keptOf({ columns }: Resource, image: unknown): Row {
  const there = JSON.parse(String(image)) as Row;
  const kept: Row = {};
  for (const column of columns)
    if (Object.hasOwn(there, column.stored)) kept[column.name] = presentOf(column, there[column.stored]);
  return kept;
}

const passing = new WeakMap<Resource, ReadonlySet<string>>();

/** The stored names of the columns whose values of then are values of now, whatever they are. */
function passedIn(resource: Resource): ReadonlySet<string> {
  let names = passing.get(resource);
  if (!names) {
    const passed = resource.columns.filter((column) => keptAs(column) === 'json' && isScalar(column.type));
    names = new Set(passed.map(({ stored }) => stored));
    passing.set(resource, names);
  }
  return names;
}

/** A value of then as one of now: numbers that became exact are texts, and what an enum has lost is nothing. */
function presentOf({ type, list }: Column, value: unknown): unknown {
  if (value === undefined || value === null) return null;
  if (value instanceof PassedJson) return !list || value.text.startsWith('[') ? value : null;
  const isKept = (each: unknown) => (isScalar(type) ? true : type.values.some(({ name }) => name === each));
  if (list) return Array.isArray(value) ? value.filter(isKept) : null;
  if (!isKept(value)) return null;
  return isScalar(type) && type.is === 'exact' ? String(value) : value;
}
