/** Every step of docs/logic.md, in order, against a real server process, on every database. */

import { afterAll, describe, test } from 'bun:test';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { databases, sharedPostgres } from '../app.ts';
import { carryOut, Reader, stepsOf } from './steps.ts';

const steps = await stepsOf('docs/logic.md');
const library = join(import.meta.dir, '../../src/app/library.ts');

describe.each([...databases])('on %s', async (database) => {
  const url = database === 'postgres' ? { DATABASE_URL: await (await sharedPostgres()).database() } : {};
  const reader = new Reader(url, { 'bun test': `${process.execPath} test` });
  // As if the package were installed there.
  const installed = join(reader.folder, 'node_modules/duet-server');
  mkdirSync(installed, { recursive: true });
  writeFileSync(join(installed, 'package.json'), '{ "name": "duet-server", "exports": "./index.ts" }');
  writeFileSync(join(installed, 'index.ts'), `export * from '${library}';`);
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
