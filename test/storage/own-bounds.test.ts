/** What webhooks and jobs ask of Duet's own tables on SQLite: however many rows there are, nobody waits for all to be looked at. */

import { Database, type SQLQueryBindings } from 'bun:sqlite';
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { PassedJson } from '../../src/base/passed.ts';
import { countJobs, dropJobs, retryJobs } from '../../src/engine/jobs/operator.ts';
import { firstDue, type Job, NEVER, turn } from '../../src/engine/jobs/queue.ts';
import { Positions } from '../../src/engine/journal/positions.ts';
import { discardLeft } from '../../src/engine/webhooks/left.ts';
import { Undelivered } from '../../src/engine/webhooks/sending.ts';
import { countWaiting, follow, hookOf, isBehind, note } from '../../src/engine/webhooks/stored.ts';
import { all, equal, type Filter } from '../../src/query/filter.ts';
import { changes, jobs } from '../../src/storage/own.ts';
import { Bounds } from '../../src/storage/sqlite/bounds.ts';
import { visiting } from '../../src/storage/sqlite/dialect.ts';
import { compiler } from '../../src/storage/sqlite/runner.ts';
import { type Row, type Statement, select } from '../../src/storage/statements.ts';
import { type Program, run, type Storage } from '../../src/storage/storage.ts';
import { type AppUnderTest, openApp } from '../app.ts';
import { Folder } from '../process.ts';
import { modelOf } from './deployment.ts';
import { seen } from './seen.ts';

const sdl = 'type Note @resource @journal { id: ID!  text: String }';
const FUTURE = Date.now() + 86_400_000;
const hook = hookOf('wh_1');
const folder = new Folder({});
const path = folder.file('duet.db');
const counting = (from: number, to: number) =>
  `WITH RECURSIVE n(v) AS (SELECT ${from} UNION ALL SELECT v + 1 FROM n WHERE v < ${to})`;

/** The webhook is told of nothing while an app is open. */
beforeAll(async () => {
  await (await openApp('sqlite', { sdl, data: {}, url: `sqlite:${path}` })).close();
  query(`INSERT INTO "_duet_webhooks" ("id", "url", "events", "secret", "private", "position", "recent", "at")
    VALUES ('wh_1', 'http://127.0.0.1:1', '["*"]', 's', 1, 1000000, '[]', 't')`);
});
afterAll(() => folder[Symbol.dispose]());

function query(sql: string): any[] {
  using file = new Database(path);
  return file.query(sql).all();
}

/** Deliveries that wait until tomorrow. */
function store(from: number, to: number): void {
  query(`${counting(from, to)} INSERT INTO "_duet_jobs" ("id", "hook", "lane", "version", "path", "attempt", "due", "at", "given")
    SELECT 'job ' || v, '${hook}', 'lane ' || v, v, '[]', 0, ${FUTURE}, '2026-01-01T00:00:00.000Z', '{"event":{}}' FROM n`);
}

async function opened(apart?: string[]): Promise<{ app: AppUnderTest; storage: Storage }> {
  let storage: Storage | undefined;
  const around = (each: Storage) => {
    storage = each;
    return each;
  };
  const app = await openApp('sqlite', {
    sdl,
    data: {},
    url: `sqlite:${path}`,
    around,
    ...(apart && { apart }),
  });
  return { app, storage: storage as Storage };
}

