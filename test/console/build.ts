/** Builds the console as it is now: what an earlier install has built may be older. */

import { join } from 'node:path';

/** Set by whoever has built it for several processes of tests, of which none may then build it under the others. */
export const BUILT = 'DUET_TEST_BUILT';

let building: Promise<void> | undefined;

export function buildConsole(): Promise<void> {
  building ??= process.env[BUILT] === undefined ? build() : Promise.resolve();
  return building;
}

async function build(): Promise<void> {
  const root = join(import.meta.dir, '../..');
  const child = Bun.spawn([process.execPath, '--no-env-file', 'src/console/build.ts'], {
    cwd: root,
    stdout: 'pipe',
    stderr: 'pipe',
  });
  const [told, status] = [await new Response(child.stderr).text(), await child.exited];
  if (status !== 0) throw new Error(told);
}
