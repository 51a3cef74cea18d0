/** Brings a deployment up from its files and takes it down without cutting anybody off. */

import type { Config } from './config.ts';
import { loading } from './engine/load.ts';
import type { Level, Observe } from './observe.ts';
import type { Model } from './schema/model.ts';
import { readSchema } from './schema/read.ts';
import { createApp } from './server.ts';
import { evolve } from './storage/evolve/evolve.ts';
import { type Database, openDatabase } from './storage/open.ts';
import type { Program } from './storage/storage.ts';

/** Something the operator must mend before the server can start; the message says what and where. */
export class StartFault extends Error {}

/** Longer than any handler may take: a connection that idles out under a handler gets no answer. */
const IDLE_TIMEOUT_SECONDS = 30;

export interface Running {
  readonly url: string;
  /** Lets accepted requests finish, then closes the database. */
  stop(): Promise<void>;
}

export async function serve(config: Config, observe: Observe): Promise<Running> {
  const model = await readModel(config.schema);
  const load = await readData(config, model);
  const storage = openStorage(config, model, observe);
  const { applied, surplus } = await evolve(storage, model, load).catch(async (error) => {
    await storage.close();
    throw new StartFault(error instanceof Error ? error.message : String(error), { cause: error });
  });
  for (const step of applied) observe({ event: 'migrated', step });
  if (surplus.length > 0)
    observe({
      event: 'notice',
      message: `the database has what the schema does not name, and keeps it: ${surplus.join(', ')}`,
    });
  const app = createApp({ model, storage, observe, config });
  const server = listen(config, app.fetch, observe);
  const url = `http://${config.host.includes(':') ? `[${config.host}]` : config.host}:${server.port}`;
  observe({ event: 'started', url, database: config.database.kind, resources: model.resources.length });
  observe({
    event: 'notice',
    message: 'there is no authentication: everybody who reaches the port may read and write',
  });
  return {
    url,
    async stop() {
      app.drain();
      await server.stop();
      await storage.close();
      observe({ event: 'stopped' });
    },
  };
}

async function readModel(file: string): Promise<Model> {
  const text = await readText(file, 'DUET_SCHEMA');
  const { model, faults } = readSchema(text);
  if (model) return model;
  throw new StartFault(
    faults.map(({ line, column, message }) => `${file}:${line}:${column} ${message}`).join('\n'),
  );
}

async function readData(config: Config, model: Model): Promise<() => Program<void>> {
  const file = config.data;
  if (!config.given.has('data') && !(await Bun.file(file).exists())) return function* () {};
  const text = await readText(file, 'DUET_DATA');
  let data: unknown;
  try {
    data = JSON.parse(text);
  } catch (error) {
    throw new StartFault(`${file} is not valid JSON: ${error instanceof Error ? error.message : error}`);
  }
  const { program, faults } = loading(model, data);
  if (program) return program;
  throw new StartFault(faults.map((fault) => `${file}: ${fault}`).join('\n'));
}

async function readText(file: string, setting: string): Promise<string> {
  try {
    return await Bun.file(file).text();
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new StartFault(`cannot read ${file} (${why}). ${setting} names another file`);
  }
}

function openStorage(config: Config, model: Model, observe: Observe): Database {
  const debug: Level = 'debug';
  const trace = config.logLevel === debug ? (sql: string) => observe({ event: 'statement', sql }) : undefined;
  try {
    return openDatabase(config, model, trace);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new StartFault(`cannot open the database (${why}). DATABASE_URL names another`);
  }
}

function listen({ host, port }: Config, fetch: (request: Request) => Promise<Response>, observe: Observe) {
  try {
    return Bun.serve({
      hostname: host,
      port,
      fetch,
      idleTimeout: IDLE_TIMEOUT_SECONDS,
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
