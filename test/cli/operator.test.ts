/** A day in the life of an operator, by the command alone: whatever happens, nothing acknowledged is lost, and the log says what it was. */

import { expect, test } from 'bun:test';
import { SQL } from 'bun';
import { JSON_HEADERS } from '../app.ts';
import { isRoot, Postgres } from '../postgres.ts';
import { command, Folder, Server } from '../process.ts';

/** Whether a server can be given a disk of its own, to fill it; where everything is checked, it must be. */
const hasDisks = isRoot && process.platform === 'linux';
if (!hasDisks && process.env['CI'] === 'true')
  throw new Error('this must run as root on Linux: a small disk is mounted, to fill it');
if (!hasDisks) console.warn('only root on Linux can fill a disk: the day of the operator goes without');

/** What the database has when it is new is about half of it. */
const DISK_BYTES = 160 * 1024 * 1024;
/** So long that PostgreSQL must find a place for it, and random, so that it cannot be shortened. */
const LONG = Buffer.from(crypto.getRandomValues(new Uint8Array(24_000))).toString('base64');

const NOTE = `type Note @resource @allow(to: [READ, CREATE], role: "writer") {
  id: ID!  title: String! @unique  body: String @constraint(maxLength: 100000)`;
const first = `${NOTE} }`;
const second = `${NOTE}  pages: Int @default(value: 1) @index }`;

async function administer(url: string, ...statements: string[]): Promise<any[]> {
  const sql = new SQL(url, { max: 1 });
  try {
    let rows: any[] = [];
    for (const each of statements) rows = await sql.unsafe(each).simple();
    return rows;
  } finally {
    await sql.close();
  }
}

async function until(isSo: () => Promise<boolean> | boolean): Promise<void> {
  for (let tries = 0; tries < 1500; tries++) {
    if (await isSo()) return;
    await Bun.sleep(20);
  }
  throw new Error('it never came to be');
}

/** Those of the words that do not follow the ones before them. */
function missing(text: string, words: readonly string[]): string[] {
  let from = 0;
  return words.filter((word) => {
    const found = text.indexOf(word, from);
    if (found !== -1) from = found + word.length;
    return found === -1;
  });
}

type Node = Server & { readonly url: string };

/** Clients that write all the time, through any node, and keep what they were told. */
class Load {
  readonly acknowledged = new Set<string>();
  /** Answers that nothing in this day is a reason for. */
  readonly surprises: unknown[] = [];
  /** How many writes were put off. */
  refused = 0;
  key = '';
  body: string | undefined;
  readonly #nodes: readonly Node[];
  readonly #clients: Promise<void>[];
  #isOver = false;
  #isPaused = false;
  readonly #resting = new Set<number>();

  constructor(nodes: readonly Node[], key: string) {
    this.#nodes = nodes;
    this.key = key;
    this.#clients = Array.from({ length: 4 }, (_, who) => this.#write(who));
  }

