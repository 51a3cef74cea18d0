/** Transactions on PostgreSQL that wait, lose, are ended from outside or fail late: all of them or nothing, and told truly. */

import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test';
import { SQL } from 'bun';
import { Connection, Pool } from '../../src/storage/postgres/pool.ts';
import { type Answer, type AppUnderTest, openApp, shipped, within } from '../app.ts';
import { Postgres } from '../postgres.ts';
import { type Cut, Wire } from '../wire.ts';

setDefaultTimeout(60_000);

/** "About two seconds", the time that a connection is waited for. */
const CONNECT_MS = 3_000;

let postgres: Postgres;

beforeAll(async () => {
  postgres = await Postgres.start();
});

afterAll(() => postgres.end());

interface Scene extends AsyncDisposable {
  readonly app: AppUnderTest;
  /** A session beside the app's. */
  readonly other: SQL;
  /** Answers once so many sessions wait for a lock, with their process ids. */
  readonly blocked: (sessions: number) => Promise<number[]>;
}

async function scene(
  deployment: Parameters<typeof openApp>[1] = shipped,
  env: Record<string, string> = {},
): Promise<Scene> {
  const url = await postgres.database();
  const app = await openApp('postgres', { ...deployment, url, env });
  const other = new SQL(url, { max: 1 });
  const watch = new SQL(url, { max: 1 });
  return {
    app,
    other,
    async blocked(sessions) {
      for (let tries = 0; tries < 300; tries++) {
        const found = await watch`SELECT pid FROM pg_stat_activity
          WHERE datname = current_database() AND wait_event_type = 'Lock'`;
        if (found.length >= sessions) return found.map(({ pid }: any) => pid);
        await Bun.sleep(10);
      }
      throw new Error('nobody waits');
    },
    async [Symbol.asyncDispose]() {
      await Promise.all([app.close(), other.close({ timeout: 0 }), watch.close({ timeout: 0 })]);
    },
  };
}

function expectUnavailable({ status, headers, body }: Answer): void {
  expect({ status, code: body.code, retry: headers.get('Retry-After') }).toEqual({
    status: 503,
    code: 'UNAVAILABLE',
    retry: '1',
  });
}

/** Deleting a team changes players before it deletes fans and the team. */
const league = {
  sdl: `
    type Team @resource { id: ID!  name: String! }
    type Player @resource { id: ID!  team: Team @onDelete(do: SET_NULL) }
    type Fan @resource { id: ID!  team: Team! @onDelete(do: CASCADE) }`,
  data: { teams: [{ id: 1, name: 'A' }], players: [{ id: 1, teamId: 1 }], fans: [{ id: 1, teamId: 1 }] },
};

async function stateOf(app: AppUnderTest) {
  const { data } = await app.graphql('{ teams { id } players { teamId } fans { id } }');
  return { teams: data.teams.length, bound: data.players[0].teamId !== null, fans: data.fans.length };
}

const untouched = { teams: 1, bound: true, fans: 1 };
const gone = { teams: 0, bound: false, fans: 0 };

describe('a session that is ended in the middle of a transaction', () => {
  /** Lets the app write to players and then wait for fans. */
  const hold = async (other: SQL) => {
    await other`BEGIN`;
    await other`LOCK TABLE "Fan" IN SHARE MODE`;
  };

  test('is done again from the start', async () => {
    await using on = await scene(league, { DATABASE_LOCK_TIMEOUT: '4000' });
    await hold(on.other);
    const answer = on.app.rest('DELETE', '/teams/1');
    const [pid] = await on.blocked(1);
    await on.other`SELECT pg_terminate_backend(${pid})`;
    await on.other`COMMIT`;
    expect((await within(10_000, answer)).status).toBe(204);
    expect(await stateOf(on.app)).toEqual(gone);
  });

  test('has had no effect when that fails too', async () => {
    await using on = await scene(league, { DATABASE_LOCK_TIMEOUT: '4000' });
    await hold(on.other);
    const answer = on.app.rest('DELETE', '/teams/1');
    const [first] = await on.blocked(1);
    await on.other`SELECT pg_terminate_backend(${first})`;
    for (let tries = 0; tries < 300; tries++) {
      const [pid] = await on.blocked(1);
      if (pid !== first) await on.other`SELECT pg_terminate_backend(${pid})`;
      if (pid !== first) break;
      await Bun.sleep(10);
    }
    expectUnavailable(await within(10_000, answer));
    await on.other`COMMIT`;
    expect(await stateOf(on.app)).toEqual(untouched);
  });

  test('by a limit on transactions that the database sets itself', async () => {
    await using on = await scene(league);
    const [{ name }] = await on.other`SELECT current_database() AS name`;
    await on.other.unsafe(`ALTER DATABASE "${name}" SET transaction_timeout = '300ms'`);
    await hold(on.other);
    expectUnavailable(await within(10_000, on.app.rest('DELETE', '/teams/1')));
    await on.other`COMMIT`;
    expect(await stateOf(on.app)).toEqual(untouched);
  });
});