test('a webhook that is behind looks at the changes that it is told of next, and at no others', async () => {
  query(`${counting(1, 1_000)} INSERT INTO "_duet_changes" ("at", "kind", "table", "key", "version", "transaction", "after")
    SELECT '${new Date().toISOString()}', 'UPDATED', 'Note', 1, v, 't', '{}' FROM n`);
  const { app, storage } = await opened();
  const positions = new Positions(storage);
  await positions.ready();
  await app.close();
  query('UPDATE "_duet_webhooks" SET "position" = 0 RETURNING 1');
  using file = new Database(path);
  let visited = 0;
  file.function('visited', (_row) => {
    visited++;
    return 1;
  });
  const written: unknown[] = [];
  const ask = (statement: Statement): Row[] => {
    const { sql, parameters } = compiler.compile(statement);
    if (statement.do === 'select')
      return file.query(visiting(sql, 'visited')).all(...(parameters as SQLQueryBindings[])) as Row[];
    written.push(
      statement.do === 'update' ? statement.set : statement.do === 'insert all' && statement.rows.length,
    );
    return [];
  };
  const running = follow(modelOf(sdl), positions);
  for (let step = running.next(); !step.done; ) step = running.next(step.value.map(ask));
  query('UPDATE "_duet_webhooks" SET "position" = 1000000 RETURNING 1');
  expect(written).toEqual([{ position: 50 }, 50]);
  // Twice what it is told of, the change behind, and the webhook itself.
  expect(visited).toBeWithin(100, 110);
});

test('however much one webhook is to be told, it is the turn of the next after little of it', async () => {
  const { app, storage } = await opened();
  const positions = new Positions(storage);
  await positions.ready();
  await app.close();
  query(`${counting(2_001, 2_020)} INSERT INTO "_duet_changes" ("sequence", "at", "kind", "table", "key", "version", "transaction", "after")
    SELECT v, '${new Date().toISOString()}', 'UPDATED', 'Note', 1, v, 't', '{"text":"${'x'.repeat(50_000)}"}' FROM n`);
  query(`INSERT INTO "_duet_webhooks" ("id", "url", "events", "secret", "private", "position", "recent", "at")
    VALUES ('wh_2', 'http://127.0.0.1:1', '["*"]', 's', 1, 2019, '[]', 't')`);
  query(`UPDATE "_duet_webhooks" SET "position" = 2000 WHERE "id" = 'wh_1' RETURNING 1`);
  using file = new Database(path);
  const told = (after: string | undefined) => {
    const hooks = new Set<unknown>();
    const ask = (statement: Statement): Row[] => {
      if (statement.do === 'insert all') for (const row of statement.rows) hooks.add(row['hook']);
      if (statement.do !== 'select') return [];
      const { sql, parameters } = compiler.compile(statement);
      return file.query(sql).all(...(parameters as SQLQueryBindings[])) as Row[];
    };
    const running = follow(modelOf(sdl), positions, after);
    let step = running.next();
    while (!step.done) step = running.next(step.value.map(ask));
    return [...hooks, step.value.last];
  };
  const [first, second, anew] = [told(undefined), told('wh_1'), told('wh_gone')];
  query(`DELETE FROM "_duet_webhooks" WHERE "id" = 'wh_2' RETURNING 1`);
  query('DELETE FROM "_duet_changes" WHERE "sequence" > 2000 RETURNING 1');
  query('UPDATE "_duet_webhooks" SET "position" = 1000000 RETURNING 1');
  expect(first).toEqual([hook, 'wh_1']);
  // There is room for both: the next has little.
  expect(second).toEqual([hookOf('wh_2'), hook, 'wh_1']);
  expect(anew).toEqual(first);
});

test('a range of changes counts as many as there may be between its ends', () => {
  const between = (to: number): Filter[] => [
    { is: 'gt', column: changes.key, value: 10 },
    { is: 'lte', column: changes.key, value: to },
  ];
  const admits = (...where: Filter[]) => {
    const looking = select(changes, [changes.key], all([...where, equal(changes.column.at, 'x')]), {
      limit: 1,
    });
    const { sql, parameters } = compiler.compile(looking);
    using file = new Database(path);
    return new Bounds(file).admits(looking, sql, parameters) > 0;
  };
  const [from] = between(0) as [Filter];
  expect([admits(...between(1_000)), admits(...between(1_000_000)), admits(from)]).toEqual([
    true,
    false,
    true,
  ]);
});

const job: Job = {
  id: 'job 1',
  hook,
  lane: 'lane 1',
  given: new PassedJson('{"event":{}}'),
  path: [],
  attempt: 1,
};
const gone = { job, error: 'gone', outcome: new Undelivered('the receiver answered 410', 410) };
const room = { each: new Map([[hook, 10]]), jobs: 10, given: 1_000 };

