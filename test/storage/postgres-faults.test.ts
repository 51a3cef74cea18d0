/** PostgreSQL restarts, crashes, hangs and is cut off, and nobody is told anything that is not true. */

import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test';
import { type Answer, type AppUnderTest, openApp, shipped, within } from '../app.ts';
import { Postgres } from '../postgres.ts';
import { type Cut, Wire } from '../wire.ts';

/** The longest that anybody waits for an answer. */
const ANSWER_MS = 10_000;
/** The longest until all is well again. */
const RECOVERY_MS = 5_000;
/** "About two seconds", the time that a connection is waited for. */
const CONNECT_MS = 3_000;

/** `ok`, or the code of the error, by either door. */
type Outcome = 'ok' | 'UNAVAILABLE' | 'OUTCOME_UNKNOWN';

setDefaultTimeout(60_000);

let postgres: Postgres;

beforeAll(async () => {
  postgres = await Postgres.start();
});

afterAll(() => postgres.end());

/** Fails on any status and code that a database in trouble is no reason for. */
function outcomeOf({ status, body, headers }: Answer): Outcome {
  const [error] = body.errors ?? [];
  const code = status === 503 ? body.code : error?.extensions?.code;
  if (code === undefined && status >= 200 && status < 300) return 'ok';
  expect(status === 503 ? headers.get('Retry-After') : '1').toBe('1');
  expect({ status, code, body }).toEqual({
    status: error ? 200 : 503,
    code: expect.stringMatching(/^(UNAVAILABLE|OUTCOME_UNKNOWN)$/),
    body,
  });
  return code;
}

/** Creates a record that nobody else creates, in one statement or in several, by either door. */
const writes: ((app: AppUnderTest, marker: string) => Promise<Answer>)[] = [
  (app, title) => app.rest('POST', '/todos', { title }),
  (app, body) => app.rest('POST', '/comments', { body, postId: 1 }),
  (app, title) => app.graphql('mutation ($title: String!) { addTodo(title: $title) { id } }', { title }),
  (app, body) =>
    app.graphql('mutation ($body: String!) { createComment(body: $body, postId: 1) { post { title } } }', {
      body,
    }),
];

/** In one statement, and in several. */
const reads: ((app: AppUnderTest) => Promise<Answer>)[] = [
  (app) => app.rest('GET', '/books'),
  (app) => app.graphql('{ users { posts { comments { body } } } books { title } }'),
];

function pick<T>(list: readonly T[], index: number): T {
  return list[index % list.length] as T;
}

async function write(app: AppUnderTest, kind: number, marker: string): Promise<Outcome> {
  return outcomeOf(await within(ANSWER_MS, pick(writes, kind)(app, marker)));
}

async function read(app: AppUnderTest, kind: number): Promise<Outcome> {
  return outcomeOf(await within(ANSWER_MS, pick(reads, kind)(app)));
}

/** What was told about each marker, and what is true of it. */
class Ledger {
  readonly #told = new Map<string, Outcome>();
  #count = 0;

  async write(app: AppUnderTest, kind: number): Promise<Outcome> {
    const marker = `marker ${++this.#count}`;
    const outcome = await write(app, kind, marker);
    this.#told.set(marker, outcome);
    return outcome;
  }

  count(outcome: Outcome): number {
    return [...this.#told.values()].filter((each) => each === outcome).length;
  }

  async check(url: string): Promise<void> {
    const stored = new Map<string, number>();
    const sql = new Bun.SQL(url, { max: 1 });
    // What was sent by sessions that nobody listens to any more is done or undone first.
    for (let tries = 0; tries < 200; tries++) {
      const [{ busy }] = await sql`SELECT COUNT(*)::int AS busy FROM pg_stat_activity
        WHERE datname = current_database() AND state <> 'idle' AND pid <> pg_backend_pid()`;
      if (busy === 0) break;
      await Bun.sleep(20);
    }
    for (const {
      marker,
    } of await sql`SELECT title AS marker FROM "Todo" UNION ALL SELECT body FROM "Comment"`)
      stored.set(marker, (stored.get(marker) ?? 0) + 1);
    await sql.close();
    const lies = [...this.#told].filter(([marker, outcome]) => {
      const times = stored.get(marker) ?? 0;
      return times > 1 || (outcome === 'ok' && times === 0) || (outcome === 'UNAVAILABLE' && times === 1);
    });
    expect(lies).toEqual([]);
  }
}

