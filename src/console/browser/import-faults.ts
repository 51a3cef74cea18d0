/** What is wrong with the records of a file, by line: all that can be told before they are written, at once. */

import { send } from './doors/send.ts';
import type { Fault } from './doors/wire.ts';
import { type FileRecords, type LineFault, readCell } from './file-records.ts';
import type { Column, FormField, Resource, Row, Schema } from './schema/types.ts';
import { door } from './session.ts';
import { unreadable } from './typed.ts';

/** What is to be written, and what of it cannot be. */
export function readRecords(
  read: FileRecords,
  mapping: Readonly<Record<string, string>>,
  fields: readonly FormField[],
  resource: Resource,
): { records: Row[]; faults: LineFault[] } {
  const faults = [...read.faults];
  const columns = new Map(fields.map(({ column }) => [column.name, column]));
  const sets = uniquesOf(resource);
  /** The first line that has these values. */
  const lines = new Map<string, number>();
  const records = read.records.map(({ line, values }) => {
    const record: Record<string, unknown> = {};
    /** What cannot be read is not missing too. */
    const there = new Set<string>();
    for (const [name, value] of Object.entries(values)) {
      const column = columns.get(mapping[name] ?? '');
      if (!column) continue;
      const given = read.isText ? readCell(column, String(value)) : value;
      if (given === undefined) continue;
      there.add(column.name);
      const why = unreadable(given)?.why ?? broken(column, given);
      if (why) faults.push({ line, field: column.name, why });
      else record[column.name] = given;
    }
    for (const { input } of fields)
      if (input.required && !there.has(input.name))
        faults.push({ line, field: input.name, why: 'is required' });
    for (const set of sets) {
      const field = set.map(({ name }) => name).join(', ');
      const given = set.map(({ name }) => record[name] ?? null);
      if (given.includes(null)) continue;
      const key = JSON.stringify([field, given]);
      const before = lines.get(key);
      if (before === undefined) lines.set(key, line);
      else faults.push({ line, field, why: `the same as in line ${before}` });
    }
    return record;
  });
  return { records, faults };
}

function uniquesOf({ columns, uniques = [] }: Resource): Column[][] {
  return uniques.flatMap((each) => {
    const parts = columns.some(({ name }) => name === each) ? [each] : each.split('_');
    const set = parts.flatMap(
      (part) => columns.find(({ name, reference }) => part === name || part === reference?.name) ?? [],
    );
    return set.length === parts.length ? [set] : [];
  });
}

/** In the words of the service, which has the last one. */
function broken({ kind, choices, bounds }: Column, value: unknown): string | undefined {
  const { minimum, maximum, minLength = 0, maxLength, pattern } = bounds;
  if (typeof value === 'number') {
    if (minimum !== undefined && value < minimum) return `must be ${minimum} or more`;
    return maximum !== undefined && value > maximum ? `must be ${maximum} or less` : undefined;
  }
  if (typeof value !== 'string') return undefined;
  if (kind === 'enum') return choices.includes(value) ? undefined : `must be one of ${choices.join(', ')}`;
  if (kind !== 'text') return undefined;
  const { length } = [...value];
  const characters = (count: number) => `${count} character${count === 1 ? '' : 's'}`;
  if (length < minLength) return `must have at least ${characters(minLength)}`;
  if (maxLength !== undefined && length > maxLength) return `must have at most ${characters(maxLength)}`;
  return pattern && !new RegExp(pattern, 'u').test(value) ? `must match ${pattern}` : undefined;
}

/** So many are looked up before Import, in so many at a time; of the others the service tells one after the other. */
const MOST = 1000;
const AT_ONCE = 100;

/** Values that must be unique and are those of stored records. */
export async function takenIn(
  read: FileRecords,
  records: readonly Row[],
  resource: Resource,
  schema: Schema,
): Promise<LineFault[]> {
  const faults: LineFault[] = [];
  for (const [column, ...others] of uniquesOf(resource)) {
    if (!column?.operators.includes('in') || others.length > 0) continue;
    const { name } = column;
    const given = records.slice(0, MOST).flatMap((record, at) => {
      const line = read.records[at]?.line;
      return record[name] == null || line === undefined ? [] : [{ line, value: record[name] }];
    });
    for (let at = 0; at < given.length; at += AT_ONCE) {
      const some = given.slice(at, at + AT_ONCE);
      const where = { [name]: { in: some.map(({ value }) => value) } };
      const none = { after: undefined, before: undefined, count: false, related: false } as const;
      const { rows = [] } = await send(
        { do: 'list', resource, where, sort: [], limit: AT_ONCE, ...none },
        door.value,
        schema,
      );
      // Letter case may not count: the service knows.
      const found = new Set(rows.map((row) => String(row[name]).toLowerCase()));
      for (const { line, value } of some)
        if (found.has(String(value).toLowerCase()))
          faults.push({ line, field: name, why: 'is taken by another record' });
    }
  }
  return faults;
}

/** `#/operations/0/body/17/title` is a field of the eighteenth record. */
export function faultsByLine({ errors }: Fault, read: FileRecords | undefined): LineFault[] {
  return errors.flatMap(({ pointer = '', detail }): LineFault[] => {
    const [, at, field] = /\/(?:body|records)\/(\d+)(?:\/([^/]+))?/.exec(pointer) ?? [];
    const line = read?.records[Number(at)]?.line;
    // Of values that are taken together, each is told.
    const why = detail.replace(/^The combination of /, '');
    const [together] = why.split(' is ');
    const names = why === detail ? field : together;
    if (line === undefined || (names && field && !names.startsWith(field))) return [];
    return [{ line, ...(names && { field: names }), why }];
  });
}
