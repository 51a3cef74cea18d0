/** Nodes of an older file, beside those of one that keeps more true of records: they read, and do not write. */

import { describe, expect, test } from 'bun:test';
import { type AppUnderTest, databases, openApp } from '../app.ts';
import { Deployment } from './deployment.ts';

const B = 'type B @resource { id: ID! n: Int as: [A!]! }';
const A = (more: string, of = '') => `type A @resource ${of} { id: ID! n: Int b: B ${more} } ${B}`;
const plain = A('');
const checked = A('', '@check(where: { n: { lt: 10 } }, message: "n is less than 10")');
const stated = (allow: string) =>
  `${A(`s: S! @default(value: "NEW") @transitions(allow: ${allow})`)} enum S { NEW OLD GONE }`;

const seed = {
  bs: [{ id: 1, n: 1 }],
  as: [
    { id: 1, n: 1, bId: 1 },
    { id: 2, n: 2 },
  ],
};

/** A status and a code by every way to write an A. */
async function writes(app: AppUnderTest): Promise<unknown[]> {
  const operations = [
    { method: 'PUT', path: '/bs/1', body: { n: 7 } },
    { method: 'POST', path: '/as', body: { n: 3 } },
  ];
  const answers = [
    await app.rest('POST', '/as', { n: 3 }),
    await app.rest('POST', '/bs', { n: 3, as: [{ n: 3 }] }),
    await app.rest('PUT', '/as/1', { n: 3 }),
    await app.rest('PUT', '/as/1', { _inc: { n: 1 } }),
    await app.rest('DELETE', '/as/2'),
    await app.rest('POST', '/transaction', { operations }),
    await app.graphql('mutation { createA(n: 3) { id } }'),
    await app.graphql('mutation { updateA(id: 1, n: 3) { id } }'),
    await app.graphql('mutation { createAs(records: [{ n: 3 }, { n: 4 }]) { id } }'),
    await app.graphql('mutation { updateAs(where: {}, set: { n: 3 }, atMost: 5) { id } }'),
    await app.graphql('mutation { deleteAs(where: { n: { eq: 2 } }, atMost: 5) { id } }'),
    await app.graphql('mutation @atomic { updateB(id: 1, n: 7) { id } deleteA(id: 2) { id } }'),
  ];
  return answers.map(({ status, body }) => [status, body.code ?? body.errors?.[0].extensions.code]);
}

const OUTDATED = 'SCHEMA_OUTDATED';
const outdated = [...Array(6).fill([503, OUTDATED]), ...Array(6).fill([200, OUTDATED])];

const codes = async (answer: Promise<{ status: number; body: any }>) => {
  const { status, body } = await answer;
  return [status, body.code];
};