/** The process ids of the sessions of a database. */
async function sessions(url: string): Promise<number[]> {
  const sql = new Bun.SQL(postgres.url(), { max: 1 });
  const name = new URL(url).pathname.slice(1);
  const found = await sql`SELECT pid FROM pg_stat_activity WHERE datname = ${name}`;
  await sql.close();
  return found.map(({ pid }: any) => pid);
}

async function recovered(app: AppUnderTest): Promise<void> {
  const until = performance.now() + RECOVERY_MS;
  for (;;) {
    const put = within(ANSWER_MS, app.rest('PUT', '/books/1', { pages: 7 }));
    const ready = within(ANSWER_MS, app.rest('GET', '/readyz'));
    const all = await Promise.all([read(app, 1), put.then(outcomeOf), ready.then(outcomeOf)]);
    if (all.every((each) => each === 'ok')) return;
    if (performance.now() > until) throw new Error(`${all} after ${RECOVERY_MS} ms`);
    await Bun.sleep(20);
  }
}

async function isHealthy(app: AppUnderTest): Promise<void> {
  expect((await within(CONNECT_MS, app.fetch('/healthz'))).status).toBe(200);
}

async function isNotReady(app: AppUnderTest, ms: number): Promise<void> {
  expect(outcomeOf(await within(ms, app.rest('GET', '/readyz')))).toBe('UNAVAILABLE');
}

test('restarts and crashes under load', async () => {
  const url = await postgres.database();
  const app = await openApp('postgres', { ...shipped, url });
  const ledger = new Ledger();
  let over = false;
  const clients = Array.from({ length: 24 }, async (_, client) => {
    for (let round = 0; !over && round < 20_000; round++) {
      const isRead = (client + round) % 3 === 0;
      const outcome = isRead ? await read(app, round) : await ledger.write(app, client + round);
      if (outcome !== 'ok') await Bun.sleep(10);
    }
  });
  for (const mode of ['fast', 'immediate', 'immediate', 'fast', 'immediate'] as const) {
    await Bun.sleep(300);
    await postgres.stop(mode);
    await Bun.sleep(100);
    await isHealthy(app);
    await postgres.run();
    await recovered(app);
  }
  over = true;
  await Promise.all(clients);
  expect(ledger.count('ok')).toBeGreaterThan(0);
  expect(ledger.count('UNAVAILABLE')).toBeGreaterThan(0);
  await ledger.check(url);
  await app.close();
});

test('a server that hangs', async () => {
  const url = await postgres.database();
  const app = await openApp('postgres', { ...shipped, url });
  const ledger = new Ledger();
  await Promise.all(Array.from({ length: 8 }, (_, kind) => ledger.write(app, kind)));
  expect(ledger.count('ok')).toBe(8);
  const before = await sessions(url);
  expect(before.length).toBeGreaterThan(0);
  await postgres.hang();
  try {
    const waiting = [
      ...Array.from({ length: 16 }, (_, kind) => ledger.write(app, kind)),
      ...Array.from({ length: 16 }, (_, kind) => read(app, kind)),
    ];
    await isHealthy(app);
    await isNotReady(app, ANSWER_MS);
    const outcomes = await Promise.all(waiting);
    expect(outcomes).not.toContain('ok');
    await isHealthy(app);
    // Nothing is left of the old connections: whoever comes now learns it as soon as no new one can be made.
    expect(await Promise.all([1, 2, 3].map((kind) => within(CONNECT_MS, ledger.write(app, kind))))).toEqual(
      Array(3).fill('UNAVAILABLE'),
    );
  } finally {
    await postgres.resume();
  }
  await recovered(app);
  await ledger.check(url);
  // What the app gave up it has closed: the server keeps no session, and no lock, for nobody.
  const after = await sessions(url);
  expect(before.filter((pid) => after.includes(pid))).toEqual([]);
  await app.close();
  for (let tries = 0; (await sessions(url)).length > 0; tries++) {
    expect(tries).toBeLessThan(200);
    await Bun.sleep(20);
  }
});

