/** Backups that a server has made for it: by a process of its own, so that whoever asks something does not wait. */

import type { Observe } from '../base/observe.ts';
import type { Config } from '../config/config.ts';
import type { Running } from './serve.ts';

/** Before a process that ended is started again: what stops it may last. */
const PAUSE_MS = 60_000;

/** `command` is this program. */
export function backingUp(
  running: Running,
  { backupTo, backupEvery, backupKeep }: Config,
  command: readonly string[],
  args: readonly string[],
  observe: Observe,
): Running {
  if (backupTo === null) return running;
  const words = ['backup', ...args, '--every', backupEvery, '--keep', String(backupKeep), backupTo];
  let stopping = false;
  const start = () => {
    const child = Bun.spawn([...command, ...words], {
      stdio: ['ignore', 'pipe', 'pipe'],
      // It ends with this process, whatever ends that.
      ipc: () => {},
      onExit: () => {
        if (!stopping) timer = setTimeout(() => (current = start()), PAUSE_MS);
      },
    });
    void follow(child.stdout, (to) => observe({ event: 'backup', to }));
    void follow(child.stderr, (message) => observe({ event: 'notice', message: `backup: ${message}` }));
    return child;
  };
  let timer: Timer | undefined;
  let current = start();
  return {
    url: running.url,
    reload: (config) => running.reload(config),
    async stop(signal) {
      stopping = true;
      clearTimeout(timer);
      current.kill('SIGTERM');
      await running.stop(signal);
    },
  };
}

async function follow(
  stream: ReadableStream<Uint8Array<ArrayBuffer>>,
  take: (line: string) => void,
): Promise<void> {
  let rest = '';
  for await (const chunk of stream.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) take(line);
  }
}
