/** Runs programs on one connection to PostgreSQL: a step of statements at a time, or a whole tree at once. */

import { all, among, type Condition, equal, replaced } from '../../query/filter.ts';
import type { Model, Resource } from '../../schema/model.ts';
import { isWrite } from '../duties.ts';
import { Dangling, LockTimeout, NotUnique } from '../faults.ts';
import { newChanges } from '../own.ts';
import { decoded } from '../sql/codec.ts';
import { Compiler, parametersOf } from '../sql/compile.ts';
import {
  type Filled,
  type Insert,
  PLACEHOLDER,
  type Query,
  type Row,
  type Select,
  type Statement,
  select,
  type Table,
} from '../statements.ts';
import { OTHERS_TURN, type Program } from '../storage.ts';
import type { Trace } from '../trace.ts';
import { splitBy } from '../words.ts';
import { dialect, spreadDialect } from './dialect.ts';
import {
  constraintOf,
  constraintsOf,
  isStale,
  Misjudged,
  notUnique,
  refused,
  Spread,
  Surprise,
  stateOf,
} from './errors.ts';
import { isSame } from './foreseen.ts';
import type { Connection, Rows } from './pool.ts';
import type { Transaction } from './transaction.ts';
import { type Ahead, type Tree, Trees, Unforeseen } from './tree.ts';
import { splitAhead } from './words.ts';

interface Driving {
  /** What it asks for first, where that is known already. */
  readonly begun?: ReturnType<Program<unknown>['next']> | undefined;
  /** With it, trees are read at once. */
  readonly ahead?: Ahead | undefined;
  /** Where no transaction would hold several statements together. */
  readonly isAlone?: boolean;
  readonly transaction?: Transaction;
  /**
   * Whether a constraint that stops the program makes it run again: it may do so for a record that was stored after the snapshot in
   * which its rules were asked. They come before what is taken, so they are to be asked again, with that record in sight.
   */
  readonly mayMiss?: boolean | undefined;
  /** Called whenever statements were sent, and their answers are waited for. */
  readonly sent?: (() => void) | undefined;
}

export class Runner {
  readonly #model: Model;
  readonly #trace: Trace | undefined;
  /** Says whose a statement is, for the log of the server. */
  readonly #comment: (() => string) | undefined;
  #compiler = new Compiler(dialect);
  readonly #trees = new Trees(this.#compiler);
  readonly #constraints: ReadonlyMap<string, NotUnique | Dangling>;
  /** Tables of which a record was not what it had to be: the database has triggers there, or rules of its own. */
  readonly #misjudged = new Set<Table>();
  /** Whether the server spreads tables over machines (Citus): what it refuses is then asked in another way. */
  isSpread = false;

  constructor(model: Model, trace: Trace | undefined, comment?: () => string) {
    this.#model = model;
    this.#trace = trace;
    this.#comment = comment;
    this.#constraints = constraintsOf(model);
  }

  /** Whether a read finds one record at the most, by the value that is left open. */
  findsOne(statement: Query): boolean {
    return this.#compiler.template(statement).findsOne;
  }

