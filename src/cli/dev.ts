/** Runs the server as a child and starts it again whenever a watched file changes. */

import { existsSync, watch } from 'node:fs';
import { basename, dirname } from 'node:path';
import { isExecutable, self } from '../app/self.ts';

/** Editors write a file in several steps; one restart is enough for all of them. */
const SETTLE_MS = 100;

export async function dev(files: readonly string[], args: readonly string[]): Promise<void> {
  const start = () => Bun.spawn([...self(), ...args], { stdio: ['ignore', 'inherit', 'inherit'] });
  let child = start();
  let timer: Timer | undefined;
  const restart = async () => {
    child.kill('SIGTERM');
    await child.exited;
    child = start();
  };
  const changed = () => {
    clearTimeout(timer);
    timer = setTimeout(restart, SETTLE_MS);
  };
  // The folder is watched: editors replace files, and a replaced file is not watched any more.
  for (const file of files)
    if (existsSync(dirname(file)))
      watch(dirname(file), (_, name) => {
        if (name === basename(file)) changed();
      });
  if (!isExecutable()) watch(dirname(dirname(Bun.main)), { recursive: true }, changed);
  const stop = async () => {
    child.kill('SIGTERM');
    process.exit((await child.exited) ?? 0);
  };
  for (const event of ['SIGTERM', 'SIGINT', 'disconnect']) process.once(event, stop);
}
