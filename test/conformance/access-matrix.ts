/** Holds every combination of the matrix, for one caller on one database, against what the plain words say. */

import { SignJWT } from 'jose';
import type { AppUnderTest, Doors } from '../app.ts';
import { Client, doors, pathOf, type Way } from './access-doors.ts';
import { reads } from './access-reads.ts';
import { callers, Eyes, type Name, names, type Row, shapes, type Who, type World } from './access-world.ts';
import {
  changes,
  type Expected,
  expectedCreate,
  expectedDelete,
  expectedUpdate,
  inputs,
  withoutKey,
} from './access-writes.ts';

export const SECRET = 'a secret of at least thirty-two bytes';

const tokens = new Map<string, Promise<Record<string, string>>>();

/** The headers that make a request one of this caller. */
export function headersOf({ claims, name }: Who): Promise<Record<string, string>> {
  // Files that share a process have callers of the same name.
  const whose = JSON.stringify([name, claims]);
  const made =
    tokens.get(whose) ??
    (async (): Promise<Record<string, string>> => {
      if (!claims) return {};
      const key = new TextEncoder().encode(SECRET);
      const token = new SignJWT(claims).setProtectedHeader({ alg: 'HS256' }).setExpirationTime('1h');
      return { Authorization: `Bearer ${await token.sign(key)}` };
    })();
  tokens.set(whose, made);
  return made;
}

const denied: Expected = { outcome: 'denied', after: undefined };

export class Matrix {
  readonly #app: AppUnderTest;
  readonly #operator: Doors;
  readonly #world: World;
  readonly #eyes: Eyes;
  readonly #client: Client;
  readonly #secrets: readonly string[];
  cases = 0;

  constructor(app: AppUnderTest, world: World, who: Who, headers: Record<string, string>) {
    this.#app = app;
    this.#operator = app.unguarded();
    this.#world = world;
    this.#eyes = new Eyes(who, world);
    this.#client = new Client(app, who, headers);
    this.#secrets = this.#eyes.secrets();
  }

