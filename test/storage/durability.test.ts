/** Killed at any moment under load: everything acknowledged is there, nothing is half applied, service is back at once. */

import { Database } from 'bun:sqlite';
import { expect, test } from 'bun:test';
import { Folder, Server } from '../process.ts';

/** How often the server is killed; a long run sets more. */
const KILLS = Number(process.env['KILLS'] ?? 20);
const WRITERS = 16;

const sdl = `
  type Account @resource { id: ID!  owner: String! @unique  entries: [Entry!]! }
  type Entry @resource { id: ID!  mark: String!  account: Account! }`;

const JSON_HEADERS = { 'Content-Type': 'application/json' };

test(`${KILLS} kills lose nothing that was acknowledged`, async () => {
  using folder = new Folder({ 'schema.graphql': sdl, 'data.json': '{}' });
  const acknowledged: string[] = [];
  let serial = 0;

  const writer = async (url: string, stopped: () => boolean) => {
    while (!stopped()) {
      const owner = `o${serial++}`;
      // An account comes with its two entries or not at all, through either door.
      const entries = [{ mark: 'a' }, { mark: 'b' }];
      const query =
        'mutation($owner: String!, $entries: [EntryInputWithoutAccount!]) { createAccount(owner: $owner, entries: $entries) { id } }';
      const graphql = serial % 2 === 0;
      const path = graphql ? '/graphql' : '/accounts';
      const body = JSON.stringify(graphql ? { query, variables: { owner, entries } } : { owner, entries });
      try {
        const response = await fetch(url + path, { method: 'POST', headers: JSON_HEADERS, body });
        const answer = (await response.json()) as any;
        if (graphql ? answer.data : response.status === 201) acknowledged.push(owner);
      } catch {
        return;
      }
    }
  };

  for (let kill = 0; kill < KILLS; kill++) {
    await using server = await Server.start(folder);
    expect((await fetch(`${server.url}/readyz`)).status).toBe(200);
    let stopped = false;
    const writers = Array.from({ length: WRITERS }, () => writer(server.url, () => stopped));
    await Bun.sleep(20 + Math.random() * 180);
    server.signal('SIGKILL');
    stopped = true;
    await Promise.all(writers);
    await server.exited();

    const db = new Database(folder.file('duet.db'));
    expect(db.query('PRAGMA integrity_check').get()).toEqual({ integrity_check: 'ok' });
    const owners = new Set(
      (db.query('SELECT "owner" FROM "Account"').all() as { owner: string }[]).map(({ owner }) => owner),
    );
    expect(acknowledged.filter((owner) => !owners.has(owner))).toEqual([]);
    const halves = db
      .query(
        'SELECT "id" FROM "Account" WHERE (SELECT COUNT(*) FROM "Entry" WHERE "accountId" = "Account"."id") <> 2',
      )
      .all();
    expect(halves).toEqual([]);
    db.close();
  }
  expect(acknowledged.length).toBeGreaterThan(KILLS);
}, 600_000);
