/** Pages over values of any length: cursors and headers stay short, and no row is skipped or repeated. */

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { SignJWT } from 'jose';
import { type AppUnderTest, databases, openApp, openEmptied } from '../app.ts';
import { bearer, sound } from '../http/issuer.ts';
import { caseless } from './reading-plain.ts';

const sdl = `
  type Shelf @resource(plural: "shelves") { id: ID!  name: String  texts: [Text!]! }
  type Text @resource {
    id: ID!
    title: String @caseless
    other: String!
    rank: Int
    shelf: Shelf!
  }
  type Word @resource { word: String! @key  note: String! }`;

const LONGEST = 1024;

/** Long and nearly equal, so that only what no cursor can hold tells them apart. */
const text = fc
  .tuple(
    fc.constantFrom(
      '',
      'a',
      'a'.repeat(200),
      'a'.repeat(10_000),
      '😀'.repeat(300),
      `${'é'.repeat(150)}😀`,
      '\u0001'.repeat(90),
      'A'.repeat(200),
      'e\u0301'.repeat(150),
      'ẞ'.repeat(100),
    ),
    fc.constantFrom(
      '',
      'a',
      'b',
      'B',
      '\u0301',
      '\u{10ffff}',
      '\uffff',
      '😀',
      '😁',
      '\ue000',
      'z'.repeat(5000),
    ),
    fc.constantFrom('', 'a', 'b', '😀'),
  )
  .map((parts) => parts.join(''));
const row = fc.record({
  title: fc.option(text, { freq: 5 }),
  other: text,
  rank: fc.option(fc.integer({ min: 0, max: 2 }), { freq: 4 }),
});
const orders = [
  'title',
  '-title',
  'title,-other',
  '-title,other',
  '-other,-title',
  'rank,-title,other',
  'title,-id',
  'shelfId,title,other,rank',
];

const asGraphql = (sort: string) =>
  `[${sort
    .split(',')
    .map((each) => (each.startsWith('-') ? `{ ${each.slice(1)}: DESC }` : `{ ${each}: ASC }`))
    .join()}]`;

const linked = (headers: Headers, rel: string) =>
  new RegExp(`<([^>]*)>; rel="${rel}"`).exec(headers.get('Link') ?? '')?.[1];

const cursorIn = (url: string | undefined) => /(?:after|before)=([\w-]+)/.exec(url ?? '')?.[1] ?? '';

/** A page by REST, whose headers and cursors are as short as they should be. */
async function page(app: AppUnderTest, url: string) {
  const answer = await app.rest('GET', url);
  expect([url.slice(0, 100), answer.status]).toEqual([url.slice(0, 100), 200]);
  expect((answer.headers.get('Link') ?? '').length).toBeLessThanOrEqual(LONGEST);
  return answer;
}

/** Every page by REST, along links in one direction. */
async function walk(app: AppUnderTest, start: string, rel: 'next' | 'prev', key: string): Promise<unknown[]> {
  const seen: unknown[] = [];
  let url: string | undefined = start;
  for (let pages = 0; url !== undefined && pages < 100; pages++) {
    const { body, headers } = await page(app, url);
    const keys = body.map((each: any) => each[key]);
    if (rel === 'next') seen.push(...keys);
    else seen.unshift(...keys);
    url = linked(headers, rel);
  }
  return seen;
}

