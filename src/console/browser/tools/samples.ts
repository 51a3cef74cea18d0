/** Records as answers have them where nothing more is asked for: without what they are related to, and without their version. */

import type { Column, Kind } from '../schema/types.ts';
import { columnOf, resolved, type Schemas } from '../schema/values.ts';

/** What every record has, and nothing else. */
const VERSION = '_version';

/** One for each type, by its name. */
export function samples(schemas: Schemas): Map<string, Readonly<Record<string, unknown>>> {
  const isRecord = (name: string) => schemas[name]?.properties?.[VERSION] !== undefined;
  const records = Object.entries(schemas).filter(([name]) => isRecord(name));
  return new Map(
    records.map(([record, { allOf = [], properties }]) => {
      const parts = allOf.map((part) => resolved(part, schemas).properties);
      const columns = Object.entries(Object.assign({}, ...parts, properties))
        .filter(([name]) => name !== VERSION)
        .map(([name, told]) => columnOf(name, told as object, schemas))
        .filter(({ type }) => !isRecord(type));
      return [record, Object.fromEntries(columns.map((column) => [column.name, sample(column)]))];
    }),
  );
}

function sample(column: Column): unknown {
  const value = scalarOf(column);
  return column.list ? [value] : value;
}

const byKind: Readonly<Partial<Record<Kind, unknown>>> = {
  bigint: '42',
  decimal: '12.5',
  boolean: true,
  date: '2024-05-01',
  datetime: '2024-05-01T12:30:00.000Z',
  uuid: '01890f5a-7c1e-7a64-b3f5-2b1f3c0e9a11',
  json: {},
};

const byFormat: Readonly<Record<string, string>> = {
  email: 'somebody@example.com',
  uri: 'https://example.com/',
  ipv4: '192.0.2.1',
  ipv6: '2001:db8::1',
};

function scalarOf({ kind, choices, bounds }: Column): unknown {
  const { minimum = 1, maximum = 1, minLength = 0, maxLength, format = '', example } = bounds;
  if (kind === 'enum') return choices[0];
  if (kind === 'text')
    return example ?? byFormat[format] ?? 'text'.padEnd(minLength, 'text').slice(0, maxLength);
  // As many digits behind the point as its pattern has: they are all answered.
  const [, digits] = /\{1,(\d+)\}/.exec((kind === 'decimal' && bounds.pattern) || '') ?? [];
  if (digits) return (12.5).toFixed(Number(digits));
  return byKind[kind] ?? Math.max(minimum, Math.min(maximum, 1));
}
