/** A transaction on one connection: it begins along with what it reads first, and ends along with what nobody waits for. */

import { ReadOnly } from '../evolve/database.ts';
import { type Statement, textIn } from '../statements.ts';
import { isLost, stateOf, unknownOutcome } from './errors.ts';
import { Known } from './foreseen.ts';
import type { Connection, Rows } from './pool.ts';
import { SERIALIZABLE } from './serial.ts';

export const SNAPSHOT = 'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY';

const READS: ReadonlySet<Statement['do']> = new Set([
  'select',
  'filled',
  'aggregate',
  'match',
  'stale words',
  'clock',
  'last id',
]);

/** Of more rows than these, or of more text, the answer is waited for, so that others have their turn meanwhile. */
const FEW_ROWS = 100;
const SHORT = 64 * 1024;

export class Transaction {
  readonly #connection: Connection;
  readonly #isReadOnly: boolean;
  /** Undefined once it has. */
  #begun: Promise<unknown> | undefined;
  readonly #unanswered: Promise<unknown>[] = [];
  /** What is still to come as it was foreseen. */
  readonly #expected = new Set<Promise<void>>();
  /** Where answers can be foreseen: behind a pooler all that is sent without waiting would be one message. */
  readonly known: Known | undefined;

  /** A comment makes every text another one: with it, nothing is prepared, and what is not the driver sends alone. */
  constructor(connection: Connection, begin: string, comment: string) {
    this.#connection = connection;
    this.#isReadOnly = begin === SNAPSHOT;
    this.known = begin === SERIALIZABLE && !connection.pooled ? new Known() : undefined;
    this.#begun = connection.send(begin + comment, comment === '' ? [] : undefined).then(
      () => {
        this.#begun = undefined;
      },
      (refusal) => {
        // A standby is asked for what it never does before it is asked to write.
        throw begin === SERIALIZABLE && stateOf(refusal) === '0A000' ? new ReadOnly() : refusal;
      },
    );
    this.#begun.catch(ignored);
  }

  /**
   * Whether to wait until it has begun. A statement that writes, behind a BEGIN that failed, would commit by itself; and behind a
   * pooler, one that reads would fail in its name.
   */
  waits(statements: readonly Statement[]): boolean {
    if (!this.#begun || this.#isReadOnly) return false;
    return this.#connection.pooled || statements.some((each) => !READS.has(each.do));
  }

  /** False once an answer to what was sent behind it is there, unless it has failed. */
  get isBeginning(): boolean {
    return this.#begun !== undefined;
  }

  /** Throws why it did not begin. */
  async begun(): Promise<void> {
    if (this.#begun) await this.#connection.patiently(this.#begun);
  }

  /**
   * Whether it is known what these answer, so that what follows can go out with them: new rows of Duet's own tables, which break
   * no constraint. Behind a pooler all would be one message, in which not even the end is done behind what failed.
   */
  foresees(statements: readonly Statement[]): boolean {
    if (this.#connection.pooled) return false;
    return statements.every(
      (each) =>
        each.do === 'insert all' &&
        !each.claims &&
        !each.resource.version &&
        each.rows.length <= FEW_ROWS &&
        each.rows.reduce((sum, row) => sum + textIn(row), 0) <= SHORT,
    );
  }

  /** If one of these fails, the whole has failed. */
  add(sent: readonly Promise<unknown>[]): void {
    for (const each of sent) each.catch(ignored);
    this.#unanswered.push(...sent);
  }

  /** An answer that was foreseen, and has been acted on: fails unless it came so. */
  expect(answer: Promise<void>): void {
    this.#expected.add(answer);
    answer.then(() => this.#expected.delete(answer), ignored);
  }

  /** Throws why an answer did not come as it was foreseen. */
  async verify(): Promise<void> {
    if (this.#expected.size > 0) await this.#connection.patiently(this.check());
  }

  /** Throws what has failed before: all that comes behind it fails only for that. */
  async check(): Promise<void> {
    await this.begun();
    await Promise.all([...this.#expected, ...this.#unanswered]);
  }

  /** `ended`: called when its last statement was sent. */
  async commit(ended: (() => void) | undefined): Promise<void> {
    if (this.#begun) await this.begun();
    // Mostly it has come: what was sent behind it was waited for.
    if (this.#expected.size > 0) await this.verify();
    const committed = this.#connection.send('COMMIT', []);
    ended?.();
    // A snapshot that was read has nothing to commit: its end is not waited for, only kept in order.
    if (this.#isReadOnly) {
      committed.catch(() => this.#connection.close());
      return;
    }
    if (this.#unanswered.length > 0) return this.#endBehind(committed);
    try {
      await this.#connection.patiently(committed);
    } catch (error) {
      throw outcomeOf(error);
    }
  }

  /** Behind what may have failed. */
  async #endBehind(committed: Promise<Rows>): Promise<void> {
    const [end, ...before] = await this.#connection
      .patiently(Promise.allSettled([committed, ...this.#unanswered]))
      .catch((error) => {
        throw unknownOutcome(error);
      });
    const failed = before.find((each) => each.status === 'rejected');
    // What has failed is rolled back by its COMMIT, which says so.
    if (failed) throw isRolledBack(end) ? failed.reason : unknownOutcome(failed.reason);
    if (end.status === 'rejected') throw outcomeOf(end.reason);
  }

  rollback(): void {
    const connection = this.#connection;
    if (!connection.lost) connection.send('ROLLBACK', []).catch(() => connection.close());
  }
}

function isRolledBack(end: PromiseSettledResult<Rows>): boolean {
  return (
    end.status === 'fulfilled' && (end.value as Rows & { readonly command?: string }).command === 'ROLLBACK'
  );
}

/** Told to whoever waits for it. */
function ignored(): void {}

/** When the server itself says that it failed, nothing was committed. */
function outcomeOf(error: unknown): unknown {
  return stateOf(error) !== '' && !isLost(error) ? error : unknownOutcome(error);
}
