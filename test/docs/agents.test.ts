/** Every step of docs/agents.md, in order, against a real server process, on every database. */

import { afterAll, describe, test } from 'bun:test';
import { databases, sharedPostgres } from '../app.ts';
import { carryOut, Reader, stepsOf } from './steps.ts';

const steps = await stepsOf('docs/agents.md');

describe.each([...databases])('on %s', async (database) => {
  const url = database === 'postgres' ? { DATABASE_URL: await (await sharedPostgres()).database() } : {};
  const reader = new Reader(url);
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
