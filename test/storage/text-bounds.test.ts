/** What SQLite is asked of long texts leaves the process, since they cost more than the rows that have them; of short ones it stays. */

import { Database } from 'bun:sqlite';
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, spyOn, test } from 'bun:test';
import { type AppUnderTest, openApp } from '../app.ts';
import { Folder } from '../process.ts';

setDefaultTimeout(60_000);

const MANY = 30_000;
const LONG = 500_000;
const sdl = `
  type Shelf @resource(plural: "shelves") { id: ID!  notes: [Note!]!  many: [Page!]! }
  type Note @resource {
    id: ID!
    title: String!
    body: String
    other: String
    name: String @caseless
    tags: [String!]
    shelf: Shelf @onDelete(do: SET_NULL)
    lines: [Line!]!
  }
  type Line @resource { id: ID!  note: Note! }
  type Diary @resource(plural: "diaries") @journal { id: ID!  title: String!  body: String! }
  type Page @resource { id: ID! @column(name: "i*/d")  code: String! @unique  short: String @constraint(maxLength: 50)  body: String!  shelf: Shelf }
  type Number @resource { id: ID!  shelf: Shelf  list: [Int!]  ${Array.from({ length: 9 }, (_, n) => `n${n}: Int!`).join('  ')} }`;

const folder = new Folder({});
const file = folder.file('duet.db');
const url = `sqlite:${file}`;
let app: AppUnderTest;

beforeAll(async () => {
  await (await openApp('sqlite', { sdl, data: {}, url })).close();
  {
    using db = new Database(file);
    db.run('PRAGMA synchronous = OFF');
    const numbers = (count: number) =>
      `WITH RECURSIVE s(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM s WHERE i < ${count})`;
    db.run('INSERT INTO "Shelf" (id, _version) VALUES (1, 1), (2, 1), (3, 1)');
    const note = db.query(
      `INSERT INTO "Note" (title, body, other, name, "_f_name", tags, "shelfId", _version) VALUES (?, ?, ?, ?, ?, ?, ?, 1)`,
    );
    const a = 'a'.repeat(LONG);
    note.run('long', a, a, a, a, JSON.stringify(Array.from({ length: LONG / 5 }, () => 'aa')), 1);
    for (let id = 2; id <= 100; id++) note.run(`short ${id}`, 'a', 'b', 'c', 'c', '["a"]', 2);
    const diary = db.query(`INSERT INTO "Diary" (id, title, body, _version) VALUES (?, 'a', ?, 1)`);
    for (const id of [1, 2, 3]) diary.run(id, a.slice(0, LONG / 2));
    db.run('INSERT INTO "Line" (id, "noteId", _version) VALUES (1, 1, 1), (2, 2, 1)');
    db.run(`${numbers(MANY)} INSERT INTO "Page" ("i*/d", code, short, body, "shelfId", _version)
      SELECT i, 'page ' || i, 'short', CASE WHEN i = 1 OR i > ${MANY - 20} THEN '${a}' ELSE 'short' END, CASE WHEN i < 3 THEN i WHEN i > ${MANY - 20} THEN 3 END, 1 FROM s`);
    const names = Array.from({ length: 9 }, (_, n) => `n${n}`);
    db.run(
      `${numbers(3000)} INSERT INTO "Number" (id, "shelfId", list, ${names}, _version) SELECT i, 1, '[1,2,3]', ${names.map(() => 'i')}, 1 FROM s`,
    );
  }
  // A process that cannot be: whatever needs one fails, and nothing else.
  app = await openApp('sqlite', { sdl, data: {}, url, apart: ['false'] });
});

afterAll(async () => {
  await app.close();
  folder[Symbol.dispose]();
});

const many = (count: number, each: (index: number) => object) => ({
  or: Array.from({ length: count }, (_, index) => each(index)),
});
const contains = (count: number, field = 'body', length = 400) =>
  many(count, (index) => ({ [field]: { contains: `${'a'.repeat(length)}b${index}` } }));

