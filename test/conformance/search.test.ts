/** Records are found by their words, through both doors and on both databases alike: @search. */

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { type AppUnderTest, type DatabaseKind, databases, openApp } from '../app.ts';
import { headersOf, SECRET } from './access-matrix.ts';

const sdl = `
  type Author @resource @search(fields: ["name"]) {
    id: ID!  name: String!  books: [Book!]!  notes: [Note!]!  bares: [Bare!]!
  }
  type Book @resource @search(fields: ["title", "subtitle", "body"]) {
    id: ID!  title: String!  subtitle: String  body: String  pages: Int! @default(value: 1)
    words: String  rank: Int
    author: Author @onDelete(do: CASCADE)
  }
  type Note @resource @search(fields: ["text"]) { id: UUID!  text: String  author: Author @onDelete(do: CASCADE) }
  type Word @resource @search(fields: ["code", "meaning"]) { code: ID! @key  meaning: String  search: String }
  type Bare @resource { id: ID!  title: String!  author: Author }
  type Plain @resource { id: ID!  title: String!  search: String  books: String }`;

const books = [
  { title: 'The Left Hand of Darkness', body: 'A stranger comes to Winter.' },
  { title: 'Darkness at Noon', subtitle: 'the left', body: 'An old man in a cell: his hand writes.' },
  { title: 'Handbook', body: 'left LEFT left; darkness' },
  { title: 'Ärger über Öl', subtitle: 'Größe', body: 'naïve café, ΣΊΣΥΦΟΣ' },
  { title: '左手的黑暗', body: 'コーヒー และ ภาษาไทย' },
  { title: 'ﬁnal ①  x²', body: `${'long'.repeat(30)} 1984 don't C++` },
  { title: 'Nothing', subtitle: null, body: null },
];

