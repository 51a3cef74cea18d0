/** Random texts, writes and searches: both databases, through both doors, find what a plain look at the records finds. */

import { afterAll, expect, test } from 'bun:test';
import fc from 'fast-check';
import { type AppUnderTest, databases, openEmptied } from '../app.ts';
import { caseless } from './reading-plain.ts';

const RUNS = Number(process.env['RUNS'] ?? 60);

const sdl = `
  type Shelf @resource(plural: "shelves") { id: ID!  pages: [Page!]! }
  type Page @resource @search(fields: ["title", "text", "note"]) {
    id: ID!  title: String  note: String  text: String  n: Int!  shelf: Shelf!
  }
  type Term @resource @search(fields: ["code", "label"]) { code: ID! @key  label: String  n: Int! }`;

interface Kind {
  readonly path: string;
  readonly one: string;
  readonly many: string;
  readonly key: 'id' | 'code';
  /** The most telling first. */
  readonly searched: readonly string[];
}

const kinds: readonly Kind[] = [
  { path: 'pages', one: 'Page', many: 'pages', key: 'id', searched: ['title', 'text', 'note'] },
  { path: 'terms', one: 'Term', many: 'terms', key: 'code', searched: ['code', 'label'] },
];

/** What folding, splitting and cutting could get wrong. */
const parts = [
  ...[
    'left',
    'Left',
    'lefts',
    'LEFTY',
    'hand',
    'han',
    'Hände',
    'hande',
    'Größe',
    'grosse',
    'GRO\u1e9eE',
    'ﬁn',
    'FIN',
  ],
  ...[
    'İx',
    'ix',
    'Ix',
    'ΣΑΣ',
    'σας',
    'ё',
    'е',
    'Й',
    'и',
    'é',
    'e\u0301',
    'x²',
    'x2',
    '①',
    '1',
    '10',
    '٣',
    'क्षि',
    'שָׁלוֹם',
  ],
  ...[
    '左',
    '左手',
    '手',
    '左手的',
    '的黑暗',
    '左 手',
    'コーヒー',
    'ヒー',
    'ｺｰ',
    'ภาษา',
    'ษา',
    'လာ',
    '㍿',
    '左a手',
  ],
  ...[
    '𐌰𐌱',
    '𐌰',
    '𠮷野',
    '𠮷',
    'w'.repeat(63),
    'w'.repeat(64),
    'w'.repeat(70),
    '𐌰'.repeat(66),
    '😀',
    '-',
    "'",
    '"',
    '*',
    '\\',
  ],
  ...['AND', 'OR', 'NOT', 'null', '0left', 'z0left', 'a:b', 'words'],
];
const separators = [' ', ' ', ' ', '-', "'", '', '\n', '、', '\u00a0', '😀', '_', ':'];

const piece = fc.constantFrom(...parts);
const text = (maxLength: number) =>
  fc
    .array(fc.tuple(piece, fc.constantFrom(...separators)), { minLength: 1, maxLength, size: 'max' })
    .map((pieces) => pieces.flat().join(''));
const field = fc.option(text(4), { nil: null, freq: 5 });
const nth = fc.nat({ max: 1000 });
const record = fc.record({ a: text(3), b: field, c: field });
const action = fc.oneof(
  { weight: 3, arbitrary: fc.record({ do: fc.constant('create' as const), record, door: fc.boolean() }) },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('create many' as const),
      records: fc.array(record, { minLength: 2, maxLength: 4 }),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant('update' as const), at: nth, which: nth, value: field }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('update many' as const),
      n: fc.nat({ max: 2 }),
      which: nth,
      value: field,
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('delete' as const), at: nth }) },
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('search' as const),
      words: text(3),
      /** Of the word that it ends with, only so many characters; mostly one that a record has. */
      from: fc.option(fc.tuple(nth, nth), { nil: undefined, freq: 4 }),
      cut: fc.nat({ max: 5 }),
      relevance: fc.option(fc.boolean(), { nil: undefined, freq: 3 }),
      limit: fc.integer({ min: 1, max: 3 }),
      least: fc.option(fc.nat({ max: 2 }), { nil: undefined, freq: 1 }),
    }),
  },
);

type Row = Record<string, any>;

