/** The grammar of reading as a table: what one writes through either door, and which records it means. */

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { parseValue, valueFromASTUntyped } from 'graphql';
import { type AppUnderTest, databases, openApp } from '../app.ts';
import { printedClient } from '../client/printed.ts';

const sdl = `
  enum Color { RED GREEN BLUE }
  type Author @resource { id: ID!  name: String!  books: [Book!]! }
  type Book @resource {
    id: ID!
    title: String!
    pages: Int
    price: Float
    color: Color
    lent: Boolean!
    day: Date
    at: DateTime
    code: UUID
    limit: Int
    tags: [String!]
    sizes: [Float!]
    flags: [Boolean!]
    colors: [Color!]
    times: [DateTime!]
    sums: [Decimal!] @decimal(scale: 2)
    data: [JSON!]
    author: Author
    chapters: [Chapter!]!
  }
  type Chapter @resource { id: ID!  title: String!  book: Book! }
`;
const day = '2024-05-01';
const at = '2024-05-01T12:30:00.000Z';
const code = '0190f5a0-7c1e-7a64-b3f5-2b1f3c0e9a11';
const lists = { sizes: [0.5, 1e21, 2], colors: ['RED', 'GREEN'], times: [at], sums: ['1.50'], data: [1] };
const data = {
  authors: [{ name: 'Ann' }, { name: 'Bob' }, { name: 'Ann' }],
  books: [
    {
      title: 'Unit',
      pages: 10,
      price: 0.5,
      color: 'RED',
      lent: true,
      day,
      at,
      code,
      limit: 5,
      authorId: 1,
      ...lists,
    },
    {
      title: 'unit',
      pages: 20,
      price: -1.5,
      color: 'GREEN',
      lent: false,
      tags: [],
      flags: [true, false],
      authorId: 2,
    },
    { title: 'U_it%', pages: null, lent: false, authorId: 1 },
    { title: '😀', pages: 20, lent: true, color: 'BLUE', tags: ['b', 'a', 'b'], flags: [true] },
    { title: '\uffff', pages: -5, lent: true, limit: 9, authorId: 3, tags: ['"', 'a'] },
  ],
  chapters: [
    { title: 'One', bookId: 1 },
    { title: 'Two', bookId: 1 },
    { title: 'Three', bookId: 1 },
    { title: 'One', bookId: 2 },
    { title: 'Two', bookId: 4 },
  ],
};
const all = [1, 2, 3, 4, 5];

/** More often than databases are asked in the usual way. */
const often = <T>(condition: T): T[] => Array.from({ length: 40 }, () => condition);