describe.each([...databases])('on %s', (database: DatabaseKind) => {
  let app: AppUnderTest;
  beforeAll(async () => {
    app = await openApp(database, {
      sdl,
      env: { LIMIT_BODY: String(2 ** 24) },
      data: {
        authors: [{ name: 'Ursula' }, { name: 'Arthur' }],
        books: books.map((book, index) => ({ ...book, authorId: (index % 2) + 1 })),
      },
    });
  });
  afterAll(() => app.close());

  const encode = (parameters: Record<string, string>) => new URLSearchParams(parameters).toString();
  /** The ids that both doors find, or the faults that they tell. */
  const found = async (search: string, more: { sort?: string; orderBy?: string; limit?: number } = {}) => {
    const { status, body } = await app.rest(
      'GET',
      `/books?${encode({ search, ...(more.sort && { sort: more.sort }), ...(more.limit && { limit: String(more.limit) }) })}`,
    );
    const rest =
      status === 200
        ? body.map(({ id }: any) => id)
        : body.errors.map((each: any) => `${each.code}: ${each.detail}`);
    const args = `${more.orderBy ? `, orderBy: ${more.orderBy}` : ''}${more.limit ? `, first: ${more.limit}` : ''}`;
    const { data, errors } = await app.graphql(
      `query ($search: String) { books(search: $search${args}) { id } }`,
      { search },
    );
    const graphql = errors
      ? (errors[0].extensions.errors ?? []).map((each: any) => `${each.code}: ${each.detail}`)
      : data.books.map(({ id }: any) => Number(id));
    expect(graphql).toEqual(rest);
    return rest;
  };

  test.each<[string, number[]]>([
    ['left', [1, 2, 3]],
    ['LEFT darkness', [1, 2, 3]],
    ['darkness left', [1, 2, 3]],
    ['left hand', [1, 2, 3]],
    ['hand left', [1, 2]],
    ['hand', [1, 2, 3]],
    ['hand left left', [1, 2]],
    ['lef darkness', []],
    ['darkness lef', [1, 2, 3]],
    ['arger', [4]],
    ['Ärger ol', [4]],
    ['arger ö', [4]],
    ['GRÖSSE', [4]],
    ['grosse', [4]],
    ['naive CAFÉ', [4]],
    ['σίσυφος', [4]],
    ['σισυφοσ', [4]],
    ['左手', [5]],
    ['手', [5]],
    ['暗', []],
    ['左', [5]],
    ['手的黑', [5]],
    ['的左', []],
    ['コーヒ', [5]],
    ['ヒー', [5]],
    ['ーコ', []],
    ['ภาษา', [5]],
    ['final', [6]],
    ['fi', [6]],
    ['1', [6]],
    ['x2', [6]],
    ['1984', [6]],
    ['t', [1, 2, 6]],
    ["don't", [6]],
    ['don t c', [6]],
    ['nothing', [7]],
    ['null', []],
    ['"left" -hand*', [1, 2, 3]],
    ['left OR nothing', []],
    [`${'long'.repeat(16)}`, [6]],
    [`${'long'.repeat(40)}`, [6]],
    [`${'long'.repeat(15)}`, [6]],
    [`${'long'.repeat(15)} 1984`, []],
  ])('%j', async (search, ids) => {
    expect(await found(search)).toEqual(ids);
  });

  test.each<[string, string]>([
    ['', 'REQUIRED: search has no word; give it letters or digits to look for, or leave it out'],
    [' +?! ', 'REQUIRED: search has no word; give it letters or digits to look for, or leave it out'],
    ['a '.repeat(501), 'LENGTH: search must be at most 1000 characters; leave some words out'],
    ['a b c d e f g h i', 'OUT_OF_RANGE: search must be at most 8 words, and has 9; leave some out'],
  ])('refuses %j', async (search, fault) => {
    expect(await found(search)).toEqual([fault]);
  });

  test('counts characters, not units of UTF-16', async () => {
    expect(await found(`left ${'😀'.repeat(600)}`)).toEqual([1, 2, 3]);
  });

  test('takes 8 words, and one that is given twice is one', async () => {
    expect(await found('the left hand of darkness a stranger com')).toEqual([1]);
    expect(await found('left left left left left left left left left ha')).toEqual([1, 2, 3]);
  });

  test('the most relevant come first: a word counts most in the first field that has it', async () => {
    const [sort, orderBy] = ['_relevance', '[{ _relevance: DESC }]'];
    // 3 for a title, 2 for a subtitle, 1 for a body; equals by key.
    expect(await found('left', { sort, orderBy })).toEqual([1, 2, 3]);
    expect(await found('darkness', { sort, orderBy })).toEqual([1, 2, 3]);
    expect(await found('left hand', { sort, orderBy })).toEqual([1, 3, 2]);
    expect(await found('hand left', { sort, orderBy })).toEqual([1, 2]);
    expect(await found('hand', { sort, orderBy })).toEqual([1, 3, 2]);
    expect(await found('darkness hand', { sort, orderBy })).toEqual([1, 2, 3]);
    expect(await found('hand', { sort: '-_relevance', orderBy: '[{ _relevance: ASC }]' })).toEqual([2, 1, 3]);
    expect(
      await found('hand', { sort: '_relevance,-id', orderBy: '[{ _relevance: DESC }, { id: DESC }]' }),
    ).toEqual([3, 1, 2]);
    expect(
      await found('hand', {
        sort: 'pages,_relevance',
        orderBy: '[{ pages: ASC }, { _relevance: DESC }]',
        limit: 2,
      }),
    ).toEqual([1, 3]);
  });

  test('where one field is searched for one word, all are alike, and ordered by what comes next', async () => {
    const names = ['c', 'a', 'b'].map((name) => `${name} writes`);
    const authors = await openApp(database, { sdl, data: { authors: names.map((name) => ({ name })) } });
    for (const [sort, orderBy, all] of [
      ['_relevance', '[{ _relevance: DESC }]', [1, 2, 3]],
      ['-_relevance', '[{ _relevance: ASC }]', [1, 2, 3]],
      ['_relevance,-id', '[{ _relevance: DESC }, { id: DESC }]', [3, 2, 1]],
      ['_relevance,name', '[{ _relevance: DESC }, { name: ASC }]', [2, 3, 1]],
    ] as const)
      for (const limit of [undefined, 2]) {
        const [most, first] = limit ? [`&limit=${limit}`, `, first: ${limit}`] : ['', ''];
        const { body } = await authors.rest('GET', `/authors?search=writes&sort=${sort}${most}`);
        const { data } = await authors.graphql(
          `{ authors(search: "writes", orderBy: ${orderBy}${first}) { id } }`,
        );
        const expected = all.slice(0, limit);
        expect([sort, body.map(({ id }: any) => id)]).toEqual([sort, expected]);
        expect([sort, data.authors.map(({ id }: any) => Number(id))]).toEqual([sort, expected]);
      }
    await authors.close();
  });

  test('pages go on by relevance, forwards and backwards, through both doors', async () => {
    for (const [sort, orderBy, all] of [
      ['_relevance', '[{ _relevance: DESC }]', [1, 3, 2]],
      ['id', '[]', [1, 2, 3]],
      ['-id', '[{ id: DESC }]', [3, 2, 1]],
      ['-pages,_relevance,-id', '[{ pages: DESC }, { _relevance: DESC }, { id: DESC }]', [3, 1, 2]],
    ] as const) {
      const seen: number[] = [];
      let path: string | undefined = `/books?${encode({ search: 'hand', sort, limit: '1', count: 'true' })}`;
      let back: string | undefined;
      while (path && seen.length <= all.length) {
        const { body, headers } = await app.rest('GET', path);
        expect(headers.get('X-Total-Count')).toBe('3');
        seen.push(...body.map(({ id }: any) => id));
        const link = headers.get('Link') ?? '';
        path = /<([^>]*)>; rel="next"/.exec(link)?.[1];
        back = /<([^>]*)>; rel="prev"/.exec(link)?.[1];
      }
      expect(seen).toEqual([...all]);
      expect((await app.rest('GET', back ?? '')).body.map(({ id }: any) => id)).toEqual([all[1]]);
      const page = async (after: string | null) =>
        (
          await app.graphql(
            `query ($after: String) { booksConnection(search: "hand", orderBy: ${orderBy}, first: 2, after: $after) { totalCount edges { cursor node { id } } pageInfo { hasNextPage endCursor } } }`,
            { after },
          )
        ).data.booksConnection;
      const first = await page(null);
      const second = await page(first.pageInfo.endCursor);
      expect([...first.edges, ...second.edges].map(({ node }: any) => Number(node.id))).toEqual([...all]);
      expect([first.totalCount, first.pageInfo.hasNextPage, second.pageInfo.hasNextPage]).toEqual([
        3,
        true,
        false,
      ]);
      const other = await app.graphql(
        `{ booksConnection(search: "hands", orderBy: ${orderBy}, first: 2, after: "${first.pageInfo.endCursor}") { totalCount } }`,
      );
      expect(other.errors?.[0].extensions.errors[0].code).toBe('CURSOR');
    }
  });

  test('joins other filters by and; aggregates, exports and nested lists are searched too', async () => {
    const rest = async (path: string) => (await app.rest('GET', path)).body;
    expect(await rest('/books?search=hand&id[gt]=1&fields=id')).toEqual([{ id: 2 }, { id: 3 }]);
    expect(
      await rest(
        `/books?${encode({ search: 'hand', where: '{"not":{"title":{"contains":"book"}}}', fields: 'id' })}`,
      ),
    ).toEqual([{ id: 1 }, { id: 2 }]);
    expect(await rest('/books?search=hand&aggregate=count,min(title)&groupBy=authorId')).toEqual([
      { by: { authorId: 1 }, count: 2, min: { title: 'Handbook' } },
      { by: { authorId: 2 }, count: 1, min: { title: 'Darkness at Noon' } },
    ]);
    expect(
      (await app.graphql('{ booksAggregate(search: "hand", groupBy: [authorId]) { by { authorId } count } }'))
        .data.booksAggregate,
    ).toEqual([
      { by: { authorId: '1' }, count: 2 },
      { by: { authorId: '2' }, count: 1 },
    ]);
    const nested = await rest(
      '/authors?include=books&books[search]=hand&books[sort]=-_relevance&fields=id,books.id',
    );
    expect(nested).toEqual([
      { id: 1, books: [{ id: 1 }, { id: 3 }] },
      { id: 2, books: [{ id: 2 }] },
    ]);
    const cut = await rest(
      '/authors?include=books&books[search]=darkness&books[sort]=-_relevance&books[limit]=1&fields=id,books.id',
    );
    expect(cut).toEqual([
      { id: 1, books: [{ id: 3 }] },
      { id: 2, books: [{ id: 2 }] },
    ]);
    const inside = await app.graphql(
      '{ authors(search: "urs") { id books(search: "hand", orderBy: [{ _relevance: ASC }, { id: DESC }]) { id } none: books(search: "noon") { id } one: books(search: "hand dark", first: 1) { id } } }',
    );
    expect(inside.data.authors).toEqual([
      { id: '1', books: [{ id: '3' }, { id: '1' }], none: [], one: [{ id: '1' }] },
    ]);
    const answer = await app.fetch('/books?search=hand&sort=_relevance&fields=id', {
      headers: { Accept: 'text/csv' },
    });
    expect((await answer.text()).trim().split(/\r?\n/)).toEqual(['id', '1', '3', '2']);
    expect(await rest('/books?search=hand&offset=1&limit=1&fields=id')).toEqual([{ id: 2 }]);
    expect(await rest('/books?search=hand&offset=1&limit=1&fields=id&sort=_relevance')).toEqual([{ id: 3 }]);
  });

  test('bad use is told, with its cure', async () => {
    const faults = async (path: string) =>
      (await app.rest('GET', path)).body.errors.map((each: any) => [each.parameter, each.code, each.detail]);
    expect(await faults('/books?sort=_relevance')).toEqual([
      ['sort', 'REQUIRED', '_relevance needs search; say what to look for, or order by a field'],
    ]);
    expect(
      (await app.graphql('{ books(orderBy: [{ _relevance: DESC }]) { id } }')).errors?.[0].extensions.errors,
    ).toEqual([
      {
        pointer: '#/orderBy/0',
        code: 'REQUIRED',
        detail: '_relevance needs search; say what to look for, or order by a field',
      },
    ]);
    // It has a field of that name, which is filtered as ever.
    expect((await app.rest('GET', '/plains?search=x')).body).toEqual([]);
    expect(await faults('/plains?search=x&sort=_relevance')).toEqual([
      ['sort', 'UNKNOWN', expect.stringContaining('cannot stand in sort')],
    ]);
    const cure =
      'Bare cannot be searched. Filter by its fields, or add @search(fields: ["title"]) to it in the schema.';
    expect(await faults('/bares?search=x')).toEqual([['search', 'UNKNOWN', cure]]);
    expect(await faults('/authors?include=bares&bares[search]=x')).toEqual([
      ['bares[search]', 'UNKNOWN', cure],
    ]);
    expect((await app.graphql('{ plains(search: "x") { id } }')).errors?.[0].message).toContain(
      'Unknown argument "search"',
    );
    for (const [field, named] of [
      ['bares(search: "x") { id }', 'Query.bares'],
      ['baresConnection(search: "x") { edges { cursor } }', 'Query.baresConnection'],
      ['baresAggregate(search: "x") { count }', 'Query.baresAggregate'],
      ['authors { bares(search: "x") { id } }', 'Author.bares'],
    ]) {
      const { errors } = await app.graphql(`{ ${field} }`);
      expect(errors?.map(({ message }) => message)).toEqual([
        `Unknown argument "search" on field "${named}". ${cure}`,
      ]);
    }
    const written = await app.graphql('mutation { deleteBares(search: "x", where: {}, atMost: 1) { id } }');
    expect(written.errors?.[0].message).toBe('Unknown argument "search" on field "Mutation.deleteBares".');
    expect((await app.rest('GET', '/words?search[eq]=x')).body).toEqual([]);
  });

  test('words follow every write: of one, of many, nested, in a transaction, by an upsert, by a cascade', async () => {
    const ids = async (search: string, path = '/books') =>
      (await app.rest('GET', `${path}?${encode({ search })}`)).body.map((each: any) => each.id ?? each.code);
    const created = await app.rest('POST', '/books', {
      title: 'Zebra one',
      body: 'quagga',
      words: 'w',
      rank: 1,
    });
    const { id } = created.body;
    expect(await ids('zebra')).toEqual([id]);
    await app.rest('PUT', `/books/${id}`, { title: 'Okapi' });
    expect([await ids('zebra'), await ids('okapi quagga')]).toEqual([[], [id]]);
    await app.rest('PUT', `/books/${id}`, { body: null, pages: 3 });
    expect([await ids('quagga'), await ids('okapi')]).toEqual([[], [id]]);
    await app.rest('PUT', `/books/${id}`, { pages: 4 });
    expect(await ids('okapi')).toEqual([id]);
    const many = await app.graphql(
      'mutation { createBooks(records: [{ title: "gnu a", body: "tapir" }, { title: "gnu b", body: "lynx" }]) { id } }',
    );
    const gnus = many.data.createBooks.map((each: any) => Number(each.id));
    expect(await ids('gnu')).toEqual(gnus);
    await app.graphql(
      'mutation { updateBooks(where: { title: { startsWith: "gnu" } }, set: { title: "yak" }, atMost: 5) { id } }',
    );
    expect([await ids('gnu'), await ids('yak tapir'), await ids('yak lynx')]).toEqual([
      [],
      [gnus[0]],
      [gnus[1]],
    ]);
    await app.graphql('mutation { deleteBooks(where: { title: { eq: "yak" } }, atMost: 5) { id } }');
    expect(await ids('yak')).toEqual([]);
    const nested = await app.rest('POST', '/authors', {
      name: 'Ibex',
      books: [{ title: 'Kudu', body: 'oryx' }],
      notes: [{ text: 'gazelle' }],
    });
    expect([
      await ids('ibex', '/authors'),
      (await ids('kudu oryx')).length,
      (await ids('gazelle', '/notes')).length,
    ]).toEqual([[nested.body.id], 1, 1]);
    await app.rest('DELETE', `/authors/${nested.body.id}`);
    expect([await ids('ibex', '/authors'), await ids('kudu'), await ids('gazelle', '/notes')]).toEqual([
      [],
      [],
      [],
    ]);
    const failed = await app.rest('POST', '/transaction', {
      operations: [
        { method: 'PUT', path: `/books/${id}`, body: { title: 'Lost' } },
        { method: 'POST', path: '/books', body: {} },
      ],
    });
    expect([failed.status, await ids('lost'), await ids('okapi')]).toEqual([400, [], [id]]);
    await app.rest('POST', '/words?upsert=code', { code: 'Gr/oß', meaning: 'large' });
    expect([await ids('gross', '/words'), await ids('oss large', '/words')]).toEqual([[], ['Gr/oß']]);
    await app.rest('POST', '/words?upsert=code', { code: 'Gr/oß', meaning: 'tall' });
    expect([await ids('large', '/words'), await ids('gr tall', '/words')]).toEqual([[], ['Gr/oß']]);
    await app.rest('DELETE', `/words/${encodeURIComponent('Gr/oß')}`);
    expect(await ids('tall', '/words')).toEqual([]);
    await app.rest('DELETE', `/books/${id}`);
    expect(await ids('okapi')).toEqual([]);
  });

  test('a record is found by the first 20,000 of its words, however long they are', async () => {
    // Four bytes for each character, which is five times what a tsvector holds.
    const word = (index: number) => `${String(index).padStart(6, '0')}${'𐌰'.repeat(58)}`;
    const half = (from: number) => Array.from({ length: 9999 }, (_, index) => word(from + index)).join(' ');
    const made = await app.rest('POST', '/books', { title: 'Much', subtitle: half(0), body: half(9999) });
    expect(made.status).toBe(201);
    const { id } = made.body;
    const ids = async (search: string, sort = 'id') =>
      (await app.rest('GET', `/books?${encode({ search, sort })}`)).body.map((each: any) => each.id);
    for (const search of [
      'much',
      word(0),
      word(19_997),
      `${word(3)} ${word(14_000)}`,
      '019997',
      `${word(7)} mu`,
      word(4).slice(0, 20),
    ])
      expect([search.slice(0, 10), await ids(search)]).toEqual([search.slice(0, 10), [id]]);
    for (const search of [word(19_998), `${word(3).slice(0, 20)} much`])
      expect(await ids(search)).toEqual([]);
    const short = (await app.rest('POST', '/books', { title: word(9999), body: 'x' })).body.id;
    expect(await ids(word(9999), '_relevance')).toEqual([short, id]);
    expect(await ids('00', '_relevance')).toEqual([short, id]);
    expect((await app.rest('PUT', `/books/${id}`, { body: 'little' })).status).toBe(200);
    expect([await ids(word(19_997)), await ids(`${word(2)} little`)]).toEqual([[], [id]]);
    const words = Array.from({ length: 20_001 }, (_, index) => `w${index}`);
    await app.rest('PUT', `/books/${id}`, {
      title: 'w0',
      subtitle: words.slice(0, 10_000).join(' '),
      body: words.slice(10_000).join('\n'),
    });
    expect([await ids('w19999 w0'), await ids('w20000')]).toEqual([[id], []]);
    await app.rest('DELETE', `/books/${short}`);
    await app.rest('DELETE', `/books/${id}`);
  });
});

