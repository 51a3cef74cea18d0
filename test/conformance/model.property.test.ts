/** Random sequences of operations through both doors, and by the typed client, agree at every step with a plain model of the contract. */

import { describe, expect, spyOn, test } from 'bun:test';
import fc from 'fast-check';
import { Bounds } from '../../src/storage/sqlite/bounds.ts';
import { type DatabaseKind, databases, openEmptied } from '../app.ts';
import {
  by,
  Client,
  fingerprintOf,
  type Input,
  type Key,
  keyOf,
  logic,
  made,
  type Name,
  type Operation,
  type Outcome,
  operations,
  sdl,
} from './operations.ts';
import { caseless } from './reading-plain.ts';

const RUNS = Number(process.env['RUNS'] ?? 100);

/** The contract for this schema, written down as plainly as possible. */
class PlainModel {
  readonly rows: Record<Name, Map<Key, Input>> = {
    authors: new Map(),
    books: new Map(),
    chapters: new Map(),
    tags: new Map(),
  };
  readonly lastId: Record<Name, number> = { authors: 0, books: 0, chapters: 0, tags: 0 };
  readonly versions = new Map<string, number>();

  apply({ name, kind, key, input, ifVersion }: Operation): Outcome {
    const rows = this.rows[name];
    const order = (a: Key, b: Key) => (a < b ? -1 : 1);
    if (kind === 'list') return { list: [...rows.keys()].sort(order).map((each) => rows.get(each) as Input) };
    if (kind === 'create') return this.#create(name, input);
    if (kind === 'upsert') return this.#upsert(name, input);
    const row = rows.get(key);
    if (!row) return { code: 'NOT_FOUND', faults: [] };
    if (kind === 'get') return this.#seen(name, key);
    if (ifVersion !== undefined && ifVersion !== this.version(name, key))
      return { code: 'VERSION_CONFLICT', faults: [] };
    if (kind === 'update') return this.#update(name, key, row, input);
    if (name === 'authors' && this.#books('authorId', key).length > 0)
      return { code: 'CONFLICT', faults: ['# STILL_REFERENCED'] };
    const before = this.#seen(name, key);
    rows.delete(key);
    if (name === 'tags')
      for (const [id, book] of this.#books('tagId', key)) this.#store('books', id, { ...book, tagId: null });
    if (name === 'books')
      for (const [id, chapter] of this.rows.chapters)
        if (chapter['bookId'] === key) this.rows.chapters.delete(id);
    return before;
  }

  version(name: Name, key: Key): number {
    return this.versions.get(`${name}/${key}`) ?? 0;
  }

  #seen(name: Name, key: Key): Outcome {
    return { record: this.rows[name].get(key) as Input, version: this.version(name, key) };
  }

  #store(name: Name, key: Key, row: Input): Outcome {
    this.rows[name].set(key, { ...row, ...made[name]?.(row) });
    this.versions.set(`${name}/${key}`, this.version(name, key) + 1);
    return this.#seen(name, key);
  }

