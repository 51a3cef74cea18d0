/** Duet as a part of another program, and several of them in one. */

import { Database } from 'bun:sqlite';
import { describe, expect, test } from 'bun:test';
import { existsSync } from 'node:fs';
import { createClient } from 'graphql-ws';
import { createDuet, type Duet, type DuetOptions } from '../../src/app/library.ts';
import { databases, JSON_HEADERS, sharedPostgres, shipped, within } from '../app.ts';
import { childrenOf, Folder } from '../process.ts';
import { hasRedis, Redis } from '../redis.ts';

const SDL = 'type Note @resource { id: ID!  title: String! @constraint(maxLength: 20) }';
const MEMORY = 'sqlite::memory:';
const quiet = { log: () => {} };

async function ask(duet: Duet, path: string, body?: unknown, headers = {}): Promise<Response> {
  const init = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) };
  return duet.fetch(
    new Request(`http://host.test${path}`, { headers: { ...JSON_HEADERS, ...headers }, ...init }),
  );
}

describe.each([...databases])('on %s', (kind) => {
  test('it answers through both doors, from a text and its records', async () => {
    const database = kind === 'sqlite' ? MEMORY : await (await sharedPostgres()).database();
    const duet = await createDuet({ ...quiet, schema: SDL, data: { notes: [{ title: 'given' }] }, database });
    const created = await ask(duet, '/notes', { title: 'by REST' });
    expect([created.status, created.headers.get('Location')]).toEqual([201, '/notes/2']);
    const query = 'mutation { createNote(title: "by GraphQL") { id } }';
    expect(await (await ask(duet, '/graphql', { query })).json()).toEqual({
      data: { createNote: { id: '3' } },
    });
    const notes = (await (await ask(duet, '/notes')).json()) as any[];
    expect(notes.map(({ title }) => title)).toEqual(['given', 'by REST', 'by GraphQL']);
    expect((await ask(duet, '/')).headers.get('Content-Type')).toStartWith('text/html');
    await duet.close();
  });
});

test('it takes files too, and no data that nobody named', async () => {
  using folder = new Folder();
  const [schema, database] = [folder.file('schema.graphql'), `sqlite:${folder.file('x.db')}`];
  const before = process.cwd();
  process.chdir(folder.path);
  try {
    const empty = await createDuet({ ...quiet, schema, database: MEMORY });
    expect(await (await ask(empty, '/books')).json()).toEqual([]);
    await empty.close();
  } finally {
    process.chdir(before);
  }
  const duet = await createDuet({ ...quiet, schema, database, data: folder.file('data.json') });
  expect(((await (await ask(duet, '/books')).json()) as any[]).length).toBe(shipped.data.books.length);
  await duet.close();
  expect(existsSync(folder.file('x.db-wal'))).toBe(false);
});

describe('what is wrong is said', () => {
  const rows: [object, string][] = [
    [{ schema: 'type X @resource { id: ID!\n y: Strin }' }, 'schema:2:5 Unknown type "Strin" on X.y.'],
    [{ schema: 'nowhere.graphql' }, 'cannot read nowhere.graphql'],
    [{ limitBody: 0 }, 'limitBody must be a whole number from 1 to 1073741824, not "0"'],
    [{ authSecret: 'short' }, 'authSecret must be at least 32 bytes long'],
    [{ limitBodi: 1 }, 'unknown option "limitBodi". Did you mean "limitBody"'],
    [{ port: 80 }, 'unknown option "port". The options are: '],
    [{ data: { notes: [{}] } }, 'data: notes[0]: title is required'],
  ];
  test.each(rows)('%p', async (options, message) => {
    const given = { ...quiet, schema: SDL, database: MEMORY, ...options } as DuetOptions;
    expect(await createDuet(given).then(String, (error) => error.message)).toStartWith(message);
  });
});

test('settings are options: null is none, numbers are numbers', async () => {
  const lines: string[] = [];
  const duet = await createDuet({
    schema: SDL,
    database: MEMORY,
    limitBody: 30,
    introspection: 'off',
    corsOrigins: 'https://app.test',
    rateLimitCaller: null,
    logLevel: 'info',
    log: (text) => lines.push(text),
  });
  expect((await ask(duet, '/notes', { title: 'too long for the limit' })).status).toBe(413);
  const { status, headers } = await ask(duet, '/schema.graphql', undefined, { Origin: 'https://app.test' });
  expect([status, headers.get('Access-Control-Allow-Origin')]).toEqual([404, 'https://app.test']);
  await duet.close();
  const events = lines
    .join('')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(events.filter(({ event }) => event === 'request').length).toBe(2);
});