  /** What is not as it must be when these are read. */
  async *reads(name: Name): AsyncGenerator<string> {
    for (const read of reads(this.#eyes, name))
      for (const door of doors)
        yield* this.#compared(`${door}: ${read.what}`, read.expected, await read.ask(this.#client, door));
  }

  /** What is not as it must be when these are written. The tables are afterwards as they were. */
  async *writes(name: Name, by: readonly Way[]): AsyncGenerator<string> {
    for (const way of by) {
      yield* this.#creates(way, name);
      yield* this.#updates(way, name);
      yield* this.#deletes(way, name);
    }
    yield* this.#bulk(name);
    yield* this.#tables();
  }

  *#compared(what: string, expected: unknown, actual: unknown): Generator<string> {
    this.cases++;
    if (!Bun.deepEquals(expected, actual))
      yield `${this.#eyes.who.name}, ${what}: expected ${JSON.stringify(expected)}, got ${JSON.stringify(actual)}`;
    for (const text of this.#client.received)
      for (const secret of this.#secrets)
        if (text.includes(secret)) yield `${this.#eyes.who.name}, ${what}: ${secret} leaks in ${text}`;
    this.#client.received = [];
  }

  /** The records to try, and one that does not exist; what must come of those that cannot be seen is clear. */
  #targets(
    name: Name,
    action: 'UPDATE' | 'DELETE',
  ): { key: unknown; row: Row | undefined; word: string | undefined }[] {
    const { key } = shapes[name];
    const keys = [...this.#world[name].map((row) => row[key]), key === 'id' ? 999 : '<no code>'];
    return keys.map((each) => {
      const row = this.#eyes.find(name, each);
      const word = this.#eyes.couldEver(name, action) ? 'NOT_FOUND' : 'denied';
      return { key: each, row, word: row && word === 'NOT_FOUND' ? undefined : word };
    });
  }

  async *#updates(way: Way, name: Name): AsyncGenerator<string> {
    for (const { key, row, word } of this.#targets(name, 'UPDATE'))
      for (const changed of changes(name, this.#world)) {
        const expected =
          row && !word
            ? expectedUpdate(this.#eyes, name, [row], changed)
            : { outcome: word, after: undefined };
        const outcome = await this.#client.update(way, name, key, changed);
        const wanted = Array.isArray(expected.outcome) ? expected.outcome[0] : expected.outcome;
        const what = `${way}: update ${name} ${key} ${JSON.stringify(changed)}`;
        yield* this.#compared(what, wanted, outcome);
        yield* this.#restored(what, name, expected, outcome);
      }
  }

  async *#deletes(way: Way, name: Name): AsyncGenerator<string> {
    for (const { key, row, word } of this.#targets(name, 'DELETE')) {
      const expected =
        row && !word ? expectedDelete(this.#eyes, name, [row]) : { outcome: word, after: undefined };
      const outcome = await this.#client.remove(way, name, key);
      const isRest = way === 'rest' || way === 'transaction';
      const [shown] = Array.isArray(expected.outcome) ? expected.outcome : [];
      const wanted = shown ? (isRest ? '' : shown) : expected.outcome;
      const what = `${way}: delete ${name} ${key}`;
      yield* this.#compared(what, wanted, outcome);
      yield* this.#restored(what, name, expected, outcome);
    }
  }

  async *#creates(way: Way, name: Name): AsyncGenerator<string> {
    for (const input of inputs(name, this.#world)) {
      const expected = expectedCreate(this.#eyes, name, input);
      const outcome = await this.#client.create(way, name, input);
      const what = `${way}: create ${name} ${JSON.stringify(input)}`;
      yield* this.#compared(what, expected.outcome, withoutKey(name, outcome));
      if (typeof outcome !== 'string') await this.#cleaned();
    }
  }

  /** Everything that can be seen, and each record by itself. */
  async *#bulk(name: Name): AsyncGenerator<string> {
    const { key, text, references } = shapes[name];
    const wheres = [{}, ...this.#world[name].map((row) => ({ [key]: { eq: row[key] } }))];
    const pointed = Object.entries(references).map(([column, [, target]]) => ({
      [column]: this.#world[target][0]?.[shapes[target].key],
    }));
    for (const where of wheres)
      for (const door of doors) {
        const [wanted] = Object.values(where) as { eq: unknown }[];
        const rows = () => this.#eyes.visible(name).filter((row) => !wanted || row[key] === wanted.eq);
        const what = `${door}: many ${name} where ${JSON.stringify(where)}`;
        for (const changed of [{ [text]: 'changed' }, ...pointed]) {
          const expected = this.#eyes.couldEver(name, 'UPDATE')
            ? expectedUpdate(this.#eyes, name, rows(), changed)
            : denied;
          const outcome = await this.#client.updateMany(door, name, where, changed);
          yield* this.#compared(`${what}: update ${JSON.stringify(changed)}`, expected.outcome, outcome);
          yield* this.#restored(`${what}: update`, name, expected, outcome);
        }
        const expected = this.#eyes.couldEver(name, 'DELETE')
          ? expectedDelete(this.#eyes, name, rows())
          : denied;
        const outcome = await this.#client.removeMany(door, name, where);
        yield* this.#compared(`${what}: delete`, expected.outcome, outcome);
        yield* this.#restored(`${what}: delete`, name, expected, outcome);
      }
  }

  /** After something has happened: that it has happened as expected, and then as if it had not. */
  async *#restored(what: string, name: Name, { after }: Expected, outcome: unknown): AsyncGenerator<string> {
    const failed = typeof outcome === 'string' && outcome !== '';
    if (after === undefined && failed) return;
    const { key } = shapes[name];
    const stored = await this.#stored(name);
    const expected = after ?? this.#world[name];
    if (!Bun.deepEquals(stored, expected))
      yield `${this.#eyes.who.name}, ${what}: the table is ${JSON.stringify(stored)}, not ${JSON.stringify(expected)}`;
    const kept = new Map(stored.map((row) => [row[key], row]));
    for (const row of this.#world[name]) {
      const now = kept.get(row[key]);
      if (!now) await this.#recreate(name, row);
      else if (!Bun.deepEquals(now, row)) {
        const { owner: _, ...values } = row;
        await this.#operate('PUT', pathOf(name, row[key]), values);
      }
    }
    this.#world[name].sort((a, b) => (String(a[key]) < String(b[key]) ? -1 : 1));
    if (key === 'id') this.#world[name].sort((a, b) => Number(a['id']) - Number(b['id']));
  }

  async #recreate(name: Name, row: Row): Promise<void> {
    const { id: _, owner, ...values } = row;
    // Only its owner can make a comment its own.
    const author = callers.find(({ claims }) => claims?.sub === owner);
    const headers = name === 'comments' && author ? await headersOf(author) : undefined;
    const made = headers
      ? await this.#app.rest('POST', `/${name}`, values, headers)
      : await this.#operator.rest('POST', `/${name}`, values);
    if (made.status !== 201) throw new Error(`cannot restore: ${JSON.stringify(made.body)}`);
    if (shapes[name].key === 'id') row['id'] = made.body.id;
  }

  async #operate(method: string, path: string, body?: unknown): Promise<void> {
    const { status, body: answer } = await this.#operator.rest(method, path, body);
    if (status >= 300) throw new Error(`cannot restore ${path}: ${JSON.stringify(answer)}`);
  }

  async #stored(name: Name): Promise<Row[]> {
    return (await this.#operator.rest('GET', `/${name}`)).body;
  }

  /** Takes away what is new; those that point before those that they point to. */
  async #cleaned(): Promise<void> {
    for (const name of ['comments', 'badges', 'posts', 'projects', 'people', 'vaults'] as const) {
      const { key } = shapes[name];
      const known = new Set(this.#world[name].map((row) => row[key]));
      for (const row of await this.#stored(name))
        if (!known.has(row[key])) await this.#operate('DELETE', pathOf(name, row[key]));
    }
  }

  async *#tables(): AsyncGenerator<string> {
    for (const name of names) {
      const stored = await this.#stored(name);
      if (!Bun.deepEquals(stored, this.#world[name]))
        yield `${this.#eyes.who.name}: ${name} are ${JSON.stringify(stored)}, not ${JSON.stringify(this.#world[name])}`;
    }
  }
}
