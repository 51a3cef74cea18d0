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
  /** What the files say now is served from now on. */
  | { readonly event: 'reloaded'; readonly resources: number }
  /** What the files say now cannot be served; what was served before still is. */
  | { readonly event: 'refused'; readonly faults: readonly string[] }
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
  reloaded: 'info',
  refused: 'error',
  notice: 'warn',
  migrated: 'info',
  request: 'info',
  operation: 'debug',
  statement: 'debug',
  failure: 'error',
};

const rank: Record<Level, number> = { debug: 0, info: 1, warn: 2, error: 3 };

/** How long observations are gathered: a line that is made among others of its kind costs a fraction of one alone. */
const GATHER_MS = 20;
/** Long work without a turn of the event loop must not gather everything in memory. */
const MOST_GATHERED = 1000;

/** One JSON line per observation. */
export class Log {
  #least: number;
  readonly #write: (lines: string) => void;
  #gathered: { readonly observation: Observation; readonly at: number }[] = [];

  /** `write` receives whole lines. */
  constructor(least: Level, write: (lines: string) => void) {
    this.#least = rank[least];
    this.#write = write;
  }

  set least(level: Level) {
    this.#least = rank[level];
  }

  readonly observe: Observe = (observation) => {
    if (rank[levels[observation.event]] < this.#least) return;
    const gathered = this.#gathered.push({ observation, at: Date.now() });
    if (gathered === 1) setTimeout(() => this.flush(), GATHER_MS);
    else if (gathered >= MOST_GATHERED) this.flush();
  };

  flush(): void {
    let lines = '';
    for (const { observation, at } of this.#gathered)
      lines +=
        observation.event === 'request'
          ? requestLine(observation, timeOf(at))
          : lineOf(observation, timeOf(at));
    this.#gathered = [];
    if (lines !== '') this.#write(lines);
  }
}

function lineOf(observation: Observation, time: string): string {
  const line: Record<string, unknown> = { time, level: levels[observation.event], ...observation };
  if (observation.event === 'failure') line['cause'] = described(observation.cause);
  return `${JSON.stringify(line)}\n`;
}

type Answered = Extract<Observation, { event: 'request' }>;

/** What the lines of requests have in common that are alike, as those are that come together. */
let alike: Answered | undefined;
let [beforePath, afterPath] = ['', ''];

/** The same line as for the others, put together by hand: there is one for each request. */
function requestLine(answered: Answered, time: string): string {
  const { event, requestId, method, path, route, status, ms } = answered;
  if (!alike || method !== alike.method || route !== alike.route || status !== alike.status) {
    alike = answered;
    beforePath = `","method":"${method}","path":`;
    afterPath = `,"route":${JSON.stringify(route)},"status":${status},"ms":`;
  }
  return `{"time":"${time}","level":"${levels[event]}","event":"${event}","requestId":"${requestId}${beforePath}${JSON.stringify(path)}${afterPath}${ms}}\n`;
}

let millisecond = 0;
let time = '';

/** The text of a millisecond serves everything that happens in it. */
function timeOf(at: number): string {
  if (at !== millisecond) {
    millisecond = at;
    time = new Date(at).toISOString();
  }
  return time;
}

function described(cause: unknown): string {
  if (!(cause instanceof Error)) return String(cause);
  const inner = cause.cause === undefined ? '' : `\ncaused by: ${described(cause.cause)}`;
  return `${cause.stack ?? cause.message}${inner}`;
}
