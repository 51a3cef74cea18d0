/** A folder of examples/ that has packages of its own, started as its users start it, with what it keeps in a folder of the test's. */

import { join } from 'node:path';
import { freePort } from '../test/postgres.ts';
import { Folder } from '../test/process.ts';

export interface Example extends AsyncDisposable {
  /** Where people open it. */
  readonly page: string;
  /** Where its Duet listens. */
  readonly api: string;
  /** What it keeps. */
  readonly folder: string;
}

export async function started(name: string): Promise<Example> {
  const folder = Folder.empty();
  const [port, duetPort] = [String(freePort()), String(freePort())];
  const child = Bun.spawn(['npm', 'start'], {
    cwd: join(import.meta.dir, '../examples', name),
    env: { PATH: process.env['PATH'], DATA_FOLDER: folder.path, PORT: port, DUET_PORT: duetPort },
    stdout: 'ignore',
    stderr: 'inherit',
  });
  const example = {
    page: `http://127.0.0.1:${port}`,
    api: `http://127.0.0.1:${duetPort}`,
    folder: folder.path,
    async [Symbol.asyncDispose]() {
      child.kill();
      await child.exited;
      folder[Symbol.dispose]();
    },
  };
  for (let tries = 0; tries < 600 && child.exitCode === null; tries++) {
    if (
      await fetch(example.page).then(
        ({ ok }) => ok,
        () => false,
      )
    )
      return example;
    await Bun.sleep(50);
  }
  await example[Symbol.asyncDispose]();
  throw new Error(`examples/${name} does not start`);
}