test('a statement that outlives its own timeout: the server is there, and too busy', async () => {
  const url = await postgres.database();
  const app = await openApp('postgres', { ...shipped, url, env: { DATABASE_STATEMENT_TIMEOUT: '500' } });
  await app.rest('GET', '/books');
  await postgres.hang();
  try {
    const { status, body } = await app.rest('GET', '/books');
    expect([status, body.code, body.detail]).toEqual([503, 'UNAVAILABLE', 'The database is too busy.']);
  } finally {
    await postgres.resume();
  }
  await recovered(app);
  await app.close();
});

test('whoever waits for somebody else to connect does not wait twice as long', async () => {
  const url = await postgres.database();
  const app = await openApp('postgres', { ...shipped, url, env: { DATABASE_CONNECTIONS: '1' } });
  await postgres.hang();
  try {
    // The second comes halfway: it is woken when the first gives up, and has half of its time left.
    const waiting = [0, 1_000, 1_500].map(async (ms) => {
      await Bun.sleep(ms);
      return within(CONNECT_MS - 500, app.rest('GET', '/books'));
    });
    for (const answer of await Promise.all(waiting)) expect(outcomeOf(answer)).toBe('UNAVAILABLE');
  } finally {
    await postgres.resume();
  }
  await recovered(app);
  await app.close();
});

test('a server that is not there', async () => {
  const url = await postgres.database();
  const app = await openApp('postgres', { ...shipped, url });
  const ledger = new Ledger();
  await postgres.stop('fast');
  try {
    for (let kind = 0; kind < writes.length; kind++)
      expect(await within(CONNECT_MS, ledger.write(app, kind))).toBe('UNAVAILABLE');
    for (const kind of reads.keys()) expect(await within(CONNECT_MS, read(app, kind))).toBe('UNAVAILABLE');
    await isNotReady(app, CONNECT_MS);
    await isHealthy(app);
  } finally {
    await postgres.run();
  }
  await recovered(app);
  await ledger.check(url);
  await app.close();
});

