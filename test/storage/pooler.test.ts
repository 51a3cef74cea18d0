/** Behind PgBouncer in transaction mode, told of it or not: every answer is right, and nothing is left to others. */

import { describe, expect, setDefaultTimeout, test } from 'bun:test';
import { join } from 'node:path';
import { SQL } from 'bun';
import fc from 'fast-check';
import { type AppUnderTest, openApp, sharedPostgres, shipped, within } from '../app.ts';
import { hasPgBouncer, PgBouncer, type PoolerOptions } from '../pgbouncer.ts';
import { Folder, Server } from '../process.ts';

setDefaultTimeout(60_000);

if (!hasPgBouncer && process.env['CI'] === 'true')
  throw new Error('pgbouncer is needed: .ci/run installs it');
if (!hasPgBouncer) test.skip('install pgbouncer to test what it does to sessions', () => {});

/** Whoever does not know that sessions are shared asks for these, which PgBouncer refuses unless it is told not to. */
const IGNORED = 'statement_timeout, lock_timeout';

interface Scene extends AsyncDisposable {
  /** Through the pooler. */
  readonly url: string;
  /** A session of the server itself. */
  readonly direct: SQL;
  readonly app: (env?: Record<string, string>, sdl?: string) => Promise<AppUnderTest>;
}

async function scene(options: PoolerOptions): Promise<Scene> {
  const postgres = await sharedPostgres();
  const own = await postgres.database();
  const pooler = await PgBouncer.start(postgres.port, options);
  const url = pooler.through(own);
  const direct = new SQL(own, { max: 1 });
  const apps: AppUnderTest[] = [];
  return {
    url,
    direct,
    async app(env = {}, sdl) {
      const app = await openApp('postgres', sdl === undefined ? { ...shipped, url, env } : { sdl, url, env });
      apps.push(app);
      return app;
    },
    async [Symbol.asyncDispose]() {
      for (const app of apps) await app.close();
      await direct.close({ timeout: 0 });
      await pooler[Symbol.asyncDispose]();
    },
  };
}

/** A disk or processor that stands still for two seconds is told as 503, which is right, and not what is asked here. */
const patient = {
  DATABASE_CONNECT_TIMEOUT: '30000',
  DATABASE_LOCK_TIMEOUT: '30000',
  DATABASE_STATEMENT_TIMEOUT: '30000',
  LIMIT_DEADLINE: '30000',
};

/** Sixteen clients who each know what they have stored, and see to it that they are told nothing else. */
async function sixteenClients(app: AppUnderTest): Promise<void> {
  const client = async (name: string) => {
    for (let round = 0; round < 8; round++) {
      const title = `${name} ${round}`;
      const { status, body } = await app.rest('POST', '/books', { title, pages: round + 1 });
      expect({ status, title: body.title, pages: body.pages }).toEqual({
        status: 201,
        title,
        pages: round + 1,
      });
      const [rest, graphql, listed, changed] = await Promise.all([
        app.rest('GET', `/books/${body.id}`),
        app.graphql(
          'query ($id: ID!) { book(id: $id) { title pages } users { posts { comments { id } } } }',
          {
            id: body.id,
          },
        ),
        app.rest('GET', `/books?title=${encodeURIComponent(title)}&count=true`),
        app.rest('PUT', `/todos/1`, { title }),
      ]);
      expect(rest.body).toEqual(body);
      expect(graphql.errors).toBeUndefined();
      expect(graphql.data.book).toEqual({ title, pages: round + 1 });
      expect([listed.headers.get('X-Total-Count'), listed.body]).toEqual(['1', [body]]);
      expect([changed.status, changed.body.title]).toEqual([200, title]);
      expect((await app.rest('DELETE', `/books/${body.id}`)).status).toBe(204);
      expect((await app.rest('GET', `/books/${body.id}`)).status).toBe(404);
    }
  };
  await Promise.all(Array.from({ length: 16 }, (_, index) => client(`client ${index}`)));
}

/** What the sessions of the server would do to whoever gets them next. */
async function leftovers({ url }: Scene): Promise<unknown[]> {
  const others = await Promise.all(
    [1, 2].map(async () => {
      const sql = new SQL(url, { max: 1 });
      return { sql, session: await sql.reserve() };
    }),
  );
  try {
    for (const { session } of others) await session.unsafe('BEGIN').simple();
    return await Promise.all(
      others.map(async ({ session }) => {
        const look = `SELECT current_setting('statement_timeout') AS statement, current_setting('lock_timeout') AS lock,
          current_setting('idle_in_transaction_session_timeout') AS idle,
          (SELECT COUNT(*)::int FROM pg_prepared_statements) AS prepared`;
        const [row] = await session.unsafe(look).simple();
        return row;
      }),
    );
  } finally {
    for (const { sql } of others) await sql.close({ timeout: 0 });
  }
}