/** Of one run of letters, digits and marks: pairs of what stands without spaces, and the rest in one piece. */
function wordsIn(given: string): string[] {
  const plain = caseless(given.normalize('NFKC')).normalize('NFKC');
  const unspaced =
    /\p{scx=Han}|\p{scx=Hira}|\p{scx=Kana}|\p{scx=Thai}|\p{scx=Laoo}|\p{scx=Khmr}|\p{scx=Mymr}/u;
  const found: string[] = [];
  for (const run of plain.split(/[^\p{L}\p{N}\p{M}]/u)) {
    const stretches: { pairs: boolean; characters: string[] }[] = [];
    for (const character of run) {
      const pairs = unspaced.test(character);
      const last = stretches.at(-1);
      if (last?.pairs === pairs) last.characters.push(character);
      else stretches.push({ pairs, characters: [character] });
    }
    for (const { pairs, characters } of stretches) {
      if (!pairs) {
        const bare = Array.from(characters.join('').normalize('NFD')).filter((each) => !/\p{M}/u.test(each));
        found.push(Array.from(bare.join('').normalize('NFC')).slice(0, 64).join(''));
      } else if (characters.length === 1) found.push(characters.join(''));
      else found.push(...characters.slice(1).map((each, index) => `${characters[index]}${each}`));
    }
  }
  return found.filter((word) => word !== '');
}

/** How relevant a record is; undefined where it does not have all of the words. */
function weightOf({ searched }: Kind, row: Row, search: string): number | undefined {
  const asked = wordsIn(search);
  const last = asked.pop() ?? '';
  const whole = [...new Set(asked)];
  const tests = whole.map((word) => (each: string) => each === word);
  if (!whole.includes(last)) tests.push((each) => each.startsWith(last));
  let sum = 0;
  for (const isIt of tests) {
    const first = searched.findIndex((name) => row[name] !== null && wordsIn(row[name]).some(isIt));
    if (first === -1) return undefined;
    sum += searched.length - first;
  }
  return sum;
}

function compareKeys(a: unknown, b: unknown): number {
  return typeof a === 'number'
    ? a - Number(b)
    : Buffer.compare(Buffer.from(String(a)), Buffer.from(String(b)));
}

const emptied = await Promise.all(databases.map((database) => openEmptied(database, { sdl })));
afterAll(() => Promise.all(emptied.map((each) => each[Symbol.asyncDispose]())));

class Examiner {
  readonly #apps: readonly AppUnderTest[];
  readonly #kind: Kind;
  readonly #rows = new Map<unknown, Row>();
  #made = 0;

  constructor(apps: readonly AppUnderTest[], kind: Kind) {
    this.#apps = apps;
    this.#kind = kind;
  }

  #values({ a, b, c }: Row): Row {
    const n = ++this.#made % 3;
    if (this.#kind.key === 'code') return { code: `${a}~${this.#made}`, label: b, n };
    return { title: b, text: a, note: c, n, shelfId: 1 };
  }

  async #each<T>(send: (app: AppUnderTest) => Promise<T>): Promise<T> {
    const [first, ...others] = await Promise.all(this.#apps.map(send));
    for (const other of others) expect<unknown>(other).toEqual(first);
    return first as T;
  }

