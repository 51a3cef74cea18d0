/** SQLite through `bun:sqlite`: one connection, synchronous, durable. */

import { type Database, SQLiteError, type SQLQueryBindings } from 'bun:sqlite';
import { statSync } from 'node:fs';
import { resolve } from 'node:path';
import { inBatch } from '../../base/batch.ts';
import type { Metrics } from '../../base/metrics.ts';
import type { Model } from '../../schema/model.ts';
import type { Evolvable, Session } from '../evolve/database.ts';
import { ownTables } from '../evolve/tables.ts';
import { writerOutdated } from '../faults.ts';
import { currentScope, scoped, within } from '../scopes.ts';
import { filled, type Query, type Row, type Select } from '../statements.ts';
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
import type { Trace } from '../trace.ts';
import { Bounds } from './bounds.ts';
import { Commits } from './commits.ts';
import { sqliteDdl } from './ddl.ts';
import { explained, explaining } from './errors.ts';
import { LocalWriter } from './local-writer.ts';
import { openToServe } from './opening.ts';
import type { OtherWriters } from './other-writers.ts';
import { ProcessReader } from './process-reader.ts';
import { ProcessWriter } from './process-writer.ts';
import { compiler, Runner } from './runner.ts';
import { SharedSnapshot } from './shared-snapshot.ts';
import { Snapshots } from './snapshots.ts';
import { Uniques } from './uniques.ts';
import { CHECKPOINT_FRAMES, type LogOptions, MOST_LOG_FRAMES } from './wal.ts';
import { WalIndex } from './wal-index.ts';
import { UNBOUNDED } from './watch.ts';
import { WriteQueue } from './write-queue.ts';

/** Another node may be changing tables, which takes as long as it takes. */
const EVOLUTION_TIMEOUT_MS = 600_000;
const EVOLUTION_POLL_MS = 50;

export interface SqliteOptions {
  /** A file path, or `:memory:`. */
  readonly path: string;
  readonly model: Model;
  /** Told the text of every statement that a program runs. */
  readonly trace?: Trace | undefined;
  /** Nothing is to be written, not even the file when it is missing. */
  readonly readOnly?: boolean;
  /**
   * Runs a process that is the `reader` or the `writer` of a file, which are named behind it, for what takes long;
   * without one, everything runs in this process.
   */
  readonly apart?: readonly string[] | undefined;
  /** For how long one write may keep all others waiting. */
  readonly holdMs: number;
  readonly others?: OtherWriters | undefined;
  /** From how many milliseconds on a commit counts as slow; 0 makes every one a slow one. */
  readonly slowMs?: number | undefined;
  /** How the disk is waited for in the background. */
  readonly sync?: LogOptions['sync'];
}

export class SqliteStorage implements Storage, Evolvable {
  readonly ddl = sqliteDdl;
  readonly #database: Database;
  readonly #trace: Trace | undefined;
  readonly #runner: Runner;
  readonly #local: LocalWriter;
  readonly #bounds: Bounds;
  readonly #processReader: ProcessReader | undefined;
  readonly #writer: ProcessWriter | undefined;
  readonly #commits: Commits;
  /** Looked for at the first read; undefined where there can be none. */
  #snapshot: SharedSnapshot | undefined;
  #hasLooked: boolean;
  readonly #snapshots: Snapshots;
  readonly #queue: WriteQueue;