describe('several in one process', () => {
  test('each has its own schema, limits and numbers', async () => {
    const [short, long] = await Promise.all([
      createDuet({ ...quiet, schema: SDL, database: MEMORY, limitInFlight: 1, limitBody: 30 }),
      createDuet({ ...quiet, schema: SDL.replaceAll('Note', 'Memo'), database: MEMORY }),
    ]);
    const send = (duet: Duet, path: string) => ask(duet, path, { title: 'a title of 20 chars.' });
    expect([(await send(short, '/notes')).status, (await send(long, '/memos')).status]).toEqual([413, 201]);
    expect((await ask(long, '/notes')).status).toBe(404);
    // What the one works on is no load of the other.
    const under = [ask(long, '/memos'), ask(long, '/memos'), ask(short, '/notes')];
    expect((await Promise.all(under)).map(({ status }) => status)).toEqual([200, 200, 200]);
    const counted = async (duet: Duet) => {
      const text = await (await ask(duet, '/metrics')).text();
      return [...text.matchAll(/^duet_requests_total\{.*?\} (\d+)$/gm)].reduce(
        (sum, [, n]) => sum + Number(n),
        0,
      );
    };
    expect([await counted(short), await counted(long)]).toEqual([2, 4]);
    await short.close();
    expect((await ask(long, '/memos/1')).status).toBe(200);
    await long.close();
  });

  test('a body may take as long as its own says, whoever waits for another', async () => {
    const open = (limitBodyTime: number) =>
      createDuet({ ...quiet, schema: SDL, database: MEMORY, limitBodyTime });
    const [patient, hasty] = await Promise.all([open(30_000), open(200)]);
    const ends: (() => void)[] = [];
    const slow = (duet: Duet) => {
      const body = new ReadableStream({
        start: (controller) => {
          controller.enqueue(new TextEncoder().encode('{"title":"slow"}'));
          ends.push(() => controller.close());
        },
      });
      return duet.fetch(
        new Request('http://host.test/notes', { method: 'POST', headers: JSON_HEADERS, body }),
      );
    };
    const waiting = slow(patient);
    const refused = slow(hasty);
    expect((await within(10_000, refused)).status).toBe(408);
    ends[0]?.();
    expect((await waiting).status).toBe(201);
    await Promise.all([patient.close(), hasty.close()]);
  });

  test('each throws its own expired answers away', async () => {
    using folder = new Folder();
    const open = (name: string) =>
      createDuet({ ...quiet, schema: SDL, database: `sqlite:${folder.file(name)}` });
    const keyed = (duet: Duet, key: string) =>
      ask(duet, '/notes', { title: key }, { 'Idempotency-Key': key });
    const before = await open('b.db');
    await keyed(before, 'old');
    await before.close();
    const file = new Database(folder.file('b.db'));
    file.run(`UPDATE "_duet_answers" SET "at" = '2020-01-01T00:00:00.000Z'`);
    const [a, b] = await Promise.all([open('a.db'), open('b.db')]);
    await keyed(a, 'new');
    await keyed(b, 'new');
    // After the answer: nobody waits for that.
    const kept = () => file.query('SELECT "key" FROM "_duet_answers"').all();
    for (let tries = 0; tries < 500 && kept().length > 1; tries++) await Bun.sleep(20);
    expect(kept()).toEqual([{ key: 'new' }]);
    file.close();
    await Promise.all([a.close(), b.close()]);
  });
});

test('closing lets what is under way finish; what comes later is 503', async () => {
  using folder = new Folder();
  const duet = await createDuet({ ...quiet, schema: SDL, database: `sqlite:${folder.file('x.db')}` });
  const writing = ask(duet, '/notes', { title: 'last' });
  const closed = duet.close();
  expect((await writing).status).toBe(201);
  const late = await ask(duet, '/notes');
  expect([late.status, ((await late.json()) as any).code]).toEqual([503, 'UNAVAILABLE']);
  await Promise.all([closed, duet.close()]);
});

test('beside a router of its own, with the addresses of clients', async () => {
  const duet = await createDuet({ ...quiet, schema: SDL, database: MEMORY, rateLimitAddress: '3/3600' });
  using server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    routes: { '/hello': () => new Response('hello'), '/*': duet.fetch },
  });
  const status = async (path: string) => (await fetch(server.url.origin + path)).status;
  expect(await (await fetch(`${server.url.origin}/hello`)).text()).toBe('hello');
  expect([await status('/notes'), await status('/notes/1'), await status('/notes')]).toEqual([200, 404, 200]);
  expect([await status('/notes'), await status('/hello')]).toEqual([429, 200]);
  // What other routers hand over beside a request says nothing of addresses.
  const request = new Request('http://host.test/notes');
  for (const beside of [{}, null, 'env']) expect((await duet.fetch(request, beside)).status).not.toBe(500);
  await duet.close();
});

