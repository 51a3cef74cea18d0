/** Webhooks of real processes: nodes and receivers that are killed and come back, and what the operator does about them. */

import { Database } from 'bun:sqlite';
import { describe, expect, test } from 'bun:test';
import { Webhook } from 'standardwebhooks';
import { databases, JSON_HEADERS, sharedPostgres } from '../app.ts';
import { command, Folder, Server } from '../process.ts';

/** More, to look for what happens seldom. */
const KILLS = Number(process.env['DUET_TEST_KILLS'] ?? 3);
const NODES = 2;
const RECORDS = 4;

const schema = 'type Item @resource @journal { id: ID!  n: Int! }';

async function until(what: string, holds: () => boolean | Promise<boolean>): Promise<void> {
  for (let tries = 0; tries < 1_800; tries++) {
    if (await holds()) return;
    await Bun.sleep(50);
  }
  throw new Error(`${what} did not happen`);
}

async function send(url: string, method: string, path: string, body: unknown): Promise<any> {
  const answer = await fetch(`${url}${path}`, { method, headers: JSON_HEADERS, body: JSON.stringify(body) });
  if (!answer.ok) throw new Error(await answer.text());
  return answer.json();
}

describe.each([...databases])('on %s', (database) => {
  test(`${KILLS} kills of nodes and restarts of the receiver; add, list, test, rotate, replay, remove`, async () => {
    using folder = new Folder({ 'schema.graphql': schema, 'data.json': '{}' });
    const file = folder.file('duet.db');
    const url = database === 'sqlite' ? `sqlite:${file}` : await (await sharedPostgres()).database();
    const sql = database === 'postgres' ? new Bun.SQL(url, { max: 1 }) : undefined;
    const query = async (text: string): Promise<any[]> => {
      if (sql) return [...(await sql.unsafe(text))];
      using opened = new Database(file);
      opened.run('PRAGMA busy_timeout = 5000');
      return opened.query(text).all();
    };
    const env = { DATABASE_URL: url, LOG_LEVEL: 'info' };
    const webhook = (...args: string[]) => command(folder, ['webhook', ...args], env);

    const told: { event: any; text: string; headers: Record<string, string>; isTaken: boolean }[] = [];
    const receive = (port: number) =>
      Bun.serve({
        hostname: '127.0.0.1',
        port,
        async fetch(request) {
          const text = await request.text();
          const isTaken = (told.length + 1) % 7 !== 0;
          told.push({ event: JSON.parse(text), text, headers: request.headers.toJSON(), isTaken });
          // Some take a while, so that kills come in between.
          await Bun.sleep(told.length % 5 === 0 ? 100 : 0);
          return new Response(null, { status: isTaken ? 200 : 500 });
        },
      });
    let receiver = receive(0);
    const port = Number(receiver.port);
    const target = `http://127.0.0.1:${port}/hook?key=hidden`;

    const refused = await webhook('add', target, '--on', 'Item.created');
    expect(refused.stderr).toMatch(
      /must be https, unless you say that the receiver is inside this network.*--allow-private says/s,
    );
    const made = await webhook('add', target, '--on', 'Item.created', '--on=Item.updated', '--allow-private');
    const [id = '', secret = ''] = made.stdout.trimEnd().split('\n');
    expect([made.exit, id, secret]).toEqual([
      0,
      expect.stringMatching(/^wh_\w{16}$/),
      expect.stringMatching(/^whsec_/),
    ]);

    const start = () => Server.start(folder, env);
    const nodes = await Promise.all(Array.from({ length: NODES }, start));
    let isDone = false;
    // What failed would be tried again in minutes.
    const hurrying = (async () => {
      for (let tries = 0; !isDone && tries < 1_000; tries++) {
        await query(
          'UPDATE "_duet_jobs" SET "due" = 0 WHERE "holder" IS NULL AND "error" IS NOT NULL RETURNING 1',
        );
        await Bun.sleep(200);
      }
    })();
    const written = new Set<string>();
    try {
      const keys: number[] = [];
      for (let count = 0; count < RECORDS; count++) {
        const item = await send(nodes[0]?.url ?? '', 'POST', '/items', { n: 0 });
        keys.push(item.id);
        written.add(`${item.id} 1`);
      }
      let version = 1;
      for (let kill = 0; kill < KILLS; kill++) {
        const node = nodes[kill % NODES];
        for (let round = 0; round < 3; round++) {
          version++;
          for (const key of keys) {
            await send(node?.url ?? '', 'PUT', `/items/${key}`, { n: version });
            written.add(`${key} ${version}`);
          }
        }
        node?.signal('SIGKILL');
        await node?.exited();
        if (kill % 2 === 0) {
          await receiver.stop(true);
          await Bun.sleep(100);
          receiver = receive(port);
        }
        nodes[kill % NODES] = await start();
      }
      await until(
        'the end of all deliveries',
        async () => (await query('SELECT 1 FROM "_duet_jobs"')).length === 0 && told.length >= written.size,
      );
    } finally {
      isDone = true;
      await hurrying;
      for (const node of nodes.slice(1)) await node[Symbol.asyncDispose]();
    }

    const versions = (key: string) =>
      told.filter(({ event }) => event.subject === key).map(({ event }) => event.data.version);
    const seen = told
      .filter(({ isTaken }) => isTaken)
      .map(({ event }) => `${event.subject} ${event.data.version}`);
    expect([...new Set(seen)].sort()).toEqual([...written].sort());
    for (const key of new Set(told.map(({ event }) => event.subject)))
      expect(versions(key)).toEqual(versions(key).toSorted((one: number, other: number) => one - other));
    for (const { text, headers } of told) new Webhook(secret).verify(text, headers);

    const listed = await webhook('list');
    expect(listed.stdout).toMatch(
      new RegExp(
        `^${id}\\thttp://127.0.0.1:${port}/hook\\?…\\tItem.created Item.updated\\tadded [^\\t]+\\tin use\\t0 waiting\\tat [\\w-]+\\n`,
      ),
    );
    expect(listed.stdout).toMatch(/\n\t[^\t]+\tItem.updated\t\d+\t[\w-]+\tattempt \d+\tdelivered\t200\n/);
    const rotated = await webhook('rotate', id);
    const known = told.length;
    await until('an answer that is good', async () => (await webhook('test', id)).exit === 0);
    const { text, headers, event } = told.at(-1) ?? { text: '', headers: {}, event: {} };
    expect(event.type).toBe('duet.test');
    for (const each of [secret, rotated.stdout.trim()]) new Webhook(each).verify(text, headers);
    expect(told.length).toBeGreaterThan(known);

    const { event: first } = told[0] ?? { event: {} };
    const count = told.length;
    expect(await webhook('replay', id, '--after', first.id)).toMatchObject({ exit: 0, stdout: '' });
    const again = () => told.slice(count).map((each) => each.event.id);
    await until('all but the first', async () => {
      await query(
        'UPDATE "_duet_jobs" SET "due" = 0 WHERE "holder" IS NULL AND "error" IS NOT NULL RETURNING 1',
      );
      return new Set(again()).size === written.size - 1;
    });
    expect(again()).not.toContain(first.id);

    const logs = JSON.stringify([listed, nodes[0]?.log, (await command(folder, ['export'], env)).stdout]);
    for (const hidden of [secret.slice(6), rotated.stdout.trim().slice(6), 'key=hidden'])
      expect(logs).not.toContain(hidden);
    await nodes[0]?.[Symbol.asyncDispose]();

    expect((await webhook('remove', id)).exit).toBe(0);
    expect(await webhook('list')).toMatchObject({ exit: 0, stdout: '' });
    expect((await webhook('test', id)).stderr).toContain(`There is no webhook "${id}".`);
    expect(await query('SELECT 1 FROM "_duet_jobs"')).toEqual([]);
    await receiver.stop(true);
    await sql?.close();
  }, 240_000);
});