describe('all connections are busy', () => {
  test('whoever comes is told soon, and all is well when the lock is gone', async () => {
    const env = {
      DATABASE_CONNECTIONS: '2',
      DATABASE_LOCK_TIMEOUT: '8000',
      DATABASE_STATEMENT_TIMEOUT: '8500',
    };
    await using on = await scene(shipped, env);
    const { app, other } = on;
    await other`BEGIN`;
    await other`SELECT 1 FROM "Todo" WHERE id = 1 FOR UPDATE`;
    const waiting = [1, 2].map((n) => app.rest('PUT', '/todos/1', { title: `${n}` }));
    await on.blocked(2);
    const refused = ['/books', '/todos/2', '/readyz', '/books'].map((path) => app.rest('GET', path));
    const query = app.graphql('{ books { id } }');
    expect((await within(CONNECT_MS, app.fetch('/healthz'))).status).toBe(200);
    for (const answer of await within(CONNECT_MS, Promise.all(refused))) expectUnavailable(answer);
    expect((await within(CONNECT_MS, query)).errors?.[0].extensions.code).toBe('UNAVAILABLE');
    await other`COMMIT`;
    for (const { status } of await within(5_000, Promise.all(waiting))) expect(status).toBe(200);
    for (const path of ['/books', '/readyz']) expect((await app.fetch(path)).status).toBe(200);
  });

  test('a lock that is not given in time', async () => {
    await using on = await scene(shipped, { DATABASE_LOCK_TIMEOUT: '200' });
    await on.other`BEGIN`;
    await on.other`SELECT 1 FROM "Todo" WHERE id = 1 FOR UPDATE`;
    expectUnavailable(await within(CONNECT_MS, on.app.rest('PUT', '/todos/1', { title: 'x' })));
    await on.other`COMMIT`;
    expect((await on.app.rest('PUT', '/todos/1', { title: 'x' })).status).toBe(200);
  });

  test('a place that becomes free goes to whoever has waited, not to whoever comes', async () => {
    const url = await postgres.database();
    const pool = poolOfOne(url);
    const first = await pool.acquire();
    const second = pool.acquire();
    first.close();
    pool.release(first);
    const third = pool.acquire();
    pool.release(await second);
    pool.release(await third);
    await pool.close();
  });

  test('a closed pool opens no more connections', async () => {
    const url = await postgres.database();
    const pool = poolOfOne(url);
    const first = await pool.acquire();
    const second = pool.acquire();
    await pool.close();
    pool.release(first);
    await expect(second).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    await expect(pool.acquire()).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  });
});

function poolOfOne(url: string): Pool {
  const options = { url, connections: 1, connectMs: 2_000, statementMs: 5_000, lockMs: 2_000 };
  return new Pool(options, () => Connection.open({ ...options, pooled: false }));
}

/** Lets the first so many writes to a table fail with a state; a sequence counts them, as no rollback undoes it. */
async function failing(
  sql: SQL,
  { table, state, times, late = false, sleep = 0 }: Failing,
): Promise<() => Promise<number>> {
  await sql.unsafe(`
    CREATE SEQUENCE tries;
    CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      IF nextval('tries') <= ${times} THEN
        PERFORM pg_sleep(${sleep});
        RAISE EXCEPTION 'a secret' USING ERRCODE = '${state}';
      END IF;
      RETURN NEW;
    END $$;
    CREATE ${late ? 'CONSTRAINT' : ''} TRIGGER failing AFTER INSERT ON "${table}"
      ${late ? 'DEFERRABLE INITIALLY DEFERRED' : ''} FOR EACH ROW EXECUTE FUNCTION fail()`);
  return async () => Number((await sql`SELECT last_value FROM tries`)[0].last_value);
}

interface Failing {
  readonly table: 'Todo' | 'Comment' | '_duet_changes';
  readonly state: string;
  readonly times: number;
  /** At the commit. */
  readonly late?: boolean;
  readonly sleep?: number;
}