/** The same by GraphQL. */
async function walkConnection(
  app: AppUnderTest,
  list: string,
  order: string,
  size: number,
  way: 'first' | 'last',
  key: string,
): Promise<unknown[]> {
  const seen: unknown[] = [];
  const [from, end] = way === 'first' ? ['after', 'endCursor'] : ['before', 'startCursor'];
  const query = `query($at: String) { it: ${list}Connection(orderBy: ${order}, ${way}: ${size}, ${from}: $at) {
    totalCount edges { cursor node { ${key} } } pageInfo { hasNextPage hasPreviousPage ${end} } } }`;
  let at: string | null = null;
  for (let pages = 0; pages < 100; pages++) {
    const { data, errors } = await app.graphql(query, { at });
    expect(errors).toBeUndefined();
    const { edges, pageInfo } = data.it;
    for (const { cursor } of edges) expect(cursor.length).toBeLessThanOrEqual(LONGEST);
    const keys = edges.map(({ node }: any) => node[key]);
    if (way === 'first') seen.push(...keys);
    else seen.unshift(...keys);
    at = pageInfo[end];
    if (!(way === 'first' ? pageInfo.hasNextPage : pageInfo.hasPreviousPage)) break;
  }
  return seen;
}

async function exported(app: AppUnderTest, url: string, key: string): Promise<unknown[]> {
  const response = await app.fetch(url, { headers: { Accept: 'application/x-ndjson' } });
  expect(response.status).toBe(200);
  const lines = (await response.text()).split('\n').filter((line) => line !== '');
  return lines.map((line) => JSON.parse(line)[key]);
}

async function fill(app: AppUnderTest, path: string, records: readonly object[]): Promise<void> {
  for (const record of records) {
    const { status, body } = await app.rest('POST', path, record);
    expect([status, body.errors]).toEqual([201, undefined]);
  }
}

