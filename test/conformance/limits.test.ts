/** The limits of documents at their borders: what is just within them passes, one more does not and does nothing. */

import { afterAll, beforeAll, describe, expect, spyOn, test } from 'bun:test';
import { getIntrospectionQuery } from 'graphql';
import { settings } from '../../src/config/settings.ts';
import { type AppUnderTest, databases, JSON_HEADERS, openApp } from '../app.ts';

const times = (count: number, each: (index: number) => string) =>
  Array.from({ length: count }, (_, index) => each(index)).join(' ');

/** So many levels of fields from a post on, the innermost a leaf; `wrap` says how a level is written. */
function levels(count: number, wrap = (_: string, inner: string) => inner, type = 'Post'): string {
  if (count <= 1) return wrap(type, 'id');
  const [field, next] = type === 'Post' ? ['author', 'User'] : ['posts', 'Post'];
  return wrap(type, `${field} { ${levels(count - 1, wrap, next)} }`);
}

/** Fragments that each add a level, and spread the next. */
function chain(count: number): string {
  return times(count, (index) => {
    const [type, field] = index % 2 === 0 ? ['Post', 'author'] : ['User', 'posts'];
    const inner = index === count - 1 ? 'id' : `${field} { ...L${index + 1} }`;
    return `fragment L${index} on ${type} { ${inner} }`;
  });
}

const aliases = (count: number) => times(count, (index) => `a${index}: id`);
const skips = (count: number) => times(count, () => 'id @skip(if: false)');
const ofTypes = (count: number): string => (count <= 1 ? 'name' : `ofType { ${ofTypes(count - 1)} }`);
const booksAmong = (count: number) =>
  `books(where: { id: { in: [${times(count, (index) => `"${index + 1}"`)}] } })`;

const byIds = 'books(where: { id: { in: $ids } }) { id }';

/** Fragments on posts, each with more fields than the one before; none is deeper than the limit. */
const trees = times(4, (index) => {
  const inner = (name: string) => `${name} { ...P${index} }`;
  return `fragment P${index + 1} on Post { id title body author { id name email ${inner('posts')} } comments { id body ${inner('post')} } }`;
});
/** How many fields a list of posts has with each of them, itself included, largest first. */
const SIZES = [229, 109, 49, 19, 4].map((size, index) => [size, `P${4 - index}`] as const);

/** An operation with so many fields in its answer; of records that there are not, so that it is quick. */
function fields(count: number, spread: (name: string) => string): string {
  const parts: string[] = [];
  let left = count;
  for (const [size, name] of SIZES)
    for (; left >= size; left -= size)
      parts.push(`a${parts.length}: posts(where: { id: { eq: "999" } }) { ${spread(name)} }`);
  return `{ ${parts.join(' ')} ${times(left, (index) => `t${index}: __typename`)} } fragment P0 on Post { id title body } ${trees}`;
}

interface Row {
  readonly setting: keyof typeof settings;
  readonly code: string;
  readonly message: string;
  /** Documents that have exactly so many of what is limited, by where they have them. */
  readonly documents: Readonly<Record<string, (count: number) => string>>;
}

