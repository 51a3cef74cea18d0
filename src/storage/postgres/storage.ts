/** PostgreSQL through `Bun.SQL`: a pool of sessions, pipelined statements, whole transactions tried again. */

import type { Metrics } from '../../base/metrics.ts';
import type { Model } from '../../schema/model.ts';
import { LOOK, outdatedOf } from '../duties.ts';
import { type Evolvable, ReadOnly, type Session } from '../evolve/database.ts';
import { LOCK } from '../evolve/tables.ts';
import { writerOutdated } from '../faults.ts';
import { currentScope, scoped, within } from '../scopes.ts';
import { quote } from '../sql/dialect.ts';
import { filled, type Query } from '../statements.ts';
import {
  type Deadline,
  type Position,
  type Prepared,
  type Program,
  run,
  type Seen,
  type Snapshot,
  type Steps,
  type Storage,
  type WriteSteps,
} from '../storage.ts';
import type { Trace } from '../trace.ts';
import { batchedFinder } from './batched-finder.ts';
import { postgresDdl } from './ddl.ts';
import {
  isConflictOfTransactions,
  isLost,
  isStale,
  late,
  Misjudged,
  refused,
  Spread,
  stateOf,
  unknownOutcome,
} from './errors.ts';
import { isReadOnly, makeOwnTables, mayNot, sessionOf } from './evolution.ts';
import { GroupCommit, groupable } from './group-commit.ts';
import { tellOf } from './metrics.ts';
import { type Connection, ConnectionLost, Pool } from './pool.ts';
import { caughtUp, noting, written } from './positions.ts';
import { Runner } from './runner.ts';
import { pause, RetryQueue, SERIAL_TRIES, SERIALIZABLE } from './serial.ts';
import { Server, type ServerOptions } from './server.ts';
import { Snapshots } from './snapshots.ts';
import { SNAPSHOT, Transaction } from './transaction.ts';
import { Ahead, Unforeseen } from './tree.ts';

/** How often a transaction is run that keeps losing against others. */
const TRIES = 4;
/** How often a node that starts asks whether another is done with the tables. */
const LOCK_POLL_MS = 50;

export interface PostgresOptions extends ServerOptions {
  readonly model: Model;
  /** Told the text of every statement that a program runs. */
  readonly trace?: Trace | undefined;
  /** Says in a comment for whom a transaction is; statements that are prepared have none, since each would be another one. */
  readonly comment?: (() => string) | undefined;
}

/** What goes with a transaction. */
interface Around {
  readonly comment?: string | undefined;
  readonly ahead?: Ahead;
  /** Called when its last statement was sent. */
  readonly ended?: (() => void) | undefined;
  /** Whether it is serializable, and nothing has made it run again yet. */
  readonly mayMiss?: boolean | undefined;
}

export class PostgresStorage implements Storage, Evolvable {
  readonly ddl = postgresDdl;
  readonly stampsPositions = true;
  readonly insertsChanges = true;
  readonly #options: PostgresOptions;
  readonly #server: Server;
  readonly #pool: Pool;
  readonly #runner: Runner;
  readonly #snapshots: Snapshots;
  readonly #retryQueue = new RetryQueue();
  readonly #groupCommit = new GroupCommit((program, deadline) => this.#write(program, 'one', deadline));
  #retries = 0;
  /** Whether nothing could be written when it was opened: then nothing else is expected of it. */
  #readOnly = false;

  constructor(options: PostgresOptions) {
    this.#options = options;
    this.#server = new Server(options);
    this.#pool = new Pool(options, (connectMs) => this.#server.connect({ connectMs }));
    this.#runner = new Runner(options.model, options.trace, options.comment);
    this.#snapshots = new Snapshots(this.#server, this.#runner, options.connections);
  }