describe.each([...databases])('on %s', (database) => {
  let emptied: Awaited<ReturnType<typeof openEmptied>>;
  beforeAll(async () => {
    emptied = await openEmptied(database, { sdl });
  });
  afterAll(() => emptied[Symbol.asyncDispose]());

  /** Texts on one shelf. */
  const shelved = async (rows: readonly object[]): Promise<AppUnderTest> => {
    const app = await emptied.next();
    const { body } = await app.rest('POST', '/shelves', { name: null });
    await fill(
      app,
      '/texts',
      rows.map((each) => ({ ...each, shelfId: body.id })),
    );
    return app;
  };

  test('pages of any size, through both doors and both ways, are the whole list', async () => {
    const property = fc.asyncProperty(
      fc.array(row, { minLength: 2, maxLength: 9 }),
      fc.constantFrom(...orders),
      fc.integer({ min: 1, max: 3 }),
      async (rows, sort, size) => {
        const app = await shelved(rows);
        const whole = (await app.rest('GET', `/texts?sort=${sort}`)).body.map(({ id }: any) => id);
        expect(whole.length).toBe(rows.length);
        expect(await walk(app, `/texts?sort=${sort}&limit=${size}`, 'next', 'id')).toEqual(whole);
        const order = asGraphql(sort);
        for (const way of ['first', 'last'] as const)
          expect(await walkConnection(app, 'texts', order, size, way, 'id')).toEqual(whole.map(String));

        // From the middle: back along links, and as files in both directions.
        const { headers } = await page(app, `/texts?sort=${sort}&limit=${size}`);
        const next = linked(headers, 'next');
        if (!next) return;
        const second = await page(app, next);
        expect(await walk(app, linked(second.headers, 'prev') ?? '', 'prev', 'id')).toEqual(
          whole.slice(0, size),
        );
        const cursor = cursorIn(next);
        expect(await exported(app, `/texts?sort=${sort}&after=${cursor}`, 'id')).toEqual(whole.slice(size));
        const before = cursorIn(linked(second.headers, 'prev'));
        expect(await exported(app, `/texts?sort=${sort}&before=${before}&limit=1`, 'id')).toEqual(
          whole.slice(size - 1, size),
        );

        // The same cursor in a list below a record, by either door, and below what a write answers.
        const { data } = await app.graphql(
          `query($at: String) { shelves { texts(orderBy: ${order}, after: $at, first: 2) { id } } }`,
          { at: cursor },
        );
        const following = whole.slice(size, size + 2);
        expect(data.shelves[0].texts.map(({ id }: any) => Number(id))).toEqual(following);
        const [shelf] = (
          await app.rest('GET', `/shelves?include=texts&texts[sort]=${sort}&texts[after]=${cursor}`)
        ).body;
        expect(shelf.texts.map(({ id }: any) => id)).toEqual(whole.slice(size));
        const written = await app.graphql(
          `mutation($at: String) { updateShelf(id: ${shelf.id}, name: "x") { texts(orderBy: ${order}, after: $at, first: 2) { id } } }`,
          { at: cursor },
        );
        expect(written.data.updateShelf.texts.map(({ id }: any) => Number(id))).toEqual(following);
      },
    );
    await fc.assert(property, { numRuns: 25 });
  });

  test('natural keys of the greatest length are paged through as well', async () => {
    const word = fc
      .tuple(
        fc.constantFrom('k'.repeat(480), '😀'.repeat(250), 'k'),
        fc.constantFrom('', 'a', 'b', 'é', '😁', 'ab', 'zz'),
      )
      .map((parts) => parts.join(''));
    const property = fc.asyncProperty(
      fc.uniqueArray(word, { minLength: 2, maxLength: 9 }),
      fc.constantFrom('word', '-word', 'note', '-note,-word'),
      async (words, sort) => {
        const app = await emptied.next();
        await fill(
          app,
          '/words',
          words.map((each, index) => ({ word: each, note: index % 2 ? 'n' : 'n'.repeat(2000) })),
        );
        const whole = (await app.rest('GET', `/words?sort=${sort}`)).body.map((each: any) => each.word);
        expect(await walk(app, `/words?sort=${sort}&limit=1`, 'next', 'word')).toEqual(whole);
        for (const way of ['first', 'last'] as const)
          expect(await walkConnection(app, 'words', asGraphql(sort), 1, way, 'word')).toEqual(whole);
      },
    );
    await fc.assert(property, { numRuns: 10 });
  });

  test('a record that was changed or deleted since is passed by, and none of those that stayed is skipped', async () => {
    const changes = ['delete', { title: 'b' }, { title: null }, { other: 'o' }, { rank: 7 }] as const;
    const property = fc.asyncProperty(
      fc.array(row, { minLength: 3, maxLength: 9 }),
      fc.constantFrom(...orders),
      fc.integer({ min: 1, max: 3 }),
      fc.constantFrom(...changes),
      async (rows, sort, size, change) => {
        const app = await shelved(rows);
        const list = `/texts?sort=${sort}`;
        const { body: were } = await app.rest('GET', list);
        const whole = were.map(({ id }: any) => id);
        const next = linked((await page(app, `${list}&limit=${size}`)).headers, 'next');
        if (!next) return;
        const gone = whole[size - 1];
        if (change === 'delete') await app.rest('DELETE', `/texts/${gone}`);
        else await app.rest('PUT', `/texts/${gone}`, change);
        const now = (await app.rest('GET', list)).body.map(({ id }: any) => id);
        const rest = await walk(app, next, 'next', 'id');
        expect(new Set(rest).size).toBe(rest.length);
        // In the order that they have now, up to the end of the list.
        expect(rest).toEqual(now.filter((id: unknown) => rest.includes(id)));
        for (const id of whole.slice(size)) expect(rest).toContain(id);
        // Only what begins alike can come again.
        const [by = ''] = sort.replace('-', '').split(',');
        const beginning = (each: any) => caseless(String(each[by])).slice(0, 20);
        for (const each of were.slice(0, size - 1))
          if (beginning(each) !== beginning(were[size - 1])) expect(rest).not.toContain(each.id);
        const cursor = cursorIn(next);
        const query = `query($at: String) { texts(orderBy: ${asGraphql(sort)}, after: $at) { id } }`;
        expect(
          (await app.graphql(query, { at: cursor })).data.texts.map(({ id }: any) => Number(id)),
        ).toEqual(rest);
        expect(await exported(app, `${list}&after=${cursor}`, 'id')).toEqual(rest);
        // Counts are of the whole list, wherever the page begins.
        const counted = await app.rest('GET', `${list}&limit=1&count=true&after=${cursor}`);
        expect(counted.headers.get('X-Total-Count')).toBe(String(now.length));
      },
    );
    await fc.assert(property, { numRuns: 25 });
  });

  test('so it is on the way back', async () => {
    const property = fc.asyncProperty(
      fc.array(row, { minLength: 3, maxLength: 9 }),
      fc.constantFrom(...orders),
      fc.constantFrom('delete', { other: 'o' }),
      async (rows, sort, change) => {
        const app = await shelved(rows);
        const list = `/texts?sort=${sort}`;
        const whole = (await app.rest('GET', list)).body.map(({ id }: any) => id);
        const first = await page(app, `${list}&limit=2`);
        const second = await page(app, linked(first.headers, 'next') ?? '');
        const back = linked(second.headers, 'prev') ?? '';
        const gone = whole[2];
        if (change === 'delete') await app.rest('DELETE', `/texts/${gone}`);
        else await app.rest('PUT', `/texts/${gone}`, change);
        const now = (await app.rest('GET', list)).body.map(({ id }: any) => id);
        const rest = await walk(app, back, 'prev', 'id');
        expect(rest).toEqual(now.filter((id: unknown) => rest.includes(id)));
        for (const id of whole.slice(0, 2)) expect(rest).toContain(id);
        const query = `query($at: String) { it: textsConnection(orderBy: ${asGraphql(sort)}, before: $at, last: 50) { edges { node { id } } } }`;
        const { data } = await app.graphql(query, { at: cursorIn(back) });
        expect(data.it.edges.map(({ node }: any) => Number(node.id))).toEqual(rest);
        expect(await exported(app, `${list}&before=${cursorIn(back)}&limit=50`, 'id')).toEqual(rest);
      },
    );
    await fc.assert(property, { numRuns: 20 });
  });

  test('a cursor that a client made up is refused, or is one like any other', async () => {
    const app = await shelved([{ other: 'x'.repeat(900) }, { other: 'y' }]);
    const next = linked((await page(app, '/texts?sort=other&limit=1')).headers, 'next');
    const [query, honest] = JSON.parse(Buffer.from(cursorIn(next), 'base64url').toString());
    expect(honest).toMatchObject({ begins: false, cut: true });
    const property = fc.asyncProperty(
      fc.constantFrom(...Object.keys(honest)),
      fc.oneof(fc.jsonValue({ maxDepth: 1 }), fc.constantFrom('', 'a\0', '\ud800', true, [null], ['x', 5])),
      async (member, value) => {
        const forged = Buffer.from(JSON.stringify([query, { ...honest, [member]: value }])).toString(
          'base64url',
        );
        const { status, body } = await app.rest('GET', `/texts?sort=other&limit=1&after=${forged}`);
        if (status !== 200) expect([status, body.errors[0].code]).toEqual([400, 'CURSOR']);
      },
    );
    await fc.assert(property, { numRuns: 60 });
    expect(app.observations.filter(({ event }) => event === 'failure')).toEqual([]);
  });

  test('a cursor that was made when all of a long text was digested is still that of its record', async () => {
    const long = 'm'.repeat(3000);
    const app = await shelved(['a', 'b', 'c'].map((end) => ({ other: long + end })));
    const next = linked((await page(app, '/texts?sort=other&limit=2')).headers, 'next') ?? '';
    const [query, honest] = JSON.parse(Buffer.from(cursorIn(next), 'base64url').toString());
    const { body } = await app.rest('GET', '/texts?sort=other');
    const hash = new Bun.CryptoHasher('sha256').update(JSON.stringify([`${long}b`, body[1].id])).digest();
    const former = { ...honest, digest: hash.subarray(0, 16).toString('base64url') };
    expect(former.digest).not.toBe(honest.digest);
    for (const each of [honest, former]) {
      const cursor = Buffer.from(JSON.stringify([query, each])).toString('base64url');
      const rest = await app.rest('GET', `/texts?sort=other&limit=2&after=${cursor}`);
      expect(rest.body).toEqual(body.slice(2));
    }
  });

  test('a guess at what a hidden record says finds nothing out', async () => {
    const secret = 'a secret of at least thirty-two bytes';
    const guarded = await openApp(database, {
      sdl: 'type Note @resource @allow(to: [READ, CREATE], where: { owner: { eq: { claim: "sub" } } }) { id: ID!  owner: String!  title: String! }',
      env: { AUTH_SECRET: secret },
    });
    const as = async (sub: string) =>
      bearer(
        await new SignJWT(sound({ sub }))
          .setProtectedHeader({ alg: 'HS256' })
          .sign(new TextEncoder().encode(secret)),
      );
    const [ann, bob] = [await as('ann'), await as('bob')];
    const long = 'm'.repeat(1000);
    await guarded.rest('POST', '/notes', { owner: 'bob', title: `${long}k` }, bob);
    for (const end of ['a', 'l', 'z'])
      await guarded.rest('POST', '/notes', { owner: 'ann', title: long + end }, ann);
    const list = '/notes?sort=title&limit=1';
    const next = linked((await guarded.rest('GET', list, undefined, ann)).headers, 'next');
    const [query, honest] = JSON.parse(Buffer.from(cursorIn(next), 'base64url').toString());
    const guess = async (title: string) => {
      const hash = new Bun.CryptoHasher('sha256').update(JSON.stringify([title, 1])).digest();
      const digest = hash.subarray(0, 16).toString('base64url');
      const cursor = Buffer.from(JSON.stringify([query, { ...honest, key: 1, digest }])).toString(
        'base64url',
      );
      return (await guarded.rest('GET', `${list}&after=${cursor}`, undefined, ann)).body;
    };
    expect(await guess(`${long}k`)).toEqual(await guess(`${long}j`));
    await guarded.close();
  });

  test('a key that no header can hold is told by the record alone', async () => {
    const app = await emptied.next();
    for (const [word, isTold] of [
      ['short', true],
      ['k'.repeat(512), true],
      ['é'.repeat(512), false],
      ['😀'.repeat(250), false],
    ] as const) {
      const { status, headers, body } = await app.rest('POST', '/words', { word, note: 'n' });
      expect([status, body.word]).toEqual([201, word]);
      expect(headers.get('Location')).toBe(isTold ? `/words/${encodeURIComponent(word)}` : null);
      expect((await app.rest('GET', `/words/${encodeURIComponent(word)}`)).status).toBe(200);
    }
  });

  test('a link can be followed, however long the request was', async () => {
    const app = await shelved(Array.from({ length: 4 }, (_, at) => ({ other: `${'x'.repeat(700)}${at}` })));
    const room = 8192 - 'http://duet.test/texts?limit=1&sort=other&rank[isNull]=true&title[ne]='.length;
    // Brackets, commas and quotes stay as the client wrote them.
    const title = `${',"[]'.repeat(100)}${'x'.repeat(room)}`.slice(0, room - 300 * 2);
    const start = `/texts?limit=1&sort=other&title[isNull]=true&other[ne]=${title}`;
    let [url, seen]: [string | undefined, number] = [start, 0];
    for (; url !== undefined && seen < 10; seen++) {
      const { status, body, headers } = await app.rest('GET', url);
      expect([status, body.length]).toEqual([200, 1]);
      const back = linked(headers, 'prev');
      if (back) expect((await app.rest('GET', back)).status).toBe(200);
      url = linked(headers, 'next');
    }
    expect(seen).toBe(4);
    expect((await app.rest('GET', `${start}${'x'.repeat(700)}`)).status).toBe(414);
  });
});