/** A query string, the same in GraphQL, and the keys of the books that both mean. */
const filters: [string, string, string, number[]][] = [
  ['a field is what is said', 'pages=20', '{ pages: { eq: 20 } }', [2, 4]],
  ['eq', 'pages[eq]=20', '{ pages: { eq: 20 } }', [2, 4]],
  ['ne: null is not equal to anything', 'pages[ne]=20', '{ pages: { ne: 20 } }', [1, 3, 5]],
  ['gt', 'pages[gt]=10', '{ pages: { gt: 10 } }', [2, 4]],
  ['gte', 'pages[gte]=10', '{ pages: { gte: 10 } }', [1, 2, 4]],
  ['lt: null is not less', 'pages[lt]=10', '{ pages: { lt: 10 } }', [5]],
  ['lte', 'pages[lte]=10', '{ pages: { lte: 10 } }', [1, 5]],
  ['in', 'pages[in]=10,-5', '{ pages: { in: [10, -5] } }', [1, 5]],
  ['in nothing', 'pages[in]=', '{ pages: { in: [] } }', []],
  ['two operators', 'pages[gt]=0&pages[lt]=20', '{ pages: { gt: 0, lt: 20 } }', [1]],
  ['isNull', 'pages[isNull]=true', '{ pages: { isNull: true } }', [3]],
  ['isNull=false', 'pages[isNull]=false', '{ pages: { isNull: false } }', [1, 2, 4, 5]],
  ['isNull of a list, which can be empty', 'tags[isNull]=false', '{ tags: { isNull: false } }', [2, 4, 5]],
  ['isEmpty: null is no list', 'tags[isEmpty]=true', '{ tags: { isEmpty: true } }', [2]],
  ['isEmpty=false: neither is it then', 'tags[isEmpty]=false', '{ tags: { isEmpty: false } }', [4, 5]],
  ['has', 'tags[has]=a', '{ tags: { has: "a" } }', [4, 5]],
  ['has: letter case counts', 'tags[has]=A', '{ tags: { has: "A" } }', []],
  ['has: a quote is a character', 'tags[has]="', '{ tags: { has: "\\"" } }', [5]],
  ['hasSome', 'tags[hasSome]=b,%22', '{ tags: { hasSome: ["b", "\\""] } }', [4, 5]],
  ['hasSome of nothing', 'tags[hasSome]=', '{ tags: { hasSome: [] } }', []],
  ['hasEvery', 'tags[hasEvery]=b,a', '{ tags: { hasEvery: ["b", "a"] } }', [4]],
  ['hasEvery, of a value twice', 'tags[hasEvery]=a,a', '{ tags: { hasEvery: ["a", "a"] } }', [4, 5]],
  ['hasEvery of nothing: null is no list', 'tags[hasEvery]=', '{ tags: { hasEvery: [] } }', [2, 4, 5]],
  [
    'not: null has nothing',
    'where={"not":{"tags":{"has":"a"}}}',
    '{ not: { tags: { has: "a" } } }',
    [1, 2, 3],
  ],
  [
    'many conditions on lists',
    `where=${JSON.stringify({ and: often({ tags: { has: 'a' } }), not: { or: often({ tags: { has: 'b' } }) } })}`,
    `{ and: [${often('{ tags: { has: "a" } }')}], not: { or: [${often('{ tags: { has: "b" } }')}] } }`,
    [5],
  ],
  [
    'many conditions on lists without a value',
    `where=${JSON.stringify({ or: [...often({ tags: { has: 'x' } }), { not: { or: often({ tags: { has: 'a' } }) } }] })}`,
    `{ or: [${often('{ tags: { has: "x" } }')}, { not: { or: [${often('{ tags: { has: "a" } }')}] } }] }`,
    [1, 2, 3],
  ],
  ['a list of numbers', 'sizes[has]=0.5', '{ sizes: { has: 0.5 } }', [1]],
  [
    'a list of numbers, written otherwise',
    'sizes[hasEvery]=1e21,2.0',
    '{ sizes: { hasEvery: [1e21, 2.0] } }',
    [1],
  ],
  ['a list of flags', 'flags[hasSome]=false', '{ flags: { hasSome: [false] } }', [2]],
  ['a list of an enum', 'colors[hasSome]=RED,BLUE', '{ colors: { hasSome: [RED, BLUE] } }', [1]],
  [
    'a list of moments',
    'times[has]=2024-05-01T14:30:00%2B02:00',
    '{ times: { has: "2024-05-01T14:30:00+02:00" } }',
    [1],
  ],
  ['a list of exact numbers', 'sums[has]=1.5', '{ sums: { has: "1.5" } }', [1]],
  ['contains: letter case counts', 'title[contains]=nit', '{ title: { contains: "nit" } }', [1, 2]],
  ['contains: % is a character', 'title[contains]=%25', '{ title: { contains: "%" } }', [3]],
  ['contains: _ is a character', 'title[contains]=_it', '{ title: { contains: "_it" } }', [3]],
  ['contains nothing', 'title[contains]=', '{ title: { contains: "" } }', all],
  ['startsWith: letter case counts', 'title[startsWith]=U', '{ title: { startsWith: "U" } }', [1, 3]],
  ['startsWith: _ is a character', 'title[startsWith]=U_', '{ title: { startsWith: "U_" } }', [3]],
  ['endsWith: letter case counts', 'title[endsWith]=it', '{ title: { endsWith: "it" } }', [1, 2]],
  ['endsWith: % is a character', 'title[endsWith]=t%25', '{ title: { endsWith: "t%" } }', [3]],
  [
    'endsWith: a character of two units',
    'title[endsWith]=%F0%9F%98%80',
    '{ title: { endsWith: "😀" } }',
    [4],
  ],
  ['endsWith more than there is', 'title[endsWith]=aUnit', '{ title: { endsWith: "aUnit" } }', []],
  ['endsWith all of it', 'title[endsWith]=Unit', '{ title: { endsWith: "Unit" } }', [1]],
  ['endsWith nothing', 'title[endsWith]=', '{ title: { endsWith: "" } }', all],
  ['text compares by code point', 'title[gt]=%EF%BF%BF', '{ title: { gt: "\uffff" } }', [4]],
  ['a float', 'price[lte]=0.5', '{ price: { lte: 0.5 } }', [1, 2]],
  ['an enum', 'color[in]=RED,BLUE', '{ color: { in: [RED, BLUE] } }', [1, 4]],
  ['not an enum', 'color[ne]=RED', '{ color: { ne: RED } }', [2, 3, 4, 5]],
  ['a boolean', 'lent=false', '{ lent: { eq: false } }', [2, 3]],
  ['a day', `day[gte]=${day}`, `{ day: { gte: "${day}" } }`, [1]],
  ['a moment', `at=${at}`, `{ at: { eq: "${at}" } }`, [1]],
  [
    'a moment as elsewhere',
    'at=2024-05-01T14:30:00%2B02:00',
    '{ at: { eq: "2024-05-01T14:30:00+02:00" } }',
    [1],
  ],
  ['a UUID in capitals', `code=${code.toUpperCase()}`, `{ code: { eq: "${code.toUpperCase()}" } }`, [1]],
  ['a key', 'id[in]=2,9', '{ id: { in: ["2", "9"] } }', [2]],
  ['the key of a reference', 'authorId=1', '{ authorId: { eq: "1" } }', [1, 3]],
  ['a field named like a parameter', 'limit[eq]=5', '{ limit: { eq: 5 } }', [1]],
  ['through a reference', 'author.name=Ann', '{ author: { name: { eq: "Ann" } } }', [1, 3, 5]],
  [
    'a record that is not there has no name',
    'author.name[ne]=Bob',
    '{ author: { name: { ne: "Bob" } } }',
    [1, 3, 5],
  ],
  [
    'not: whatever does not match',
    'where={"not":{"pages":{"gt":10}}}',
    '{ not: { pages: { gt: 10 } } }',
    [1, 3, 5],
  ],
  [
    'not through a reference',
    'where={"not":{"author":{"name":{"eq":"Ann"}}}}',
    '{ not: { author: { name: { eq: "Ann" } } } }',
    [2, 4],
  ],
  [
    'or, and',
    'where={"or":[{"pages":{"eq":10}},{"and":[{"pages":{"eq":20}},{"lent":{"eq":true}}]}]}',
    '{ or: [{ pages: { eq: 10 } }, { and: [{ pages: { eq: 20 } }, { lent: { eq: true } }] }] }',
    [1, 4],
  ],
  ['nothing', 'where={}', '{}', all],
  [
    'some',
    'where={"chapters":{"some":{"title":{"eq":"One"}}}}',
    '{ chapters: { some: { title: { eq: "One" } } } }',
    [1, 2],
  ],
  [
    'none',
    'where={"chapters":{"none":{"title":{"eq":"One"}}}}',
    '{ chapters: { none: { title: { eq: "One" } } } }',
    [3, 4, 5],
  ],
  ['some at all', 'where={"chapters":{"some":{}}}', '{ chapters: { some: {} } }', [1, 2, 4]],
  [
    'parameters and where, joined',
    'lent=true&where={"pages":{"gt":0}}',
    '{ lent: { eq: true }, pages: { gt: 0 } }',
    [1, 4],
  ],
];