const clean = { statement: '0', lock: '0', idle: '0', prepared: 0 };

describe.if(hasPgBouncer)('PgBouncer in transaction mode', () => {
  const ways: [string, PoolerOptions, Record<string, string>][] = [
    ['that is announced', { sessions: 2 }, { DATABASE_POOLER: 'transaction' }],
    ['that is found by what it refuses', { sessions: 2 }, {}],
    ['that is found by what it ignores', { sessions: 2, ignored: IGNORED }, {}],
  ];
  test.each(ways)(
    '%s: sixteen clients on two sessions are told the truth, and leave nothing',
    async (...way) => {
      const [, options, env] = way;
      await using on = await scene(options);
      const app = await on.app({ ...env, ...patient, DATABASE_CONNECTIONS: '8' });
      await sixteenClients(app);
      expect(await leftovers(on)).toEqual([clean, clean]);
    },
  );

  test('sessions that pass parameters on are found to be shared, too', async () => {
    await using on = await scene({ sessions: 2, ignored: IGNORED });
    const name = new URL(on.url).pathname.slice(1);
    // As if the pooler had passed on what was asked for.
    await on.direct.unsafe(`ALTER DATABASE "${name}" SET statement_timeout = 5000`);
    await sixteenClients(await on.app({ ...patient, DATABASE_CONNECTIONS: '8' }));
    expect((await leftovers(on)).map((row: any) => row.prepared)).toEqual([0, 0]);
  });

  test('a pooler that lends sessions for as long as a client stays is no trouble', async () => {
    await using on = await scene({ sessions: 12, ignored: IGNORED, mode: 'session' });
    await sixteenClients(await on.app({ ...patient, DATABASE_CONNECTIONS: '4' }));
  });

  test('a pooler that lends sessions for a statement is refused', async () => {
    await using on = await scene({ sessions: 2, mode: 'statement' });
    await expect(on.app()).rejects.toThrow(/ransaction/);
  });

  test('a statement is ended at the deadline, and none goes on after the answer', async () => {
    await using on = await scene({ sessions: 2 });
    const app = await on.app({ LIMIT_DEADLINE: '600' });
    await on.direct.unsafe(`
      ALTER TABLE "Item" RENAME TO "_Item";
      CREATE VIEW "Item" AS SELECT "_Item".* FROM (SELECT pg_sleep(30) OFFSET 0) AS slept, "_Item"`);
    for (const path of ['/items', '/items/1']) {
      const { status, body } = await within(5_000, app.rest('GET', path));
      expect([status, body.code]).toEqual([503, 'DEADLINE_EXCEEDED']);
    }
    const { errors } = await within(5_000, app.graphql('{ items { id } books { id } }'));
    expect(errors?.map(({ extensions }) => extensions.code)).toContain('DEADLINE_EXCEEDED');
    // A statement that reaches the server late ends so much later, and long before it would by itself.
    const sleeping = () => on.direct`SELECT query FROM pg_stat_activity
      WHERE datname = current_database() AND wait_event = 'PgSleep'`;
    for (let tries = 0; tries < 200 && (await sleeping()).length > 0; tries++) await Bun.sleep(25);
    expect([...(await sleeping())]).toEqual([]);
    expect((await app.rest('GET', '/books/1')).status).toBe(200);
  });

  test('a lock that is not given in time', async () => {
    await using on = await scene({ sessions: 2 });
    const app = await on.app({ DATABASE_LOCK_TIMEOUT: '300' });
    await on.direct`BEGIN`;
    await on.direct`SELECT 1 FROM "Todo" WHERE id = 1 FOR UPDATE`;
    const { status, body } = await within(3_000, app.rest('PUT', '/todos/1', { title: 'x' }));
    expect([status, body.code]).toEqual([503, 'UNAVAILABLE']);
    await on.direct`ROLLBACK`;
    expect((await app.rest('PUT', '/todos/1', { title: 'x' })).status).toBe(200);
  });

  test('records are written with their changes, or not at all', async () => {
    await using on = await scene({ sessions: 2 });
    const app = await on.app({}, 'type Memo @resource @journal { id: ID!  text: String!  at: DateTime }');
    const text = "it's \\ $1";
    const at = '2026-01-01T00:00:00.001Z';
    expect((await app.rest('POST', '/memos', { text, at })).status).toBe(201);
    expect((await app.rest('PUT', '/memos/1', { text: 'b' })).status).toBe(200);
    await on.direct.unsafe('ALTER TABLE "_duet_changes" ADD CHECK ("after" NOT LIKE \'%wrong%\')');
    for (const [method, path] of [
      ['POST', '/memos'],
      ['PUT', '/memos/1'],
    ] as const)
      expect((await app.rest(method, path, { text: 'wrong' })).body.code).toBe('CONFLICT');
    expect((await app.rest('GET', '/memos')).body).toEqual([{ id: 1, text: 'b', at }]);
    const { body } = await app.rest('GET', '/changes/memos');
    expect(body.map(({ after }: any) => after)).toEqual([
      { id: 1, text, at },
      { id: 1, text: 'b', at },
    ]);
  });

  test('processes that start at once make and change the tables once', async () => {
    await using on = await scene({ sessions: 3 });
    const start = async (sdl: string) => {
      using folder = new Folder({ 'schema.graphql': sdl, 'data.json': '{"as":[{"n":1},{"n":2}]}' });
      const env = { DATABASE_URL: on.url, DATABASE_POOLER: 'transaction' };
      const servers = await Promise.all([1, 2, 3].map(() => Server.start(folder, env)));
      const lists = await Promise.all(servers.map(async ({ url }) => (await fetch(`${url}/as`)).json()));
      for (const server of servers) await server[Symbol.asyncDispose]();
      return lists;
    };
    const [one, two] = [
      { id: 1, n: 1 },
      { id: 2, n: 2 },
    ];
    expect(await start('type A @resource { id: ID! n: Int }')).toEqual(Array(3).fill([one, two]));
    const later = 'type A @resource { id: ID! n: Int @index s: String! @default(value: "d") }';
    expect(await start(later)).toEqual(Array(3).fill([one, two].map((each) => ({ ...each, s: 'd' }))));
    const history = await on.direct`SELECT steps FROM "_duet_history" ORDER BY id`;
    expect(history).toHaveLength(2);
  });

  test.each(['on', 'off'])('text is text, with standard_conforming_strings %s', async (conforming) => {
    await using on = await scene({ sessions: 2 });
    const name = new URL(on.url).pathname.slice(1);
    await on.direct.unsafe(`ALTER DATABASE "${name}" SET standard_conforming_strings = ${conforming}`);
    const sdl = `type A @resource @table(name: "it's $1") { id: ID!  s: String! @column(name: "$1 '")  j: JSON }`;
    const app = await on.app({ DATABASE_POOLER: 'transaction' }, sdl);
    const piece = fc.constantFrom(
      "'",
      '\\',
      '$1',
      '$2',
      '"',
      ';',
      '--',
      '/*',
      "E'",
      '\n',
      'é',
      '𝄞',
      '%',
      '{',
      '}',
      ',',
    );
    const text = fc.oneof(
      fc.array(piece, { maxLength: 12 }).map((pieces) => pieces.join('')),
      fc.string({ unit: 'grapheme' }).filter((each) => !each.includes('\0')),
    );
    await fc.assert(
      fc.asyncProperty(text, text, async (s, key) => {
        const { status, body } = await app.rest('POST', '/as', { s, j: { [key]: [s] } });
        expect([status, body]).toEqual([201, { id: expect.any(Number), s, j: { [key]: [s] } }]);
        const where = {
          id: { eq: body.id },
          or: [{ s: { eq: s } }, { s: { in: [s, 'x'] } }],
          s: { contains: s },
        };
        const found = await app.rest('GET', `/as?where=${encodeURIComponent(JSON.stringify(where))}`);
        expect(found.body).toEqual([body]);
      }),
      { numRuns: 40 },
    );
  });

  test('what holds without it holds behind it', async () => {
    const files = [
      'query/extremes',
      'storage/trees',
      'storage/storage',
      'conformance/parity',
      'conformance/transactions',
      'conformance/idempotency',
      'conformance/bulk',
      'conformance/nested-create',
      'conformance/reading-shapes',
      'conformance/one-moment',
      'conformance/rule-races',
    ].map((name) => join('test', `${name}.test.ts`));
    // What is on SQLite has no pooler.
    const only = ['-t', '^((?!sqlite).)*$'];
    const run = Bun.spawn(
      [process.execPath, '--no-env-file', 'test', '--timeout', '60000', ...only, ...files],
      {
        cwd: join(import.meta.dir, '../..'),
        env: { ...process.env, DUET_TEST_POOLER: 'transaction' },
        stdout: 'ignore',
        stderr: 'pipe',
      },
    );
    const told = await run.stderr.text();
    expect(told).toMatch(/\b\d{3,} pass\n\s+0 fail\n/);
    expect(await run.exited).toBe(0);
  }, 600_000);
});
