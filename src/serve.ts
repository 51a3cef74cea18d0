/** Brings a deployment up and takes it down without cutting anybody off. */

import type { Config } from './config.ts';
import { evolveDeployment, openDeployment, StartFault } from './deployment.ts';
import type { Observe } from './observe.ts';
import { createApp } from './server.ts';

/** Beyond what a handler may take: a connection that idles out under a handler gets no answer. */
const IDLE_SECONDS = 20;

export interface Running {
  readonly url: string;
  /** Lets accepted requests finish, then closes the database. */
  stop(): Promise<void>;
}

/** `shared`: other processes listen on the same port. */
export async function serve(config: Config, observe: Observe, shared: boolean): Promise<Running> {
  const { model, database } = openDeployment(config, observe);
  try {
    const { applied, surplus, deprecatedSince } = await evolveDeployment(config, model, database);
    for (const step of applied) observe({ event: 'migrated', step });
    if (surplus.length > 0)
      observe({
        event: 'notice',
        message: `the database has what the schema does not name, and keeps it: ${surplus.join(', ')}`,
      });
    const app = createApp({ model, storage: database, observe, config, deprecatedSince });
    const server = listen(config, app.fetch, observe, shared);
    const url = urlOf(config.host, server.port ?? config.port);
    const { kind } = config.database;
    observe({ event: 'started', url, pid: process.pid, database: kind, resources: model.resources.length });
    observe({
      event: 'notice',
      message: 'there is no authentication: everybody who reaches the port may read and write',
    });
    return {
      url,
      async stop() {
        app.drain();
        await server.stop();
        await database.close();
        observe({ event: 'stopped' });
      },
    };
  } catch (error) {
    await database.close();
    throw error;
  }
}

export function urlOf(host: string, port: number): string {
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
}

function listen(
  { host, port, limitDeadline }: Config,
  fetch: (request: Request) => Promise<Response>,
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
