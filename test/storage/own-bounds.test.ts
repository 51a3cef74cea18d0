/** What webhooks ask of Duet's own tables on SQLite: however many rows there are, nobody waits for all to be looked at. */

import { Database, type SQLQueryBindings } from 'bun:sqlite';
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { Positions } from '../../src/engine/journal/positions.ts';
import { follow } from '../../src/engine/webhooks/stored.ts';
import { all, equal, type Filter } from '../../src/query/filter.ts';
import { changes } from '../../src/storage/own.ts';
import { Bounds } from '../../src/storage/sqlite/bounds.ts';
import { visiting } from '../../src/storage/sqlite/dialect.ts';
import { compiler } from '../../src/storage/sqlite/runner.ts';
import { type Row, type Statement, select } from '../../src/storage/statements.ts';
import type { Storage } from '../../src/storage/storage.ts';
import { type AppUnderTest, openApp } from '../app.ts';
import { Folder } from '../process.ts';
import { modelOf } from './deployment.ts';

const sdl = 'type Note @resource @journal { id: ID!  text: String }';
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
