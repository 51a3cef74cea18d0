/** Duet's own tables, for statements and for those that make them. Databases in use have them: nothing here is renamed. */

import type { Column } from '../schema/model.ts';
import { type Scalar, scalars } from '../schema/scalars.ts';
import type { Table } from './statements.ts';

interface Kind {
  readonly type: Scalar;
  /** On every database. */
  readonly sql: string;
}

const integer: Kind = { type: scalars.get('Int') as Scalar, sql: 'INTEGER NOT NULL' };
const text: Kind = { type: scalars.get('String') as Scalar, sql: 'TEXT NOT NULL' };
const nullable: Kind = { ...text, sql: 'TEXT' };

/** Text that is listed by code point: these tables were made with the collation of their database. */
export const ByCodePoint = { ...text.type };

export interface OwnTable<Name extends string = string> extends Table {
  readonly primary: readonly Column[];
  readonly column: Readonly<Record<Name, Column>>;
  readonly kinds: Readonly<Record<Name, Kind>>;
}

const plain = {
  kind: 'column',
  list: false,
  origin: { by: 'nobody', default: undefined },
  place: { line: 0, column: 0 },
  description: undefined,
  deprecated: undefined,
  constraint: undefined,
  transitions: undefined,
  folded: undefined,
  allow: [],
  reference: undefined,
} as const;

function table<Name extends string>(
  name: string,
  kinds: Readonly<Record<Name, Kind>>,
  ...keys: readonly NoInfer<Name>[]
): OwnTable<Name> {
  const column = {} as Record<Name, Column>;
  for (const each in kinds) {
    const { type, sql } = kinds[each];
    column[each] = { ...plain, name: each, stored: each, type, required: sql !== nullable.sql };
  }
  const primary = keys.map((each) => column[each]);
  const [key] = primary as [Column];
  const columns = Object.values<Column>(column);
  return { name, table: name, key, primary, columns, version: undefined, column, kinds };
}

/** Natural keys that were ever used, with the last version of the record that was deleted, or 0. */
const grave = { table: text, key: { ...text, type: ByCodePoint }, version: integer };
export const graves = table('_duet_buried', grave, 'table', 'key');

/** The answers to requests that carry a key, so that they can be given again; null while a request is under way. */
const answer = { caller: text, key: text, request: text, answer: nullable, at: text };
export const answers = table('_duet_answers', answer, 'caller', 'key');

/** API keys, as hashes; the roles are a JSON array. */
const apiKey = {
  name: text,
  hash: { ...text, sql: 'TEXT NOT NULL UNIQUE' },
  roles: text,
  at: text,
  revoked: nullable,
};
export const apiKeys = table('_duet_keys', apiKey, 'name');

/** What the newest file has whoever writes a table keep true. */
export const duties = table('_duet_duties', { table: text, duty: text }, 'table', 'duty');
