/** Every step of docs/tutorial.md, in order, against a real server process; on PostgreSQL from the start, too. */

import { afterAll, describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { databases, sharedPostgres } from '../app.ts';
import { carryOut, Reader, stepsOf } from './steps.ts';

const steps = await stepsOf('docs/tutorial.md');

test('what the test cannot do is one block, and its commands exist', async () => {
  const install = steps.filter(({ word }) => word === 'install');
  expect(install.length).toBe(1);
  const { scripts } = await Bun.file(join(import.meta.dir, '../../package.json')).json();
  for (const [, script = ''] of install[0]?.text.matchAll(/npm run (\w+)/g) ?? [])
    expect(Object.keys(scripts)).toContain(script);
});

describe.each([...databases])('beginning on %s', async (database) => {
  const postgres = await sharedPostgres();
  const reader = new Reader(database === 'postgres' ? { DATABASE_URL: await postgres.database() } : {}, {
    'postgres://blog:PASSWORD@localhost:5432/blog': await postgres.database(),
  });
  afterAll(() => reader[Symbol.asyncDispose]());

  let done = 0;
  test.each(steps.map((step, index) => [index, step.heading, step] as const))(
    'step %d: %s',
    async (index, _, step) => {
      if (done < index) throw new Error('an earlier step has failed');
      await carryOut(reader, step);
      done++;
    },
  );
});