  prepare(statement: Query): Prepared {
    const ask =
      (read: Query): Prepared =>
      (value, deadline, seen) =>
        this.read(
          scoped(() => run(filled(read, value)), currentScope()),
          'one',
          deadline,
          seen,
        );
    if (statement.do === 'aggregate' || !this.#runner.findsOne(statement)) return ask(statement);
    return batchedFinder(statement, ask);
  }

  /** On a replica, `seen` is what it must have replayed. */
  async read<T>(program: () => Program<T>, steps: Steps, deadline: Deadline, seen?: Seen): Promise<T> {
    const isAlone = steps !== 'many';
    const comment = this.#options.comment?.();
    try {
      return await this.#tried(
        deadline,
        (connection) =>
          isAlone
            ? this.#runner.drive(connection, program(), { ahead: new Ahead(), isAlone })
            : this.#transaction(connection, SNAPSHOT, program, { comment, ahead: new Ahead() }),
        { seen },
      );
    } catch (error) {
      if (!(error instanceof Unforeseen)) throw error;
      const work = (connection: Connection) => this.#transaction(connection, SNAPSHOT, program, { comment });
      return this.#tried(deadline, work, { seen });
    }
  }

  async write<T>(program: () => Program<T>, steps: WriteSteps, deadline: Deadline, seen?: Seen): Promise<T> {
    if (steps === 'serial') return this.#serially(program, deadline, seen);
    // Who is told where a write is in the log asks for that behind the write alone.
    if (steps !== 'one' || seen) return this.#write(program, steps, deadline, seen);
    const running = program();
    const step = running.next();
    const alone = step.done || this.#runner.isSpread ? undefined : groupable(step.value);
    if (!alone) return this.#write(program, 'one', deadline, undefined, { running, step });
    const end = await this.#groupCommit.write(alone, deadline).then(
      (rows) => running.next([rows]),
      (error) => running.throw(error),
    );
    // An update that finds no record asks why.
    return end.done ? end.value : this.#write(program, 'one', deadline, undefined, { running, step: end });
  }

  /** `begun`: the program, where it has begun already. */
  #write<T>(
    program: () => Program<T>,
    steps: Steps,
    deadline: Deadline,
    seen?: Seen,
    begun?: { readonly running: Program<T>; readonly step: ReturnType<Program<T>['next']> },
  ): Promise<T> {
    const comment = this.#options.comment?.();
    let first = begun;
    // What has begun asked for its statement before there was a connection to send it by.
    const scope = begun && currentScope();
    return this.#tried(deadline, (connection) =>
      noting(connection, seen, async (ended) => {
        // What stands in the statement otherwise is one of its own there.
        if (steps === 'many' || this.#runner.isSpread)
          return this.#transaction(connection, 'BEGIN', program, { comment, ended });
        const { running, step } = first ?? { running: program(), step: undefined };
        first = undefined;
        const drive = () => this.#runner.drive(connection, running, { begun: step, sent: ended });
        const done = step ? within(scope, drive) : drive();
        // A lone statement commits by itself: when its answer is lost, so is the knowledge of what it did.
        return done.catch((error) => {
          throw isLost(error) ? unknownOutcome(error) : error;
        });
      }),
    );
  }

  async #serially<T>(program: () => Program<T>, deadline: Deadline, seen: Seen | undefined): Promise<T> {
    const comment = this.#options.comment?.();
    let looked = false;
    const work = (connection: Connection) => {
      const mayMiss = !looked;
      looked = true;
      return noting(connection, seen, (ended) =>
        this.#transaction(connection, SERIALIZABLE, program, { comment, ended, mayMiss }),
      );
    };
    return this.#tried(deadline, work, { isSerial: true });
  }

  delays(): boolean {
    return false;
  }

  snapshot(): Promise<Snapshot> {
    return this.#snapshots.open();
  }

  tell(metrics: Metrics): void {
    const { connections } = this.#options;
    tellOf(metrics, connections, {
      pool: () => this.#pool.state,
      retries: () => this.#retries,
      read: (deadline, text) =>
        this.#tried(deadline, (connection) => connection.patiently(connection.send(text))),
    });
  }

  /** Where its log is now. */
  position(deadline: Deadline): Promise<Position> {
    return this.#tried(deadline, written);
  }

  /** Fails unless it has replayed so far. */
  replayed(position: Position, deadline: Deadline): Promise<void> {
    return this.#tried(deadline, async () => {}, { seen: { position, written: undefined } });
  }

  async ping(deadline: Deadline): Promise<void> {
    await this.#tried(deadline, async (connection) => {
      const look = `SELECT current_setting('transaction_read_only') AS "readOnly"`;
      const [row] = await connection.patiently(connection.send(look));
      if (this.#readOnly) return;
      if (row?.['readOnly'] === 'on') throw new ReadOnly();
      const stored = await connection.patiently(connection.send(LOOK));
      if (outdatedOf(this.#options.model, stored).size > 0) throw writerOutdated();
    });
  }

  async reach(waitMs: number, tell: (message: string) => void): Promise<void> {
    await this.#server.reach(waitMs, tell);
  }

  async close(): Promise<void> {
    await this.#pool.close();
  }

  /**
   * One session holds the lock while another works: an index that is built concurrently waits for transactions that
   * have touched its table, and must not wait for the one that holds the lock.
   */
  async exclusively<T>(work: (session: Session) => Promise<T>): Promise<T> {
    const done = this.#server.with(async (holder) => {
      this.#readOnly = await isReadOnly(holder);
      if (this.#readOnly) throw new ReadOnly();
      await makeOwnTables(holder);
      // Asked for again and again, each time in a transaction of its own: whoever builds an index concurrently waits
      // for the end of every transaction that was seen with a snapshot, and the one that builds has the lock.
      for (;;) {
        await holder.send('BEGIN');
        // The holder idles for as long as the work takes.
        await holder.send('SET LOCAL idle_in_transaction_session_timeout = 0');
        if ((await holder.send(`SELECT 1 FROM ${quote(LOCK)} FOR UPDATE SKIP LOCKED`)).length > 0) break;
        await holder.send('ROLLBACK');
        await Bun.sleep(LOCK_POLL_MS);
      }
      const result = await this.#server.with((worker) => work(this.#session(worker)));
      await holder.send('COMMIT');
      return result;
    });
    return done.catch(mayNot);
  }

  async looking<T>(work: (session: Session) => Promise<T>): Promise<T> {
    return this.#server.with(async (connection) => {
      await connection.send(SNAPSHOT);
      return work(this.#session(connection));
    });
  }

  #session(connection: Connection): Session {
    return sessionOf(connection, (program) => this.#runner.drive(connection, program()));
  }

  /**
   * Runs work again that had no effect: when another transaction won, or when the connection was lost, which is
   * often found out only by using it. Work that may have had an effect throws OUTCOME_UNKNOWN instead.
   */
  async #tried<T>(
    deadline: Deadline,
    work: (connection: Connection) => Promise<T>,
    { isSerial = false, seen }: { readonly isSerial?: boolean; readonly seen?: Seen | undefined } = {},
  ): Promise<T> {
    const since = seen?.position;
    for (let tries = 1; ; tries++) {
      const isRetry = isSerial && tries > 1;
      if (isRetry) await this.#retryQueue.enter();
      let hasLost = false;
      const connection = await this.#pool.acquire(deadline).catch((error) => {
        if (isRetry) this.#retryQueue.leave(false);
        throw late(error, deadline);
      });
      connection.deadline = deadline;
      try {
        if (since !== undefined) await caughtUp(connection, since, this.#options.hosts.wanted);
        return await work(connection);
      } catch (error) {
        hasLost = isConflictOfTransactions(error);
        const beaten = hasLost && tries < (isSerial ? SERIAL_TRIES : TRIES);
        const dropped = isLost(error) && !(error instanceof ConnectionLost) && tries < 2;
        const stale = isStale(error) && tries < TRIES;
        if (stale) connection.close();
        // The server is no longer the one that takes writes: another connection may lead to the one that is.
        const misled = stateOf(error) === '25006' && !this.#readOnly && this.#pool.renew();
        const isOtherwise = error instanceof Spread || error instanceof Misjudged;
        const again = beaten || dropped || stale || misled || isOtherwise;
        if (!again || performance.now() > deadline) throw late(error, deadline);
        this.#retries++;
      } finally {
        this.#pool.release(connection);
        if (isRetry) this.#retryQueue.leave(hasLost);
      }
      if (isSerial) await pause(tries);
    }
  }

  async #transaction<T>(
    connection: Connection,
    begin: string,
    program: () => Program<T>,
    { comment = '', ahead, ended, mayMiss }: Around,
  ): Promise<T> {
    const transaction = new Transaction(connection, begin, comment);
    try {
      const result = await this.#runner.drive(connection, program(), { ahead, transaction, mayMiss });
      await transaction.commit(ended);
      return result;
    } catch (error) {
      // What was not as foreseen may be all that it has failed for.
      const cause = await transaction.verify().then(
        () => error,
        (wrong) => wrong,
      );
      transaction.rollback();
      throw refused(this.#options.model, cause) ?? cause;
    }
  }
}