const free: Filter = { is: 'null', column: jobs.column.holder };

const asked: [string, 'read' | 'write', boolean, (positions: Positions) => Program<unknown>][] = [
  ['the deliveries that wait are counted', 'read', true, () => countWaiting([hook])],
  ['all jobs are counted', 'read', true, countJobs],
  ['a webhook is disabled', 'write', false, () => note([gone])],
  ['all deliveries of a webhook are removed', 'write', true, () => removed(equal(jobs.column.hook, hook))],
  ['the ids of many are found', 'read', true, () => run(select(jobs, [jobs.key], free, { limit: 20_000 }))],
  ['jobs are removed by their ids', 'write', false, () => removed(equal(jobs.key, 'none'))],
  ['it is looked which is due', 'read', false, () => firstDue([hook, 'other'], FUTURE)],
  [
    'it is looked whether a webhook is behind',
    'read',
    false,
    (positions) => isBehind(modelOf(sdl), positions),
  ],
  ['jobs are ended and taken', 'write', false, () => turn('me', [{ job }], room)],
];

function removed(where: Filter): Program<unknown> {
  return run({ do: 'delete', resource: jobs, where });
}

describe.each([
  [100, false],
  [21_000, true],
])('with %d deliveries that wait', (count, areMany) => {
  // Nothing is to come of it.
  const undone = new Error('undone');

  test.each(asked)('%s', async (_, kind, mayLeave, program) => {
    store(1, count);
    // A process that cannot be: whatever needs one fails, and nothing else.
    const { app, storage } = await opened(['false']);
    const positions = new Positions(storage);
    const outcome = (async () =>
      storage[kind](
        function* () {
          yield* program(positions);
          throw undone;
        },
        'many',
        performance.now() + 10_000,
      ))();
    const error = await outcome.catch((each) => each);
    await app.close();
    query('DELETE FROM "_duet_jobs" RETURNING 1');
    if (areMany && mayLeave) expect(error).toMatchObject({ code: 'UNAVAILABLE' });
    else expect(error).toBe(undone);
  });

  const changed: [string, number, (storage: Storage) => Promise<unknown>][] = [
    [
      'those of a webhook that is disabled are taken away',
      FUTURE,
      (storage) => discardLeft(storage, new Map(), () => false),
    ],
    ['those that have failed are taken away', NEVER, (storage) => dropJobs(storage, 'failed')],
    ['those that have failed are tried again', NEVER, (storage) => retryJobs(storage, 'failed')],
  ];

  test.each(changed)('%s, some at a time', async (_, due, work) => {
    query(`UPDATE "_duet_webhooks" SET "disabled" = 'gone' RETURNING 1`);
    const { app, storage } = await opened();
    store(1, count);
    query(`UPDATE "_duet_jobs" SET "due" = ${due} RETURNING 1`);
    let most = 0;
    const counted = seen(storage, (statements, rows) => {
      for (const [at, each] of statements.entries())
        if (each.do === 'delete' || each.do === 'update') most = Math.max(most, rows[at]?.length ?? 0);
    });
    await work(counted);
    const left = query(`SELECT count(*) AS count FROM "_duet_jobs" WHERE "due" = ${due}`)[0].count;
    await app.close();
    query('DELETE FROM "_duet_jobs" RETURNING 1');
    query('UPDATE "_duet_webhooks" SET "disabled" = NULL, "position" = 1000000 RETURNING 1');
    // The app may be faster with some.
    expect([left, most <= 500]).toEqual([0, true]);
  });

  test('a metric tells how many, and since when', async () => {
    store(1, count);
    const { app } = await opened();
    const waiting = async () =>
      /^duet_webhook_deliveries_waiting (\d+)$/m.exec(await (await app.fetch('/metrics')).text())?.[1];
    const told = async () => {
      for (let tries = 0; tries < 1_000; tries++) {
        if ((await waiting()) !== '0') return;
        await Bun.sleep(20);
      }
    };
    await told();
    expect(await waiting()).toBe(String(count));
    await app.close();
    query('DELETE FROM "_duet_jobs" RETURNING 1');
  });
});
