/** Random operations on a small schema, and clients that perform them through a door and tell what they learnt. */

import fc from 'fast-check';
import type { AppUnderTest } from '../app.ts';
import { printedClient } from '../client/printed.ts';

export const sdl = `
  type Author @resource {
    id: ID!
    name: String! @constraint(minLength: 1, maxLength: 3)
    nick: String @unique @caseless
    books: [Book!]!
  }
  enum State { NEW MID END }
  type Book @resource
    @check(where: { or: [{ most: { isNull: true } }, { pages: { lte: { field: "most" } } }] }, message: "Not too many.")
    @check(where: { or: [{ tagId: { isNull: true } }, { pages: { gte: 2 } }] }, message: "Enough for a tag.")
  {
    id: ID!
    title: String!
    pages: Int! @constraint(min: 1) @default(value: 7)
    most: Int
    state: State! @default(value: NEW) @transitions(allow: { NEW: [MID], MID: [NEW, END] })
    author: Author
    tag: Tag @onDelete(do: SET_NULL)
    extra: JSON
    price: Decimal @decimal(scale: 2) @constraint(min: -0.5, max: 100)
    views: BigInt! @default(value: "9223372036854775800")
    worth: String! @computed(from: ["pages", "most", "price", "views"], stored: true)
  }
  type Chapter @resource { id: ID!  book: Book! @onDelete(do: CASCADE)  text: String }
  type Tag @resource { code: ID! @key  label: String  words: JSON @computed(from: ["code", "label"], stored: true) }
`;

/** What functions make of a record, which is stored with it. */
export const made: Readonly<Partial<Record<Name, (row: Input) => Input>>> = {
  books: ({ pages, most, price, views }) => ({ worth: `${pages} of ${most}: ${price}, ${views}` }),
  tags: ({ code, label }) => ({ words: label === null ? null : { [String(code)]: label } }),
};

export const logic = {
  Book: { worth: (row: Input) => made.books?.(row)['worth'] },
  Tag: { words: (row: Input) => made.tags?.(row)['words'] },
};

export type Name = 'authors' | 'books' | 'chapters' | 'tags';
/** The typed client is a way to use the first of them. */
export type Door = 'rest' | 'graphql' | 'client';
export type Input = Record<string, unknown>;
export type Key = string | number;

/** Serial keys are positions, 1 for the first that was created: a database may leave gaps, but not change the order. */
export interface Operation {
  readonly door: Door;
  readonly name: Name;
  readonly kind: 'list' | 'get' | 'create' | 'upsert' | 'update' | 'delete';
  readonly key: Key;
  readonly input: Input;
  readonly ifVersion: number | undefined;
}

/** What a client learns, whichever door it came through. */
export type Outcome =
  | { readonly record: Input; readonly version: number }
  | { readonly code: string; readonly faults: readonly string[] }
  | { readonly list: readonly Input[] };

const singular = { authors: 'Author', books: 'Book', chapters: 'Chapter', tags: 'Tag' } as const;
const fields = {
  authors: { name: 'String', nick: 'String' },
  books: {
    title: 'String',
    pages: 'Int',
    most: 'Int',
    state: 'State',
    authorId: 'ID',
    tagId: 'ID',
    extra: 'JSON',
    price: 'Decimal',
    views: 'BigInt',
  },
  chapters: { bookId: 'ID', text: 'String' },
  tags: { code: 'ID', label: 'String' },
} as const;
const computed: Readonly<Partial<Record<Name, readonly string[]>>> = { books: ['worth'], tags: ['words'] };
/** Which serial keys a field holds. */
const serials: Readonly<Record<string, Name>> = { authorId: 'authors', bookId: 'books' };
/** By what records are upserted. */
export const by: Readonly<Partial<Record<Name, string>>> = { authors: 'nick', tags: 'code' };
const nowhere = 1_000_000;

export function keyOf(name: Name): 'code' | 'id' {
  return name === 'tags' ? 'code' : 'id';
}

const clientOf = await printedClient(sdl);

export class Client {
  readonly #app: AppUnderTest;
  readonly #fingerprint: string;
  readonly #ids: Record<Name, number[]> = { authors: [], books: [], chapters: [], tags: [] };

  constructor(app: AppUnderTest, fingerprint: string) {
    this.#app = app;
    this.#fingerprint = fingerprint;
  }

