/** Connections to PostgreSQL, each of which is one session for as long as it lives. */

import { SQL } from 'bun';
import { DuetError } from '../errors.ts';

export interface PoolOptions {
  readonly url: string;
  readonly connections: number;
  readonly connectMs: number;
  readonly statementMs: number;
  readonly lockMs: number;
}

/** How long beyond its own timeout a statement may stay unanswered before the server counts as hanging. */
const GRACE_MS = 500;

export type Rows = Record<string, unknown>[];

type ReservedSession = Awaited<ReturnType<SQL['reserve']>>;

/**
 * A session. It is never reconnected: what was begun on a lost connection cannot be continued on another, so a
 * connection that fails once is of no use any more.
 */
export class Connection {
  readonly #sql: SQL;
  readonly #session: ReservedSession;
  readonly #state: { lost: boolean };
  readonly #patienceMs: number;

  private constructor(sql: SQL, session: ReservedSession, state: { lost: boolean }, patienceMs: number) {
    this.#sql = sql;
    this.#session = session;
    this.#state = state;
    this.#patienceMs = patienceMs;
  }

  static async open(options: PoolOptions): Promise<Connection> {
    const { url, connectMs, statementMs, lockMs } = options;
    const state = { lost: false };
    const sql = new SQL(url, {
      max: 1,
      connectionTimeout: connectMs / 1000,
      idleTimeout: 0,
      maxLifetime: 0,
      connection: { statement_timeout: statementMs, lock_timeout: lockMs, TimeZone: 'UTC', DateStyle: 'ISO' },
      onclose: () => {
        state.lost = true;
      },
    });
    try {
      const session = await sql.reserve();
      return new Connection(sql, session, state, statementMs === 0 ? 0 : statementMs + GRACE_MS);
    } catch (error) {
      void sql.close({ timeout: 0 }).catch(() => {});
      throw error;
    }
  }

  get lost(): boolean {
    return this.#state.lost;
  }

  /** Sends at once; statements that are sent without waiting are answered in their order. */
  send(text: string, parameters?: readonly unknown[]): Promise<Rows> {
    const query = this.#session.unsafe(text, parameters as never);
    // Queries are lazy: only what is executed now keeps its place in the order.
    return (parameters ? query : query.simple()).execute() as unknown as Promise<Rows>;
  }

  /** Waits for answers, but not for ever: a server that hangs answers nothing, not even its own timeouts. */
  async patiently<T>(work: Promise<T>): Promise<T> {
    if (this.#patienceMs === 0) return work;
    let timer: Timer | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => {
        this.close();
        reject(new ConnectionLost('the database did not answer in time'));
      }, this.#patienceMs);
    });
    try {
      return await Promise.race([work, late]);
    } finally {
      clearTimeout(timer);
    }
  }

  close(): void {
    this.#state.lost = true;
    void this.#sql.close({ timeout: 0 }).catch(() => {});
  }
}

export class ConnectionLost extends Error {}

export function unavailable(why: string): DuetError {
  return new DuetError('UNAVAILABLE', why, { headers: { 'Retry-After': '1' } });
}

/** At most so many connections at a time; whoever finds none free waits, but not for long. */
export class Pool {
  readonly #options: PoolOptions;
  readonly #idle: Connection[] = [];
  readonly #waiting: ((connection: Connection | undefined) => void)[] = [];
  #open = 0;
  #closed = false;

  constructor(options: PoolOptions) {
    this.#options = options;
  }

  async acquire(): Promise<Connection> {
    for (let idle = this.#idle.pop(); idle; idle = this.#idle.pop()) {
      if (!idle.lost) return idle;
      this.#open--;
    }
    if (this.#open < this.#options.connections) return this.#connect();
    const connection = await new Promise<Connection | undefined>((resolve) => {
      const give = (found: Connection | undefined) => {
        clearTimeout(timer);
        resolve(found);
      };
      const timer = setTimeout(() => {
        this.#waiting.splice(this.#waiting.indexOf(give), 1);
        resolve(undefined);
      }, this.#options.connectMs);
      this.#waiting.push(give);
    });
    if (connection) return connection;
    // Either the wait was too long, or a place became free because a connection was lost.
    if (this.#open < this.#options.connections) return this.#connect();
    throw unavailable('All connections to the database are busy.');
  }

  release(connection: Connection): void {
    const next = this.#waiting.shift();
    if (connection.lost || this.#closed) {
      if (!connection.lost) connection.close();
      this.#open--;
      next?.(undefined);
    } else if (next) next(connection);
    else this.#idle.push(connection);
  }

  async close(): Promise<void> {
    this.#closed = true;
    for (const connection of this.#idle.splice(0)) connection.close();
  }

  async #connect(): Promise<Connection> {
    this.#open++;
    try {
      return await Connection.open(this.#options);
    } catch (error) {
      this.#open--;
      this.#waiting.shift()?.(undefined);
      throw error;
    }
  }
}
