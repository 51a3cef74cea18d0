/** Records that tens of thousands point to: what becomes of those is done some at a time, so that nobody waits while all of them are read. */

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { Program, Storage } from '../../src/storage/storage.ts';
import { type AppUnderTest, databases, openApp, withOwn } from '../app.ts';

const sdl = `
  type Team @resource { id: ID! }
  type Branch @resource {
    id: ID!
    team: Team @onDelete(do: SET_NULL)
    parent: Branch @onDelete(do: CASCADE)
    next: Branch
  }
  type Tag @resource { id: ID!  docs: [Doc!]! @through(type: "DocTag") }
  type Doc @resource { id: ID! }
  type DocTag @resource { id: ID!  tag: Tag!  doc: Doc! }
`;
/** More than one statement has. */
const MANY = 10_010;
const times = <T>(make: (index: number) => T) => Array.from({ length: MANY }, (_, index) => make(index));
const data = {
  teams: [{}],
  // All of them hang on the first; the first two of these on the last, and that on one of them: in no order could they go.
  branches: [
    {},
    ...times((index) => ({
      teamId: 1,
      parentId: 1,
      nextId: index < 2 ? MANY + 1 : index + 1 < MANY ? null : 2,
    })),
  ],
  tags: [{}, {}],
  docs: [{}, {}],
  docTags: times(() => ({ tagId: 1, docId: 1 })),
};

/** The storage, where the most rows are noted that one statement of a write has answered with. */
function noting(storage: Storage, note: (rows: number) => void): Storage {
  const write: Storage['write'] = (program, ...more) => storage.write(() => noted(program(), note), ...more);
  return withOwn(storage, { write });
}

function* noted<T>(program: Program<T>, note: (rows: number) => void): Program<T> {
  let step = program.next();
  while (!step.done) {
    const answered = yield step.value;
    for (const rows of answered) note(rows.length);
    step = program.next(answered);
  }
  return step.value;
}

describe.each([...databases])('on %s', (database) => {
  let app: AppUnderTest;
  let most = 0;
  beforeAll(async () => {
    const note = (rows: number) => {
      most = Math.max(most, rows);
    };
    app = await openApp(database, { sdl, data, around: (storage) => noting(storage, note) });
  });
  afterAll(() => app.close());
  const count = async (path: string) =>
    (await app.rest('GET', `${path}${path.includes('?') ? '&' : '?'}aggregate=count`)).body[0].count;

  test('one that others still point to is refused by the first of them', async () => {
    most = 0;
    const { status, body } = await app.rest('DELETE', '/tags/1');
    expect([status, body.errors[0].code]).toEqual([409, 'STILL_REFERENCED']);
    const operations = [{ method: 'DELETE', path: '/tags', where: {}, atMost: 9 }];
    const many = await app.rest('POST', '/transaction', { operations });
    expect(many.body.errors.map((each: { key: unknown }) => each.key)).toEqual(['1']);
    expect([await count('/tags'), most]).toEqual([2, 10_000]);
  });

  test('all that it is let go of by, or that goes with it, does so', async () => {
    most = 0;
    expect((await app.rest('DELETE', '/teams/1')).status).toBe(204);
    expect(await count('/branches?where={"teamId":{"isNull":true}}')).toBe(MANY + 1);
    expect((await app.rest('DELETE', '/branches/1')).status).toBe(204);
    expect([await count('/branches'), most]).toEqual([0, 10_000]);
  });

  test('a list through a join type becomes what is said, however long it was', async () => {
    most = 0;
    expect((await app.rest('PUT', '/tags/1', { docIds: [2] })).status).toBe(200);
    const { body } = await app.rest('GET', '/doc-tags');
    expect(body).toEqual([{ id: MANY + 1, tagId: 1, docId: 2 }]);
    expect(most).toBe(10_000);
  });
});
