/** Load by `wrk`, and what it tells; medians and spread of several rounds. */

import { join } from 'node:path';

/** A request in which `{id}` stands for a random number; a text of its body that is `{number}`, for the number itself. */
export interface Ask {
  readonly method: 'GET' | 'POST' | 'PUT';
  readonly path: string;
  /** Sent as JSON. */
  readonly body?: unknown;
  /** Whom it is asked by. */
  readonly token?: string;
  /** Which codings the client takes (`Accept-Encoding`). */
  readonly encoding?: string;
}

/** What one round of load came to; times in milliseconds. */
export interface Outcome {
  readonly requests: number;
  readonly perSecond: number;
  readonly p50: number;
  readonly p99: number;
  /** Answers with a status that is no success. */
  readonly refused: number;
  /** Requests without an answer. */
  readonly broken: number;
}

/** Small enough that a list of made requests stays small; `{id}` never exceeds it. */
const MOST = 10_000;
/** What is also the load of all rounds of the comparison. */
export const CONNECTIONS = 32;

export function get(path: string): Ask {
  return { method: 'GET', path };
}

export function post(path: string, body: unknown): Ask {
  return { method: 'POST', path, body };
}

export function put(path: string, body: unknown): Ask {
  return { method: 'PUT', path, body };
}

/** Asks once, with this number for `{id}`. */
export function send(url: string, { method, path, body, token, encoding }: Ask, id = 1): Promise<Response> {
  const filled = (text: string) => text.replaceAll('{id}', String(id));
  return fetch(url + filled(path), {
    method,
    headers: {
      ...(body !== undefined && { 'Content-Type': 'application/json' }),
      ...(token !== undefined && { Authorization: `Bearer ${token}` }),
      ...(encoding !== undefined && { 'Accept-Encoding': encoding }),
    },
    // Who names codings wants to see what is sent.
    decompress: encoding === undefined,
    ...(body !== undefined && { body: filled(JSON.stringify(body).replaceAll('"{number}"', '{id}')) }),
  });
}

/** GraphQL refuses with status 200, which `wrk` takes for an answer: how quick refusals are is no measure of anything. */
async function requireAnswer(url: string, { encoding: _, ...ask }: Ask): Promise<void> {
  const answer = await send(url, ask);
  const text = await answer.text();
  if (!answer.ok || (JSON.parse(text) as { errors?: unknown } | null)?.errors !== undefined)
    throw new Error(`${ask.method} ${url}${ask.path} is refused: ${answer.status} ${text.slice(0, 500)}`);
}

export function requireWrk(): void {
  if (Bun.which('wrk')) return;
  console.error('bench: `wrk` makes the load and is not installed. On Debian: apt-get install -y wrk');
  process.exit(2);
}

export interface Pressure {
  readonly seconds: number;
  readonly connections?: number;
  /** The highest number that `{id}` stands for. */
  readonly most?: number;
  /** The core that makes the load, if not any. */
  readonly core?: string | undefined;
  /** Where what it holds is measured, and not how quick it is: beyond its strength a server may refuse. */
  readonly mayRefuse?: boolean;
}

/** Presses a server with one kind of request; only a server that answers all of them is measured. */
export async function press(url: string, ask: Ask, pressure: Pressure): Promise<Outcome> {
  await requireAnswer(url, ask);
  const { seconds, connections = CONNECTIONS, most = MOST, core, mayRefuse = false } = pressure;
  const script = join(import.meta.dir, 'load.lua');
  const body = ask.body === undefined ? '' : JSON.stringify(ask.body);
  const options = ['-t1', `-c${connections}`, `-d${seconds}s`, '--timeout', '10s', '-s', script, url, '--'];
  const { token = '', encoding = '' } = ask;
  const wrk = core === undefined ? ['wrk'] : ['taskset', '-c', core, 'wrk'];
  const child = Bun.spawn([...wrk, ...options, ask.method, ask.path, body, String(most), token, encoding], {
    stdout: 'pipe',
    stderr: 'pipe',
  });
  const [text, trouble, exit] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
  if (exit !== 0) throw new Error(`wrk ${url}${ask.path}: ${trouble}${text}`);
  const outcome: Outcome = JSON.parse(text.trim().split('\n').at(-1) ?? '');
  if (outcome.broken + (mayRefuse ? 0 : outcome.refused) > 0)
    throw new Error(
      `${ask.method} ${url}${ask.path}: ${outcome.refused} refused, ${outcome.broken} without an answer`,
    );
  // Not one answer in the whole round: it takes at least that long.
  return outcome.perSecond > 0 ? outcome : { ...outcome, p50: seconds * 1000, p99: seconds * 1000 };
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? upper) + upper) / 2;
}