describe.each([...databases])('who may not read a field, on %s', (database) => {
  const rules = `
    type Shelf @resource(plural: "shelves") @allow(to: [READ, CREATE, UPDATE, DELETE]) { id: ID!  label: String  files: [File!]! }
    type File @resource @search(fields: ["title", "secret"])
      @allow(to: [READ, CREATE], role: "clerk") @allow(to: [READ, CREATE], role: "judge") @allow(to: [READ], role: "guest", where: { title: { startsWith: "open" } })
    { id: ID!  title: String!  secret: String @allow(to: [READ, CREATE], role: "judge") @allow(to: [READ], role: "guest")  shelf: Shelf }`;
  let app: AppUnderTest;
  beforeAll(async () => {
    app = await openApp(database, {
      sdl: rules,
      env: { AUTH_SECRET: SECRET },
      data: {
        shelves: [{ label: 'a' }],
        files: [
          { title: 'open file', secret: 'mole', shelfId: 1 },
          { title: 'closed file', secret: 'mole', shelfId: 1 },
        ],
      },
    });
  });
  afterAll(() => app.close());
  const as = (role: string) => headersOf({ name: role, claims: { sub: role, roles: [role] } } as any);

  test('may not search at all, nor learn of it by relevance', async () => {
    const headers = await as('clerk');
    for (const path of [
      '/files?search=file',
      '/files?search=mole',
      '/files?search=file&sort=_relevance',
      '/files?search=mole&aggregate=count',
      '/shelves?include=files&files[search]=mole',
    ]) {
      const { status, body } = await app.rest('GET', path, undefined, headers);
      expect([path, status, body.code]).toEqual([path, 403, 'FORBIDDEN']);
    }
    for (const query of [
      '{ files(search: "mole") { id } }',
      '{ filesConnection(search: "mole") { totalCount } }',
      '{ filesAggregate(search: "mole") { count } }',
      '{ shelves { files(search: "mole") { id } } }',
    ]) {
      const { errors } = await app.graphql(query, {}, headers);
      expect([query, errors?.[0].extensions.code]).toEqual([query, 'FORBIDDEN']);
    }
  });

  test('who may read it finds the records that it may see', async () => {
    const ids = async (role: string, path: string) =>
      (await app.rest('GET', path, undefined, await as(role))).body.map((each: any) => each.id);
    expect(await ids('judge', '/files?search=mole')).toEqual([1, 2]);
    expect(await ids('guest', '/files?search=mole')).toEqual([1]);
    expect(await ids('guest', '/files?search=mole&sort=_relevance&limit=5')).toEqual([1]);
    const counted = await app.rest('GET', '/files?search=file&aggregate=count', undefined, await as('guest'));
    expect(counted.body).toEqual([{ count: 1 }]);
  });
});
