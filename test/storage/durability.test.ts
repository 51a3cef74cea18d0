/** Killed at any moment under load: everything acknowledged is there, nothing is half applied, service is back at once. */

import { Database } from 'bun:sqlite';
import { expect, test } from 'bun:test';
import { Folder, Server } from '../process.ts';

/** How often the server is killed; a long run sets more. */
const KILLS = Number(process.env['KILLS'] ?? 20);
/** The same of one process among several. */
const WORKER_KILLS = Math.ceil(KILLS / 8);
const WRITERS = 16;

const sdl = `
  type Account @resource { id: ID!  owner: String! @unique  entries: [Entry!]! }
  type Entry @resource { id: ID!  mark: String!  account: Account! }`;

const JSON_HEADERS = { 'Content-Type': 'application/json' };

/** Clients that create accounts, and remember those that were acknowledged. */
class Clients {
  readonly acknowledged: string[] = [];
  #serial = 0;

  /** `broken`: what a client does whose connection is cut. */
  async write(url: string, stopped: () => boolean, broken: 'ends' | 'goes on'): Promise<void> {
    while (!stopped()) {
      const owner = `o${this.#serial++}`;
      // An account comes with its two entries or not at all, through either door.
      const entries = [{ mark: 'a' }, { mark: 'b' }];
      const query =
        'mutation($owner: String!, $entries: [EntryInputWithoutAccount!]) { createAccount(owner: $owner, entries: $entries) { id } }';
      const graphql = this.#serial % 2 === 0;
      const path = graphql ? '/graphql' : '/accounts';
      const body = JSON.stringify(graphql ? { query, variables: { owner, entries } } : { owner, entries });
      try {
        const response = await fetch(url + path, { method: 'POST', headers: JSON_HEADERS, body });
        const answer = (await response.json()) as any;
        if (graphql ? answer.data : response.status === 201) this.acknowledged.push(owner);
      } catch {
        if (broken === 'ends') return;
      }
    }
  }

  /** Everything acknowledged is there, and nothing is half applied. */
  expectKept(file: string): void {
    using db = new Database(file);
    expect(db.query('PRAGMA integrity_check').get()).toEqual({ integrity_check: 'ok' });
    const owners = new Set(
      (db.query('SELECT "owner" FROM "Account"').all() as { owner: string }[]).map(({ owner }) => owner),
    );
    expect(this.acknowledged.filter((owner) => !owners.has(owner))).toEqual([]);
    const halves = db
      .query(
        'SELECT "id" FROM "Account" WHERE (SELECT COUNT(*) FROM "Entry" WHERE "accountId" = "Account"."id") <> 2',
      )
      .all();
    expect(halves).toEqual([]);
  }
}

test(`${KILLS} kills lose nothing that was acknowledged`, async () => {
  using folder = new Folder({ 'schema.graphql': sdl, 'data.json': '{}' });
  const clients = new Clients();

  for (let kill = 0; kill < KILLS; kill++) {
    await using server = await Server.start(folder);
    expect((await fetch(`${server.url}/readyz`)).status).toBe(200);
    let stopped = false;
    const writers = Array.from({ length: WRITERS }, () => clients.write(server.url, () => stopped, 'ends'));
    await Bun.sleep(20 + Math.random() * 180);
    server.signal('SIGKILL');
    stopped = true;
    await Promise.all(writers);
    await server.exited();
    clients.expectKept(folder.file('duet.db'));
  }
  expect(clients.acknowledged.length).toBeGreaterThan(KILLS);
}, 600_000);

test('of workers that write to one file any can be killed: nothing is lost, and the others go on', async () => {
  using folder = new Folder({ 'schema.graphql': sdl, 'data.json': '{}' });
  await using server = await Server.start(folder, { WORKERS: '3' });
  await server.logged('supervising');
  const clients = new Clients();
  let stopped = false;
  const writers = Array.from({ length: WRITERS }, () => clients.write(server.url, () => stopped, 'goes on'));
  for (let kill = 0; kill < WORKER_KILLS; kill++) {
    const before = clients.acknowledged.length;
    for (let tries = 0; tries < 1000 && clients.acknowledged.length < before + WRITERS; tries++)
      await Bun.sleep(10);
    const { pid } = await server.logged('started', 3 + kill);
    const atKill = clients.acknowledged.length;
    process.kill(pid, 'SIGKILL');
    for (let tries = 0; tries < 1000 && clients.acknowledged.length < atKill + 2 * WRITERS; tries++)
      await Bun.sleep(10);
    expect(clients.acknowledged.length).toBeGreaterThanOrEqual(atKill + 2 * WRITERS);
    await server.logged('started', 4 + kill);
  }
  stopped = true;
  await Promise.all(writers);
  server.signal('SIGTERM');
  expect(await server.exited()).toBe(0);
  clients.expectKept(folder.file('duet.db'));
}, 120_000);