describe.each([...databases])('on %s', (kind) => {
  test('functions of a type: nodes without them read, and do not write it, until `duet migrate` goes back', async () => {
    await using deployment = await Deployment.create(kind);
    await deployment.evolve(plain, seed);
    const { url } = deployment;
    const before = { A: { beforeCreate: ({ input }: any) => input } };
    const after = { A: { ...before.A, async afterUpdate() {} } };
    const old = await openApp(kind, { sdl: plain, url });
    expect((await old.rest('PUT', '/as/1', { n: 1 })).status).toBe(200);
    const newer = await openApp(kind, { sdl: plain, url, logic: before });
    expect(await writes(old)).toEqual(outdated);
    expect((await old.rest('GET', '/as')).body).toHaveLength(2);
    expect((await old.rest('PUT', '/bs/1', { n: 5 })).status).toBe(200);
    expect((await newer.rest('POST', '/as', { n: 5 })).status).toBe(201);
    // One that is started again in the middle of a rollout changes nothing for the others.
    const again = await openApp(kind, { sdl: plain, url });
    expect(await codes(again.rest('POST', '/as', { n: 5 }))).toEqual([503, OUTDATED]);
    const newest = await openApp(kind, { sdl: plain, url, logic: after });
    expect(await codes(newer.rest('POST', '/as', { n: 5 }))).toEqual([503, OUTDATED]);
    expect((await newest.rest('PUT', '/as/1', { n: 5 })).status).toBe(200);
    await deployment.migrate(plain);
    for (const app of [old, again, newer, newest]) {
      expect((await app.rest('POST', '/as', { n: 6 })).status).toBe(201);
      await app.close();
    }
  });

  test.each([
    ['a new @check', plain, checked],
    ['another @check', checked, checked.replace('10', '11').replace('10', '11')],
    ['new @transitions', plain, stated('{ NEW: [OLD] }')],
    ['other @transitions', stated('{ NEW: [OLD] }'), stated('{ NEW: [OLD, GONE] }')],
  ])('%s: an older node reads, and writes other types only', async (_, before, after) => {
    await using deployment = await Deployment.create(kind);
    await deployment.evolve(before, seed);
    const old = await deployment.app(before);
    const shown = (await old.rest('GET', '/as')).body;
    expect((await old.rest('GET', '/readyz')).status).toBe(200);
    expect((await old.rest('PUT', '/as/1', { n: 1 })).status).toBe(200);
    const { steps } = await deployment.preview(after);
    expect(steps.at(-1)).toEqual({ do: 'raise', table: 'A' });
    const { applied } = await deployment.evolve(after);
    expect(applied.at(-1)).toBe('refuse writes to A from older nodes');
    expect((await deployment.history()).at(-1)?.steps).toEqual([...applied]);
    expect(await writes(old)).toEqual(outdated);
    expect(await codes(old.rest('GET', '/readyz'))).toEqual([503, OUTDATED]);
    expect((await old.rest('GET', '/as')).body).toEqual(shown);
    expect((await old.rest('GET', '/bs')).body).toEqual([{ id: 1, n: 1 }]);
    expect((await old.rest('PUT', '/bs/1', { n: 5 })).status).toBe(200);
    await deployment.using(after, async (app) => {
      expect((await app.rest('GET', '/readyz')).status).toBe(200);
      expect((await app.rest('POST', '/as', { n: 3 })).status).toBe(201);
      expect((await app.rest('PUT', '/as/1', { n: 4 })).status).toBe(200);
      expect((await app.rest('DELETE', '/as/1')).status).toBe(204);
    });
    expect((await deployment.evolve(after)).applied).toEqual([]);
    await old.close();
  });

  test('what is no longer kept true outdates nobody', async () => {
    await using deployment = await Deployment.create(kind);
    await deployment.evolve(checked, seed);
    const old = await deployment.app(checked);
    expect((await deployment.evolve(plain)).applied).toEqual([]);
    expect((await old.rest('POST', '/as', { n: 3 })).status).toBe(201);
    expect((await old.rest('POST', '/as', { n: 30 })).status).toBe(400);
    expect((await old.rest('GET', '/readyz')).status).toBe(200);
    await old.close();
    await deployment.using(plain, async (app) =>
      expect((await app.rest('POST', '/as', { n: 30 })).status).toBe(201),
    );
  });

  test('an older file that comes back only reads, until `duet migrate` makes it the newest', async () => {
    await using deployment = await Deployment.create(kind);
    await deployment.evolve(plain, seed);
    await deployment.evolve(checked);
    const newer = await deployment.app(checked);
    await deployment.using(plain, async (app) => {
      expect(await codes(app.rest('POST', '/as', { n: 30 }))).toEqual([503, OUTDATED]);
      await deployment.migrate(plain);
      expect((await app.rest('POST', '/as', { n: 30 })).status).toBe(201);
      expect((await app.rest('GET', '/readyz')).status).toBe(200);
    });
    expect((await newer.rest('POST', '/as', { n: 3 })).status).toBe(201);
    await newer.close();
    // A file that another has followed asks for nothing again.
    await deployment.evolve(checked);
    await deployment.using(plain, async (app) =>
      expect((await app.rest('POST', '/as', { n: 3 })).status).toBe(201),
    );
    expect(await deployment.refusals(checked, true)).toEqual([
      expect.stringContaining('"n is less than 10"'),
    ]);
    await deployment.using(plain, async (app) => {
      const [{ id }] = (await app.rest('GET', '/as?n=30')).body;
      expect((await app.rest('DELETE', `/as/${id}`)).status).toBe(204);
    });
    expect(await deployment.refusals(checked, true)).toEqual([]);
  });

  test('an import of an older file is refused, and stores nothing', async () => {
    await using deployment = await Deployment.create(kind);
    await deployment.evolve(plain, seed);
    await deployment.evolve(checked);
    await expect(deployment.load(plain, { as: [{ id: 9, n: 30 }] })).rejects.toMatchObject({
      code: OUTDATED,
    });
    await deployment.load(checked, { as: [{ id: 9, n: 9 }] });
    expect((await deployment.records(checked))['as']).toHaveLength(3);
  });
});

test('on SQLite, what another process carries out because it takes long is refused too', async () => {
  await using deployment = await Deployment.create('sqlite');
  await deployment.evolve(plain, seed);
  const many = 'WITH RECURSIVE s(i) AS (SELECT 10 UNION ALL SELECT i + 1 FROM s WHERE i < 30000)';
  await deployment.sql(`${many} INSERT INTO "A" (id, n, _version) SELECT i, 1, 1 FROM s`);
  const old = await deployment.app(plain);
  // What comes first keeps it from being looked for before.
  const operations = [
    { method: 'PUT', path: '/bs/1', body: { n: 7 } },
    { method: 'DELETE', path: '/as', where: { n: { eq: 2 } }, atMost: 5 },
  ];
  await deployment.evolve(checked);
  const { status, body } = await old.rest('POST', '/transaction', { operations });
  expect([status, body.code, body.operation]).toEqual([503, OUTDATED, 1]);
  expect((await old.rest('GET', '/bs/1')).body.n).toBe(1);
  await old.close();
});