  async perform(operation: Operation): Promise<Outcome> {
    const { name, kind, key, input } = operation;
    const real = {
      ...operation,
      key: this.#real(name, key),
      input: this.#mapped(input, (each, value) => this.#real(each, value as Key)),
    };
    const doors = { rest: this.#rest, graphql: this.#graphql, client: this.#client };
    const outcome = await doors[operation.door].call(this, real);
    if ((kind === 'create' || kind === 'upsert') && 'record' in outcome && name !== 'tags') {
      const id = Number(outcome.record['id']);
      if (!this.#ids[name].includes(id)) this.#ids[name].push(id);
    }
    return this.#positions(name, outcome);
  }

  #real(name: Name, key: Key): Key {
    return typeof key === 'number' ? (this.#ids[name][key - 1] ?? nowhere + key) : key;
  }

  #positions(name: Name, outcome: Outcome): Outcome {
    const position = (of: Name, value: unknown) => this.#ids[of].indexOf(Number(value)) + 1;
    const shown = (record: Input): Input => {
      const mapped = this.#mapped(record, position);
      return name === 'tags' ? mapped : { ...mapped, id: position(name, record['id']) };
    };
    if ('list' in outcome) return { list: outcome.list.map(shown) };
    return 'record' in outcome ? { ...outcome, record: shown(outcome.record) } : outcome;
  }

  #mapped(input: Input, map: (name: Name, value: unknown) => unknown): Input {
    const entries = Object.entries(input).map(([field, value]) => {
      const name = serials[field];
      return [field, name && value !== null ? map(name, value) : value];
    });
    return Object.fromEntries(entries);
  }

  async #rest({ name, kind, key, input, ifVersion }: Operation): Promise<Outcome> {
    const isOnAll = kind === 'list' || kind === 'create' || kind === 'upsert';
    const upsert = kind === 'upsert' ? `?upsert=${by[name]}` : '';
    const path = isOnAll ? `/${name}${upsert}` : `/${name}/${encodeURIComponent(key)}`;
    const method = {
      list: 'GET',
      get: 'GET',
      create: 'POST',
      upsert: 'POST',
      update: 'PUT',
      delete: 'DELETE',
    }[kind];
    const before = kind === 'delete' ? await this.#app.rest('GET', path) : undefined;
    const guarded = ifVersion !== undefined && (kind === 'update' || kind === 'delete');
    const headers: Record<string, string> = guarded
      ? { 'If-Match': `"${ifVersion}-${this.#fingerprint}"` }
      : {};
    const body = kind === 'create' || kind === 'upsert' || kind === 'update' ? input : undefined;
    const answer = await this.#app.rest(method, path, body, headers);
    if (answer.status >= 400) return failure(answer.body.code, answer.body.errors);
    if (kind === 'list') return { list: answer.body };
    const seen = before ?? answer;
    return { record: seen.body, version: Number(/^"(\d+)-/.exec(seen.headers.get('ETag') ?? '')?.[1]) };
  }

  async #client(operation: Operation): Promise<Outcome> {
    const { name, kind, key, input, ifVersion } = operation;
    // It has no such request.
    if (kind === 'upsert') return this.#rest(operation);
    const api = clientOf(this.#app)[name];
    const which = ifVersion === undefined ? key : { [keyOf(name)]: key, _version: ifVersion };
    const seen = (record: Input | null): Outcome =>
      record === null
        ? failure('NOT_FOUND', [])
        : { record: withoutVersion(record), version: Number(record['_version']) };
    try {
      if (kind === 'list') return { list: (await api.list()).map(withoutVersion) };
      if (kind === 'create') return seen(await api.create(input));
      if (kind === 'update') return seen(await api.update(which, input));
      const record = await api.get(key);
      if (kind === 'delete') await api.delete(which);
      return seen(record);
    } catch (error: any) {
      return failure(error.code, error.errors);
    }
  }

  async #graphql({ name, kind, key, input, ifVersion }: Operation): Promise<Outcome> {
    const type = singular[name];
    const keyName = keyOf(name);
    const selection = [
      ...new Set([keyName, ...Object.keys(fields[name]), ...(computed[name] ?? []), '_version']),
    ].join(' ');
    const given = kind === 'create' || kind === 'upsert' || kind === 'update' ? Object.keys(input) : [];
    const types: Readonly<Record<string, string>> = { ...fields[name], _inc: 'BookIncrements' };
    const required = kind === 'create' ? ['name', 'title', 'bookId', 'code'] : [];
    const declared = given.map((field) => `$${field}: ${types[field]}${required.includes(field) ? '!' : ''}`);
    const passed = given.map((field) => `${field}: $${field}`);
    if (kind === 'upsert') passed.push(`by: ${by[name]}`);
    else if (kind !== 'list' && kind !== 'create') {
      declared.push('$key: ID!');
      passed.push(`${keyName}: $key`);
    }
    if (ifVersion !== undefined && (kind === 'update' || kind === 'delete')) {
      declared.push('$ifVersion: Int');
      passed.push('ifVersion: $ifVersion');
    }
    const field = kind === 'list' ? name : kind === 'get' ? type.toLowerCase() : `${kind}${type}`;
    const keyword = kind === 'list' || kind === 'get' ? 'query' : 'mutation';
    const list = (parts: string[]) => (parts.length > 0 ? `(${parts.join(', ')})` : '');
    const document = `${keyword}${list(declared)} { it: ${field}${list(passed)} { ${selection} } }`;
    const { data, errors } = await this.#app.graphql(document, { ...input, key: String(key), ifVersion });
    if (errors) return failure(errors[0].extensions.code, errors[0].extensions.errors);
    if (kind === 'list') return { list: data.it.map(withoutVersion) };
    if (data.it === null) return failure('NOT_FOUND', []);
    return { record: withoutVersion(data.it), version: data.it._version };
  }
}

