/** A request that takes too long is ended, and its work with it. */

import { Database } from 'bun:sqlite';
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { SQL } from 'bun';
import { type Answer, type AppUnderTest, type Deployment, openApp, shipped, within } from '../app.ts';
import { Postgres } from '../postgres.ts';
import { Folder, Server } from '../process.ts';

function expectExceeded({ status, headers, body }: Answer): void {
  expect({ status, code: body.code, retry: headers.get('Retry-After') }).toEqual({
    status: 503,
    code: 'DEADLINE_EXCEEDED',
    retry: '1',
  });
}

/** Asks again when the machine is so busy that even this is late, at most ten times. */
async function inTime(ask: () => Promise<Answer>): Promise<Answer> {
  for (let tries = 1; ; tries++) {
    const answer = await ask();
    if (answer.status !== 503 || tries === 10) return answer;
  }
}

/** The most memory that any process of the server has had so far, in megabytes. */
async function peak(postgres: Postgres): Promise<number> {
  const peaks = (await postgres.processes()).map(async (pid) => {
    const file = Bun.file(`/proc/${pid}/status`);
    const told = await file.text().catch(() => '');
    return Number(/VmHWM:\s+(\d+) kB/.exec(told)?.[1] ?? 0) / 1024;
  });
  return Math.max(...(await Promise.all(peaks)));
}