  #books(field: string, key: Key): [Key, Input][] {
    return [...this.rows.books].filter(([, book]) => book[field] === key);
  }

  #create(name: Name, input: Input): Outcome {
    const defaults: Record<Name, Input> = {
      authors: { nick: null },
      books: {
        pages: 7,
        most: null,
        state: 'NEW',
        authorId: null,
        tagId: null,
        extra: null,
        price: null,
        views: '9223372036854775800',
      },
      chapters: { text: null },
      tags: { label: null },
    };
    const row: Input = { ...defaults[name], ...canonical(input) };
    const required: Record<Name, string[]> = {
      authors: ['name'],
      books: ['title'],
      chapters: ['bookId'],
      tags: ['code'],
    };
    const missing = required[name].filter((field) => row[field] === undefined);
    const refused = this.#refusal(name, row, missing, undefined, undefined, row);
    if (refused) return refused;
    if (name === 'tags' && this.rows.tags.has(row['code'] as Key))
      return { code: 'CONFLICT', faults: ['#/code NOT_UNIQUE'] };
    if (name === 'tags') return this.#store('tags', row['code'] as Key, row);
    const id = ++this.lastId[name];
    return this.#store(name, id, { id, ...row });
  }

  #update(name: Name, key: Key, row: Input, input: Input): Outcome {
    const { [keyOf(name)]: _, ...change } = input;
    if (Object.keys(change).length === 0) return { code: 'VALIDATION_FAILED', faults: ['# EMPTY'] };
    return this.#change(name, key, row, change);
  }

  #change(name: Name, key: Key, row: Input, { _inc: inc, ...set }: Input): Outcome {
    const change = canonical(set);
    const { refused, added } = addedTo(row, change, inc as Input | undefined);
    const next = { ...row, ...change, ...added };
    return this.#refusal(name, change, [], key, row, next, refused) ?? this.#store(name, key, next);
  }

  #upsert(name: Name, input: Input): Outcome {
    const field = by[name] ?? '';
    const value = input[field];
    if (value === undefined || value === null) {
      const refused = this.#refusal(name, input, []);
      const isWrong = refused && 'code' in refused && refused.code === 'VALIDATION_FAILED';
      return isWrong ? refused : { code: 'VALIDATION_FAILED', faults: [`#/${field} REQUIRED`] };
    }
    const found = [...this.rows[name]].find(([, row]) => isSame(field, row[field], value));
    return found ? this.#change(name, ...found, input) : this.#create(name, input);
  }

  /** What must be true of a book, and from where its state comes; a new one has none. */
  #broken(before: Input | undefined, next: Input): Outcome | undefined {
    const { pages, most, tagId, state } = next as Record<string, any>;
    const checks = [most !== null && pages > most, tagId !== null && pages < 2].filter(Boolean);
    if (checks.length > 0) return { code: 'VALIDATION_FAILED', faults: checks.map(() => '# CHECK_FAILED') };
    const from = before?.['state'];
    const ways: Record<string, unknown[]> = { NEW: ['NEW', 'MID'], MID: ['MID', 'NEW', 'END'], END: ['END'] };
    if ((ways[String(from)] ?? ['NEW']).includes(state)) return undefined;
    return { code: 'CONFLICT', faults: ['#/state TRANSITION_NOT_ALLOWED'] };
  }

  #refusal(
    name: Name,
    row: Input,
    missing: string[],
    self?: Key,
    before?: Input,
    next?: Input,
    added: Refused = { faults: [], conflicts: [] },
  ): Outcome | undefined {
    const faults = [...added.faults, ...missing.map((field) => `#/${field} REQUIRED`)];
    for (const [field, value] of Object.entries(row))
      if (field in scales && typeof value === 'string')
        faults.push(...misfits(field, value).map((code) => `#/${field} ${code}`));
    for (const field of ['name', 'title', 'pages', 'bookId', 'views'])
      if (row[field] === null) faults.push(`#/${field} REQUIRED`);
    // A text that cannot be kept at all is not measured.
    const { name: text } = row;
    const length = typeof text === 'string' && !text.includes('\0') ? [...text].length : 1;
    if (length < 1 || length > 3) faults.push('#/name LENGTH');
    if (typeof row['pages'] === 'number' && row['pages'] < 1) faults.push('#/pages OUT_OF_RANGE');
    for (const [field, value] of Object.entries(row))
      if (typeof value === 'string' && value.includes('\0')) faults.push(`#/${field} TEXT`);
    if (faults.length > 0) return { code: 'VALIDATION_FAILED', faults };
    if (added.conflicts.length > 0) return { code: 'CONFLICT', faults: added.conflicts };
    const broken = name === 'books' && next && this.#broken(before, next);
    if (broken) return broken;
    const targets = { authorId: 'authors', tagId: 'tags', bookId: 'books' } as const;
    const dangling = Object.entries(targets).filter(
      ([field, target]) => row[field] != null && !this.rows[target].has(row[field] as Key),
    );
    if (dangling.length > 0)
      return { code: 'CONFLICT', faults: dangling.map(([field]) => `#/${field} REFERENCE_NOT_FOUND`) };
    const twin = [...this.rows.authors].some(
      ([id, each]) => id !== self && row['nick'] != null && isSame('nick', each['nick'], row['nick']),
    );
    return name === 'authors' && twin ? { code: 'CONFLICT', faults: ['#/nick NOT_UNIQUE'] } : undefined;
  }
}

/** Letter case does not count in a nick. */
function isSame(field: string, one: unknown, other: unknown): boolean {
  const isText = field === 'nick' && typeof one === 'string' && typeof other === 'string';
  return isText ? caseless(one) === caseless(other) : one === other;
}

const scales: Readonly<Record<string, number>> = { price: 2, views: 0 };
/** Of pages too, in the units of each. */
const ranges: Readonly<Record<string, readonly [bigint, bigint]>> = {
  pages: [1n, 2n ** 31n - 1n],
  price: [-50n, 10000n],
  views: [-(2n ** 63n), 2n ** 63n - 1n],
};

/** Undefined for what has more digits than its field. */
function unitsOf(field: string, value: unknown): bigint | undefined {
  const [whole = '', fraction] = String(value).split('.');
  const scale = scales[field] ?? 0;
  if (fraction !== undefined && fraction.length > scale) return undefined;
  return BigInt(`${whole}${(fraction ?? '').padEnd(scale, '0')}`);
}

