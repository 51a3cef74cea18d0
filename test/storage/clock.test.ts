/** Whatever SQLite was taken to be quick at: a statement that visits rows looks at the clock, and leaves the process when it is late. */

import { afterAll, beforeAll, beforeEach, describe, expect, spyOn, test } from 'bun:test';
import { isWrite } from '../../src/storage/duties.ts';
import { Bounds } from '../../src/storage/sqlite/bounds.ts';
import type { Statement } from '../../src/storage/statements.ts';
import { openApp } from '../app.ts';
import { Folder } from '../process.ts';

const sdl = `
  type Club @resource { id: ID! name: String! members: [Member!]! tags: [Tag!]! @through(type: "Label") }
  type Member @resource @search(fields: ["name"]) { id: ID! name: String! n: Int! @index club: Club! at: DateTime }
  type Tag @resource { id: ID! text: String! clubs: [Club!]! @through(type: "Label") }
  type Label @resource { id: ID! club: Club! tag: Tag! }
  type Note @resource { code: String! @key  text: String! }`;

const COUNT = 20;
const ids = Array.from({ length: COUNT }, (_, at) => at + 1);
const data = {
  clubs: ids.map((id) => ({ id, name: `club ${id}` })),
  members: ids.map((id) => ({ id, name: `member ${id}`, n: id, clubId: 1, at: '2026-01-01T00:00:00Z' })),
  tags: ids.map((id) => ({ id, text: `tag ${id}` })),
  // Of one club to a tag each, of another all to the same.
  labels: ids.flatMap((id) => [
    { id, clubId: 1, tagId: id },
    { id: COUNT + id, clubId: 2, tagId: 1 },
  ]),
  // More than a page of an export has.
  notes: Array.from({ length: 300 }, (_, at) => ({ code: `n${at}`, text: `note ${at}` })),
};

const folder = new Folder({ 'schema.graphql': sdl, 'data.json': '{}' });
const url = `sqlite:${folder.file('duet.db')}`;
let app: Awaited<ReturnType<typeof openApp>>;
/** These are taken for short, and late by the time that they look. */
let isLate = (_: Statement) => false;
const late = {
  admits: (statement: Statement) => (isLate(statement) ? 1 : Number.POSITIVE_INFINITY),
  wasLong: () => {},
  hadMany: () => {},
  mostTurns: 0,
};
const wrong = [spyOn(Bounds.prototype, 'allowance'), spyOn(Bounds.prototype, 'admits')] as const;

beforeAll(async () => {
  const first = await openApp('sqlite', { sdl, data, url });
  await first.close();
  // Processes that cannot be: whatever needs one fails, and nothing else.
  app = await openApp('sqlite', { sdl, data: {}, url, apart: ['false'] });
  wrong[0].mockReturnValue(late);
  wrong[1].mockImplementation(late.admits);
});
afterAll(async () => {
  for (const each of wrong) each.mockRestore();
  await app.close();
  folder[Symbol.dispose]();
});

const where = (filter: unknown) => `where=${encodeURIComponent(JSON.stringify(filter))}`;

describe('looks at the clock', () => {
  beforeEach(() => {
    isLate = () => true;
  });

  test.each([
    '/members?limit=10',
    '/notes?limit=10',
    '/members?sort=name&limit=10',
    '/members?sort=club.name&limit=10',
    '/members?limit=10&id[gt]=3',
    '/members?limit=5&offset=10',
    '/members?n[gt]=3&limit=10',
    '/members?name[contains]=zzz&limit=10',
    '/members?search=member&limit=10',
    '/members?search=member&sort=-_relevance&limit=10',
    '/members?aggregate=sum(n)',
    '/members?aggregate=count&n[gt]=3',
    '/members?groupBy=n&aggregate=count&limit=10',
    '/members?groupBy=month(at)&aggregate=count&limit=10',
    '/members?groupBy=n&aggregate=count&having[max(id)][gt]=3&limit=10',
    `/members?limit=10&${where({ club: { name: { eq: 'zzz' } } })}`,
    `/clubs?limit=10&${where({ id: { eq: 1 }, members: { some: { name: { eq: 'zzz' } } } })}`,
    `/clubs?limit=10&${where({ id: { eq: 1 }, tags: { some: { text: { eq: 'zzz' } } } })}`,
    '/clubs/1?include=members',
    '/clubs/1?include=members&members[limit]=10',
    '/clubs/1?include=members&members[limit]=5&members[offset]=10',
    '/clubs/1?include=members&members[limit]=5&members[sort]=-name',
    '/clubs/1?include=tags',
    '/clubs/1?include=tags&tags[limit]=10',
    '/clubs/1?include=tags&tags[sort]=-text&tags[limit]=1',
    '/clubs/2?include=tags',
    '/clubs/2?include=tags&tags[limit]=10',
  ])('GET %s', async (path) => {
    expect(await app.rest('GET', path)).toMatchObject({ status: 503, body: { code: 'UNAVAILABLE' } });
  });

  test.each(['membersAggregate { count sum { n } }', 'membersAggregate(groupBy: [n]) { count }'])(
    'of a club: %s',
    async (asked) => {
      const { errors } = await app.graphql(`{ club(id: 1) { ${asked} } }`);
      expect(errors?.[0].extensions.code).toBe('UNAVAILABLE');
    },
  );

  test.each([
    'updateMembers(where: { id: { in: $ids } }, set: { n: 7 }, atMost: 100) { id }',
    'deleteMembers(where: { id: { in: $ids } }, atMost: 100) { id }',
  ])('while it changes rows: %s', async (asked) => {
    isLate = isWrite;
    const { errors } = await app.graphql(`mutation ($ids: [ID!]) { ${asked} }`, { ids });
    expect(errors?.[0].extensions.code).toBe('UNAVAILABLE');
  });
});

test.each(['/members/7', '/notes/n7', '/members?id[in]=1,2&limit=5'])(
  'GET %s is over before',
  async (path) => {
    expect((await app.rest('GET', path)).status).toBe(200);
  },
);

test('an export whose later page is late ends there, as nobody else can read the same moment', async () => {
  isLate = () => false;
  const taken = () => app.rest('GET', '/notes', undefined, { Accept: 'text/csv' });
  expect((await taken()).status).toBe(200);
  const following = spyOn(Bounds.prototype, 'following').mockReturnValue({ ...late, admits: () => 1 });
  const ended = await taken().catch((error) => error);
  following.mockRestore();
  expect(ended.code).toBe('UNAVAILABLE');
  // Whoever tries again is served by another process, of which there is none here.
  expect((await taken()).status).toBe(503);
});