describe('a connection that is cut', () => {
  let wire: Wire;
  let app: AppUnderTest;
  let url: string;

  beforeAll(async () => {
    wire = await Wire.start(postgres.port);
    url = await postgres.database();
    app = await openApp('postgres', { ...shipped, url: url.replace(/:\d+\//, `:${wire.port}/`) });
  });

  afterAll(async () => {
    await app.close();
    wire[Symbol.dispose]();
  });

  const count = async (marker: string) =>
    JSON.stringify([(await app.rest('GET', '/todos')).body, (await app.rest('GET', '/comments')).body]).split(
      `"${marker}"`,
    ).length - 1;

  const cases: [Cut, number][] = [
    ['before', 0],
    ['within', 1],
    ['after', 1],
  ];
  describe.each(cases)('%s the exchange of', (cut, applied) => {
    test.each([1, 3])('a COMMIT: nobody knows (write %p)', async (kind) => {
      const marker = crypto.randomUUID();
      await write(app, kind, 'another');
      wire.cut(cut, 'COMMIT');
      expect(await write(app, kind, marker)).toBe('OUTCOME_UNKNOWN');
      expect(wire.sprung).toBe(true);
      expect(await count(marker)).toBe(applied);
    });

    test.each([0, 2])('a statement that commits by itself: nobody knows (write %p)', async (kind) => {
      const marker = crypto.randomUUID();
      // Prepared beforehand, so that what is cut carries the values.
      await write(app, kind, 'another');
      wire.cut(cut, marker);
      expect(await write(app, kind, marker)).toBe('OUTCOME_UNKNOWN');
      expect(wire.sprung).toBe(true);
      expect(await count(marker)).toBe(applied);
    });

    test.each([1, 3])('a statement of a transaction: it is done again, once (write %p)', async (kind) => {
      const marker = crypto.randomUUID();
      await write(app, kind, 'another');
      wire.cut(cut, marker);
      expect(await write(app, kind, marker)).toBe('ok');
      expect(wire.sprung).toBe(true);
      expect(await count(marker)).toBe(1);
    });

    test.each([0, 1])('a read: it is done again (read %p)', async (kind) => {
      const expected = (await pick(reads, kind)(app)).body;
      wire.cut(cut);
      const answer = await pick(reads, kind)(app);
      expect(outcomeOf(answer)).toBe('ok');
      expect(wire.sprung).toBe(true);
      expect(answer.body).toEqual(expected);
    });

    test('again and again: the answer says so', async () => {
      const marker = crypto.randomUUID();
      wire.cut(cut, marker, 20);
      expect(await write(app, 1, marker)).toBe('UNAVAILABLE');
      wire.cut('before', crypto.randomUUID());
      expect(await count(marker)).toBe(0);
    });
  });

  test.each([
    [
      'writes first',
      'mutation ($name: String!) { createUser(name: $name, email: "a@b.example") { posts { id } } }',
    ],
    ['reads first', 'mutation ($name: String!) { updateUser(id: 1, name: $name) { posts { id } } }'],
  ])('a transaction that could not begin writes nothing (one that %s)', async (_, write) => {
    const name = crypto.randomUUID();
    await app.graphql(write, { name: 'another' });
    using _garbled = wire.garble('BEGIN');
    expect((await app.graphql(write, { name })).errors?.[0].extensions.code).toBe('INTERNAL');
    expect(wire.sprung).toBe(true);
    expect(JSON.stringify((await app.rest('GET', '/users')).body)).not.toContain(name);
  });

  test('a table that somebody else has changed since statements were prepared', async () => {
    const other = new Bun.SQL(url, { max: 1 });
    const write = async () => {
      const put = { method: 'PUT', path: '/books/1', body: { pages: 7 } };
      const answers = [
        await app.rest('PUT', '/books/1', { pages: 6 }),
        await app.rest('POST', '/transaction', { operations: [put] }),
        await app.rest('GET', '/books/1'),
      ];
      return answers.map(({ status }) => status);
    };
    expect(await write()).toEqual([200, 200, 200]);
    for (const type of ['smallint', 'integer']) {
      await other.unsafe(`ALTER TABLE "Book" ALTER COLUMN "pages" TYPE ${type}`);
      expect(await write()).toEqual([200, 200, 200]);
    }
    await other.close();
  });

  test('a server that says farewell and hangs up late', async () => {
    const other = new Bun.SQL(url, { max: 1 });
    await app.rest('PUT', '/books/1', { pages: 1 });
    wire.muffled = true;
    await other`BEGIN`;
    await other`SELECT 1 FROM "Book" WHERE id = 1 FOR UPDATE`;
    // Of a single statement nobody would know whether it was done.
    const put = { method: 'PUT', path: '/books/1', body: { pages: 2 } };
    const answer = app.rest('POST', '/transaction', { operations: [put] });
    for (let tries = 0, ended = 0; ended === 0 && tries < 300; tries++) {
      await Bun.sleep(10);
      ended = (
        await other`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
          WHERE datname = current_database() AND wait_event_type = 'Lock'`
      ).length;
    }
    await other`COMMIT`;
    await other.close();
    expect((await within(CONNECT_MS, answer)).status).toBe(200);
    wire.muffled = false;
  });
});
