/** Several processes behind one port: starts them, starts a lost one again, and stops them together. */

import type { Subprocess } from 'bun';
import type { Config } from './config.ts';
import { StartFault } from './deployment.ts';
import type { Observe } from './observe.ts';
import { type Running, urlOf } from './serve.ts';

/** A worker that cannot stay up is not started again in a tight circle. */
const PAUSE_MS = 500;

/** `command` runs one worker; it tells its parent when it is ready, and says on standard error why it cannot be. */
export async function superviseWorkers(
  config: Config,
  command: readonly string[],
  observe: Observe,
): Promise<Running> {
  const port = config.port === 0 ? freePort(config.host) : config.port;
  const workers = new Set<Subprocess>();
  let stopping = false;

  const start = () =>
    new Promise<boolean>((resolve) => {
      const worker = Bun.spawn([...command, `--port=${port}`], {
        stdio: ['ignore', 'inherit', 'inherit'],
        ipc: () => resolve(true),
        onExit: (_, code) => {
          workers.delete(worker);
          resolve(false);
          if (stopping) return;
          observe({ event: 'failure', cause: new Error(`a worker ended with code ${code}`) });
          setTimeout(() => {
            if (!stopping) void start();
          }, PAUSE_MS);
        },
      });
      workers.add(worker);
    });

  const stop = async () => {
    stopping = true;
    for (const worker of workers) worker.kill('SIGTERM');
    await Promise.all([...workers].map((worker) => worker.exited));
  };

  const ready = await Promise.all(Array.from({ length: config.workers }, start));
  if (ready.includes(false)) {
    await stop();
    throw new StartFault('a worker could not start; it has said why');
  }
  const url = urlOf(config.host, port);
  observe({ event: 'supervising', url, workers: config.workers });
  return { url, stop };
}

function freePort(hostname: string): number {
  const probe = Bun.listen({ hostname, port: 0, socket: { data() {} } });
  probe.stop();
  return probe.port;
}
