/** An application on its database, brought up and taken down; who listens is the business of whoever starts it. */

import type { Metrics } from '../base/metrics.ts';
import type { Observe } from '../base/observe.ts';
import { Recent } from '../base/recent.ts';
import { type Config, hasAuthentication } from '../config/config.ts';
import { graphqlDoor } from '../graphql/schema.ts';
import { watchLag } from '../http/guard/load.ts';
import { isLoopback } from '../http/guard/loopback.ts';
import type { Model } from '../schema/model.ts';
import { type App, createApp } from './app.ts';
import { evolveDeployment, type Given, openDeployment, readTrusted } from './deployment.ts';
import { readFiles } from './logic.ts';
import type { Dev, Peers } from './options.ts';
import { tracerOf } from './spans.ts';
import { warmUp } from './warm.ts';

export interface RunningApp {
  readonly model: Model;
  readonly app: App;
  /** When nobody waits for an answer any more. */
  close(): Promise<void>;
}

export interface RunningOptions {
  /** Other processes that listen on the same port. */
  readonly peers?: Peers | undefined;
  /** Of what was served before. */
  readonly metrics?: Metrics | undefined;
  readonly recent?: Recent | undefined;
  readonly dev?: Dev | undefined;
  /** What a program gives that Duet is a part of. */
  readonly given?: Given;
}

export async function runApp(
  config: Config,
  observe: Observe,
  { given, recent = new Recent(), ...others }: RunningOptions = {},
): Promise<RunningApp> {
  const tracer = tracerOf(config, observe);
  const { model, logic } = await readFiles(config, given);
  const ran: Observe = (observation) => {
    recent.observe(observation);
    observe(observation);
  };
  const { database } = await openDeployment(config, ran, {
    given,
    tracer,
    model,
    others: others.peers?.writers,
  });
  try {
    const door = graphqlDoor(model);
    const trusted = await readTrusted(config, door);
    const { applied, held, surplus, deprecatedSince, readOnly } = await evolveDeployment(
      config,
      model,
      database,
      { given },
    );
    const tell = (message: string) => observe({ event: 'notice', message });
    if (readOnly)
      tell('the database is read-only: reads are served, and writes are answered 503 (UNAVAILABLE)');
    for (const step of applied) observe({ event: 'migrated', step });
    if (held.length > 0)
      tell(
        `another schema gave this up, and its nodes may still be running; only \`duet migrate\` does it again: ${held.join(', ')}`,
      );
    if (surplus.length > 0)
      tell(`the database has what the schema does not name, and keeps it: ${surplus.join(', ')}`);
    database.replicas?.follow(tell);
    const storage = database;
    const options = {
      model,
      door,
      storage,
      observe,
      config,
      deprecatedSince,
      trusted,
      tracer,
      logic,
      recent,
    };
    await warmUp(options);
    const app = createApp({ ...options, ...others });
    const unwatch = watchLag();
    app.start();
    return {
      model,
      app,
      async close() {
        unwatch();
        await app.close();
        await Promise.all([database.close(), tracer?.close()]);
      },
    };
  } catch (error) {
    await database.close();
    throw error;
  }
}

/** What is allowed, and is hardly meant. */
export function warnings(config: Config, { resources }: Model): string[] {
  const found: string[] = [];
  const closed = resources.filter(({ allow }) => allow.length === 0).map(({ name }) => name);
  if (hasAuthentication(config) && closed.length > 0)
    found.push(`no rule allows anything on ${closed.join(', ')}: nobody can use them. Add @allow`);
  if (!hasAuthentication(config))
    found.push('there is no authentication: everybody who reaches the port may read and write');
  const jwks = URL.parse(config.authJwksUrl ?? '');
  if (jwks?.protocol === 'http:' && !isLoopback(jwks.hostname))
    found.push(
      'AUTH_JWKS_URL is plain http: whoever sits on the way to the issuer can say which keys are good',
    );
  return found;
}
