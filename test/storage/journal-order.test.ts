/** Positions follow the order of commits: whoever follows a feed misses nothing, while many write at once and lose. */

import { describe, expect, test } from 'bun:test';
import { type AppUnderTest, databases, JSON_HEADERS, openApp, sharedPostgres } from '../app.ts';
import { Folder, Server } from '../process.ts';

const sdl =
  'type Item @resource @journal { id: ID! name: String! count: Int! @default(value: 0) writer: Int }';
const WRITERS = 16;
const RECORDS = 20;
const ROUNDS = 12;

/** More, to look for what happens seldom. */
const KILLS = Number(process.env['DUET_TEST_KILLS'] ?? 3);

type Node = Pick<AppUnderTest, 'rest'>;

interface Change {
  readonly position: string;
  readonly transaction: string;
  readonly kind: string;
  readonly key: number;
  readonly version: number;
  readonly before: { readonly count: number } | null;
  readonly after: { readonly count: number; readonly name: string } | null;
}

/** The same numbers for the same seed. */
function chance(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

/** A transaction over some of the records, in whichever order; one in four aborts at its end. */
async function write(app: Node, writer: number, pick: (below: number) => number): Promise<number> {
  const aborts = pick(4) === 0;
  const picked = Array.from({ length: 1 + pick(4) }, () => 1 + pick(RECORDS));
  // Mostly in one order, so that they wait for each other; in any order, one of two has to give way.
  const keys = new Set(pick(20) === 0 ? picked : picked.sort((a, b) => a - b));
  const name = aborts ? 'aborted' : `by ${writer}`;
  const operations = [...keys].map((key) => ({
    method: 'PUT',
    path: `/items/${key}`,
    body: { name, _inc: { count: 1 } },
  }));
  const last = aborts ? [{ method: 'DELETE', path: '/items/999' }] : [];
  const { status } = await app.rest('POST', '/transaction', { operations: [...operations, ...last] });
  expect(aborts ? [404, 409, 503] : [200, 409, 503]).toContain(status);
  return status === 200 ? operations.length : 0;
}

/** Reads from any node, and begins again now and then from a place where it has been. */
class Follower {
  readonly seen = new Map<string, Change>();
  readonly #apps: readonly Node[];
  readonly #pick: (below: number) => number;
  #after: string;
  #furthest = '';
  readonly #places: string[];

  constructor(apps: readonly Node[], pick: (below: number) => number, after: string) {
    this.#apps = apps;
    this.#pick = pick;
    this.#after = after;
    this.#places = [after];
  }

  /** Whether there was anything. */
  async read(): Promise<boolean> {
    const app = this.#apps[this.#pick(this.#apps.length)] as Node;
    const limit = 1 + this.#pick(30);
    const { status, body, headers } = await app.rest('GET', `/changes?after=${this.#after}&limit=${limit}`);
    expect([status, body.code]).toEqual([200, undefined]);
    for (const change of body as Change[]) {
      const known = this.seen.get(change.position);
      if (known && !Bun.deepEquals(change, known)) throw new Error(`${change.position} has changed`);
      // Who goes back now and then would not notice what was missing.
      if (!known && change.position <= this.#furthest) throw new Error(`${change.position} came too late`);
      this.seen.set(change.position, change);
    }
    this.#after = headers.get('Changes-Position') ?? '';
    this.#places.push(this.#after);
    if (this.#after > this.#furthest) this.#furthest = this.#after;
    if (this.#pick(20) === 0) this.#after = this.#places[this.#pick(this.#places.length)] as string;
    return body.length > 0;
  }

  /** From its last place to the end. */
  async finish(): Promise<Change[]> {
    this.#after = this.#places.toSorted().at(-1) as string;
    for (let pages = 0; pages < 1000 && (await this.read()); pages++);
    return [...this.seen.keys()].sort().map((position) => this.seen.get(position) as Change);
  }
}

/** Nothing of what was aborted, no version before its predecessor, none left out, no transaction split; and all of it is what there is. */
function expectSound(seen: readonly Change[], items: readonly any[]): void {
  expect(seen.filter(({ after }) => after?.name === 'aborted')).toEqual([]);
  const versions = new Map<number, number>();
  const counts = new Map<number, number>();
  for (const { key, version, before, after } of seen) {
    expect(`${key} ${version} ${before?.count}`).toBe(
      `${key} ${(versions.get(key) ?? 1) + 1} ${counts.get(key) ?? 0}`,
    );
    versions.set(key, version);
    counts.set(key, after?.count ?? 0);
  }
  // What the feed says, applied to what there was, is what there is.
  for (const { id, count } of items) expect([id, count]).toEqual([id, counts.get(id) ?? 0]);
  const ended = new Set<string>();
  let last = '';
  for (const { transaction } of seen) {
    if (transaction === last) continue;
    expect(ended.has(transaction)).toBe(false);
    ended.add(last);
    last = transaction;
  }
}

/** Three of them on one database, and the position at which they begin. */
async function threeNodes(database: (typeof databases)[number], folder: Folder) {
  const url =
    database === 'sqlite' ? `sqlite:${folder.file('x.db')}` : await (await sharedPostgres()).database();
  const data = { items: Array.from({ length: RECORDS }, (_, index) => ({ name: `item ${index}` })) };
  const apps: AppUnderTest[] = [];
  for (let node = 0; node < 3; node++) apps.push(await openApp(database, { sdl, data, url }));
  const [first] = apps as [AppUnderTest];
  const begin = (await first.rest('GET', '/changes')).headers.get('Changes-Position') ?? '';
  return { apps, first, begin };
}

describe.each([...databases])('on %s', (database) => {
  test('a follower sees every commit once, in order, and nothing else', async () => {
    using folder = new Folder();
    const { apps, first, begin } = await threeNodes(database, folder);
    let isDone = false;
    const followers = [1, 2].map((seed) => new Follower(apps, chance(seed), begin));
    const following = followers.map(async (follower) => {
      for (let reads = 0; !isDone && reads < 100_000; reads++) {
        await follower.read();
        await Bun.sleep(2);
      }
    });
    const written = await Promise.all(
      Array.from({ length: WRITERS }, async (_, writer) => {
        const pick = chance(100 + writer);
        let committed = 0;
        for (let round = 0; round < ROUNDS; round++)
          committed += await write(apps[writer % apps.length] as AppUnderTest, writer, pick);
        return committed;
      }),
    );
    isDone = true;
    await Promise.all(following);
    const { body: items } = await first.rest('GET', '/items');
    for (const follower of followers) {
      const seen = await follower.finish();
      expect(seen).toHaveLength(written.reduce((sum, each) => sum + each, 0));
      expectSound(seen, items);
    }
    for (const app of apps) await app.close();
  });

  test('new records that arrive together come after what was answered before them, and before what is done with them', async () => {
    using folder = new Folder();
    const { apps, begin } = await threeNodes(database, folder);
    let isDone = false;
    const follower = new Follower(apps, chance(3), begin);
    const following = (async () => {
      for (let reads = 0; !isDone && reads < 100_000; reads++) {
        await follower.read();
        // Seldom, so that others give positions, too.
        await Bun.sleep(60);
      }
    })();
    /** What each writer has done, step by step: each was answered before the next was asked for. */
    const done = await Promise.all(
      Array.from({ length: 6 }, async (_, writer) => {
        const pick = chance(200 + writer);
        const steps: string[][] = [];
        const kept = new Map<number, number>();
        for (let round = 0; round < ROUNDS; round++) {
          const app = apps[pick(apps.length)] as AppUnderTest;
          const count = 2 + pick(12);
          const made = await Promise.all(
            Array.from({ length: count }, () => app.rest('POST', '/items', { name: 'new', writer })),
          );
          expect(made.map(({ status }) => status)).toEqual(made.map(() => 201));
          steps.push(made.map(({ body }) => `${body.id} 1`));
          for (const { body } of made) kept.set(body.id, 1);
          const keys = [...kept.keys()];
          const key = keys[pick(keys.length)] as number;
          const version = (kept.get(key) ?? 0) + 1;
          const other = apps[pick(apps.length)] as AppUnderTest;
          expect((await other.rest('PUT', `/items/${key}`, { _inc: { count: 1 } })).status).toBe(200);
          kept.set(key, version);
          steps.push([`${key} ${version}`]);
        }
        return steps;
      }),
    );
    isDone = true;
    await following;
    const seen = await follower.finish();
    const places = new Map(seen.map(({ key, version }, place) => [`${key} ${version}`, place]));
    expect(places.size).toBe(seen.length);
    expect(seen).toHaveLength(done.flat(2).length);
    for (const steps of done) {
      let last = -1;
      for (const step of steps) {
        const own = step.map((change) => places.get(change) ?? -1);
        expect(Math.min(...own)).toBeGreaterThan(last);
        last = Math.max(...own);
      }
    }
    for (const app of apps) await app.close();
  }, 60_000);

  test(`the same while ${KILLS} nodes are killed, as they give positions`, async () => {
    const data = JSON.stringify({
      items: Array.from({ length: RECORDS }, (_, at) => ({ name: `item ${at}` })),
    });
    using folder = new Folder({ 'schema.graphql': sdl, 'data.json': data });
    const url =
      database === 'sqlite' ? `sqlite:${folder.file('x.db')}` : await (await sharedPostgres()).database();
    const start = () => Server.start(folder, { DATABASE_URL: url });
    const servers = [await start()];
    while (servers.length < (database === 'sqlite' ? 2 : 3)) servers.push(await start());
    const nodes = servers.map(
      (_, at): Node => ({
        async rest(method, path, body) {
          const init = {
            method,
            ...(body !== undefined && { headers: JSON_HEADERS, body: JSON.stringify(body) }),
          };
          const answer = await fetch(`${servers[at]?.url}${path}`, init);
          return { status: answer.status, headers: answer.headers, body: await answer.json() };
        },
      }),
    );
    const [first] = nodes as [Node];
    const begin = (await first.rest('GET', '/changes')).headers.get('Changes-Position') ?? '';
    let isDone = false;
    /** Whoever is killed answers nobody, and nobody knows what it has done. */
    const dared = <T>(work: Promise<T>) =>
      work.catch((error) => {
        if (!(error instanceof Error) || !('code' in error)) throw error;
        return Bun.sleep(20);
      });
    const follower = new Follower(nodes, chance(1), begin);
    const following = (async () => {
      for (let reads = 0; !isDone && reads < 100_000; reads++) {
        await dared(follower.read());
        await Bun.sleep(5);
      }
    })();
    const writing = Array.from({ length: WRITERS }, async (_, writer) => {
      const pick = chance(100 + writer);
      for (let rounds = 0; !isDone && rounds < 10_000; rounds++) {
        await dared(write(nodes[pick(nodes.length)] as Node, writer, pick));
        await Bun.sleep(20);
      }
    });
    try {
      for (let kill = 0; kill < KILLS; kill++) {
        const at = kill % servers.length;
        await Bun.sleep(100);
        const asked = dared((nodes[at] as Node).rest('GET', '/changes?limit=1'));
        await Bun.sleep(kill % 4);
        servers[at]?.signal('SIGKILL');
        await asked;
        await servers[at]?.exited();
        servers[at] = await start();
      }
    } finally {
      isDone = true;
      await Promise.all([following, ...writing]);
    }
    const { body: items } = await first.rest('GET', '/items');
    const seen = await follower.finish();
    expect(seen.length).toBeGreaterThan(RECORDS);
    expectSound(seen, items);
    for (const server of servers) await server[Symbol.asyncDispose]();
  }, 120_000);
});
