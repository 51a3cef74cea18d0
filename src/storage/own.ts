/** Duet's own tables, for statements and for those that make them. Databases in use have them: nothing here is renamed. */

import type { Column } from '../schema/model.ts';
import { type Scalar, scalars } from '../schema/scalars.ts';
import type { Table } from './statements.ts';

/** Text that is listed by code point: these tables were made with the collation of their database. */
export const ByCodePoint = { ...(scalars.get('String') as Scalar) };

interface OwnTable<Name extends string> extends Table {
  readonly primary: readonly Column[];
  readonly column: Readonly<Record<Name, Column>>;
  /** What SQL says of its columns, on every database. */
  readonly definitions: Readonly<Record<Name, string>>;
}

const plain = {
  kind: 'column',
  list: false,
  origin: { by: 'nobody', default: undefined },
  place: { line: 0, column: 0 },
  description: undefined,
  deprecated: undefined,
  constraint: undefined,
  allow: [],
  reference: undefined,
} as const;

function table<Name extends string>(
  name: string,
  definitions: Readonly<Record<Name, string>>,
  keys: readonly NoInfer<Name>[],
  types: { readonly [name in NoInfer<Name>]?: Scalar } = {},
): OwnTable<Name> {
  const column = {} as Record<Name, Column>;
  for (const each in definitions) {
    const definition = definitions[each];
    const type = types[each] ?? (scalars.get(definition.startsWith('INTEGER') ? 'Int' : 'String') as Scalar);
    column[each] = { ...plain, name: each, stored: each, type, required: definition.includes('NOT NULL') };
  }
  const primary = keys.map((each) => column[each]);
  const [key] = primary as [Column];
  const columns = Object.values<Column>(column);
  return { name, table: name, key, primary, columns, version: undefined, column, definitions };
}

/** Natural keys that were ever used, with the last version of the record that was deleted, or 0. */
export const graves = table(
  '_duet_buried',
  { table: 'TEXT NOT NULL', key: 'TEXT NOT NULL', version: 'INTEGER NOT NULL' },
  ['table', 'key'],
  { key: ByCodePoint },
);

/** The answers to requests that carry a key, so that they can be given again; null while a request is under way. */
export const answers = table(
  '_duet_answers',
  {
    caller: 'TEXT NOT NULL',
    key: 'TEXT NOT NULL',
    request: 'TEXT NOT NULL',
    answer: 'TEXT',
    at: 'TEXT NOT NULL',
  },
  ['caller', 'key'],
);

/** API keys, as hashes; the roles are a JSON array. */
export const apiKeys = table(
  '_duet_keys',
  {
    name: 'TEXT NOT NULL',
    hash: 'TEXT NOT NULL UNIQUE',
    roles: 'TEXT NOT NULL',
    at: 'TEXT NOT NULL',
    revoked: 'TEXT',
  },
  ['name'],
);