  async drive<T>(
    connection: Connection,
    running: Program<T>,
    { begun, ahead, isAlone = false, transaction, mayMiss = false, sent }: Driving = {},
  ): Promise<T> {
    let step = (begun as ReturnType<typeof running.next> | undefined) ?? running.next();
    let isFirst = true;
    while (!step.done) {
      if (step.value === OTHERS_TURN) {
        await new Promise(setImmediate);
        step = running.next([]);
        continue;
      }
      let rows: Row[][] | undefined = ahead?.take(step.value);
      try {
        if (!rows) {
          if (isAlone && !(isFirst && this.#isOne(step.value))) throw new Unforeseen();
          isFirst = false;
          if (step.value.some(splits)) await splitAhead(step.value, connection.deadline);
          connection.hurry();
          if (transaction?.waits(step.value)) await transaction.begun();
          if (transaction?.foresees(step.value)) {
            transaction.add(step.value.map(async (each) => this.#send(connection, each)));
            rows = step.value.map(() => []);
          } else rows = this.#foreseen(connection, step.value, transaction);
          if (!rows) {
            const answers = this.#answers(connection, step.value, ahead);
            sent?.();
            rows = await answers;
            transaction?.known?.note(step.value, rows);
          }
        }
      } catch (error) {
        if (error instanceof Unforeseen) throw error;
        // 25P02: for what came before.
        if (stateOf(error) === '25P02') await transaction?.check();
        const told = this.#toldToPrograms(error);
        if (mayMiss && (told instanceof NotUnique || told instanceof Dangling)) throw new Surprise();
        step = running.throw(told);
        continue;
      }
      if (transaction?.isBeginning) await transaction.begun();
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

  #answers(connection: Connection, statements: readonly Statement[], ahead?: Ahead): Promise<Row[][]> {
    const [only] = statements;
    if (only && statements.length === 1)
      return connection.patiently(this.#send(connection, only, ahead)).then(alone);
    // Async: one that cannot even be sent is judged with the others.
    const sent = statements.map(async (statement) => this.#send(connection, statement, ahead));
    // All are settled before one is judged: an answer that nobody waits for would be an unhandled rejection.
    return connection.patiently(Promise.allSettled(sent)).then((settled) =>
      settled.map((each) => {
        if (each.status === 'rejected') throw each.reason;
        return each.value;
      }),
    );
  }

  /** Sent, and not waited for; the answer that will come. */
  #foreseen(
    connection: Connection,
    [statement, ...others]: readonly Statement[],
    transaction: Transaction | undefined,
  ): Row[][] | undefined {
    if (!statement || others.length > 0 || this.isSpread) return undefined;
    const { resource } = statement.do === 'filled' ? statement.select : statement;
    if (this.#misjudged.has(resource)) return undefined;
    const expected = transaction?.known?.foresee(statement);
    if (!expected) return undefined;
    transaction?.expect(this.#asExpected(connection, statement, resource, expected));
    return [[{ ...expected }]];
  }

  /** Whatever else comes of it is for the program to know, which is run again. */
  async #asExpected(
    connection: Connection,
    statement: Statement,
    resource: Table,
    expected: Row,
  ): Promise<void> {
    try {
      const [row] = await this.#send(connection, statement);
      if (isSame(resource, row, expected)) return;
    } catch (error) {
      if (!refused(this.#model, error)) throw error;
    }
    this.#misjudged.add(resource);
    throw new Misjudged();
  }

  #toldToPrograms(error: unknown): unknown {
    if (stateOf(error) === '55P03') return new LockTimeout('a lock was waited for in vain', { cause: error });
    // What is too long for an index is told with its name, too.
    const isBroken = stateOf(error).startsWith('23');
    const known = isBroken && this.#constraints.get(constraintOf(error));
    if (known) return known;
    // A constraint that this file does not name: of what was left out, or of a newer file that is being rolled out.
    if (stateOf(error) === '23503') return new Dangling(undefined);
    const taken = stateOf(error) === '23505' ? notUnique(this.#model, error) : undefined;
    return taken ?? refused(this.#model, error) ?? error;
  }

  /** What is awaited is not the query itself: of a promise that is of a class of its own, that would make two more. */
  #send(connection: Connection, statement: Statement, ahead?: Ahead): Promise<Row[]> {
    const tree = ahead && statement.do === 'filled' ? this.#trees.of(statement.select) : undefined;
    if (tree) return this.#sendAhead(connection, tree, (statement as Filled).value, ahead as Ahead);
    if (this.isSpread) return this.#sendSpread(connection, statement);
    const { sql, parameters, decoders } = this.#compiler.compile(statement);
    return this.#sent(connection, sql, parameters).then(
      (rows) => decoded(rows, decoders),
      (error) => {
        if (!isRefused(error)) throw error;
        this.#spread();
        throw new Spread();
      },
    );
  }

  async #sendAhead(connection: Connection, tree: Tree, value: unknown, ahead: Ahead): Promise<Row[]> {
    const rows = ahead.keep(tree, await this.#sendTree(connection, tree, value));
    if (!rows) throw this.#trees.giveUp(tree);
    return rows;
  }

  async #sendSpread(connection: Connection, statement: Statement): Promise<Row[]> {
    const asked = statement.do === 'filled' ? statement.select : statement;
    if (asked.do === 'select' && asked.lock && !isByKey(asked))
      return this.#lockByKey(connection, statement.do === 'filled' ? closed(statement) : asked);
    if (statement.do === 'insert' && statement.change)
      return this.#insertThenNote(connection, statement, statement.change);
    const isCurrent = isWrite(statement) ? this.#isCurrent(connection, statement.resource) : undefined;
    const { sql, parameters, decoders } = this.#compiler.compile(statement);
    const sent = this.#sent(connection, sql, parameters);
    if (isCurrent) await isCurrent.catch((error) => sent.catch(() => {}).then(() => Promise.reject(error)));
    return decoded(await sent, decoders);
  }

  #spread(): void {
    this.isSpread = true;
    this.#compiler = new Compiler(spreadDialect);
  }

  /** What is otherwise a condition of the write itself: in a statement of its own, which holds until the transaction ends. */
  async #isCurrent(connection: Connection, resource: Table): Promise<void> {
    if (resource.version) await connection.send(`SELECT ${dialect.current?.(resource as Resource)}`);
  }

  /**
   * Servers that spread a table over machines lock the rows of one key, but none that they have to look for. So they
   * are looked for, locked one by one, and read again: what others have changed meanwhile may no longer be meant.
   */
  async #lockByKey(connection: Connection, statement: Select): Promise<Row[]> {
    const { resource, where } = statement;
    const { key } = resource;
    const found = await this.#send(connection, { ...statement, columns: [key], lock: false });
    const keys = found.map((row) => row[key.name]);
    const one = select(resource, [key], equal(key, PLACEHOLDER), { lock: statement.lock });
    await Promise.all(keys.map((value) => this.#send(connection, { do: 'filled', select: one, value })));
    const still = all([among(key, keys), ...(where ? [where] : [])]);
    return this.#send(connection, { ...statement, where: still, lock: false });
  }

  /** No statement writes a table of one machine and one that is spread. */
  async #insertThenNote(
    connection: Connection,
    { do: what, resource, values, version }: Insert,
    change: NonNullable<Insert['change']>,
  ): Promise<Row[]> {
    const rows = await this.#send(connection, { do: what, resource, values, version });
    await this.#send(connection, { do: 'insert all', resource: newChanges, rows: rows.map(change) });
    return rows;
  }

  /** A comment makes every text another one: it is added only where no text is prepared. */
  #sent(connection: Connection, sql: string, parameters: readonly unknown[]): Promise<Rows> {
    const ended = this.#trace?.(sql);
    const text = this.#comment && connection.pooled ? sql + this.#comment() : sql;
    const sent = connection.send(text, parameters);
    if (ended) sent.then(ended, ended);
    return sent;
  }

  async #sendTree(connection: Connection, tree: Tree, value: unknown): Promise<Row[]> {
    try {
      return await this.#sent(connection, tree.sql, parametersOf(tree, value));
    } catch (error) {
      // Class 54 are limits of the server, such as that of a single value, which a list of values is; 0A000 is what a server
      // that spreads tables over machines does not do in one statement.
      throw /^(54|0A000$)/.test(stateOf(error)) ? this.#trees.giveUp(tree) : error;
    }
  }
}

function alone(rows: Row[]): Row[][] {
  return [rows];
}

function splits(statement: Statement): boolean {
  return splitBy(statement).length > 0;
}

function isByKey({ where, resource }: Select): boolean {
  return where?.is === 'eq' && where.column === resource.key;
}

/** Whether a server that spreads tables does not do this: some of its refusals have no code of their own. */
function isRefused(error: unknown): boolean {
  return (
    (stateOf(error) === '0A000' && !isStale(error)) ||
    /_duet_\w+ is not distributed/.test((error as Error).message)
  );
}

/** The same with the value in its place. */
function closed({ select, value }: Filled): Select {
  const put = (condition: Condition) =>
    condition.is === 'eq' && condition.value === PLACEHOLDER ? equal(condition.column, value) : condition;
  return { ...select, where: select.where && replaced(select.where, put) };
}
