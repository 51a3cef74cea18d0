/** Reads that another process carries out, and searches for the records of a write, see what their caller may see. */

import { Database } from 'bun:sqlite';
import { afterAll, describe, expect, test } from 'bun:test';
import { openApp } from '../app.ts';
import { headersOf, SECRET } from '../conformance/access-matrix.ts';
import { Folder } from '../process.ts';

/** More than a server reads by itself where no index bounds it. */
const ROWS = 30_000;
const sdl = `
  type Item @resource @allow(to: [READ, UPDATE, DELETE], where: { owner: { eq: { claim: "sub" } } }) {
    id: ID!
    name: String!
    owner: String!
    secret: String @default(value: "hush") @allow(to: [READ], role: "admin")
  }`;

test('on a large table', async () => {
  using folder = new Folder();
  const url = `sqlite:${folder.file('duet.db')}`;
  await (await openApp('sqlite', { sdl, data: {}, url })).close();
  const db = new Database(folder.file('duet.db'));
  // Many records of bob's come before the few of ann's that match.
  db.run(`WITH RECURSIVE s(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM s WHERE i < ${ROWS})
    INSERT INTO "Item" (id, name, owner, secret, _version)
    SELECT i, CASE WHEN i < 100 OR i > ${ROWS - 3} THEN 'hit' ELSE 'miss' END,
      CASE WHEN i < 100 THEN 'bob' ELSE 'ann' END, 'hush', 1 FROM s`);
  db.close();
  const app = await openApp('sqlite', { sdl, data: {}, url, env: { AUTH_SECRET: SECRET } });
  const [ann, bob] = await Promise.all(
    ['ann', 'bob'].map((sub) => headersOf({ name: `${sub} at a large table`, claims: { sub } })),
  );
  const found = ROWS - 3;
  const mine = [found + 1, found + 2, found + 3].map((id) => ({ id, name: 'hit', owner: 'ann' }));
  expect((await app.rest('GET', '/items?name[contains]=hit', undefined, ann)).body).toEqual(mine);
  expect((await app.rest('GET', '/items?name[contains]=hit&aggregate=count', undefined, ann)).body).toEqual([
    { count: 3 },
  ]);
  const update = (headers: Record<string, string> | undefined) => {
    const document =
      'mutation { updateItems(where: { name: { contains: "hit" } }, set: { name: "hit!" }, atMost: 3) { id } }';
    return app.graphql(document, {}, headers);
  };
  expect((await update(ann)).data.updateItems.map(({ id }: { id: string }) => Number(id))).toEqual(
    mine.map(({ id }) => id),
  );
  expect((await update(bob)).errors?.[0].extensions.code).toBe('TOO_MANY_MATCHES');
  expect((await update({})).errors?.[0].extensions.code).toBe('UNAUTHENTICATED');
  await app.close();
});

describe.each([
  ['', '{ eq: { claim: "sub" } }'],
  // Then SQLite comes to no row, and asks what it is asked in the order in which it is written.
  ['@index(fields: ["org", "who"])', '{ contains: "ann" }'],
])('rules that look records up by an index %s', async (index, asked) => {
  const folder = new Folder();
  const url = `sqlite:${folder.file('duet.db')}`;
  const member = `{ org: { members: { some: { who: ${asked} } } } }`;
  const ruled = `
    type Org @resource @allow(to: [READ]) { id: ID!  name: String!  members: [Member!]! }
    type Member @resource ${index} @allow(to: [READ]) { id: ID!  who: String!  org: Org! }
    type Paper @resource @allow(to: [READ, CREATE, UPDATE, DELETE], where: ${member}) {
      id: ID!
      title: String!
      org: Org!
      notes: [Note!]!
    }
    type Note @resource @allow(to: [READ]) { id: ID!  paper: Paper }`;
  await (await openApp('sqlite', { sdl: ruled, data: {}, url })).close();
  {
    using db = new Database(folder.file('duet.db'));
    const numbers = `WITH RECURSIVE s(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM s WHERE i < ${ROWS * 10})`;
    db.run(`INSERT INTO "Org" (id, name, _version) VALUES (1, 'small', 1), (2, 'huge', 1)`);
    db.run(`INSERT INTO "Member" (who, "orgId", _version) VALUES ('ann', 1, 1)`);
    db.run(`${numbers} INSERT INTO "Member" (who, "orgId", _version) SELECT 'm' || i, 2, 1 FROM s`);
    db.run(`INSERT INTO "Paper" (title, "orgId", _version) VALUES ('mine', 1, 1), ('theirs', 2, 1)`);
    db.run(`INSERT INTO "Note" ("paperId", _version) VALUES (1, 1), (2, 1)`);
  }
  // A process that cannot be: whatever needs one fails, and nothing else.
  const app = await openApp('sqlite', {
    sdl: ruled,
    data: {},
    url,
    env: { AUTH_SECRET: SECRET },
    apart: ['false'],
  });
  const ann = await headersOf({ name: 'ann of a small org', claims: { sub: 'ann' } });
  afterAll(async () => {
    await app.close();
    folder[Symbol.dispose]();
  });

  test('stay where they find few, however large the table is', async () => {
    for (let round = 0; round < 3; round++) {
      expect((await app.rest('GET', '/papers/1', undefined, ann)).body.title).toBe('mine');
      expect((await app.rest('POST', '/papers', { title: 'new', orgId: 1 }, ann)).status).toBe(201);
      expect((await app.rest('PUT', '/papers/1', { title: 'mine' }, ann)).status).toBe(200);
    }
  });

  test('leave the process where they find many', async () => {
    const note = (id: number) => app.rest('GET', `/notes?id=${id}&sort=paper.title&limit=1`, undefined, ann);
    expect((await note(1)).body).toEqual([{ id: 1, paperId: 1 }]);
    // Whose order hangs on what a rule shows.
    expect((await note(2)).body.code).toBe('UNAVAILABLE');
    expect(app.statements.at(-1)).toContain('LEFT JOIN');
    const codes = async () => [
      (await app.rest('GET', '/papers/2', undefined, ann)).body.code,
      (await app.rest('POST', '/papers', { title: 'new', orgId: 2 }, ann)).body.code,
    ];
    expect(await codes()).toEqual(['UNAVAILABLE', 'UNAVAILABLE']);
    expect(await codes()).toEqual(['UNAVAILABLE', 'UNAVAILABLE']);
  });
});
