/** Writes that arrive together, or while others are being stored, become durable together: by one statement, and one commit. */

import { afterBatch } from '../../base/batch.ts';
import { DuetError } from '../../base/errors.ts';
import type { Filter } from '../../query/filter.ts';
import type { Resource } from '../../schema/model.ts';
import { keptAs, writtenColumns } from '../../schema/values.ts';
import { currentScope, type Scope, scoped } from '../scopes.ts';
import {
  type Insert,
  type InsertEach,
  type Row,
  type Statement,
  textIn,
  type Update,
  type UpdateEach,
} from '../statements.ts';
import { type Deadline, type Program, run } from '../storage.ts';

/** Statements of one type that are under way at a time: while the server waits for its disk, the next one is made. */
const MOST_SENT = 2;
/**
 * How long one that writes changes takes at the most where the disk is fast, for itself and for each of its rows. There only one is
 * under way at a time, which gives positions, too: to do so later takes nearly as long as to store the changes. Where the disk
 * is slow, two wait for it together, and positions are given later, as those of all other changes.
 */
const FAST_MS = 3;
const FAST_ROW_MS = 0.15;
/** So much does one statement count among those before it. */
const WEIGHT = 1 / 8;
/** How long a disk counts as slow. */
const SLOW_MS = 1000;
const MOST_ROWS = 100;
/** Characters: to store what is longer takes longer than what it would share with others. */
const SHORT = 4096;
/** How long records of a type are stored one by one, once a group of them was refused: the next one may be, too. */
const APART_MS = 1000;

/** What a request writes. */
type Write = Insert | RecordUpdate;

/** Of one record, by its key alone. */
interface RecordUpdate extends Update {
  readonly resource: Resource;
  readonly where: Filter & { readonly is: 'eq'; readonly value: unknown };
}

interface Waiting {
  readonly write: Write;
  readonly deadline: Deadline;
  readonly scope: Scope | undefined;
  readonly resolve: (rows: Row[]) => void;
  readonly reject: (error: unknown) => void;
}

interface Group {
  readonly waiting: Waiting[];
  /** Whether they write their changes, too. */
  readonly notes: boolean;
  sent: number;
  isDue: boolean;
  /** What they took lately, of what they take at the most where the disk is fast. */
  pace: number;
  slowUntil: number;
  apartUntil: number;
}

/** Runs a program of one statement in a transaction of its own; what it answers is durable. */
type Run = (program: () => Program<Row[]>, deadline: Deadline) => Promise<Row[]>;

/**
 * The statement, if it may share a transaction with others. It is one that can neither wait for another transaction nor collide with
 * another record: there is nothing by which one request could keep the others of its group waiting.
 */
export function groupable([only, ...others]: readonly Statement[]): Write | undefined {
  if (others.length > 0) return undefined;
  if (only?.do === 'insert') return isGroupableInsert(only) ? only : undefined;
  return only?.do === 'update' && isGroupableUpdate(only) ? only : undefined;
}

function isGroupableInsert({ resource, values, version }: Insert): boolean {
  if (version !== 1 || !isApart(resource) || lengthOf(values) > SHORT) return false;
  return writtenColumns(resource).every(
    (column) => Object.hasOwn(values, column.name) !== (column === resource.key),
  );
}

function isGroupableUpdate(update: Update): update is RecordUpdate {
  const { set, add, where, next, own, ifVersion, counts, isSilent } = update;
  if (add || next || own || ifVersion !== undefined || !counts || isSilent) return false;
  const { key, uniques, references, searched } = update.resource as Resource;
  if (where.is !== 'eq' || where.column !== key || lengthOf(set) > SHORT) return false;
  const apart = [...uniques.flatMap(({ columns }) => columns), ...references.map(({ column }) => column)];
  return ![...apart, ...searched].some(({ name }) => Object.hasOwn(set, name));
}

function lengthOf(values: Row): number {
  let length = textIn(values);
  for (const name in values) {
    const value = values[name];
    // Lists, and JSON.
    if (typeof value === 'object' && value !== null) length += JSON.stringify(value).length;
  }
  return length;
}

function isApart({ key, uniques, references, searched }: Resource): boolean {
  return keptAs(key) === 'serial' && uniques.length + references.length + searched.length === 0;
}

export class GroupCommit {
  readonly #inserts = new WeakMap<Resource, Group>();
  /** Of those that write their changes, too. */
  readonly #noted = new WeakMap<Resource, Group>();
  readonly #updates = new WeakMap<Resource, Group>();
  readonly #run: Run;

  constructor(run: Run) {
    this.#run = run;
  }

  /** Answers as the statement alone does. */
  write(write: Write, deadline: Deadline): Promise<Row[]> {
    const notes = write.do === 'insert' && write.change !== undefined;
    const groups = write.do === 'update' ? this.#updates : notes ? this.#noted : this.#inserts;
    const group = groups.get(write.resource) ?? begun(groups, write.resource, notes);
    const scope = currentScope();
    if (performance.now() < group.apartUntil) return this.#store(write, deadline, scope);
    return new Promise((resolve, reject) => {
      group.waiting.push({ write, deadline, scope, resolve, reject });
      if (group.isDue || group.sent >= mostOf(group)) return;
      group.isDue = true;
      afterBatch(() => {
        group.isDue = false;
        this.#send(group);
      });
    });
  }

