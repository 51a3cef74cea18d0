/** Connections to PostgreSQL, each of which is one session for as long as it lives. */

import type { SQL } from 'bun';
import { deadlineExceeded, unavailable } from '../faults.ts';
import { withValues } from './literals.ts';
import { Patience, type Waiting } from './patience.ts';

export interface PoolOptions {
  readonly connections: number;
  readonly connectMs: number;
  readonly statementMs: number;
  readonly lockMs: number;
}

export interface ConnectionOptions extends PoolOptions {
  /** Of one host. */
  readonly url: string;
  /**
   * A pooler such as PgBouncer lends another session of the server to each transaction. Nothing may then outlive a
   * transaction: neither prepared statements, which others would be answered by, nor settings, which would be theirs.
   */
  readonly pooled: boolean;
}

/** How long beyond its own timeout a statement may stay unanswered before the server counts as hanging. */
const GRACE_MS = 500;
/** How long before a deadline the server is to give up by itself, so that there is time to tell. */
export const HURRY_MS = 50;

/** How long sessions are kept at least, however often somebody finds that they lead to the wrong server. */
const RENEWAL_MS = 1000;

/** Statements that one session keeps: each takes 10 to 100 kB of the server for as long as the session lives. */
const MOST_PREPARED = 500;
/** And characters of their texts: each takes some seventy bytes there, and a long filter has a hundred thousand. */
const MOST_PREPARED_TEXT = 1_000_000;

export type Rows = Record<string, unknown>[];

type ReservedSession = Awaited<ReturnType<SQL['reserve']>>;
type Query = ReturnType<ReservedSession['unsafe']>;

/**
 * A session. It is never reconnected: what was begun on a lost connection cannot be continued on another, so a
 * connection that fails once is of no use any more.
 */
