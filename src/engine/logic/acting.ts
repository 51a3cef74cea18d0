/** On whose behalf a function asks something inside of its transaction, and what has become of that transaction. */

import { DuetError, type Fault, faultCodes } from '../../base/errors.ts';
import { handed } from '../../base/passed.ts';
import type { Resource } from '../../schema/model.ts';
import { withArticle } from '../../schema/names.ts';
import { isWrite } from '../../storage/duties.ts';
import type { Statement } from '../../storage/statements.ts';
import type { Program } from '../../storage/storage.ts';
import { type AnswerLimits, Budget } from '../budget.ts';
import type { Aggregate, Get, List, WriteOne } from '../operation.ts';
import type { Access, Written } from '../policy/access.ts';
import type { Policy } from '../policy/policy.ts';
import { aggregate, get, list, type Node } from '../read/read.ts';
import { Collision } from '../write/collision.ts';
import { perform } from '../write/perform.ts';

/** What has become of the transaction in the hands of one function. */
export class Ledger {
  hasWritten = false;
  /** How many statements that write have been asked for, by what it asks and by functions that this has led to. */
  writes = 0;
  /** Records that it has written itself. */
  readonly written: Written = new Map();
  /** What was written last, as it is stored: whoever asks for it next need not read it. */
  last: { readonly resource: Resource; readonly node: Node } | undefined;
  /** Why the transaction cannot go on. */
  failure: unknown;
  readonly isReadOnly: boolean;

  constructor(isReadOnly = false) {
    this.isReadOnly = isReadOnly;
  }

  /** Has to be told of every step of the function, before it is carried out. */
  note(statements: readonly Statement[]): void {
    for (const each of statements) {
      if (isWrite(each)) this.writes++;
      // It may take others along.
      if (each.do === 'delete') this.written.clear();
    }
  }
}

/** On whose behalf something is asked. */
export class Acting {
  readonly access: Access;
  readonly ledger: Ledger;
  readonly #policy: Policy;
  readonly #limits: AnswerLimits;

  constructor(access: Access, policy: Policy, ledger: Ledger, limits: AnswerLimits) {
    this.access = access;
    this.ledger = ledger;
    this.#policy = policy;
    this.#limits = limits;
  }

  /** How many records one answer may have. */
  get most(): number {
    return this.#limits.objects;
  }

  get(operation: Get): Program<Node | null> {
    const permitted = this.#policy.permit(this.access.caller, operation);
    return this.#reading(get(permitted, new Budget(this.#limits)));
  }

  *list(operation: List): Program<Node[]> {
    const permitted = this.#policy.permit(this.access.caller, operation);
    return (yield* this.#reading(list(permitted, new Budget(this.#limits)))).nodes;
  }

  aggregate(operation: Aggregate): Program<Node[]> {
    const permitted = this.#policy.permit(this.access.caller, operation);
    return this.#reading(aggregate(permitted, new Budget(this.#limits)));
  }

  /** After a statement that failed, PostgreSQL takes no other, and a COMMIT undoes all that came before. */
  *#reading<T>(program: Program<T>): Program<T> {
    this.#goOn();
    try {
      return yield* program;
    } catch (error) {
      this.ledger.failure = error;
      throw error;
    }
  }

  /** A copy, which the function may do with as it pleases. */
  *write(operation: WriteOne): Program<Node> {
    this.#goOn();
    if (this.ledger.isReadOnly)
      throw new Error(
        `an action of Query only reads, so it cannot ${operation.do} ${operation.resource.plural}`,
      );
    const { resource } = operation;
    const { ledger } = this;
    const before = ledger.writes;
    ledger.last = undefined;
    try {
      const permitted = this.#policy.permit(this.access.caller, operation);
      const node = (yield* perform(this.access, permitted, new Budget(this.#limits))) as Node;
      ledger.hasWritten = true;
      if (operation.do !== 'delete') {
        // Where there were others, one of them may have changed it again.
        if (ledger.writes === before + 1) ledger.last = { resource, node };
        keysOf(ledger.written, resource).add(node[resource.key.name]);
      }
      const copy = { ...node };
      for (const name in copy) handed(copy[name]);
      return copy;
    } catch (error) {
      const told = elsewhere(error, resource, this.access.isSystem);
      // Nothing was begun, by functions that take part in it neither: whoever expects that can go on.
      const isMissing = told instanceof DuetError && told.code === 'NOT_FOUND';
      if (!isMissing || ledger.writes > before) ledger.failure = told;
      throw told;
    }
  }

  #goOn(): void {
    if (this.ledger.failure !== undefined) throw this.ledger.failure;
  }
}

function keysOf(written: Written, resource: Resource): Set<unknown> {
  let keys = written.get(resource);
  if (!keys) {
    keys = new Set();
    written.set(resource, keys);
  }
  return keys;
}

/** Errors that were told so before, by a function further inside. */
const toldOf = new WeakSet<DuetError>();

/**
 * What is wrong with a record that a function writes has no place in what the client sent. Where no rule was asked, the
 * caller may not be allowed to read that record: then nothing is told of its values, not even by what they could not be.
 */
function elsewhere(error: unknown, resource: Resource, isSystem: boolean): unknown {
  if (error instanceof Collision) return error.at([]);
  if (!(error instanceof DuetError) || !error.errors || toldOf.has(error)) return error;
  const errors = error.errors.map(
    (fault): Fault => ({
      code: fault.code,
      detail: isSystem ? withoutValues(fault, resource) : fault.detail,
      pointer: '#',
    }),
  );
  const [first] = errors;
  const told = new DuetError(error.code, isSystem && first ? first.detail : error.message, { errors });
  toldOf.add(told);
  return told;
}

/** The words of the schema file and of functions are meant for the caller. */
function withoutValues({ code, detail, pointer = '#' }: Fault, { singular }: Resource): string {
  if (code === 'CHECK_FAILED' || code === 'REFUSED') return detail;
  const field = pointer.split('/').findLast((each) => !/^(#|\d+)$/.test(each));
  return `${field ? `${field} of ${withArticle(singular)}: ` : ''}${faultCodes[code]}`;
}
