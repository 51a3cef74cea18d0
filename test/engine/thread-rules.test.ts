/** The thread that writes to a SQLite file holds every write against the same rules. */

import { expect, test } from 'bun:test';
import { join } from 'node:path';
import { accessRules } from '../../src/access/faults.ts';
import { readConfig } from '../../src/config.ts';
import { loading } from '../../src/engine/load.ts';
import { ThreadWriter } from '../../src/engine/thread-writer.ts';
import type { Writer } from '../../src/engine/writer.ts';
import { graphqlDoor } from '../../src/graphql/schema.ts';
import { readSchema } from '../../src/schema/read.ts';
import { createApp } from '../../src/server.ts';
import { evolve } from '../../src/storage/evolve/evolve.ts';
import { openDatabase } from '../../src/storage/open.ts';
import { within } from '../app.ts';
import { headersOf, SECRET } from '../conformance/access-matrix.ts';
import { Folder } from '../process.ts';

const sdl = `
type User @resource @allow(to: [READ]) @allow(to: [UPDATE], where: { handle: { eq: { claim: "sub" } } }) {
  id: ID!
  handle: String!
  email: String @allow(to: [READ], where: { handle: { eq: { claim: "sub" } } })
  rank: Int! @default(value: 1) @allow(to: [UPDATE], role: "admin")
}
type Note @resource @allow(to: [READ, CREATE], where: { team: { in: { claim: "teams" } } }) {
  id: ID!
  team: String!
  secret: String @default(value: "hush") @allow(to: [READ], role: "admin")
}
`;

/** Whoever asks before the thread is there is told so, and asks again. */
const nobody: Writer = {
  write: () => Promise.reject(new Error('not yet')),
  transact: () => Promise.reject(new Error('not yet')),
  close: async () => {},
};

test('updates, creates and transactions, for callers of every kind', async () => {
  using folder = new Folder();
  const path = folder.file('duet.db');
  const { model } = readSchema(sdl, accessRules);
  const { config } = readConfig([], { DATABASE_URL: `sqlite:${path}`, AUTH_SECRET: SECRET });
  if (!model || !config) throw new Error('the deployment is not sound');
  const users = [
    { handle: 'ann', email: 'ann@x' },
    { handle: 'bob', email: 'bob@x' },
  ];
  const storage = openDatabase(config, model);
  const load = loading(model, { users });
  if (!load.program) throw new Error(load.faults.join());
  const { deprecatedSince } = await evolve(storage, model, load.program);
  const writer = new ThreadWriter({
    code: join(import.meta.dir, '../../src/engine/writer-thread'),
    path,
    model,
    authentication: true,
    most: 100,
    here: nobody,
    lost: (cause) => {
      throw cause;
    },
  });
  const door = graphqlDoor(model);
  const app = createApp({ model, door, storage, writer, config, deprecatedSince, observe: () => {} });
  const send = async (method: string, target: string, body: unknown, headers: Record<string, string>) => {
    for (let tries = 0; tries < 600; tries++) {
      const init = {
        method,
        body: JSON.stringify(body),
        headers: { ...headers, 'Content-Type': 'application/json' },
      };
      const response = await app.fetch(new Request(`http://duet.test${target}`, init));
      if (response.status !== 500)
        return { status: response.status, body: JSON.parse(await response.text()) };
      await Bun.sleep(50);
    }
    throw new Error('the thread never came');
  };
  const ann = await headersOf({ name: 'ann in a thread', claims: { sub: 'ann', teams: ['red', 'blue'] } });
  try {
    await within(
      60_000,
      (async () => {
        expect(await send('PUT', '/users/1', { email: 'new@x' }, ann)).toEqual({
          status: 200,
          body: { id: 1, handle: 'ann', email: 'new@x', rank: 1 },
        });
        expect((await send('PUT', '/users/2', { email: 'new@x' }, ann)).body.code).toBe('FORBIDDEN');
        expect((await send('PUT', '/users/2', { email: 'new@x' }, {})).body.code).toBe('UNAUTHENTICATED');
        expect((await send('PUT', '/users/1', { rank: 2 }, ann)).body).toMatchObject({
          code: 'FORBIDDEN',
          errors: [{ pointer: '#/rank', code: 'FORBIDDEN' }],
        });
        expect(await send('POST', '/notes', { team: 'red' }, ann)).toEqual({
          status: 201,
          body: { id: 1, team: 'red' },
        });
        expect((await send('POST', '/notes', { team: 'green' }, ann)).status).toBe(403);
        const query = 'mutation { createNote(team: "blue") { team secret } }';
        expect((await send('POST', '/graphql', { query }, ann)).body).toMatchObject({
          data: { createNote: { team: 'blue', secret: null } },
          errors: [{ path: ['createNote', 'secret'], extensions: { code: 'FORBIDDEN' } }],
        });
        const operations = ['red', 'green'].map((team) => ({
          method: 'POST',
          path: '/notes',
          body: { team },
        }));
        expect((await send('POST', '/transaction', { operations }, ann)).body).toMatchObject({
          code: 'FORBIDDEN',
          operation: 1,
        });
      })(),
    );
  } finally {
    await writer.close();
    await storage.close();
  }
});