test.skipIf(!hasRedis)('closing lets go of Redis', async () => {
  await using redis = await Redis.start();
  const rates = { redisUrl: redis.url, rateLimitAddress: '100/60' };
  const duet = await createDuet({ ...quiet, schema: SDL, database: MEMORY, ...rates });
  const clients = async () => {
    const admin = new Bun.RedisClient(redis.url);
    const list = String(await admin.send('CLIENT', ['LIST']));
    admin.close();
    return list.trim().split('\n').length - 1;
  };
  const until = async (count: number) => {
    for (let tries = 0; tries < 200 && (await clients()) !== count; tries++) await Bun.sleep(20);
    return clients();
  };
  expect(await until(1)).toBe(1);
  await duet.close();
  expect(await until(0)).toBe(0);
});

describe('on a file', () => {
  /** A program that writes more than is written in the process that serves, and ends by itself. */
  const program = `
import { appendFileSync } from 'node:fs';
import { createDuet } from '${new URL('../../src/app/library.ts', import.meta.url).pathname}';
appendFileSync('starts', 'x');
const duet = await createDuet({ schema: 'schema.graphql', database: 'sqlite:duet.db' });
const ask = (query, variables) =>
  duet.fetch(new Request('http://x/graphql', { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ query, variables }) }));
const tasks = Array.from({ length: 2500 }, (_, index) => ({ title: 'task ' + index }));
await ask('mutation($tasks: [TaskInput!]!) { createTasks(records: $tasks) { id } }', { tasks });
const answer = await (await ask('mutation { deleteTasks(where: {}, atMost: 10000) { id } }')).json();
console.log(answer.data.deleteTasks.length);
await Bun.stdin.text();
await duet.close();
`;

  test.each([
    ['from its sources', 1, [process.execPath, '--no-env-file', 'program.ts']],
    ['as an executable', 0, ['./program']],
  ] as const)('%s, a program is not started again for long work', async (_, writers, command) => {
    using folder = new Folder({ 'program.ts': program });
    if (writers === 0)
      Bun.spawnSync([process.execPath, 'build', '--compile', '--outfile', 'program', 'program.ts'], {
        cwd: folder.path,
      });
    const child = Bun.spawn([...command], {
      cwd: folder.path,
      stdin: 'pipe',
      stdout: 'pipe',
      stderr: 'pipe',
    });
    const told = child.stdout.getReader();
    const { value = new Uint8Array() } = await told.read();
    expect(new TextDecoder().decode(value)).toBe('2500\n');
    expect(childrenOf(child.pid, 'writer').length).toBe(writers);
    child.stdin.end();
    expect(await within(10_000, child.exited)).toBe(0);
    const log = await child.stderr.text();
    expect(log).toContain('there is no authentication');
    expect(log.includes('was built into another file')).toBe(writers === 0);
    expect(await Bun.file(folder.file('starts')).text()).toBe('x');
  });
});

test('a program hands sockets over, or says that it takes none', async () => {
  const duet = await createDuet({
    ...quiet,
    schema: 'type Note @resource @journal { id: ID! title: String! }',
    database: MEMORY,
  });
  const server = Bun.serve({ port: 0, fetch: duet.fetch, websocket: duet.websocket });
  const client = createClient({ url: `ws://localhost:${server.port}/graphql`, retryAttempts: 0 });
  const answers = client.iterate({ query: 'query @live { notes { title } }' });
  expect((await within(10_000, answers.next())).value).toEqual({ data: { notes: [] } });
  const without = Bun.serve({ port: 0, fetch: duet.fetch });
  const headers = {
    Connection: 'Upgrade',
    Upgrade: 'websocket',
    'Sec-WebSocket-Key': 'dGhlIHNhbXBsZSBub25jZQ==',
    'Sec-WebSocket-Version': '13',
    'Sec-WebSocket-Protocol': 'graphql-transport-ws',
  };
  const refused = await fetch(`http://localhost:${without.port}/graphql`, { headers });
  expect([refused.status, await refused.text()]).toEqual([503, expect.stringContaining('Bun.serve')]);
  const ended = answers.next().catch(({ code }) => code);
  const stopped = [server.stop(), without.stop(true)];
  await duet.close();
  expect(await within(10_000, ended)).toBe(1012);
  await within(10_000, Promise.all(stopped));
});
