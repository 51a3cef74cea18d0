/** The narrow interface to a database: programs of statements in, rows out. */

import type { Metrics } from '../base/metrics.ts';
import type { Soon } from '../base/soon.ts';
import { type Query, type Row, type Select, type Statement, type Table, textIn } from './statements.ts';

/**
 * A unit of work that yields statements and is handed their rows, one list for each.
 * Being a generator, the same program runs without a pause on a synchronous database and pipelined on a remote one;
 * being made by a function, it can be run again when a transaction has to be repeated.
 */
export type Program<T> = Generator<readonly Statement[], T, readonly Row[][]>;

/** What a program asks for that has done much: that others have their turn, where somebody else carries its statements out. */
export const OTHERS_TURN: readonly Statement[] = [];

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

/** Where the log of a database was: the greater of two texts is the later position. */
export type Position = string;

/** Later than all others: no replica has come so far. */
export const UNKNOWN_POSITION: Position = 'F'.repeat(16);

export function later(one: Position | undefined, other: Position): Position {
  return one === undefined || one < other ? other : one;
}

/** What whoever asks has seen, and must be shown by every read from then on. */
export interface Seen {
  /** Of an earlier answer; undefined where no replica need show anything in particular. */
  readonly position: Position | undefined;
  /** Of what was written since. */
  written: Position | undefined;
}

/** Runs a statement with the value that it left open, if any; for `seen` see `Storage.read`. */
export type Prepared = (value: unknown, deadline: Deadline, seen?: Seen) => Soon<Row[]>;

export interface Replicas {
  /** Finds them, and goes on looking for those that are away; until then none answers. `tell` hears of what the operator is to know. */
  follow(tell: (message: string) => void): void;
  /** How many of them can be used, and what that means. */
  tell(): string;
}

export interface Storage {
  /** A read that is one statement, and needs no program around it. What can be known before it runs is found out once. */
  prepare(statement: Query): Prepared;
  /** Runs all statements of the program on one snapshot; with `seen`, that of a replica may do. */
  read<T>(program: () => Program<T>, steps: Steps, deadline: Deadline, seen?: Seen): Soon<T>;
  /** Runs the program in one transaction; when the promise fulfils, its effects are durable. With `seen`, it notes where. */
  write<T>(program: () => Program<T>, steps: WriteSteps, deadline: Deadline, seen?: Seen): Promise<T>;
  /** Whether others would have to wait while a write looks for its records so: then a read is to find them before. */
  delays(looking: Select): boolean;
  /** A moment that can be read from again and again, however long that takes. */
  snapshot(): Promise<Snapshot>;
  /** Whether the positions of changes are given after their commits, by `engine/journal`: several can write at once here. */
  readonly stampsPositions?: boolean;
  /** Whether an Insert can write its change, too: where each statement is a round trip. */
  readonly insertsChanges?: boolean;
  /** Replicas, where there are any that may answer reads. */
  readonly replicas?: Replicas;
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

/** Few enough values for one statement, on any database. */
const TOGETHER = 500;
/** And so much text: a statement is made and sent in one piece, while everybody else waits. */
export const TOGETHER_BYTES = 1024 * 1024;

/** Inserts rows of one of Duet's own tables, however many there are; they are made as they are needed, with turns in between. */
export function* insertAll<T>(resource: Table, all: readonly T[], rowOf: (one: T) => Row): Program<void> {
  let rows: Row[] = [];
  let bytes = 0;
  for (const [index, one] of all.entries()) {
    const row = rowOf(one);
    rows.push(row);
    bytes += textIn(row);
    if (rows.length < TOGETHER && bytes < TOGETHER_BYTES && index < all.length - 1) continue;
    yield* run({ do: 'insert all', resource, rows });
    rows = [];
    bytes = 0;
  }
}

interface Watcher {
  /** Told what a program asks for, before it is carried out. */
  readonly asks?: (statements: readonly Statement[]) => void;
  /** Told that the storage has failed at it. */
  readonly fails?: () => void;
}

/** The same program, while somebody looks on. */
export function* watched<T>(program: Program<T>, { asks, fails }: Watcher): Program<T> {
  let step = program.next();
  while (!step.done) {
    asks?.(step.value);
    let rows: readonly Row[][];
    try {
      rows = yield step.value;
    } catch (error) {
      fails?.();
      step = program.throw(error);
      continue;
    }
    step = program.next(rows);
  }
  return step.value;
}
