/** `GET /metrics`: what Prometheus reads, for one process and for several, and who may read it. */

import { Database } from 'bun:sqlite';
import { describe, expect, test } from 'bun:test';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { SignJWT } from 'jose';
import { type AppUnderTest, openApp, sharedPostgres, shipped } from '../app.ts';
import { bearer, sound } from '../http/issuer.ts';
import { Folder, Server } from '../process.ts';
import { Wire } from '../wire.ts';

const SECRET = 'a secret of at least thirty-two bytes';

/** Every sample by its name and labels; fails on what Prometheus could not read. */
function samples(text: string): Map<string, number> {
  const found = new Map<string, number>();
  let family = '';
  const families: string[] = [];
  for (const line of text.trimEnd().split('\n')) {
    const [, kind, name = ''] = /^# (HELP|TYPE) ([a-z_]+) .+$/.exec(line) ?? [];
    if (kind === 'HELP') {
      family = name;
      families.push(name);
    }
    if (kind) continue;
    const [, sample = '', labels = '', value] =
      /^([a-z_]+)((?:\{(?:[a-z]+="[^"\\]*",?)*\})?) ([0-9.e+-]+)$/.exec(line) ?? [];
    expect([line, sample.replace(/_(bucket|sum|count)$/, '')]).toEqual([
      line,
      family.replace(/_(bucket|sum|count)$/, ''),
    ]);
    expect(found.has(sample + labels)).toBe(false);
    found.set(sample + labels, Number(value));
  }
  // All lines of a metric are one group.
  expect(new Set(families).size).toBe(families.length);
  return found;
}

describe('one process', () => {
  test('counts requests by route, method and status, and says how long they took', async () => {
    const app = await openApp('sqlite');
    for (const path of [
      '/books',
      '/books/1',
      '/books/2',
      '/books/99',
      '/nowhere/1',
      '/nowhere/2',
      '/books/1?fields=id',
    ])
      await app.rest('GET', path);
    await app.rest('POST', '/books', { title: 'x', pages: 1 });
    await app.rest('POST', '/books', {});
    await app.rest('HEAD', '/books/1');
    for (const method of ['PROPFIND', 'MKCOL']) await app.fetch('/books', { method });
    const answer = await app.fetch('/metrics');
    expect(answer.headers.get('Content-Type')).toBe('text/plain; version=0.0.4; charset=utf-8');
    const found = samples(await answer.text());
    const total = (route: string, method: string, status: number) =>
      found.get(`duet_requests_total{route="${route}",method="${method}",status="${status}"}`);
    expect(total('/books', 'GET', 200)).toBe(1);
    expect(total('/books/{id}', 'GET', 200)).toBe(3);
    expect(total('/books/{id}', 'GET', 404)).toBe(1);
    expect(total('/books/{id}', 'HEAD', 200)).toBe(1);
    expect(total('/books', 'POST', 201)).toBe(1);
    expect(total('/books', 'POST', 400)).toBe(1);
    expect(total('/books', 'other', 405)).toBe(2);
    expect(total('none', 'GET', 404)).toBe(2);
    const series = 'route="/books/{id}",method="GET"';
    expect(found.get(`duet_request_duration_seconds_count{${series}}`)).toBe(4);
    expect(found.get(`duet_request_duration_seconds_bucket{${series},le="+Inf"}`)).toBe(4);
    expect(found.get(`duet_request_duration_seconds_sum{${series}}`)).toBeGreaterThan(0);
    const buckets = [...found].filter(([name]) =>
      name.startsWith(`duet_request_duration_seconds_bucket{${series}`),
    );
    expect(buckets.length).toBe(15);
    for (const [index, [, count]] of buckets.entries())
      expect(count).toBeGreaterThanOrEqual(buckets[index - 1]?.[1] ?? 0);
    expect(found.get('process_resident_memory_bytes')).toBeGreaterThan(1e6);
    await app.close();
  });

  test('counts GraphQL operations by name, of which clients cannot invent too many', async () => {
    const app = await openApp('sqlite');
    await app.graphql('query Named { books { id } }');
    await app.graphql('query Named { books { id } }');
    await app.graphql('{ books { id } }');
    await app.graphql('mutation Fail { deleteBook(id: "99") { id } }');
    await app.graphql('query Broken { nothing }');
    await app.graphql(`query ${'L'.repeat(101)} { books { id } }`);
    for (let name = 0; name < 300; name++) await app.graphql(`query Q${name} { __typename }`);
    await app.graphql('query Named { books { id } }');
    const found = samples(await (await app.fetch('/metrics')).text());
    const total = (operation: string, type: string, outcome: string) =>
      found.get(
        `duet_graphql_operations_total{operation="${operation}",type="${type}",outcome="${outcome}"}`,
      );
    expect(total('Named', 'query', 'ok')).toBe(3);
    expect(total('anonymous', 'query', 'ok')).toBe(1);
    expect(total('Fail', 'mutation', 'error')).toBe(1);
    expect(total('Broken', 'query', 'error')).toBeUndefined();
    expect(total('Q0', 'query', 'ok')).toBe(1);
    expect(total('Q299', 'query', 'ok')).toBeUndefined();
    expect(total('other', 'query', 'ok')).toBeGreaterThan(100);
    const names = [...found.keys()].filter((name) => name.startsWith('duet_graphql_operations_total'));
    expect(names.length).toBeLessThanOrEqual(201);
    expect(found.get('duet_graphql_operation_duration_seconds_count{operation="Named",type="query"}')).toBe(
      3,
    );
    await app.close();
  });

  test('tells them to callers with the role metrics only, once there are callers', async () => {
    const app = await openApp('sqlite', { env: { AUTH_SECRET: SECRET } });
    const token = (roles: unknown) =>
      new SignJWT(sound({ roles }))
        .setProtectedHeader({ alg: 'HS256' })
        .sign(new TextEncoder().encode(SECRET));
    const ask = async (headers: Record<string, string>) => {
      const answer = await app.fetch('/metrics', { headers });
      return [answer.status, answer.headers.get('WWW-Authenticate')];
    };
    expect(await ask({})).toEqual([401, 'Bearer']);
    expect(await ask(bearer(await token(['reader'])))).toEqual([403, 'Bearer error="insufficient_scope"']);
    expect(await ask(bearer(await token(['reader', 'metrics'])))).toEqual([200, null]);
    expect(await ask(bearer(await token('reader metrics')))).toEqual([200, null]);
    expect(await ask(bearer(await token({ metrics: true })))).toEqual([
      401,
      'Bearer error="invalid_token", error_description="The roles of the token are not acceptable"',
    ]);
    await app.close();
  });
});

/** Looks until the numbers are these. */
async function told(app: AppUnderTest, wanted: Record<string, number>): Promise<void> {
  let found: Map<string, number> | undefined;
  for (let tries = 0; tries < 500; tries++) {
    found = samples(await (await app.fetch('/metrics')).text());
    if (Object.entries(wanted).every(([name, value]) => found?.get(name) === value)) return;
    await Bun.sleep(10);
  }
  expect(Object.fromEntries(Object.keys(wanted).map((name) => [name, found?.get(name)]))).toEqual(wanted);
}

describe('the database', () => {
  test('SQLite: what waits to be written, the log and the file', async () => {
    using folder = new Folder();
    const app = await openApp('sqlite', { ...shipped, url: `sqlite:${folder.file('duet.db')}` });
    await app.rest('POST', '/notes', { title: 'x' });
    const found = samples(await (await app.fetch('/metrics')).text());
    expect(found.get('duet_wal_bytes')).toBe(statSync(folder.file('duet.db-wal')).size);
    expect(found.get('duet_wal_bytes')).toBeGreaterThan(0);
    expect(found.get('duet_database_bytes')).toBeGreaterThan(4096);
    expect(found.get('duet_reader_processes{state="busy"}')).toBe(0);
    expect(found.get('duet_reader_waiting')).toBe(0);
    expect(found.get('duet_cache_entries{cache="statements"}')).toBeGreaterThan(0);
    await told(app, { 'duet_write_queue{kind="short"}': 0, 'duet_write_queue{kind="long"}': 0 });
    const other = new Database(folder.file('duet.db'));
    other.run('BEGIN IMMEDIATE');
    const writes = [1, 2, 3, 4, 5].map((each) => app.rest('POST', '/notes', { title: `${each}` }));
    await told(app, { 'duet_write_queue{kind="short"}': 5 });
    other.run('COMMIT');
    other.close();
    for (const { status } of await Promise.all(writes)) expect(status).toBe(201);
    await told(app, { 'duet_write_queue{kind="short"}': 0 });
    await app.close();
  });

  test('PostgreSQL: the connections, what waits for one, and what was tried again', async () => {
    const url = await (await sharedPostgres()).database();
    const through = new URL(url);
    using wire = await Wire.start(Number(through.port));
    through.port = String(wire.port);
    // However long a busy machine takes to ask for the figures meanwhile.
    const env = {
      DATABASE_CONNECTIONS: '2',
      DATABASE_CONNECT_TIMEOUT: '30000',
      DATABASE_LOCK_TIMEOUT: '30000',
      DATABASE_STATEMENT_TIMEOUT: '30000',
      LIMIT_DEADLINE: '30000',
    };
    const app = await openApp('postgres', { ...shipped, url: through.href, env });
    await app.rest('GET', '/books/1');
    await told(app, {
      duet_database_connections_limit: 2,
      'duet_database_connections{state="idle"}': 1,
      'duet_database_connections{state="busy"}': 0,
      duet_database_waiting: 0,
      duet_database_retries_total: 0,
    });
    const admin = new Bun.SQL(url, { max: 1 });
    await admin.unsafe('BEGIN');
    await admin.unsafe('LOCK TABLE "Post" IN ACCESS EXCLUSIVE MODE');
    // What refers to others shares no statement: each takes a connection of its own.
    const post = { body: 'x', authorId: 1 };
    const writes = [1, 2, 3, 4, 5].map((each) => app.rest('POST', '/posts', { title: `${each}`, ...post }));
    await told(app, {
      'duet_database_connections{state="idle"}': 0,
      'duet_database_connections{state="busy"}': 2,
      duet_database_waiting: 3,
    });
    await admin.unsafe('COMMIT');
    for (const { status } of await Promise.all(writes)) expect(status).toBe(201);
    await told(app, { 'duet_database_connections{state="busy"}': 0, duet_database_waiting: 0 });
    const size = await admin.unsafe('SELECT pg_database_size(current_database())::int AS bytes');
    const found = samples(await (await app.fetch('/metrics')).text());
    expect(found.get('duet_database_bytes')).toBeGreaterThan(size[0].bytes / 2);
    await admin.close();
    wire.cut('before');
    expect((await app.rest('GET', '/books/1')).status).toBe(200);
    await told(app, { duet_database_retries_total: 1 });
    await app.close();
  });

  test('what is kept, and what was not there', async () => {
    const app = await openApp('sqlite', { ...shipped, env: { AUTH_SECRET: SECRET } });
    const token = await new SignJWT(sound({ roles: ['metrics'] }))
      .setProtectedHeader({ alg: 'HS256' })
      .sign(new TextEncoder().encode(SECRET));
    const look = async () => samples(await (await app.fetch('/metrics', { headers: bearer(token) })).text());
    await look();
    for (const query of ['{ __typename }', '{ __typename }', '{ a: __typename }'])
      await app.graphql(query, {}, bearer(token));
    const found = await look();
    const kept = (cache: string) => [
      found.get(`duet_cache_entries{cache="${cache}"}`),
      found.get(`duet_cache_misses_total{cache="${cache}"}`),
    ];
    expect([kept('documents'), kept('callers')]).toEqual([
      [2, 2],
      [1, 1],
    ]);
    await app.close();
  });
});

test('of statements with long filters, worded ever anew, few are kept', async () => {
  const app = await openApp('sqlite', shipped);
  const ask = 'query ($where: NoteWhere) { notes(where: $where) { id } }';
  for (let more = 0; more < 200; more++) {
    const or = Array.from({ length: 490 - more }, () => ({ title: { startsWith: 'a' } }));
    const { errors } = await app.graphql(ask, { where: { id: { eq: '1' }, or } });
    expect(errors).toBeUndefined();
  }
  const found = samples(await (await app.fetch('/metrics')).text());
  expect(found.get('duet_cache_misses_total{cache="statements"}')).toBeGreaterThan(200);
  expect(found.get('duet_cache_entries{cache="statements"}')).toBeLessThan(180);
  await app.close();
}, 60_000);

test('every metric of the dashboard is told', async () => {
  const text = await Bun.file(join(import.meta.dir, '../../docs/grafana.json')).text();
  const dashboard = JSON.parse(text);
  const expressions = dashboard.panels.flatMap(({ targets = [] }) => targets.map(({ expr }: any) => expr));
  expect(expressions.length).toBeGreaterThan(10);
  const named = new Set<string>(
    expressions.flatMap((expr: string) => expr.match(/\b(?:duet|process)_[a-z_]+/g) ?? []),
  );
  const known = new Set<string>();
  const env = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9', OTEL_TRACES_SAMPLER_ARG: '0' };
  for (const url of ['sqlite:duet.db', await (await sharedPostgres()).database()]) {
    using folder = new Folder({
      'schema.graphql': `${shipped.sdl} type Kept @resource @journal { id: ID! }`,
      'logic.ts': 'export default { Kept: { async afterCreate() {} } };',
    });
    const read: Record<string, string> = url.startsWith('sqlite:') ? {} : { DATABASE_READ_URL: url };
    await using server = await Server.start(folder, { DATABASE_URL: url, ...read, ...env });
    const body = JSON.stringify({ query: '{ books { id } }' });
    const headers = { 'Content-Type': 'application/json' };
    await fetch(`${server.url}/graphql`, { method: 'POST', headers, body });
    await fetch(`${server.url}/kepts`, { method: 'POST', headers, body: '{}' });
    const told = async () => (await fetch(`${server.url}/metrics`)).text();
    // What is counted in the database is told after somebody has looked.
    for (let looks = 0; looks < 100 && !(await told()).includes('duet_jobs_stored{'); looks++)
      await Bun.sleep(50);
    for (const name of samples(await told()).keys()) known.add(name.replace(/\{.*/, ''));
  }
  expect([...named].filter((name) => !known.has(name))).toEqual([]);
  // And whatever there is to see is on it.
  const shown = [...known].filter((name) => !/_(sum|count)$/.test(name));
  expect(shown.filter((name) => !named.has(name))).toEqual([]);
});

test('several processes answer for each other, whichever is asked', async () => {
  using folder = new Folder();
  await using server = await Server.start(folder, { WORKERS: '3' });
  await server.logged('supervising');
  const asked = 60;
  for (let count = 0; count < asked; count++)
    // A connection of its own may reach any of them.
    await fetch(`${server.url}/books/1`, { headers: { Connection: 'close' } });
  for (let count = 0; count < 5; count++) {
    const answer = await fetch(`${server.url}/metrics`, { headers: { Connection: 'close' } });
    const found = samples(await answer.text());
    const totals = [1, 2, 3].map(
      (worker) =>
        found.get(`duet_requests_total{route="/books/{id}",method="GET",status="200",worker="${worker}"}`) ??
        0,
    );
    expect(totals.reduce((sum, each) => sum + each, 0)).toBe(asked);
    const memory = [1, 2, 3].map(
      (worker) => found.get(`process_resident_memory_bytes{worker="${worker}"}`) ?? 0,
    );
    expect(Math.min(...memory)).toBeGreaterThan(1e6);
  }
  const recent = await fetch(`${server.url}/_duet/requests`, { headers: { Connection: 'close' } });
  const paths = ((await recent.json()) as { path: string }[]).map(({ path }) => path);
  expect(paths.filter((path) => path === '/books/1').length).toBe(asked);
});