/** On SQLite whoever changes tables is the only writer. */
describe('writes that are under way on PostgreSQL while a newer file is applied', () => {
  const lock = '"_duet_duties" IN ACCESS EXCLUSIVE';
  const waitsForWriters = async (deployment: Deployment) => {
    const look = `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%${lock}%'`;
    for (let tries = 0; tries < 500 && (await deployment.sql(look)).length === 0; tries++)
      await Bun.sleep(10);
  };

  test('are waited for, and held against what it keeps true', async () => {
    await using deployment = await Deployment.create('postgres');
    await deployment.evolve(plain, seed);
    const old = await deployment.app(plain);
    const other = new Bun.SQL(deployment.url, { max: 1 });
    // As a node writes: it looks what it is held to, and has not committed yet.
    await other
      .unsafe('BEGIN; SELECT 1 FROM "_duet_duties"; INSERT INTO "A" (n, _version) VALUES (30, 1)')
      .simple();
    const refusals = deployment.refusals(checked);
    await waitsForWriters(deployment);
    await other.unsafe('COMMIT');
    expect(await refusals).toEqual([expect.stringContaining('there are records that break it: 3.')]);
    expect((await old.rest('POST', '/as', { n: 40 })).status).toBe(201);
    await other.close();
    await old.close();
  });

  test('also if they took their snapshot before', async () => {
    const ruled = (of: string) => `
      type A @resource @allow(to: [READ]) ${of}
        @allow(to: [CREATE], where: { b: { as: { none: { n: { eq: 99 } } } } }) { id: ID! n: Int b: B! }
      type B @resource @allow(to: [READ, UPDATE]) { id: ID! n: Int as: [A!]! }`;
    await using deployment = await Deployment.create('postgres');
    await deployment.evolve(ruled(''), { bs: [{ id: 1, n: 1 }] });
    const env = { AUTH_SECRET: 'x'.repeat(32) };
    const old = await openApp('postgres', { sdl: ruled(''), url: deployment.url, env });
    const other = new Bun.SQL(deployment.url, { max: 1 });
    await other.unsafe('BEGIN; UPDATE "B" SET n = 2').simple();
    const operations = [
      { method: 'PUT', path: '/bs/1', body: { n: 7 } },
      { method: 'POST', path: '/as', body: { n: 30, bId: 1 } },
    ];
    const written = old.rest('POST', '/transaction', { operations });
    const waits = `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`;
    for (let tries = 0; tries < 500 && (await deployment.sql(waits)).length === 0; tries++)
      await Bun.sleep(10);
    const check = '@check(where: { n: { lt: 10 } }, message: "n is less than 10")';
    const refusals = deployment.refusals(ruled(check));
    await Promise.race([refusals, waitsForWriters(deployment)]);
    await other.unsafe('ROLLBACK');
    expect((await written).status).toBe(200);
    expect(await refusals).toEqual([expect.stringContaining('there are records that break it: 1.')]);
    await other.close();
    await old.close();
  });

  test('run again if their snapshot is older than what they are held to', async () => {
    const sdl = (ofA: string, ofD: string) => `
      type A @resource ${ofA} { id: ID! n: Int }
      type B @resource { id: ID! n: Int }
      type C @resource { id: ID! n: Int }
      type D @resource ${ofD} { id: ID! n: Int }
      type Mutation { add(n: Int!): A! @action }`;
    const Mutation = {
      *add({ tx }: any, { n }: any): any {
        yield* tx.bs.get(1);
        yield* tx.cs.get(1);
        return yield* tx.as.create({ n });
      },
    };
    const check = '@check(where: { n: { lt: 10 } }, message: "n is less than 10")';
    await using deployment = await Deployment.create('postgres');
    await deployment.evolve(sdl('', ''), { bs: [{ id: 1, n: 1 }], cs: [{ id: 1, n: 1 }] });
    const old = await openApp('postgres', {
      sdl: sdl('', ''),
      url: deployment.url,
      logic: { Mutation },
      env: { LIMIT_DEADLINE: '60000' },
    });
    const other = new Bun.SQL(deployment.url, { max: 1 });
    const addedWhile = async (n: number, newer: string) => {
      // Between its first read, which takes the snapshot, and its first write.
      await other.unsafe('BEGIN; LOCK TABLE "C" IN ACCESS EXCLUSIVE MODE').simple();
      const written = old.rest('POST', '/actions/add', { n });
      const waits = `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%"C"%'`;
      for (let tries = 0; tries < 500 && (await deployment.sql(waits)).length === 0; tries++)
        await Bun.sleep(10);
      expect(await deployment.sql(waits)).toHaveLength(1);
      await deployment.evolve(newer);
      await other.unsafe('ROLLBACK');
      return written;
    };
    expect((await addedWhile(3, sdl('', check))).status).toBe(200);
    expect(await codes(addedWhile(30, sdl(check, check)))).toEqual([503, OUTDATED]);
    expect((await old.rest('GET', '/as')).body).toHaveLength(1);
    await other.close();
    await old.close();
  });
});
