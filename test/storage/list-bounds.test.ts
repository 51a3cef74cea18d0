/** What SQLite is asked of the records of a list, of those that are created together, or of page after page, counts for each of them. */

import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test';
import { type AppUnderTest, openApp } from '../app.ts';
import { SECRET } from '../conformance/access-matrix.ts';
import { Folder } from '../process.ts';

setDefaultTimeout(60_000);

const MANY = 3000;
/** More than a small table has. */
const LARGE = 21_000;
const sdl = `
  type Club @resource @allow(to: [READ, UPDATE]) {
    id: ID!
    n: Int
    text: String
    other: String
    tags: [String!]
    seats: [Seat!]!
    members: [Member!]!
    places: [Place!]!
    people: [Person!]! @through(type: "Member")
  }
  type Place @resource @allow(to: [READ]) @unique(fields: ["club", "n"]) @unique(fields: ["row", "n"]) {
    id: ID!
    row: Int!
    n: Int!
    club: Club!
  }
  type Member @resource @allow(to: [READ]) { id: ID!  club: Club!  person: Person! }
  type Person @resource(plural: "people") @allow(to: [READ]) { id: ID!  text: String!  members: [Member!]! }
  type Slot @resource @allow(to: [READ]) @index(fields: ["row", "n"]) { id: ID!  row: Int!  n: Int! }
  type Seat @resource
    @allow(to: [READ])
    @allow(to: [CREATE], where: { club: { text: { ne: "closed" } } })
  { id: ID!  n: Int  club: Club! }`;

const folder = new Folder({});
const given = { sdl, url: `sqlite:${folder.file('duet.db')}`, env: { AUTH_SECRET: SECRET } };
let app: AppUnderTest;

beforeAll(async () => {
  const numbers = Array.from({ length: MANY }, (_, index) => index);
  const data = {
    clubs: numbers.map((n) => ({ n, tags: ['a'], text: n < 300 ? 'a'.repeat(20_000) : 'a', other: 'b' })),
    places: numbers.map((n) => ({ row: n, n: -n, clubId: n + 1 })),
    people: [{ text: 'a'.repeat(500_000) }],
    slots: numbers.map((n) => ({ row: n, n: -n })),
    members: numbers.slice(1000).map((n) => ({ clubId: n + 1, personId: 1 })),
    // Of the last club alone.
    seats: Array.from({ length: LARGE }, (_, n) => ({ n, clubId: MANY })),
  };
  await (await openApp('sqlite', { ...given, data })).close();
  // A process that cannot be: whatever needs one fails, and nothing else.
  app = await openApp('sqlite', { ...given, data: {}, apart: ['false'] });
});

afterAll(async () => {
  await app.close();
  folder[Symbol.dispose]();
});

const keys = (count: number, from = 1) => ({ in: Array.from({ length: count }, (_, index) => index + from) });
const any = (count: number, each: (index: number) => object) => ({
  or: Array.from({ length: count }, (_, index) => each(-1 - index)),
});
const hasSome = (index: number) => ({ tags: { hasSome: [`${index}`] } });
const someSeat = (index: number) => ({ seats: { some: { n: { eq: index } } } });
const ofClub = (index: number) => ({ club: { n: { eq: index } } });
/** In turn, so that each is read again. */
const compared = (index: number) => ({ [index % 2 ? 'text' : 'other']: { eq: `${index}` } });

const asked: [string, 'clubs' | 'seats', object, stays: boolean][] = [
  ['few values of lists', 'clubs', { id: keys(50), ...any(20, hasSome) }, true],
  ['many values of lists', 'clubs', { id: keys(MANY), ...any(200, hasSome) }, false],
  ['few that they refer to', 'seats', { id: keys(50), ...any(10, ofClub) }, true],
  ['many that they refer to', 'seats', { id: keys(MANY), ...any(100, ofClub) }, false],
  ['few that refer to them', 'clubs', { id: keys(5), ...any(5, someSeat) }, true],
  // There are none, and none is looked at.
  ['many that refer to them', 'clubs', { id: keys(MANY - 1), ...any(300, someSeat) }, false],
  ['few long records that they refer to', 'seats', { id: keys(50), ...ofClub(-1) }, true],
  // To a number behind a long text it is as far as the text is long.
  ['many long records that they refer to', 'seats', { id: keys(MANY), ...ofClub(-1) }, false],
  ['as many relations as are planned here', 'seats', { id: keys(5), ...any(16, ofClub) }, true],
  ['more relations', 'seats', { id: keys(5), ...any(17, ofClub) }, false],
  ['long texts, of few', 'clubs', { id: keys(5), ...any(6, compared) }, true],
  ['long texts, of many', 'clubs', { id: keys(MANY), ...any(6, compared) }, false],
  ['numbers', 'clubs', { id: keys(MANY), ...any(6, (n) => ({ n: { eq: n } })) }, true],
];

test.each(asked)('%s of %s', async (_, of, where, stays) => {
  const type = of === 'clubs' ? 'ClubWhere' : 'SeatWhere';
  const document = `query ($where: ${type}!) { ${of}(where: $where, first: 1) { id } }`;
  const { errors } = await app.graphql(document, { where });
  expect(errors?.[0].extensions.code).toBe(stays ? undefined : 'UNAVAILABLE');
  if (of === 'seats') return;
  const operations = [{ method: 'PUT', path: '/clubs', where, atMost: MANY, body: { n: 1 } }];
  const { status } = await app.rest('POST', '/transaction', { operations });
  expect(status).toBe(stays ? 200 : 503);
});

