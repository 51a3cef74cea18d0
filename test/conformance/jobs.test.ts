/** Jobs: at least once, in order for one record, tried again, given up, taken over; and what they ask of Duet. */

import { Database } from 'bun:sqlite';
import { afterEach, describe, expect, test } from 'bun:test';
import { pauseAfter } from '../../src/engine/jobs/runner.ts';
import { type AppUnderTest, type DatabaseKind, databases, openApp, sharedPostgres } from '../app.ts';
import { Folder } from '../process.ts';
import { headersOf, SECRET } from './access-matrix.ts';

const sdl = `
  type Item @resource @allow(to: [READ, CREATE, UPDATE, DELETE]) {
    id: ID!  name: String!  n: Int! @default(value: 0)  secret: String @readonly
  }
  type Note @resource @allow(to: [READ]) @allow(to: [CREATE], role: "editor") { id: ID!  text: String! @constraint(maxLength: 9) }
  type Ticket @resource @allow(to: [READ, CREATE]) { id: ID!  number: Int! @readonly }
  type Ripple @resource @allow(to: [READ, CREATE, UPDATE]) { id: ID!  n: Int! }
`;

/** What the functions do, and what they were given, in order. */
let act: (given: any) => unknown = () => undefined;
let calls: any[] = [];
/** Of a function inside of a transaction. */
let runs = 0;
const item = (hook: string) => async (given: any) => {
  calls.push({ hook, ...given });
  await act(given);
};
const logic = {
  Item: {
    afterCreate: item('create'),
    afterUpdate: { timeout: 300, run: item('update') },
    *beforeUpdate({ tx, input }: any): any {
      if (input.name === 'noted') yield* tx.notes.create({ text: 'noted' });
    },
  },
  Ticket: {
    *beforeCreate({ tx, input }: any): any {
      runs++;
      const [last] = yield* tx.tickets.aggregate({ max: ['number'] });
      yield* tx.system.items.create({ name: 'beside' });
      return { ...input, number: (last.max.number ?? 0) + 1 };
    },
    async afterCreate({ record }: any) {
      calls.push({ hook: 'ticket', record: { name: record.number }, attempt: 1 });
    },
  },
  Ripple: {
    async afterCreate({ record, api }: any) {
      await act({ record, api });
    },
    async afterUpdate({ record, api }: any) {
      await api.ripples.update(record.id, { n: record.n + 1 });
    },
  },
};

async function until(what: string, holds: () => boolean | Promise<boolean>): Promise<void> {
  for (let tries = 0; tries < 1_500; tries++) {
    if (await holds()) return;
    await Bun.sleep(20);
  }
  throw new Error(`${what} did not happen`);
}

const open: { close(): Promise<void> | void }[] = [];
afterEach(async () => {
  for (const each of open.splice(0).reverse()) await each.close();
});

/** A database for several nodes, and what it holds. */
async function shared(database: DatabaseKind) {
  calls = [];
  act = () => undefined;
  if (database === 'postgres') {
    const url = await (await sharedPostgres()).database();
    const sql = new Bun.SQL(url, { max: 1 });
    open.push(sql);
    return { url, query: async (text: string): Promise<any[]> => [...(await sql.unsafe(text))] };
  }
  const folder = new Folder();
  const path = folder.file('duet.db');
  open.push({ close: () => folder[Symbol.dispose]() });
  const query = async (text: string): Promise<any[]> => {
    using file = new Database(path);
    file.run('PRAGMA busy_timeout = 5000');
    return file.query(text).all();
  };
  return { url: `sqlite:${path}`, query };
}

async function node(
  database: DatabaseKind,
  url: string,
  env?: Record<string, string>,
): Promise<AppUnderTest> {
  const app = await openApp(database, { sdl, logic, url, ...(env && { env }) });
  open.push(app);
  return app;
}

const hooks = () => calls.map(({ hook, record, attempt }) => `${hook} ${record.name} ${attempt}`);