describe.each(['Todo', 'Comment'] as const)('a write of a %s that others beat', (table) => {
  const create = (app: AppUnderTest) =>
    table === 'Todo'
      ? app.rest('POST', '/todos', { title: 'x' })
      : app.rest('POST', '/comments', { body: 'x', postId: 1 });
  const stored = async (sql: SQL) =>
    (await sql.unsafe(`SELECT 1 FROM "${table}" WHERE "${table === 'Todo' ? 'title' : 'body'}" = 'x'`))
      .length;

  test.each([false, true])('three times (at the commit: %p)', async (late) => {
    await using on = await scene();
    const tries = await failing(on.other, { table, state: '40001', times: 3, late });
    expect((await create(on.app)).status).toBe(201);
    expect([await tries(), await stored(on.other)]).toEqual([4, 1]);
  });

  test.each([false, true])('every time (at the commit: %p)', async (late) => {
    await using on = await scene();
    const tries = await failing(on.other, { table, state: '40001', times: 100, late });
    expectUnavailable(await create(on.app));
    expect([await tries(), await stored(on.other)]).toEqual([4, 0]);
    const { status, body } = await on.app.graphql(
      'mutation { addTodo(title: "x") { id } createComment(body: "x", postId: 1) { id } }',
    );
    expect(status).toBe(200);
    expect(body.errors.map(({ extensions }: any) => extensions.code)).toContain('UNAVAILABLE');
    expect(await stored(on.other)).toBe(0);
  });

  test('slowly: no longer than anybody waits', async () => {
    // In the middle of the second try; all of them would take six seconds.
    await using on = await scene(shipped, { LIMIT_DEADLINE: '2000' });
    await failing(on.other, { table, state: '40001', times: 100, sleep: 1.5 });
    const { status } = await within(5_000, create(on.app));
    expect(status).toBe(503);
  });

  test.each([false, true])(
    'a full disk is known to have stored nothing (at the commit: %p)',
    async (late) => {
      await using on = await scene();
      await failing(on.other, { table, state: '53100', times: 1, late });
      expectUnavailable(await create(on.app));
      expect(await stored(on.other)).toBe(0);
      expect((await create(on.app)).status).toBe(201);
    },
  );
});

const memos = {
  sdl: `
    type Note @resource { id: ID!  text: String! }
    type Memo @resource @journal { id: ID!  text: String!  rank: Int! @default(value: 1) }
    type Mutation { ranked(memoId: ID!): Memo! @action  copied(noteId: ID!): Note! @action }`,
  data: { notes: [{ text: 'a' }], memos: [{ text: 'a' }] },
  logic: {
    Mutation: {
      *ranked({ tx }: any, { memoId }: any): any {
        return yield* tx.memos.update(memoId, { _inc: { rank: 1 } });
      },
      *copied({ tx }: any, { noteId }: any): any {
        const { text } = yield* tx.notes.get(noteId);
        yield* tx.notes.update(noteId, { text: 'copied' });
        return yield* tx.notes.create({ text });
      },
    },
  },
};

/** The last of each record's changes is what it is now; of the first, which was loaded, there may be none. Answers with all texts. */
async function expectJournaled(app: AppUnderTest): Promise<string[]> {
  const { body } = await app.rest('GET', '/changes/memos?limit=1000');
  const last = new Map<number, unknown>();
  for (const { key, after, version } of body) last.set(key, { ...after, _version: version });
  const { body: records } = await app.rest('GET', '/memos?fields=id,text,rank,_version');
  for (const { id, _version } of records)
    if (id > 1 || _version > 1) expect([id, last.has(id)]).toEqual([id, true]);
  expect(records.filter(({ id }: any) => last.has(id))).toEqual(
    [...last.keys()].sort((a, b) => a - b).map((id) => last.get(id)),
  );
  return records.map(({ text }: any) => text);
}

describe.each([
  ['create', 'POST', '/memos'],
  ['change', 'PUT', '/memos/1'],
] as const)('the journal refuses what came of a %s', (_, method, path) => {
  const write = (app: AppUnderTest) => app.rest(method, path, { text: 'x' });

  test.each([
    ['40001', 3, [true, undefined], 4],
    ['40001', 9, [false, 'UNAVAILABLE'], 4],
    ['53100', 1, [false, 'UNAVAILABLE'], 1],
    ['ZZ001', 1, [false, 'CONFLICT'], 1],
  ] as const)('with %s, so often: %p', async (state, times, told, tried) => {
    await using on = await scene(memos);
    const tries = await failing(on.other, { table: '_duet_changes', state, times });
    const { status, body } = await write(on.app);
    expect([status < 300, body.code]).toEqual([...told]);
    expect(await tries()).toBe(tried);
    expect((await expectJournaled(on.app)).includes('x')).toBe(told[0]);
  });
});