describe('PostgreSQL', () => {
  let postgres: Postgres;
  beforeAll(async () => {
    postgres = await Postgres.start();
  });
  afterAll(() => postgres.end());

  interface Scene extends AsyncDisposable {
    readonly app: AppUnderTest;
    readonly other: SQL;
    /** No statement is carried out any more: on a busy machine the database hears its own clock a little late. By itself, a slow one takes 30 s. */
    readonly ended: () => Promise<void>;
  }

  async function scene(env: Record<string, string>, of: Deployment = shipped): Promise<Scene> {
    const url = await postgres.database();
    const app = await openApp('postgres', { ...of, url, env });
    const other = new SQL(url, { max: 1 });
    /** Not what the server does by itself (it looks after tables when it likes), nor those of clients that are over at once. */
    const running = async () => {
      const found = await other<{ query: string }[]>`SELECT query FROM pg_stat_activity
        WHERE datname = current_database() AND wait_event = 'PgSleep'`;
      return found.map(({ query }) => query);
    };
    return {
      app,
      other,
      async ended() {
        const until = performance.now() + 10_000;
        let left = await running();
        for (; left.length > 0 && performance.now() < until; left = await running()) await Bun.sleep(10);
        expect(left).toEqual([]);
      },
      async [Symbol.asyncDispose]() {
        await Promise.all([app.close(), other.close({ timeout: 0 })]);
      },
    };
  }

  /** Makes every statement on a table take so many seconds, and leaves its rows as they are. */
  async function slow(sql: SQL, table: string, seconds: number): Promise<void> {
    await sql.unsafe(`
      ALTER TABLE "${table}" RENAME TO "_${table}";
      CREATE VIEW "${table}" AS SELECT "_${table}".*
        FROM (SELECT pg_sleep(${seconds}) OFFSET 0) AS slept, "_${table}"`);
  }

  test('a statement is cancelled, and none goes on after the answer', async () => {
    await using on = await scene({ LIMIT_DEADLINE: '1500', DATABASE_STATEMENT_TIMEOUT: '60000' });
    await slow(on.other, 'Item', 30);
    for (const path of ['/items', '/items/1']) expectExceeded(await within(5_000, on.app.rest('GET', path)));
    await on.ended();
    const { errors } = await within(5_000, on.app.graphql('{ items { id } books { id } }'));
    expect(errors?.map(({ extensions }) => extensions.code)).toContain('DEADLINE_EXCEEDED');
    await on.ended();
    expect((await on.app.rest('GET', '/books/1')).status).toBe(200);
  });

  test('many conditions on one long text are ended between two of them', async () => {
    await using on = await scene({ LIMIT_DEADLINE: '1500', DATABASE_STATEMENT_TIMEOUT: '1000' });
    await on.other`UPDATE "Note" SET "body" = repeat('a', 900000) WHERE "id" = 1`;
    // By themselves they would take a few minutes, of which the server could be told nothing.
    const or = Array.from({ length: 499 }, (_, each) => ({
      body: {
        contains: `${String.fromCharCode(98 + (each % 20))}${'a'.repeat(499 - Math.floor(each / 20))}`,
      },
    }));
    const ask = 'query ($where: NoteWhere) { notes(where: $where) { id } }';
    const { errors } = await within(10_000, on.app.graphql(ask, { where: { or } }));
    expect(errors?.length).toBe(1);
    const left = () => on.other`SELECT "pid" FROM pg_stat_activity
      WHERE datname = current_database() AND "state" = 'active' AND "query" LIKE '%strpos%' AND "pid" <> pg_backend_pid()`;
    const until = performance.now() + 20_000;
    while ((await left()).length > 0 && performance.now() < until) await Bun.sleep(50);
    expect(await left()).toBeEmpty();
  }, 60_000);

  test.skipIf(process.platform !== 'linux')(
    'many short conditions on one long text take little memory of the server',
    async () => {
      await using on = await scene({});
      await on.other`UPDATE "Note" SET "body" = repeat('a', 900000) WHERE "id" = 1`;
      const or = Array.from({ length: 499 }, (_, each) => ({
        body: { contains: String.fromCodePoint(0x4e00 + each) },
      }));
      const ask = 'query ($where: NoteWhere) { notes(where: $where) { id } }';
      // Whether it was done in time hangs on the machine.
      await within(30_000, on.app.graphql(ask, { where: { or } }));
      // 64 MB of it are what all processes share.
      expect(await peak(postgres)).toBeLessThan(250);
    },
    60_000,
  );

  test.skipIf(process.platform !== 'linux')(
    'many conditions on one long list take little memory of the server',
    async () => {
      const sdl = 'type Note @resource { id: ID!  n: Int  tags: [String!] }';
      await using on = await scene({}, { sdl, data: { notes: [{ n: 1 }] } });
      await on.other`UPDATE "Note" SET "tags" = to_json(array_fill('a'::text, ARRAY[50000]))`;
      const ask = 'query ($where: NoteWhere) { notes(where: $where) { id } }';
      const found = Array.from({ length: 300 }, () => ({ tags: { has: 'a' } }));
      const missed = Array.from({ length: 300 }, (_, each) => ({ tags: { has: `b${each}` } }));
      const empty = Array.from({ length: 300 }, (_, each) => ({ tags: { isEmpty: true }, n: { ne: each } }));
      for (const where of [{ and: found }, { or: missed }, { or: [...empty, { n: { eq: 0 } }] }])
        await within(30_000, on.app.graphql(ask, { where }));
      expect(await peak(postgres)).toBeLessThan(250);
    },
    60_000,
  );

  test('statements that are each quick enough share one deadline', async () => {
    await using on = await scene({ LIMIT_DEADLINE: '2000', DATABASE_STATEMENT_TIMEOUT: '1500' });
    for (const table of ['User', 'Post', 'Comment']) await slow(on.other, table, 0.8);
    const { errors } = await within(5_000, on.app.graphql('{ users { id } posts { id } comments { id } }'));
    expect(errors?.map(({ extensions }) => extensions.code)).toContain('DEADLINE_EXCEEDED');
    await on.ended();
    expect((await on.app.rest('GET', '/users')).status).toBe(200);
  });

  test('the fields of a mutation share one deadline, and what was done stays done', async () => {
    await using on = await scene({ LIMIT_DEADLINE: '1500' });
    await on.other.unsafe(`
      CREATE FUNCTION doze() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(0.4); RETURN NEW; END $$;
      CREATE TRIGGER dozing BEFORE INSERT ON "Note" FOR EACH ROW EXECUTE FUNCTION doze()`);
    const names = ['a', 'b', 'c', 'd', 'e', 'f'];
    const fields = names.map((name) => `${name}: createNote(title: "${name}") { id }`);
    const { body } = await within(5_000, on.app.graphql(`mutation { ${fields.join(' ')} }`));
    const codes = new Set(body.errors.map(({ extensions }: any) => extensions.code));
    expect(codes).toEqual(new Set(['DEADLINE_EXCEEDED']));
    await on.ended();
    const late = body.errors.map(({ path }: any) => path[0]);
    const stored = await on.other`SELECT title FROM "Note" WHERE length(title) = 1 ORDER BY title`;
    expect(stored.length).toBeGreaterThan(0);
    // The first that fails ends the answer, since a created note cannot be null.
    const told = [...stored.map(({ title }: any) => title), ...late];
    expect(told).toEqual(names.slice(0, stored.length + 1));
  });

  test('the wait for a connection counts', async () => {
    await using on = await scene({
      LIMIT_DEADLINE: '1500',
      DATABASE_CONNECTIONS: '1',
      DATABASE_CONNECT_TIMEOUT: '5000',
      DATABASE_STATEMENT_TIMEOUT: '60000',
    });
    await slow(on.other, 'Item', 30);
    const answers = [1, 2, 3].map(() => on.app.rest('GET', '/items'));
    for (const answer of await within(5_000, Promise.all(answers))) expectExceeded(answer);
    await on.ended();
    expect((await on.app.rest('GET', '/books/1')).status).toBe(200);
  });

  test('a connection that was hurried goes back to the usual timeout', async () => {
    await using on = await scene({
      LIMIT_DEADLINE: '3000',
      DATABASE_STATEMENT_TIMEOUT: '2800',
      DATABASE_CONNECTIONS: '1',
    });
    await slow(on.other, 'User', 0.3);
    await on.other.unsafe(`
      ALTER TABLE "Post" RENAME TO "_Post";
      CREATE VIEW "Post" AS SELECT id, title, "authorId", _version, current_setting('statement_timeout') AS body
        FROM "_Post"`);
    const timeouts = async (query: string) => {
      const { data } = await on.app.graphql(query);
      return new Set<string>(data.posts.map(({ body }: any) => body));
    };
    expect(await timeouts('{ posts { body } }')).toEqual(new Set(['2800ms']));
    const [hurried = ''] = await timeouts('{ users { id } posts { body } }');
    expect(Number.parseInt(hurried, 10)).toBeLessThan(2700);
    expect(await timeouts('{ posts { body } }')).toEqual(new Set(['2800ms']));
  });

  test('what the database answered while the process stood still is heard, however late', async () => {
    await using on = await scene({ LIMIT_DEADLINE: '1500' });
    await on.other.unsafe(`
      CREATE FUNCTION doze() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(0.3); RETURN NEW; END $$;
      CREATE TRIGGER dozing BEFORE INSERT ON "Note" FOR EACH ROW EXECUTE FUNCTION doze()`);
    const answer = on.app.rest('POST', '/notes', { title: 'meanwhile' });
    const dozing = () =>
      on.other`SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'PgSleep'`;
    while ((await dozing()).length === 0 && Bun.peek.status(answer) === 'pending');
    Bun.sleepSync(2000);
    // On a busy machine the database may have ended it; but it did say what became of it.
    const { body } = await answer;
    const { data } = await on.app.graphql('{ notes(where: { title: { eq: "meanwhile" } }) { id } }');
    expect([data.notes.length, body.code]).toEqual(data.notes[0] ? [1, undefined] : [0, 'DEADLINE_EXCEEDED']);
  });
});