  async act(step: typeof action extends fc.Arbitrary<infer T> ? T : never): Promise<void> {
    const { path, one, many, key, searched } = this.#kind;
    const at = (position: number) => [...this.#rows.keys()][position % this.#rows.size];
    const kept = (row: Row) =>
      this.#rows.set(key === 'id' ? Number(row[key]) : row[key], {
        ...row,
        [key]: key === 'id' ? Number(row[key]) : row[key],
      });
    const url = (value: unknown) => `/${path}/${encodeURIComponent(String(value))}`;
    switch (step.do) {
      case 'create': {
        const values = this.#values(step.record);
        kept({
          ...values,
          ...(await this.#each(async (app) => (await app.rest('POST', `/${path}`, values)).body)),
        });
        return;
      }
      case 'create many': {
        const records = step.records.map((each) => this.#values(each));
        const made = await this.#each(
          async (app) =>
            (
              await app.graphql(
                `mutation ($records: [${one}Input!]!) { create${one}s(records: $records) { ${key} } }`,
                { records },
              )
            ).data[`create${one}s`],
        );
        for (const [index, values] of records.entries()) kept({ ...values, ...made[index] });
        return;
      }
      case 'update': {
        if (this.#rows.size === 0) return;
        const name = searched.filter((each) => each !== key)[step.which % 2] ?? 'label';
        const id = at(step.at);
        const { status } = await this.#each((app) =>
          app.rest('PUT', url(id), { [name]: step.value }).then(({ status }) => ({ status })),
        );
        expect(status).toBe(200);
        kept({ ...this.#rows.get(id), [name]: step.value });
        return;
      }
      case 'update many': {
        const name = searched.filter((each) => each !== key)[step.which % 2] ?? 'label';
        await this.#each(
          async (app) =>
            (
              await app.graphql(
                `mutation ($value: String) { update${one}s(where: { n: { eq: ${step.n} } }, set: { ${name}: $value }, atMost: 100) { ${key} } }`,
                { value: step.value },
              )
            ).data,
        );
        for (const row of [...this.#rows.values()])
          if (row['n'] === step.n) kept({ ...row, [name]: step.value });
        return;
      }
      case 'delete': {
        if (this.#rows.size === 0) return;
        const id = at(step.at);
        await this.#each(async (app) => (await app.rest('DELETE', url(id))).status);
        this.#rows.delete(id);
        return;
      }
      case 'search': {
        const row = step.from && this.#rows.get(at(step.from[0]));
        const there = row
          ? wordsIn(String(row[searched[step.from?.[1] ?? 0] ?? ''] ?? row[searched[0] ?? ''] ?? ''))
          : [];
        const given = there.length > 0 ? there.slice(-2).join(' ') : step.words;
        const search = step.cut > 2 ? Array.from(given).slice(0, -step.cut).join('') : given;
        const count = new Set(wordsIn(search)).size;
        if (count > 0 && count <= 8) await this.#search(many, key, search, step);
        return;
      }
    }
  }

  async #search(
    many: string,
    key: string,
    search: string,
    { relevance, limit, least }: { relevance: boolean | undefined; limit: number; least: number | undefined },
  ): Promise<void> {
    const found = [...this.#rows.values()]
      .map((row) => ({ key: row[key], n: row['n'], weight: weightOf(this.#kind, row, search) }))
      .filter(({ weight, n }) => weight !== undefined && n >= (least ?? 0))
      .toSorted((a, b) => {
        const sign = relevance === undefined ? 0 : Number(b.weight) - Number(a.weight);
        return (relevance === false ? -sign : sign) || compareKeys(a.key, b.key);
      });
    const wanted = found.map((each) => each.key);
    const restored = (value: string) => (key === 'id' ? Number(value) : value);
    const parameters: Record<string, string> = { search, limit: String(limit), count: 'true', fields: key };
    if (relevance !== undefined) parameters['sort'] = relevance ? '_relevance' : '-_relevance';
    if (least !== undefined) parameters['n[gte]'] = String(least);
    const order = relevance === undefined ? '' : `, orderBy: [{ _relevance: ${relevance ? 'DESC' : 'ASC'} }]`;
    const where = least === undefined ? '' : `, where: { n: { gte: ${least} } }`;
    for (const app of this.#apps) {
      const seen: unknown[] = [];
      let next: string | undefined = `/${many}?${new URLSearchParams(parameters)}`;
      while (next && seen.length <= wanted.length) {
        const { body, headers }: any = await app.rest('GET', next);
        expect([search, headers.get('X-Total-Count')]).toEqual([search, String(wanted.length)]);
        seen.push(...body.map((row: Row) => row[key]));
        next = /<([^>]*)>; rel="next"/.exec(headers.get('Link') ?? '')?.[1];
      }
      const query = `query ($search: String!) {
        whole: ${many}(search: $search${order}${where}) { ${key} }
        counted: ${many}Aggregate(search: $search${where}) { count }
        page: ${many}Connection(search: $search${order}${where}, last: ${limit}) { edges { node { ${key} } } }
        ${key === 'id' ? `shelves { pages(search: $search${order}${where}, first: ${limit}) { id } }` : ''}
      }`;
      const { data } = await app.graphql(query, { search });
      const keys = (list: Row[]) => list.map((row) => restored(row[key]));
      expect([
        search,
        seen,
        keys(data.whole),
        data.counted,
        keys(data.page.edges.map((edge: any) => edge.node)),
      ]).toEqual([search, wanted, wanted, [{ count: wanted.length }], wanted.slice(-limit)]);
      if (key === 'id')
        expect([search, keys(data.shelves[0].pages)]).toEqual([search, wanted.slice(0, limit)]);
    }
  }
}

test('what is searched for is found, whatever was written', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.nat({ max: 1 }),
      fc.array(action, { minLength: 4, maxLength: 24, size: 'max' }),
      async (which, steps) => {
        const apps = await Promise.all(emptied.map((each) => each.next()));
        for (const app of apps) expect((await app.rest('POST', '/shelves', {})).body.id).toBe(1);
        const examiner = new Examiner(apps, kinds[which] as Kind);
        for (const step of steps) await examiner.act(step);
      },
    ),
    { numRuns: RUNS, unbiased: true },
  );
}, 600_000);
