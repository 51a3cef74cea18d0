/** What a server asks for before the first client does: it reads a little, whatever the rules, and leaves no trace. */

import { afterAll, describe, expect, test } from 'bun:test';
import type { AppOptions } from '../../src/app/options.ts';
import { warmUp } from '../../src/app/warm.ts';
import type { Observation } from '../../src/base/observe.ts';
import { graphqlDoor } from '../../src/graphql/schema.ts';
import { databases, openApp } from '../app.ts';

const sdl = `
  type Secret @resource { id: ID!  text: String!  length: Int! @computed(from: ["text"]) }
  type User @resource @journal @allow(to: [READ], role: "admin") { id: ID!  name: String!  posts: [Post!]! }
  type Post @resource @allow(to: [READ], role: "admin") { id: ID!  title: String  author: User!  notes: [Note!]! }
  type Note @resource { id: ID!  text: String!  post: Post! }
`;
/** Nobody waits for a port here. */
const LONG_MS = 60_000;

const data = {
  secrets: [{ text: 'a' }],
  users: [{ name: 'Ann' }],
  posts: [{ title: 'One', authorId: 1 }],
};

describe.each(databases)('%s', async (database) => {
  const observed: Observation[] = [];
  let computed = 0;
  let options: AppOptions | undefined;
  const length = () => computed++;
  const app = await openApp(database, {
    sdl,
    data,
    env: { AUTH_SECRET: 'thirty-two bytes of a secret, at least', RATE_LIMIT_ADDRESS: '1/60' },
    logic: { Secret: { length } },
    around: (storage, model, config) => {
      const observe = (observation: Observation) => void observed.push(observation);
      options = { model, door: graphqlDoor(model), storage, config, observe, deprecatedSince: new Map() };
      return storage;
    },
  });
  afterAll(() => app.close());

  test('types without functions are read, nothing is written or told', async () => {
    computed = 0;
    app.statements.length = 0;
    if (!options) throw new Error('there is no storage');
    await warmUp(options, LONG_MS);
    const ran = app.statements.filter((sql) => !/^(BEGIN|COMMIT|ROLLBACK|EXPLAIN)/.test(sql));
    expect(ran.filter((sql) => !/^(SELECT|WITH)/.test(sql))).toEqual([]);
    const read = (name: string) => ran.some((sql) => sql.includes(`"${name}"`));
    expect(['User', 'Post', 'Note', 'Secret'].map(read)).toEqual([true, true, true, false]);
    expect(computed).toBe(0);
    expect([...observed, ...app.observations]).toEqual([]);
    const { body } = await app.unguarded().rest('GET', '/users?include=posts');
    expect(body).toEqual([{ id: 1, name: 'Ann', posts: [{ id: 1, title: 'One', authorId: 1 }] }]);
  });

  test('who logs statements sees none of them', async () => {
    app.statements.length = 0;
    if (!options) throw new Error('there is no storage');
    await warmUp({ ...options, config: { ...options.config, logSlow: 0 } });
    expect(app.statements).toEqual([]);
  });
});
