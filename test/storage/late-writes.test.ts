/** What was told to be too late never happens, however long one waits for it; what was told to have happened has. */

import { Database } from 'bun:sqlite';
import { describe, expect, test } from 'bun:test';
import { type Answer, type AppUnderTest, openApp, sharedPostgres, within } from '../app.ts';
import { Folder } from '../process.ts';

const sdl = `
  type Note @resource { id: ID!  title: String!  marks: [Mark!]! }
  type Mark @resource { id: ID!  name: String!  note: Note @onDelete(do: CASCADE) }`;

const mutation = (field: string, isAtomic = false) => ({
  method: 'POST',
  path: '/graphql',
  body: { query: `mutation ${isAtomic ? '@atomic ' : ''}{ ${field} }` },
});
const rest = (method: string, path: string, body?: unknown) => ({ method, path, body });
const transaction = (...operations: unknown[]) => rest('POST', '/transaction', { operations });

/** Every kind of write, by either door; each on a note of its own. */
const writes: Record<string, (note: number) => { method: string; path: string; body: unknown }> = {
  create: () => rest('POST', '/notes', { title: 'late' }),
  'create with records in it': () => rest('POST', '/notes', { title: 'late', marks: [{ name: 'late' }] }),
  update: (note) => rest('PUT', `/notes/${note}`, { title: 'late' }),
  delete: (note) => rest('DELETE', `/notes/${note}`),
  transaction: (note) =>
    transaction(
      { method: 'POST', path: '/notes', body: { title: 'late' } },
      { method: 'PUT', path: `/notes/${note}`, body: { title: 'late' } },
      { method: 'PUT', path: '/notes', where: { id: { eq: note } }, atMost: 1, body: { title: 'later' } },
      { method: 'DELETE', path: `/notes/${note}` },
    ),
  'transaction that begins with many': (note) =>
    transaction(
      { method: 'POST', path: '/marks', body: [{ name: 'late' }, { name: 'late' }] },
      { method: 'DELETE', path: '/notes', where: { id: { eq: note } }, atMost: 1 },
    ),
  createNote: () => mutation('createNote(title: "late") { id marks { id } }'),
  updateNote: (note) => mutation(`updateNote(id: ${note}, title: "late") { id }`),
  deleteNote: (note) => mutation(`deleteNote(id: ${note}) { id }`),
  createNotes: () => mutation('createNotes(records: [{ title: "late" }, { title: "late" }]) { id }'),
  updateNotes: (note) =>
    mutation(`updateNotes(where: { id: { eq: ${note} } }, atMost: 1, set: { title: "late" }) { id }`),
  deleteNotes: (note) => mutation(`deleteNotes(where: { id: { eq: ${note} } }, atMost: 1) { id }`),
  '@atomic': (note) =>
    mutation(`a: createNote(title: "late") { id } b: deleteNote(id: ${note}) { id }`, true),
};

const asked = Object.entries(writes).flatMap(([name, write], index) =>
  [undefined, `key-${index}`].map((key, at) => ({
    name: `${name}${key ? ' with a key' : ''}`,
    ...write(1 + 2 * index + at),
    headers: key ? { 'Idempotency-Key': key } : undefined,
  })),
);
const notes = asked.map((_, index) => ({ title: `note ${index}` }));

const codeOf = ({ body }: Answer) => body.code ?? body.errors?.[0].extensions.code;
async function told(app: AppUnderTest, { name, method, path, body, headers }: (typeof asked)[number]) {
  return `${name}: ${codeOf(await app.rest(method, path, body, headers)) ?? 'done'}`;
}
const all = (code: string) => asked.map(({ name }) => `${name}: ${code}`);

/** A busy machine may make anything late, which then has not happened: it is asked for again. */
async function patiently<T>(ask: () => Promise<T>, isLate: (answer: T) => boolean): Promise<T> {
  for (let tries = 0; tries < 20; tries++) {
    const answer = await ask();
    if (!isLate(answer)) return answer;
  }
  throw new Error('late again and again');
}

const mark = async (app: AppUnderTest, name: string) => {
  const send = () => app.rest('POST', '/marks', { name });
  expect((await patiently(send, ({ body }) => body.code === 'DEADLINE_EXCEEDED')).status).toBe(201);
};
const stored = async (app: AppUnderTest) => {
  const read = () => app.graphql('{ notes { id title _version marks { id } } marks { id name } }');
  return (await patiently(read, ({ errors }) => errors !== undefined)).data;
};

interface Scene extends AsyncDisposable {
  readonly app: AppUnderTest;
  /** Keeps everybody else from writing, until what it answers is called. */
  readonly hold: () => Promise<() => Promise<void>>;
  /** Makes each note take its time, some of it when it is committed, where a database can. */
  readonly slow: () => Promise<void>;
  /** Whether the database is still at work for others. */
  readonly isBusy: () => Promise<boolean>;
}

