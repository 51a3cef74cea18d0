/** API keys: made, listed, revoked, and recognised by their hashes, which is all that is kept of them. */

import { all, among, equal, type Filter } from '../query/filter.ts';
import { apiKeys } from '../storage/own.ts';
import { type Row, select, type Upsert } from '../storage/statements.ts';
import { type Deadline, type Program, run, type Storage } from '../storage/storage.ts';
import type { Caller } from './caller.ts';

/** Tells a key from a token at a glance, for servers and for scanners that look for leaked secrets. */
export const KEY_PREFIX = 'duet_';
/** Begins the subject of every key, and of nobody else. */
export const KEY_SUBJECT = 'key:';
const SECRET_BYTES = 32;

export interface KeyEntry {
  readonly name: string;
  readonly roles: readonly string[];
  readonly at: string;
  /** When it was revoked. */
  readonly revoked: string | undefined;
}

/** A key as an export carries it. */
export interface KeptKey {
  readonly name: string;
  readonly hash: string;
  readonly roles: readonly string[];
  readonly at: string;
  readonly revoked: string | null;
}

/** Names and roles end up in logs, headers and rules. */
export const KEY_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;
const HASH = /^[\w-]{43}$/;

/** To look up who asks must not take longer than anything that is asked for. */
const PATIENCE_MS = 5_000;

const inUse: Filter = { is: 'null', column: apiKeys.column.revoked };

export class ApiKeys {
  readonly #storage: Storage;

  constructor(storage: Storage) {
    this.#storage = storage;
  }

  /** The key itself, which cannot be had again; undefined when the name is in use. */
  async create(name: string, roles: readonly string[]): Promise<string | undefined> {
    const secret = crypto.getRandomValues(new Uint8Array(SECRET_BYTES));
    const key = `${KEY_PREFIX}${Buffer.from(secret).toString('base64url')}`;
    const values = {
      name,
      hash: hashOf(key),
      roles: JSON.stringify(roles),
      at: new Date().toISOString(),
      revoked: null,
    };
    // One that was revoked makes way.
    const statement: Upsert = {
      do: 'upsert',
      resource: apiKeys,
      values,
      conflict: apiKeys.primary,
      set: apiKeys.columns.filter((column) => column !== apiKeys.key),
      where: { is: 'not', of: inUse },
    };
    const kept = await this.#storage.write(() => run(statement), 'one', patience());
    return kept.length > 0 ? key : undefined;
  }

  async list(): Promise<KeyEntry[]> {
    const rows = await this.#read();
    return rows.map((row) => ({
      name: String(row['name']),
      roles: rolesOf(row),
      at: String(row['at']),
      revoked: row['revoked'] === null ? undefined : String(row['revoked']),
    }));
  }

  async #read(where?: Filter): Promise<Row[]> {
    return this.#storage.read(() => run(select(apiKeys, apiKeys.columns, where)), 'one', patience());
  }

  /** Whether there was such a key. */
  async revoke(name: string): Promise<boolean> {
    const statement = {
      do: 'update',
      resource: apiKeys,
      set: { revoked: new Date().toISOString() },
      where: all([equal(apiKeys.key, name), inUse]),
      counts: false,
    } as const;
    const done = await this.#storage.write(() => run(statement), 'one', patience());
    return done.length > 0;
  }

  /** Who holds this key; undefined when nobody does, or not any more. */
  async holder(key: string): Promise<Caller | undefined> {
    const where = all([equal(apiKeys.column.hash, hashOf(key)), inUse]);
    const [row] = await this.#read(where);
    if (!row) return undefined;
    const subject = `${KEY_SUBJECT}${row['name']}`;
    const roles = rolesOf(row);
    return { subject, roles, claims: { sub: subject, roles } };
  }
}

/** All of them, the revoked ones too, in the order of their names. */
export function* keptKeys(): Program<KeptKey[]> {
  const rows = yield* run(select(apiKeys, apiKeys.columns));
  return rows.map((row) => ({ ...(row as unknown as KeptKey), roles: rolesOf(row) }));
}

/** Undefined where it is none. */
export function readKept(given: unknown): KeptKey | undefined {
  const { name, hash, roles, at, revoked } = (given ?? {}) as Partial<Record<keyof KeptKey, unknown>>;
  const isTime = (value: unknown) => typeof value === 'string' && !Number.isNaN(Date.parse(value));
  const isName = (value: unknown) => typeof value === 'string' && KEY_NAME.test(value);
  const isSound =
    isName(name) &&
    typeof hash === 'string' &&
    HASH.test(hash) &&
    Array.isArray(roles) &&
    roles.every(isName) &&
    isTime(at) &&
    (revoked === null || isTime(revoked));
  return isSound ? ({ name, hash, roles, at, revoked } as KeptKey) : undefined;
}

/** Stores keys that come from elsewhere. One that is revoked here or there stays so, and none takes the place of another in use. */
export function* storeKept(keys: readonly KeptKey[], faults: string[]): Program<void> {
  if (keys.length === 0) return;
  const names = keys.map(({ name }) => name);
  const known = yield* run(select(apiKeys, apiKeys.columns, among(apiKeys.key, names)));
  for (const key of keys) {
    const here = known.find((row) => row['name'] === key.name);
    const isOther = here !== undefined && here['hash'] !== key.hash;
    if (here && here['revoked'] === null && isOther && key.revoked === null)
      faults.push(
        `there is another API key "${key.name}" in use: \`duet key revoke ${key.name}\` makes way for it`,
      );
    // What is in use here, or was revoked here, stays as it is.
    if (here && (isOther ? here['revoked'] === null : key.revoked === null || here['revoked'] !== null))
      continue;
    const values = { ...key, roles: JSON.stringify(key.roles) };
    const set = apiKeys.columns.filter((column) => column !== apiKeys.key);
    yield [{ do: 'upsert', resource: apiKeys, values, conflict: apiKeys.primary, set }];
  }
}

/** A slow hash is for what people make up: 256 random bits cannot be guessed, however fast one may try. */
function hashOf(key: string): string {
  return new Bun.CryptoHasher('sha256').update(key).digest('base64url');
}

function patience(): Deadline {
  return performance.now() + PATIENCE_MS;
}

function rolesOf(row: Row): string[] {
  return JSON.parse(String(row['roles']));
}
