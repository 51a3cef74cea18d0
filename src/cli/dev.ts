/** Runs a server as a child, tells it when a watched file has changed, and starts it again when code has, its own or `logic.ts`. */

import { existsSync, readFileSync, watch } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { isExecutable, self } from '../app/self.ts';
import type { Message } from './workers.ts';

/** Editors write a file in several steps; once is enough for all of them. */
const SETTLE_MS = 100;

export interface Watched {
  /** The schema file and the data. */
  readonly files: readonly string[];
  /** Where the file of functions is, or may come to be. */
  readonly logic: string;
  /** All that it is made of. */
  readonly code: () => ReadonlySet<string>;
  /** Changes when one of those does. */
  readonly digest: () => string;
  /** Makes anew what is generated from the schema file. */
  readonly generate: () => void;
}

export async function dev(
  { files, logic, code, digest, generate }: Watched,
  args: readonly string[],
): Promise<void> {
  let state: 'starting' | 'ready' | 'waiting' = 'starting';
  let [loaded, read] = ['', ''];
  const contents = () =>
    files.map((file) => (existsSync(file) ? Bun.hash(readFileSync(file)) : '')).join(' ');
  const start = () => {
    state = 'starting';
    generate();
    [loaded, read] = [digest(), contents()];
    const started = Bun.spawn([...self(), 'dev-server', ...args], {
      stdio: ['ignore', 'inherit', 'inherit'],
      ipc: (message: Message) => {
        if ((message.say === 'ready' || message.say === 'waiting') && started === child) state = message.say;
      },
    });
    return started;
  };
  let child = start();
  const restart = async () => {
    child.kill('SIGINT');
    await child.exited;
    child = start();
  };
  // One that could not begin with the file as it was, or has not yet, begins with the file as it is.
  const reload = async () => {
    generate();
    // Functions that did not fit the file as it was may fit it now.
    if (digest() !== loaded) return relogic();
    // What was started last has read it.
    if (contents() === read && child.exitCode === null) return;
    if (state !== 'ready' || child.exitCode !== null) return restart();
    read = contents();
    child.send({ say: 'reload' } satisfies Message);
  };
  /** Functions that have faults are told, and those that were loaded before are served. */
  const relogic = async () => {
    generate();
    watchCode();
    if (digest() === loaded && child.exitCode === null) return;
    // Nothing is served that could be kept, and what is wrong now is for the console to tell.
    if (state === 'waiting') return restart();
    const checking = Bun.spawn([...self(), 'prepare', ...args], { stdio: ['ignore', 'ignore', 'inherit'] });
    if ((await checking.exited) === 0) await restart();
  };
  // One after the other: two that start the server at once would leave one behind.
  let last = Promise.resolve();
  const after = (change: () => Promise<void>) => {
    let timer: Timer | undefined;
    const begin = () => {
      last = last.then(change).catch((error) => void process.stderr.write(`duet: ${error}\n`));
    };
    return () => {
      clearTimeout(timer);
      timer = setTimeout(begin, SETTLE_MS);
    };
  };
  const [changed, recoded, relogicked] = [after(reload), after(restart), after(relogic)];
  // The folder is watched: editors replace files, and a replaced file is not watched any more.
  for (const file of files)
    if (existsSync(dirname(file)))
      watch(dirname(file), (_, name) => {
        if (name === basename(file)) changed();
      });
  const watched = new Set<string>();
  const watchCode = () => {
    for (const folder of new Set([...code(), resolve(logic)].map((path) => dirname(path)))) {
      if (watched.has(folder) || !existsSync(folder)) continue;
      watched.add(folder);
      watch(folder, (_, name) => {
        const path = join(folder, String(name));
        if (path === resolve(logic) || code().has(path)) relogicked();
      });
    }
  };
  watchCode();
  if (!isExecutable()) watch(dirname(dirname(Bun.main)), { recursive: true }, recoded);
  const stop = async () => {
    // No load balancer is before it that would have to notice.
    child.kill('SIGINT');
    process.exit((await child.exited) ?? 0);
  };
  for (const event of ['SIGTERM', 'SIGINT', 'disconnect']) process.once(event, stop);
}
