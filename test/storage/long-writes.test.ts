/** Writes on SQLite that no index bounds: they stop nobody, keep other writes waiting only so long, and leave nothing. */

import { Database } from 'bun:sqlite';
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { type Answer, JSON_HEADERS, openApp, within } from '../app.ts';
import { alive, Folder, Server } from '../process.ts';

setDefaultTimeout(120_000);

const sdl = `
  type Group @resource { id: ID!  label: String!  items: [Item!]! }
  type Item @resource { id: ID!  name: String!  group: Group }
  type Link @resource { id: ID!  before: Link @onDelete(do: CASCADE)  after: [Link!]! }`;

/** Each item of the group is held against each, for each of them: for longer than anybody lives. */
const ITEMS = 5_000;
const LINKS = 20_000;
const endless = {
  group: { items: { some: { group: { items: { some: { name: { contains: 'zzz' } } } } } } },
};
const endlessGraphql =
  '{ group: { items: { some: { group: { items: { some: { name: { contains: "zzz" } } } } } } } }';

const folder = new Folder({ 'schema.graphql': sdl, 'data.json': '{}' });
const file = folder.file('duet.db');

beforeAll(async () => {
  const app = await openApp('sqlite', { sdl, data: {}, url: `sqlite:${file}` });
  await app.close();
  using db = new Database(file);
  db.run('PRAGMA synchronous = OFF');
  const numbers = (count: number) =>
    `WITH RECURSIVE s(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM s WHERE i < ${count})`;
  db.run(`INSERT INTO "Group" (id, label, _version) VALUES (1, 'all', 1)`);
  db.run(
    `${numbers(ITEMS)} INSERT INTO "Item" (id, name, "groupId", _version) SELECT i, 'item ' || i, 1, 1 FROM s`,
  );
  db.run(
    `${numbers(LINKS)} INSERT INTO "Link" (id, "beforeId", _version) SELECT i, nullif(i - 1, 0), 1 FROM s`,
  );
});

afterAll(() => folder[Symbol.dispose]());

/** What is left to find after a write that must not have happened. */
function stored() {
  using db = new Database(file, { readonly: true });
  return db
    .query('SELECT (SELECT COUNT(*) FROM "Group") AS groups, (SELECT COUNT(*) FROM "Item") AS items')
    .get();
}

interface Request {
  readonly path: string;
  readonly body: unknown;
  readonly headers?: Record<string, string>;
}

const graphql = (query: string, headers = {}): Request => ({ path: '/graphql', body: { query }, headers });

const longWrites: [string, Request][] = [
  [
    'a later operation of a transaction',
    {
      path: '/transaction',
      body: {
        operations: [
          { method: 'POST', path: '/groups', body: { label: 'never' } },
          { method: 'DELETE', path: '/items', where: endless, atMost: 10 },
        ],
      },
    },
  ],
  [
    'a later field of @atomic',
    graphql(
      `mutation @atomic { createGroup(label: "never") { id } deleteItems(where: ${endlessGraphql}, atMost: 10) { id } }`,
    ),
  ],
  [
    'what stands under an Idempotency-Key',
    graphql(
      `mutation { createGroup(label: "never") { id } deleteItems(where: ${endlessGraphql}, atMost: 10) { id } }`,
      { 'Idempotency-Key': crypto.randomUUID() },
    ),
  ],
  [
    'related records that a write answers with',
    graphql(`mutation { updateGroup(id: 1, label: "never") { items(where: ${endlessGraphql}) { id } } }`),
  ],
];

async function send(server: { url: string }, { path, body, headers = {} }: Request) {
  const answer = await fetch(server.url + path, {
    method: 'POST',
    headers: { ...JSON_HEADERS, ...headers },
    body: JSON.stringify(body),
  });
  return { status: answer.status, body: (await answer.json()) as any };
}

function codeOf({ body }: Pick<Answer, 'body'>): string {
  return body.code ?? body.errors?.[0].extensions.code;
}

/** What is asked again and again until the work is done: nobody may wait for it. */
async function meanwhile<T>(
  server: { url: string },
  work: Promise<T>,
): Promise<{ result: T; served: number }> {
  const under = { way: true };
  const done = work.finally(() => {
    under.way = false;
  });
  let served = 0;
  while (under.way) {
    const [one, health] = await Promise.all([fetch(`${server.url}/items/7`), fetch(`${server.url}/healthz`)]);
    expect([one.status, health.status]).toEqual([200, 200]);
    served++;
  }
  return { result: await done, served };
}

