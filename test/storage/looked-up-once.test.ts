/** What leads to one record by a unique value is looked up once, and an index leads to what refers to it, where that is no detour. */

import { Database } from 'bun:sqlite';
import { describe, expect, test } from 'bun:test';
import { databases, openApp } from '../app.ts';
import { Folder } from '../process.ts';

const sdl = `
type Person @resource(plural: "people") {
  id: ID!  handle: String! @unique  mail: String @unique @caseless  city: String
  notes: [Note!]!  tasks: [Task!]!  remarks: [Remark!]!  members: [Member!]!  badges: [Badge!]!
}
type Badge @resource { id: ID!  code: String! @unique  rank: Int! @index @default(value: 1)  person: Person @unique  cards: [Card!]! }
type Card @resource { id: ID!  badge: Badge }
type Note @resource { id: ID!  title: String!  at: Int! @index  person: Person  remarks: [Remark!]! }
type Remark @resource @index(fields: ["person", "at"]) { id: ID!  at: Int!  note: Note!  person: Person }
type Task @resource @index(fields: ["person", "at"]) { id: ID!  at: Int! @index  person: Person }
type Team @resource { id: ID!  members: [Member!]!  tickets: [Ticket!]! }
type Member @resource @unique(fields: ["team", "person"]) { id: ID!  team: Team!  person: Person!  logs: [Log!]! }
type Log @resource { id: ID!  member: Member }
type Ticket @resource { id: ID!  team: Team! }`;

const data = {
  people: [
    { id: 1, handle: 'ann', mail: 'Ann@x', city: 'Rome' },
    { id: 2, handle: 'bob', mail: 'bob@x', city: 'Rome' },
    { id: 3, handle: 'cem' },
  ],
  badges: [
    { id: 1, code: 'a', personId: 1 },
    { id: 2, code: 'b', personId: 2 },
    { id: 3, code: 'c' },
  ],
  cards: [{ id: 1, badgeId: 1 }, { id: 2, badgeId: 2 }, { id: 3, badgeId: 3 }, { id: 4 }],
  notes: [
    { id: 1, title: 'n', at: 3, personId: 1 },
    { id: 2, title: 'n', at: 2, personId: 2 },
    { id: 3, title: 'm', at: 1, personId: 1 },
    { id: 4, title: 'm', at: 0 },
  ],
  remarks: [
    { id: 1, at: 1, noteId: 1, personId: 2 },
    { id: 2, at: 1, noteId: 2, personId: 1 },
    { id: 3, at: 1, noteId: 2, personId: 2 },
  ],
  tasks: [
    { id: 1, at: 2, personId: 1 },
    { id: 2, at: 1, personId: 1 },
    { id: 3, at: 0, personId: 2 },
  ],
  teams: [{ id: 1 }, { id: 2 }, { id: 3 }],
  members: [
    { id: 1, teamId: 1, personId: 1 },
    { id: 2, teamId: 1, personId: 2 },
    { id: 3, teamId: 2, personId: 2 },
  ],
  logs: [
    { id: 1, memberId: 1 },
    { id: 2, memberId: 2 },
    { id: 3, memberId: 3 },
  ],
  tickets: [
    { id: 1, teamId: 1 },
    { id: 2, teamId: 2 },
    { id: 3, teamId: 3 },
  ],
};

const ann = { person: { handle: { eq: 'ann' } } };
const rome = { person: { city: { eq: 'Rome' } } };
const BY_PERSON = /^SEARCH Note USING INDEX \S+ \(personId=\?\)$/m;
const ONCE = /^SCALAR SUBQUERY/m;