const orders: [string, string, string, number[]][] = [
  ['null is the lowest', 'pages', '[{ pages: ASC }]', [3, 5, 1, 2, 4]],
  ['and so the last of a descent', '-pages', '[{ pages: DESC }]', [2, 4, 1, 5, 3]],
  [
    'a second field decides between equals',
    'pages,-title',
    '[{ pages: ASC }, { title: DESC }]',
    [3, 5, 1, 4, 2],
  ],
  ['in the end the key does, ascending', '-lent', '[{ lent: DESC }]', [1, 4, 5, 2, 3]],
  ['unless it is named', '-lent,-id', '[{ lent: DESC }, { id: DESC }]', [5, 4, 1, 3, 2]],
  ['text goes by code point', 'title', '[{ title: ASC }]', [3, 1, 2, 5, 4]],
  [
    'a field that is named twice decides once',
    'lent,-lent',
    '[{ lent: ASC }, { lent: DESC }]',
    [2, 3, 1, 4, 5],
  ],
];

/** What is wrong with it, and where both doors say that it is; undefined where GraphQL's own types refuse it. */
const faults: [string, string, string | undefined, string, string][] = [
  ['null', 'where={"pages":{"eq":null}}', 'where: { pages: { eq: null } }', 'REQUIRED', '#/where/pages/eq'],
  ['no date', 'day=2024-02-30', 'where: { day: { eq: "2024-02-30" } }', 'FORMAT', '#/where/day/eq'],
  ['no id', 'id=01', 'where: { id: { eq: "01" } }', 'TYPE', '#/where/id/eq'],
  ['another spelling of an id', 'id=1.0', 'where: { id: { eq: "1.0" } }', 'TYPE', '#/where/id/eq'],
  [
    'null in a list',
    'where={"tags":{"has":null}}',
    'where: { tags: { has: null } }',
    'REQUIRED',
    '#/where/tags/has',
  ],
  [
    'no date in a list',
    'times[hasSome]=x',
    'where: { times: { hasSome: ["x"] } }',
    'FORMAT',
    '#/where/times/hasSome/0',
  ],
  ['limit 0', 'limit=0', 'first: 0', 'OUT_OF_RANGE', '#/first'],
  ['a limit that is too large', 'limit=50001', 'first: 50001', 'OUT_OF_RANGE', '#/first'],
  ['an offset that is too large', 'offset=1000000000', 'offset: 1000000000', 'OUT_OF_RANGE', '#/offset'],
  ['an offset below nothing', 'offset=-1', 'offset: -1', 'OUT_OF_RANGE', '#/offset'],
  ['a cursor that is none', 'after=x', 'after: "x"', 'CURSOR', '#/after'],
  ['text for a number', 'pages=ten', undefined, 'TYPE', 'pages'],
  ['a limit that is no number', 'limit=1e1', undefined, 'OUT_OF_RANGE', 'limit'],
  ['an unknown operator', 'pages[like]=1', undefined, 'UNKNOWN', 'pages[like]'],
  ['an operator that does not fit', 'pages[contains]=1', undefined, 'UNKNOWN', 'pages[contains]'],
  ['a value of a list of JSON', 'data[has]=1', undefined, 'UNKNOWN', 'data[has]'],
  ['an operator of lists on a value', 'title[has]=a', undefined, 'UNKNOWN', 'title[has]'],
  ['an operator of values on a list', 'tags[eq]=a', undefined, 'UNKNOWN', 'tags[eq]'],
  ['emptiness that is no flag', 'tags[isEmpty]=1', undefined, 'TYPE', 'tags[isEmpty]'],
  ['an unknown field', 'paages=1', undefined, 'UNKNOWN', 'paages'],
  ['a field of a field', 'title.x.title=Unit', undefined, 'UNKNOWN', 'title.x.title'],
  ['a list in a path', 'chapters.title=One', undefined, 'UNKNOWN', 'chapters.title'],
  ['an unknown order', 'sort=tags', undefined, 'UNKNOWN', 'sort'],
  ['a parameter twice', 'limit=1&limit=2', undefined, 'UNKNOWN', 'limit'],
  ['where that is no JSON', 'where={', undefined, 'FORMAT', 'where'],
  ['an argument of what is not included', 'chapters[limit]=1', undefined, 'UNKNOWN', 'chapters[limit]'],
  ['an argument of a reference', 'include=author&author[limit]=1', undefined, 'UNKNOWN', 'author[limit]'],
  ['an unknown relation', 'include=title', undefined, 'UNKNOWN', 'include'],
  ['an unknown column', 'fields=id,chapters.nothing', undefined, 'UNKNOWN', 'fields'],
  ['cursors of aggregates', 'aggregate=count&after=x', undefined, 'UNKNOWN', 'after'],
  ['different lists', 'aggregate=countDistinct(tags)', undefined, 'UNKNOWN', 'aggregate'],
  ['different values of nothing', 'aggregate=countDistinct', undefined, 'UNKNOWN', 'aggregate'],
  ['the sum of text', 'aggregate=sum(title)', undefined, 'UNKNOWN', 'aggregate'],
];

