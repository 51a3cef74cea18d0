/** Opens the real application on a real database for a test, and speaks to it as a client would. */

import { Database as SqliteFile } from 'bun:sqlite';
import { join } from 'node:path';
import { accessRules } from '../src/access/faults.ts';
import { type App, createApp } from '../src/app/app.ts';
import { statementTrace } from '../src/app/statement-reports.ts';
import type { Observation } from '../src/base/observe.ts';
import { Recent } from '../src/base/recent.ts';
import { type Config, readConfig } from '../src/config/config.ts';
import { filledTypes, readLogic } from '../src/engine/logic/logic.ts';
import { loading } from '../src/engine/transfer/load.ts';
import { graphqlDoor } from '../src/graphql/schema.ts';
import { longestMessage } from '../src/http/guard/load.ts';
import { socketHandlers } from '../src/http/sockets.ts';
import type { Model } from '../src/schema/model.ts';
import { readSchema } from '../src/schema/read.ts';
import { evolve } from '../src/storage/evolve/evolve.ts';
import { type Database, openDatabase } from '../src/storage/open.ts';
import type { Storage } from '../src/storage/storage.ts';
import { emptyFile, emptyPostgres } from './emptying.ts';
import { PgBouncer } from './pgbouncer.ts';
import { commonPostgres, type Databases, Postgres } from './postgres.ts';

/** How to speak to an application. */
export interface Doors {
  /** Sends a request as it is. */
  readonly fetch: (path: string, init?: RequestInit) => Promise<Response>;
  /** Sends JSON and reads JSON. */
  readonly rest: (
    method: string,
    path: string,
    body?: unknown,
    headers?: Record<string, string>,
  ) => Promise<Answer>;
  readonly graphql: (
    query: string,
    variables?: Record<string, unknown>,
    headers?: Record<string, string>,
  ) => Promise<GraphqlAnswer>;
}

export interface AppUnderTest extends Doors {
  /** The same as a client at this address, which may be a proxy that forwards for another. */
  readonly from: (client: Client) => Pick<AppUnderTest, 'fetch'>;
  /** The same database through an application that knows nobody and lets everybody do everything. */
  readonly unguarded: () => Doors;
  /** Listens on a port of its own, as a server does. */
  readonly listen: () => Listening;
  readonly observations: Observation[];
  /** The SQL of every statement so far. */
  readonly statements: string[];
  readonly close: () => Promise<void>;
}

export interface Listening extends AsyncDisposable {
  readonly url: string;
  /** What a signal to stop does first. */
  readonly drain: () => void;
}

export interface Client {
  readonly address: string | undefined;
  readonly forwarded?: string | undefined;
  /** What the client calls the server. */
  readonly host?: string | undefined;
}

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: any;
}

export interface GraphqlAnswer extends Answer {
  readonly data: any;
  readonly errors: any[] | undefined;
}

export interface Deployment {
  readonly sdl?: string;
  readonly data?: unknown;
  /** Settings as in the environment. */
  readonly env?: Record<string, string>;
  /** A database that outlives the app; one of its own otherwise. */
  readonly url?: string;
  /** What is started to read and write for it; the real command otherwise. */
  readonly apart?: readonly string[];
  /** From how many milliseconds on a commit counts as slow, and is waited for in the background. */
  readonly slowMs?: number;
  /** How the disk is waited for in the background. */
  readonly sync?: (file: number) => Promise<void>;
  /** What the application gets to see of its storage; all of it otherwise. */
  readonly around?: (storage: Storage, model: Model, config: Config) => Storage;
  /** What `logic.ts` exports. */
  readonly logic?: object;
}

/** What `npm start` serves. */
export const shipped = {
  sdl: await Bun.file(new URL('../schema.graphql', import.meta.url)).text(),
  data: await Bun.file(new URL('../data.json', import.meta.url)).json(),
};

export const JSON_HEADERS = { 'Content-Type': 'application/json' };

export type DatabaseKind = 'sqlite' | 'postgres';

/** Set for a run in which every application reaches PostgreSQL through a PgBouncer: see storage/pooler.test.ts. */
const isPooled = process.env['DUET_TEST_POOLER'] === 'transaction';

/** Every database that Duet runs on: the conformance tests run on each. */
export const databases: readonly DatabaseKind[] = isPooled ? ['postgres'] : ['sqlite', 'postgres'];

/** What a server starts to read and write for it. */
export const APART = [process.execPath, '--no-env-file', join(import.meta.dir, '../src/cli/statements.ts')];

let shared: Promise<Databases> | undefined;