function textOf(field: string, units: bigint): string {
  const scale = scales[field] ?? 0;
  const digits = String(units)
    .replace('-', '')
    .padStart(scale + 1, '0');
  const text = scale === 0 ? digits : `${digits.slice(0, -scale)}.${digits.slice(-scale)}`;
  return units < 0n ? `-${text}` : text;
}

function misfits(field: string, value: string): string[] {
  const units = unitsOf(field, value);
  if (units === undefined) return ['FORMAT'];
  const [least, most] = ranges[field] ?? [0n, 0n];
  return units < least || units > most ? ['OUT_OF_RANGE'] : [];
}

/** Exact numbers in the form in which they come back. */
function canonical(input: Input): Input {
  const entries = Object.entries(input).map(([field, value]) => {
    const units = field in scales && typeof value === 'string' ? unitsOf(field, value) : undefined;
    return [field, units === undefined ? value : textOf(field, units)];
  });
  return Object.fromEntries(entries);
}

interface Refused {
  readonly faults: string[];
  readonly conflicts: string[];
}

function addedTo(row: Input, change: Input, inc: Input | undefined): { refused: Refused; added: Input } {
  const refused: Refused = { faults: [], conflicts: [] };
  const added: Input = {};
  if (inc && Object.keys(inc).length === 0) refused.faults.push('#/_inc EMPTY');
  for (const [field, by] of Object.entries(inc ?? {})) {
    const amount = unitsOf(field, by);
    if (Object.hasOwn(change, field)) refused.faults.push(`#/_inc/${field} UNKNOWN`);
    else if (amount === undefined) refused.faults.push(`#/_inc/${field} FORMAT`);
    else {
      const sum = row[field] === null ? undefined : (unitsOf(field, row[field]) ?? 0n) + amount;
      const [least, most] = ranges[field] ?? [0n, 0n];
      if (sum === undefined || sum < least || sum > most)
        refused.conflicts.push(`#/_inc/${field} OUT_OF_RANGE`);
      else added[field] = field === 'pages' ? Number(sum) : textOf(field, sum);
    }
  }
  return { refused, added };
}

async function heldAgainstModel(database: DatabaseKind, numRuns: number): Promise<void> {
  await using emptied = await openEmptied(database, { sdl, logic });
  await fc.assert(
    fc.asyncProperty(operations, async (sequence) => {
      const app = await emptied.next();
      const client = new Client(app, await fingerprintOf(app));
      const model = new PlainModel();
      for (const operation of sequence) {
        const wanted = model.apply(operation);
        const seen = await client.perform(operation);
        expect(seen).toEqual('faults' in wanted ? { ...wanted, faults: wanted.faults.toSorted() } : wanted);
      }
    }),
    { numRuns },
  );
}

describe.each([...databases])('on %s', (database) => {
  test(
    'both doors and the typed client do what the contract says',
    () => heldAgainstModel(database, RUNS),
    300_000,
  );
});

test('so does what leaves the process at one of its statements, and is begun anew in another', async () => {
  let asked = 0;
  const admits = () => (++asked % 5 === 0 ? 0 : Number.POSITIVE_INFINITY);
  const leaving = [
    spyOn(Bounds.prototype, 'allowance').mockReturnValue({
      admits,
      wasLong: () => {},
      hadMany: () => {},
      mostTurns: 0,
    }),
    spyOn(Bounds.prototype, 'admits').mockImplementation(admits),
  ];
  try {
    await heldAgainstModel('sqlite', RUNS / 4);
  } finally {
    for (const each of leaving) each.mockRestore();
  }
}, 300_000);

test('every database and every door answer alike, whatever is asked', async () => {
  const doors = ['rest', 'graphql'] as const;
  const lanes = databases.flatMap((database) => doors.map((door) => ({ database, door })));
  const opened = await Promise.all(lanes.map(({ database }) => openEmptied(database, { sdl, logic })));
  try {
    await fc.assert(
      fc.asyncProperty(operations, async (sequence) => {
        const apps = await Promise.all(opened.map((each) => each.next()));
        const clients = await Promise.all(apps.map(async (app) => new Client(app, await fingerprintOf(app))));
        for (const operation of sequence) {
          const [first, ...others] = await Promise.all(
            clients.map((client, lane) =>
              client.perform({ ...operation, door: lanes[lane]?.door ?? 'rest' }),
            ),
          );
          for (const other of others) expect(other).toEqual(first as Outcome);
        }
      }),
      { numRuns: RUNS },
    );
  } finally {
    for (const each of opened) await each[Symbol.asyncDispose]();
  }
}, 300_000);