async function onSqlite(env: Record<string, string>): Promise<Scene> {
  const folder = new Folder();
  const file = folder.file('x.db');
  const app = await openApp('sqlite', { sdl, data: { notes }, url: `sqlite:${file}`, env });
  const other = new Database(file);
  return {
    app,
    async hold() {
      other.run('BEGIN IMMEDIATE');
      return async () => {
        other.run('ROLLBACK');
      };
    },
    async slow() {
      other.run('PRAGMA busy_timeout = 2000');
      other.run('CREATE TABLE "ten" (n)');
      other.run('INSERT INTO "ten" VALUES (0), (1), (2), (3), (4), (5), (6), (7), (8), (9)');
      const tens = Array.from({ length: 6 }, () => '"ten"').join(', ');
      other.run(`CREATE TRIGGER "slow" BEFORE INSERT ON "Note" BEGIN SELECT COUNT(*) FROM ${tens}; END`);
    },
    isBusy: async () => false,
    async [Symbol.asyncDispose]() {
      other.close();
      await app.close();
      folder[Symbol.dispose]();
    },
  };
}

async function onPostgres(env: Record<string, string>): Promise<Scene> {
  const url = await (await sharedPostgres()).database();
  const app = await openApp('postgres', { sdl, data: { notes }, url, env });
  const other = new Bun.SQL(url, { max: 1 });
  return {
    app,
    async hold() {
      await other.unsafe('BEGIN');
      // Reads go on.
      await other.unsafe('LOCK TABLE "Note", "Mark" IN EXCLUSIVE MODE');
      return async () => {
        await other.unsafe('ROLLBACK');
      };
    },
    async slow() {
      const sleeping = (name: string, seconds: string) =>
        `CREATE FUNCTION ${name}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(${seconds}); RETURN NEW; END $$;`;
      await other.unsafe(`
        ${sleeping('doze', '(NEW.id % 5) * 0.1')} ${sleeping('linger', '(NEW.id % 7) * 0.1')}
        CREATE TRIGGER dozing BEFORE INSERT ON "Note" FOR EACH ROW EXECUTE FUNCTION doze();
        CREATE CONSTRAINT TRIGGER lingering AFTER INSERT ON "Note" DEFERRABLE INITIALLY DEFERRED
          FOR EACH ROW EXECUTE FUNCTION linger()`);
    },
    async isBusy() {
      const found = await other`SELECT 1 FROM pg_stat_activity
        WHERE datname = current_database() AND state <> 'idle' AND pid <> pg_backend_pid()`;
      return found.length > 0;
    },
    async [Symbol.asyncDispose]() {
      await Promise.all([app.close(), other.close({ timeout: 0 })]);
    },
  };
}

/** As long as anything that was left behind could need: whatever was asked before comes before this. */
async function settled({ app, isBusy }: Scene): Promise<void> {
  for (let round = 0; round < 5; round++) {
    await mark(app, 'in time');
    await Bun.sleep(50);
  }
  for (let tries = 0; tries < 200 && (await isBusy()); tries++) await Bun.sleep(50);
  expect(await isBusy()).toBe(false);
}

describe.each([
  ['SQLite', onSqlite],
  ['PostgreSQL', onPostgres],
] as const)('on %s', (_, open) => {
  // How a file is written to changes once the first commits are known to be slow.
  test.each([0, 5])('what waited in vain does not happen later, after %d other writes', async (before) => {
    await using on = await open({ LIMIT_DEADLINE: '600', DATABASE_LOCK_TIMEOUT: '5000' });
    const { app } = on;
    for (let count = 0; count < before; count++) await mark(app, 'before');
    const earlier = await stored(app);
    const release = await on.hold();
    // Of a lone statement PostgreSQL may say too late that it has ended it: nobody knows then, and asks again.
    const isUnknown = (answer: string) => answer.endsWith('OUTCOME_UNKNOWN');
    const answers = Promise.all(asked.map((each) => patiently(() => told(app, each), isUnknown)));
    expect(await within(30_000, answers)).toEqual(all('DEADLINE_EXCEEDED'));
    await release();
    await settled(on);
    const marks = { marks: (await stored(app)).marks.filter(({ name }: any) => name !== 'in time') };
    expect({ ...(await stored(app)), ...marks }).toEqual(earlier);
    // Nor were the keys used up.
    const again: string[] = [];
    for (const each of asked)
      again.push(
        await patiently(
          () => told(app, each),
          (answer) => answer.endsWith('DEADLINE_EXCEEDED'),
        ),
      );
    expect(again).toEqual(all('done'));
  });

  test('what begins in time and ends too late is told as it happened', async () => {
    await using on = await open({ LIMIT_DEADLINE: '500' });
    const { app } = on;
    await on.slow();
    const titles = Array.from({ length: 40 }, (_, index) => `slow ${index}`);
    const answers = await within(
      40_000,
      Promise.all(
        titles.map(async (title, index) => {
          const headers = index % 2 === 0 ? undefined : { 'Idempotency-Key': `slow-${index}` };
          const answer =
            index % 4 < 2
              ? await app.rest('POST', '/notes', { title }, headers)
              : await app.graphql(
                  'mutation($title: String!) { createNote(title: $title) { id } }',
                  { title },
                  headers,
                );
          return { title, code: codeOf(answer) as string | undefined };
        }),
      ),
    );
    await settled(on);
    const found = new Set((await stored(app)).notes.map(({ title }: any) => title));
    for (const { title, code } of answers) {
      expect(code).toBeOneOf([undefined, 'DEADLINE_EXCEEDED', 'UNAVAILABLE', 'OUTCOME_UNKNOWN']);
      if (code !== 'OUTCOME_UNKNOWN') expect([title, found.has(title)]).toEqual([title, code === undefined]);
    }
  });
});
