/** Builds the console as it is now: what an earlier install has built may be older. */

import { join } from 'node:path';

let building: Promise<void> | undefined;

export function buildConsole(): Promise<void> {
  building ??= build();
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
