/** The last requests, and the statements that were slow: the third listener to observations, for operators who look now. */

import type { Observation } from './observe.ts';

/** Of each kind: the last ones, those that failed, and those that took long. */
const MOST_REQUESTS = 200;
/** More than are ever under way. */
const MOST_OPERATIONS = 10_000;
/** Milliseconds. */
export const SLOW_REQUEST_MS = 500;
/** Statements are few where values are left out of them; whoever makes up new ones pushes out old ones. */
const MOST_STATEMENTS = 200;
const LONGEST_TEXT = 4000;

type Answered = Extract<Observation, { event: 'request' }>;
type Operation = Extract<Observation, { event: 'operation' }>;
type Slow = Extract<Observation, { event: 'slow' }>;

/** What the log has of a request too: neither bodies nor queries, and no token. */
export interface RecentRequest extends Omit<Answered, 'event' | 'started'> {
  readonly at: string;
  /** Of GraphQL, whose requests have one path: `query Books`, and whether it was answered with errors. */
  readonly operation?: string;
  readonly outcome?: Operation['outcome'];
}

export interface SlowStatement {
  readonly fingerprint: string;
  readonly sql: string;
  /** How often it was slow, and the milliseconds of these times together. */
  readonly count: number;
  readonly ms: number;
  readonly longest: number;
  /** When it was slow last, and for which request. */
  readonly at: string;
  readonly requestId: string | undefined;
}

/** Plain data, so that a process can hand it to another. The newest first. */
export interface Told {
  readonly last: readonly RecentRequest[];
  readonly failed: readonly RecentRequest[];
  readonly slow: readonly RecentRequest[];
  readonly statements: readonly SlowStatement[];
}

/** Which of the requests. */
export type Choice = 'last' | 'failed' | 'slow';

/**
 * Those that watch over a service ask all the time, and what operators look with is not what they look for: the console, and what it
 * reads when it is opened.
 */
const UNTOLD = new Set(['/', '/healthz', '/readyz', '/metrics', '/openapi.json', '/access.json']);

export class Recent {
  /** The last route, and whether its requests are left out. */
  #route = '';
  #isOwn = false;
  readonly #requests: Record<Choice, Ring> = { last: new Ring(), failed: new Ring(), slow: new Ring() };
  /** Operations whose requests are not answered yet, by request. */
  readonly #operations = new Map<string, Operation>();
  /** By fingerprint; the one that was slow last is the last. */
  readonly #statements = new Map<string, SlowStatement>();

  readonly observe = (observation: Observation): void => {
    if (observation.event === 'request') this.#addRequest(observation);
    else if (observation.event === 'operation') this.#addOperation(observation);
    else if (observation.event === 'slow') this.#addStatement(observation);
  };

  tell(): Told {
    const { last, failed, slow } = this.#requests;
    const statements = [...this.#statements.values()].reverse();
    return { last: last.list(), failed: failed.list(), slow: slow.list(), statements };
  }

  #addRequest(answered: Answered): void {
    const { requestId, route, status, ms } = answered;
    // Requests come in a row to one route.
    if (route !== this.#route) {
      this.#route = route;
      this.#isOwn = UNTOLD.has(route) || route.startsWith('/_');
    }
    if (this.#isOwn && status < 500) return;
    const operation = this.#operations.size > 0 ? this.#operations.get(requestId) : undefined;
    if (operation) this.#operations.delete(requestId);
    this.#requests.last.add(answered, operation);
    if (status >= 400 || operation?.outcome === 'error') this.#requests.failed.add(answered, operation);
    if (ms >= SLOW_REQUEST_MS) this.#requests.slow.add(answered, operation);
  }

  #addOperation(operation: Operation): void {
    // Every request is answered; should one not be, what is known of it does not stay for good.
    if (this.#operations.size > MOST_OPERATIONS) this.#operations.clear();
    this.#operations.set(operation.requestId, operation);
  }

  #addStatement({ fingerprint, sql, ms, requestId }: Slow): void {
    const before = this.#statements.get(fingerprint);
    this.#statements.delete(fingerprint);
    this.#statements.set(fingerprint, {
      fingerprint,
      sql: sql.length > LONGEST_TEXT ? `${sql.slice(0, LONGEST_TEXT)}…` : sql,
      count: (before?.count ?? 0) + 1,
      ms: (before?.ms ?? 0) + ms,
      longest: Math.max(before?.longest ?? 0, ms),
      at: new Date().toISOString(),
      requestId,
    });
    const [oldest] = this.#statements.keys();
    if (this.#statements.size > MOST_STATEMENTS && oldest !== undefined) this.#statements.delete(oldest);
  }
}

/** Keeps the last ones that it was given: every request pays for it, so it is one store and nothing new. */
class Ring {
  readonly #kept: Answered[] = [];
  readonly #operations: (Operation | undefined)[] = [];
  #next = 0;

  add(answered: Answered, operation: Operation | undefined): void {
    this.#kept[this.#next] = answered;
    this.#operations[this.#next] = operation;
    this.#next = this.#next === MOST_REQUESTS - 1 ? 0 : this.#next + 1;
  }

  list(): RecentRequest[] {
    const origin = beginning();
    const told = this.#kept.map(({ event, started, ...answered }, at) => ({
      at: new Date(origin + started).toISOString(),
      ...answered,
      ...operationOf(this.#operations[at]),
    }));
    return [...told.slice(this.#next), ...told.slice(0, this.#next)].reverse();
  }
}

function operationOf(operation: Operation | undefined): Pick<RecentRequest, 'operation' | 'outcome'> {
  if (!operation) return {};
  const { type, name, outcome } = operation;
  return { operation: name === undefined ? type : `${type} ${name}`, outcome };
}

let began = performance.timeOrigin;

/** When `performance.now()` was 0: the same each time, unless the clock was set or the machine has slept. */
function beginning(): number {
  const now = Date.now() - performance.now();
  if (Math.abs(now - began) > 1000) began = now;
  return began;
}

/** What several processes tell, as if they were one. */
export function together(each: readonly Told[]): Told {
  const requests = (choice: Choice) =>
    each
      .flatMap((told) => told[choice])
      .sort(byTime)
      .slice(0, MOST_REQUESTS);
  const statements = new Map<string, SlowStatement>();
  for (const statement of each.flatMap((told) => told.statements).sort(byTime)) {
    const known = statements.get(statement.fingerprint);
    if (!known) statements.set(statement.fingerprint, statement);
    else
      statements.set(statement.fingerprint, {
        ...known,
        count: known.count + statement.count,
        ms: known.ms + statement.ms,
        longest: Math.max(known.longest, statement.longest),
      });
  }
  return {
    last: requests('last'),
    failed: requests('failed'),
    slow: requests('slow'),
    statements: [...statements.values()],
  };
}

/** The newest first. */
function byTime(one: { readonly at: string }, other: { readonly at: string }): number {
  return one.at < other.at ? 1 : one.at > other.at ? -1 : 0;
}