const ofText = { or: Array.from({ length: 15 }, (_, n) => ({ club: { n: { eq: -1 - n } } })) };
const long = Array.from({ length: 20 }, (_, n) => ({ max: { text: { contains: `b${n}` } } }));
const ways: [string, field: string, variables: Record<string, object>, stays: boolean][] = [
  // For each value of one list, all of the other are looked up, and none is found.
  ['few in two lists', 'places(where: $place)', { place: { row: keys(20), n: keys(20) } }, true],
  ['many in two lists', 'places(where: $place)', { place: { row: keys(1000), n: keys(1000) } }, false],
  [
    'many of many that refer to them',
    'clubs(where: $club)',
    { club: { id: keys(1000), places: { some: { n: keys(1000) } } } },
    false,
  ],
  [
    'few in two lists of a plain index',
    'slots(where: $slot)',
    { slot: { row: keys(20), n: keys(20) } },
    true,
  ],
  [
    'many in two lists of a plain index',
    'slots(where: $slot)',
    { slot: { row: keys(1000), n: keys(1000) } },
    false,
  ],
  ['what belongs to many', 'clubs(first: 3000) { places { n } }', {}, true],
  // Each of them looks for each of the others.
  [
    'all, by many of what refers to them',
    'clubs(where: $club, first: 1)',
    { club: { places: { some: { n: keys(900) } } } },
    false,
  ],
  [
    'one, by many of many',
    'clubs(where: $club)',
    {
      club: {
        id: { eq: MANY },
        members: { some: { id: keys(1000), person: { members: { some: { id: keys(1000) } } } } },
      },
    },
    false,
  ],
  [
    'the second of what belongs to few, among keys',
    'clubs(first: 5) { members(where: $member, first: 1, offset: 1) { id } }',
    { member: { id: keys(1000) } },
    true,
  ],
  [
    'the second of what belongs to many, among keys',
    'clubs(first: 3000) { members(where: $member, first: 1, offset: 1) { id } }',
    { member: { id: keys(1000) } },
    false,
  ],
  [
    'what belongs to few, and matches much',
    'clubs(first: 5) { places(where: $place) { n } }',
    { place: { n: { eq: -1 }, ...ofText } },
    true,
  ],
  [
    'what belongs to many, and matches much',
    'clubs(first: 3000) { places(where: $place) { n } }',
    { place: { n: { eq: -1 }, ...ofText } },
    false,
  ],
  [
    'keys one by one',
    'clubs(where: $club)',
    {
      club: {
        and: [any(200, (n) => ({ id: { eq: -n } })), any(20, (n) => ({ text: { endsWith: `${n}` } }))],
      },
    },
    false,
  ],
  [
    'groups that are filtered by long texts',
    'clubsAggregate(groupBy: [n], where: $club, having: $having) { count }',
    { club: { id: keys(300), ...someSeat(1) }, having: { or: long } },
    false,
  ],
];
const types: Record<string, string> = {
  slot: 'SlotWhere!',
  member: 'MemberWhere!',
  place: 'PlaceWhere!',
  club: 'ClubWhere!',
  having: 'ClubHaving!',
};

test.each(ways)('%s', async (_, field, variables, stays) => {
  const declared = Object.keys(variables).map((name) => `$${name}: ${types[name]}`);
  const head = declared.length > 0 ? `query (${declared.join(', ')})` : 'query';
  const { errors } = await app.graphql(
    `${head} { ${field}${field.endsWith('}') ? '' : ' { id }'} }`,
    variables,
  );
  expect([errors?.[0].message, errors?.[0].extensions.code]).toEqual(
    stays ? [undefined, undefined] : [expect.any(String), 'UNAVAILABLE'],
  );
});

test.each([
  ['one, of a club with a long text', 1, 1, true],
  ['many, of clubs with long texts', 1000, 1, false],
  ['few, of clubs with long texts', 10, 1, true],
])('records that rules judge by what they refer to: %s', async (_, count, from, stays) => {
  const body = Array.from({ length: count }, (_, index) => ({ clubId: from + (index % 2) }));
  const { status } = await app.rest('POST', '/transaction', {
    operations: [{ method: 'POST', path: '/seats', body }],
  });
  expect(status).toBe(stays ? 200 : 503);
});

test.each([
  ['by their keys', `/clubs?where=${JSON.stringify({ id: keys(40) })}`, true],
  ['with what they refer to', '/seats?include=club', true],
  ['with all that refers to them', '/clubs?include=seats', true],
  // All of them are put in order before the first is answered.
  ['with all that refers to them, in another order', '/clubs?include=seats&seats[sort]=n', false],
  ['with all that is linked to them', '/clubs?include=people', false],
  // Of the first few none does, of those behind them any number may.
  [
    'with some of what refers to them',
    '/clubs?include=seats&seats[limit]=1&seats[where]={"n":{"lt":0}}',
    false,
  ],
  [
    'by what refers to them',
    `/clubs?where=${JSON.stringify({ id: keys(40, 100), not: { seats: { some: { club: someSeat(-1) } } } })}`,
    false,
  ],
])('an export, %s', async (_, path, stays) => {
  const { status } = await app.fetch(path, { headers: { Accept: 'application/x-ndjson' } });
  expect(status).toBe(stays ? 200 : 503);
});