export class Connection {
  /** When whoever works with it must have an answer, in the time of `performance.now()`. */
  deadline = Number.POSITIVE_INFINITY;
  /** How far the server had replayed the log of another when this session asked; no further than nowhere before. */
  replayed = '';
  readonly #sql: SQL;
  readonly openedAt = performance.now();
  readonly #session: ReservedSession;
  readonly #state: { lost: boolean };
  readonly #options: ConnectionOptions;
  /** What it keeps; with the form in which the driver takes a text that has no parameters. */
  readonly #prepared = new Map<string, TemplateStringsArray | undefined>();
  /** Characters of all of it. */
  #preparedText = 0;
  #hurried = false;
  readonly #patience = new Patience<Waiting>((over) => {
    this.close();
    for (const { reject } of over) reject(new Unanswered('the database did not answer in time'));
  });
  /** What goes out together, where there is a pooler. */
  #outgoing: Outgoing[] = [];

  private constructor(
    sql: SQL,
    session: ReservedSession,
    state: { lost: boolean },
    options: ConnectionOptions,
  ) {
    this.#sql = sql;
    this.#session = session;
    this.#state = state;
    this.#options = options;
  }

  static async open(options: ConnectionOptions): Promise<Connection> {
    const { url, connectMs, statementMs, lockMs, pooled } = options;
    const state = { lost: false };
    // Poolers know the parameters that tell how values are written, and refuse or ignore all others.
    const timeouts = pooled ? {} : { statement_timeout: statementMs, lock_timeout: lockMs };
    // Not imported: the client would be loaded where there is no PostgreSQL, too.
    const name = URL.parse(url)?.searchParams.get('application_name') ?? 'duet';
    const sql = new Bun.SQL(url, {
      max: 1,
      connectionTimeout: connectMs / 1000,
      idleTimeout: 0,
      maxLifetime: 0,
      connection: { ...timeouts, TimeZone: 'UTC', DateStyle: 'ISO', application_name: name },
      onclose: () => {
        state.lost = true;
      },
    });
    try {
      const session = await sql.reserve();
      return new Connection(sql, session, state, options);
    } catch (error) {
      void sql.close({ timeout: 0 }).catch(() => {});
      throw error;
    }
  }

  get pooled(): boolean {
    return this.#options.pooled;
  }

  get lost(): boolean {
    return this.#state.lost;
  }

  /** Whether a new session would be better: whoever words requests can word them in ever new ways. */
  get isWorn(): boolean {
    return this.#prepared.size > MOST_PREPARED || this.#preparedText > MOST_PREPARED_TEXT;
  }

  /** Sends at once; statements that are sent without waiting are answered in their order. */
  send(text: string, parameters?: readonly unknown[]): Promise<Rows> {
    if (this.#options.pooled) return this.#sendTogether(withValues(text, parameters ?? []));
    // Queries are lazy: only what is executed now keeps its place in the order.
    return this.#query(text, parameters).execute() as unknown as Promise<Rows>;
  }

  /** Only what has parameters, or is a template, is prepared and planned once, however often it is sent. */
  #query(text: string, parameters: readonly unknown[] | undefined): Query {
    if (!parameters) return this.#session.unsafe(text).simple();
    if (parameters.length > 0) {
      if (!this.#prepared.has(text)) this.#keep(text, undefined);
      return this.#session.unsafe(text, parameters as never);
    }
    let template = this.#prepared.get(text);
    if (!template) {
      template = templateOf(text);
      this.#keep(text, template);
    }
    return this.#session(template);
  }

  #keep(text: string, template: TemplateStringsArray | undefined): void {
    this.#prepared.set(text, template);
    this.#preparedText += text.length;
  }

  /**
   * Has the server itself end what would outlive the deadline: a statement goes on when its connection is closed.
   * Where the usual timeout is short enough, nothing is sent; behind a pooler there is no usual one.
   */
  hurry(): void {
    const left = Math.floor(this.deadline - performance.now() - HURRY_MS);
    if (left <= 0) throw deadlineExceeded();
    const { pooled, statementMs, lockMs } = this.#options;
    // They hold until the transaction ends, which is at the end of the message where none was begun.
    if (pooled && statementMs > 0) {
      const timeout = Math.min(left, statementMs);
      this.send(`SET LOCAL statement_timeout = ${timeout}`).catch(() => {});
      this.send(`SET LOCAL lock_timeout = ${lockMs}`).catch(() => {});
    }
    if (pooled || left >= statementMs) return;
    this.#hurried = true;
    this.send(`SET statement_timeout = ${left}`).catch(() => this.close());
  }

  /** Back to the usual timeout, for whoever comes next. */
  relax(): void {
    if (!this.#hurried) return;
    this.#hurried = false;
    if (!this.lost) this.send('RESET statement_timeout').catch(() => this.close());
  }

  /** Waits for answers, but not for ever: a server that hangs answers nothing, not even its own timeouts. */
  patiently<T>(work: Promise<T>): Promise<T> {
    const { statementMs } = this.#options;
    if (statementMs === 0) return work;
    return new Promise((resolve, reject) => {
      const until = Math.min(performance.now() + statementMs + GRACE_MS, this.deadline);
      const waiting = { until, reject };
      this.#patience.add(waiting);
      work.then(
        (value) => {
          this.#patience.delete(waiting);
          resolve(value);
        },
        (error) => {
          this.#patience.delete(waiting);
          reject(error);
        },
      );
    });
  }

  close(): void {
    this.#state.lost = true;
    void this.#sql.close({ timeout: 0 }).catch(() => {});
  }

  /**
   * Statements that are sent without waiting go out as one message, which no other transaction can come into, and in
   * which nothing is done behind a statement that failed.
   */
  #sendTogether(text: string): Promise<Rows> {
    return new Promise((resolve, reject) => {
      if (this.#outgoing.push({ text, resolve, reject }) === 1) queueMicrotask(() => void this.#flush());
    });
  }

  async #flush(): Promise<void> {
    const sent = this.#outgoing;
    this.#outgoing = [];
    try {
      const answer = await this.#session.unsafe(sent.map(({ text }) => text).join('; ')).simple();
      const answers: Rows[] = sent.length === 1 ? [answer] : answer;
      if (answers.length !== sent.length) throw new ConnectionLost('the database answered something else');
      sent.forEach(({ resolve }, index) => {
        resolve(answers[index] as Rows);
      });
    } catch (error) {
      for (const { reject } of sent) reject(error);
    }
  }
}

