/** PostgreSQL through `Bun.SQL`: a pool of sessions, pipelined statements, whole transactions tried again. */

import { all, among, equal } from '../../query/filter.ts';
import type { Model } from '../../schema/model.ts';
import { type Evolvable, ReadOnly, type Session } from '../evolve/database.ts';
import { LOCK } from '../evolve/tables.ts';
import { Dangling, LockTimeout, type NotUnique, unavailable } from '../faults.ts';
import { decoded } from '../sql/codec.ts';
import { Compiler, parametersOf } from '../sql/compile.ts';
import { quote } from '../sql/dialect.ts';
import {
  filled,
  PLACEHOLDER,
  type Query,
  type Row,
  type Select,
  type Statement,
  select,
} from '../statements.ts';
import {
  type Deadline,
  type Prepared,
  type Program,
  run,
  type Snapshot,
  type Steps,
  type Storage,
  type WriteSteps,
} from '../storage.ts';
import { batchedFinder } from './batched-finder.ts';
import { postgresDdl } from './ddl.ts';
import { dialect } from './dialect.ts';
import {
  constraintsOf,
  explained,
  isConflictOfTransactions,
  isLost,
  late,
  notUnique,
  refused,
  stateOf,
  unknownOutcome,
} from './errors.ts';
import { isReadOnly, makeOwnTables, mayNot, sessionOf } from './evolution.ts';
import { type Connection, ConnectionLost, Pool } from './pool.ts';
import { pause, SERIAL_TRIES, SERIALIZABLE, surprised } from './serial.ts';
import { Server, type ServerOptions } from './server.ts';
import { Ahead, type Tree, Trees, Unforeseen } from './tree.ts';

/** How often a transaction is run that keeps losing against others. */
const TRIES = 4;
/** How often a node that starts asks whether another is done with the tables. */
const LOCK_POLL_MS = 50;

const SNAPSHOT = 'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY';

export interface PostgresOptions extends ServerOptions {
  readonly model: Model;
  /** Told the text of every statement that a program runs. */
  readonly trace?: ((sql: string) => void) | undefined;
}

export class PostgresStorage implements Storage, Evolvable {
  readonly ddl = postgresDdl;
  readonly #options: PostgresOptions;
  readonly #server: Server;
  readonly #pool: Pool;
  readonly #compiler = new Compiler(dialect);
  readonly #constraints: ReadonlyMap<string, NotUnique | Dangling>;
  readonly #trees = new Trees(this.#compiler);
  #snapshots = 0;
  /** Whether nothing could be written when it was opened: then nothing else is expected of it. */
  #readOnly = false;
  /** Whether the server locks rows only by their key: see #lockByKey. */
  #locksByKey = false;

  constructor(options: PostgresOptions) {
    this.#options = options;
    this.#server = new Server(options);
    this.#pool = new Pool(options, (connectMs) => this.#server.connect({ connectMs }));
    this.#constraints = constraintsOf(options.model);
  }

  prepare(statement: Query): Prepared {
    const ask = (read: Query) => (value: unknown, deadline: Deadline) =>
      this.read(() => run(filled(read, value)), 'one', deadline);
    if (statement.do === 'aggregate' || !this.#compiler.template(statement).findsOne) return ask(statement);
    return batchedFinder(statement, ask);
  }

  async read<T>(program: () => Program<T>, steps: Steps, deadline: Deadline): Promise<T> {
    const isAlone = steps !== 'many';
    try {
      return await this.#tried(deadline, (connection) =>
        isAlone
          ? this.#drive(connection, program(), new Ahead(), isAlone)
          : this.#transaction(connection, SNAPSHOT, program, new Ahead()),
      );
    } catch (error) {
      if (!(error instanceof Unforeseen)) throw error;
      return this.#tried(deadline, (connection) => this.#transaction(connection, SNAPSHOT, program));
    }
  }