function writers(pid: number): number[] {
  const { stdout } = Bun.spawnSync(['ps', '-A', '-o', 'pid=,ppid=,args=']);
  const lines = stdout.toString().split('\n');
  return lines.flatMap((line) => {
    const [own, parent, ...args] = line.trim().split(/\s+/);
    return Number(parent) === pid && args.includes('writer') ? [Number(own)] : [];
  });
}

async function writerOf(pid: number): Promise<number> {
  for (let tries = 0; tries < 1000; tries++) {
    const [found] = writers(pid);
    if (found !== undefined) return found;
    await Bun.sleep(10);
  }
  throw new Error('no writer within ten seconds');
}

describe.each(longWrites)('%s', (_, request) => {
  test('is ended when it has kept others waiting for too long, and nothing has happened', async () => {
    await using server = await Server.start(folder, { LIMIT_WRITE_HOLD: '1000' });
    const before = stored() as { groups: number };
    const asked = within(20_000, send(server, request));
    await writerOf(server.pid);
    const other = send(server, { path: '/groups', body: { label: 'waiting' } });
    const { result, served } = await meanwhile(server, asked);
    expect(codeOf(result)).toBe('WRITE_HOLD_EXCEEDED');
    // One that stood still would have answered once, afterwards.
    expect(served).toBeGreaterThan(20);
    expect((await within(20_000, other)).status).toBe(201);
    expect(stored()).toEqual({ ...before, groups: before.groups + 1 });
  });

  test('is ended at its deadline where nobody waits, and nothing has happened', async () => {
    await using server = await Server.start(folder, { LIMIT_WRITE_HOLD: '100', LIMIT_DEADLINE: '1500' });
    const before = stored();
    const { result, served } = await meanwhile(server, within(20_000, send(server, request)));
    expect(codeOf(result)).toBe('DEADLINE_EXCEEDED');
    expect(served).toBeGreaterThan(20);
    expect(stored()).toEqual(before);
  });
});

const [, [, long]] = longWrites as [unknown, [string, Request]];

test('other writes wait for a long one, and then happen', async () => {
  await using server = await Server.start(folder, { LIMIT_WRITE_HOLD: '1000' });
  const ended = send(server, long);
  await writerOf(server.pid);
  const others = Array.from({ length: 20 }, (_, index) =>
    send(server, { path: '/groups', body: { label: `other ${index}` } }),
  );
  for (const { status } of await within(20_000, Promise.all(others))) expect(status).toBe(201);
  expect(codeOf(await ended)).toBe('WRITE_HOLD_EXCEEDED');
});

test('those that wait for a long write are told of their own deadline in time', async () => {
  await using server = await Server.start(folder, { LIMIT_WRITE_HOLD: '3600000', LIMIT_DEADLINE: '4000' });
  const first = send(server, long);
  await writerOf(server.pid);
  const second = send(server, long);
  const waiting = send(server, { path: '/groups', body: { label: 'waiting' } });
  expect(codeOf(await within(20_000, first))).toBe('DEADLINE_EXCEEDED');
  expect(codeOf(await within(20_000, second))).toBe('DEADLINE_EXCEEDED');
  expect([201, 503]).toContain((await within(20_000, waiting)).status);
});

test('a writer that is killed is told of as what it is, and another takes its place', async () => {
  await using server = await Server.start(folder, { LIMIT_WRITE_HOLD: '60000', LIMIT_DEADLINE: '60000' });
  const before = stored();
  const ended = send(server, long);
  const pid = await writerOf(server.pid);
  await Bun.sleep(300);
  process.kill(pid, 'SIGKILL');
  expect(codeOf(await within(20_000, ended))).toBe('UNAVAILABLE');
  expect(stored()).toEqual(before);
  expect((await send(server, { path: '/groups', body: { label: 'after the kill' } })).status).toBe(201);
});

test('no writer outlives its server', async () => {
  await using server = await Server.start(folder, { LIMIT_WRITE_HOLD: '60000', LIMIT_DEADLINE: '60000' });
  const asked = send(server, long).catch(() => undefined);
  const pid = await writerOf(server.pid);
  server.signal('SIGKILL');
  await within(20_000, server.exited());
  for (let tries = 0; alive(pid) && tries < 1000; tries++) await Bun.sleep(10);
  expect(alive(pid)).toBe(false);
  await asked;
});