test('SQLite: a write that has waited for too long is not begun', async () => {
  using folder = new Folder();
  const url = `sqlite:${folder.file('x.db')}`;
  const app = await openApp('sqlite', { ...shipped, url, env: { LIMIT_DEADLINE: '500' } });
  const other = new Database(folder.file('x.db'));
  other.run('BEGIN IMMEDIATE');
  const writes = Array.from({ length: 450 }, () => app.rest('POST', '/notes', { title: 'late' }));
  const answers = await within(20_000, Promise.all(writes));
  other.run('ROLLBACK');
  // On a machine that is busy besides, some are turned away before they wait at all.
  const waited = answers.filter(({ body }) => body.code !== 'UNAVAILABLE');
  expect(waited.length).toBeGreaterThan(0);
  for (const answer of waited) expectExceeded(answer);
  // Counted only after those who came later were served: whatever had been left waiting would have gone before them.
  for (let later = 0; later < 3; later++)
    expect((await inTime(() => app.rest('POST', '/notes', { title: 'in time' }))).status).toBe(201);
  expect(other.query(`SELECT COUNT(*) AS n FROM "Note" WHERE title = 'late'`).get()).toEqual({ n: 0 });
  other.close();
  await app.close();
});

test('SQLite: while another process writes, reads go on, and writes wait for two seconds', async () => {
  using folder = new Folder();
  await using server = await Server.start(folder);
  using other = new Database(folder.file('duet.db'));
  const add = async (title: string) => {
    const answer = await fetch(`${server.url}/notes`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ title }),
    });
    return { status: answer.status, body: (await answer.json()) as any };
  };
  other.run('BEGIN IMMEDIATE');
  const early = add('early');
  let isOver = false;
  void early.finally(() => {
    isOver = true;
  });
  let reads = 0;
  for (; !isOver; reads++) expect((await fetch(`${server.url}/notes/1`)).status).toBe(200);
  expect(await early).toMatchObject({ status: 503, body: { code: 'UNAVAILABLE' } });
  expect((await server.logged('failure')).cause).toContain('another process has been writing');
  // One that stood still would have answered once, afterwards.
  expect(reads).toBeGreaterThan(5);

  const patient = add('patient');
  await Bun.sleep(300);
  other.run('ROLLBACK');
  expect((await patient).status).toBe(201);
  const titles = other.query<{ title: string }, []>('SELECT title FROM "Note"').all();
  expect(titles.map(({ title }) => title)).not.toContain('early');
});
