/** PostgreSQL that can only be read, by its nature or since a moment ago; roles that may do little; servers that come late. */

import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test';
import { join } from 'node:path';
import { SQL } from 'bun';
import { openApp, shipped, within } from '../app.ts';
import { Postgres } from '../postgres.ts';
import { command, Folder, Server, throughBothDoors, written } from '../process.ts';
import { Wire } from '../wire.ts';

setDefaultTimeout(60_000);

let postgres: Postgres;

beforeAll(async () => {
  postgres = await Postgres.start();
});

afterAll(() => postgres.end());

async function administer(url: string, ...statements: string[]): Promise<void> {
  const sql = new SQL(url, { max: 1 });
  for (const each of statements) await sql.unsafe(each).simple();
  await sql.close();
}

const nameOf = (url: string) => new URL(url).pathname.slice(1);

/** A database with the shipped tables and records in it. */
async function filled(): Promise<string> {
  const url = await postgres.database();
  await (await openApp('postgres', { ...shipped, url })).close();
  return url;
}

const readOnly = 'the database is read-only: reads are served, and writes are answered 503 (UNAVAILABLE)';
const refusedWrites = [
  503,
  {
    data: null,
    errors: [expect.objectContaining({ extensions: expect.objectContaining({ code: 'UNAVAILABLE' }) })],
  },
];

async function expectReadsOnly(server: Server & { readonly url: string }): Promise<void> {
  expect(server.log.map(({ message }) => message)).toContain(readOnly);
  expect((await fetch(`${server.url}/books/1`)).status).toBe(200);
  expect((await fetch(`${server.url}/readyz`)).status).toBe(200);
  expect(await throughBothDoors(server)).toEqual(refusedWrites);
}

