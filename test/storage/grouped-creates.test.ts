/** Creates that arrive together share a statement on PostgreSQL, but neither a record nor a fate. */

import { describe, expect, test } from 'bun:test';
import { databases, openApp, sharedPostgres } from '../app.ts';
import { fields, inputOf, texts } from './every-kind.ts';

const sdl = `
  enum Mode { ON OFF }
  type Note @resource { ${fields} }
  type Memo @resource @journal { ${fields} }`;

const inputs = Array.from({ length: 60 }, (_, at) => inputOf(at));

describe.each([...databases])('on %s', (database) => {
  test.each(['notes', 'memos'])('each of many %s is answered and stored as it was sent', async (path) => {
    const app = await openApp(database, { sdl });
    const alone = await app.rest('POST', `/${path}`, inputs[0]);
    app.statements.length = 0;
    const answers = await Promise.all(
      inputs.map((input, at) => app.rest('POST', `/${path}`, input, { 'X-Request-Id': `request-${at}` })),
    );
    if (database === 'postgres') expect(app.statements.length).toBeLessThan(inputs.length / 3);
    expect(answers.map(({ status }) => status)).toEqual(inputs.map(() => 201));
    const bodies = answers.map(({ body }) => body);
    expect(bodies.map(({ id: _, ...rest }) => rest)).toEqual(inputs);
    expect({ ...bodies[0], id: 0 }).toEqual({ ...alone.body, id: 0 });
    expect(new Set(bodies.map(({ id }) => id)).size).toBe(inputs.length);
    expect(new Set(answers.map(({ headers }) => headers.get('ETag')?.slice(0, 3)))).toEqual(new Set(['"1-']));
    const stored = (await app.rest('GET', `/${path}?limit=100`)).body;
    expect(stored.slice(1)).toEqual(bodies.toSorted((one, other) => one.id - other.id));
    if (path === 'memos') {
      const changes = (await app.rest('GET', '/changes/memos?limit=100')).body;
      const told = changes.slice(1).map(({ kind, key, version, requestId, before, after }: any) => {
        return { kind, key, version, requestId, before, after };
      });
      const expected = bodies.map((after, at) => {
        return {
          kind: 'CREATED',
          key: after.id,
          version: 1,
          requestId: `request-${at}`,
          before: null,
          after,
        };
      });
      expect(told).toEqual(expected.toSorted((one, other) => one.key - other.key));
      expect(new Set(changes.map(({ transaction }: any) => transaction)).size).toBe(inputs.length + 1);
    }
    await app.close();
  });

  test('by GraphQL as by REST, beside what is wrong with others', async () => {
    const app = await openApp(database, { sdl });
    const create =
      'mutation ($text: String!, $whole: Int) { createNote(text: $text, whole: $whole) { id text } }';
    const answers = await Promise.all(
      inputs.map((_, at) =>
        at % 3 === 0
          ? app.rest('POST', '/notes', { text: `n${at}`, whole: 'none' })
          : app.graphql(create, { text: `n${at}`, whole: at }),
      ),
    );
    for (const [at, { status, body }] of answers.entries())
      if (at % 3 === 0) expect([status, body.code]).toEqual([400, 'VALIDATION_FAILED']);
      else expect(body).toEqual({ data: { createNote: { id: expect.anything(), text: `n${at}` } } });
    const stored = (await app.rest('GET', '/notes?limit=100')).body;
    expect(stored.map(({ text }: any) => text).toSorted()).toEqual(
      inputs.flatMap((_, at) => (at % 3 === 0 ? [] : [`n${at}`])).toSorted(),
    );
    await app.close();
  });
});

