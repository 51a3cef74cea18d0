/** Brings a deployment up and takes it down without cutting anybody off. */

import type { App } from '../app/app.ts';
import { StartFault } from '../app/deployment.ts';
import type { Peers } from '../app/options.ts';
import { runApp, warnings } from '../app/running.ts';
import type { Observe } from '../base/observe.ts';
import type { Config } from '../config/config.ts';

/** Beyond what a handler may take: a connection that idles out under a handler gets no answer. */
const IDLE_SECONDS = 20;

export interface Running {
  readonly url: string;
  /** Lets accepted requests finish, then closes the database. */
  stop(): Promise<void>;
}

/** `peers`: other processes that listen on the same port. */
export async function serve(config: Config, observe: Observe, peers?: Peers): Promise<Running> {
  const { app, model, close } = await runApp(config, observe, { peers });
  try {
    const server = listen(config, app.fetch, observe, peers !== undefined);
    const url = urlOf(config.host, server.port ?? config.port);
    const { kind } = config.database;
    observe({ event: 'started', url, pid: process.pid, database: kind, resources: model.resources.length });
    for (const message of warnings(config, model)) observe({ event: 'notice', message });
    return {
      url,
      async stop() {
        app.drain();
        await server.stop();
        await close();
        observe({ event: 'stopped' });
      },
    };
  } catch (error) {
    await close();
    throw error;
  }
}

export function urlOf(host: string, port: number): string {
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
}

function listen(
  { host, port, limitDeadline }: Config,
  fetch: App['fetch'],
  observe: Observe,
  reusePort: boolean,
) {
  try {
    return Bun.serve({
      hostname: host,
      port,
      reusePort,
      fetch,
      idleTimeout: Math.ceil(limitDeadline / 1000) + IDLE_SECONDS,
      // The limit is ours to enforce: the runtime's own answer has no body and no request id.
      maxRequestBodySize: Number.MAX_SAFE_INTEGER,
      error(cause) {
        observe({ event: 'failure', cause });
        return new Response(null, { status: 500 });
      },
    });
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new StartFault(`cannot listen on ${host}:${port} (${why}). PORT and HOST name another address`);
  }
}
