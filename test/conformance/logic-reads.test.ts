/** What functions read: under the caller's rules to the last link, and not to be gone on from where it failed. */

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { type AppUnderTest, databases, openApp } from '../app.ts';
import { SECRET } from './access-matrix.ts';

const sdl = `
  type Task @resource @allow(to: [READ]) { id: ID!  text: String  tags: [Tag!]! @through(type: "TaskTag") }
  type Tag @resource @allow(to: [READ]) { id: ID!  name: String! }
  type TaskTag @resource @allow(to: [READ], where: { secret: { eq: false } }) {
    id: ID!  task: Task!  tag: Tag!  secret: Boolean!
  }
  type Item @resource @allow(to: [READ, CREATE]) { id: ID!  text: String! }
  type Mutation { add: Boolean! @action @allow }
  type Query { named(options: JSON): JSON @action @allow }
`;

const logic = {
  Mutation: {
    *add({ tx }: any): any {
      yield* tx.system.items.create({ text: 'new' });
      try {
        yield* tx.system.items.list();
      } catch {
        // As if nothing had happened.
      }
      return true;
    },
  },
  Query: {
    *named({ tx }: any, { options }: any): any {
      const task = yield* tx.tasks.get(1, { include: { tags: options ?? true } });
      return task.tags.map(({ name }: any) => name);
    },
  },
};

const data = {
  tasks: [{}],
  tags: [{ name: 'b' }, { name: 'a' }, { name: 'hidden' }],
  taskTags: [1, 2, 3].map((tagId) => ({ taskId: 1, tagId, secret: tagId === 3 })),
  items: [{ text: 'x'.repeat(6000) }],
};

describe.each([...databases])('on %s', (database) => {
  let app: AppUnderTest;
  beforeAll(async () => {
    const env = { AUTH_SECRET: SECRET, LIMIT_BYTES: '5000' };
    app = await openApp(database, { sdl, data, logic, env });
  });
  afterAll(() => app.close());
  const tags = (options: string) => app.rest('GET', `/actions/named?options=${encodeURIComponent(options)}`);

  test('links that are hidden lead nowhere, and lists take their arguments', async () => {
    expect((await app.rest('GET', '/actions/named')).body).toEqual(['b', 'a']);
    expect((await tags('{"first":1,"orderBy":[{"name":"ASC"}]}')).body).toEqual(['a']);
    expect((await tags('{"bogus":2}')).status).not.toBe(200);
  });

  test('a read that failed ends the transaction, even when its error is caught', async () => {
    const { status } = await app.rest('POST', '/actions/add', {});
    const { body } = await app.unguarded().rest('GET', '/items?fields=id&limit=10');
    expect([status, body.length]).toEqual([400, 1]);
  });
});