/** One server for all tests that do it no harm: that of the whole run, or the first who asks starts it. */
export function sharedPostgres(): Promise<Databases> {
  shared ??= commonPostgres() ?? Postgres.start();
  return shared;
}

/** Databases that are copied, by what has been made in them. */
const originals = new Map<string, Promise<string>>();

/** A copy of a database in which this has been done once. */
async function copyOf(what: string, make: (url: string) => Promise<void>): Promise<string> {
  const server = await sharedPostgres();
  const original =
    originals.get(what) ??
    server.database().then(async (url) => {
      await make(url);
      await server.left(url);
      return url;
    });
  originals.set(what, original);
  return server.copy(await original);
}

/** What a server makes in a database before it serves. */
async function prepare(
  url: string,
  model: Model,
  work: (opened: Database) => Promise<unknown>,
): Promise<void> {
  const { config } = readConfig([], { DATABASE_URL: url });
  if (!config) throw new Error(`no database can be opened at ${url}`);
  const opened = openDatabase(config, model, undefined, { apart: APART });
  try {
    await work(opened);
  } finally {
    await opened.close();
  }
}

/**
 * A database as Duet leaves it that was stopped before it made the tables of a schema: its own are there. To copy them takes
 * half of what it takes to open an application on an empty one; tests of a first start take that.
 */
export async function preparedPostgres(): Promise<string> {
  // What is to be spread over machines is made there.
  if (SPREADS !== undefined) return (await sharedPostgres()).database();
  return copyOf('', (url) =>
    prepare(url, readDeployment(shipped).model, (opened) => opened.exclusively(async () => {})),
  );
}

/** Deployments that were opened on a database of their own. */
const seen = new Set<string>();

/**
 * A database for a deployment. The first time it makes its tables there itself; whoever opens the same again gets a copy in
 * which they are, with the first records, which takes less of the processor's time.
 */
async function postgresFor(deployment: Deployment): Promise<string> {
  const { sdl, data, logic } = deployment;
  const what = JSON.stringify([sdl, data]);
  // Functions may ask more of whoever writes, which is part of what is made. A pooler keeps sessions of what is to be copied.
  if (!seen.has(what) || logic || SPREADS !== undefined || isPooled) {
    seen.add(what);
    return preparedPostgres();
  }
  return copyOf(what, (url) => {
    const { model, program } = readDeployment(deployment);
    return prepare(url, model, (opened) => evolve(opened, model, program));
  });
}

const poolers = new Map<string, Promise<PgBouncer>>();

/** What an application is told of a database. */
export async function databaseSettings(url: string): Promise<Record<string, string>> {
  if (!isPooled || url.startsWith('sqlite:')) return { DATABASE_URL: url };
  const { port } = new URL(url);
  // Fewer sessions than connections, so that they change hands.
  const pooler = poolers.get(port) ?? PgBouncer.start(Number(port), { sessions: 4 });
  poolers.set(port, pooler);
  return { DATABASE_URL: (await pooler).through(url), DATABASE_POOLER: 'transaction' };
}

/** A program that spreads the tables of a new database over the machines of a sharded server: see docs/scale.md. */
const SPREADS = process.env['TEST_DATABASE_SPREAD'];

async function spread(url: string): Promise<void> {
  if (SPREADS !== undefined) await Bun.$`${{ raw: SPREADS }} ${url}`.quiet();
}

/** What a deployment stores, and what it stores first. */
function readDeployment({ sdl = shipped.sdl, data = {}, logic }: Deployment) {
  const { model, faults } = readSchema(sdl, accessRules, filledTypes(logic));
  if (!model) throw new Error(faults.map(({ line, message }) => `${line}: ${message}`).join('\n'));
  const { program, faults: unread } = loading(model, data);
  if (!program) throw new Error(unread.join('\n'));
  return { model, program };
}

