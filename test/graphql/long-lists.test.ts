/** Long answers that the executor completes: others have their turn between the records, and what is answered is the same. */

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { LongLists } from '../../src/graphql/long-lists.ts';
import { type AppUnderTest, databases, JSON_HEADERS, openApp } from '../app.ts';

const RECORDS = 4000;
/** So that each record takes long enough for few of them to be a turn. */
const many = Array.from({ length: 30 }, (_, at) => `a${at}: name`).join(' ');

const sdl = `
  type Case @resource @allow(to: [READ, CREATE]) { id: ID!  name: String!  books: [Book!]! }
  type Book @resource @allow(to: [READ, CREATE]) {
    id: ID!  name: String!  case: Case!  secret: String @allow(to: [READ], where: { name: { eq: "nobody" } })
  }
`;

test('once there is a reason, nothing is done any more with the rest of a list', async () => {
  let isRefused = false;
  const lists = new LongLists(() => isRefused);
  const told: unknown[] = [];
  for (const each of lists.inTurns(Array.from({ length: 1000 }, (_, n) => n)))
    void each.then((value) => {
      told.push(value);
      if (value === 500) isRefused = true;
    });
  await lists.refused;
  await Bun.sleep(10);
  expect(told).toEqual(Array.from({ length: 501 }, (_, n) => n));
});

describe.each([...databases])('on %s', (database) => {
  let app: AppUnderTest;
  beforeAll(async () => {
    const cases = Array.from({ length: 100 }, (_, at) => ({ id: at + 1, name: `s${at}` }));
    const books = Array.from({ length: RECORDS }, (_, at) => ({
      id: at + 1,
      name: `b${at}`,
      caseId: (at % 100) + 1,
    }));
    app = await openApp(database, { sdl, data: { cases, books }, env: { AUTH_SECRET: 's'.repeat(32) } });
  });
  afterAll(() => app.close());

  async function asked(query: string, accept: string) {
    let turns = 0;
    let isOver = false;
    const count = () => {
      turns++;
      if (!isOver) setImmediate(count);
    };
    count();
    const response = await app.fetch('/graphql', {
      method: 'POST',
      headers: { ...JSON_HEADERS, Accept: accept },
      body: JSON.stringify({ query }),
    });
    const text = await response.text();
    isOver = true;
    const [, event = text] = /^event: next\ndata: (.*)$/m.exec(text) ?? [];
    return { turns, ...JSON.parse(event) };
  }

  const JSON_TYPE = 'application/json';
  const lists = {
    'one list': [`books(first: ${RECORDS}) { ${many} }`, ({ books }: any) => books],
    'lists within a list': [
      `cases(first: 100) { books { ${many} } }`,
      ({ cases }: any) => cases.flatMap(({ books }: any) => books),
    ],
    'pages within a page': [
      `casesConnection(first: 100) { edges { node { booksConnection(first: 40) { edges { node { ${many} } } } } } }`,
      ({ casesConnection: { edges } }: any) =>
        edges.flatMap(({ node }: any) => node.booksConnection.edges.map(({ node }: any) => node)),
    ],
  } as const;

  test.each(Object.entries(lists))('%s', async (_, [list, booksOf]) => {
    const plain = await asked(`{ ${list} }`, JSON_TYPE);
    expect(booksOf(plain.data).length).toBe(RECORDS);
    const asEvent = await asked(`{ ${list} }`, 'text/event-stream');
    expect(asEvent.data).toEqual(plain.data);
    const beside = await asked(`{ ${list} __schema { queryType { name } } }`, JSON_TYPE);
    expect(beside.data).toEqual({ ...plain.data, __schema: { queryType: { name: 'Query' } } });
    const hidden = await asked(`{ ${list.replace('a0: name', 'a0: name secret')} }`, JSON_TYPE);
    expect(booksOf(hidden.data)).toEqual(booksOf(plain.data).map((book: any) => ({ ...book, secret: null })));
    expect(hidden.errors.length).toBeGreaterThan(100);
    // While PostgreSQL is waited for, others have their turns anyway.
    if (database === 'sqlite')
      for (const { turns } of [asEvent, beside, hidden]) expect(turns).toBeGreaterThan(plain.turns + 5);
  });
});
