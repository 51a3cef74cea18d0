/** Nested reads on PostgreSQL are one statement where that is good, and level by level where it is not; nobody sees which. */

import { describe, expect, test } from 'bun:test';
import { SQL } from 'bun';
import { databases, openApp, sharedPostgres } from '../app.ts';

const everyType = `
  enum Mood { GOOD BAD }
  type Shelf @resource(plural: "shelves") { id: ID!  code: UUID!  things: [Thing!]! }
  type Thing @resource {
    id: ID!
    shelf: Shelf!
    text: String
    int: Int
    float: Float
    truth: Boolean
    time: DateTime
    day: Date
    code: UUID
    mood: Mood
    json: JSON
    words: [String!]
  }`;

const code = '0190163d-8694-739b-aea5-966c26f8ad90';

/** One for each border of each type; what is left out is null. */
const things = [
  {},
  { text: '' },
  { text: 'say "no" \\ to\nall \u0001 \u2028 of 🦆 {1,2} NULL' },
  { int: -(2 ** 31) },
  { int: 2 ** 31 - 1 },
  { float: 5e-324 },
  { float: -1.7976931348623157e308 },
  { float: 0.1 + 0.2 },
  { float: 1e21 },
  { truth: false },
  { truth: true },
  { time: '0001-01-01T00:00:00.000Z' },
  { time: '9999-12-31T23:59:59.999Z' },
  { time: '2026-02-28T23:30:00.120Z' },
  { day: '0001-01-01' },
  { day: '2026-02-28' },
  { code },
  { mood: 'BAD' },
  { json: { a: [1.5, null, 'x', { '': 1e300 }], b: '"' } },
  { json: [] },
  { words: [] },
  { words: ['a,b', '{}', 'NULL', '"', ' '] },
];

test.each([...databases])('values of every type are the same below others, on %s', async (database) => {
  const data = {
    shelves: [{ code }, { code }],
    things: things.map((thing, index) => ({ ...thing, shelfId: 1 + (index % 2) })),
  };
  const app = await openApp(database, { sdl: everyType, data });
  const { body: alone } = await app.rest('GET', '/things');
  const { body: below } = await app.rest('GET', '/shelves?include=things');
  const nested = below.flatMap(({ things }: any) => things);
  expect(nested.toSorted((a: any, b: any) => a.id - b.id)).toEqual(alone);
  // And as they were given, so that both are not wrong alike.
  expect(alone).toMatchObject(things);
  await app.close();
});

const sdl = `
  type Box @resource(plural: "boxes") { id: ID!  name: String!  balls: [Ball!]! }
  type Ball @resource { id: ID!  box: Box!  number: Int! }`;

function boxes(count: number, each: number) {
  return {
    boxes: Array.from({ length: count }, (_, index) => ({ id: index + 1, name: `Box ${index + 1}` })),
    balls: Array.from({ length: count * each }, (_, number) => ({ boxId: 1 + (number % count), number })),
  };
}

test.each([...databases])(
  'what is below a record beyond the page is not counted, on %s',
  async (database) => {
    const app = await openApp(database, { sdl, data: boxes(2, 2), env: { LIMIT_OBJECTS: '3' } });
    expect((await app.rest('GET', '/boxes?limit=1&include=balls')).body[0].balls).toHaveLength(2);
    expect(
      (await app.graphql('{ boxesConnection(last: 1) { edges { node { id balls { id } } } } }')).data
        .boxesConnection.edges[0].node.balls,
    ).toHaveLength(2);
    expect((await app.graphql('{ boxes { id balls { id } } }')).errors?.[0]?.extensions.code).toBe(
      'TOO_MANY_OBJECTS',
    );
    await app.close();
  },
);

describe('what is too much for one statement is read level by level', () => {
  async function both(data: unknown, query: string) {
    const url = await (await sharedPostgres()).database();
    const [sqlite, postgres] = [
      await openApp('sqlite', { sdl, data }),
      await openApp('postgres', { sdl, data, url }),
    ];
    const ask = async () => {
      postgres.statements.length = 0;
      const [expected, found] = [await sqlite.graphql(query), await postgres.graphql(query)];
      expect(expected.errors).toBeUndefined();
      expect(found.body).toEqual(expected.body);
      return postgres.statements.length;
    };
    const close = () => Promise.all([sqlite.close(), postgres.close()]);
    return { url, ask, close };
  }

  test('many relations', async () => {
    const names = Array.from(
      { length: 20 },
      (_, index) => `b${index}: balls(first: ${index + 1}) { number }`,
    );
    const { ask, close } = await both(boxes(3, 4), `{ boxes { name ${names.join(' ')} } }`);
    expect(await ask()).toBe(21);
    await close();
  });

  test('many rows, which is not tried again', async () => {
    const { ask, close } = await both(boxes(2, 3000), '{ boxes { name balls { number } } }');
    expect([await ask(), await ask()]).toEqual([3, 2]);
    await close();
  });

  test('what PostgreSQL itself refuses for its size', async () => {
    const { url, ask, close } = await both(boxes(2, 2), '{ boxes { name balls { number } } }');
    await using other = new SQL(url, { max: 1 });
    await other.unsafe(`
      ALTER TABLE "Ball" RENAME TO "_Ball";
      CREATE FUNCTION small(n int) RETURNS int LANGUAGE plpgsql AS $$ BEGIN
        IF current_query() LIKE '%WITH %' THEN RAISE 'too much' USING ERRCODE = '54000'; END IF;
        RETURN n;
      END $$;
      CREATE VIEW "Ball" AS SELECT id, "boxId", _version, small(number) AS number FROM "_Ball"`);
    expect([await ask(), await ask()]).toEqual([3, 2]);
    await close();
  });

  test('in a transaction too', async () => {
    const query =
      '{ boxes { name balls { number } } first: box(id: 1) { balls(first: 2) { box { name } } } }';
    const { ask, close } = await both(boxes(2, 3000), query);
    expect([await ask(), await ask()]).toEqual([1 + 2 + 3, 2 + 1]);
    await close();
  });
});