const rows: Row[] = [
  {
    setting: 'limitTokens',
    code: 'TOO_MANY_TOKENS',
    message: 'The document has more than 2000 tokens. Send long values as variables.',
    documents: {
      'in a list of values': (n) => `{ ${booksAmong(n - 20)} { id } }`,
      'with comments and commas, which are none': (n) => `{ ${booksAmong(n - 20)} { ,,, id # and more\n } }`,
      'in an operation that is not chosen': (n) =>
        `query Chosen { books { id } } query Other { ${booksAmong(n - 30)} { id } }`,
    },
  },
  {
    setting: 'limitDepth',
    code: 'QUERY_TOO_DEEP',
    message: 'The operation has more than 10 levels of fields.',
    documents: {
      'of fields': (n) => `{ posts { ${levels(n - 1)} } }`,
      'of aliases': (n) => `{ p: posts { ${levels(n - 1).replaceAll(/author/g, 'a: author')} } }`,
      'in inline fragments': (n) =>
        `{ posts { ${levels(n - 1, (type, inner) => `... on ${type} { ${inner} }`)} } }`,
      'in inline fragments without a type': (n) =>
        `{ ... { posts { ${levels(n - 1, (_, inner) => `... { ${inner} }`)} } } }`,
      'in named fragments': (n) => `{ posts { ...L0 } } ${chain(n - 1)}`,
      'in a fragment on the root': (n) =>
        `{ ...Root } fragment Root on Query { posts { ...L0 } } ${chain(n - 1)}`,
      'in fragments that are defined first': (n) => `${chain(n - 1)} { posts { ...L0 } }`,
      'in what @skip leaves out': (n) => `{ posts { id ... @skip(if: true) { ${levels(n - 1)} } } }`,
      'in what @include leaves out by a variable': (n) =>
        `query ($no: Boolean = false) { posts { id author @include(if: $no) { ${levels(n - 2, undefined, 'User')} } } }`,
      'in one of several operations': (n) =>
        `query Chosen { posts { id } } query Other { posts { ${levels(n - 1)} } }`,
      'beside introspection, which counts for itself': (n) =>
        `{ __type(name: "Book") { ${ofTypes(14)} } posts { ${levels(n - 1)} } }`,
    },
  },
  {
    setting: 'limitIntrospectionDepth',
    code: 'INTROSPECTION_TOO_DEEP',
    message: 'The operation has more than 15 levels of introspection fields.',
    documents: {
      'below __type': (n) => `{ __type(name: "Book") { ${ofTypes(n - 1)} } }`,
      'below __schema': (n) => `{ __schema { queryType { ${ofTypes(n - 2)} } } }`,
      'in fragments': (n) =>
        `{ ...Q } fragment Q on Query { t: __type(name: "Book") { ...T } } fragment T on __Type { ${ofTypes(n - 1)} }`,
    },
  },
  {
    setting: 'limitAliases',
    code: 'TOO_MANY_ALIASES',
    message: 'The operation has more than 30 aliases.',
    documents: {
      'on root fields': (n) =>
        `{ ${times(n - 5, (index) => `a${index}: __typename`)} books { ${aliases(5)} } }`,
      'on nested fields': (n) => `{ posts { ${aliases(n - 10)} author { ${aliases(10)} } } }`,
      'that say the same name': (n) => `{ books { ${times(n, () => 'id: id')} } }`,
      'in inline fragments': (n) => `{ books { ${times(n, (index) => `... { a${index}: id }`)} } }`,
      'in a fragment that is spread often': (n) =>
        `{ books { ...Ten ...Ten ${aliases(n - 20)} } } fragment Ten on Book { ${aliases(10)} }`,
      'in fragments of fragments': (n) =>
        `{ books { ...A ...A ${aliases(n - 24)} } } fragment A on Book { ...B ...B } fragment B on Book { ...C ...C }
        fragment C on Book { x: id y: id z: id }`,
      'in what is left out': (n) =>
        `query ($no: Boolean = false) { books { id ... @include(if: $no) { ${aliases(n)} } } }`,
      'in one of several operations': (n) =>
        `query Chosen { books { id } } query Other { books { ${aliases(n)} } }`,
    },
  },
  {
    setting: 'limitRootFields',
    code: 'TOO_MANY_ROOT_FIELDS',
    message: 'The operation has more than 30 root fields.',
    documents: {
      'one beside the other': (n) => `{ ${times(n, () => '__typename')} }`,
      'in inline fragments': (n) => `{ ${times(n, () => '... { __typename }')} }`,
      'in fragments that are spread often': (n) =>
        `{ ${times(n - 20, () => '__typename')} ...Ten ...Ten } fragment Ten on Query { ...Five ...Five }
        fragment Five on Query { ${times(5, () => '__typename')} }`,
      'in what is left out': (n) => `{ ${times(n, () => '__typename @skip(if: true)')} }`,
      'of a mutation': (n) => `mutation { ${times(n, () => '__typename')} }`,
    },
  },
  {
    setting: 'limitFields',
    code: 'TOO_MANY_FIELDS',
    message: 'The operation has more than 5000 fields.',
    documents: {
      'in fragments of fragments': (n) => fields(n, (name) => `...${name}`),
      'of which some are asked for again': (n) => fields(n, (name) => `...${name} id ... { ...${name} }`),
      'in an operation that is not chosen': (n) =>
        `query Chosen { books { id } } query Other ${fields(n, (name) => `...${name}`)}`,
    },
  },
  {
    setting: 'limitDirectives',
    code: 'TOO_MANY_DIRECTIVES',
    message: 'The operation has more than 50 directives.',
    documents: {
      'on fields': (n) => `{ books { ${skips(n)} } }`,
      'on inline fragments': (n) => `{ books { ${times(n, () => '... @include(if: true) { id }')} } }`,
      'on spreads and in what they spread': (n) =>
        `{ books { ${times(Math.floor(n / 2), () => '...One @include(if: true)')} ${skips(n % 2)} } } fragment One on Book { ${skips(1)} }`,
      'in fragments of fragments': (n) =>
        `{ books { ...A ...A ${skips(n - 40)} } } fragment A on Book { ...B ...B } fragment B on Book { ${skips(10)} }`,
      'on the operation': (n) => `mutation @atomic { createNote(title: "x") { ${skips(n - 1)} } }`,
      'by variables': (n) =>
        `query ($no: Boolean = false) { books { id ${times(n, () => 'pages @include(if: $no)')} } }`,
    },
  },
];