test('a cascade along a chain stops nobody, however long the chain is', async () => {
  await using server = await Server.start(folder, { LIMIT_WRITE_HOLD: '60000', LIMIT_DEADLINE: '60000' });
  const removed = fetch(`${server.url}/links/1`, { method: 'DELETE' });
  const { result, served } = await meanwhile(server, within(60_000, removed));
  expect(result.status).toBe(204);
  expect(served).toBeGreaterThan(20);
  expect((await (await fetch(`${server.url}/links?limit=1`)).json()) as unknown).toEqual([]);
});

test('many short operations are long together: they stop nobody either', async () => {
  await using server = await Server.start(folder);
  const operations = Array.from({ length: 1000 }, (_, index) => ({
    method: 'POST',
    path: '/items',
    body: { name: `new ${index}`, groupId: 1 },
  }));
  const { result } = await meanwhile(server, send(server, { path: '/transaction', body: { operations } }));
  expect(result.status).toBe(200);
  expect(result.body.results).toHaveLength(1000);
});

test('a create does not wait for many that are not so short, and came before it', async () => {
  await using server = await Server.start(folder, { DATABASE_URL: 'sqlite:duet.db' });
  const told: string[] = [];
  const post = async (path: string, body: unknown) => {
    const init = { method: 'POST', headers: JSON_HEADERS, body: JSON.stringify(body) };
    const { status } = await fetch(server.url + path, init);
    told.push(`${path} ${status}`);
  };
  const operations = Array.from({ length: 1000 }, (_, at) => ({
    method: 'PUT',
    path: `/items/${at + 1}`,
    body: { name: `item ${at + 1}` },
  }));
  const many = Array.from({ length: 20 }, () => post('/transaction', { operations }));
  // By the time the first is told, most of the others wait for it.
  await Promise.race(many);
  const before = told.length;
  await post('/groups', { label: 'short' });
  await Promise.all(many);
  expect(told.toSorted()).toEqual(['/groups 201', ...Array(20).fill('/transaction 200')]);
  expect(told.indexOf('/groups 201') - before).toBeLessThan(8);
});

test('of many records that are changed at once, what each becomes is worked out where they are changed alone', async () => {
  using folder = new Folder();
  const asked: unknown[] = [];
  const app = await openApp('sqlite', {
    sdl: 'type Note @resource { id: ID!  text: String! }',
    data: { notes: Array.from({ length: 2_001 }, (_, at) => ({ text: `note ${at}` })) },
    url: `sqlite:${folder.file('duet.db')}`,
    logic: { Note: { beforeUpdate: ({ record }: any) => void asked.push(record.id) } },
  });
  const { errors } = await app.graphql(
    'mutation { updateNotes(where: { text: { startsWith: "note" } }, atMost: 3000, set: { text: "other" }) { id } }',
  );
  expect([errors, asked.length]).toEqual([undefined, 2_001]);
  await app.close();
});

test('where no process can be started, short writes happen all the same', async () => {
  const slow = new Folder();
  const url = `sqlite:${slow.file('duet.db')}`;
  const app = await openApp('sqlite', { url, apart: ['false'], slowMs: 0 });
  const statuses: number[] = [];
  for (let round = 0; round < 3; round++)
    statuses.push((await app.rest('POST', '/notes', { title: 'short' })).status);
  expect(statuses).toEqual([201, 201, 201]);
  await app.close();
  slow[Symbol.dispose]();
});