describe('by a wire', () => {
  let wire: Wire;
  let app: AppUnderTest;
  let url: string;
  beforeAll(async () => {
    wire = await Wire.start(postgres.port);
    url = (await postgres.database()).replace(/:\d+\//, `:${wire.port}/`);
    app = await openApp('postgres', { ...memos, url, env: { DATABASE_CONNECTIONS: '1' } });
  });
  afterAll(async () => {
    await app.close();
    wire[Symbol.dispose]();
  });

  // What is read first goes along with the beginning, and what answers nothing with the end.
  test.each([
    ['POST', '/notes', { text: 'b' }, 1],
    ['POST', '/memos', { text: 'b' }, 1],
    ['PUT', '/notes/1', { text: 'b' }, 1],
    ['PUT', '/memos/1', { text: 'b' }, 3],
    ['POST', '/actions/copied', { noteId: 1 }, 3],
    ['POST', '/actions/ranked', { memoId: 1 }, 3],
  ] as const)(
    'the server is waited for no more often than needed: %s %s',
    async (method, path, body, trips) => {
      // Prepared beforehand.
      for (let time = 0; time < 2; time++)
        expect((await app.rest(method, path, body)).status).toBeLessThan(300);
      wire.heldMs = 30;
      wire.trips = 0;
      await app.rest(method, path, body);
      wire.heldMs = 0;
      expect(wire.trips).toBe(trips);
    },
  );

  test('the journal has what a trigger of the database has made of a record', async () => {
    const sql = new SQL(url, { max: 1 });
    await sql.unsafe(`
      CREATE FUNCTION loud() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.text = upper(NEW.text); RETURN NEW; END $$;
      CREATE TRIGGER loud BEFORE INSERT ON "Memo" FOR EACH ROW EXECUTE FUNCTION loud()`);
    await sql.close();
    expect((await app.rest('POST', '/memos', { text: 'shout' })).body.text).toBe('SHOUT');
    expect(await expectJournaled(app)).toContain('SHOUT');
  });

  const cuts: readonly Cut[] = ['before', 'within', 'after'];
  test.each(cuts)(
    'an end that is cut off %s its exchange, with what goes along: nobody knows',
    async (cut) => {
      const text = crypto.randomUUID();
      await app.rest('PUT', '/memos/1', { text: 'another' });
      wire.cut(cut, 'COMMIT');
      const { status, body } = await app.rest('PUT', '/memos/1', { text });
      expect([status, body.code, wire.sprung]).toEqual([503, 'OUTCOME_UNKNOWN', true]);
      await expectJournaled(app);
    },
  );
});

test('a deadlock: the transaction that lost is done again', async () => {
  await using on = await scene(league, { DATABASE_LOCK_TIMEOUT: '5000' });
  const { app, other } = on;
  // The other session never looks for deadlocks itself, so it is the app's that loses.
  await other`SET deadlock_timeout = '60s'`;
  await other`BEGIN`;
  await other`SELECT 1 FROM "Player" FOR UPDATE`;
  const answer = app.rest('DELETE', '/teams/1');
  await on.blocked(1);
  await other`UPDATE "Team" SET name = 'B'`;
  await other`COMMIT`;
  expect((await within(10_000, answer)).status).toBe(204);
  expect(await stateOf(app)).toEqual(gone);
});

test('errors name nothing of the database', async () => {
  const sdl = `type Person @resource @table(name: "zz_table") {
    id: ID!
    mail: String! @unique @column(name: "zz_mail")
    boss: Person @column(name: "zz_boss")
  }`;
  await using on = await scene({ sdl });
  const { app, other } = on;
  await other`ALTER TABLE "zz_table" ADD CONSTRAINT "zz_check" CHECK (zz_mail <> 'odd')`;
  await app.rest('POST', '/persons', { mail: 'a' });
  await app.rest('POST', '/persons', { mail: 'b', bossId: 1 });
  const answers: [Answer, string][] = [
    [await app.rest('POST', '/persons', { mail: 'a' }), 'CONFLICT'],
    [await app.rest('PUT', '/persons/2', { mail: 'a' }), 'CONFLICT'],
    [await app.rest('POST', '/persons', { mail: 'c', bossId: 9 }), 'CONFLICT'],
    [await app.rest('DELETE', '/persons/1'), 'CONFLICT'],
    [await app.rest('POST', '/persons', { mail: 'odd' }), 'CONFLICT'],
    [await app.graphql('mutation { createPerson(mail: "a") { id } }'), 'CONFLICT'],
    [await app.graphql('mutation { updatePerson(id: 2, mail: "a") { id } }'), 'CONFLICT'],
    [await app.graphql('mutation { createPerson(mail: "c", bossId: 9) { id } }'), 'CONFLICT'],
    [await app.graphql('mutation { deletePerson(id: 1) { id } }'), 'CONFLICT'],
    [await app.graphql('mutation { createPerson(mail: "odd") { id } }'), 'CONFLICT'],
  ];
  for (const [{ body }, code] of answers) {
    expect(body.code ?? body.errors[0].extensions.code).toBe(code);
    expect(JSON.stringify(body)).not.toMatch(
      /zz_|constraint|violat|duplicate|relation|INSERT|UPDATE|SELECT|DELETE/,
    );
  }
});