const notes = 'query($where: NoteWhere!) { notes(where: $where, first: 1) { id } }';
const byShelf = 'query($where: NoteWhere!) { shelf(id: 1) { notes(where: $where) { id } } }';
const pages = 'query($where: PageWhere!) { pages(where: $where) { id } }';
const diaries =
  'mutation($where: DiaryWhere!) { updateDiaries(where: $where, atMost: 3, set: { title: "b" }) { id } }';
const one = { id: { eq: '1' } };
const two = { id: { eq: '2' } };

/** Answers with the code, if it fails. */
async function asked(document: string, where: object): Promise<string | undefined> {
  const { errors } = await app.graphql(document, { where });
  return errors?.[0].extensions.code;
}

const leaving: [string, string, object][] = [
  ['many texts in a record', notes, { ...one, ...contains(20) }],
  ['where any record has them', notes, contains(20)],
  [
    'where a related one has them',
    'query($where: LineWhere!) { lines(where: $where) { id } }',
    { ...one, note: contains(20) },
  ],
  ['in related lists', byShelf, contains(20)],
  ['without letter case', notes, { ...one, ...contains(20, 'name') }],
  ['endings', notes, { ...one, ...many(20, (index) => ({ body: { endsWith: `b${index}` } })) }],
  [
    'texts that are compared in turn',
    notes,
    { ...one, ...many(100, (index) => ({ [index % 2 ? 'body' : 'other']: { eq: `b${index}` } })) },
  ],
  ['values of a list', notes, { ...one, ...many(3, (index) => ({ tags: { has: `b${index}` } })) }],
  [
    'values of a list, all of them',
    notes,
    { ...one, ...many(3, (index) => ({ tags: { hasEvery: [`b${index}`] } })) },
  ],
  ['lists that are empty', notes, { ...one, ...many(10, () => ({ tags: { isEmpty: true } })) }],
  [
    'numbers of records',
    'query($where: NoteWhere!) { notesAggregate(where: $where) { count } }',
    { ...one, ...contains(20) },
  ],
  [
    'deletes',
    'mutation($where: NoteWhere!) { deleteNotes(where: $where, atMost: 1) { id } }',
    { ...one, ...contains(20) },
  ],
  [
    'updates',
    'mutation($where: NoteWhere!) { updateNotes(where: $where, atMost: 1, set: { title: "x" }) { id } }',
    { ...one, ...contains(20) },
  ],
  [
    'a few texts, again and again',
    `query($where: NoteWhere!) { ${Array.from({ length: 20 }, (_, index) => `a${index}: notes(where: $where) { id }`).join(' ')} }`,
    { ...one, ...contains(1) },
  ],
  ['a record of a large table', pages, { ...one, ...contains(20) }],
  ['a record of a large table by another key', pages, { code: { eq: 'page 1' }, ...contains(20) }],
  ['records of a large table', pages, { id: { in: ['1', '2'] }, ...contains(20) }],
  [
    'related lists of a large table',
    'query($where: PageWhere!) { shelf(id: 1) { many(where: $where) { id } } }',
    contains(20),
  ],
  [
    'a few records that an index finds',
    'query($where: ShelfWhere!) { shelves(where: $where) { id } }',
    { id: { eq: '3' }, many: { some: contains(1, 'body', 50) } },
  ],
  [
    'records that are written anew',
    'mutation($where: PageWhere!) { updatePages(where: $where, atMost: 20, set: { short: "new" }) { id } }',
    { id: { in: Array.from({ length: 20 }, (_, index) => String(MANY - index)) } },
  ],
  ['what is kept of records that are changed', diaries, { id: { in: ['1', '2', '3'] } }],
];