describe('what costs more than the number of its rows', () => {
  const heavySdl = `
    type Shelf @resource { id: ID!  notes: [Note!]! }
    type Note @resource { id: ID!  body: String!  shelf: Shelf @onDelete(do: SET_NULL) }`;
  const heavy = new Folder({ 'schema.graphql': heavySdl, 'data.json': '{}' });
  const url = `sqlite:${heavy.file('duet.db')}`;
  /** More than a small file has, in few rows. */
  const NOTES = 100;
  const BYTES = 900_000;

  beforeAll(async () => {
    await (await openApp('sqlite', { sdl: heavySdl, data: {}, url })).close();
    using db = new Database(heavy.file('duet.db'));
    db.run('PRAGMA synchronous = OFF');
    db.run(`INSERT INTO "Shelf" (id, _version) VALUES (1, 1)`);
    const insert = db.query(`INSERT INTO "Note" (body, "shelfId", _version) VALUES (?, 1, 1)`);
    for (let note = 0; note < NOTES; note++) insert.run('x'.repeat(BYTES));
  });
  afterAll(() => heavy[Symbol.dispose]());

  test.each([
    ['GET', '/notes?body[contains]=zzz&limit=1', undefined],
    ['GET', '/notes?aggregate=max(body)', undefined],
    ['DELETE', '/shelfs/1', undefined],
  ] as const)('%s %s leaves the process', async (method, path, body) => {
    const app = await openApp('sqlite', { sdl: heavySdl, data: {}, url, apart: ['false'] });
    const answer = await app.rest(method, path, body);
    expect([answer.status, answer.body.code]).toEqual([503, 'UNAVAILABLE']);
    await app.close();
  });

  test.each([
    ...['IGNORE', "ABORT, 'no'", "FAIL, 'no'", "ROLLBACK, 'no'"].map((how) => `SELECT RAISE(${how})`),
    "SELECT json('{')",
    // Not before the end.
    'INSERT INTO "audit" VALUES (999)',
  ])('what a trigger refuses there by %s is told as here', async (fails) => {
    const app = await openApp('sqlite', { sdl: heavySdl, data: {}, url });
    using db = new Database(heavy.file('duet.db'));
    db.run(
      'CREATE TABLE IF NOT EXISTS "audit" ("x" REFERENCES "Shelf" ("id") DEFERRABLE INITIALLY DEFERRED)',
    );
    db.run(`CREATE TRIGGER leave BEFORE INSERT ON "Shelf" BEGIN ${fails}; END`);
    const operations = [
      { method: 'DELETE', path: '/shelfs/1' },
      { method: 'POST', path: '/shelfs', body: {} },
    ];
    const { body } = await app.rest('POST', '/transaction', { operations });
    expect([body.code, body.operation]).toEqual(['CONFLICT', fails.startsWith('SELECT') ? 1 : undefined]);
    expect((await app.rest('GET', '/shelfs')).body).toHaveLength(1);
    db.run('DROP TRIGGER leave');
    await app.close();
  });

  test('an export takes as much memory as a few of its records', async () => {
    await using server = await Server.start(heavy);
    const peak = () =>
      Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${server.pid}/status`, 'utf8'))?.[1]) * 1024;
    await (await fetch(`${server.url}/notes?limit=1`)).text();
    const before = peak();
    const answer = await fetch(`${server.url}/notes`, { headers: { Accept: 'application/x-ndjson' } });
    let bytes = 0;
    for await (const chunk of answer.body ?? []) bytes += chunk.length;
    expect(bytes).toBeGreaterThan(NOTES * BYTES);
    // As one page it took nine times as much as the file.
    expect(peak() - before).toBeLessThan(4 * NOTES * BYTES);
  });
});

test('lists of many values are told apart from those of few', async () => {
  const app = await openApp('sqlite', { sdl, data: {}, url: `sqlite:${file}`, apart: ['false'] });
  const ids = Array.from({ length: 10_000 }, (_, index) => String(index + 1));
  const ask = (lists: number) => {
    const names = Array.from({ length: lists }, (_, index) => `ids${index}`);
    const declared = names.map((name) => `$${name}: [ID!]!`);
    const parts = names.map((name) => `{ id: { in: $${name} } }`);
    return app.graphql(
      `query(${declared}) { groups(where: { or: [${parts}] }) { id } }`,
      Object.fromEntries(names.map((name) => [name, ids.slice(0, 6000)])),
    );
  };
  expect((await ask(2)).errors).toBeUndefined();
  expect((await ask(20)).errors?.[0].extensions.code).toBe('UNAVAILABLE');
  const many = await app.graphql('query($ids: [ID!]!) { groups(where: { id: { in: $ids } }) { id } }', {
    ids: [...ids, '10001'],
  });
  expect(many.errors?.[0].extensions.errors[0].code).toBe('OUT_OF_RANGE');
  const long = await app.graphql(
    'query($part: String!) { groups(where: { label: { contains: $part } }) { id } }',
    {
      part: 'a'.repeat(501),
    },
  );
  expect(long.errors?.[0].extensions.errors[0].code).toBe('LENGTH');
  await app.close();
});