test.skipIf(!Bun.which('openssl'))(
  'the certificate must be that of the name',
  async () => {
    using folder = new Folder({ 'schema.graphql': schema, 'data.json': '{}' });
    const [key, cert] = [folder.file('key.pem'), folder.file('cert.pem')];
    await Bun.$`openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 1 -subj /CN=localhost -addext subjectAltName=DNS:localhost -keyout ${key} -out ${cert}`.quiet();
    let told = 0;
    const receiver = Bun.serve({
      port: 0,
      tls: { key: Bun.file(key), cert: Bun.file(cert) },
      fetch: () => new Response(String(told++)),
    });
    const trusting = { NODE_EXTRA_CA_CERTS: cert };
    const tested = async (host: string, trusted: object) => {
      const env = { DATABASE_URL: `sqlite:${folder.file('duet.db')}`, ...trusted };
      const target = `https://${host}:${receiver.port}/`;
      const made = await command(folder, ['webhook', 'add', target, '--on', '*', '--allow-private'], env);
      return (await command(folder, ['webhook', 'test', made.stdout.split('\n')[0] ?? ''], env)).stderr;
    };
    expect(await tested('localhost', trusting)).toBe('Delivered: the receiver answered 200.\n');
    expect(await tested('127.0.0.1', trusting)).toContain('ERR_TLS_CERT_ALTNAME_INVALID');
    expect(await tested('localhost', {})).toContain('SELF_SIGNED');
    expect(told).toBe(1);
    await receiver.stop(true);
  },
  60_000,
);
