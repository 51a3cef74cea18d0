/** A PostgreSQL that refuses what Citus does, to lock rows that it has to look for and to write by what a table of one machine says. */

import { afterAll, beforeAll, expect, test } from 'bun:test';
import { SQL } from 'bun';
import { type AppUnderTest, openApp, sharedPostgres } from '../app.ts';

const sdl = `
  type Club @resource { id: ID!  name: String! @unique }
  type Seat @resource { id: ID!  club: Club! @onDelete(do: CASCADE)  rank: Int }
  type Fan @resource { id: ID!  club: Club @onDelete(do: SET_NULL) }
  type Debt @resource { id: ID!  club: Club! }
  type Memo @resource @journal { id: ID!  text: String! }`;
const data = {
  clubs: ['a', 'b', 'c'].map((name, index) => ({ id: index + 1, name })),
  seats: [1, 1, 1, 2, 3].map((clubId, index) => ({ id: index + 1, clubId, rank: index })),
  fans: [1, 1, 2].map((clubId, index) => ({ id: index + 1, clubId })),
  debts: [{ id: 1, clubId: 3 }],
};

/** Refuses what a router of queries would: to lock by anything but one key. */
const routed = `CREATE FUNCTION routed() RETURNS boolean LANGUAGE plpgsql VOLATILE AS $$ BEGIN
    IF current_query() ~ 'FOR (NO KEY )?UPDATE$' AND current_query() !~ 'WHERE "\\w+"."id" = \\$1::int8 FOR (NO KEY )?UPDATE$' THEN
      RAISE 'could not run distributed query with FOR UPDATE/SHARE commands' USING ERRCODE = '0A000';
    END IF;
    RETURN true;
  END $$;`;

let app: AppUnderTest;
let other: SQL;

beforeAll(async () => {
  const url = await (await sharedPostgres()).database();
  app = await openApp('postgres', { sdl, data, url });
  other = new SQL(url, { max: 1 });
  // In front of each table stands a view that asks it first.
  await other
    .unsafe(`
    ${routed}
    CREATE FUNCTION spread() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      IF current_query() ~ '_duet_(duties|changes)' THEN
        RAISE 'relation % is not distributed', substring(current_query() FROM '_duet_(?:duties|changes)');
      END IF;
      RETURN NULL;
    END $$`)
    .simple();
  for (const table of ['Club', 'Seat', 'Fan', 'Debt', 'Memo'])
    await other
      .unsafe(`
      ALTER TABLE "${table}" RENAME TO "_${table}";
      CREATE VIEW "${table}" AS SELECT * FROM "_${table}" WHERE routed();
      CREATE TRIGGER "spread" BEFORE INSERT OR UPDATE OR DELETE ON "_${table}" EXECUTE FUNCTION spread()`)
      .simple();
});

afterAll(async () => {
  await app.close();
  await other.close({ timeout: 0 });
});

const ids = async (path: string) => (await app.rest('GET', path)).body.map(({ id }: any) => id);

test('a record that others refer to is deleted, and what refers to it with it', async () => {
  const before = app.statements.length;
  expect((await app.rest('DELETE', '/clubs/1')).status).toBe(204);
  expect([await ids('/clubs'), await ids('/seats')]).toEqual([
    [2, 3],
    [4, 5],
  ]);
  expect((await app.rest('GET', '/fans')).body.map(({ clubId }: any) => clubId)).toEqual([null, null, 2]);
  const refused = await app.graphql('mutation { deleteClub(id: 3) { id } }');
  expect(refused.errors).toMatchObject([{ extensions: { code: 'CONFLICT' } }]);
  expect(await ids('/seats')).toEqual([4, 5]);
  const locking = app.statements.slice(before).filter((sql) => sql.endsWith('FOR UPDATE'));
  const [, ...learned] = locking.filter((sql) => !/ WHERE "\w+"\."id" = \$1::int8 FOR UPDATE$/.test(sql));
  // Only the first told that the server is of this kind.
  expect([locking.length > 3, learned]).toEqual([true, []]);
});

test('a record that is created with its change', async () => {
  expect((await app.rest('POST', '/memos', { text: 'a' })).status).toBe(201);
  const [change] = (await app.rest('GET', '/changes/memos')).body;
  expect(change).toMatchObject({ kind: 'CREATED', key: 1, version: 1, after: { id: 1, text: 'a' } });
});