/** The fingerprint of the schema, from any record's tag. */
export async function fingerprintOf(app: AppUnderTest): Promise<string> {
  const { headers } = await app.rest('POST', '/tags', { code: 'probe' });
  await app.rest('DELETE', '/tags/probe');
  return /-(.*)"/.exec(headers.get('ETag') ?? '')?.[1] ?? '';
}

function withoutVersion({ _version, ...record }: Input): Input {
  return record;
}

function failure(code: string, errors: { pointer: string; code: string }[] | undefined): Outcome {
  return { code, faults: (errors ?? []).map((error) => `${error.pointer} ${error.code}`).sort() };
}

const ids = fc.integer({ min: 1, max: 4 });
const codes = fc.constantFrom('a', 'B', 'é', 'x/y', '%31', '~');
const text = fc.oneof(
  fc.constantFrom('a', 'b', 'abc', '😀😀😀', '', 'abcd', "'; --", 'a\0b'),
  fc.string({ maxLength: 4, unit: 'binary' }).filter((each) => each.isWellFormed()),
);
const optional = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: null, freq: 5 });
/** As often as not nothing at all. */
const often = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: null, freq: 1 });
/** As it comes out of a body: JSON has no minus zero. */
const json = fc
  .jsonValue({ maxDepth: 2 })
  .map((value) => JSON.parse(JSON.stringify(value)))
  .filter((value) => !JSON.stringify(value).includes('\\u0000'));

const prices = fc.constantFrom('0', '1.5', '-0.50', '99.99', '100', '-0');
const wrongPrices = fc.constantFrom('100.01', '1.005');
const views = fc.constantFrom('0', '9223372036854775807', '-9223372036854775808');
const wrongViews = fc.constantFrom('9223372036854775808', '1.0');

/** Sometimes of nothing at all. */
const increments = fc.record(
  {
    pages: fc.constantFrom(0, 1, -1, 2147483647),
    price: fc.constantFrom('0.01', '-0.5', '50', '-50.5', '1', '0.001'),
    views: fc.constantFrom('1', '-7', '8', '-9223372036854775807'),
  },
  { requiredKeys: [] },
);

/** Fields that need not be given sometimes are not, so that defaults and omissions are seen. */
const inputs: Record<Name, fc.Arbitrary<Input>> = {
  authors: fc.record(
    { name: text, nick: optional(fc.constantFrom('ẞ', 'ss', 'ς', 'Σ', 'İ', 'i\u0307')) },
    { requiredKeys: ['name'] },
  ),
  books: fc.record(
    {
      title: fc.constantFrom('T', '', 'U'),
      // Seldom wrong, or hardly a book would come to be.
      pages: fc.integer({ min: 0, max: 6 }),
      most: often(fc.constantFrom(1, 2, 7, 7)),
      state: fc.constantFrom('NEW', 'NEW', 'NEW', 'MID', 'END'),
      authorId: often(ids),
      tagId: often(codes),
      extra: json,
      price: fc.oneof({ weight: 9, arbitrary: optional(prices) }, { weight: 1, arbitrary: wrongPrices }),
      views: fc.oneof({ weight: 9, arbitrary: views }, { weight: 1, arbitrary: wrongViews }),
      _inc: increments,
    },
    { requiredKeys: ['title'] },
  ),
  chapters: fc.record({ bookId: ids, text: optional(text) }, { requiredKeys: ['bookId'] }),
  tags: fc.record({ code: codes, label: optional(text) }, { requiredKeys: ['code'] }),
};

const kinds = ['create', 'create', 'create', 'upsert', 'update', 'update', 'delete', 'get', 'list'] as const;

const operation: fc.Arbitrary<Operation> = fc
  .constantFrom<Name[]>('authors', 'books', 'chapters', 'tags')
  .chain((name) =>
    fc.record({
      name: fc.constant(name),
      door: fc.constantFrom<Door[]>('rest', 'graphql', 'client'),
      kind: fc.constantFrom(...kinds),
      key: name === 'tags' ? codes : ids,
      input: inputs[name],
      ifVersion: fc.option(fc.integer({ min: 1, max: 3 }), { nil: undefined, freq: 4 }),
    }),
  )
  // A key in the body of an update must be the record's own, which is another test's matter.
  .map(({ input, ...rest }) => {
    const { code: _, _inc, ...values } = input;
    const kind = rest.kind === 'upsert' && !by[rest.name] ? 'create' : rest.kind;
    if (kind !== 'update')
      return { ...rest, kind, input: 'code' in input ? { code: input['code'], ...values } : values };
    // Often alone: what is wrong with other fields is told before what becomes of the sum.
    const isAlone = _inc !== undefined && input['title'] !== 'T';
    return { ...rest, kind, input: isAlone ? { _inc } : { ...values, ...(_inc !== undefined && { _inc }) } };
  });

export const operations = fc.array(operation, { minLength: 1, maxLength: 40, size: 'max' });