  async write<T>(program: () => Program<T>, steps: WriteSteps, deadline: Deadline): Promise<T> {
    if (steps === 'serial') return this.#serially(program, deadline);
    return this.#tried(deadline, async (connection) => {
      if (steps === 'many') return this.#transaction(connection, 'BEGIN', program);
      // A lone statement commits by itself: when its answer is lost, so is the knowledge of what it did.
      return this.#drive(connection, program()).catch((error) => {
        throw isLost(error) ? unknownOutcome(error) : error;
      });
    });
  }

  async #serially<T>(program: () => Program<T>, deadline: Deadline): Promise<T> {
    let looked = false;
    const work = (connection: Connection) => {
      const running = looked ? program : () => surprised(program());
      looked = true;
      return this.#transaction(connection, SERIALIZABLE, running);
    };
    return this.#tried(deadline, work, true);
  }

  delays(): boolean {
    return false;
  }

  /** On a connection of its own: a slow reader must not keep one of the pool's. */
  async snapshot(): Promise<Snapshot> {
    if (this.#snapshots >= this.#options.connections)
      throw unavailable('Too many exports are under way; retry when one has ended.');
    this.#snapshots++;
    const end = (connection?: Connection) => {
      this.#snapshots--;
      connection?.close();
    };
    const connection = await this.#server.connect().catch((error) => {
      end();
      throw explained(error);
    });
    try {
      await connection.patiently(connection.send(SNAPSHOT));
    } catch (error) {
      end(connection);
      throw explained(error);
    }
    return {
      run: async (program) => {
        // A statement that fails ends the transaction, and with it the moment; what was too much is asked for in parts.
        const begun = connection.send('SAVEPOINT "_page"');
        begun.catch(() => {});
        try {
          const result = await this.#drive(connection, program());
          connection.send('RELEASE "_page"').catch(() => connection.close());
          return result;
        } catch (error) {
          if (!connection.lost)
            for (const back of ['ROLLBACK TO "_page"', 'RELEASE "_page"'])
              connection.send(back).catch(() => connection.close());
          throw explained(error);
        }
      },
      close: async () => end(connection),
    };
  }

  async ping(deadline: Deadline): Promise<void> {
    await this.#tried(deadline, async (connection) => {
      const look = `SELECT current_setting('transaction_read_only') AS "readOnly"`;
      const [row] = await connection.patiently(connection.send(look));
      if (row?.['readOnly'] === 'on' && !this.#readOnly) throw new ReadOnly();
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
    return sessionOf(connection, (program) => this.#drive(connection, program()));
  }

  /**
   * Runs work again that had no effect: when another transaction won, or when the connection was lost, which is
   * often found out only by using it. Work that may have had an effect throws OUTCOME_UNKNOWN instead.
   */
  async #tried<T>(
    deadline: Deadline,
    work: (connection: Connection) => Promise<T>,
    isSerial = false,
  ): Promise<T> {
    for (let tries = 1; ; tries++) {
      const connection = await this.#pool.acquire(deadline).catch((error) => {
        throw late(error, deadline);
      });
      connection.deadline = deadline;
      try {
        return await work(connection);
      } catch (error) {
        const beaten = isConflictOfTransactions(error) && tries < (isSerial ? SERIAL_TRIES : TRIES);
        const dropped = isLost(error) && !(error instanceof ConnectionLost) && tries < 2;
        // The server is no longer the one that takes writes: another connection may lead to the one that is.
        const misled = stateOf(error) === '25006' && !this.#readOnly && this.#pool.renew();
        const again = beaten || dropped || misled || error instanceof LocksByKey;
        if (!again || performance.now() > deadline) throw late(error, deadline);
      } finally {
        this.#pool.release(connection);
      }
      if (isSerial) await pause(tries);
    }
  }

  async #transaction<T>(
    connection: Connection,
    begin: string,
    program: () => Program<T>,
    ahead?: Ahead,
  ): Promise<T> {
    const readOnly = begin === SNAPSHOT;
    const begun = connection.send(begin).catch((error) => {
      // A standby is asked for what it never does before it is asked to write.
      throw begin === SERIALIZABLE && stateOf(error) === '0A000' ? new ReadOnly() : error;
    });
    // A statement that writes, behind a BEGIN that failed, would commit by itself.
    if (!readOnly) await connection.patiently(begun);
    else begun.catch(() => {});
    try {
      const result = await this.#drive(connection, program(), ahead);
      await begun;
      const commit = connection.send('COMMIT');
      // A snapshot that was read has nothing to commit: its end is not waited for, only kept in order.
      if (readOnly) commit.catch(() => connection.close());
      else
        await connection.patiently(commit).catch((error) => {
          // When the server itself says that it failed, nothing was committed.
          const isKnown = stateOf(error) !== '' && !isLost(error);
          throw isKnown ? (refused(this.#options.model, error) ?? error) : unknownOutcome(error);
        });
      return result;
    } catch (error) {
      if (!connection.lost) connection.send('ROLLBACK').catch(() => connection.close());
      throw error;
    }
  }

  /** With `ahead`, trees are read at once; `isAlone` where no transaction would hold several statements together. */
  async #drive<T>(connection: Connection, running: Program<T>, ahead?: Ahead, isAlone = false): Promise<T> {
    let step = running.next();
    let isFirst = true;
    while (!step.done) {
      let rows: Row[][] | undefined = ahead?.take(step.value);
      try {
        if (!rows) {
          if (isAlone && !(isFirst && this.#isOne(step.value))) throw new Unforeseen();
          isFirst = false;
          connection.hurry();
          rows = await this.#answers(connection, step.value, ahead);
        }
      } catch (error) {
        if (error instanceof Unforeseen) throw error;
        step = running.throw(this.#toldToPrograms(error));
        continue;
      }
      step = running.next(rows);
    }
    return step.value;
  }

  /** Whether one statement answers all that follows from it. */
  #isOne([statement, ...others]: readonly Statement[]): boolean {
    if (!statement || others.length > 0) return false;
    if (statement.do !== 'filled' || statement.select.prefetch.length === 0) return true;
    return this.#trees.of(statement.select) !== undefined;
  }

  async #answers(connection: Connection, statements: readonly Statement[], ahead?: Ahead): Promise<Row[][]> {
    const sent = statements.map((statement) => this.#send(connection, statement, ahead));
    const [only] = sent;
    if (only && sent.length === 1) return [await connection.patiently(only)];
    // All are settled before one is judged: an answer that nobody waits for would be an unhandled rejection.
    const settled = await connection.patiently(Promise.allSettled(sent));
    return settled.map((each) => {
      if (each.status === 'rejected') throw each.reason;
      return each.value;
    });
  }

  #toldToPrograms(error: unknown): unknown {
    if (stateOf(error) === '55P03') return new LockTimeout('a lock was waited for in vain', { cause: error });
    const known = this.#constraints.get(String((error as { constraint?: string }).constraint));
    if (known) return known;
    // A constraint that this file does not name: of what was left out, or of a newer file that is being rolled out.
    if (stateOf(error) === '23503') return new Dangling(undefined);
    const taken = stateOf(error) === '23505' ? notUnique(this.#options.model, error) : undefined;
    return taken ?? refused(this.#options.model, error) ?? error;
  }

  async #send(connection: Connection, statement: Statement, ahead?: Ahead): Promise<Row[]> {
    const tree = ahead && statement.do === 'filled' && this.#trees.of(statement.select);
    if (tree) {
      const rows = ahead.keep(tree, await this.#sendTree(connection, tree, statement.value));
      if (!rows) throw this.#trees.giveUp(tree);
      return rows;
    }
    const locks = statement.do === 'select' && statement.lock;
    if (locks && this.#locksByKey && !isByKey(statement)) return this.#lockByKey(connection, statement);
    const { sql, parameters, decoders } = this.#compiler.compile(statement);
    this.#options.trace?.(sql);
    const rows = await connection.send(sql, parameters).catch((error) => {
      if (!locks || this.#locksByKey || !refusesToLock(error)) throw error;
      this.#locksByKey = true;
      throw new LocksByKey();
    });
    return decoded(rows, decoders);
  }

  /**
   * Servers that spread a table over machines (Citus) lock the rows of one key, but none that they have to look for. So they
   * are looked for, locked one by one, and read again: what others have changed meanwhile may no longer be meant.
   */
  async #lockByKey(connection: Connection, statement: Select): Promise<Row[]> {
    const { resource, where } = statement;
    const { key } = resource;
    const found = await this.#send(connection, { ...statement, columns: [key], lock: false });
    const keys = found.map((row) => row[key.name]);
    const one = select(resource, [key], equal(key, PLACEHOLDER), { lock: true });
    await Promise.all(keys.map((value) => this.#send(connection, { do: 'filled', select: one, value })));
    const still = all([among(key, keys), ...(where ? [where] : [])]);
    return this.#send(connection, { ...statement, where: still, lock: false });
  }

  async #sendTree(connection: Connection, tree: Tree, value: unknown): Promise<Row[]> {
    this.#options.trace?.(tree.sql);
    try {
      return await connection.send(tree.sql, parametersOf(tree, value));
    } catch (error) {
      // Class 54 are limits of the server, such as that of a single value, which a list of values is.
      throw stateOf(error).startsWith('54') ? this.#trees.giveUp(tree) : error;
    }
  }
}

/** The server locks rows by their key alone; the transaction that found this out is run again. */
class LocksByKey extends Error {}

function isByKey({ where, resource }: Select): boolean {
  return where?.is === 'eq' && where.column === resource.key;
}

function refusesToLock(error: unknown): boolean {
  return stateOf(error) === '0A000' && (error as Error).message.includes('FOR UPDATE');
}