describe.each([...databases])('on %s', (database) => {
  let app: AppUnderTest;
  beforeAll(async () => {
    app = await openApp(database);
  });
  afterAll(() => app.close());

  const send = (query: string) =>
    app.rest(
      'POST',
      '/graphql',
      { query, ...(query.includes('query Chosen') && { operationName: 'Chosen' }) },
      { ...JSON_HEADERS, Accept: 'application/graphql-response+json' },
    );

  describe.each(rows)('$setting', ({ setting, code, message, documents }) => {
    const limit = Number(settings[setting].default);

    test.each(Object.entries(documents))('%s', async (_, document) => {
      const { body } = await send(document(limit));
      expect(body.errors).toBeUndefined();
      app.statements.length = 0;
      const beyond = await send(document(limit + 1));
      expect(beyond.status).toBe(400);
      expect(beyond.body).toEqual({
        errors: [{ message, locations: expect.anything(), extensions: { code } }],
      });
      expect(app.statements).toEqual([]);
    });
  });

  describe('limitDepth, by include and fields', () => {
    const limit = Number(settings.limitDepth.default);
    /** The path of as many relations as make so many levels, with the list and the columns at its end. */
    const path = (count: number) =>
      levels(count - 1)
        .match(/author|posts/g)
        ?.join('.') ?? '';
    const reads: Record<string, (count: number) => string> = {
      'of a list': (n) => `/posts?include=${path(n)}`,
      'by a field at its end': (n) => `/posts?fields=${path(n)}.id`,
      'beside a shorter one': (n) => `/posts?include=comments,${path(n)}`,
    };

    test.each(Object.entries(reads))('%s', async (_, read) => {
      expect((await app.rest('GET', read(limit))).status).toBe(200);
      app.statements.length = 0;
      const { status, body } = await app.rest('GET', read(limit + 1));
      expect([status, body.code, body.detail]).toEqual([
        400,
        'QUERY_TOO_DEEP',
        'What is asked for has more than 10 levels of fields.',
      ]);
      expect(app.statements).toEqual([]);
    });

    test('in files too', async () => {
      const Accept = 'application/x-ndjson';
      const statuses = [limit, limit + 1].map(
        async (count) => (await app.fetch(`/posts?include=${path(count)}`, { headers: { Accept } })).status,
      );
      expect(await Promise.all(statuses)).toEqual([200, 400]);
    });

    test('of one record, of which only its existence is told first', async () => {
      const read = async (key: number, count: number) =>
        (await app.rest('GET', `/posts/${key}?include=${path(count)}`)).status;
      expect([await read(1, limit), await read(999, limit + 1)]).toEqual([200, 404]);
      app.statements.length = 0;
      expect(await read(1, limit + 1)).toBe(400);
      expect(app.statements).toHaveLength(1);
    });

    test('is a setting', async () => {
      const wider = await openApp(database, { env: { LIMIT_DEPTH: String(limit + 1) } });
      for (const read of Object.values(reads))
        expect((await wider.rest('GET', read(limit + 1))).status).toBe(200);
      await wider.close();
    });
  });

  test('each limit is a setting', async () => {
    for (const { setting, code, documents } of rows) {
      const { env, default: text } = settings[setting];
      const limit = Number(text);
      const wider = await openApp(database, { env: { [env]: String(limit + 1) } });
      for (const [where, document] of Object.entries(documents)) {
        const query = document(limit + 1);
        const { errors } = await wider.graphql(query);
        expect([where, errors?.map(({ extensions }) => extensions.code) ?? []]).not.toEqual([where, [code]]);
      }
      await wider.close();
    }
  });

  test('every limit that is exceeded is told, each with its code', async () => {
    const query = `{ ${times(31, (index) => `a${index}: posts { ${levels(10)} id @skip(if: true) @include(if: true) }`)} }`;
    const { body } = await send(query);
    expect(body.errors.map((error: any) => error.extensions.code)).toEqual([
      'QUERY_TOO_DEEP',
      'TOO_MANY_ALIASES',
      'TOO_MANY_ROOT_FIELDS',
      'TOO_MANY_DIRECTIVES',
    ]);
  });

  test('fragments that spread each other twice are counted without being expanded', async () => {
    const doubling = (leaf: string) =>
      `{ books { ...F0 } } ${times(100, (index) => `fragment F${index} on Book { ...F${index + 1} ...F${index + 1} }`)}
      fragment F100 on Book { ${leaf} }`;
    expect((await send(doubling('a: id'))).body.errors[0].extensions.code).toBe('TOO_MANY_ALIASES');
    const plain = await send(doubling('id'));
    expect(plain.body).toEqual({ data: { books: expect.any(Array) } });
    expect(plain.body.data.books[0]).toEqual({ id: '1' });
  });

  test('fragments in a circle are told by validation', async () => {
    const { body } = await send(
      '{ books { ...A } } fragment A on Book { id ...B ...B } fragment B on Book { ...A ...A }',
    );
    expect(body.errors[0]).toMatchObject({
      message: 'Cannot spread fragment "A" within itself via "B".',
      extensions: { code: 'GRAPHQL_VALIDATION_FAILED' },
    });
  });

  test('the standard introspection query passes, with everything that it can ask for', async () => {
    const options = {
      descriptions: true,
      specifiedByUrl: true,
      directiveIsRepeatable: true,
      schemaDescription: true,
      inputValueDeprecation: true,
      oneOf: true,
    };
    expect((await send(getIntrospectionQuery(options))).body.errors).toBeUndefined();
  });

  test('variables hold as much as a body does', async () => {
    const query = 'query ($where: BookWhere) { books(where: $where) { id } }';
    const where = { id: { in: Array.from({ length: 5000 }, (_, index) => String(index + 1)) } };
    expect((await app.graphql(query, { where })).errors).toBeUndefined();
  });

  describe('values of variables that are used in several places', () => {
    const PLACES = 11;
    const fragment = 'fragment P on User { posts(where: { id: { in: $ids } }) { id } }';
    const documents: Record<string, string> = {
      'of aliases': `query ($ids: [ID!]) { ${times(PLACES, (index) => `a${index}: ${byIds}`)} }`,
      'of lists in lists': `query ($ids: [ID!]) { ${times(PLACES, (index) => `a${index}: users { posts(where: { id: { in: $ids } }) { id } }`)} }`,
      'of a fragment': `query ($ids: [ID!]) { ${times(PLACES, (index) => `a${index}: users { ...P }`)} } ${fragment}`,
      'of one list': `query ($ids: [ID!]) { books(where: { or: [${times(PLACES, () => '{ id: { in: $ids } }')}] }) { id } }`,
      'of writes': `mutation ($ids: [ID!]) { ${times(PLACES, (index) => `a${index}: deleteBooks(where: { id: { in: $ids } }, atMost: 1) { id }`)} }`,
      'of writes that are one': `mutation ($ids: [ID!]) @atomic { ${times(PLACES, (index) => `a${index}: deleteBooks(where: { id: { in: $ids } }, atMost: 1) { id }`)} }`,
    };
    const ids = (count: number) => Array.from({ length: count }, (_, index) => String(index + 1000));

    test.each(Object.entries(documents))('%s', async (_, query) => {
      expect((await app.graphql(query, { ids: ids(5000) })).errors).toBeUndefined();
      app.statements.length = 0;
      const { body } = await app.graphql(query, { ids: ids(5001) });
      expect(body).toEqual({
        errors: [
          {
            message: expect.any(String),
            locations: expect.anything(),
            extensions: { code: 'TOO_MANY_VALUES' },
          },
        ],
      });
      expect(app.statements).toEqual([]);
    });

    const texts = (uses: number) => times(uses, () => '{ title: { startsWith: $text } }');
    const long = (characters: number) => 'a'.repeat(characters);
    test.each([
      ['given', 'query ($text: String!)', { text: long(100_000) }, { text: long(100_050) }],
      ['by default', 'query ($text: String = "")', undefined, undefined],
    ])('a long text counts as many, %s', async (_, head, fits, exceeds) => {
      const asked = (characters: number) =>
        `${head.replace('""', `"${long(characters)}"`)} { books(where: { or: [${texts(26)}] }) { id } }`;
      expect((await app.graphql(asked(100_000), fits)).errors).toBeUndefined();
      const { errors } = await app.graphql(asked(100_050), exceeds);
      expect(errors?.map(({ extensions }) => extensions)).toEqual([{ code: 'TOO_MANY_VALUES' }]);
    });

    test('a long text of other characters than ASCII counts four times as many', async () => {
      const asked = `query ($text: String!) { books(where: { or: [${texts(3)}] }) { id } }`;
      expect((await app.graphql(asked, { text: 'é'.repeat(156_250) })).errors).toBeUndefined();
      const { errors } = await app.graphql(asked, { text: 'é'.repeat(156_257) });
      expect(errors?.map(({ extensions }) => extensions)).toEqual([{ code: 'TOO_MANY_VALUES' }]);
    });

    test.each([
      'title: { startsWith: "TEXT" }',
      'or: [{ title: { eq: "TEXT" } }, { title: { endsWith: "" } }]',
    ])('a long text in a fragment counts as many, in %s', async (where) => {
      const asked = (characters: number) =>
        `{ ${times(9, (index) => `a${index}: users { ...A }`)} }
           fragment A on User { ...B posts { author { ...B } first: comments { post { author { ...B } } } } }
           fragment B on User { postsConnection(where: { ${where.replace('TEXT', long(characters))} }) { totalCount } }`;
      expect((await app.graphql(asked(90_000))).errors).toBeUndefined();
      app.statements.length = 0;
      const { errors } = await app.graphql(asked(100_000));
      expect(errors?.map(({ extensions }) => extensions)).toEqual([{ code: 'TOO_MANY_VALUES' }]);
      expect(app.statements).toEqual([]);
    });

    test('one value can be used anywhere, and many in an operation that is not chosen', async () => {
      const doubling = times(40, (at) => `fragment F${at} on User { ...F${at + 1} ...F${at + 1} }`);
      const query = `query ($one: Int) { users { ...F0 } } ${doubling} fragment F40 on User { posts(first: $one) { id } }`;
      expect((await app.graphql(query, { one: 1 })).errors).toBeUndefined();
      const other = documents['of aliases']?.replace('query', 'query Other');
      const chosen = `query Chosen($ids: [ID!]) { ${byIds} } ${other}`;
      const { body } = await app.rest('POST', '/graphql', {
        query: chosen,
        operationName: 'Chosen',
        variables: { ids: ids(9000) },
      });
      expect(body).toEqual({ data: { books: [] } });
    });
  });

  describe('objects in lists of variables, of which three bytes are one', () => {
    const MOST = 100_000;
    const CONDITIONS = 10_000;
    const empty = (length: number) => Array(length).fill({});
    const post = { title: 't', body: 'b' };
    test.each([
      [
        'records',
        'mutation ($r: [BookInput!]!) { createBooks(records: $r) { id } }',
        (n: number) => ({ r: Array(n).fill({ title: 't', pages: 1 }) }),
        'TOO_MANY_OBJECTS',
        MOST,
      ],
      [
        'records in others',
        'mutation ($r: [PostInputWithoutAuthor!]) { createUser(name: "n", email: "e@x.yz", posts: $r) { id } }',
        (n: number) => ({ r: Array(n).fill(post) }),
        'TOO_MANY_OBJECTS',
        MOST,
      ],
      [
        'records of several variables, and of lists in them',
        'mutation ($r: [UserInput!]!, $p: [PostInputWithoutAuthor!]) { createUsers(records: $r) { id } createUser(name: "n", email: "e@x.yz", posts: $p) { id } }',
        (n: number) => ({
          r: [
            { name: 'n', email: 'e@x.yz', posts: Array(40_000).fill(post) },
            { name: 'n', email: 'f@x.yz', posts: Array(20_000).fill(post) },
          ],
          p: Array(n - 60_002).fill(post),
        }),
        'TOO_MANY_OBJECTS',
        MOST,
      ],
      [
        'filters',
        'query ($w: BookWhere) { books(where: $w) { id } }',
        (n: number) => ({ w: { not: { or: empty(n - 1), and: empty(1) } } }),
        'VALIDATION_FAILED',
        CONDITIONS,
      ],
      [
        'orders',
        'query ($o: [BookOrder!]) { books(orderBy: $o) { id } }',
        (n: number) => ({ o: Array(n).fill({ id: 'ASC' }) }),
        'VALIDATION_FAILED',
        CONDITIONS,
      ],
    ])('%s', async (_, query, variables, code, most) => {
      const env = { LIMIT_BODY: String(2 ** 23) };
      const wide = await openApp(database, { env });
      wide.statements.length = 0;
      const within = await wide.graphql(query, variables(most));
      expect([within.errors?.[0].extensions.code, within.errors?.[0].path]).toEqual([
        code,
        expect.anything(),
      ]);
      // Not by what carries the operation out, which would name its field.
      expect((await wide.graphql(query, variables(most + 1))).body).toEqual({
        errors: [
          {
            message: expect.stringContaining(`more than ${most} `),
            locations: expect.anything(),
            extensions: expect.objectContaining({ code }),
          },
        ],
      });
      expect(wide.statements.filter((sql) => /INSERT|SELECT/.test(sql))).toEqual([]);
      await wide.close();
    });

    test('fields of their types, which objects are asked for that do not have them', async () => {
      const names = Array.from({ length: 99 }, (_, at) => `f${at}`);
      // With `kids`, a record can be given a hundred.
      const sdl = `
        type Wide @resource { id: ID!  ${names.join(': Int ')}: Int  kids: [Kid!]! }
        type Kid @resource { id: ID!  n: Int @constraint(max: 1)  wide: Wide }`;
      const wide = await openApp(database, { sdl });
      const create = 'mutation ($r: [WideInput!]!) { createWides(records: $r) { id } }';
      const told = async (records: number, kids: object[]) => {
        const r = [{ kids }, ...empty(records - 1)];
        return (await wide.graphql(create, { r })).errors;
      };
      // Refused for what it has, not for how much: a kid has one field.
      const within = await told(49_999, [...empty(99), { n: 2 }]);
      expect(within?.[0].extensions.errors).toHaveLength(1);
      expect(await told(49_999, [...empty(100), { n: 2 }])).toEqual([
        {
          message: `The variables have more than ${50 * MOST} fields in all, with those that their objects leave out. Send them in several requests.`,
          locations: expect.anything(),
          extensions: expect.objectContaining({ code: 'TOO_MANY_OBJECTS' }),
        },
      ]);
      await wide.close();
    });

    test('as many as a body has are legal in JSON; actions take as many as an answer may have', async () => {
      const sdl = `
        type Note @resource { id: ID!  any: JSON! }
        input Line { n: Int }
        type Query { count(lines: [Line!]!): Int! @action }`;
      const logic = { Query: { count: (_: object, { lines }: { lines: unknown[] }) => lines.length } };
      const own = await openApp(database, { sdl, logic });
      const query = 'query ($l: [Line!]!) { count(lines: $l) }';
      const most = Number(settings.limitObjects.default);
      expect((await own.graphql(query, { l: empty(most) })).body).toEqual({ data: { count: most } });
      expect((await own.graphql(query, { l: empty(most + 1) })).errors).toMatchObject([
        { extensions: { code: 'TOO_MANY_OBJECTS' } },
      ]);
      const note = 'mutation ($any: JSON!) { createNote(any: $any) { id } }';
      expect((await own.graphql(note, { any: empty(MOST + 1) })).errors).toBeUndefined();
      await own.close();
    });

    test('more are legal where answers may have more', async () => {
      const sdl = 'type Tag @resource { id: ID!  n: Int @constraint(max: 1) }';
      const large = await openApp(database, { sdl, env: { LIMIT_OBJECTS: String(2 * MOST) } });
      const query = 'mutation ($r: [TagInput!]!) { createTags(records: $r) { id } }';
      // Refused for what it has, not for how many.
      const r = [...empty(MOST), { n: 2 }];
      expect((await large.graphql(query, { r })).errors?.[0].extensions.errors).toHaveLength(1);
      await large.close();
    });
  });

  test('a list is sorted by a hundred fields at most, and no more are read', async () => {
    const detail = (name: string) => `${name} may have 100 fields at most`;
    for (const [path, query, by, word] of [
      ['/books?sort=', 'query ($o: [BookOrder!]) { books(orderBy: $o) { id } }', { id: 'ASC' }, 'id'],
      [
        '/books?aggregate=count&sort=',
        'query ($o: [BookAggregateOrder!]) { booksAggregate(orderBy: $o) { count } }',
        { count: 'ASC' },
        'count',
      ],
    ] as const)
      for (const count of [100, 101]) {
        const rest = await app.rest('GET', path + Array(count).fill(word));
        const { errors } = await app.graphql(query, { o: Array(count).fill(by) });
        const told = [rest.body.errors, errors?.[0].extensions.errors];
        if (count === 100) expect(told).toEqual([undefined, undefined]);
        else
          expect(told).toEqual([
            [{ parameter: 'sort', code: 'OUT_OF_RANGE', detail: detail('sort') }],
            [{ pointer: '#/orderBy', code: 'OUT_OF_RANGE', detail: detail('orderBy') }],
          ]);
      }
  });

  test('as many conditions as there can be are answered, beside alternatives that indexes find', async () => {
    const texts = times(40, (index) => `t${index}`).split(' ');
    const fields = `${times(40, (index) => `t${index}: String`)}  n: Int @index  m: Int @index`;
    const sdl = `type Club @resource { id: ID!  ${fields}  seats: [Seat!]! }
      type Seat @resource { id: ID!  ${fields}  club: Club }`;
    const own = await openApp(database, { sdl, data: {} });
    const record = (text: string) => ({
      n: 0,
      m: 1,
      ...Object.fromEntries(texts.map((each) => [each, text])),
    });
    await own.rest('POST', '/clubs', record('ab'));
    for (const text of ['ab', 'b', 'ac']) await own.rest('POST', '/seats', { ...record(text), clubId: 1 });
    const or = [{ n: { eq: 1 } }, { m: { eq: 1 } }];
    const prefixes = (count: number) =>
      Array.from({ length: Math.ceil(count / 40) }, (_, at) =>
        Object.fromEntries(texts.slice(0, count - at * 40).map((each) => [each, { startsWith: 'a' }])),
      );
    const filters = {
      'many conditions': { or, and: prefixes(960) },
      'within alternatives': { or: [{ or, and: prefixes(500) }, { n: { eq: 7 } }], and: prefixes(440) },
      'of related records': { or, and: [...prefixes(1), ...Array(3).fill({ club: { and: prefixes(300) } })] },
      'of records that these lead to': {
        club: { and: prefixes(440), seats: { some: { or, and: prefixes(440) } } },
        and: prefixes(40),
      },
    };
    for (const [name, where] of Object.entries(filters)) {
      const query =
        'query ($where: SeatWhere) { seats(where: $where) { id }  seatsAggregate(where: $where) { count } }';
      const { body } = await own.graphql(query, { where });
      const found = { seats: [{ id: '1' }, { id: '3' }], seatsAggregate: [{ count: 2 }] };
      expect([name, body]).toEqual([name, { data: found }]);
      // No URL is as long: by REST, those of changes have so many.
      const update = { method: 'PUT', path: '/seats', where, body: { n: 0 }, atMost: 9 };
      const written = await own.rest('POST', '/transaction', { operations: [update] });
      expect([name, written.status, written.body.results?.[0].body.length]).toEqual([name, 200, 2]);
    }
    await own.close();
  });

  test('what follows the last condition that there can be is not read', async () => {
    const where = { or: [...Array(1000).fill({ id: { eq: '1' } }), ...Array(9).fill({})] };
    const { errors } = await app.graphql('query ($where: BookWhere) { books(where: $where) { id } }', {
      where,
    });
    expect(errors?.[0].extensions.errors).toEqual([
      expect.objectContaining({ detail: 'there must be at most 1000 conditions' }),
    ]);
  });
});