  #send(group: Group): void {
    while (group.waiting.length > 0 && group.sent < mostOf(group)) {
      const [first, ...others] = takenFrom(group.waiting);
      if (!first) return;
      // It may have to wait for others who hold its record, and none for it.
      if (first.write.do === 'update' && others.length === 0 && group.sent === 0) {
        void this.#storeAlone(first);
        continue;
      }
      group.sent++;
      void this.#storeAll(group, [first, ...others], () => {
        group.sent--;
        this.#send(group);
      });
    }
  }

  /** `ended`: called before anybody is told, so that the server has the next statement while answers are made. */
  async #storeAll(group: Group, waiting: readonly [Waiting, ...Waiting[]], ended: () => void): Promise<void> {
    const [first] = waiting;
    if (waiting.length === 1 && first.write.do === 'insert') return this.#storeAlone(first, ended);
    const deadline = waiting.reduce((least, each) => Math.min(least, each.deadline), first.deadline);
    try {
      // Told of as the first one's.
      const stamps = group.notes && group.sent === 1 && mostOf(group) === 1;
      const start = performance.now();
      const rows = await this.#store(together(waiting, stamps), deadline, first.scope);
      if (stamps) judge(group, performance.now() - start, waiting.length);
      ended();
      waiting.forEach((each, index) => {
        const row = rows[index];
        if (row && row[each.write.resource.key.name] !== null) each.resolve([row]);
        // Others hold the record, or it is not there.
        else if (each.write.do === 'update') void this.#storeAlone(each);
        else each.resolve([]);
      });
    } catch (error) {
      const isUnknown = error instanceof DuetError && error.code === 'OUTCOME_UNKNOWN';
      if (isUnknown) {
        ended();
        for (const { reject } of waiting) reject(error);
        return;
      }
      // Nothing has happened, perhaps for the sake of one of them: each is told by itself what is wrong with it.
      group.apartUntil = performance.now() + APART_MS;
      await Promise.all(waiting.map((each) => this.#storeAlone(each)));
      ended();
    }
  }

  #store(statement: Statement, deadline: Deadline, scope: Scope | undefined): Promise<Row[]> {
    return this.#run(
      scoped(() => run(statement), scope),
      deadline,
    );
  }

  #storeAlone({ write, deadline, scope, resolve, reject }: Waiting, ended?: () => void): Promise<void> {
    return this.#store(write, deadline, scope).finally(ended).then(resolve, reject);
  }
}

function begun(groups: WeakMap<Resource, Group>, resource: Resource, notes: boolean): Group {
  const group = { waiting: [], notes, sent: 0, isDue: false, pace: 0, slowUntil: 0, apartUntil: 0 };
  groups.set(resource, group);
  return group;
}

/** Those that are written next: of updates, such as set the same fields of records of which no two are the same. */
function takenFrom(waiting: Waiting[]): Waiting[] {
  const [first] = waiting;
  if (first?.write.do !== 'update') return waiting.splice(0, MOST_ROWS);
  const fields = Object.keys(first.write.set).join();
  const keys = new Set<unknown>();
  const [taken, left]: [Waiting[], Waiting[]] = [[], []];
  for (const each of waiting) {
    const { set, where } = each.write as RecordUpdate;
    const isNext = taken.length < MOST_ROWS && !keys.has(where.value) && Object.keys(set).join() === fields;
    keys.add(where.value);
    (isNext ? taken : left).push(each);
  }
  waiting.splice(0, waiting.length, ...left);
  return taken;
}

function mostOf({ notes, slowUntil }: Group): number {
  return notes && performance.now() >= slowUntil ? 1 : MOST_SENT;
}

/** A single statement that was slow says little of the disk. */
function judge(group: Group, tookMs: number, rows: number): void {
  const pace = Math.min(2, tookMs / (FAST_MS + rows * FAST_ROW_MS));
  group.pace += WEIGHT * (pace - group.pace);
  if (group.pace <= 1) return;
  group.pace = 0;
  group.slowUntil = performance.now() + SLOW_MS;
}

function together(waiting: readonly [Waiting, ...Waiting[]], stamps: boolean): InsertEach | UpdateEach {
  const writes = waiting.map(({ write }) => write);
  const { resource } = waiting[0].write;
  const updates = writes.filter((write) => write.do === 'update');
  const [update] = updates;
  if (update) {
    const columns = writtenColumns(resource).filter(({ name }) => Object.hasOwn(update.set, name));
    const rows = updates.map(({ set, where }) => ({ ...set, [resource.key.name]: where.value }));
    return { do: 'update each', resource, columns, rows };
  }
  const inserts = writes.filter((write) => write.do === 'insert');
  const changes = inserts.flatMap(({ change }) => (change ? [change()] : []));
  return {
    do: 'insert each',
    resource,
    rows: inserts.map(({ values }) => values),
    changes: changes.length > 0 ? changes : undefined,
    stamps,
  };
}