describe.each([...databases])('on %s', (database) => {
  test('a job that fails is tried again, under the same id; the caller never learns of it', async () => {
    const { url } = await shared(database);
    const app = await node(database, url);
    act = ({ attempt }) => {
      if (attempt < 2) throw new Error('the mail server is away');
    };
    expect((await app.rest('POST', '/items', { name: 'a' })).status).toBe(201);
    await until('two attempts', () => calls.length === 2);
    expect(hooks()).toEqual(['create a 1', 'create a 2']);
    expect(calls[0].id).toBe(calls[1].id);
    expect(calls[0].before).toBeNull();
    const failure: any = app.observations.find(({ event }) => event === 'failure');
    expect(failure.cause.message).toMatch(
      /^Item.afterCreate 1 failed, attempt 1 of 25 \(job [\w-]+\); the next attempt is in 1 s$/,
    );
    expect(failure.cause.cause.message).toBe('the mail server is away');
  });

  test('a job that waits holds back the later ones of its record and hook, and no others', async () => {
    const { url } = await shared(database);
    const app = await node(database, url);
    act = ({ record, attempt }) => {
      if (record.name === 'first' && attempt < 2) throw new Error('not yet');
    };
    for (const name of ['x', 'y']) await app.rest('POST', '/items', { name });
    for (const name of ['first', 'second', 'third']) await app.rest('PUT', '/items/1', { name });
    await app.rest('PUT', '/items/2', { name: 'other' });
    await until('all calls', () => calls.length === 7);
    const updates = hooks().filter((each) => each.startsWith('update'));
    expect(updates.filter((each) => !each.includes('other'))).toEqual([
      'update first 1',
      'update first 2',
      'update second 1',
      'update third 1',
    ]);
    expect(updates.indexOf('update other 1')).toBeLessThan(updates.indexOf('update first 2'));
  });

  test('the last attempt fails for good: then the later ones proceed, and it is kept', async () => {
    const { url, query } = await shared(database);
    const app = await node(database, url);
    act = ({ record }) => {
      if (record.name === 'bad') throw new Error(`never\0\ud800`);
    };
    await app.rest('POST', '/items', { name: 'x' });
    await app.rest('PUT', '/items/1', { name: 'bad' });
    await until(
      'the first attempt',
      async () => (await query(`SELECT 1 FROM "_duet_jobs" WHERE "error" LIKE 'never%'`)).length === 1,
    );
    await app.rest('PUT', '/items/1', { name: 'good' });
    await query('UPDATE "_duet_jobs" SET "attempt" = 24, "due" = 0 WHERE "attempt" = 1 RETURNING 1');
    await until('the later one', () => hooks().includes('update good 1'));
    expect(hooks()).toEqual(['create x 1', 'update bad 1', 'update bad 25', 'update good 1']);
    const kept = await query('SELECT "hook", "attempt", "error" FROM "_duet_jobs" WHERE "error" IS NOT NULL');
    expect(kept).toEqual([{ hook: 'Item.afterUpdate', attempt: 25, error: 'never\ufffd' }]);
    await until('the metrics', async () =>
      (await app.rest('GET', '/metrics')).body.includes('duet_jobs_stored{state="failed"} 1'),
    );
    const { body: metrics } = await app.rest('GET', '/metrics');
    expect(metrics).toContain('duet_jobs_ended_total{outcome="failed"} 1');
    const { cause }: any = app.observations.findLast(({ event }) => event === 'failure');
    expect(cause.message).toEndWith('it has failed for good');
  });

  test('the pauses grow, and come to three days or so', () => {
    const pauses = Array.from({ length: 24 }, (_, index) => pauseAfter(index + 1));
    const days = pauses.reduce((sum, each) => sum + each) / 86_400_000;
    expect(days).toBeGreaterThan(2.5);
    expect(days).toBeLessThan(3.5);
    expect(pauses[0]).toBeLessThan(2_000);
  });

  test('a job that hangs is told so at its timeout, and begun again while the old call goes on', async () => {
    const { url } = await shared(database);
    const nodes = [await node(database, url), await node(database, url)];
    const aborted: unknown[] = [];
    act = ({ attempt, signal }) => {
      if (attempt > 1) return;
      signal.addEventListener('abort', () => aborted.push(signal.reason.message));
      return new Promise(() => {});
    };
    const [app] = nodes as [AppUnderTest];
    await app.rest('POST', '/items', { name: 'x' });
    act = (
      (before) => (given: any) =>
        given.before ? before(given) : undefined
    )(act);
    await app.rest('PUT', '/items/1', { name: 'y' });
    await until('the second attempt', () => hooks().includes('update y 2'));
    expect(aborted).toEqual(['it took longer than 300 ms']);
  });

  test('of several nodes, one runs a job at a time, for as long as it takes', async () => {
    const { url } = await shared(database);
    const nodes = [await node(database, url), await node(database, url), await node(database, url)];
    const [app] = nodes as [AppUnderTest];
    // Longer than a lease, which is renewed meanwhile.
    act = () => Bun.sleep(6_000);
    await app.rest('POST', '/items', { name: 'long' });
    await Bun.sleep(7_000);
    act = () => undefined;
    const names = Array.from({ length: 60 }, (_, index) => `i${index}`);
    await Promise.all(names.map((name, index) => nodes[index % 3]?.rest('POST', '/items', { name })));
    await until('all of them', () => calls.length >= 61);
    await Bun.sleep(100);
    expect(hooks().sort()).toEqual(['long', ...names].map((name) => `create ${name} 1`).sort());
  });

  test('what a node has no hands for is begun by another, which nobody has told', async () => {
    const { url, query } = await shared(database);
    const [app] = [await node(database, url), await node(database, url)];
    const { promise, resolve } = Promise.withResolvers<void>();
    act = () => promise;
    const records = Array.from({ length: 150 }, (_, index) => ({ name: `i${index}` }));
    const operations = [{ method: 'POST', path: '/items', body: records }];
    expect((await app.rest('POST', '/transaction', { operations })).status).toBe(200);
    await until('all of them', () => calls.length === 150);
    const holders = await query('SELECT count(*) AS n FROM "_duet_jobs" GROUP BY "holder"');
    expect(holders).toHaveLength(2);
    resolve();
    await until('the end', async () => (await query('SELECT 1 FROM "_duet_jobs"')).length === 0);
    expect(new Set(hooks()).size).toBe(150);
  });

  test('of long records few are held at a time, which keeps no other hook waiting', async () => {
    const { url, query } = await shared(database);
    const app = await node(database, url);
    const { promise, resolve } = Promise.withResolvers<void>();
    act = () => promise;
    const long = 'x'.repeat(1_000_000);
    for (let at = 0; at < 8; at++)
      expect((await app.rest('POST', '/items?fields=id', { name: `${at}${long}` })).status).toBe(201);
    expect((await app.rest('POST', '/tickets', {})).status).toBe(201);
    await until('the job of another hook', () => calls.some(({ hook }) => hook === 'ticket'));
    // A fifth of 16 MB is for this hook, and the job with which it has more.
    const begun = () => calls.filter(({ hook }) => hook === 'create').length;
    await until('as many as are held', () => begun() >= 4);
    // That of the other hook is held until its end is noted.
    const held = async () => (await query('SELECT 1 FROM "_duet_jobs" WHERE "holder" IS NOT NULL')).length;
    await until('no more than these', async () => (await held()) === 4);
    expect(begun()).toBe(4);
    resolve();
    await until('the end', async () => (await query('SELECT 1 FROM "_duet_jobs"')).length === 0);
    expect(new Set(calls.map(({ record }) => String(record.name).slice(0, 9))).size).toBe(10);
  });

  test('a node that is gone is replaced', async () => {
    const { url, query } = await shared(database);
    const app = await node(database, url);
    act = () => new Promise(() => {});
    await app.rest('POST', '/items', { name: 'x' });
    await until('the first attempt', () => calls.length === 1);
    // As if it had been killed: nobody renews what it holds.
    await query(`UPDATE "_duet_jobs" SET "holder" = 'gone' RETURNING 1`);
    act = () => undefined;
    await until('the second attempt', () => calls.length === 2);
    expect(hooks()).toEqual(['create x 1', 'create x 2']);
    expect(calls[0].signal.reason.message).toBe('the job is no longer held by this process');
  });

  test('a process that was too busy to renew its lease does not begin its own job again', async () => {
    const { url, query } = await shared(database);
    const app = await node(database, url);
    const { promise, resolve } = Promise.withResolvers<void>();
    act = () => promise;
    await app.rest('POST', '/items', { name: 'x' });
    await until('the first attempt', () => calls.length === 1);
    for (let times = 0; times < 8; times++) {
      await query('UPDATE "_duet_jobs" SET "due" = 0 RETURNING 1');
      await Bun.sleep(300);
    }
    resolve();
    await until('the end', async () => (await query('SELECT 1 FROM "_duet_jobs"')).length === 0);
    expect(hooks()).toEqual(['create x 1']);
  });

  test('a job that ends its process is not begun for ever', async () => {
    const { url, query } = await shared(database);
    const app = await node(database, url);
    act = () => new Promise(() => {});
    await app.rest('POST', '/items', { name: 'x' });
    await until('the first attempt', () => calls.length === 1);
    await query(`UPDATE "_duet_jobs" SET "holder" = 'gone', "attempt" = 25 RETURNING 1`);
    const failed = `SELECT "error" FROM "_duet_jobs" WHERE "holder" IS NULL`;
    await until('it has failed', async () => calls.length > 1 || (await query(failed)).length === 1);
    expect(await query(failed)).toEqual([{ error: 'the process ended while it ran' }]);
    expect(calls).toHaveLength(1);
  });

  test('api: each call a transaction of its own, without rules, or with those of a caller', async () => {
    const { url } = await shared(database);
    const app = await node(database, url, { AUTH_SECRET: SECRET });
    const told: unknown[] = [];
    act = async ({ record, before, api }) => {
      if (before) return;
      const made = await api.notes.create({ text: 'one' });
      told.push(made.text, (await api.notes.list()).length, await api.notes.get(99));
      told.push((await api.notes.aggregate({ count: true }))[0].count);
      told.push((await api.items.update(record.id, { secret: 'set' })).secret);
      const reader = { subject: 'r', roles: [], claims: {} };
      await api
        .as(reader)
        .notes.create({ text: 'two' })
        .catch((error: any) => told.push(error.code));
      await api.as({ ...reader, roles: ['editor'] }).notes.create({ text: 'two' });
      await api.notes.create({ text: 'much too long' }).catch((error: any) => told.push(error.code));
      const both = api.transact(function* (tx: any): any {
        yield* tx.notes.create({ text: 'three' });
        throw new Error('not so');
      });
      await both.catch((error: any) => told.push(error.message));
      const count = await api.transact(function* (tx: any): any {
        const notes = yield* tx.notes.list();
        yield* tx.notes.delete(notes[0].id);
        return notes.length;
      });
      told.push(
        count,
        (await api.notes.list()).map((each: any) => each.text),
      );
    };
    const headers = await headersOf({ name: 'u', claims: { sub: 'u' } });
    expect((await app.rest('POST', '/items', { name: 'x' }, headers)).status).toBe(201);
    await until('the whole of it', () => told.length === 10);
    expect(told).toEqual(['one', 1, null, 1, 'set', 'FORBIDDEN', 'VALIDATION_FAILED', 'not so', 2, ['two']]);
  });

  test('api.as needs a caller: what was not said does not mean everything', async () => {
    const { url } = await shared(database);
    const app = await node(database, url, { AUTH_SECRET: SECRET });
    const told: unknown[] = [];
    act = async (given) => {
      for (const caller of [given.caller, null, 'ann', {}, { subject: 'ann', roles: ['editor'] }]) {
        const wrote = async () => given.api.as(caller).notes.create({ text: 'any' });
        told.push(
          await wrote().then(
            () => 'written',
            (error: any) => error.message,
          ),
        );
      }
    };
    const headers = await headersOf({ name: 'u', claims: { sub: 'u' } });
    expect((await app.rest('POST', '/items', { name: 'x' }, headers)).status).toBe(201);
    await until('all of them', () => told.length === 5);
    for (const message of told) {
      expect(message).toStartWith('api.as needs a caller, { subject, roles, claims }');
      expect(message).toContain('what runs after a commit has none');
    }
  });

  test('functions of what a job writes run too, with no rule where it has no caller', async () => {
    const { url } = await shared(database);
    const app = await node(database, url, { AUTH_SECRET: SECRET });
    act = async ({ record, api }) => {
      if (record.name === 'x') await api.items.update(record.id, { name: 'noted' });
    };
    await app.rest('POST', '/items', { name: 'x' }, await headersOf({ name: 'u', claims: { sub: 'u' } }));
    await until('both', () => calls.length === 2);
    expect(hooks()).toEqual(['create x 1', 'update noted 1']);
    expect(
      (await app.rest('GET', '/notes', undefined, await headersOf({ name: 'u', claims: { sub: 'u' } }))).body,
    ).toHaveLength(1);
  });

  test('jobs that lead to each other end at the same depth as functions do', async () => {
    const { url } = await shared(database);
    const app = await node(database, url);
    act = ({ record, api }) => api.ripples.update(record.id, { n: 1 });
    await app.rest('POST', '/ripples', { n: 0 });
    const failures = () => app.observations.filter(({ event }) => event === 'failure') as any[];
    await until('the end', () => failures().length > 0);
    expect((await app.rest('GET', '/ripples/1')).body.n).toBe(7);
    const path = ['Ripple.afterCreate', ...Array(8).fill('Ripple.afterUpdate')].join(' → ');
    expect(failures()[0].cause.cause.message).toBe(`functions lead to each other more than 8 deep: ${path}`);
  });

  test('a service that stops lets its jobs finish, and leaves to others what does not', async () => {
    const { url, query } = await shared(database);
    const app = await node(database, url);
    let finished = false;
    act = async () => {
      await Bun.sleep(300);
      finished = true;
    };
    await app.rest('POST', '/items', { name: 'x' });
    await until('the start', () => calls.length === 1);
    await app.close();
    open.pop();
    expect(finished).toBe(true);
    expect(await query('SELECT 1 FROM "_duet_jobs"')).toEqual([]);

    const other = await node(database, url);
    act = () => new Promise(() => {});
    await other.rest('POST', '/items', { name: 'y' });
    await until('the next start', () => calls.length === 2);
    await other.close();
    open.pop();
    expect(calls[1].signal.reason.message).toBe('the service stops');
    const left = await query('SELECT "attempt", "holder", "error" FROM "_duet_jobs"');
    expect(left).toEqual([{ attempt: 0, holder: null, error: 'the service stopped while it ran' }]);
  });
});

test('a generator that loses a race on PostgreSQL is run again, and its effects stand once', async () => {
  const { url, query } = await shared('postgres');
  const app = await node('postgres', url);
  // Each has read before the other can have committed: one of them must lose.
  await query(
    `CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(0.3); RETURN NEW; END'`,
  );
  const [{ name: table }] = (await query(
    `SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public' AND lower(tablename) IN ('ticket', 'tickets')`,
  )) as [{ name: string }];
  await query(`CREATE TRIGGER wait BEFORE INSERT ON "${table}" FOR EACH ROW EXECUTE FUNCTION wait()`);
  runs = 0;
  const made = await Promise.all([1, 2].map(() => app.rest('POST', '/tickets', {})));
  expect(made.map(({ status }) => status)).toEqual([201, 201]);
  expect(made.map(({ body }) => body.number).sort()).toEqual([1, 2]);
  expect(runs).toBeGreaterThan(2);
  expect((await app.rest('GET', '/items')).body).toHaveLength(2);
  await until('all jobs', () => calls.length >= 4);
  await Bun.sleep(100);
  expect(hooks().sort()).toEqual(['create beside 1', 'create beside 1', 'ticket 1 1', 'ticket 2 1']);
});