test('their changes have positions when they are committed, and so has what came before', async () => {
  const url = await (await sharedPostgres()).database();
  const app = await openApp('postgres', { sdl, url });
  await using sql = new Bun.SQL(url, { max: 1 });
  const unstamped = () =>
    sql.unsafe('SELECT "key" FROM "_duet_changes" WHERE "position" IS NULL').then(({ length }) => length);
  const burst = () => Promise.all(texts.map((text) => app.rest('POST', '/memos', { text })));
  // On a busy machine one of them may come alone, and what takes long is not given any: another time it is.
  const burstWithPositions = async () => {
    for (let tries = 0; tries < 30; tries++) {
      await burst();
      if ((await unstamped()) === 0) return;
      await Bun.sleep(100);
    }
    throw new Error('they are never given positions');
  };
  await app.rest('GET', '/changes/memos');
  await app.rest('POST', '/memos', { text: 'alone' });
  expect(await unstamped()).toBe(1);
  await burstWithPositions();
  // Others take long to give theirs: nobody waits for them.
  await sql.begin(async (other) => {
    await other.unsafe(`SELECT 1 FROM "_duet_journal" WHERE "table" = '' FOR UPDATE`);
    expect((await burst()).map(({ status }) => status)).toEqual(texts.map(() => 201));
  });
  expect(await unstamped()).toBe(texts.length);
  await burstWithPositions();
  const changes = (await app.rest('GET', '/changes/memos?limit=1000')).body;
  const keys = changes.map(({ key }: any) => key);
  expect(keys[0]).toBe(1);
  expect(keys.toSorted((one: number, other: number) => one - other)).toEqual(
    Array.from(keys, (_, at) => at + 1),
  );
  await app.close();
}, 60_000);

test('what others give positions to after the statement has begun keeps them', async () => {
  const url = await (await sharedPostgres()).database();
  const app = await openApp('postgres', { sdl, url });
  const reader = await openApp('postgres', { sdl, url });
  await using sql = new Bun.SQL(url, { max: 1 });
  await app.rest('GET', '/changes/memos');
  await app.rest('POST', '/memos', { text: 'alone' });
  await sql.unsafe(
    `CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_advisory_xact_lock(1); RETURN NEW; END $$;
     CREATE TRIGGER t BEFORE INSERT ON "Memo" FOR EACH ROW EXECUTE FUNCTION f()`,
  );
  const told = async () =>
    (await reader.rest('GET', '/changes/memos')).body.map(({ key, position }: any) => [key, position]);
  let before: unknown[] = [];
  let sent: Promise<unknown> | undefined;
  await sql.begin(async (other) => {
    await other.unsafe('SELECT pg_advisory_xact_lock(1)');
    sent = Promise.all(texts.map((text) => app.rest('POST', '/memos', { text })));
    const waits = "SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted";
    while ((await other.unsafe(waits)).length === 0) await Bun.sleep(5);
    before = await told();
  });
  await sent;
  expect(before).toHaveLength(1);
  const after = await told();
  expect(after.slice(0, 1)).toEqual(before);
  expect(new Set(after.map(([, position]: any) => position)).size).toBe(1 + texts.length);
  await reader.close();
  await app.close();
});

describe('what the operator has the database refuse', () => {
  const given = Array.from({ length: 40 }, (_, at) => (at % 10 === 7 ? `bad ${at}` : `good ${at}`));
  const refusal = `RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF NEW.text LIKE 'bad%' THEN`;

  test.each([
    ['by a constraint', `ALTER TABLE "Memo" ADD CHECK ("text" NOT LIKE 'bad%')`],
    [
      'by an error of a trigger',
      `CREATE FUNCTION f() ${refusal} RAISE EXCEPTION 'no'; END IF; RETURN NEW; END $$;
       CREATE TRIGGER t BEFORE INSERT ON "Memo" FOR EACH ROW EXECUTE FUNCTION f()`,
    ],
    [
      'by a trigger that leaves it out',
      `CREATE FUNCTION f() ${refusal} RETURN NULL; END IF; RETURN NEW; END $$;
       CREATE TRIGGER t BEFORE INSERT ON "Memo" FOR EACH ROW EXECUTE FUNCTION f()`,
    ],
  ])('%s, it refuses to one alone', async (_, rule) => {
    const url = await (await sharedPostgres()).database();
    const app = await openApp('postgres', { sdl, url });
    const sql = new Bun.SQL(url, { max: 1 });
    await sql.unsafe(rule);
    const answers = await Promise.all(given.map((text) => app.rest('POST', '/memos', { text })));
    expect(answers.map(({ status, body }) => (status === 201 ? body.text : status))).toEqual(
      given.map((text) => (text.startsWith('bad') ? 409 : text)),
    );
    const good = given.filter((text) => text.startsWith('good'));
    const stored = (await app.rest('GET', '/memos?limit=100')).body;
    expect(stored.map(({ text }: any) => text).toSorted()).toEqual(good.toSorted());
    const changes = (await app.rest('GET', '/changes/memos?limit=100')).body;
    expect(changes.map(({ after }: any) => after.text).toSorted()).toEqual(good.toSorted());
    await sql.close();
    await app.close();
  });
});
