/** Brings a deployment up, takes up what its files say later, and takes it down, without cutting anybody off. */

import type { App } from '../app/app.ts';
import { StartFault } from '../app/deployment.ts';
import type { Dev } from '../app/options.ts';
import { type RunningApp, type RunningOptions, runApp, warnings } from '../app/running.ts';
import { waiting } from '../app/waiting.ts';
import { Metrics } from '../base/metrics.ts';
import type { Observe } from '../base/observe.ts';
import { Recent } from '../base/recent.ts';
import type { Config } from '../config/config.ts';
import { longestMessage } from '../http/guard/load.ts';
import { socketHandlers } from '../http/sockets.ts';
import { watchDescriptors } from './descriptors.ts';

/** Beyond what a handler may take: a connection that idles out under a handler gets no answer. */
const IDLE_SECONDS = 20;
/** How often one looks whether those who were served before a reload have all been answered. */
const RETIRE_MS = 50;

export interface Running {
  readonly url: string;
  /** Serves by this configuration, and by what the files say now; throws a StartFault, and goes on as before. */
  reload(config: Config): Promise<void>;
  /** Goes on for as long as DRAIN_DELAY says where the signal asks for it, lets accepted requests finish, then closes the database. */
  stop(signal: StopSignal): Promise<void>;
}

/** Who stops a server at a terminal does not want it to wait for a load balancer. */
export type StopSignal = 'SIGTERM' | 'SIGINT';

export async function serve(
  config: Config,
  observe: Observe,
  options: Pick<RunningOptions, 'peers' | 'dev'> = {},
): Promise<Running> {
  const kept = { metrics: new Metrics(), recent: new Recent() };
  const run = (by: Config) => runApp(by, observe, { ...options, ...kept });
  let current = { config, ...(await run(config)) };
  const retiring = new Set<Promise<void>>();
  try {
    const server = listen(config, current.app.fetch, observe, options.peers !== undefined);
    const url = urlOf(config.host, server.port ?? config.port);
    const { kind } = config.database;
    const { resources } = current.model;
    observe({ event: 'started', url, pid: process.pid, database: kind, resources: resources.length });
    const warn = () => {
      for (const message of warnings(current.config, current.model)) observe({ event: 'notice', message });
    };
    warn();
    const unwatch = watchDescriptors(observe);
    return {
      url,
      async reload(next) {
        const before = current;
        current = { config: next, ...(await run(next)) };
        server.reload(handling(current.app.fetch, observe));
        const retired = retire(before).finally(() => retiring.delete(retired));
        retiring.add(retired);
        observe({ event: 'reloaded', resources: current.model.resources.length });
        warn();
      },
      async stop(signal) {
        current.app.drain();
        if (signal === 'SIGTERM') await Bun.sleep(current.config.drainDelay);
        await server.stop();
        unwatch();
        await Promise.all([current.close(), ...retiring]);
        observe({ event: 'stopped' });
      },
    };
  } catch (error) {
    await current.close();
    throw error;
  }
}

/** Serves the console alone, because of what is wrong with the files; throws a StartFault. */
export function serveWaiting(config: Config, observe: Observe, dev: Dev): Running {
  const server = listen(config, waiting(config, dev), observe, false);
  return {
    url: urlOf(config.host, server.port ?? config.port),
    // Whoever watches the files starts the server again.
    reload: async () => {},
    stop: async () => void (await server.stop()),
  };
}

/** Closes what is served no more, when those whom it serves have their answers. */
async function retire({ app, close }: RunningApp): Promise<void> {
  do await Bun.sleep(RETIRE_MS);
  while (app.isBusy());
  await close();
}

export function urlOf(host: string, port: number): string {
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
}

function listen(config: Config, fetch: App['fetch'], observe: Observe, reusePort: boolean) {
  const { host, port, limitDeadline } = config;
  try {
    return Bun.serve({
      hostname: host,
      port,
      reusePort,
      idleTimeout: Math.ceil(limitDeadline / 1000) + IDLE_SECONDS,
      // The limit is ours to enforce: the runtime's own answer has no body and no request id.
      maxRequestBodySize: Number.MAX_SAFE_INTEGER,
      websocket: socketHandlers(longestMessage(config)),
      ...handling(fetch, observe),
    });
  } catch (error) {
    throw cannotListen(host, port, error);
  }
}

/** What can be exchanged while the server listens. */
function handling(fetch: App['fetch'], observe: Observe) {
  return {
    fetch,
    error(cause: unknown) {
      observe({ event: 'failure', cause });
      return new Response(null, { status: 500 });
    },
  };
}

export function cannotListen(host: string, port: number, error: unknown): StartFault {
  const why = error instanceof Error ? error.message : String(error);
  const isTaken = (error as NodeJS.ErrnoException).code === 'EADDRINUSE';
  const reason = isTaken ? 'another process listens there' : why;
  return new StartFault(`cannot listen on ${host}:${port} (${reason}). PORT and HOST name another address`);
}