  constructor(options: SqliteOptions) {
    const { path, model, trace, readOnly = false, apart, holdMs, others, slowMs, sync } = options;
    this.#trace = trace;
    this.#hasLooked = path === ':memory:' || readOnly;
    this.#database = openToServe(path, readOnly);
    this.#database.run(`PRAGMA wal_autocheckpoint = ${CHECKPOINT_FRAMES}`);
    this.#runner = new Runner(this.#database, model, trace);
    this.#bounds = new Bounds(
      this.#database,
      others !== undefined,
      new Uniques(this.#database, model.resources),
    );
    // What is in memory no other process can see.
    if (apart && path !== ':memory:') {
      const launch = { command: apart, path: resolve(path) };
      const look = () => this.#bounds.look();
      const isLogLong = () => (this.#snapshot?.logFrames ?? CHECKPOINT_FRAMES) >= CHECKPOINT_FRAMES;
      // Who takes an export may take as long as he likes, and nobody waits for that.
      const logLength = () =>
        this.#snapshots.areOpen ? 0 : (this.#snapshot?.logFrames ?? 0) / MOST_LOG_FRAMES;
      this.#processReader = new ProcessReader(launch, trace, look, logLength);
      this.#writer = new ProcessWriter({ launch, model, holdMs, isLogLong, trace, look });
    }
    this.#local = new LocalWriter(this.#database, model, this.#runner, this.#writer && this.#bounds);
    this.#commits = new Commits({
      database: this.#database,
      local: this.#local,
      writer: this.#writer,
      bounds: this.#bounds,
      resources: model.resources,
      snapshot: (look) => this.#snapshot ?? (look === 'first' ? this.#firstSnapshot() : undefined),
      slowMs,
      sync,
    });
    this.#queue = new WriteQueue(this.#commits.commit, holdMs, others);
    this.#snapshots = new Snapshots(this.#database, model, trace, this.#bounds, this.#processReader);
  }

  prepare(statement: Query): Prepared {
    const read = this.#runner.reader(statement, this.#processReader && this.#bounds);
    const look: Prepared = (value, deadline) => {
      try {
        (this.#snapshot ?? this.#firstSnapshot())?.begin();
        return read(value);
      } catch (error) {
        // What is not bounded is read where nobody waits for it.
        if (error === UNBOUNDED && this.#processReader)
          return this.#processReader.read(
            scoped(() => run(filled(statement, value)), currentScope()),
            'one',
            deadline,
          );
        throw error instanceof SQLiteError ? explained(error) : error;
      }
    };
    if (!compiler.template(statement).findsOne) return look;
    if (!this.#trace) return (value, deadline) => inBatch(() => look(value, deadline));
    return (value, deadline) => {
      const scope = currentScope();
      return inBatch(() => within(scope, () => look(value, deadline)));
    };
  }

  read<T>(program: () => Program<T>, steps: Steps, deadline: Deadline): T | Promise<T> {
    const allowance = this.#processReader && this.#bounds.allowance();
    try {
      const snapshot = this.#snapshot ?? this.#firstSnapshot();
      const drive = () => this.#runner.drive(program(), allowance);
      return explaining(() => {
        if (snapshot || steps === 'one') {
          snapshot?.begin();
          return drive();
        }
        this.#runner.prepare('BEGIN').run();
        return this.#local.transaction(drive);
      });
    } catch (error) {
      if (error !== UNBOUNDED || !this.#processReader) throw error;
      // Begun anew, so that all of it shows one snapshot.
      return this.#processReader.read(program, steps, deadline);
    }
  }

  #firstSnapshot(): SharedSnapshot | undefined {
    if (!this.#hasLooked) {
      this.#hasLooked = true;
      const index = WalIndex.of(this.#database.filename);
      this.#snapshot = index && new SharedSnapshot(this.#database, index, () => this.#bounds.look());
    }
    // Without the index, nothing tells that others have written.
    if (!this.#snapshot && this.#database.filename !== ':memory:') this.#bounds.look();
    return this.#snapshot;
  }

  write<T>(program: () => Program<T>, steps: WriteSteps, deadline: Deadline): Promise<T> {
    return this.#queue.add(program, steps, deadline);
  }

  delays(looking: Select): boolean {
    const { sql, parameters } = compiler.compile(looking);
    return (
      this.#processReader !== undefined &&
      explaining(() => this.#bounds.admits(looking, sql, parameters)) === 0
    );
  }

  async snapshot(): Promise<Snapshot> {
    return this.#snapshots.open();
  }

  tell(metrics: Metrics): void {
    const queued = () => ({ ...this.#queue.lengths });
    metrics.addEach('gauge', 'duet_write_queue', 'Writes that wait for their turn.', 'kind', queued);
    metrics.add('gauge', 'duet_database_bytes', 'The size of the database.', () => this.#runner.measure());
    const log = `${this.#database.filename}-wal`;
    metrics.add(
      'gauge',
      'duet_wal_bytes',
      'The size of the write-ahead log, which is beside it.',
      () => statSync(log, { throwIfNoEntry: false })?.size ?? 0,
    );
    metrics.addCache('statements', this.#runner.cache);
    const reader = this.#processReader;
    if (!reader) return;
    metrics.addEach('gauge', 'duet_reader_processes', 'Processes for long reads.', 'state', () => {
      const { idle, busy } = reader.state;
      return { idle, busy };
    });
    metrics.add('gauge', 'duet_reader_waiting', 'Long reads that wait for one.', () => reader.state.waiting);
  }

  async ping(): Promise<void> {
    this.#local.look();
    if (this.#runner.outdated.size > 0) throw writerOutdated();
  }

  async close(): Promise<void> {
    this.#processReader?.close();
    this.#writer?.close();
    this.#commits.close();
    this.#snapshot?.close();
    this.#runner.close();
  }

  /** All of the work is one transaction: it keeps other writers out, and a failure leaves everything as it was. */
  async exclusively<T>(work: (session: Session) => Promise<T>): Promise<T> {
    await this.#becomeWriter();
    try {
      for (const sql of ownTables(this.ddl)) this.#database.run(sql);
      this.#local.look(true);
      const result = await work(this.#session);
      this.#local.look(true);
      this.#makeLog();
      this.#database.run('COMMIT');
      this.#bounds.look(true);
      return result;
    } finally {
      if (this.#database.inTransaction) this.#database.run('ROLLBACK');
    }
  }

  /**
   * A server that starts finds no log, for the last to close took it away. To make that file takes a disk several times as long
   * as a commit, and the first to write would wait for it: what the header says already is written once more.
   */
  #makeLog(): void {
    const [[version] = []] = this.#database.query('PRAGMA user_version').values();
    this.#database.run(`PRAGMA user_version = ${version}`);
  }

  async looking<T>(work: (session: Session) => Promise<T>): Promise<T> {
    this.#snapshot?.end();
    this.#database.run('PRAGMA query_only = ON');
    this.#database.run('BEGIN');
    try {
      return await work(this.#session);
    } finally {
      this.#database.run('ROLLBACK');
      this.#database.run('PRAGMA query_only = OFF');
    }
  }

  readonly #session: Session = {
    query: async (sql, parameters = []) =>
      this.#database.query(sql).all(...(parameters as SQLQueryBindings[])) as Row[],
    transaction: (work) => work(),
    load: async (program) => this.#runner.drive(program()),
  };

  /** Asks again and again: to wait inside SQLite would stop the whole process, its signal handlers included. */
  async #becomeWriter(): Promise<void> {
    const deadline = Date.now() + EVOLUTION_TIMEOUT_MS;
    for (;;) {
      this.#commits.begin();
      if (this.#local.begin()) return;
      if (Date.now() > deadline) throw new Error('another process has been writing all the time');
      await Bun.sleep(EVOLUTION_POLL_MS);
    }
  }
}