const staying: [string, string, object][] = [
  ['what is kept of a record that is changed', diaries, one],
  ['a short text in a long one', notes, { ...one, body: { contains: 'b' } }],
  ['an ending', notes, { ...one, body: { endsWith: 'b' } }],
  ['a few that are equal', notes, { ...one, ...many(5, (index) => ({ body: { eq: `b${index}` } })) }],
  ['many texts in a short one, beside a long one', notes, { ...one, ...contains(480, 'title') }],
  ['where any record has them', notes, contains(100, 'title')],
  ['a record of a large table', pages, { ...two, ...contains(200) }],
  ['records of a large table', pages, { id: { in: ['3', '2'] }, ...contains(200) }],
  ['what the file keeps short', pages, { code: { eq: 'page 1' }, ...contains(100, 'short', 10) }],
  [
    'one text in a record of a large table by another key',
    pages,
    { code: { eq: 'page 1' }, body: { contains: 'b' } },
  ],
  [
    'related lists of a large table',
    'query($where: PageWhere!) { shelf(id: 2) { many(where: $where) { id } } }',
    contains(20),
  ],
  [
    'deletes',
    'mutation($where: NoteWhere!) { deleteNotes(where: $where, atMost: 1) { id } }',
    { ...two, ...contains(20) },
  ],
  [
    'the records that an index finds',
    'query($where: ShelfWhere!) { shelves(where: $where) { id } }',
    { id: { eq: '2' }, many: { some: { code: { ne: 'x' }, ...contains(1, 'body', 40) } } },
  ],
  [
    'records that are written anew',
    'mutation($where: PageWhere!) { updatePages(where: $where, atMost: 20, set: { short: "new" }) { id } }',
    { id: { in: Array.from({ length: 20 }, (_, index) => String(MANY / 2 - index)) } },
  ],
];

describe('texts that are looked for in', () => {
  test.each(leaving)('%s leave', async (_, document, where) => {
    expect(await asked(document, where)).toBe('UNAVAILABLE');
  });

  // What it is taken for counts: on a machine that stands still for a moment, whatever is under way would leave.
  test.each(staying)('%s stay', async (_, document, where) => {
    const now = performance.now();
    using _clock = spyOn(performance, 'now').mockReturnValue(now);
    expect(await asked(document, where)).toBeUndefined();
  });
});

/** Each is a few thousand rows, or a hundred. */
const reading: [string, boolean][] = [
  ['numbersAggregate { countDistinct { n0 } }', true],
  ['numbersAggregate { countDistinct { n0 n1 n2 n3 n4 n5 n6 n7 n8 } }', false],
  [
    'numbersAggregate(groupBy: [n0], having: { countDistinct: { n1: { gt: 1 }, n2: { gt: 1 }, n3: { gt: 1 }, n4: { gt: 1 } } }) { count }',
    false,
  ],
  ['numbersAggregate { sum { n0 n1 n2 n3 n4 n5 n6 n7 n8 } min { n0 n1 } max { n0 n1 } }', true],
  ['notesAggregate { countDistinct { title } max { title } }', true],
  ['notesAggregate { countDistinct { body } }', true],
  ['notesAggregate { countDistinct { body other name } }', false],
  ['notesAggregate(groupBy: [body, other, name]) { count }', false],
  ['notes(orderBy: [{ title: ASC }]) { id }', true],
  ['notes(orderBy: [{ body: ASC }]) { id }', true],
  ['notes(orderBy: [{ body: ASC }, { other: ASC }, { name: DESC }]) { id }', false],
  ['lines(orderBy: [{ note: { title: ASC } }]) { id }', true],
];

const numbers = 'query($where: NumberWhere!) { numbers(where: $where) { id } }';

