/** What an ordinary start asks the database: a few things, however large the schema and however long its past. */

import { describe, expect, test } from 'bun:test';
import { existsSync, statSync } from 'node:fs';
import { readConfig } from '../../src/config/config.ts';
import type { Evolvable } from '../../src/storage/evolve/database.ts';
import { evolve } from '../../src/storage/evolve/evolve.ts';
import { openDatabase } from '../../src/storage/open.ts';
import { databases } from '../app.ts';
import { Deployment, modelOf } from './deployment.ts';

/** The same database, which counts what a session asks. */
function counted(database: Evolvable, asked: string[]): Evolvable {
  return {
    ddl: database.ddl,
    looking: (work) => database.looking(work),
    exclusively: (work) =>
      database.exclusively((session) =>
        work({
          query: (sql, parameters) => {
            asked.push(sql);
            return session.query(sql, parameters);
          },
          transaction: (inner) => session.transaction(inner),
          load: (program) => session.load(program),
        }),
      ),
  };
}

/** Each refers to the one before it. */
function chain(resources: number, more: string): string {
  return Array.from(
    { length: resources },
    (_, i) =>
      `type T${i} @resource { id: ID! title: String! @unique code: String @index ${more} ${i > 0 ? `before: T${i - 1}` : ''} }`,
  ).join('\n');
}

async function askedAtStart(deployment: Deployment, sdl: string): Promise<string[]> {
  const { config } = readConfig([], { DATABASE_URL: deployment.url });
  if (!config) throw new Error(deployment.url);
  const model = modelOf(sdl);
  const database = openDatabase(config, model);
  const asked: string[] = [];
  try {
    const { applied } = await evolve(counted(database, asked), model, function* () {});
    expect(applied).toEqual([]);
    return asked;
  } finally {
    await database.close();
  }
}

describe.each([...databases])('on %s', (kind) => {
  test('no more for many resources than for one, and no more after many files', async () => {
    await using small = await Deployment.create(kind);
    await small.evolve(chain(1, ''));
    const few = await askedAtStart(small, chain(1, ''));
    expect(few.length).toBeLessThanOrEqual(6);
    await using large = await Deployment.create(kind);
    for (const more of ['a: Int', 'a: Int b: Int', 'b: Int', ''])
      await large.evolve(chain(more === '' ? 30 : 3, more));
    expect(await askedAtStart(large, chain(30, ''))).toEqual(few);
  });
});

test('on SQLite, the log is there before the first write, and gone with the last who had it', async () => {
  await using deployment = await Deployment.create('sqlite');
  await deployment.evolve(chain(1, ''));
  const { config } = readConfig([], { DATABASE_URL: deployment.url });
  if (config?.database.kind !== 'sqlite') throw new Error(deployment.url);
  const log = `${config.database.path}-wal`;
  expect(existsSync(log)).toBe(false);
  const model = modelOf(chain(1, ''));
  const database = openDatabase(config, model);
  try {
    await evolve(database, model, function* () {});
    expect(statSync(log).size).toBeGreaterThan(0);
  } finally {
    await database.close();
  }
  expect(existsSync(log)).toBe(false);
});
