/** Brings a deployment up and takes it down without cutting anybody off. */

import { type App, createApp } from '../app/app.ts';
import { evolveDeployment, openDeployment, readTrusted, StartFault } from '../app/deployment.ts';
import type { Peers } from '../app/options.ts';
import type { Observe } from '../base/observe.ts';
import { type Config, hasAuthentication } from '../config/config.ts';
import { graphqlDoor } from '../graphql/schema.ts';
import { watchLag } from '../http/guard/load.ts';
import type { Model } from '../schema/model.ts';

/** Beyond what a handler may take: a connection that idles out under a handler gets no answer. */
const IDLE_SECONDS = 20;

export interface Running {
  readonly url: string;
  /** Lets accepted requests finish, then closes the database. */
  stop(): Promise<void>;
}

/** `peers`: other processes that listen on the same port. */
export async function serve(config: Config, observe: Observe, peers?: Peers): Promise<Running> {
  const { model, database } = await openDeployment(config, observe);
  try {
    const door = graphqlDoor(model);
    const trusted = await readTrusted(config, door);
    const { applied, held, surplus, deprecatedSince, readOnly } = await evolveDeployment(
      config,
      model,
      database,
    );
    if (readOnly)
      observe({
        event: 'notice',
        message: 'the database is read-only: reads are served, and writes are answered 503 (UNAVAILABLE)',
      });
    for (const step of applied) observe({ event: 'migrated', step });
    if (held.length > 0)
      observe({
        event: 'notice',
        message: `another schema gave this up, and its nodes may still be running; only \`duet migrate\` does it again: ${held.join(', ')}`,
      });
    if (surplus.length > 0)
      observe({
        event: 'notice',
        message: `the database has what the schema does not name, and keeps it: ${surplus.join(', ')}`,
      });
    const app = createApp({
      model,
      door,
      storage: database,
      observe,
      config,
      deprecatedSince,
      peers,
      trusted,
    });
    watchLag();
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
        await database.close();
        observe({ event: 'stopped' });
      },
    };
  } catch (error) {
    await database.close();
    throw error;
  }
}

/** What is allowed, and is hardly meant. */
function warnings(config: Config, { resources }: Model): string[] {
  const found: string[] = [];
  const closed = resources.filter(({ allow }) => allow.length === 0).map(({ name }) => name);
  if (hasAuthentication(config) && closed.length > 0)
    found.push(`no rule allows anything on ${closed.join(', ')}: nobody can use them. Add @allow`);
  if (!hasAuthentication(config))
    found.push('there is no authentication: everybody who reaches the port may read and write');
  const jwks = URL.parse(config.authJwksUrl ?? '');
  if (jwks?.protocol === 'http:' && !/^(localhost|127\.[\d.]+|\[::1\])$/.test(jwks.hostname))
    found.push(
      'AUTH_JWKS_URL is plain http: whoever sits on the way to the issuer can say which keys are good',
    );
  return found;
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