interface Outgoing {
  readonly text: string;
  readonly resolve: (rows: Rows) => void;
  readonly reject: (error: unknown) => void;
}

function templateOf(text: string): TemplateStringsArray {
  return Object.defineProperty([text], 'raw', { value: [text] }) as unknown as TemplateStringsArray;
}

export class ConnectionLost extends Error {
  readonly code = 'ERR_POSTGRES_CONNECTION_LOST';
}

/** It was given up by this process: a statement took longer than even its own timeout allows. */
export class Unanswered extends ConnectionLost {}

/** The server is there, and is not the kind of server that is wanted. */
export class Unfit extends ConnectionLost {}

interface InLine extends Waiting {
  readonly give: (freed: Connection | 'place') => void;
}

/** At most so many connections at a time; whoever finds none free waits, but not for long. */
export class Pool {
  readonly #options: PoolOptions;
  readonly #open: (connectMs: number) => Promise<Connection>;
  readonly #idle: Connection[] = [];
  readonly #waiting = new Patience<InLine>((over) => {
    for (const { reject } of over) reject(unavailable('All connections to the database are busy.'));
  });
  /** How many places are taken by connections, idle ones too, and by those about to connect. */
  #taken = 0;
  #closed = false;
  /** Sessions that are older lead to a server that is no longer the one to ask. */
  #renewedAt = Number.NEGATIVE_INFINITY;

  constructor(options: PoolOptions, open: (connectMs: number) => Promise<Connection>) {
    this.#options = options;
    this.#open = open;
  }

  /** Connections by what they do, and requests that wait for one. */
  get state(): { readonly idle: number; readonly busy: number; readonly waiting: number } {
    const idle = this.#idle.length;
    return { idle, busy: this.#taken - idle, waiting: this.#waiting.size };
  }

  /** Waiting for a place and connecting there share one time limit. */
  async acquire(deadline = Number.POSITIVE_INFINITY): Promise<Connection> {
    const until = Math.min(deadline, performance.now() + this.#options.connectMs);
    for (let idle = this.#idle.pop(); idle; idle = this.#idle.pop()) {
      if (!idle.lost) return idle;
      this.#taken--;
    }
    if (this.#taken < this.#options.connections) this.#taken++;
    else {
      const freed = await this.#freed(until);
      if (freed !== 'place') return freed;
    }
    // Returned as it is, a rejection would have its handler only a microtask later: Bun reports it if its event loop runs in between.
    return await this.#connect(until);
  }

  release(connection: Connection): void {
    connection.relax();
    const isStale = connection.openedAt < this.#renewedAt;
    if (this.#closed || connection.isWorn || isStale) connection.close();
    if (connection.lost) this.#vacate();
    else {
      const next = this.#waiting.shift();
      if (next) next.give(connection);
      else this.#idle.push(connection);
    }
  }

  /** Replaces every session, each as soon as it is free; false where that was done a moment ago. */
  renew(): boolean {
    const now = performance.now();
    if (now - this.#renewedAt < RENEWAL_MS) return false;
    this.#renewedAt = now;
    for (const connection of this.#idle.splice(0)) {
      connection.close();
      this.#vacate();
    }
    return true;
  }

  async close(): Promise<void> {
    this.#closed = true;
    for (const connection of this.#idle.splice(0)) connection.close();
  }

  /** A connection that somebody gave back, or the place of one that was lost. */
  #freed(until: number): Promise<Connection | 'place'> {
    return new Promise((give, reject) => {
      this.#waiting.add({ until, give, reject });
    });
  }

  /** The place stays taken when somebody waits for it, or whoever comes next would take it away from them. */
  #vacate(): void {
    const next = this.#waiting.shift();
    if (next) next.give('place');
    else this.#taken--;
  }

  async #connect(until: number): Promise<Connection> {
    try {
      if (this.#closed) throw unavailable('The connections to the database are closed.');
      return await this.#open(Math.max(1, until - performance.now()));
    } catch (error) {
      this.#vacate();
      throw error;
    }
  }
}
