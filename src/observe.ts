/** One union of everything worth telling about a running server; the log and the metrics are two listeners to it. */

export type Level = 'debug' | 'info' | 'warn' | 'error';

export type Observation =
  | {
      readonly event: 'started';
      readonly url: string;
      readonly pid: number;
      readonly database: string;
      readonly resources: number;
    }
  | { readonly event: 'supervising'; readonly url: string; readonly workers: number }
  | { readonly event: 'stopping'; readonly signal: string }
  | { readonly event: 'stopped' }
  | { readonly event: 'notice'; readonly message: string }
  | { readonly event: 'migrated'; readonly step: string }
  | {
      readonly event: 'request';
      readonly requestId: string;
      readonly method: string;
      readonly path: string;
      /** The path with the names of its parameters in place of their values; `none` where nothing answers. */
      readonly route: string;
      readonly status: number;
      readonly ms: number;
    }
  | {
      readonly event: 'operation';
      readonly requestId: string;
      readonly name: string | undefined;
      readonly type: string;
      readonly outcome: 'ok' | 'error';
      readonly ms: number;
    }
  | { readonly event: 'statement'; readonly sql: string }
  | { readonly event: 'failure'; readonly requestId?: string; readonly cause: unknown };

export type Observe = (observation: Observation) => void;

const levels: Record<Observation['event'], Level> = {
  started: 'info',
  supervising: 'info',
  stopping: 'info',
  stopped: 'info',
  notice: 'warn',
  migrated: 'info',
  request: 'info',
  operation: 'debug',
  statement: 'debug',
  failure: 'error',
};

const rank: Record<Level, number> = { debug: 0, info: 1, warn: 2, error: 3 };

/** Writes one JSON line per observation; `write` receives whole lines. */
export function logger(least: Level, write: (line: string) => void): Observe {
  return (observation) => {
    const level = levels[observation.event];
    if (rank[level] < rank[least]) return;
    if (observation.event === 'request') return write(requestLine(observation));
    const line: Record<string, unknown> = { time: new Date().toISOString(), level, ...observation };
    if (observation.event === 'failure') line['cause'] = described(observation.cause);
    write(`${JSON.stringify(line)}\n`);
  };
}

type Answered = Extract<Observation, { event: 'request' }>;

/** The same line as for the others, put together by hand: there is one for each request, and each part costs. */
function requestLine({ requestId, method, path, route, status, ms }: Answered): string {
  return `${beginning()}${requestId}","method":"${method}","path":${JSON.stringify(path)}${saying(route, status)}${ms}}\n`;
}

let millisecond = 0;
let begun = '';

/** The same for everything that happens in a millisecond. */
function beginning(): string {
  const now = Date.now();
  if (now !== millisecond) {
    millisecond = now;
    const time = new Date(now).toISOString();
    begun = `{"time":"${time}","level":"${levels.request}","event":"request","requestId":"`;
  }
  return begun;
}

/** By route and status, of which there are few: routes are those of the schema file. */
const said = new Map<string, string[]>();

function saying(route: string, status: number): string {
  const known = said.get(route) ?? [];
  if (known.length === 0) said.set(route, known);
  known[status] ??= `,"route":${JSON.stringify(route)},"status":${status},"ms":`;
  return known[status];
}

function described(cause: unknown): string {
  if (!(cause instanceof Error)) return String(cause);
  const inner = cause.cause === undefined ? '' : `\ncaused by: ${described(cause.cause)}`;
  return `${cause.stack ?? cause.message}${inner}`;
}
