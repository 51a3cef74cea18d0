/** What a function does to a record that it knows is not waited for on PostgreSQL: where it comes otherwise than foreseen, nobody notices. */

import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test';
import { SQL } from 'bun';
import { type AppUnderTest, openApp } from '../app.ts';
import { Postgres } from '../postgres.ts';

setDefaultTimeout(60_000);

let postgres: Postgres;
beforeAll(async () => {
  postgres = await Postgres.start();
});
afterAll(() => postgres.end());

const DEADLINE_MS = 1000;

const deployment = {
  sdl: `
    type Note @resource { id: ID!  text: String!  rank: Int! @default(value: 1) }
    type Copy @resource { id: ID!  text: String! }
    type Mutation {
      known(noteId: ID!, text: String!): Copy! @action
      unknown(noteId: ID!, text: String!): Copy! @action
      stubborn(noteId: ID!, text: String!): Copy! @action
      slow(noteId: ID!, text: String!): Copy! @action
    }`,
  data: { notes: [{ text: 'a' }] },
  logic: {
    Mutation: {
      *known({ tx }: any, { noteId, text }: any): any {
        yield* tx.notes.get(noteId);
        const changed = yield* tx.notes.update(noteId, { text, _inc: { rank: 1 } });
        return yield* tx.copies.create({ text: `${changed.text} ${changed.rank}` });
      },
      *unknown({ tx }: any, { noteId, text }: any): any {
        const changed = yield* tx.notes.update(noteId, { text, _inc: { rank: 1 } });
        return yield* tx.copies.create({ text: `${changed.text} ${changed.rank}` });
      },
      *stubborn({ tx }: any, { noteId, text }: any): any {
        yield* tx.notes.get(noteId);
        for (let time = 0; time < 3; time++)
          try {
            yield* tx.notes.update(noteId, { text });
            yield* tx.copies.create({ text });
          } catch {}
        return yield* tx.copies.create({ text });
      },
      *slow({ tx }: any, { noteId, text }: any): any {
        yield* tx.notes.get(noteId);
        yield* tx.notes.update(noteId, { text });
        const copy = yield* tx.copies.create({ text });
        Bun.sleepSync(DEADLINE_MS);
        return copy;
      },
    },
  },
};

interface Scene extends AsyncDisposable {
  readonly app: AppUnderTest;
  readonly sql: SQL;
  readonly run: (action: string, text: string) => Promise<unknown>;
  /** The texts of all notes and copies. */
  readonly left: () => Promise<unknown>;
}

async function scene(env: Record<string, string> = {}): Promise<Scene> {
  const url = await postgres.database();
  const app = await openApp('postgres', { ...deployment, url, env });
  const sql = new SQL(url, { max: 1 });
  return {
    app,
    sql,
    async run(action, text) {
      const { status, body } = await app.rest('POST', `/actions/${action}`, { noteId: 1, text });
      const { requestId: _, instance: __, id: ___, ...told } = body;
      return { status, told };
    },
    async left() {
      const texts = async (path: string) => (await app.rest('GET', path)).body.map(({ text }: any) => text);
      return [await texts('/notes'), await texts('/copies')];
    },
    async [Symbol.asyncDispose]() {
      await Promise.all([app.close(), sql.close({ timeout: 0 })]);
    },
  };
}

/** Runs on each update of a note; `tries` counts them, also those that were undone. */
async function onUpdate(sql: SQL, body: string): Promise<() => Promise<number>> {
  await sql.unsafe(`
    CREATE SEQUENCE tries;
    CREATE FUNCTION meddle() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM nextval('tries'); ${body} RETURN NEW; END $$;
    CREATE TRIGGER meddling BEFORE UPDATE ON "Note" FOR EACH ROW EXECUTE FUNCTION meddle()`);
  return async () => Number((await sql`SELECT last_value FROM tries`)[0].last_value);
}

