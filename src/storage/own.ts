/** Duet's own tables, for statements and for those that make them. Databases in use have them: nothing here is renamed. */

import type { Column } from '../schema/model.ts';
import { type Scalar, Serial, scalars } from '../schema/scalars.ts';
import type { Table } from './statements.ts';

interface Kind {
  readonly type: Scalar;
  /** On every database. */
  readonly sql: string;
}

const integer: Kind = { type: scalars.get('Int') as Scalar, sql: 'INTEGER NOT NULL' };
/** Moments, in milliseconds since 1970, and positions. */
const long: Kind = { type: Serial, sql: 'BIGINT NOT NULL' };
const text: Kind = { type: scalars.get('String') as Scalar, sql: 'TEXT NOT NULL' };
const nullable: Kind = { ...text, sql: 'TEXT' };
/** A number that the database counts up; how, it spells itself. */
const counted: Kind = { type: Serial, sql: '' };
const unstamped: Kind = { ...long, sql: 'BIGINT' };

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
    const origin = kinds[each] === counted ? ({ by: 'serial' } as const) : plain.origin;
    const required = sql !== nullable.sql && sql !== unstamped.sql;
    column[each] = { ...plain, name: each, stored: each, type, required, origin };
  }
  const primary = keys.map((each) => column[each]);
  const [key] = primary as [Column];
  const columns = Object.values<Column>(column);
  return { name, table: name, key, primary, columns, version: undefined, column, kinds };
}

/** Every schema that was applied, when, and by which steps, in words, as a JSON array. */
const applied = { id: integer, at: text, fingerprint: text, schema: text, steps: text };
export const history = table('_duet_history', applied, 'id');

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

/**
 * Functions that are to run after the commit of what they were written with. A job may be taken by anybody once it is `due`, by
 * the database's clock: who runs it keeps moving that moment on, and whoever has failed for good is never due.
 */
const job = {
  id: text,
  hook: text,
  /** The hook and the record: of these, one runs after the other, by the versions of the record. */
  lane: text,
  version: long,
  /** The functions that have led to it, as JSON. */
  path: text,
  /** How often it was begun. */
  attempt: integer,
  due: long,
  /** Who runs it, or ran it last. */
  holder: nullable,
  /** Why the last attempt failed. */
  error: nullable,
  at: text,
  /** What the function is given, as JSON. The last, because SQLite reads through all of a long text to what stands behind it. */
  given: text,
};
export const jobs = table('_duet_jobs', job, 'id');

/** Jobs without what their functions are given, which may be long. */
export const lightJobs: Table = { ...jobs, columns: jobs.columns.filter(({ name }) => name !== 'given') };

/** When each schedule runs next. */
export const schedules = table('_duet_schedules', { name: text, cron: text, next: long }, 'name');

/**
 * Every change of a record whose type has `@journal`; `before` and `after` are objects as JSON, by the stored names of columns.
 * `position` is given after the commit where several can write at once, and stays null where only one can: there it is
 * `sequence` itself.
 */
const change = {
  sequence: counted,
  position: unstamped,
  at: text,
  kind: text,
  table: text,
  key: { ...text, type: ByCodePoint },
  version: integer,
  caller: nullable,
  requestId: nullable,
  transaction: text,
  before: nullable,
  after: nullable,
};
export const changes = table('_duet_changes', change, 'sequence');

/** What is written of a change: its number and its position are given by others. */
export const newChanges: Table = {
  ...changes,
  columns: changes.columns.filter(({ name }) => name !== 'sequence' && name !== 'position'),
};

/** The last position that was given, under no name, and the secret that positions are signed with; by table, the last that is no longer kept. */
const mark = { table: text, position: long, secret: nullable };
export const marks = table('_duet_journal', mark, 'table');

/** Who is told of changes: where, of which, and up to which position it was. Secrets are kept as they are, since they sign. */
const webhook = {
  id: text,
  url: text,
  /** A JSON array, such as `["Book.created", "Order.*"]`. */
  events: text,
  secret: text,
  /** The one before, which signs too until this time. */
  oldSecret: nullable,
  oldUntil: nullable,
  /** 1 where the addresses of private networks are meant. */
  private: integer,
  position: long,
  /** Why it is told nothing any more. */
  disabled: nullable,
  /** Its last deliveries, the newest first, as a JSON array. */
  recent: text,
  at: text,
};
export const webhooks = table('_duet_webhooks', webhook, 'id');