/** What is asked, the keys that are answered, and what SQLite's plan says. */
const asked: readonly (readonly [what: string, where: object, keys: readonly number[], plan: RegExp])[] = [
  ['notes', ann, [1, 3], BY_PERSON],
  ['notes', { person: { mail: { eq: 'ANN@X' } } }, [1, 3], BY_PERSON],
  ['notes', { person: { handle: { eq: 'nobody' } } }, [], BY_PERSON],
  ['notes', { person: { handle: { eq: 'ann' }, city: { eq: 'Oslo' } } }, [], BY_PERSON],
  ['notes', { ...ann, title: { eq: 'n' } }, [1], BY_PERSON],
  ['notes', { person: { badges: { some: { code: { eq: 'b' } } } } }, [2], /EXISTS|CORRELATED/],
  ['notes?sort=title', ann, [3, 1], BY_PERSON],
  // Whoever may write everything would put all of it in order.
  ['notes?sort=at', ann, [3, 1], /^SCAN Note USING INDEX \S+_at_/m],
  ['tasks?sort=at', ann, [2, 1], /^SEARCH Task USING COVERING INDEX \S+ \(personId=\?\)$(?!.*B-TREE)/ms],
  ['notes', { ...ann, id: { in: [1, 2] } }, [1], /^SEARCH Note USING INTEGER PRIMARY KEY/m],
  ['notes?sort=at', { ...ann, at: { gt: 2 } }, [1], /^SEARCH Note USING INDEX \S+_at_\S+ \(at>\?\)/m],
  ['notes', { ...ann, at: { ne: 3 } }, [3], BY_PERSON],
  ['notes', { or: [ann, { title: { eq: 'm' } }] }, [1, 3, 4], /^SCAN Note$.*^SCALAR SUBQUERY/ms],
  ['notes', { not: ann }, [2, 4], ONCE],
  // No two badges are one person's, so that both references lead on.
  ['cards', { badge: ann }, [1], /^SEARCH Card USING COVERING INDEX \S+ \(badgeId=\?\)$/m],
  ['people', { badges: { some: { code: { eq: 'b' } } } }, [2], /^SEARCH Person USING INTEGER PRIMARY KEY/m],
  ['people', { badges: { none: { code: { eq: 'b' } } } }, [1, 3], ONCE],
  ['teams', { members: { some: ann } }, [1], / USING COVERING INDEX \S+ \(teamId=\? AND personId=\?\)$/m],
  // How many remarks are of one person is not known.
  ['notes', { remarks: { some: ann } }, [2], / \(noteId=\?\)$/m],
  ['tickets', { team: { members: { some: ann } } }, [1], /\(teamId=\? AND personId=\?\)$/m],
  [
    'logs',
    { member: { teamId: { eq: 1 }, ...ann } },
    [1],
    /^SEARCH Log USING COVERING INDEX \S+ \(memberId=\?\)$/m,
  ],
  // Any number of badges may be of the rank.
  ['cards', { badge: { ...ann, rank: { eq: 1 } } }, [1], /^SEARCH _1 USING INDEX \S+ \(personId=\?\)$/m],
  // There may be several of these.
  ['logs', { member: { teamId: { eq: 1 } } }, [1, 2], /EXISTS|CORRELATED/],
  ['notes', rome, [1, 2, 3], /EXISTS|CORRELATED/],
  ['notes', { person: { handle: { in: ['ann', 'bob'] } } }, [1, 2, 3], /EXISTS|CORRELATED/],
  [
    'notes',
    { person: { or: [{ handle: { eq: 'ann' } }, { mail: { eq: 'bob@x' } }] } },
    [1, 2, 3],
    /EXISTS|CORRELATED/,
  ],
];

describe.each([...databases])('on %s', (database) => {
  test('all of it is found, and nothing else', async () => {
    using folder = new Folder();
    const url = `sqlite:${folder.file('duet.db')}`;
    const app = await openApp(database, { sdl, data, ...(database === 'sqlite' && { url }) });
    for (const [what, where, keys, plan] of asked) {
      const path = `/${what}${what.includes('?') ? '&' : '?'}where=${encodeURIComponent(JSON.stringify(where))}`;
      const told = `${what} ${JSON.stringify(where)}`;
      app.statements.length = 0;
      const { body } = await app.rest('GET', `${path}&limit=10`);
      const [sql = ''] = app.statements;
      const counted = await app.rest('GET', `${path.replace(/sort=\w+&/, '')}&aggregate=count`);
      expect([body.map(({ id }: any) => id), counted.body[0].count], told).toEqual([keys, keys.length]);
      if (database === 'sqlite') expect(planned(folder.file('duet.db'), sql), told).toMatch(plan);
    }
    await app.close();
  });

  test('beside a list of records, it is that which leads', async () => {
    using folder = new Folder();
    const url = `sqlite:${folder.file('duet.db')}`;
    const app = await openApp(database, { sdl, data, ...(database === 'sqlite' && { url }) });
    app.statements.length = 0;
    const { data: answered } = await app.graphql(
      '{ notes { remarks(where: { person: { handle: { eq: "bob" } } }) { id } } }',
    );
    const ids = answered.notes.map(({ remarks }: any) => remarks.map(({ id }: any) => Number(id)));
    expect(ids).toEqual([[1], [3], [], []]);
    if (database === 'sqlite')
      expect(planned(folder.file('duet.db'), app.statements.at(-1) ?? '')).toMatch(/ \(noteId=\?\)$/m);
    await app.close();
  });
});

function planned(file: string, sql: string): string {
  using db = new Database(file, { readonly: true });
  const lines = db.query(`EXPLAIN QUERY PLAN ${sql}`).all() as { detail: string }[];
  return lines.map(({ detail }) => detail).join('\n');
}