test('a write on many records', async () => {
  const update = 'mutation { updateSeats(where: { rank: { gte: 3 } }, set: { rank: 7 }, atMost: 9) { id } }';
  const { body } = await app.graphql(update);
  expect(body.errors).toBeUndefined();
  expect((await app.rest('GET', '/seats')).body.map(({ rank }: any) => rank)).toEqual([7, 7]);
});

test('a record that is looked up by another field than its key', async () => {
  const upsert = async (name: string) => {
    const { status, body } = await app.rest('POST', '/clubs?upsert=name&fields=id,name,_version', { name });
    return [status, body.name, body._version];
  };
  expect(await upsert('b')).toEqual([200, 'b', 2]);
  expect(await upsert('new')).toEqual([201, 'new', 1]);
});

test('a record that is turned elsewhere while it is waited for is left alone', async () => {
  await other`BEGIN`;
  await other`UPDATE "_Seat" SET "clubId" = 3 WHERE id = 4`;
  const deleting = app.rest('DELETE', '/clubs/2');
  for (let tries = 0; tries < 200; tries++) {
    const waiting = await other`SELECT 1 FROM pg_stat_activity
      WHERE datname = current_database() AND wait_event_type = 'Lock'`;
    if (waiting.length > 0) break;
    await Bun.sleep(10);
  }
  await other`COMMIT`;
  expect((await deleting).status).toBe(204);
  expect(await ids('/seats')).toEqual([4, 5]);
});

test('a node that an update of the schema has passed by writes nothing, alone or among other operations', async () => {
  expect((await app.rest('POST', '/fans', {})).status).toBe(201);
  const before = [await ids('/fans'), await ids('/clubs'), await ids('/debts')];
  await other`INSERT INTO _duet_duties ("table", "duty") VALUES ('Fan', 'of a newer file'), ('Club', 'of a newer file')`;
  const operations = [
    { method: 'POST', path: '/debts', body: { clubId: 3 } },
    { method: 'POST', path: '/fans', body: {} },
  ];
  const refused = [
    await app.rest('POST', '/clubs', { name: 'd' }),
    await app.rest('POST', '/fans', {}),
    await app.rest('PUT', '/fans/1', { clubId: 3 }),
    await app.rest('DELETE', '/fans/1'),
    await app.rest('POST', '/transaction', { operations }),
  ];
  expect(refused.map(({ status, body }) => [status, body.code])).toEqual(
    refused.map(() => [503, 'SCHEMA_OUTDATED']),
  );
  await other`DELETE FROM _duet_duties WHERE "duty" = 'of a newer file'`;
  expect([await ids('/fans'), await ids('/clubs'), await ids('/debts')]).toEqual(before);
});

test('records that were there before get what a new file keeps of them', async () => {
  const url = new URL(await (await sharedPostgres()).database());
  const role = `spread_${crypto.randomUUID().slice(0, 8)}`;
  const admin = new SQL(url.href, { max: 1 });
  // Policies of rows do not hold for superusers.
  await admin
    .unsafe(`CREATE ROLE ${role} LOGIN; GRANT CREATE ON SCHEMA public TO ${role}; ${routed}`)
    .simple();
  url.username = role;
  const type = 'Log @resource { id: ID!  text: String! }';
  const logs = Array.from({ length: 20 }, (_, index) => ({ text: index === 13 ? 'odd' : 'even' }));
  try {
    await (await openApp('postgres', { sdl: `type ${type}`, data: { logs }, url: url.href })).close();
    const policy = 'CREATE POLICY "spread" ON "Log" USING (routed())';
    await admin
      .unsafe(
        `ALTER TABLE "Log" ENABLE ROW LEVEL SECURITY; ALTER TABLE "Log" FORCE ROW LEVEL SECURITY; ${policy}`,
      )
      .simple();
    const sdl = `type ${type.replace('{', '@search(fields: ["text"]) {')}`;
    const newer = await openApp('postgres', { sdl, url: url.href });
    const found = await newer.rest('GET', '/logs?search=odd');
    await newer.close();
    expect(found.body).toEqual([{ id: 14, text: 'odd' }]);
  } finally {
    await admin
      .unsafe(`REASSIGN OWNED BY ${role} TO CURRENT_USER; DROP OWNED BY ${role}; DROP ROLE ${role}`)
      .simple();
    await admin.close();
  }
});
