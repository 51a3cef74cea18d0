/** The narrow interface to a database: programs of statements in, rows out. */

import type { Metrics } from '../base/metrics.ts';
import type { Soon } from '../base/soon.ts';
import type { Query, Row, Select, Statement } from './statements.ts';

/**
 * A unit of work that yields statements and is handed their rows, one list for each.
 * Being a generator, the same program runs without a pause on a synchronous database and pipelined on a remote one;
 * being made by a function, it can be run again when a transaction has to be repeated.
 */
export type Program<T> = Generator<readonly Statement[], T, readonly Row[][]>;

/** Answers that came along with earlier ones: they took no statement of their own. */
export class Prefetched extends Array<Row[]> {}

/**
 * How many steps a program takes at the most: one that takes a single statement needs no transaction around it; nor does
 * one that asks for a tree, on a database that answers with all that its first Select has below.
 */
export type Steps = 'one' | 'tree' | 'many';

/** `serial`: many, and what they read and write must be as if no other write ran beside them that is serial too. */
export type WriteSteps = Steps | 'serial';

export interface Snapshot {
  run<T>(program: () => Program<T>): Promise<T>;
  close(): Promise<void>;
}

/**
 * When whoever asks must have an answer, in the time of `performance.now()`. It ends the work too: what is not done by
 * then fails with DEADLINE_EXCEEDED and has no effect.
 */
export type Deadline = number;

/** Runs a statement with the value that it left open, if any. */
export type Prepared = (value: unknown, deadline: Deadline) => Soon<Row[]>;

export interface Storage {
  /** A read that is one statement, and needs no program around it. What can be known before it runs is found out once. */
  prepare(statement: Query): Prepared;
  /** Runs all statements of the program on one snapshot. */
  read<T>(program: () => Program<T>, steps: Steps, deadline: Deadline): Soon<T>;
  /** Runs the program in one transaction; when the promise fulfils, its effects are durable. */
  write<T>(program: () => Program<T>, steps: WriteSteps, deadline: Deadline): Promise<T>;
  /** Whether others would have to wait while a write looks for its records so: then a read is to find them before. */
  delays(looking: Select): boolean;
  /** A moment that can be read from again and again, however long that takes. */
  snapshot(): Promise<Snapshot>;
  /** Has metrics tell how much is under way here, and how large it is. */
  tell?(metrics: Metrics): void;
  /** Fails when the database cannot be reached. */
  ping(deadline: Deadline): Promise<void>;
  close(): Promise<void>;
}

/** Runs one statement of a program. */
export function* run(statement: Statement): Program<Row[]> {
  const [rows = []] = yield [statement];
  return rows;
}
