/** What is wrong with the records of a file, by line: all that can be told before they are written, at once. */

import type { Answer } from './ask.ts';
import { send } from './doors/send.ts';
import type { Fault } from './doors/wire.ts';
import { type FileRecords, type LineFault, readCell } from './file-records.ts';
import type { Column, FormField, Resource, Row, Schema } from './schema/types.ts';
import { may } from './session.ts';
import { wrongIn } from './typed.ts';
import type { Where } from './where.ts';

/** What is to be written, and what of it cannot be. */
export interface Checked {
  readonly records: readonly Row[];
  readonly faults: readonly LineFault[];
}

interface Line {
  readonly line: number;
  readonly record: Record<string, unknown>;
}

/** As the columns of the file are mapped to fields. */
export async function checked(
  read: FileRecords,
  mapping: Readonly<Record<string, string>>,
  fields: readonly FormField[],
  resource: Resource,
  schema: Schema,
): Promise<Checked> {
  const faults = [...read.faults];
  const columns = new Map(fields.map(({ column }) => [column.name, column]));
  const lines = read.records.map(({ line, values }): Line => {
    const record: Record<string, unknown> = {};
    /** What cannot be read is not missing too. */
    const there = new Set<string>();
    for (const [name, value] of Object.entries(values)) {
      const column = columns.get(mapping[name] ?? '');
      if (!column) continue;
      // A reference may be given by its name, which is looked up below.
      const given = read.isText && !column.reference ? readCell(column, String(value)) : value;
      if (given === undefined || (read.isText && given === '')) continue;
      there.add(column.name);
      const why = column.reference ? undefined : wrongIn(column, given);
      if (why) faults.push({ line, field: column.name, why });
      else record[column.name] = given;
    }
    for (const { input } of fields)
      if (input.required && !there.has(input.name))
        faults.push({ line, field: input.name, why: 'is required' });
    return { line, record };
  });
  for (const { column } of fields) faults.push(...(await refer(lines, column, resource, schema)));
  for (const set of uniquesOf(resource))
    faults.push(...(await repeated(lines, set, resource, schema, read.unit)));
  return { records: lines.map(({ record }) => record), faults };
}

/** Puts the keys of records in the place of their names, where that is how the file refers to them. */
async function refer(
  lines: readonly Line[],
  { name, reference }: Column,
  resource: Resource,
  schema: Schema,
): Promise<LineFault[]> {
  const target = schema.byName.get(reference?.target ?? '');
  const given = lines.filter(({ record }) => record[name] != null);
  if (!target || given.length === 0) return [];
  const { key, label } = target;
  const asKey = (value: unknown) => {
    const read = readCell(key, key.kind === 'uuid' ? String(value).toLowerCase() : String(value));
    return wrongIn(key, read) === undefined ? read : undefined;
  };
  const find = ({ name: field }: Column, some: readonly unknown[]) =>
    matching(target, some, (part) => ({ [field]: { in: part } }), schema);
  const values = [...new Set(given.map(({ record }) => record[name]))];
  const byKey = await find(
    key,
    values.map(asKey).filter((each) => each !== undefined),
  );
  // A file may refer to what it brings along.
  const own = target.name === resource.name ? lines.map(({ record }) => record) : [];
  const keys = byKey && new Set([...byKey, ...own].map((row) => row[key.name]));
  const isKey = (value: unknown) => value !== undefined && (keys?.has(value) ?? true);
  const others = values.filter((value) => !isKey(asKey(value)));
  const byName = label === key ? undefined : await find(label, others.map(String));
  const named = Map.groupBy(byName ?? [], (row) => folded(row[label.name]));
  return given.flatMap(({ line, record }): LineFault[] => {
    const value = record[name];
    const alike = named.get(folded(value)) ?? [];
    const same = alike.filter((row) => row[label.name] === value);
    const found = (same.length > 0 ? same : alike).map((row) => row[key.name]);
    const [one, another] = isKey(asKey(value)) ? [asKey(value)] : found;
    if (one !== undefined && another === undefined) {
      record[name] = one;
      return [];
    }
    delete record[name];
    const none = byName
      ? `there is no ${target.name} “${value}”`
      : `must be the ${key.name} of a ${target.name}`;
    const several = `several ${target.plural} are called “${value}”: give the ${key.name} of one`;
    return [{ line, field: name, why: one === undefined ? none : several }];
  });
}

/** What must be unique, and is the same in another line or in a stored record. */
async function repeated(
  lines: readonly Line[],
  set: readonly Column[],
  resource: Resource,
  schema: Schema,
  unit: FileRecords['unit'],
): Promise<LineFault[]> {
  const names = set.map(({ name }) => name);
  const given = lines.filter(({ record }) => names.every((name) => record[name] != null));
  const textOf = (row: Row) => JSON.stringify(names.map((name) => row[name]));
  const equal = (row: Row) => Object.fromEntries(names.map((name) => [name, { eq: row[name] }]));
  const taken = await matching(
    resource,
    given.map(({ record }) => record),
    (part) =>
      names.length > 1
        ? { or: part.map(equal) }
        : { [`${names}`]: { in: part.map((row) => row[`${names}`]) } },
    schema,
  );
  /** The first line that has these values. */
  const first = new Map<string, number>();
  for (const { line, record } of given) if (!first.has(textOf(record))) first.set(textOf(record), line);
  // Letter case may not count: the service knows.
  const stored = new Set(taken?.map(textOf).map(folded));
  return given.flatMap(({ line, record }): LineFault[] => {
    const text = textOf(record);
    const before = first.get(text);
    const why =
      before !== line
        ? `the same as in ${unit} ${before}`
        : stored.has(folded(text))
          ? 'is taken by another record'
          : undefined;
    return why ? [{ line, field: names.join(', '), why }] : [];
  });
}

function folded(value: unknown): string {
  return String(value).toLowerCase();
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

/** Records that are looked up at a time. */
const AT_ONCE = 100;

/** The records that match any of what is given; undefined where nobody can tell, and the service does after Import. */
async function matching<T>(
  resource: Resource,
  given: readonly T[],
  where: (part: readonly T[]) => Where,
  schema: Schema,
): Promise<Row[] | undefined> {
  const found: Row[] = [];
  for (let at = 0; at < given.length; at += AT_ONCE) {
    const part = where(given.slice(at, at + AT_ONCE));
    // REST would have them in an address, which must not be long.
    const ask = { do: 'list', resource, where: part, sort: [], limit: undefined } as const;
    const { rows } = may(resource, 'LIST')
      ? await send(ask, 'graphql', schema).catch((): Answer => ({}))
      : {};
    if (!rows) return undefined;
    found.push(...rows);
  }
  return found;
}

/** `#/operations/0/body/17/title` is a field of the eighteenth record. */
export function faultsByLine({ errors }: Fault, read: FileRecords | undefined): LineFault[] {
  return errors.flatMap(({ pointer = '', detail }): LineFault[] => {
    const [, at, field] = /\/(?:body|records)\/(\d+)(?:\/([^/]+))?/.exec(pointer) ?? [];
    const line = read?.records[Number(at)]?.line;
    return line === undefined ? [] : [{ line, ...(field && { field }), why: detail }];
  });
}
