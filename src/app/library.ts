/** Duet as a part of another Bun program: `import { createDuet } from 'duet-server'`. */

import { DuetError } from '../base/errors.ts';
import { Log } from '../base/log.ts';
import { type Options, readOptions } from '../config/config.ts';
import type { Connections } from '../http/guard/address.ts';
import { longestMessage } from '../http/guard/load.ts';
import { problem } from '../http/problem.ts';
import { requestIdOf } from '../http/request.ts';
import { socketHandlers, type WebSocketHandlers } from '../http/sockets.ts';
import { type Records, StartFault } from './deployment.ts';
import { runApp, warnings } from './running.ts';

/** The settings of docs/settings.md by their names in this table, and what only a program can give. */
export interface DuetOptions extends Omit<Options, 'schema' | 'data' | 'logic'> {
  /** The SDL: the name of a file, or the text itself. */
  readonly schema: string;
  /** Records for a new database: the name of a file, or the records by the plurals of their types. Without it, none. */
  readonly data?: string | Records | undefined;
  /** Functions that take part in writes (docs/logic.md): the name of a file, or what such a file exports. */
  readonly logic?: string | object | undefined;
  /** Is handed whole lines of the log, which are JSON. Without it they go to standard error. */
  readonly log?: ((lines: string) => void) | undefined;
}

export interface Duet {
  /** `server` is what `Bun.serve` hands to its handler: it knows the addresses that rate limits ask for. */
  readonly fetch: (request: Request, server?: unknown) => Promise<Response>;
  /** For `websocket` of `Bun.serve`, where GraphQL is to be spoken over WebSockets too. */
  readonly websocket: WebSocketHandlers;
  /** Lets the requests under way finish, then closes the database. Those that come later are answered 503. */
  readonly close: () => Promise<void>;
}

/** Brings a deployment up, its tables included. What is wrong with it is thrown as an Error that says so. */
export async function createDuet({ log: write, data, logic, ...options }: DuetOptions): Promise<Duet> {
  const sdl = isText(options.schema) ? options.schema : undefined;
  const files = {
    ...(typeof data === 'string' && { data }),
    ...(typeof logic === 'string' && { logic }),
  };
  // Nobody asked for a line per request on the terminal of another program.
  const { config, fault } = readOptions({ logLevel: 'warn', ...options, ...files });
  if (!config) throw new StartFault(fault);
  const log = new Log(config.logLevel, write ?? ((lines) => process.stderr.write(lines)));
  const records = typeof data === 'object' ? data : undefined;
  const given = { sdl, records, logic: typeof logic === 'object' ? logic : undefined };
  const { app, model, close } = await runApp(config, log.observe, { given });
  for (const message of warnings(config, model)) log.observe({ event: 'notice', message });
  const underWay = new Set<Promise<Response>>();
  let closed: Promise<void> | undefined;

  const finish = async () => {
    app.drain();
    await Promise.allSettled(underWay);
    await close();
    log.flush();
  };

  return {
    websocket: socketHandlers(longestMessage(config)),
    async fetch(request, server) {
      if (closed) return problem(stopped, { requestId: requestIdOf(request) });
      const answer = app.fetch(request, isServer(server) ? server : undefined);
      if (!(answer instanceof Promise)) return answer;
      underWay.add(answer);
      return answer.finally(() => underWay.delete(answer));
    },
    close() {
      closed ??= finish();
      return closed;
    },
  };
}

const stopped = new DuetError('UNAVAILABLE', 'The service has stopped.', { headers: { 'Retry-After': '1' } });

/** No name of a file has a brace, and no schema is without one. */
function isText(schema: string): boolean {
  return schema.includes('{');
}

/** Routers hand over all kinds of things beside a request. */
function isServer(value: unknown): value is Connections {
  return typeof value === 'object' && value !== null && 'requestIP' in value;
}
