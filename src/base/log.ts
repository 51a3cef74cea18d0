/** The log: observations as lines of JSON, several of them written at a time. */

import type { Failure, Level, Observation, Observe } from './observe.ts';

const levels: Record<Observation['event'], Level> = {
  started: 'info',
  supervising: 'info',
  stopping: 'info',
  stopped: 'info',
  reloaded: 'info',
  refused: 'error',
  notice: 'warn',
  migrated: 'info',
  backup: 'info',
  request: 'info',
  operation: 'debug',
  statement: 'debug',
  slow: 'warn',
  failure: 'error',
};

const rank: Record<Level, number> = { debug: 0, info: 1, warn: 2, error: 3 };

/** How long observations are gathered: a line that is made among others of its kind costs a fraction of one alone. */
const GATHER_MS = 20;
/** Long work without a turn of the event loop must not gather everything in memory. */
const MOST_GATHERED = 1000;

/**
 * What the operator must make room for: full disks and used up file descriptors, as the system, SQLite (which tells no more
 * than that it cannot open a file) and PostgreSQL (class 53) say it. And a server that is away. Every request would tell of
 * it again.
 */
const SCARCE = new Set([
  ...['ENOSPC', 'EDQUOT', 'EMFILE', 'ENFILE', 'SQLITE_FULL', 'SQLITE_CANTOPEN', '53100'],
  ...['CLOSED', 'FAILED', 'LOST', 'REFUSED', 'TIMEOUT'].map((why) => `ERR_POSTGRES_CONNECTION_${why}`),
  ...['57P01', '57P02', '57P03'],
]);
/** What may have happened is told each time: somebody may have to look. */
const UNKNOWN = 'OUTCOME_UNKNOWN';
/** So often the log tells of each. */
const SCARCE_MS = 60_000;

/** One JSON line per observation. */
export class Log {
  #least: number;
  readonly #write: (lines: string) => void;
  /** What is scarce, by its code: until when nothing is said of it, and how often it was left out since. */
  readonly #unsaid = new Map<string, { until: number; times: number }>();
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
    if (observation.event === 'failure' && this.#isSaid(observation)) return;
    const gathered = this.#gathered.push({ observation, at: Date.now() });
    if (gathered === 1) setTimeout(() => this.flush(), GATHER_MS);
    else if (gathered >= MOST_GATHERED) this.flush();
  };

  /** Whether somebody was told of the same a moment ago; otherwise the line says how often since the last. */
  #isSaid(failure: Failure): boolean {
    const code = scarcity(failure.cause);
    if (code === undefined) return false;
    const now = Date.now();
    const known = this.#unsaid.get(code);
    if (known && now < known.until) {
      known.times++;
      return true;
    }
    if (known && known.times > 0) failure.unsaid = known.times;
    this.#unsaid.set(code, { until: now + SCARCE_MS, times: 0 });
    return false;
  }

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
/** And what they have in common that come from one caller. */
let lastCaller: string | undefined;
let callerText = '';

/** The same line as for the others, put together by hand: there is one for each request. */
function requestLine(answered: Answered, time: string): string {
  const { event, requestId, method, path, route, status, ms, caller, address, traceId } = answered;
  if (!alike || method !== alike.method || route !== alike.route || status !== alike.status) {
    alike = answered;
    beforePath = `","method":"${method}","path":`;
    afterPath = `,"route":${JSON.stringify(route)},"status":${status},"ms":`;
  }
  if (caller !== lastCaller) {
    lastCaller = caller;
    callerText = caller === undefined ? '' : `,"caller":${JSON.stringify(caller)}`;
  }
  const from = address === '' ? '' : `,"address":"${address}"`;
  const trace = traceId === undefined ? '' : `,"traceId":"${traceId}"`;
  return `{"time":"${time}","level":"${levels[event]}","event":"${event}","requestId":"${requestId}${beforePath}${JSON.stringify(path)}${afterPath}${ms}${callerText}${from}${trace}}\n`;
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

/** The code of what is used up, where that is what failed. */
function scarcity(cause: unknown): string | undefined {
  for (let each = cause; each instanceof Error; each = each.cause) {
    const { code, errno } = each as { code?: unknown; errno?: unknown };
    if (code === UNKNOWN) return undefined;
    const found = [code, errno].find((value) => typeof value === 'string' && SCARCE.has(value));
    if (found !== undefined) return String(found);
  }
  return undefined;
}

function described(cause: unknown): string {
  if (!(cause instanceof Error)) return String(cause);
  const inner = cause.cause === undefined ? '' : `\ncaused by: ${described(cause.cause)}`;
  return `${cause.stack ?? cause.message}${inner}`;
}