test('a trigger makes something else of it: functions see that, once it was found out without waiting', async () => {
  await using on = await scene();
  const tries = await onUpdate(on.sql, 'NEW.text = upper(NEW.text);');
  expect(await on.run('known', 'b')).toEqual({ status: 200, told: { text: 'B 2' } });
  expect(await tries()).toBe(2);
  expect(await on.run('known', 'c')).toEqual({ status: 200, told: { text: 'C 3' } });
  expect(await tries()).toBe(3);
  expect(await on.left()).toEqual([['C'], ['B 2', 'C 3']]);
});

test('a trigger leaves it as it is, or takes the record away', async () => {
  await using on = await scene();
  await onUpdate(on.sql, 'RETURN NULL;');
  expect(await on.run('known', 'b')).toEqual((await on.run('unknown', 'b')) as object);
  expect(await on.left()).toEqual([['a'], []]);
});

test.each([
  ['a constraint of the database', `ALTER TABLE "Note" ADD CHECK (text <> 'bad')`],
  ['a unique index of the database', 'CREATE UNIQUE INDEX ON "Note" (text)'],
])('%s refuses it: it is told of the update, and nothing is left', async (_, ddl) => {
  await using on = await scene();
  await on.app.rest('POST', '/notes', { text: 'good' });
  if (ddl.includes('INDEX')) await on.app.rest('POST', '/notes', { text: 'bad' });
  await on.sql.unsafe(ddl);
  const before = await on.left();
  const told = await on.run('unknown', 'bad');
  expect(told).toMatchObject({ status: 409 });
  for (let time = 0; time < 2; time++) expect(await on.run('known', 'bad')).toEqual(told as object);
  expect(await on.run('stubborn', 'bad')).toMatchObject({ status: 409 });
  expect(await on.left()).toEqual(before as object);
  expect(await on.run('known', 'fine')).toMatchObject({ status: 200 });
});

test.each(['40001', '40P01'])('others win the first three times, with %s: it is done once', async (state) => {
  await using on = await scene();
  const lose = `IF currval('tries') <= 3 THEN RAISE EXCEPTION 'lost' USING ERRCODE = '${state}'; END IF;`;
  const tries = await onUpdate(on.sql, lose);
  expect(await on.run('known', 'b')).toEqual({ status: 200, told: { text: 'b 2' } });
  expect(await tries()).toBe(4);
  expect(await on.left()).toEqual([['b'], ['b 2']]);
});

test('somebody else changes the record meanwhile: the function is run again, and sees that', async () => {
  await using on = await scene();
  await on.run('known', 'b');
  const done: Promise<unknown>[] = [];
  await on.sql.begin(async (tx) => {
    await tx`UPDATE "Note" SET rank = 7, _version = _version + 1`;
    for (const text of ['c', 'd']) done.push(on.run('known', text));
    for (let tries = 0; tries < 300; tries++) {
      const [{ count }] = await tx`SELECT count(*) FROM pg_locks WHERE NOT granted`;
      if (Number(count) > 0) break;
      await Bun.sleep(10);
    }
  });
  const told = (await Promise.all(done)) as { told: { text: string } }[];
  expect(told.map(({ told: { text } }) => text.slice(2)).toSorted()).toEqual(['8', '9']);
  expect((await on.app.rest('GET', '/notes')).body[0].rank).toBe(9);
});

test('it is found out when there is no time to run it again: that is told, and nothing is left', async () => {
  await using on = await scene({ LIMIT_DEADLINE: String(DEADLINE_MS) });
  const tries = await onUpdate(on.sql, 'NEW.text = upper(NEW.text);');
  expect(await on.run('slow', 'b')).toMatchObject({ status: 503, told: { code: 'DEADLINE_EXCEEDED' } });
  expect(await tries()).toBe(1);
  expect(await on.left()).toEqual([['a'], []]);
  expect(await on.run('known', 'c')).toEqual({ status: 200, told: { text: 'C 2' } });
});
