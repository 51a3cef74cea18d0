/** Rate limits that processes and nodes share through Redis, which is asked but never waited for. */

import type { RedisClient } from 'bun';
import { whenOver } from '../../base/limit.ts';

/** Longer than this nobody waits for Redis. */
const PATIENCE_MS = 5;
/** How often a Redis that failed is tried again, in the background. */
const RETRY_MS = 1000;

export interface Take {
  readonly key: string;
  /** Milliseconds per unit, and for all of them. */
  readonly interval: number;
  readonly window: number;
  readonly units: number;
}

/**
 * The same algorithm as in one process, for several keys at once and by Redis's own clock. Takes from all or from none,
 * unless it is told to take anyway, and answers with the debt of each in milliseconds.
 */
const SCRIPT = `
local time = redis.call('TIME')
local now = time[1] * 1000 + time[2] / 1000
local anyway = ARGV[1] == '1'
local ends, debts, within = {}, {}, true
for i, key in ipairs(KEYS) do
  local due, window = tonumber(ARGV[2 * i]), tonumber(ARGV[2 * i + 1])
  ends[i] = math.max(tonumber(redis.call('GET', key) or '0'), now) + due
  debts[i] = math.ceil(ends[i] - now)
  if debts[i] > window then within = false end
end
if within or anyway then
  for i, key in ipairs(KEYS) do
    redis.call('SET', key, string.format('%.3f', ends[i]), 'PX', math.max(1, debts[i]))
  end
end
return debts`;

export class SharedLimits {
  readonly #client: RedisClient;
  readonly #tell: (message: string) => void;
  readonly #closed: AbortSignal;
  /** Undefined while Redis cannot be relied on: then nobody even asks. */
  #script: string | undefined;
  /** The log knows that it cannot: said once, until a limit was asked for and told in time. */
  #isTold = false;

  constructor(url: string, tell: (message: string) => void, closed: AbortSignal) {
    this.#tell = tell;
    this.#closed = closed;
    this.#client = new Bun.RedisClient(url, {
      connectionTimeout: RETRY_MS,
      autoReconnect: false,
      enableOfflineQueue: false,
    });
    this.#connect();
    closed.addEventListener('abort', () => this.#client.close());
  }

  /** The debts with what is asked for, or undefined when they cannot be had in time. */
  async take(takes: readonly Take[]): Promise<readonly number[] | undefined> {
    if (this.#script === undefined || takes.length === 0) return undefined;
    const answer = this.#run(this.#script, takes, false);
    const debts = await Promise.race([answer, patience()]).catch(() => undefined);
    if (debts === undefined) this.#lose();
    else this.#isTold = false;
    return debts;
  }

  /** Takes what has been used already. */
  charge(takes: readonly Take[]): void {
    if (this.#script !== undefined && takes.length > 0)
      this.#run(this.#script, takes, true).catch(() => this.#lose());
  }

  async #run(script: string, takes: readonly Take[], anyway: boolean): Promise<readonly number[]> {
    const keys = takes.map(({ key }) => `duet:rate:${digest(key)}`);
    const terms = takes.flatMap(({ units, interval, window }) => [String(units * interval), String(window)]);
    return this.#client.send('EVALSHA', [script, String(keys.length), ...keys, anyway ? '1' : '0', ...terms]);
  }

  #lose(): void {
    if (this.#script === undefined) return;
    this.#script = undefined;
    this.#away('Redis does not answer in time');
    setTimeout(() => this.#connect(), RETRY_MS).unref();
  }

  #away(what: string): void {
    if (this.#isTold) return;
    this.#isTold = true;
    this.#tell(`${what}: until it does, each process keeps to the rate limits by itself`);
  }

  /** Until Redis answers again, off the way of any request. */
  async #connect(): Promise<void> {
    if (this.#closed.aborted) return;
    const connected = async () => {
      if (!this.#client.connected) await this.#client.connect();
      return String(await this.#client.send('SCRIPT', ['LOAD', SCRIPT]));
    };
    const answered = connected();
    const late = Bun.sleep(RETRY_MS).then(() => undefined);
    let why = 'it is silent';
    const script = await Promise.race([answered, late]).catch((error) => {
      why = String(error.code ?? error.name);
    });
    if (this.#closed.aborted) return;
    if (script === undefined) {
      this.#away(`Redis does not answer (${why})`);
      return void setTimeout(() => this.#connect(), RETRY_MS).unref();
    }
    this.#script = script;
  }
}

/** A reply that has arrived while this process was busy is still in time: it is read before the wait is judged. */
function patience(): Promise<undefined> {
  return new Promise((resolve) => {
    whenOver(PATIENCE_MS, () => resolve(undefined));
  });
}

/** Who has asked is nobody's business who looks into Redis, and of any length. */
function digest(key: string): string {
  return new Bun.CryptoHasher('sha256').update(key).digest('base64url');
}