export async function openApp(
  database: DatabaseKind,
  deployment: Deployment = shipped,
): Promise<AppUnderTest> {
  const url = deployment.url ?? (database === 'sqlite' ? 'sqlite::memory:' : await postgresFor(deployment));
  const { model, program } = readDeployment(deployment);
  const logic = deployment.logic && readLogic(deployment.logic, model);
  if (logic?.faults) throw new Error(logic.faults.join('\n'));
  const { config, fault } = readConfig([], { ...(await databaseSettings(url)), ...deployment.env });
  if (!config) throw new Error(fault);

  const statements: string[] = [];
  const observations: Observation[] = [];
  const observe = (observation: Observation) => observations.push(observation);
  const recent = new Recent();
  const ran = (observation: Observation) => {
    recent.observe(observation);
    observe(observation);
  };
  const told = statementTrace(config, ran, undefined);
  const trace = (sql: string) => {
    statements.push(sql);
    return told?.(sql);
  };
  // Every disk is a slow one here: that way is the longer one, and memory goes the other.
  const { apart = APART, slowMs = deployment.apart ? undefined : 0, sync } = deployment;
  const opened = openDatabase(config, model, trace, { apart, slowMs, sync });
  const { deprecatedSince } = await evolve(opened, model, program);
  if (database === 'postgres') await spread(url);
  const storage = deployment.around?.(opened, model, config) ?? opened;
  opened.replicas?.follow((message) => observe({ event: 'notice', message }));
  statements.length = 0;
  const door = graphqlDoor(model);
  const given = { model, door, storage, deprecatedSince, observe, recent, logic: logic?.logic };
  const app = createApp({ ...given, config });
  const apps = [app];
  const unguarded = () => {
    const open = { ...config, authSecret: null, authJwksUrl: null, authKeys: 'off' } as const;
    const other = createApp({ ...given, config: open });
    apps.push(other);
    return doorsOf(other);
  };
  const close = async () => {
    for (const each of apps) await each.close();
    await storage.close();
  };
  app.start();
  const from: AppUnderTest['from'] = ({ address, forwarded, host = 'duet.test' }) => ({
    fetch: async (path, init) => {
      const request = new Request(`http://${host}${path}`, init);
      if (forwarded !== undefined) request.headers.set('X-Forwarded-For', forwarded);
      return app.fetch(request, { requestIP: () => (address === undefined ? null : { address }) });
    },
  });
  const listen = (): Listening => {
    const server = Bun.serve({
      port: 0,
      fetch: app.fetch,
      websocket: socketHandlers(longestMessage(config)),
    });
    const url = `http://localhost:${server.port}`;
    return { url, drain: app.drain, [Symbol.asyncDispose]: () => server.stop(true) };
  };
  return { ...doorsOf(app), from, unguarded, listen, observations, statements, close };
}

function doorsOf(app: App): Doors {
  const fetch = async (path: string, init?: RequestInit) =>
    app.fetch(new Request(`http://duet.test${path}`, init));
  const rest: Doors['rest'] = async (method, path, body, headers) => {
    const init =
      body === undefined
        ? { method, headers: headers ?? {} }
        : { method, headers: { ...JSON_HEADERS, ...headers }, body: JSON.stringify(body) };
    return read(await fetch(path, init));
  };
  const graphql: Doors['graphql'] = async (query, variables, headers) => {
    const answer = await rest('POST', '/graphql', { query, variables }, headers);
    return { ...answer, data: answer.body.data, errors: answer.body.errors };
  };
  return { fetch, rest, graphql };
}

/** Hands out the same deployment again and again, each time with nothing in it: much cheaper than a new database. */
export async function openEmptied(database: DatabaseKind, deployment: Deployment) {
  const { url, empty, close } =
    database === 'postgres' ? emptyPostgres(await postgresFor(deployment)) : emptyFile();
  let app: AppUnderTest | undefined;
  return {
    async next(): Promise<AppUnderTest> {
      if (app) await empty();
      app ??= await openApp(database, { ...deployment, url });
      return app;
    },
    async [Symbol.asyncDispose](): Promise<void> {
      await app?.close();
      await close();
    },
  };
}

async function read(response: Response): Promise<Answer> {
  const text = await response.text();
  const isJson = response.headers.get('Content-Type')?.includes('json');
  return {
    status: response.status,
    headers: response.headers,
    body: isJson && text !== '' ? JSON.parse(text) : text,
  };
}

/** A real storage, but for these of its methods. */
export function withOwn(storage: Storage, own: Partial<Storage>): Storage {
  return new Proxy(storage, {
    get: (_, name) => {
      const member: unknown = Reflect.get(name in own ? own : storage, name);
      return typeof member === 'function' ? member.bind(storage) : member;
    },
  });
}

/** Waits for an answer as a client does: not for ever. */
export async function within<T>(ms: number, work: Promise<T>): Promise<T> {
  let timer: Timer | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${ms} ms`)), ms);
  });
  return Promise.race([work, late]).finally(() => clearTimeout(timer));
}

/** Writes to a database as somebody else would, who knows nothing of Duet. */
export async function runByOthers(url: string, sql: string): Promise<void> {
  if (url.startsWith('sqlite:')) {
    using file = new SqliteFile(url.slice('sqlite:'.length));
    file.run(sql);
    return;
  }
  await using server = new Bun.SQL(url, { max: 1 });
  await server.unsafe(sql);
}