test('after a failover, sessions to the server that became read-only are replaced', async () => {
  const old = await Postgres.start();
  const next = await Postgres.start();
  const [oldUrl, nextUrl] = [await old.database(), await next.database()];
  await (await openApp('postgres', { ...shipped, url: nextUrl })).close();
  using wire = await Wire.start(old.port);
  const app = await openApp('postgres', { ...shipped, url: oldUrl.replace(/:\d+\//, `:${wire.port}/`) });
  const write = () => within(5_000, app.rest('POST', '/notes', { title: 'x' }));
  const ready = async () => (await app.rest('GET', '/readyz')).status;
  await Promise.all(Array.from({ length: 6 }, write));
  expect(await ready()).toBe(200);

  await administer(oldUrl, 'ALTER SYSTEM SET default_transaction_read_only = on', 'SELECT pg_reload_conf()');
  for (let tries = 0; (await ready()) === 200 && tries < 100; tries++) await Bun.sleep(20);
  const { status, body } = await write();
  expect([status, body.code, body.detail]).toEqual([
    503,
    'UNAVAILABLE',
    'The database is read-only: nothing can be written now.',
  ]);
  expect((await app.graphql('mutation { createNote(title: "x") { id } }')).errors).toMatchObject([
    { extensions: { code: 'UNAVAILABLE' } },
  ]);
  expect(await ready()).toBe(503);
  expect((await app.rest('GET', '/books')).status).toBe(200);

  // New connections lead to the new primary; the old ones are still open.
  wire.target = next.port;
  for (let tries = 0; (await write()).status !== 201 && tries < 100; tries++) await Bun.sleep(50);
  expect(await Promise.all(Array.from({ length: 12 }, async () => (await write()).status))).toEqual(
    Array(12).fill(201),
  );
  expect(await ready()).toBe(200);
  await app.close();
  await old.end();
  await next.end();
});

describe('a database that is read-only', () => {
  test('by its settings: reads are served, writes are answered 503', async () => {
    const url = await filled();
    await administer(url, `ALTER DATABASE "${nameOf(url)}" SET default_transaction_read_only = on`);
    using folder = new Folder();
    {
      await using server = await Server.start(folder, { DATABASE_URL: url });
      await expectReadsOnly(server);
    }
    using more = new Folder({ 'schema.graphql': `${shipped.sdl} type Extra @resource { id: ID! }` });
    const { exit, stderr } = await command(more, ['serve'], { DATABASE_URL: url });
    expect([exit, stderr]).toEqual([
      2,
      'duet: the database is read-only, but the schema asks for changes: create table Extra. Run `duet migrate` with this schema where the database can be written, then start again\n',
    ]);
  });

  test('because it is a standby, until it is promoted', async () => {
    const url = await filled();
    const standby = await postgres.standby();
    using folder = new Folder();
    await using server = await Server.start(folder, { DATABASE_URL: standby.url(nameOf(url)) });
    await expectReadsOnly(server);
    await administer(standby.url(), 'SELECT pg_promote()');
    expect(await throughBothDoors(server)).toEqual(written);
    await standby.end();
  });

  test('because it is a standby: changes are told as far as the primary has put them in order', async () => {
    const sdl = 'type Note @resource @journal(keep: "1d") { id: ID!  title: String! }';
    const url = await postgres.database();
    const primary = await openApp('postgres', { sdl, url });
    const create = (title: string) => {
      const operations = [{ method: 'POST', path: '/notes', body: { title } }];
      return primary.rest('POST', '/transaction', { operations });
    };
    const told = async (base: string, path = '/changes/notes') => {
      const answer = await fetch(base + path);
      return [answer.status, ((await answer.json()) as any[]).map(({ after }) => after.title)];
    };
    using folder = new Folder({ 'schema.graphql': sdl, 'data.json': '{}' });
    await create('first');
    const early = await postgres.standby();
    {
      await using server = await Server.start(folder, { DATABASE_URL: early.url(nameOf(url)) });
      expect(await told(server.url)).toEqual([200, []]);
    }
    await early.end();
    await primary.rest('GET', '/changes/notes');
    await create('second');
    const sql = new SQL(url, { max: 1 });
    expect(await sql`SELECT 1 FROM _duet_changes WHERE position IS NULL`).toHaveLength(1);
    await sql.close();
    await primary.close();
    const standby = await postgres.standby();
    await using server = await Server.start(folder, { DATABASE_URL: standby.url(nameOf(url)) });
    for (const path of ['/changes/notes', '/changes'])
      expect(await told(server.url, path)).toEqual([200, ['first']]);
    await administer(standby.url(), 'SELECT pg_promote()');
    expect(await told(server.url)).toEqual([200, ['first', 'second']]);
    await standby.end();
  });

  test('because it is a standby, to writes that would be serializable', async () => {
    const sdl = `type Note @resource
      @allow(to: [READ])
      @allow(to: [CREATE], where: { reply: { replies: { none: {} } } })
      { id: ID!  title: String  reply: Note  replies: [Note!]! }`;
    const url = await postgres.database();
    await (await openApp('postgres', { sdl, url })).close();
    const standby = await postgres.standby();
    using folder = new Folder({ 'schema.graphql': sdl, 'data.json': '{}' });
    const env = { DATABASE_URL: standby.url(nameOf(url)), AUTH_KEYS: 'on' };
    await using server = await Server.start(folder, env);
    expect(await throughBothDoors(server)).toEqual(refusedWrites);
    await standby.end();
  });

  test('to a role that may only look', async () => {
    const url = await filled();
    await administer(
      url,
      'CREATE ROLE looker LOGIN',
      'GRANT SELECT ON ALL TABLES IN SCHEMA public TO looker',
    );
    using folder = new Folder();
    await using server = await Server.start(folder, { DATABASE_URL: url.replace('duet@', 'looker@') });
    await expectReadsOnly(server);
  });
});

test('the role that docs/production.md tells to make serves, and changes no tables', async () => {
  const text = await Bun.file(join(import.meta.dir, '../../docs/production.md')).text();
  const [, sql = ''] = /```sql\n(CREATE ROLE[\s\S]*?)```/.exec(text) ?? [];
  const url = await filled();
  await administer(url, sql);
  const [, role] = /CREATE ROLE (\w+)/.exec(sql) ?? [];
  const env = { DATABASE_URL: url.replace('duet@', `${role}@`) };
  using folder = new Folder();
  {
    await using server = await Server.start(folder, env);
    expect(await throughBothDoors(server)).toEqual(written);
    for (const path of ['/notes/1', '/users/1/', '/todos/1'])
      expect((await fetch(server.url + path, { method: 'DELETE' })).status).not.toBe(500);
    const keyed = {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', 'Idempotency-Key': '"a"' },
    };
    const post = () => fetch(`${server.url}/notes`, { ...keyed, body: '{"title":"once"}' });
    expect([(await post()).status, (await post()).status]).toEqual([201, 201]);
    expect((await fetch(`${server.url}/readyz`)).status).toBe(200);
    expect(server.log.map(({ message }) => message)).not.toContain(readOnly);
  }
  using more = new Folder({ 'schema.graphql': `${shipped.sdl} type Extra @resource { id: ID! }` });
  const { exit, stderr } = await command(more, ['serve'], env);
  expect([exit, stderr]).toEqual([
    2,
    'duet: permission denied for schema public. Run `duet migrate` as a role that may change the tables, then start again\n',
  ]);
  // What the first role makes later is there for the other, too.
  expect((await command(more, ['migrate'], { DATABASE_URL: url })).exit).toBe(0);
  await using server = await Server.start(more, env);
  expect(
    (
      await fetch(`${server.url}/extras`, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json' },
        body: '{}',
      })
    ).status,
  ).toBe(201);
});

describe('a server that is not there', () => {
  test('is waited for at start-up', async () => {
    const url = await filled();
    await postgres.stop('fast');
    using folder = new Folder();
    const starting = Server.start(folder, { DATABASE_URL: url });
    await Bun.sleep(1_500);
    await postgres.run();
    await using server = await starting;
    expect((await fetch(`${server.url}/books/1`)).status).toBe(200);
    const at = `127.0.0.1:${postgres.port}/${nameOf(url)}`;
    const told = server.log.flatMap(({ event, message }) => (event === 'notice' ? [message] : []));
    expect(told.slice(0, 2)).toEqual([
      `waiting for PostgreSQL at ${at}, up to 30000 ms`,
      `PostgreSQL at ${at} is there now`,
    ]);
  });

  test.each(['serve', 'migrate', 'diff'])(
    'ends `duet %s` after the wait, by its name and without its password',
    async (name) => {
      using folder = new Folder();
      const env = { DATABASE_URL: 'postgres://duet:hush@127.0.0.1:1/books', DATABASE_WAIT: '300' };
      const { exit, stdout, stderr } = await command(folder, [name], env);
      expect(exit).toBe(2);
      expect(stderr).toMatch(
        /duet: PostgreSQL at 127\.0\.0\.1:1\/books cannot be used within 300 ms \(DATABASE_WAIT\): .*\. DATABASE_URL names another\n$/,
      );
      expect(stdout + stderr).not.toContain('hush');
    },
  );

  test('a database that does not exist is told at once', async () => {
    using folder = new Folder();
    const { exit, stderr } = await command(folder, ['serve'], { DATABASE_URL: postgres.url('nowhere') });
    expect([exit, stderr]).toEqual([
      2,
      `duet: PostgreSQL at 127.0.0.1:${postgres.port}/nowhere cannot be used: database "nowhere" does not exist. DATABASE_URL names another\n`,
    ]);
  });

  test('a folder for a SQLite file', async () => {
    using folder = new Folder();
    const { exit, stderr } = await command(folder, ['serve'], { DATABASE_URL: 'sqlite:no/such/x.db' });
    expect([exit, stderr]).toEqual([
      2,
      'duet: there is no folder no/such for the database. Make it, or name another with DATABASE_URL\n',
    ]);
  });
});