test('introspection has the bytes and the time of other answers', async () => {
  const document = `{ ${times(3, (index) => `long${index}: __schema { types { ...F } }`)} }
    fragment F on __Type { name description ${times(9, (index) => `all${index}: fields { name args { name } }`)} }`;
  const asked = async (env: Record<string, string>, ...queries: string[]) => {
    const app = await openApp('sqlite', { env });
    const answers = await Promise.all(queries.map(async (query) => (await app.graphql(query)).body));
    await app.close();
    return answers;
  };
  const [whole] = await asked({}, document);
  const { length } = JSON.stringify(whole);
  expect(await asked({ LIMIT_BYTES: String(Math.round(length * 1.1)) }, document)).toEqual([whole]);
  const refused = (code: string) => ({
    errors: [{ message: expect.any(String), extensions: { code } }],
    data: null,
  });
  const longNames = `{ __schema { types { ${'a'.repeat(length / 50)}: name } } }`;
  expect(await asked({ LIMIT_BYTES: String(Math.round(length * 0.95)) }, document, longNames)).toEqual([
    refused('ANSWER_TOO_LARGE'),
    refused('ANSWER_TOO_LARGE'),
  ]);
  expect(await asked({ LIMIT_DEADLINE: '1' }, document)).toEqual([refused('DEADLINE_EXCEEDED')]);
});

