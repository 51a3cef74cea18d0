/** What a URL leads to: which of its servers will do, whether it is there, and whether a pooler is in between. */

import { isAbsent } from './errors.ts';
import { type Hosts, nameOf, ROLE, type Role, unfit } from './hosts.ts';
import { Connection, ConnectionLost, type ConnectionOptions, type PoolOptions, Unfit } from './pool.ts';

/** How often two sessions are held against each other: a pooler that is busy may lend each its own for a while. */
const ROUNDS = 4;
/** How long to wait before a server that was not there is asked again. */
const PAUSE_MS = 200;

export interface ServerOptions extends PoolOptions {
  readonly hosts: Hosts;
  /** `transaction`: a pooler is known to be there. Otherwise it is looked for. */
  readonly pooler: 'none' | 'transaction';
}

export class Server {
  readonly #options: ServerOptions;
  /** Found out by whoever connects first. */
  #pooled: Promise<boolean> | undefined;
  /** The host that did last: it is tried first. */
  #last: string;
  /** Hears of a server that goes, and of who is there instead. */
  #tell: (message: string) => void = () => {};
  #isAway = false;
  /** Whom the operator knows to be used. */
  #known: string | undefined;

  constructor(options: ServerOptions) {
    this.#options = options;
    [this.#last] = options.hosts.urls;
  }

  /** Hosts, ports and the name of the database, without the password. */
  get name(): string {
    const { urls } = this.#options.hosts;
    return urls.map(nameOf).join(', ') + new URL(urls[0]).pathname;
  }

  async connect(other: Partial<PoolOptions> = {}): Promise<Connection> {
    const pooled = await this.#isPooled();
    try {
      const connection = await this.#open({ ...this.#options, ...other, pooled });
      if (this.#isAway || this.#known !== this.#last) this.#found();
      return connection;
    } catch (error) {
      if (isAbsent(error) && !this.#isAway) {
        this.#isAway = true;
        this.#tell(
          `PostgreSQL at ${this.name} cannot be used (${whyOf(error)}): what needs it is answered 503 until it can`,
        );
      }
      throw error;
    }
  }

  #found(): void {
    const [before, now] = [this.#known ?? this.#last, this.#last];
    if (now !== before)
      this.#tell(`PostgreSQL at ${nameOf(now)} is used from now on, in place of ${nameOf(before)}`);
    else if (this.#isAway) this.#tell(`PostgreSQL at ${nameOf(now)} is used again`);
    this.#known = now;
    this.#isAway = false;
  }

  /** To the first host that will do. Those that are not there share the time: none keeps the others from being asked. */
  async #open(options: Omit<ConnectionOptions, 'url'>): Promise<Connection> {
    const { urls, wanted = urls.length > 1 ? 'read-write' : 'any' } = this.#options.hosts;
    const [only, ...others] = urls;
    if (others.length === 0 && wanted === 'any') return Connection.open({ ...options, url: only });
    const until = performance.now() + options.connectMs;
    const inOrder = [this.#last, ...urls.filter((url) => url !== this.#last)];
    const passes = wanted === 'prefer-standby' ? (['standby', 'any'] as const) : [wanted];
    const tries = passes.flatMap((attribute) => inOrder.map((url) => ({ attribute, url })));
    const why = new Map<string, unknown>();
    for (const [index, { attribute, url }] of tries.entries()) {
      const connectMs = Math.max(1, (until - performance.now()) / (tries.length - index));
      try {
        const connection = await Connection.open({ ...options, url, connectMs });
        const wrong = unfit(attribute, await roleOf(connection));
        if (wrong === undefined) {
          this.#last = url;
          return connection;
        }
        connection.close();
        throw new Unfit(wrong);
      } catch (error) {
        why.set(nameOf(url), error);
      }
    }
    // A wrong password, or name, is to be mended: it is not waited for.
    const fault = [...why.values()].find((error) => others.length === 0 || !isAbsent(error));
    if (fault) throw fault;
    const reasons = [...why].map(([name, error]) => `${name}: ${whyOf(error)}`);
    throw new ConnectionLost(`no server is ${wanted} (${reasons.join('; ')})`);
  }

  /** Runs work on a session of its own, whose statements may take as long as they need. */
  async with<T>(work: (connection: Connection) => Promise<T>): Promise<T> {
    const connection = await this.connect({ statementMs: 0, lockMs: 0 });
    try {
      return await work(connection);
    } finally {
      connection.close();
    }
  }

  /** Waits for a server that is not there, or not yet itself, and says so once. */
  async reach(waitMs: number, tell: (message: string) => void): Promise<void> {
    this.#tell = tell;
    const until = performance.now() + waitMs;
    for (let tries = 1; ; tries++)
      try {
        await this.#isPooled();
        if (tries > 1) tell(`PostgreSQL at ${this.name} is there now`);
        break;
      } catch (error) {
        const waits = isAbsent(error) && performance.now() < until;
        if (!waits) throw this.#unreachable(error, isAbsent(error) ? waitMs : 0);
        if (tries === 1) tell(`waiting for PostgreSQL at ${this.name}, up to ${waitMs} ms`);
        await Bun.sleep(PAUSE_MS);
      }
    if (this.#options.pooler === 'none' && (await this.#isPooled()))
      tell(
        `there is a pooler before PostgreSQL at ${this.name}, which shares sessions between transactions: nothing is prepared or set for longer than one. Set DATABASE_POOLER=transaction to say that it is meant`,
      );
  }

  #unreachable(cause: unknown, waitedMs: number): Error {
    const waited = waitedMs > 0 ? ` within ${waitedMs} ms (DATABASE_WAIT)` : '';
    return new Error(
      `PostgreSQL at ${this.name} cannot be used${waited}: ${whyOf(cause)}. DATABASE_URL names another`,
      { cause },
    );
  }

  /** Asked again where there was no answer. */
  #isPooled(): Promise<boolean> {
    this.#pooled ??= this.#findPooler().catch((error) => {
      this.#pooled = undefined;
      throw error;
    });
    return this.#pooled;
  }

  async #findPooler(): Promise<boolean> {
    const open = (pooled: boolean) => this.#open({ ...this.#options, pooled });
    const pooled = this.#options.pooler === 'transaction' || (await isShared(open, this.#options));
    if (pooled) await refuseForeignWriting(open);
    return pooled;
  }
}

function whyOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

type Open = (pooled: boolean) => Promise<Connection>;

async function roleOf(connection: Connection): Promise<Role> {
  try {
    const [role] = await connection.patiently(connection.send(`SELECT ${ROLE}`));
    return role as unknown as Role;
  } catch (error) {
    connection.close();
    throw error;
  }
}

/** Whether sessions of the server are shared with others: then the process behind a connection is not its own. */
async function isShared(connect: Open, { statementMs }: PoolOptions): Promise<boolean> {
  const opened: Connection[] = [];
  const open = async () => {
    const connection = await connect(false);
    opened.push(connection);
    return connection;
  };
  try {
    const one = await open();
    const [set] = await one.send(`SELECT "setting" FROM pg_settings WHERE "name" = 'statement_timeout'`);
    // Whoever does not pass it on stands in between, and statements would run for ever.
    if (Number(set?.['setting']) !== statementMs) return true;
    const other = await open();
    for (let round = 0; round < ROUNDS; round++) {
      const before = await processOf(one);
      await other.send('BEGIN');
      const [its, after] = [await processOf(other), await processOf(one)];
      await other.send('ROLLBACK');
      if (its === before || after !== before) return true;
    }
    return false;
  } catch (error) {
    // As PgBouncer refuses what it does not know.
    if (/unsupported startup parameter/.test((error as Error).message)) return true;
    throw error;
  } finally {
    for (const connection of opened) connection.close();
  }
}

/** Values are read as they are written under these settings, which a pooler has to keep for each of its clients. */
async function refuseForeignWriting(connect: Open): Promise<void> {
  const connection = await connect(true);
  try {
    const [found] = await connection.send(
      `SELECT current_setting('TimeZone') AS "zone", current_setting('DateStyle') AS "style"`,
    );
    if (found?.['zone'] === 'UTC' && String(found['style']).startsWith('ISO')) return;
    throw new Error('the pooler does not keep TimeZone and DateStyle for its clients');
  } finally {
    connection.close();
  }
}

async function processOf(connection: Connection): Promise<unknown> {
  const [row] = await connection.send('SELECT pg_backend_pid() AS "pid"');
  return row?.['pid'];
}