  async #write(who: number): Promise<void> {
    for (let count = 0; !this.#isOver; count++) {
      const title = `${who}-${count}`;
      const node = this.#nodes[count % this.#nodes.length];
      if (this.#isPaused) {
        this.#resting.add(who);
        await Bun.sleep(10);
        continue;
      }
      this.#resting.delete(who);
      const response = await fetch(`${node?.url}/notes`, {
        method: 'POST',
        headers: { ...JSON_HEADERS, Authorization: `Bearer ${this.key}`, 'Idempotency-Key': title },
        body: JSON.stringify({ title, body: this.body }),
      });
      const text = await response.text();
      if (response.status === 201) this.acknowledged.add(title);
      else if (response.status === 503) this.refused++;
      else this.surprises.push([title, response.status, text]);
      await Bun.sleep(response.status === 201 ? 2 : 50);
    }
  }

  async more(count = 30): Promise<void> {
    const enough = this.acknowledged.size + count;
    await until(() => this.acknowledged.size >= enough);
  }

  /** Resolves when nobody writes any more. */
  async pause(): Promise<void> {
    this.#isPaused = true;
    await until(() => this.#resting.size === this.#clients.length);
  }

  resume(): void {
    this.#isPaused = false;
  }

  async end(): Promise<void> {
    this.#isOver = true;
    await Promise.all(this.#clients);
  }
}

test('a day', async () => {
  const primary = await Postgres.start();
  const name = new URL(await primary.database()).pathname.slice(1);
  const standby = await primary.standby({ follows: true, disk: hasDisks ? DISK_BYTES : 0 });
  const at = (server: Postgres) => `127.0.0.1:${server.port}`;
  const both = `postgres://duet@${at(primary)},${at(standby)}/${name}`;
  using folder = new Folder({ 'schema.graphql': first, 'data.json': '{}' });
  const env = { DATABASE_URL: both, DATABASE_READ_URL: both, AUTH_KEYS: 'on' };
  /** What commands have said. */
  const said: string[] = [];
  const duet = async (...args: string[]) => {
    const { stdout, stderr, exit } = await command(folder, args, env);
    expect([args, exit, stderr]).toEqual([args, 0, stderr]);
    said.push(stdout + stderr);
    return stdout.trim();
  };
  const told = (node: Node) => node.log.flatMap(({ message }) => (message === undefined ? [] : [message]));
  const saying = (node: Node, words: string) =>
    until(() => told(node).some((message) => message.includes(words)));

  // In the morning nothing is there.
  await standby.stop('fast');
  await primary.stop('fast');
  const starting = [Server.begin(folder, env), Server.begin(folder, env)];
  for (const { server } of starting) await server.logged('notice');
  await primary.run();
  await standby.run();
  await administer(
    primary.url(),
    "ALTER SYSTEM SET synchronous_standby_names = '*'",
    'SELECT pg_reload_conf()',
  );
  const nodes = await Promise.all(starting.map(({ started }) => started));
  for (const node of nodes) await saying(node, `the replica at ${at(standby)} is used for reads`);

  /** What each node answers. */
  const asked = (path: string, headers = {}) =>
    Promise.all(nodes.map(async ({ url }) => (await fetch(url + path, { headers })).status));

  const load = new Load(nodes, await duet('key', 'create', '--name', 'monday', '--role', 'writer'));
  await load.more();

  // The tables change while all go on writing by the old file.
  await Bun.write(folder.file('schema.graphql'), second);
  await duet('migrate');
  await load.more();
  expect([load.surprises, load.refused]).toEqual([[], 0]);

  // The primary is lost.
  await primary.stop('immediate');
  for (const node of nodes) await saying(node, 'what needs it is answered 503 until it can');
  expect(await asked('/readyz')).toEqual([503, 503]);
  await administer(standby.url(), 'SELECT pg_promote()');
  await load.more();
  for (const node of nodes) await saying(node, `in place of ${at(primary)}`);
  expect(await asked('/readyz')).toEqual([200, 200]);

  // The disk is full, and made room on.
  if (hasDisks) {
    const release = await standby.fillDisk();
    load.body = LONG;
    const before = load.refused;
    await until(() => load.refused > before + 20);
    expect(await asked('/readyz')).toEqual([200, 200]);
    release();
    await load.more();
    load.body = undefined;
  }

  // Somebody deletes everything, and the backup brings it back.
  await load.pause();
  await duet('backup', 'backups/');
  await administer(standby.url(name), 'DELETE FROM "Note"');
  await duet('restore', 'backups/', '--yes');
  load.resume();
  await load.more();

  // A key is replaced by another without a gap.
  const old = load.key;
  load.key = await duet('key', 'create', '--name', 'tuesday', '--role', 'writer');
  await duet('key', 'revoke', 'monday');
  const by = (key: string, path: string) => asked(path, { Authorization: `Bearer ${key}` });
  await until(async () => (await by(old, '/notes?limit=1')).every((status) => status === 401));
  await load.more();

  // The new file is served, once it has no faults.
  await Bun.write(folder.file('schema.graphql'), `${second} type Extra @resource { id: ID!  a: Sting }`);
  for (const node of nodes) node.signal('SIGHUP');
  for (const node of nodes) await node.logged('refused');
  expect(await by(load.key, '/notes?fields=pages&limit=1')).toEqual([400, 400]);
  await Bun.write(folder.file('schema.graphql'), second);
  for (const node of nodes) node.signal('SIGHUP');
  for (const node of nodes) await node.logged('reloaded');
  expect(await by(load.key, '/notes?fields=pages&limit=1')).toEqual([200, 200]);
  await load.more();
  await load.end();

  // In the evening all that was acknowledged is there, once.
  const stored = (await administer(standby.url(name), 'SELECT title FROM "Note"')).map(({ title }) => title);
  expect(new Set(stored).size).toBe(stored.length);
  expect([...load.acknowledged].filter((title) => !stored.includes(title))).toEqual([]);
  expect(load.surprises).toEqual([]);
  for (const node of nodes) node.signal('SIGTERM');
  expect(await Promise.all(nodes.map((node) => node.exited()))).toEqual([0, 0]);

  // Whoever reads the logs at night finds all of it.
  expect(
    missing(said.join('\n'), ['Keep it well', 'pages', 'backups/duet-', 'restored', 'Revoked.']),
  ).toEqual([]);
  for (const node of nodes) {
    const lines = node.log.filter(({ event, status }) => event !== 'request' || status === 401);
    const text = lines.map((line) => JSON.stringify(line)).join('\n');
    const cannotBeUsed = `PostgreSQL at ${at(primary)}, ${at(standby)}/${name} cannot be used`;
    // The replica may be found before the node has started.
    const replicated = ['is there now', `the replica at ${at(standby)} is used for reads`, cannotBeUsed];
    const words = [
      `waiting for PostgreSQL at ${at(primary)}, ${at(standby)}/${name}`,
      'is there now',
      '"event":"started"',
      cannotBeUsed,
      `PostgreSQL at ${at(standby)} is used from now on, in place of ${at(primary)}`,
      ...(hasDisks ? ['The disk of the database is full; writes wait for the operator to make room.'] : []),
      '"status":401',
      'Unknown type \\"Sting\\" on Extra.a. Did you mean \\"String\\"?',
      '"event":"reloaded"',
      '"event":"stopping","signal":"SIGTERM"',
      '"event":"stopped"',
    ];
    expect([missing(text, words), missing(text, replicated), text]).toEqual([[], [], text]);
    // Whose key it was, from the first write on.
    const writers = node.log.filter(({ method, status }) => method === 'POST' && status === 201);
    expect([writers[0].caller, writers.at(-1).caller]).toEqual(['key:monday', 'key:tuesday']);
    // Nothing fills the log that is said once.
    expect(text.match(/The disk of the database is full/g)?.length ?? 0).toBeLessThan(2);
    expect(
      node.log.filter(({ event, status }) => event === 'request' && status >= 500 && status !== 503),
    ).toEqual([]);
  }
  expect(nodes.flatMap(({ log }) => log).filter(({ event }) => event === 'migrated').length).toBeGreaterThan(
    0,
  );
  expect(JSON.stringify(nodes.map(({ log }) => log))).not.toContain('duet_');
  await standby.end();
  await primary.end();
}, 120_000);