test('long arguments are written as text a few times, however many records have the list', async () => {
  const authors = Array.from({ length: 300 }, (_, index) => ({ id: index + 1, name: `a${index}` }));
  const app = await openApp('sqlite', {
    sdl: 'type Author @resource { id: ID! name: String! books: [Book!]! } type Book @resource { id: ID! author: Author }',
    data: { authors },
  });
  const query = `query ($where: BookWhere, $yes: Boolean!) { authors @include(if: $yes) { books(where: $where) { id } } }`;
  const where = { id: { in: Array.from({ length: 1000 }, (_, index) => String(index + 1)) } };
  const long = JSON.stringify(where).length;
  const writing = spyOn(JSON, 'stringify');
  try {
    const { data, errors } = await app.graphql(query, { where, yes: true });
    expect(errors).toBeUndefined();
    expect(data.authors).toHaveLength(300);
    const times = writing.mock.results.filter(({ value }) => String(value).length > long).length;
    expect(times).toBeLessThan(20);
  } finally {
    writing.mockRestore();
    await app.close();
  }
});

test('what is wrong a hundred thousand times is told in a few', async () => {
  const app = await openApp('sqlite');
  const fields = Object.fromEntries(Array.from({ length: 50_000 }, (_, index) => [`nope${index}`, 1]));
  const { body } = await app.rest('POST', '/notes', fields);
  expect([body.code, body.errors.length]).toEqual(['VALIDATION_FAILED', 100]);
  const answer = await app.graphql(
    'mutation($notes: [NoteInput!]!) { createNotes(records: $notes) { id } }',
    {
      notes: [fields],
    },
  );
  expect(answer.errors?.[0].extensions.code).toBe('BAD_USER_INPUT');
  expect(JSON.stringify(answer.body).length).toBeLessThan(100_000);
  await app.close();
});