test.each([
  ['values of lists', 1, (n: number) => ({ list: { has: -n } }), true],
  ['values of lists', 5, (n: number) => ({ list: { has: -n } }), false],
  ['related records', 2, (n: number) => ({ shelf: { id: { gt: String(n + 9) } } }), true],
  ['related records', 10, (n: number) => ({ shelf: { id: { gt: String(n + 9) } } }), false],
] as const)('conditions that cost more than others, %s: %p', async (_, count, each, stays) => {
  expect(await asked(numbers, many(count, each))).toBe(stays ? undefined : 'UNAVAILABLE');
});

test.each(reading)('{ %s } stays: %p', async (field, stays) => {
  expect(await asked(`{ ${field} }`, {})).toBe(stays ? undefined : 'UNAVAILABLE');
});

test('what has just been written counts', async () => {
  const where = contains(20, 'title');
  expect(await asked(notes, where)).toBeUndefined();
  expect((await app.rest('POST', '/notes', { title: 'a'.repeat(LONG) })).status).toBe(201);
  expect(await asked(notes, where)).toBe('UNAVAILABLE');
});

test('a comparison with a text that many lead to reads it for each of them', async () => {
  using own = new Folder({});
  const data = {
    clubs: [{ text: 'a'.repeat(LONG) }, { text: 'short' }],
    notes: Array.from({ length: 2000 }, (_, index) => ({ clubId: 1 + (index % 2), n: index })),
  };
  const given = {
    sdl: 'type Club @resource { id: ID!  text: String! }  type Note @resource { id: ID!  n: Int!  club: Club }',
    url: `sqlite:${own.file('duet.db')}`,
  };
  await (await openApp('sqlite', { ...given, data })).close();
  const here = await openApp('sqlite', { ...given, data: {}, apart: ['false'] });
  const list = (where: object) => here.rest('GET', `/notes?limit=5&where=${JSON.stringify(where)}`);
  const keys = { id: { in: Array.from({ length: 500 }, (_, index) => index + 1) } };
  for (const more of [{}, keys]) {
    const { body } = await list({ ...more, not: { club: { text: { lt: 'b' } } } });
    expect(body.code).toBe('UNAVAILABLE');
    expect((await list({ ...more, not: { club: { id: { eq: 7 } } } })).status).toBe(200);
  }
  await here.close();
});

describe('of a list through a join type', () => {
  const linked = `
    type Tag @resource { id: ID!  clubs: [Club!]! @through(type: "ClubTag") }
    type Club @resource { id: ID!  text: String! }
    type ClubTag @resource @unique(fields: ["club", "tag"]) { id: ID!  club: Club!  tag: Tag! }`;
  const numbers = Array.from({ length: 500 }, (_, index) => index + 1);
  /** One club has a long text; each tag is of the club that is named so. In a file so small that all texts together are short. */
  const open = async (clubOf: (tag: number) => number) => {
    const own = new Folder({});
    const data = {
      tags: numbers.map(() => ({})),
      clubs: numbers.map((id) => ({ text: id === 1 ? 'a'.repeat(LONG) : 'short' })),
      clubTags: numbers.map((tagId) => ({ tagId, clubId: clubOf(tagId) })),
    };
    const given = { sdl: linked, url: `sqlite:${own.file('duet.db')}` };
    await (await openApp('sqlite', { ...given, data })).close();
    const app = await openApp('sqlite', { ...given, data: {}, apart: ['false'] });
    return {
      app,
      async [Symbol.asyncDispose]() {
        await app.close();
        own[Symbol.dispose]();
      },
    };
  };
  const first = '{ tags { clubs(first: 1) { text } } }';

  test('what many links lead to is read for each of them', async () => {
    await using here = await open(() => 1);
    expect((await here.app.graphql(first)).errors?.[0].extensions.code).toBe('UNAVAILABLE');
    expect((await here.app.rest('GET', '/tags?include=clubs&clubs[limit]=1')).body.code).toBe('UNAVAILABLE');
  });

  test('what none leads to is not', async () => {
    await using here = await open((tag) => Math.max(2, tag));
    expect((await here.app.graphql(first)).errors).toBeUndefined();
  });
});