const ids = (records: { id: unknown }[]) => records.map(({ id }) => Number(id));
const clientOf = await printedClient(sdl);
/** As the typed client takes what is written in GraphQL: as values, and integer keys as numbers. */
const written = (text: string): any =>
  valueFromASTUntyped(parseValue(text.replaceAll(/"([1-9]\d*)"/g, '$1')));

describe.each([...databases])('on %s', (database) => {
  let app: AppUnderTest;
  let api: any;
  beforeAll(async () => {
    app = await openApp(database, { sdl, data });
    api = clientOf(app);
  });
  afterAll(() => app.close());

  test.each(filters)('%s: %s', async (_, query, where, wanted) => {
    expect(ids((await app.rest('GET', `/books?${query}`)).body)).toEqual(wanted);
    expect(ids((await app.graphql(`{ books(where: ${where}) { id } }`)).data.books)).toEqual(wanted);
    expect(ids(await api.books.list({ where: written(where) }))).toEqual(wanted);
  });

  test.each(orders)('%s: %s', async (_, sort, orderBy, wanted) => {
    expect(ids((await app.rest('GET', `/books?sort=${sort}`)).body)).toEqual(wanted);
    expect(ids((await app.graphql(`{ books(orderBy: ${orderBy}) { id } }`)).data.books)).toEqual(wanted);
    expect(ids(await api.books.list({ orderBy: written(orderBy) }))).toEqual(wanted);
    const pages = [];
    let url: string | undefined = `/books?sort=${sort}&limit=2`;
    while (url !== undefined) {
      const { body, headers } = await app.rest('GET', url);
      pages.push(...ids(body));
      url = /<([^>]*)>; rel="next"/.exec(headers.get('Link') ?? '')?.[1];
    }
    expect(pages).toEqual(wanted);
  });

  test.each(faults)('%s is refused: %s', async (_, query, args, code, place) => {
    const { status, body } = await app.rest('GET', `/books?${query}`);
    expect([status, body.code, body.errors[0].code]).toEqual([400, 'VALIDATION_FAILED', code]);
    if (args === undefined) {
      expect(body.errors).toMatchObject([{ parameter: place }]);
      return;
    }
    const { errors } = await app.graphql(`{ books(${args}) { id } }`);
    expect(errors).toMatchObject([
      { extensions: { code: 'VALIDATION_FAILED', errors: [{ code, pointer: place }] } },
    ]);
    // It follows cursors, and takes none.
    if (query.startsWith('after')) return;
    const refused = await api.books.list(written(`{ ${args} }`)).catch((error: unknown) => error);
    expect([refused.code, refused.errors[0].code]).toEqual(['VALIDATION_FAILED', code]);
  });

  test('countDistinct counts different values, in each group; null is none', async () => {
    const { body: rows } = await app.rest(
      'GET',
      '/books?aggregate=count,countDistinct(pages),countDistinct(title)&groupBy=lent',
    );
    const wanted = [
      { by: { lent: false }, count: 2, countDistinct: { pages: 1, title: 2 } },
      { by: { lent: true }, count: 3, countDistinct: { pages: 3, title: 3 } },
    ];
    expect(rows).toEqual(wanted);
    const { data: relay } = await app.graphql(
      '{ booksAggregate(groupBy: [lent]) { by { lent } count countDistinct { pages title } } }',
    );
    expect(relay.booksAggregate).toEqual(wanted);
    const of = async (query: string) => (await app.rest('GET', `/books?aggregate=${query}`)).body;
    expect(await of('countDistinct(pages),countDistinct(authorId),countDistinct(day)')).toEqual([
      { countDistinct: { pages: 3, authorId: 3, day: 1 } },
    ]);
    expect(await of('countDistinct(pages)&pages=7')).toEqual([{ countDistinct: { pages: 0 } }]);
  });

  test('groups by parts of a time, in UTC: each is the first day of it, or the hour', async () => {
    const sales = [
      ['2020-12-31T23:59:59.999Z', '2020-12-31'],
      ['2021-01-01T00:00:00.000Z', '2021-01-01'],
      ['2021-01-03T23:59:59.000Z', '2021-01-03'],
      ['2021-01-04T00:30:00.000Z', '2021-01-04'],
      ['2024-12-30T12:00:00.000Z', '2024-12-30'],
      ['2025-01-01T01:30:00+02:00', '2025-01-01'],
      [null, null],
    ].map(([at, day]) => ({ at, day }));
    const text = 'type Sale @resource { id: ID!  at: DateTime  day: Date }';
    const under = await openApp(database, { sdl: text, data: { sales } });
    const table: [string, string, [string | null, number][]][] = [
      [
        'year(at)',
        'atYear',
        [
          [null, 1],
          ['2020-01-01', 1],
          ['2021-01-01', 3],
          ['2024-01-01', 2],
        ],
      ],
      [
        'month(at)',
        'atMonth',
        [
          [null, 1],
          ['2020-12-01', 1],
          ['2021-01-01', 3],
          ['2024-12-01', 2],
        ],
      ],
      [
        'week(at)',
        'atWeek',
        [
          [null, 1],
          ['2020-12-28', 3],
          ['2021-01-04', 1],
          ['2024-12-30', 2],
        ],
      ],
      [
        'week(day)',
        'dayWeek',
        [
          [null, 1],
          ['2020-12-28', 3],
          ['2021-01-04', 1],
          ['2024-12-30', 2],
        ],
      ],
      [
        'year(day)',
        'dayYear',
        [
          [null, 1],
          ['2020-01-01', 1],
          ['2021-01-01', 3],
          ['2024-01-01', 1],
          ['2025-01-01', 1],
        ],
      ],
      [
        'day(at)',
        'atDay',
        [
          [null, 1],
          ...['2020-12-31', '2021-01-01', '2021-01-03', '2021-01-04', '2024-12-30', '2024-12-31'].map(
            (day): [string, number] => [day, 1],
          ),
        ],
      ],
      [
        'hour(at)',
        'atHour',
        [
          [null, 1],
          ...[
            '2020-12-31T23',
            '2021-01-01T00',
            '2021-01-03T23',
            '2021-01-04T00',
            '2024-12-30T12',
            '2024-12-31T23',
          ].map((hour): [string, number] => [`${hour}:00:00.000Z`, 1]),
        ],
      ],
    ];
    for (const [groupBy, name, groups] of table) {
      const wanted = groups.map(([value, count]) => ({ by: { [name]: value }, count }));
      expect((await under.rest('GET', `/sales?aggregate=count&groupBy=${groupBy}`)).body).toEqual(wanted);
      const { data: relay } = await under.graphql(
        `{ salesAggregate(groupBy: [${name}]) { by { ${name} } count } }`,
      );
      expect(relay.salesAggregate).toEqual(wanted);
    }
    for (const unknown of ['hour(day)', 'month(id)', 'atMonth', 'decade(at)'])
      expect((await under.rest('GET', `/sales?groupBy=${unknown}`)).body.errors).toMatchObject([
        { parameter: 'groupBy', code: 'UNKNOWN' },
      ]);
    await under.close();
  });

  test('every fault is told at once', async () => {
    const { body } = await app.rest('GET', '/books?limit=0&nothing=1&sort=x&day=1&where=5&include=x');
    expect(body.errors.map((error: { parameter: string }) => error.parameter).sort()).toEqual(
      ['day', 'include', 'limit', 'nothing', 'sort', 'where'].sort(),
    );
    const { errors } = await app.graphql(
      '{ books(first: 0, after: "x", where: { day: { eq: "1" } }) { id } }',
    );
    expect(errors?.[0].extensions.errors).toHaveLength(3);
  });

  describe('pages', () => {
    const connection = (args: string) =>
      `{ it: booksConnection(${args}) { totalCount edges { cursor node { id } } pageInfo { hasNextPage hasPreviousPage startCursor endCursor } } }`;
    const linked = (headers: Headers) =>
      Object.fromEntries(
        [...(headers.get('Link') ?? '').matchAll(/<([^>]*)>; rel="(\w+)"/g)].map(([, url, rel]) => [
          rel,
          url,
        ]),
      );

    test('a link follows the rows, however often the page was asked for before', async () => {
      const under = await openApp(database, { sdl: 'type Step @resource { id: ID!  at: Int! }' });
      for (const at of [10, 20, 30]) await under.rest('POST', '/steps', { at });
      const following = async () => {
        const { headers } = await under.rest('GET', '/steps?sort=at&limit=2');
        return (await under.rest('GET', linked(headers)['next'] ?? '')).body.map((step: any) => step.at);
      };
      expect([await following(), await following()]).toEqual([[30], [30]]);
      await under.rest('POST', '/steps', { at: 15 });
      expect(await following()).toEqual([20, 30]);
      await under.close();
    });

    test('Link and pageInfo lead forwards and back with the same cursors', async () => {
      const first = await app.rest('GET', '/books?sort=-pages&limit=2&count=true');
      expect([ids(first.body), first.headers.get('X-Total-Count')]).toEqual([[2, 4], '5']);
      expect(Object.keys(linked(first.headers))).toEqual(['next']);
      const { data: relay } = await app.graphql(connection('orderBy: [{ pages: DESC }], first: 2'));
      const { edges, pageInfo, totalCount } = relay.it;
      expect([ids(edges.map((edge: any) => edge.node)), totalCount]).toEqual([[2, 4], 5]);
      expect([pageInfo.hasNextPage, pageInfo.hasPreviousPage]).toEqual([true, false]);
      expect([pageInfo.startCursor, pageInfo.endCursor]).toEqual(edges.map((edge: any) => edge.cursor));
      const next: string = linked(first.headers)['next'] ?? '';
      expect(next).toBe(`/books?sort=-pages&limit=2&count=true&after=${pageInfo.endCursor}`);

      const second = await app.rest('GET', next);
      expect([ids(second.body), second.headers.get('X-Total-Count')]).toEqual([[1, 5], '5']);
      expect(Object.keys(linked(second.headers))).toEqual(['next', 'prev']);
      const back = await app.rest('GET', linked(second.headers)['prev'] ?? '');
      expect(ids(back.body)).toEqual([2, 4]);
      expect(Object.keys(linked(back.headers))).toEqual(['next']);
    });

    test('last counts from the end, before ends a page', async () => {
      const { data: end } = await app.graphql(connection('last: 2'));
      expect(ids(end.it.edges.map((edge: any) => edge.node))).toEqual([4, 5]);
      expect(end.it.pageInfo).toMatchObject({ hasNextPage: false, hasPreviousPage: true });
      const before = end.it.pageInfo.startCursor;
      const { data: middle } = await app.graphql(connection(`last: 2, before: "${before}"`));
      expect(ids(middle.it.edges.map((edge: any) => edge.node))).toEqual([2, 3]);
      expect(ids((await app.rest('GET', `/books?limit=2&before=${before}`)).body)).toEqual([2, 3]);
      expect(ids((await app.rest('GET', `/books?before=${before}`)).body)).toEqual([1, 2, 3]);
    });

    test('between two cursors', async () => {
      const { data: whole } = await app.graphql(connection('first: 5'));
      const [first, , , fourth] = whole.it.edges.map((edge: any) => edge.cursor);
      expect(ids((await app.rest('GET', `/books?after=${first}&before=${fourth}`)).body)).toEqual([2, 3]);
      const { data: between } = await app.graphql(connection(`after: "${first}", before: "${fourth}"`));
      expect(ids(between.it.edges.map((edge: any) => edge.node))).toEqual([2, 3]);
    });

    test('a cursor belongs to its filter and order, however they are written', async () => {
      const { headers } = await app.rest('GET', '/books?lent=true&pages[gt]=-9&limit=1');
      const after = new URL(linked(headers)['next'] ?? '', 'http://x').searchParams.get('after');
      const same = encodeURIComponent('{"pages":{"gt":-9},"lent":{"eq":true}}');
      expect(ids((await app.rest('GET', `/books?where=${same}&after=${after}`)).body)).toEqual([4, 5]);
      for (const other of ['lent=true', 'lent=true&pages[gt]=-8', 'lent=true&pages[gt]=-9&sort=-id'])
        expect((await app.rest('GET', `/books?${other}&after=${after}`)).body.errors).toMatchObject([
          { parameter: 'after', code: 'CURSOR' },
        ]);
    });

    test('a whole list has no links, an empty page has no cursors', async () => {
      expect((await app.rest('GET', '/books')).headers.get('Link')).toBeNull();
      expect((await app.rest('GET', '/books?pages=7&limit=1')).headers.get('Link')).toBeNull();
      const { data: none } = await app.graphql(connection('where: { pages: { eq: 7 } }'));
      expect(none.it).toEqual({
        totalCount: 0,
        edges: [],
        pageInfo: { hasNextPage: false, hasPreviousPage: false, startCursor: null, endCursor: null },
      });
    });

    test('an offset jumps to a page, and cursors go on from there, both ways', async () => {
      const second = await app.rest('GET', '/books?sort=-pages&limit=2&offset=2&count=true');
      expect([ids(second.body), second.headers.get('X-Total-Count')]).toEqual([[1, 5], '5']);
      const { data: relay } = await app.graphql(
        connection('orderBy: [{ pages: DESC }], first: 2, offset: 2'),
      );
      expect([ids(relay.it.edges.map((edge: any) => edge.node)), relay.it.totalCount]).toEqual([[1, 5], 5]);
      const { startCursor, endCursor, ...more } = relay.it.pageInfo;
      expect(more).toEqual({ hasNextPage: true, hasPreviousPage: true });
      const { next, prev } = linked(second.headers);
      expect([next, prev]).toEqual([
        `/books?sort=-pages&limit=2&count=true&after=${endCursor}`,
        `/books?sort=-pages&limit=2&count=true&before=${startCursor}`,
      ]);
      expect(ids((await app.rest('GET', next ?? '')).body)).toEqual([3]);
      expect(ids((await app.rest('GET', prev ?? '')).body)).toEqual([2, 4]);
      const first = await app.rest('GET', '/books?limit=2&offset=0');
      expect([ids(first.body), Object.keys(linked(first.headers))]).toEqual([[1, 2], ['next']]);
      const beyond = await app.rest('GET', '/books?limit=2&offset=5');
      expect([beyond.body, beyond.headers.get('Link')]).toEqual([[], null]);
      expect(ids((await app.rest('GET', '/books?offset=3')).body)).toEqual([4, 5]);
      expect(ids((await app.graphql('{ books(offset: 3) { id } }')).data.books)).toEqual([4, 5]);
    });

    test('what an offset leaves out of included lists, it leaves out for each record', async () => {
      for (const [query, args, wanted] of [
        ['chapters[offset]=1&chapters[limit]=1', 'offset: 1, first: 1', [[2], [], [], [], []]],
        ['chapters[offset]=1', 'offset: 1', [[2, 3], [], [], [], []]],
        [
          'chapters[offset]=0&chapters[sort]=-id',
          'offset: 0, orderBy: [{ id: DESC }]',
          [[3, 2, 1], [4], [], [5], []],
        ],
      ] as const) {
        const { body } = await app.rest('GET', `/books?include=chapters&${query}`);
        expect(body.map((book: any) => ids(book.chapters))).toEqual(wanted);
        const { data: relay } = await app.graphql(`{ books { chapters(${args}) { id } } }`);
        expect(relay.books.map((book: any) => ids(book.chapters))).toEqual(wanted);
      }
    });

    test('an export leaves out what an offset says, once', async () => {
      // More than a page of those that exports are read by.
      const many = { steps: Array.from({ length: 80 }, (_, at) => ({ at })) };
      const under = await openApp(database, { sdl: 'type Step @resource { id: ID!  at: Int! }', data: many });
      const file = await under.fetch('/steps?offset=3&fields=id', { headers: { Accept: 'text/csv' } });
      expect((await file.text()).trim().split('\r\n').slice(1).map(Number)).toEqual(
        Array.from({ length: 77 }, (_, index) => index + 4),
      );
      await under.close();
    });

    test.each(['after', 'before'])('offset and %s exclude each other', async (name) => {
      const { data: relay } = await app.graphql(connection('first: 1'));
      const cursor = relay.it.pageInfo.endCursor;
      const { body } = await app.rest('GET', `/books?limit=1&offset=0&${name}=${cursor}`);
      expect(body.errors).toMatchObject([{ parameter: 'offset', code: 'UNKNOWN' }]);
      const { errors } = await app.graphql(connection(`offset: 0, ${name}: "${cursor}"`));
      expect(errors?.[0].extensions.errors).toMatchObject([{ pointer: '#/offset', code: 'UNKNOWN' }]);
    });

    test('offset and last exclude each other', async () => {
      const { errors } = await app.graphql(connection('offset: 1, last: 1'));
      expect(errors?.[0].extensions.errors).toMatchObject([{ pointer: '#/offset', code: 'UNKNOWN' }]);
    });

    test('first and last exclude each other', async () => {
      const { errors } = await app.graphql(connection('first: 1, last: 1'));
      expect(errors?.[0].extensions.errors).toMatchObject([{ pointer: '#/last', code: 'UNKNOWN' }]);
    });
  });
});
